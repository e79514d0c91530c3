#include "device/ref/value.h"

#include <math.h>
#include <string.h>

ref_number ref_from_double(double real) {
    return (ref_number){.real = real};
}

ref_number ref_from_bits(uint64_t bits) {
    return (ref_number){.bits = bits};
}

ref_number ref_product(mica_dtype dtype, ref_number a, ref_number b) {
    ref_number y = {.bits = a.bits * b.bits, .real = a.real * b.real};
    if (mica_dtype_kind_of(dtype) != MICA_KIND_COMPLEX) return y;
    y.real -= a.imaginary * b.imaginary;
    y.imaginary = a.real * b.imaginary + a.imaginary * b.real;
    return y;
}

/* A float with `fraction` explicit bits and exponents from `lowest` (of normal numbers) up. The
 * highest exponent is that of infinity and NaN, as in IEEE's formats; where `all_finite`, its last
 * number alone is NaN, and what is too large becomes that. */
typedef struct small_float {
    int exponent, fraction, lowest;
    bool all_finite;
} small_float;

static const small_float half_float = {5, 10, -14, false};
static const small_float brain_float = {8, 7, -126, false};
static const small_float float8_e4m3fn = {4, 3, -6, true};
static const small_float float8_e5m2 = {5, 2, -14, false};

/* The bits of the first magnitude that is not finite. */
static int beyond_finite(small_float format) {
    int infinite = ((1 << format.exponent) - 1) << format.fraction;
    return format.all_finite ? infinite + (1 << format.fraction) - 1 : infinite;
}

static double small_to_double(small_float format, uint16_t bits) {
    int width = format.exponent + format.fraction, magnitude_bits = bits & ((1 << width) - 1);
    int exponent = magnitude_bits >> format.fraction;
    int fraction = bits & ((1 << format.fraction) - 1), beyond = beyond_finite(format);
    double magnitude;
    if (magnitude_bits >= beyond)
        magnitude = magnitude_bits > beyond || format.all_finite ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, format.lowest - format.fraction);
    else
        magnitude = ldexp(fraction + (1 << format.fraction),
                          exponent - 1 + format.lowest - format.fraction);
    return bits >> width ? -magnitude : magnitude;
}

static uint16_t double_to_small(small_float format, double x) {
    int sign = signbit(x) ? 1 << (format.exponent + format.fraction) : 0;
    int beyond = beyond_finite(format);
    int nan = format.all_finite ? beyond : beyond | 1 << (format.fraction - 1);
    if (isnan(x)) return (uint16_t)(sign | nan);
    if (isinf(x)) return (uint16_t)(sign | beyond);
    if (x == 0) return (uint16_t)sign;
    int exponent = ilogb(x);
    if (exponent < format.lowest) exponent = format.lowest;
    /* In units of the last place; an exact scaling, then one rounding, ties to even. */
    double units = rint(ldexp(fabs(x), format.fraction - exponent));
    /* The carry of a rounding up runs into the exponent by itself. */
    double bits = units + ldexp(exponent - format.lowest, format.fraction);
    return (uint16_t)(sign | (bits >= beyond ? beyond : (int)bits));
}

ref_number ref_load(mica_dtype dtype, const void *data, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_bool: return ref_from_bits(((const uint8_t *)data)[i] != 0);
    case MICA_DTYPE_i8: return ref_from_bits((uint64_t)(int64_t)((const int8_t *)data)[i]);
    case MICA_DTYPE_i16: return ref_from_bits((uint64_t)(int64_t)((const int16_t *)data)[i]);
    case MICA_DTYPE_i32: return ref_from_bits((uint64_t)(int64_t)((const int32_t *)data)[i]);
    case MICA_DTYPE_i64: return ref_from_bits((uint64_t)((const int64_t *)data)[i]);
    case MICA_DTYPE_u8: return ref_from_bits(((const uint8_t *)data)[i]);
    case MICA_DTYPE_u16: return ref_from_bits(((const uint16_t *)data)[i]);
    case MICA_DTYPE_u32: return ref_from_bits(((const uint32_t *)data)[i]);
    case MICA_DTYPE_u64: return ref_from_bits(((const uint64_t *)data)[i]);
    case MICA_DTYPE_f16:
        return ref_from_double(small_to_double(half_float, ((const uint16_t *)data)[i]));
    case MICA_DTYPE_bf16:
        return ref_from_double(small_to_double(brain_float, ((const uint16_t *)data)[i]));
    case MICA_DTYPE_f8e4m3fn:
        return ref_from_double(small_to_double(float8_e4m3fn, ((const uint8_t *)data)[i]));
    case MICA_DTYPE_f8e5m2:
        return ref_from_double(small_to_double(float8_e5m2, ((const uint8_t *)data)[i]));
    case MICA_DTYPE_f32: return ref_from_double(((const float *)data)[i]);
    case MICA_DTYPE_f64: return ref_from_double(((const double *)data)[i]);
    case MICA_DTYPE_c64:
        return (ref_number){.real = ((const float *)data)[2 * i],
                            .imaginary = ((const float *)data)[2 * i + 1]};
    case MICA_DTYPE_c128:
        return (ref_number){.real = ((const double *)data)[2 * i],
                            .imaginary = ((const double *)data)[2 * i + 1]};
    case MICA_DTYPE_COUNT: break;
    }
    return (ref_number){0};
}

void ref_store(mica_dtype dtype, void *data, int64_t i, ref_number number) {
    switch (dtype) {
    case MICA_DTYPE_bool: ((uint8_t *)data)[i] = number.bits & 1; break;
    case MICA_DTYPE_i8:
    case MICA_DTYPE_u8: ((uint8_t *)data)[i] = (uint8_t)number.bits; break;
    case MICA_DTYPE_i16:
    case MICA_DTYPE_u16: ((uint16_t *)data)[i] = (uint16_t)number.bits; break;
    case MICA_DTYPE_i32:
    case MICA_DTYPE_u32: ((uint32_t *)data)[i] = (uint32_t)number.bits; break;
    case MICA_DTYPE_i64:
    case MICA_DTYPE_u64: ((uint64_t *)data)[i] = number.bits; break;
    case MICA_DTYPE_f16: ((uint16_t *)data)[i] = double_to_small(half_float, number.real); break;
    case MICA_DTYPE_bf16: ((uint16_t *)data)[i] = double_to_small(brain_float, number.real); break;
    case MICA_DTYPE_f8e4m3fn:
        ((uint8_t *)data)[i] = (uint8_t)double_to_small(float8_e4m3fn, number.real);
        break;
    case MICA_DTYPE_f8e5m2:
        ((uint8_t *)data)[i] = (uint8_t)double_to_small(float8_e5m2, number.real);
        break;
    case MICA_DTYPE_f32: ((float *)data)[i] = (float)number.real; break;
    case MICA_DTYPE_f64: ((double *)data)[i] = number.real; break;
    case MICA_DTYPE_c64:
        ((float *)data)[2 * i] = (float)number.real;
        ((float *)data)[2 * i + 1] = (float)number.imaginary;
        break;
    case MICA_DTYPE_c128:
        ((double *)data)[2 * i] = number.real;
        ((double *)data)[2 * i + 1] = number.imaginary;
        break;
    case MICA_DTYPE_COUNT: break;
    }
}

void ref_copy_element(mica_dtype dtype, void *target, int64_t i, const void *source, int64_t j) {
    size_t bytes = mica_dtype_bytes(dtype);
    memcpy((char *)target + (size_t)i * bytes, (const char *)source + (size_t)j * bytes, bytes);
}

double ref_extreme(double a, double b, int sign) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return (sign > 0) == (signbit(a) != 0) ? b : a;
    return (sign > 0) == (a > b) ? a : b;
}

int ref_order(mica_dtype dtype, ref_number a, ref_number b) {
    switch (mica_dtype_kind_of(dtype)) {
    case MICA_KIND_SIGNED:
        return ((int64_t)a.bits > (int64_t)b.bits) - ((int64_t)a.bits < (int64_t)b.bits);
    case MICA_KIND_BOOLEAN:
    case MICA_KIND_UNSIGNED: return (a.bits > b.bits) - (a.bits < b.bits);
    case MICA_KIND_COMPLEX:
        /* Only equality means something. */
        return a.real == b.real && a.imaginary == b.imaginary ? 0 : 2;
    case MICA_KIND_FLOAT:
    case MICA_KIND_FLOAT8: break;
    }
    if (isnan(a.real) || isnan(b.real)) return 2;
    return (a.real > b.real) - (a.real < b.real);
}

int64_t ref_position(const mica_type *type, const int64_t *index) {
    int64_t position = 0;
    for (int32_t k = 0; k < type->rank; k++) position = position * type->dims[k] + index[k];
    return position;
}

bool ref_advance(const mica_type *type, int64_t *index) {
    for (int32_t k = type->rank - 1; k >= 0; k--) {
        if (++index[k] < type->dims[k]) return true;
        index[k] = 0;
    }
    return false;
}

mica_status ref_value_create(const mica_type *type, ref_value **out_value) {
    *out_value = NULL;
    ref_value *value = mica_calloc(1, sizeof *value);
    if (!value) return MICA_NO_MEMORY();
    value->references = 1;
    value->type = *type;
    if (type->kind == MICA_TENSOR) {
        size_t bytes = mica_type_bytes(type);
        value->data = mica_alloc_aligned(bytes ? bytes : 1);
        if (!value->data) {
            mica_free(value);
            return MICA_NO_MEMORY();
        }
    }
    *out_value = value;
    return NULL;
}

ref_value *ref_value_retain(ref_value *value) {
    value->references++;
    return value;
}

void ref_value_release(ref_value *value) {
    while (value && --value->references == 0) {
        ref_value *below = value->below;
        ref_value_release(value->top); /* a tensor: no deeper than this */
        if (!value->borrowed) mica_free_aligned(value->data);
        mica_free(value);
        value = below;
    }
}
