/* codegen/prelude/space.h: where element i of a space lies. */
#ifndef MICA_CODEGEN_PRELUDE_SPACE_H
#define MICA_CODEGEN_PRELUDE_SPACE_H

#include "codegen/prelude/kernel.h"
#include "codegen/prelude/layouts.h"

/* Division by 32 bits takes a GPU a fraction of the time. */
MICA_SCALAR int64_t mica_position(const mica_space *s, int64_t i) {
    int64_t position = 0;
    if (s->n <= 0x7fffffff) {
        uint32_t rest = (uint32_t)i;
        for (int64_t d = s->rank - 1; d > 0; d--) {
            uint32_t size = (uint32_t)s->sizes[d], above = rest / size;
            position += (int64_t)(rest - above * size) * s->strides[d];
            rest = above;
        }
        return s->rank > 0 ? position + (int64_t)rest * s->strides[0] : 0;
    }
    for (int64_t d = s->rank - 1; d >= 0; d--) {
        position += i % s->sizes[d] * s->strides[d];
        i /= s->sizes[d];
    }
    return position;
}

/* Integer i of an array of any integer dtype, as 64 bits. */
MICA_SCALAR int64_t mica_load_integer(uint64_t at, int64_t i, int64_t bytes, int64_t is_signed) {
    if (bytes == 4) {
        int32_t value = ((const int32_t *)at)[i];
        return is_signed ? (int64_t)value : (int64_t)(uint32_t)value;
    }
    if (bytes == 8) return ((const int64_t *)at)[i];
    if (bytes == 2) {
        int16_t value = ((const int16_t *)at)[i];
        return is_signed ? (int64_t)value : (int64_t)(uint16_t)value;
    }
    int8_t value = ((const int8_t *)at)[i];
    return is_signed ? (int64_t)value : (int64_t)(uint8_t)value;
}

/* The start of a slice, moved inside; *out_moved: it was not. */
MICA_SCALAR int64_t mica_clamped(int64_t value, int64_t is_signed, int64_t highest,
                                 int *out_moved) {
    if (is_signed && value < 0) {
        *out_moved = 1;
        return 0;
    }
    if ((uint64_t)value > (uint64_t)highest) {
        *out_moved = 1;
        return highest;
    }
    return value;
}

#endif
