#include "mica/types.h"

#include <stdio.h>
#include <string.h>

#include "ir/graph.h"

static const struct {
    const char *name;
    size_t bytes;
    mica_dtype_kind kind;
} dtypes[MICA_DTYPE_COUNT] = {
#define MICA_DTYPE(name, storage, bytes, kind, meaning) {#name, bytes, MICA_KIND_##kind},
#include "mica/dtypes.def"
#undef MICA_DTYPE
};

static bool in_table(mica_dtype dtype) {
    return (unsigned)dtype < MICA_DTYPE_COUNT;
}

const char *mica_dtype_name(mica_dtype dtype) {
    return in_table(dtype) ? dtypes[dtype].name : "unknown";
}

size_t mica_dtype_bytes(mica_dtype dtype) {
    return in_table(dtype) ? dtypes[dtype].bytes : 0;
}

mica_dtype_kind mica_dtype_kind_of(mica_dtype dtype) {
    return in_table(dtype) ? dtypes[dtype].kind : MICA_KIND_BOOLEAN;
}

bool mica_dtype_parse(const char *name, mica_dtype *out_dtype) {
    for (int i = 0; name && i < MICA_DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *out_dtype = (mica_dtype)i;
            return true;
        }
    return false;
}

mica_type mica_type_make(mica_dtype dtype, mica_ints dims) {
    mica_type type = {.kind = MICA_TENSOR, .dtype = dtype, .rank = -1};
    if (dims.n < 0 || dims.n > MICA_MAX_RANK || (dims.n && !dims.data)) return type;
    for (int32_t i = 0; i < dims.n; i++)
        if (dims.data[i] < 0) return type;
    type.rank = dims.n;
    if (dims.n) memcpy(type.dims, dims.data, (size_t)dims.n * sizeof *dims.data);
    return type;
}

mica_type mica_type_scalar(mica_dtype dtype) {
    return (mica_type){.kind = MICA_TENSOR, .dtype = dtype};
}

mica_type mica_type_token(void) {
    return (mica_type){.kind = MICA_TOKEN};
}

mica_type mica_type_list_of(const mica_type *element) {
    if (!element) return (mica_type){0};
    mica_type type = *element;
    if (type.kind != MICA_TENSOR) type.rank = -1;
    type.kind = MICA_LIST;
    return type;
}

bool mica_type_equal(const mica_type *a, const mica_type *b) {
    if (!a || !b) return false;
    if (a->kind != b->kind) return false;
    if (a->kind == MICA_TOKEN) return true;
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    return a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Saturates instead of wrapping; types that graphs hold never get there (mica_type_check). */
int64_t mica_type_elements(const mica_type *type) {
    if (!type) return 0;
    if (type->kind == MICA_TOKEN || type->rank < 0) return 0;
    int64_t product = 1;
    bool overflow = false;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] == 0) return 0;
        overflow |= __builtin_mul_overflow(product, type->dims[i], &product);
    }
    return overflow ? INT64_MAX : product;
}

size_t mica_type_bytes(const mica_type *type) {
    if (!type) return 0;
    if (type->kind != MICA_TENSOR) return 0;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)mica_type_elements(type), mica_dtype_bytes(type->dtype),
                               &bytes))
        return SIZE_MAX;
    return bytes;
}

/* Appends like snprintf does: counts what does not fit. */
static size_t append(char *buffer, size_t capacity, size_t at, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (at + i + 1 < capacity) buffer[at + i] = text[i];
    if (capacity) buffer[at + n < capacity ? at + n : capacity - 1] = 0;
    return at + n;
}

static size_t append_dims(char *buffer, size_t capacity, size_t at, mica_ints dims) {
    for (int32_t i = 0; i < dims.n; i++) {
        char number[24];
        snprintf(number, sizeof number, i ? ",%lld" : "%lld", (long long)dims.data[i]);
        at = append(buffer, capacity, at, number);
    }
    return at;
}

size_t mica_type_format(const mica_type *type, char *buffer, size_t capacity) {
    if (!type || (capacity && !buffer)) return 0;
    if (type->kind == MICA_TOKEN) return append(buffer, capacity, 0, "token");
    size_t at = 0;
    if (type->kind == MICA_LIST) at = append(buffer, capacity, at, "list(");
    at = append(buffer, capacity, at, mica_dtype_name(type->dtype));
    at = append(buffer, capacity, at, "[");
    if (type->rank < 0 || type->rank > MICA_MAX_RANK)
        at = append(buffer, capacity, at, "invalid");
    else
        at = append_dims(buffer, capacity, at, (mica_ints){type->dims, type->rank});
    return append(buffer, capacity, at, type->kind == MICA_LIST ? "])" : "]");
}

mica_label mica_type_text(const mica_type *type) {
    mica_label text;
    mica_type_format(type, text.chars, sizeof text.chars);
    return text;
}

mica_label mica_ints_text(mica_ints ints) {
    mica_label text;
    size_t at = append(text.chars, sizeof text.chars, 0, "(");
    if (ints.n > MICA_MAX_RANK) {
        at = append_dims(text.chars, sizeof text.chars, at, (mica_ints){ints.data, MICA_MAX_RANK});
        at = append(text.chars, sizeof text.chars, at, ",...");
    } else {
        at = append_dims(text.chars, sizeof text.chars, at, ints);
    }
    append(text.chars, sizeof text.chars, at, ")");
    return text;
}

mica_label mica_dims_text(const mica_type *type) {
    if (type->kind != MICA_TENSOR || type->rank < 0) return mica_type_text(type);
    return mica_ints_text((mica_ints){type->dims, type->rank});
}

mica_status mica_type_check(const mica_type *type, const char *where) {
    if (type->kind == MICA_TOKEN) return NULL;
    if (type->kind != MICA_TENSOR && type->kind != MICA_LIST)
        return MICA_INVALID("[%s] there is no kind of type %d", where, (int)type->kind);
    if (!in_table(type->dtype))
        return MICA_INVALID("[%s] there is no dtype %d", where, (int)type->dtype);
    if (type->rank < 0 || type->rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the shape has a negative size or more than %d axes", where,
                            MICA_MAX_RANK);
    int64_t bytes = (int64_t)mica_dtype_bytes(type->dtype);
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return MICA_INVALID("[%s] negative size in %s", where, mica_type_text(type).chars);
        /* Sizes of zero count as one, so that strides cannot overflow either. */
        if (type->dims[i] && __builtin_mul_overflow(bytes, type->dims[i], &bytes))
            return MICA_INVALID("[%s] %s is too large: its bytes do not fit 63 bits", where,
                                mica_type_text(type).chars);
    }
    return NULL;
}

bool mica_type_is_differentiable(const mica_type *type) {
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    return type->kind != MICA_TOKEN && (kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX);
}
