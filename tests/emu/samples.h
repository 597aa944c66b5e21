/* The sample kernels: their launches, data and references, for the tests that run or compile them. */
#ifndef MO_EMU_SAMPLES_H
#define MO_EMU_SAMPLES_H

#include "emu.h"

enum { MAX_BUFFERS = 4 };

typedef enum { F16, F32, U32 } element;

typedef struct {
    const char *name;
    element type;
    size_t n;
    double spread; /* inputs: uniform in -spread..spread; 0: an output; negative: workspace of zeros */
} buffer_spec;

/* A kernel with its launch, and what it computes: `reference` fills the expected values of the last buffer.
 */
typedef struct {
    const char *file, *kernel;
    mo_emu_dim grid, block, cluster;
    unsigned shared_bytes;
    bool cooperative;
    int least_arch;
    int map_argument; /* the buffer that the kernel takes through sample_map; 0: none */
    buffer_spec buffers[MAX_BUFFERS];
    void (*reference)(double *const *in, double *out);
    double tolerance;
} sample;

extern const sample samples[];
extern const size_t n_samples;

/* The file's text after the device library's, as the generator writes files. The first `find` (unless NULL)
 * becomes `replace`; NULL when it is not there. The caller frees it. Unreadable files end the program. */
char *sample_text(const char *directory, const char *path, const char *find, const char *replace);

/* The bytes and, for inputs, the values of a sample's buffers. */
typedef struct {
    void *bytes[MAX_BUFFERS];
    double *values[MAX_BUFFERS];
    int n;
} sample_data;

sample_data sample_data_make(const sample *s);
void sample_data_free(sample_data *d);
size_t sample_bytes(const buffer_spec *spec);
/* Fills buffer i anew: inputs with the same random values each time, outputs with 0xFF. */
void sample_fill(const sample *s, sample_data *d, int i);
/* The tensor map of a kernel that takes one, over memory at `base`. */
mo_emu_tensor_map sample_map(const void *base);
/* Compares the last buffer with the reference; if it differs, says where. */
bool sample_check(const sample *s, sample_data *d, char *why, size_t size);

#endif
