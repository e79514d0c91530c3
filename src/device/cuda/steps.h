/* device/cuda/steps.h: kernels made of launches of codegen/prelude's templates, one after the
 * other.
 *
 * Modules hold a family of templates: of one dtype, where what they compute depends on it. */
#ifndef MICA_DEVICE_CUDA_STEPS_H
#define MICA_DEVICE_CUDA_STEPS_H

#include <stdint.h>

#include "codegen/prelude/layouts.h"
#include "device/cuda/parts.h"

/* A launch, or a copy of an operand to the result. */
typedef struct cuda_step {
    CUfunction function; /* NULL: a copy */
    int64_t blocks;
    int32_t operands[3];    /* of the node, for mica_places; -1: none */
    size_t bytes;           /* of the argument, or of the copy */
    uint64_t argument[224]; /* begins with mica_places */
} cuda_step;

enum { CUDA_SCRATCH = -1 };

typedef struct cuda_steps {
    cuda_kernel base;
    int32_t result; /* where y lies: a result of the node, or CUDA_SCRATCH */
    int32_t n;
    cuda_step steps[];
} cuda_steps;

typedef enum cuda_family {
    CUDA_MOVE,
    CUDA_COUNTS,
    CUDA_REDUCE,
    CUDA_CONTRACT,
    CUDA_WINDOW,
    CUDA_POOL
} cuda_family;

/* Room for so many steps of one family. */
mica_status cuda_steps_create(cuda_device *device, cuda_family family, mica_dtype dtype,
                              int32_t capacity, cuda_steps **out_steps);
/* Adds the function `name` on n threads, or (n < 0) on -n blocks. The operands are counted by x. */
mica_status cuda_steps_add(cuda_device *device, cuda_steps *steps, const char *name, int64_t n,
                           const void *argument, size_t bytes, int32_t x0, int32_t x1, int32_t x2);
void cuda_steps_add_copy(cuda_steps *steps, int32_t operand, size_t bytes);
mica_status cuda_steps_launch(const cuda_kernel *kernel, cuda_stream *stream,
                              const mica_address *operands, const mica_address *results,
                              mica_address scratch);
/* Hands over what was made, or destroys it. */
mica_status cuda_steps_finish(cuda_device *device, mica_status status, cuda_steps *steps,
                              cuda_kernel **out_kernel);

/* Adds a move (prelude/move.h) of elements of so many bytes between arrays of that alignment. */
mica_status cuda_move_add(cuda_device *device, cuda_steps *steps, size_t bytes, size_t alignment,
                          const mica_move_layout *layout, int32_t source, int32_t starts);

/* The text of a family's module; a dtype that it does not have: NULL. For tests too. */
mica_status cuda_family_text(cuda_family family, mica_dtype dtype, char **out_text);
bool cuda_family_has(cuda_family family, mica_dtype dtype);

/* The axes of an operand of a dot as three spaces; of both. */
void cuda_dot_split(const mica_type *x, mica_ints batch, mica_ints contract, mica_space *of_batch,
                    mica_space *of_rest, mica_space *of_depth);
void cuda_dot_layout(const mica_node *node, mica_dot_layout *out);

/* Spaces. */
void cuda_space_init(mica_space *space);
void cuda_space_add(mica_space *space, int64_t size, int64_t stride);
/* Two spaces of the same axes: merged where both go on. */
void cuda_space_add_pair(mica_space *a, mica_space *b, int64_t size, int64_t a_stride,
                         int64_t b_stride);
void cuda_strides(const mica_type *type, int64_t strides[MICA_MAX_RANK]);

#endif
