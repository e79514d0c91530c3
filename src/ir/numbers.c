#include "ir/numbers.h"

#include <math.h>
#include <string.h>

/* f16: 5 bits of exponent, 10 of fraction; bf16: 8 and 7. */
static int fraction_bits(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f16 ? 10 : 7;
}

double mica_number_from_small(mica_dtype dtype, uint16_t bits) {
    int fraction = fraction_bits(dtype), exponent_bits = 15 - fraction;
    int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    int exponent = bits >> fraction & top, mantissa = bits & ((1 << fraction) - 1);
    double magnitude;
    if (exponent == top)
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(mantissa, 1 - bias - fraction);
    else
        magnitude = ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
    return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t mica_number_to_small(mica_dtype dtype, double value) {
    int fraction = fraction_bits(dtype), exponent_bits = 15 - fraction;
    int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(top << fraction);
    double magnitude = fabs(value);
    if (isnan(value)) return (uint16_t)(sign | infinity | 1 << (fraction - 1));
    if (magnitude == 0) return sign;
    if (isinf(value)) return sign | infinity;
    int exponent;
    frexp(magnitude, &exponent);
    if (exponent < 2 - bias) exponent = 2 - bias; /* subnormals share the smallest exponent */
    /* The units of the last place, rounded to nearest even: an integer below 2^(fraction + 1). */
    double units = nearbyint(ldexp(magnitude, fraction + 1 - exponent));
    int64_t encoded = (int64_t)units + ((int64_t)(exponent - 2 + bias) << fraction);
    return encoded >= infinity ? sign | infinity : (uint16_t)(sign | encoded);
}

static int64_t to_signed(double value, int bits) {
    double limit = ldexp(1, bits - 1);
    if (isnan(value)) return 0;
    if (value >= limit) return (int64_t)(~UINT64_C(0) >> (65 - bits));
    if (value <= -limit) return -(int64_t)(~UINT64_C(0) >> (65 - bits)) - 1;
    return (int64_t)value;
}

static uint64_t to_unsigned(double value, int bits) {
    if (!(value > 0)) return 0;
    if (value >= ldexp(1, bits)) return ~UINT64_C(0) >> (64 - bits);
    return (uint64_t)value;
}

/* The lowest `bytes` bytes of an integer, in the machine's order. */
static void store_integer(uint64_t value, size_t bytes, void *out) {
    uint8_t one = (uint8_t)value;
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    switch (bytes) {
    case 1: memcpy(out, &one, 1); break;
    case 2: memcpy(out, &two, 2); break;
    case 4: memcpy(out, &four, 4); break;
    default: memcpy(out, &value, 8); break;
    }
}

static void store_float(mica_dtype dtype, double value, void *out) {
    float single = (float)value;
    uint16_t small;
    switch (dtype) {
    case MICA_DTYPE_f16:
    case MICA_DTYPE_bf16:
        small = mica_number_to_small(dtype, value);
        memcpy(out, &small, sizeof small);
        break;
    case MICA_DTYPE_f32:
    case MICA_DTYPE_c64: memcpy(out, &single, sizeof single); break;
    default: memcpy(out, &value, sizeof value); break;
    }
}

void mica_number_store(mica_dtype dtype, double value, void *out_element) {
    size_t bytes = mica_dtype_bytes(dtype);
    memset(out_element, 0, bytes);
    switch (mica_dtype_kind_of(dtype)) {
    case MICA_KIND_BOOLEAN: *(uint8_t *)out_element = value != 0; break;
    case MICA_KIND_SIGNED:
        store_integer((uint64_t)to_signed(value, 8 * (int)bytes), bytes, out_element);
        break;
    case MICA_KIND_UNSIGNED:
        store_integer(to_unsigned(value, 8 * (int)bytes), bytes, out_element);
        break;
    case MICA_KIND_FLOAT:
    case MICA_KIND_COMPLEX: store_float(dtype, value, out_element); break;
    }
}
