/* Integers, bool and conversions of ir/scalar.h. */
#include "ir/scalar.h"
#include "test.h"

static uint64_t random_state = 1;
static uint64_t random_bits(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- integers, against 128-bit arithmetic -----------------------------------------------------
 */

typedef __int128 wide;

/* Shifts and counts, on 128 bits: x as it is, as bits and as a two's complement number. */
#define CHECK_BITS(suffix, type, a, b)                                                             \
    do {                                                                                           \
        const int width = 8 * (int)sizeof(type);                                                   \
        const wide by = (b), amount = by < 0 || by > width ? width : by;                           \
        const wide bits = (wide)(a) & (((wide)1 << width) - 1);                                    \
        const wide number = bits >> (width - 1) ? bits - ((wide)1 << width) : bits;                \
        const uint64_t word = (uint64_t)bits;                                                      \
        CHECK(mica_shl_##suffix(a, b) == (type)((unsigned __int128)bits << amount));               \
        CHECK(mica_shr_##suffix(a, b) == (type)(bits >> amount));                                  \
        CHECK(mica_sar_##suffix(a, b) == (type)(number >> amount));                                \
        CHECK(mica_popcount_##suffix(a) == (type)__builtin_popcountll(word));                      \
        CHECK(mica_clz_##suffix(a) == (type)(word ? __builtin_clzll(word) - 64 + width : width));  \
    } while (0)

#define CHECK_INTEGER(suffix, type, lowest, a, b)                                                  \
    do {                                                                                           \
        wide x = (a), y = (b), low = (wide)(lowest);                                               \
        (void)low;                                                                                 \
        CHECK(mica_add_##suffix(a, b) == (type)(x + y));                                           \
        CHECK(mica_sub_##suffix(a, b) == (type)(x - y));                                           \
        CHECK(mica_mul_##suffix(a, b) == (type)((unsigned __int128)x * (unsigned __int128)y));     \
        CHECK(mica_div_##suffix(a, b) == (type)(y == 0 ? -1 : x / y));                             \
        CHECK(mica_rem_##suffix(a, b) == (type)(y == 0 ? x : x % y));                              \
        CHECK(mica_max_##suffix(a, b) == (x > y ? a : b));                                         \
        CHECK(mica_min_##suffix(a, b) == (x < y ? a : b));                                         \
        CHECK(mica_and_##suffix(a, b) == (type)(x & y));                                           \
        CHECK(mica_or_##suffix(a, b) == (type)(x | y));                                            \
        CHECK(mica_xor_##suffix(a, b) == (type)(x ^ y));                                           \
        CHECK(mica_not_##suffix(a) == (type)~x);                                                   \
        CHECK(mica_neg_##suffix(a) == (type)-x);                                                   \
        CHECK(mica_abs_##suffix(a) == (type)(x < 0 ? -x : x));                                     \
        CHECK(mica_sign_##suffix(a) == (type)((x > 0) - (x < 0)));                                 \
        CHECK_BITS(suffix, type, a, b);                                                            \
    } while (0)

#define TEST_INTEGER(suffix, type, lowest, highest)                                                \
    TEST(suffix##_arithmetic_wraps_and_never_traps) {                                              \
        type edge[] = {0,                                                                          \
                       1,                                                                          \
                       2,                                                                          \
                       3,                                                                          \
                       7,                                                                          \
                       (type)-1,                                                                   \
                       (type)-2,                                                                   \
                       (type)-7,                                                                   \
                       (lowest),                                                                   \
                       (lowest) + 1,                                                               \
                       42,                                                                         \
                       (highest),                                                                  \
                       (highest)-1,                                                                \
                       (highest) / 2,                                                              \
                       (highest) / 2 + 1};                                                         \
        int n = sizeof edge / sizeof edge[0];                                                      \
        for (int i = 0; i < n; i++)                                                                \
            for (int j = 0; j < n; j++) CHECK_INTEGER(suffix, type, lowest, edge[i], edge[j]);     \
        for (int i = 0; i < 20000; i++) {                                                          \
            type a = (type)random_bits(), b = (type)(random_bits() >> (random_bits() & 63));       \
            CHECK_INTEGER(suffix, type, lowest, a, b);                                             \
            b = (type)(random_bits() % 72);                                                        \
            CHECK_BITS(suffix, type, a, b);                                                        \
        }                                                                                          \
    }
TEST_INTEGER(i8, int8_t, INT8_MIN, INT8_MAX)
TEST_INTEGER(i16, int16_t, INT16_MIN, INT16_MAX)
TEST_INTEGER(i32, int32_t, INT32_MIN, INT32_MAX)
TEST_INTEGER(i64, int64_t, INT64_MIN, INT64_MAX)
TEST_INTEGER(u8, uint8_t, 0, UINT8_MAX)
TEST_INTEGER(u16, uint16_t, 0, UINT16_MAX)
TEST_INTEGER(u32, uint32_t, 0, UINT32_MAX)
TEST_INTEGER(u64, uint64_t, 0, UINT64_MAX)

TEST(bool_functions_follow_their_truth_tables) {
    for (uint8_t a = 0; a < 2; a++) {
        CHECK(mica_not_bool(a) == !a);
        for (uint8_t b = 0; b < 2; b++) {
            CHECK(mica_and_bool(a, b) == (a && b));
            CHECK(mica_or_bool(a, b) == (a || b));
            CHECK(mica_xor_bool(a, b) == (a != b));
        }
    }
}

/* ---- conversions between floats ------------------------------------------------------------- */

typedef struct format {
    int precision, smallest_exponent, largest_exponent, fraction_bits;
} format;
static const format half = {11, -14, 15, 10}, brain = {8, -126, 127, 7};

/* The value of bits in a 16-bit format, straight from the definition. */
static double decode(uint16_t bits, const format *f) {
    int exponent_bits = 15 - f->fraction_bits, all_ones = (1 << exponent_bits) - 1;
    int exponent = (bits & 0x7fff) >> f->fraction_bits;
    int fraction = bits & ((1 << f->fraction_bits) - 1);
    double value = exponent == all_ones ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent == 0      ? ldexp(fraction, f->smallest_exponent - f->fraction_bits)
                                        : ldexp((1 << f->fraction_bits) + fraction,
                                                exponent - 1 + f->smallest_exponent - f->fraction_bits);
    return bits & 0x8000 ? -value : value;
}
/* The nearest value of a format, ties to even. */
static double nearest(long double x, const format *f) {
    if (x == 0 || isnan(x) || isinf(x)) return (double)x;
    int exponent = ilogbl(x);
    if (exponent < f->smallest_exponent) exponent = f->smallest_exponent;
    long double unit = ldexpl(1, exponent - f->precision + 1);
    long double rounded = rintl(x / unit) * unit;
    if (fabsl(rounded) >= ldexpl(1, f->largest_exponent + 1)) {
        return copysign((double)INFINITY, (double)x);
    }
    return (double)copysignl(rounded, x);
}
static bool same(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && !signbit(a) == !signbit(b);
}

TEST(f16_and_bf16_widen_exactly_and_come_back) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t h = (uint16_t)bits;
        CHECK(same((double)mica_convert_f16_f32(h), decode(h, &half)));
        CHECK(same((double)mica_convert_bf16_f32(h), decode(h, &brain)));
        uint16_t back_half = mica_convert_f32_f16(mica_convert_f16_f32(h));
        uint16_t back_brain = mica_convert_f32_bf16(mica_convert_bf16_f32(h));
        uint16_t quiet_half = (h & 0x7fff) > 0x7c00 ? h | 0x0200 : h;
        uint16_t quiet_brain = (h & 0x7fff) > 0x7f80 ? h | 0x0040 : h;
        CHECK(back_half == quiet_half && back_brain == quiet_brain);
        CHECK(same(decode(mica_convert_f16_bf16(h), &brain), nearest(decode(h, &half), &brain)));
        CHECK(same(decode(mica_convert_bf16_f16(h), &half), nearest(decode(h, &brain), &half)));
    }
}

TEST(f32_narrows_to_the_nearest_f16_and_bf16) {
    uint64_t stride = getenv("MICA_EXHAUSTIVE") ? 1 : getenv("MICA_TEST_QUICK") ? 65521 : 1021;
    for (uint64_t bits = 0; bits < ((uint64_t)1 << 32); bits += stride) {
        float x = mica_from_bits_f32((uint32_t)bits);
        double a = decode(mica_convert_f32_f16(x), &half), b = nearest((long double)x, &half);
        double c = decode(mica_convert_f32_bf16(x), &brain), d = nearest((long double)x, &brain);
        if (!same(a, b) || !same(c, d)) {
            test_report(__FILE__, __LINE__, "%a: f16 %a, not %a; bf16 %a, not %a", (double)x, a, b,
                        c, d);
        }
    }
    test_checks++;
}

/* Halfway between neighbours, and the two doubles next to that: rounding twice would get these
 * wrong. */
TEST(f64_narrows_in_one_rounding) {
    const uint16_t top[2] = {0x7bff, 0x7f7f};
    const format *formats[2] = {&half, &brain};
    for (int k = 0; k < 2; k++) {
        for (uint32_t bits = 0; bits <= top[k]; bits++) {
            double low = decode((uint16_t)bits, formats[k]);
            double high = bits == top[k] ? ldexp(1, formats[k]->largest_exponent + 1)
                                         : decode((uint16_t)(bits + 1), formats[k]);
            double middle = (low + high) / 2;
            double points[] = {middle,  nextafter(middle, 0),   nextafter(middle, 1e300),
                               -middle, middle * (1 - 0x1p-30), middle * (1 + 0x1p-30)};
            for (int i = 0; i < 6; i++) {
                uint16_t got =
                    k == 0 ? mica_convert_f64_f16(points[i]) : mica_convert_f64_bf16(points[i]);
                CHECK(same(decode(got, formats[k]), nearest((long double)points[i], formats[k])));
            }
        }
    }
    CHECK(mica_convert_f64_f16(1e300) == 0x7c00 && mica_convert_f64_bf16(-1e300) == 0xff80);
    CHECK(mica_convert_f64_f16(5e-324) == 0 && mica_convert_f64_bf16(-5e-324) == 0x8000);
    CHECK(isnan(decode(mica_convert_f64_f16((double)NAN), &half)));
    CHECK(isnan(decode(mica_convert_f64_bf16((double)NAN), &brain)));
}

/* ---- integers and floats -------------------------------------------------------------------- */

#define TEST_TO_INTEGER(to, type, lowest, highest)                                                 \
    TEST(floats_convert_to_##to##_by_truncation_and_saturation) {                                  \
        for (int i = 0; i < 200000; i++) {                                                         \
            double x =                                                                             \
                ldexp((double)(int64_t)random_bits() * 0x1p-63, (int)(random_bits() % 80) - 8);    \
            if (i % 5 == 0) x = (double)(lowest) + (double)(i % 7 - 3) * 0.5;                      \
            if (i % 5 == 1) x = (double)(highest) + (double)(i % 7 - 3) * 0.5;                     \
            long double whole = truncl((long double)x);                                            \
            type expected = whole <= (long double)(lowest)    ? (lowest)                           \
                            : whole >= (long double)(highest) ? (highest)                          \
                                                              : (type)whole;                       \
            CHECK(mica_convert_f64_##to(x) == expected);                                           \
            whole = truncl((long double)(float)x);                                                 \
            expected = whole <= (long double)(lowest)    ? (lowest)                                \
                       : whole >= (long double)(highest) ? (highest)                               \
                                                         : (type)whole;                            \
            CHECK(mica_convert_f32_##to((float)x) == expected);                                    \
        }                                                                                          \
        CHECK(mica_convert_f64_##to((double)NAN) == 0 && mica_convert_f32_##to(NAN) == 0);         \
        CHECK(mica_convert_f64_##to((double)INFINITY) == (highest));                               \
        CHECK(mica_convert_f32_##to(-INFINITY) == (lowest));                                       \
        CHECK(mica_convert_f16_##to(0x7c00) == (highest) && mica_convert_f16_##to(0x7e00) == 0);   \
        CHECK(mica_convert_bf16_##to(0x4040) == 3 && mica_convert_f16_##to(0x4248) == 3);          \
    }
TEST_TO_INTEGER(i8, int8_t, INT8_MIN, INT8_MAX)
TEST_TO_INTEGER(i16, int16_t, INT16_MIN, INT16_MAX)
TEST_TO_INTEGER(i32, int32_t, INT32_MIN, INT32_MAX)
TEST_TO_INTEGER(i64, int64_t, INT64_MIN, INT64_MAX)
TEST_TO_INTEGER(u8, uint8_t, 0, UINT8_MAX)
TEST_TO_INTEGER(u16, uint16_t, 0, UINT16_MAX)
TEST_TO_INTEGER(u32, uint32_t, 0, UINT32_MAX)
TEST_TO_INTEGER(u64, uint64_t, 0, UINT64_MAX)

TEST(integers_convert_to_floats_in_one_rounding) {
    for (int i = 0; i < 400000; i++) {
        uint64_t u = random_bits() >> (random_bits() & 63);
        if (i % 3 == 0) { /* halfway between bf16 neighbours, off by one */
            int shift = (int)(random_bits() % 55);
            u = ((2 * (random_bits() % 128 + 128) + 1) << shift) + (random_bits() % 3) - 1;
        }
        int64_t s = (int64_t)u;
        CHECK(same(decode(mica_convert_u64_bf16(u), &brain), nearest((long double)u, &brain)));
        CHECK(same(decode(mica_convert_i64_bf16(s), &brain), nearest((long double)s, &brain)));
        CHECK(same(decode(mica_convert_u64_f16(u), &half), nearest((long double)u, &half)));
        CHECK(same(decode(mica_convert_i32_bf16((int32_t)u), &brain),
                   nearest((long double)(int32_t)u, &brain)));
        CHECK(same(decode(mica_convert_i16_f16((int16_t)u), &half),
                   nearest((long double)(int16_t)u, &half)));
        CHECK(mica_convert_u64_f32(u) == (float)u && mica_convert_i64_f64(s) == (double)s);
    }
}

TEST(conversions_to_and_from_bool_and_between_integers) {
    CHECK(mica_convert_f32_bool(-0.0f) == 0 && mica_convert_f32_bool(NAN) == 1);
    CHECK(mica_convert_f16_bool(0x8000) == 0 && mica_convert_bf16_bool(1) == 1);
    CHECK(mica_convert_f64_bool(0x1p-1074) == 1 && mica_convert_i64_bool((int64_t)1 << 40) == 1);
    CHECK(mica_convert_bool_f16(1) == 0x3c00 && mica_convert_bool_bf16(1) == 0x3f80);
    CHECK(mica_convert_i32_i8(300) == 44 && mica_convert_i8_u64(-1) == UINT64_MAX);
    CHECK(mica_convert_u32_i32(0x80000000u) == INT32_MIN && mica_convert_i64_u16(-2) == 65534);
}
