#include "io/wire.h"

#include <string.h>

bool io_same(io_range a, io_range b) {
    return a.n == b.n && (a.n == 0 || !memcmp(a.data, b.data, a.n));
}

bool io_is(io_range a, const char *text) {
    return io_same(a, (io_range){(const uint8_t *)text, strlen(text)});
}

bool io_take(io_range *from, size_t n, io_range *out) {
    if (n > from->n) return false;
    *out = (io_range){from->data, n};
    from->data += n;
    from->n -= n;
    return true;
}

bool io_take_varint(io_range *from, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < from->n && i < 10; i++) {
        uint8_t byte = from->data[i];
        value |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            from->data += i + 1;
            from->n -= i + 1;
            *out = value;
            return true;
        }
    }
    return false;
}

uint32_t io_read_u32(const uint8_t *b) {
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

bool io_take_u32(io_range *from, uint32_t *out) {
    io_range part;
    if (!io_take(from, 4, &part)) return false;
    *out = io_read_u32(part.data);
    return true;
}

bool io_take_field(io_range *from, io_field *out) {
    uint64_t tag, length;
    io_range part;
    if (!io_take_varint(from, &tag)) return false;
    *out = (io_field){.number = tag >> 3, .wire = (int)(tag & 7)};
    switch (out->wire) {
    case IO_VARINT: return io_take_varint(from, &out->value);
    case IO_LENGTH:
        return io_take_varint(from, &length) && length <= from->n &&
               io_take(from, (size_t)length, &out->part);
    case IO_FOUR_BYTES:
    case IO_EIGHT_BYTES:
        if (!io_take(from, out->wire == IO_FOUR_BYTES ? 4 : 8, &part)) return false;
        out->value = io_read_u32(part.data);
        if (part.n == 8) out->value |= (uint64_t)io_read_u32(part.data + 4) << 32;
        return true;
    default: return false;
    }
}

void io_put_varint(mica_text *to, uint64_t value) {
    for (; value > 127; value >>= 7) mica_text_append_char(to, (char)(value | 128));
    mica_text_append_char(to, (char)value);
}

void io_put_u32(mica_text *to, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                        (uint8_t)(value >> 24)};
    mica_text_append_bytes(to, bytes, sizeof bytes);
}

void io_put_u64(mica_text *to, uint64_t value) {
    io_put_u32(to, (uint32_t)value);
    io_put_u32(to, (uint32_t)(value >> 32));
}

void io_put_number(mica_text *to, uint32_t field, uint64_t value) {
    if (value == 0) return;
    io_put_varint(to, field << 3 | IO_VARINT);
    io_put_varint(to, value);
}

void io_put_fixed32(mica_text *to, uint32_t field, uint32_t value) {
    io_put_varint(to, field << 3 | IO_FOUR_BYTES);
    io_put_u32(to, value);
}

void io_put_part(mica_text *to, uint32_t field, const void *bytes, size_t n) {
    io_put_varint(to, field << 3 | IO_LENGTH);
    io_put_varint(to, n);
    if (n > 0) mica_text_append_bytes(to, bytes, n);
}
