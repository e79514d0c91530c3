/* codegen/prelude/host_space.h: where the elements of a space lie, and copies between spaces, for
 * programs of C that run without Mica (runtime/write_c.c). */
#ifndef MICA_CODEGEN_PRELUDE_HOST_SPACE_H
#define MICA_CODEGEN_PRELUDE_HOST_SPACE_H

#include <stdint.h>

#include "codegen/prelude/layouts.h"
#include "ir/scalar.h"

MICA_CALLED int64_t mica_host_position(const mica_space *s, int64_t i) {
    int64_t position = 0;
    for (int64_t d = s->rank - 1; d >= 0; d--) {
        position += i % s->sizes[d] * s->strides[d];
        i /= s->sizes[d];
    }
    return position;
}

/* out[i] = the position of element begin + i. */
MICA_CALLED void mica_host_positions(const mica_space *s, int64_t begin, int64_t count,
                                     int64_t *out) {
    int64_t last = s->rank - 1;
    for (int64_t i = 0; i < count;) { /* one stretch of the innermost axis at a time */
        int64_t size = last < 0 ? count : s->sizes[last], stride = last < 0 ? 0 : s->strides[last];
        int64_t n = size - (last < 0 ? 0 : (begin + i) % size);
        int64_t position = last < 0 ? 0 : mica_host_position(s, begin + i);
        if (n > count - i) n = count - i;
        for (int64_t j = 0; j < n; j++) out[i + j] = position + j * stride;
        i += n;
    }
}

/* Elements of `bytes` from one space to another of the same sizes. */
MICA_CALLED void mica_host_copy(const mica_space *from, const mica_space *to, int64_t bytes,
                                const void *source, void *target) {
    const char *x = (const char *)source;
    char *y = (char *)target;
    int64_t last = to->rank - 1, index[MICA_SPACE_AXES] = {0};
    if (to->n == 0) return;
    const int64_t n = last < 0 ? 1 : to->sizes[last];
    const int64_t x_step = last < 0 ? 1 : from->strides[last],
                  y_step = last < 0 ? 1 : to->strides[last];
    for (;;) {
        if (x_step == 1 && y_step == 1) {
            memcpy(y, x, (size_t)(n * bytes));
        } else if (bytes == 4) {
            for (int64_t i = 0; i < n; i++) memcpy(y + i * y_step * 4, x + i * x_step * 4, 4);
        } else if (bytes == 8) {
            for (int64_t i = 0; i < n; i++) memcpy(y + i * y_step * 8, x + i * x_step * 8, 8);
        } else {
            for (int64_t i = 0; i < n; i++)
                memcpy(y + i * y_step * bytes, x + i * x_step * bytes, (size_t)bytes);
        }
        int64_t d = last - 1;
        for (; d >= 0; d--) {
            x += from->strides[d] * bytes;
            y += to->strides[d] * bytes;
            if (++index[d] < to->sizes[d]) break;
            x -= from->strides[d] * to->sizes[d] * bytes;
            y -= to->strides[d] * to->sizes[d] * bytes;
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

/* Entry i of a vector of integers, moved inside 0 .. highest. */
MICA_CALLED int64_t mica_host_start(const void *at, int64_t i, int64_t bytes, int is_signed,
                                    int64_t highest) {
    uint64_t value = 0;
    memcpy(&value, (const char *)at + i * bytes, (size_t)bytes);
    int shift = 64 - 8 * (int)bytes;
    if (is_signed && (int64_t)(value << shift) < 0) return 0;
    return value > (uint64_t)highest ? highest : (int64_t)value;
}

/* Philox 4x32-10: `bytes` random ones. */
MICA_CALLED void mica_host_random(const uint32_t *key, const uint32_t *counter, size_t bytes,
                                  void *y) {
    enum { LANES = 16 };
    for (size_t at = 0; at < bytes; at += LANES * 16) {
        uint32_t c[4][LANES], out[LANES * 4], k0 = key[0], k1 = key[1];
        for (int l = 0; l < LANES; l++) { /* a sum of 128 bits */
            uint64_t low = (uint64_t)counter[1] << 32 | counter[0],
                     sum = low + at / 16 + (uint64_t)l;
            uint64_t high = ((uint64_t)counter[3] << 32 | counter[2]) + (sum < low);
            c[0][l] = (uint32_t)sum;
            c[1][l] = (uint32_t)(sum >> 32);
            c[2][l] = (uint32_t)high;
            c[3][l] = (uint32_t)(high >> 32);
        }
        for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
            for (int l = 0; l < LANES; l++) {
                uint64_t first = (uint64_t)0xD2511F53u * c[0][l];
                uint64_t second = (uint64_t)0xCD9E8D57u * c[2][l];
                uint32_t c1 = c[1][l], c3 = c[3][l];
                c[0][l] = (uint32_t)(second >> 32) ^ c1 ^ k0;
                c[1][l] = (uint32_t)second;
                c[2][l] = (uint32_t)(first >> 32) ^ c3 ^ k1;
                c[3][l] = (uint32_t)first;
            }
        for (int l = 0; l < LANES; l++)
            for (int w = 0; w < 4; w++) out[l * 4 + w] = c[w][l];
        memcpy((char *)y + at, out, bytes - at < sizeof out ? bytes - at : sizeof out);
    }
}

#endif
