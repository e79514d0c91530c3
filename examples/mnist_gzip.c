/* Unpacking gzip: a bit reader, canonical Huffman codes, and the three kinds of deflate blocks.
 * Every read and write is checked, so a damaged file is an answer and not a crash. Written out here
 * because the example stands on Mica and libc alone. */
#include <stdlib.h>
#include <string.h>

#include "mnist_data.h"

typedef struct stream {
    const uint8_t *in;
    int64_t in_size, in_at;
    uint32_t bits;
    int n_bits;
    uint8_t *out;
    int64_t out_size, out_capacity;
    bool damaged;
} stream;

/* count[l] codes of length l; symbols in the order of their codes. */
typedef struct huffman {
    int16_t count[16], symbol[288];
} huffman;

static int take_bits(stream *s, int n) {
    while (s->n_bits < n) {
        if (s->in_at >= s->in_size) {
            s->damaged = true;
            return 0;
        }
        s->bits |= (uint32_t)s->in[s->in_at++] << s->n_bits;
        s->n_bits += 8;
    }
    int value = (int)(s->bits & ((1u << n) - 1));
    s->bits >>= n;
    s->n_bits -= n;
    return value;
}

static void put_byte(stream *s, uint8_t byte) {
    if (s->out_size == s->out_capacity) {
        int64_t capacity = s->out_capacity ? 2 * s->out_capacity : 1 << 16;
        uint8_t *grown = realloc(s->out, (size_t)capacity);
        if (!grown) {
            s->damaged = true;
            return;
        }
        s->out = grown;
        s->out_capacity = capacity;
    }
    s->out[s->out_size++] = byte;
}

static void make_code(huffman *h, const uint8_t *lengths, int n) {
    int16_t offset[16] = {0};
    memset(h, 0, sizeof *h);
    for (int i = 0; i < n; i++) h->count[lengths[i]]++;
    h->count[0] = 0;
    for (int l = 1; l < 15; l++) offset[l + 1] = (int16_t)(offset[l] + h->count[l]);
    for (int i = 0; i < n; i++)
        if (lengths[i]) h->symbol[offset[lengths[i]]++] = (int16_t)i;
}

static int take_symbol(stream *s, const huffman *h) {
    int code = 0, first = 0, index = 0;
    for (int length = 1; length <= 15 && !s->damaged; length++) {
        code |= take_bits(s, 1);
        if (code - first < h->count[length]) return h->symbol[index + code - first];
        index += h->count[length];
        first = (first + h->count[length]) << 1;
        code <<= 1;
    }
    s->damaged = true;
    return 0;
}

static void copy_back(stream *s, int distance, int length) {
    if (distance > s->out_size) {
        s->damaged = true;
        return;
    }
    for (int i = 0; i < length && !s->damaged; i++) put_byte(s, s->out[s->out_size - distance]);
}

static void compressed_block(stream *s, const huffman *literals, const huffman *distances) {
    static const int16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                          15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                          67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const int8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const int16_t distance_base[] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (!s->damaged) {
        int symbol = take_symbol(s, literals);
        if (s->damaged || symbol == 256) return;
        if (symbol < 256) {
            put_byte(s, (uint8_t)symbol);
            continue;
        }
        int l = symbol - 257, d;
        if (l >= 29) break;
        int length = length_base[l] + take_bits(s, length_bits[l]);
        if ((d = take_symbol(s, distances)) >= 30) break;
        int extra = d < 4 ? 0 : d / 2 - 1;
        copy_back(s, distance_base[d] + take_bits(s, extra), length);
    }
    s->damaged = true;
}

static void stored_block(stream *s) {
    s->bits = 0;
    s->n_bits = 0;
    if (s->in_at + 4 > s->in_size) {
        s->damaged = true;
        return;
    }
    int length = s->in[s->in_at] | s->in[s->in_at + 1] << 8;
    s->in_at += 4;
    if (length > s->in_size - s->in_at) s->damaged = true;
    for (int i = 0; i < length && !s->damaged; i++) put_byte(s, s->in[s->in_at++]);
}

static void fixed_block(stream *s) {
    huffman literals, distances;
    uint8_t lengths[288];
    for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&literals, lengths, 288);
    memset(lengths, 5, 30);
    make_code(&distances, lengths, 30);
    compressed_block(s, &literals, &distances);
}

static void dynamic_block(stream *s) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    huffman literals, distances;
    uint8_t lengths[288 + 32] = {0};
    int n_literals = take_bits(s, 5) + 257, n_distances = take_bits(s, 5) + 1;
    int n_codes = take_bits(s, 4) + 4, n = 0;
    if (n_literals > 288) s->damaged = true;
    for (int i = 0; i < n_codes; i++) lengths[order[i]] = (uint8_t)take_bits(s, 3);
    make_code(&literals, lengths, 19);
    memset(lengths, 0, sizeof lengths);
    while (n < n_literals + n_distances && !s->damaged) {
        int symbol = take_symbol(s, &literals), repeat = 1;
        uint8_t value = (uint8_t)symbol;
        if (symbol >= 16) {
            value = symbol == 16 && n > 0 ? lengths[n - 1] : 0;
            repeat = symbol == 16   ? 3 + take_bits(s, 2)
                     : symbol == 17 ? 3 + take_bits(s, 3)
                                    : 11 + take_bits(s, 7);
        }
        if (n + repeat > n_literals + n_distances) s->damaged = true;
        for (int i = 0; i < repeat && !s->damaged; i++) lengths[n++] = value;
    }
    if (s->damaged) return;
    make_code(&literals, lengths, n_literals);
    make_code(&distances, lengths + n_literals, n_distances);
    compressed_block(s, &literals, &distances);
}

uint32_t gzip_checksum(const uint8_t *bytes, int64_t n) {
    uint32_t table[256], checksum = 0xffffffffu;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
    }
    for (int64_t i = 0; i < n; i++) checksum = checksum >> 8 ^ table[(checksum ^ bytes[i]) & 255];
    return ~checksum;
}

static uint32_t little_endian(const uint8_t *b) {
    return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The header's length, or -1: ten bytes, then optional fields by flag. */
static int64_t gzip_header(const uint8_t *b, int64_t n) {
    if (n < 18 || b[0] != 0x1f || b[1] != 0x8b || b[2] != 8) return -1;
    int64_t at = 10;
    if (b[3] & 4) at += 2 + (b[10] | b[11] << 8);
    for (int flag = 8; flag <= 16; flag *= 2) {
        if (!(b[3] & flag)) continue;
        while (at < n && b[at]) at++;
        at++;
    }
    if (b[3] & 2) at += 2;
    return at < n ? at : -1;
}

uint8_t *gzip_unpack(const uint8_t *bytes, int64_t n, int64_t *out_n) {
    int64_t start = gzip_header(bytes, n);
    if (start < 0) return NULL;
    stream s = {.in = bytes, .in_size = n - 8, .in_at = start};
    bool last = false;
    while (!last && !s.damaged) {
        last = take_bits(&s, 1);
        switch (take_bits(&s, 2)) {
        case 0: stored_block(&s); break;
        case 1: fixed_block(&s); break;
        case 2: dynamic_block(&s); break;
        default: s.damaged = true;
        }
    }
    if (s.damaged || (uint32_t)s.out_size != little_endian(bytes + n - 4) ||
        gzip_checksum(s.out, s.out_size) != little_endian(bytes + n - 8)) {
        free(s.out);
        return NULL;
    }
    *out_n = s.out_size;
    return s.out;
}
