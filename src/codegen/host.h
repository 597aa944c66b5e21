/* Host part of an emitted file: workspace, launches, typed wrapper, self-test. */
#ifndef MO_CODEGEN_HOST_H
#define MO_CODEGEN_HOST_H

#include "codegen/emit.h"

void mo_emit_host(mo_str *out, const mo_mugraph *graph, const mo_emitted *emitted);

/* A main that runs the file's launch function beside the program as written (`reference`, simple kernels)
 * on random inputs and prints ok. */
void mo_emit_main(mo_str *out, const mo_mugraph *reference, const mo_emitted *emitted);

/* One kernel as a small picture in text: placements and operators. */
void mo_emit_picture(mo_str *out, const mo_mugraph *graph, int kernel);

#endif
