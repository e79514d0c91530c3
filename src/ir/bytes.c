#include "ir/bytes.h"

#include <string.h>

#include "base/memory.h"

uint8_t *mica_write_room(mica_byte_writer *w, size_t n) {
    if (w->failed) return NULL;
    if (w->capacity - w->size < n) {
        size_t needed, capacity = w->capacity ? w->capacity : 256;
        bool overflow = __builtin_add_overflow(w->size, n, &needed);
        while (!overflow && capacity < needed)
            if (__builtin_mul_overflow(capacity, 2, &capacity)) capacity = needed;
        uint8_t *grown = overflow ? NULL : mica_realloc(w->data, capacity);
        if (!grown) {
            w->failed = true;
            return NULL;
        }
        w->data = grown;
        w->capacity = capacity;
    }
    w->size += n;
    return w->data + w->size - n;
}

void mica_write_bytes(mica_byte_writer *w, const void *bytes, size_t n) {
    uint8_t *to = mica_write_room(w, n);
    if (to && n) memcpy(to, bytes, n);
}

static void put(uint8_t *at, uint64_t value, size_t n) {
    for (size_t i = 0; at && i < n; i++) at[i] = (uint8_t)(value >> (8 * i));
}

void mica_write_u8(mica_byte_writer *w, uint8_t value) {
    put(mica_write_room(w, 1), value, 1);
}

void mica_write_u32(mica_byte_writer *w, uint32_t value) {
    put(mica_write_room(w, 4), value, 4);
}

void mica_write_u64(mica_byte_writer *w, uint64_t value) {
    put(mica_write_room(w, 8), value, 8);
}

void mica_put_u64(uint8_t *at, uint64_t value) {
    put(at, value, 8);
}

void mica_write_string(mica_byte_writer *w, const char *string) {
    size_t n = strlen(string);
    if (n > UINT32_MAX) w->failed = true;
    mica_write_u32(w, (uint32_t)n);
    mica_write_bytes(w, string, n);
}

const uint8_t *mica_read_bytes(mica_byte_reader *r, uint64_t n) {
    if (r->failed || n > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return NULL;
    }
    r->at += n;
    return r->at - n;
}

static uint64_t get(mica_byte_reader *r, size_t n) {
    const uint8_t *at = mica_read_bytes(r, n);
    uint64_t value = 0;
    for (size_t i = 0; at && i < n; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint8_t mica_read_u8(mica_byte_reader *r) {
    return (uint8_t)get(r, 1);
}

uint32_t mica_read_u32(mica_byte_reader *r) {
    return (uint32_t)get(r, 4);
}

uint64_t mica_read_u64(mica_byte_reader *r) {
    return get(r, 8);
}

uint32_t mica_read_count(mica_byte_reader *r, size_t least) {
    uint32_t n = mica_read_u32(r);
    if (n > INT32_MAX / 2 || (uint64_t)n * least > (uint64_t)(r->end - r->at)) r->failed = true;
    return r->failed ? 0 : n;
}

uint64_t mica_checksum(const uint8_t *bytes, size_t n) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}
