/* codegen/write.h: nests as C.
 *
 * A kernel is `void KERNEL(const void *const *x, void *const *y, void *scratch, int64_t begin,
 * int64_t end)`: it does the units begin .. end - 1 of mica_kernel_shape, in any cut. It calls
 * nothing but libm's f64 functions. Columns whose parts are shared between units are put together
 * by a second function, FINISH, over the lines. KERNEL and FINISH are macros, so that equal kernels
 * have equal texts; how many units there are is not in the text, so that another batch size often
 * has the same. */
#ifndef MICA_CODEGEN_WRITE_H
#define MICA_CODEGEN_WRITE_H

#include "base/strings.h"
#include "codegen/nest.h"

typedef struct mica_kernel_shape {
    int64_t units, grain;
    int64_t finish_units; /* 0: nothing to finish */
    size_t scratch_bytes;
    uint32_t in_place[4]; /* by result: operands whose memory it may have */
} mica_kernel_shape;

void mica_kernel_shape_find(const mica_nest *nest, mica_kernel_shape *out_shape);

/* The languages: C, and CUDA C in the phases of codegen/prelude/kernel.h. */
typedef enum mica_dialect { MICA_DIALECT_C, MICA_DIALECT_CUDA } mica_dialect;

/* The mathematics, once in front of all kernels of a file. */
void mica_write_prelude(mica_text *text, mica_dialect dialect);
void mica_write_kernel(mica_text *text, const mica_nest *nest);
/* For programs of C that run without Mica: also the kernels of codegen/prelude/host_*.h. */
void mica_write_host_prelude(mica_text *text);

/* The same for a GPU. A kernel named ENTRY and, where groups of rows are put together, one named
 * FINISH_ENTRY after it; their argument is a struct of the operands' and the results' addresses,
 * the scratch memory's, the number of units and that of FINISH_ENTRY's. */
typedef struct mica_gpu_shape {
    int64_t units;
    int32_t threads;      /* of the block that does a unit; 0: a thread does */
    int64_t finish_units; /* 0: nothing to finish; else a block does MICA_FINISH_UNITS */
    size_t scratch_bytes;
    uint32_t in_place[4];
} mica_gpu_shape;

enum { MICA_FINISH_UNITS = 8, MICA_FINISH_SPANS = 32 }; /* their product: threads */

/* Before all others: a GPU computes again what a CPU would keep. */
void mica_nest_prepare_gpu(mica_nest *nest);
void mica_gpu_shape_find(const mica_nest *nest, mica_gpu_shape *out_shape);
void mica_write_gpu_kernel(mica_text *text, const mica_nest *nest);

/* An expression of ops.def with every M(f) replaced by mica_f_<suffix>. */
void mica_write_expression(mica_text *text, const char *expression, const char *suffix);
/* The C type that an element is stored as. */
const char *mica_storage_type(mica_dtype dtype);

#endif
