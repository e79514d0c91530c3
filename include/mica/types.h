/* mica/types.h: element types, shapes, and the small structs that carry lists of sizes.
 *
 * Shapes are static, sizes are int64, arrays are row-major. A type is a plain value: copy it.
 * Besides tensors there are two kinds of value that exist only inside a graph: a token, which
 * orders effects and has no data, and a list, a stack of tensors of one type with any length.
 *
 * @example
 *     mica_type image = mica_type_make(MICA_DTYPE_f32, MICA_INTS(128, 28, 28, 1));
 *     printf("%lld elements\n", (long long)mica_type_elements(&image));
 * @end
 */
#ifndef MICA_TYPES_H
#define MICA_TYPES_H

#include <stdbool.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MICA_MAX_RANK 16

typedef enum mica_dtype {
#define MICA_DTYPE(name, storage, bytes, kind, meaning) MICA_DTYPE_##name,
#include "dtypes.def"
#undef MICA_DTYPE
    MICA_DTYPE_COUNT
} mica_dtype;

typedef enum mica_dtype_kind {
    MICA_KIND_BOOLEAN,
    MICA_KIND_SIGNED,
    MICA_KIND_UNSIGNED,
    MICA_KIND_FLOAT,
    MICA_KIND_COMPLEX,
    MICA_KIND_FLOAT8,
} mica_dtype_kind;

MICA_API const char *mica_dtype_name(mica_dtype dtype); /* "f32" */
MICA_API size_t mica_dtype_bytes(mica_dtype dtype);
MICA_API mica_dtype_kind mica_dtype_kind_of(mica_dtype dtype);
/* false when no dtype has this name. */
MICA_API bool mica_dtype_parse(const char *name, mica_dtype *out_dtype);

typedef enum mica_type_kind { MICA_TENSOR = 0, MICA_TOKEN = 1, MICA_LIST = 2 } mica_type_kind;

typedef struct mica_type {
    mica_type_kind kind;
    mica_dtype dtype; /* of the tensor, or of a list's elements */
    int32_t rank;
    int64_t dims[MICA_MAX_RANK]; /* entries past rank are 0 */
} mica_type;

/* A borrowed array of int64: sizes, axes, permutations. */
typedef struct mica_ints {
    const int64_t *data;
    int32_t n;
} mica_ints;

/* MICA_INTS(2, 3) is the list (2,3); MICA_NO_INTS is (). */
#define MICA_INTS(...)                                                                             \
    ((mica_ints){(const int64_t[]){__VA_ARGS__},                                                   \
                 (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})
#define MICA_NO_INTS ((mica_ints){NULL, 0})

/* A rank above MICA_MAX_RANK or a negative size is kept as rank -1, which every user rejects. */
MICA_API mica_type mica_type_make(mica_dtype dtype, mica_ints dims);
MICA_API mica_type mica_type_scalar(mica_dtype dtype);
MICA_API mica_type mica_type_token(void);
MICA_API mica_type mica_type_list_of(const mica_type *element);
MICA_API bool mica_type_equal(const mica_type *a, const mica_type *b);
MICA_API int64_t mica_type_elements(const mica_type *type); /* the product of dims; 0 for a token */
MICA_API size_t mica_type_bytes(const mica_type *type);     /* of the data; 0 for tokens, lists */
/* Writes "f32[2,3]", "token" or "list(f32[2])" and a final 0; returns the length needed. */
MICA_API size_t mica_type_format(const mica_type *type, char *buffer, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
