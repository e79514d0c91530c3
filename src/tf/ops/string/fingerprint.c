#include "tf/ops/string/fingerprint.h"

/* ---- FarmHash's fingerprint -------------------------------------------------------------------*/

static const uint64_t K0 = UINT64_C(0xc3a5c85c97cb3127), K1 = UINT64_C(0xb492b66fbe98f273),
                      K2 = UINT64_C(0x9ae16a3b2f90404f);

typedef struct pair {
    uint64_t a, b;
} pair;

static uint64_t word(const char *s, int n) {
    uint64_t value = 0;
    for (int i = n; i-- > 0;) value = value << 8 | (uint8_t)s[i];
    return value;
}

static uint64_t load(const char *s) {
    return word(s, 8);
}

static uint64_t turn(uint64_t x, int right) {
    return x >> right | x << (64 - right);
}

static uint64_t fold(uint64_t x) {
    return x ^ x >> 47;
}

static uint64_t join(uint64_t u, uint64_t v, uint64_t mul) {
    uint64_t a = fold((u ^ v) * mul);
    return fold((v ^ a) * mul) * mul;
}

static uint64_t up_to_16(const char *s, size_t n) {
    uint64_t mul = K2 + n * 2;
    if (n >= 8) {
        uint64_t a = load(s) + K2, b = load(s + n - 8);
        return join(turn(b, 37) * mul + a, (turn(a, 25) + b) * mul, mul);
    }
    if (n >= 4) return join(n + (word(s, 4) << 3), word(s + n - 4, 4), mul);
    if (n == 0) return K2;
    uint64_t y = (uint8_t)s[0] + ((uint64_t)(uint8_t)s[n >> 1] << 8);
    uint64_t z = n + ((uint64_t)(uint8_t)s[n - 1] << 2);
    return fold((y * K2) ^ (z * K0)) * K2;
}

static uint64_t up_to_32(const char *s, size_t n) {
    uint64_t mul = K2 + n * 2;
    uint64_t a = load(s) * K1, b = load(s + 8), c = load(s + n - 8) * mul,
             d = load(s + n - 16) * K2;
    return join(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + K2, 18) + c, mul);
}

static uint64_t up_to_64(const char *s, size_t n) {
    uint64_t mul = K2 + n * 2;
    uint64_t a = load(s) * K2, b = load(s + 8), c = load(s + n - 8) * mul,
             d = load(s + n - 16) * K2;
    uint64_t y = turn(a + b, 43) + turn(c, 30) + d;
    uint64_t z = join(y, a + turn(b + K2, 18) + c, mul);
    uint64_t e = load(s + 16) * mul, f = load(s + 24);
    uint64_t g = (y + load(s + n - 32)) * mul, h = (z + load(s + n - 24)) * mul;
    return join(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, mul);
}

static pair weak(const char *s, uint64_t a, uint64_t b) {
    uint64_t w = load(s), x = load(s + 8), y = load(s + 16), z = load(s + 24);
    a += w;
    b = turn(b + a + z, 21);
    uint64_t c = a;
    a += x + y;
    b += turn(a, 44);
    return (pair){a + z, b + c};
}

typedef struct state {
    uint64_t x, y, z;
    pair v, w;
} state;

/* A step over 64 bytes; `times` is what two terms are multiplied by, 9 in the last one. */
static void step(state *t, const char *s, uint64_t mul, uint64_t times) {
    t->x = turn(t->x + t->y + t->v.a + load(s + 8), 37) * mul;
    t->y = turn(t->y + t->v.b + load(s + 48), 42) * mul;
    t->x ^= t->w.b * times;
    t->y += t->v.a * times + load(s + 40);
    t->z = turn(t->z + t->w.a, 33) * mul;
    t->v = weak(s, t->v.b * mul, t->x + t->w.a);
    t->w = weak(s + 32, t->z + t->w.b, t->y + load(s + 16));
    uint64_t swap = t->z;
    t->z = t->x;
    t->x = swap;
}

uint64_t mica_tf_fingerprint(const char *s, size_t n) {
    if (n <= 16) return up_to_16(s, n);
    if (n <= 32) return up_to_32(s, n);
    if (n <= 64) return up_to_64(s, n);
    const uint64_t seed = 81;
    state t = {.x = seed * K2 + load(s), .y = seed * K1 + 113};
    t.z = fold(t.y * K2 + 113) * K2;
    const char *end = s + (n - 1) / 64 * 64, *last = s + n - 64;
    for (; s != end; s += 64) step(&t, s, K1, 1);
    uint64_t mul = K1 + ((t.z & 0xff) << 1);
    t.w.a += (n - 1) & 63;
    t.v.a += t.w.a;
    t.w.a += t.v.a;
    step(&t, last, mul, 9);
    return join(join(t.v.a, t.w.a, mul) + fold(t.y) * K0 + t.z, join(t.v.b, t.w.b, mul) + t.x, mul);
}

/* ---- SipHash-2-4 ------------------------------------------------------------------------------*/

static uint64_t left(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = left(v[1], 13) ^ v[0];
    v[3] = left(v[3], 16) ^ v[2];
    v[0] = left(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = left(v[1], 17) ^ v[2];
    v[3] = left(v[3], 21) ^ v[0];
    v[2] = left(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t m) {
    v[3] ^= m;
    sip_round(v);
    sip_round(v);
    v[0] ^= m;
}

uint64_t mica_tf_siphash(const uint64_t key[2], const char *bytes, size_t n) {
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) sip_word(v, load(bytes + i));
    sip_word(v, word(bytes + i, (int)(n - i)) | (uint64_t)n << 56);
    v[2] ^= 0xff;
    for (int k = 0; k < 4; k++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
