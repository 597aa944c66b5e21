/* Questions that need no program: --help, --version, --list-ops, --list-archs. */
#ifndef MO_CLI_INFO_H
#define MO_CLI_INFO_H

#include "base/status.h"
#include "base/str.h"

void mo_info_help(mo_str *out);
void mo_info_version(mo_str *out);
void mo_info_ops(mo_str *out); /* name, operands, attributes; one operator a line */

/* Architectures of the NVRTC found, one a line. MO_ERR_ENV when there is none. */
mo_status mo_info_archs(mo_str *out, mo_error *error);

#endif
