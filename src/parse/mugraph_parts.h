/* A muGraph while it is being read (private to parse). */
#ifndef MO_PARSE_MUGRAPH_PARTS_H
#define MO_PARSE_MUGRAPH_PARTS_H

#include "base/strmap.h"
#include "ir/mugraph.h"
#include "parse/reader.h"

typedef struct {
    mo_reader reader;
    const mo_program *program;
    mo_mugraph *graph;
    mo_strmap tensors; /* names in the file to tensors of the graph */
    mo_strmap kernels; /* names of the kernels so far */
} mo_mugraph_reader;

/* Reads inputs, outputs and intermediates and fills in `tensors`. */
bool mo_mugraph_read_tensors(mo_mugraph_reader *m, const mo_json *root);

/* Appends one kernel, which has passed mo_kernel_check. */
bool mo_mugraph_read_kernel(mo_mugraph_reader *m, const mo_json *object);

/* Reads the body of a kernel whose axes and schedule are there. */
bool mo_mugraph_read_body(mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel);

/* The axis with the name that `value` holds. */
bool mo_mugraph_read_axis(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *value, int *axis);

#endif
