/* ELEMENTWISE rows: element by element, with a result or operand of another dtype, or defined by
 * the bits of the dtype. */
#include <math.h>
#include <string.h>

#include "device/ref/value.h"

/* One step from x for f16 and bf16, whose bits without the sign are in the order of magnitudes. */
static uint16_t half_step(uint16_t bits, double x, double towards) {
    if (x == 0) return towards < 0 ? 0x8001 : 1;
    bool away = x > 0 ? towards > x : towards < x;
    return (uint16_t)(away ? bits + 1 : bits - 1);
}

mica_status ref_nextafter(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    mica_dtype dtype = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++) {
        ref_number x = ref_load(dtype, operands[0]->data, i);
        ref_number towards = ref_load(dtype, operands[1]->data, i);
        if (isnan(x.real) || isnan(towards.real) || x.real == towards.real) {
            ref_store(dtype, results[0]->data, i, isnan(x.real) ? x : towards);
        } else if (dtype == MICA_DTYPE_f64) {
            ((double *)results[0]->data)[i] = nextafter(x.real, towards.real);
        } else if (dtype == MICA_DTYPE_f32) {
            ((float *)results[0]->data)[i] = nextafterf((float)x.real, (float)towards.real);
        } else {
            uint16_t bits = ((const uint16_t *)operands[0]->data)[i];
            ((uint16_t *)results[0]->data)[i] = half_step(bits, x.real, towards.real);
        }
    }
    return NULL;
}

mica_status ref_is_finite(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    const mica_type *type = &operands[0]->type;
    for (int64_t i = 0, end = mica_type_elements(type); i < end; i++) {
        ref_number x = ref_load(type->dtype, operands[0]->data, i);
        bool finite = isfinite(x.real) && isfinite(x.imaginary); /* of a real number 0 */
        ref_store(MICA_DTYPE_bool, results[0]->data, i, ref_from_bits(finite));
    }
    return NULL;
}

static bool holds(const char *direction, int order) {
    if (!strcmp(direction, "eq")) return order == 0;
    if (!strcmp(direction, "ne")) return order != 0;
    if (!strcmp(direction, "lt")) return order == -1;
    if (!strcmp(direction, "le")) return order == -1 || order == 0;
    if (!strcmp(direction, "gt")) return order == 1;
    return order == 1 || order == 0; /* ge */
}

mica_status ref_compare(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const char *direction = mica_node_string(n, "direction");
    const mica_type *type = &operands[0]->type;
    for (int64_t i = 0, end = mica_type_elements(type); i < end; i++) {
        ref_number a = ref_load(type->dtype, operands[0]->data, i);
        ref_number b = ref_load(type->dtype, operands[1]->data, i);
        bool y = holds(direction, ref_order(type->dtype, a, b));
        ref_store(MICA_DTYPE_bool, results[0]->data, i, ref_from_bits(y));
    }
    return NULL;
}

mica_status ref_select(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    const mica_type *type = &results[0]->type;
    for (int64_t i = 0, end = mica_type_elements(type); i < end; i++) {
        bool choose = ref_load(MICA_DTYPE_bool, operands[0]->data, i).bits;
        ref_copy_element(type->dtype, results[0]->data, i, operands[choose ? 1 : 2]->data, i);
    }
    return NULL;
}

/* Truncates; what lies outside the integer's range becomes its nearest end, NaN becomes 0. */
static uint64_t real_to_integer(double x, mica_dtype dtype) {
    int width = 8 * (int)mica_dtype_bytes(dtype);
    bool is_signed = mica_dtype_kind_of(dtype) == MICA_KIND_SIGNED;
    double beyond = ldexp(1, is_signed ? width - 1 : width); /* the first that is too large */
    double lowest = is_signed ? -beyond : 0;
    x = trunc(x);
    if (isnan(x)) return 0;
    if (x >= beyond) return is_signed ? ((uint64_t)1 << (width - 1)) - 1 : ~(uint64_t)0;
    if (x <= lowest) return is_signed ? ~(uint64_t)0 << (width - 1) : 0;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* The integer as a double. For f64 this rounds to nearest even. For narrower floats a second
 * rounding follows, so the first one marks what it drops in the last bit (rounding to odd). */
static double integer_to_real(uint64_t bits, bool is_signed, mica_dtype target) {
    bool negative = is_signed && (int64_t)bits < 0;
    uint64_t magnitude = negative ? -bits : bits;
    bool narrow = target != MICA_DTYPE_f64 && target != MICA_DTYPE_c128;
    if (narrow && magnitude >> 53)
        magnitude = (magnitude & ~(uint64_t)0x7ff) | (magnitude & 0x7ff ? 0x800 : 0);
    return negative ? -(double)magnitude : (double)magnitude;
}

static bool is_inexact(mica_dtype_kind kind) {
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX || kind == MICA_KIND_FLOAT8;
}

static ref_number convert_number(ref_number x, mica_dtype from, mica_dtype to) {
    mica_dtype_kind source = mica_dtype_kind_of(from), target = mica_dtype_kind_of(to);
    bool from_integer = !is_inexact(source);
    if (target == MICA_KIND_BOOLEAN)
        return ref_from_bits(from_integer ? x.bits != 0 : x.real != 0 || x.imaginary != 0);
    if (is_inexact(target))
        return from_integer
                   ? ref_from_double(integer_to_real(x.bits, source == MICA_KIND_SIGNED, to))
                   : x; /* a float keeps the real part, a complex number of a float has 0 */
    return from_integer ? x : ref_from_bits(real_to_integer(x.real, to));
}

mica_status ref_convert(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    mica_dtype from = operands[0]->type.dtype, to = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++) {
        ref_number x = ref_load(from, operands[0]->data, i);
        ref_store(to, results[0]->data, i, convert_number(x, from, to));
    }
    return NULL;
}

mica_status ref_real(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    mica_dtype from = operands[0]->type.dtype, to = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++)
        ref_store(to, results[0]->data, i, ref_load(from, operands[0]->data, i));
    return NULL;
}

mica_status ref_imag(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    mica_dtype from = operands[0]->type.dtype, to = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++) {
        ref_number x = ref_load(from, operands[0]->data, i);
        ref_store(to, results[0]->data, i, ref_from_double(x.imaginary));
    }
    return NULL;
}

mica_status ref_conj(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    mica_dtype dtype = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++) {
        ref_number x = ref_load(dtype, operands[0]->data, i);
        x.imaginary = -x.imaginary;
        ref_store(dtype, results[0]->data, i, x);
    }
    return NULL;
}

mica_status ref_complex(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    mica_dtype from = operands[0]->type.dtype, to = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++) {
        ref_number y = ref_load(from, operands[0]->data, i);
        y.imaginary = ref_load(from, operands[1]->data, i).real;
        ref_store(to, results[0]->data, i, y);
    }
    return NULL;
}

/* The nearest multiple of the last place that x has with so many bits. */
static double round_to_bits(double x, int exponent_bits, int mantissa_bits) {
    int most = (1 << (exponent_bits - 1)) - 1, exponent;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &exponent);
    exponent = exponent - 1 < 1 - most ? 1 - most : exponent - 1;
    double y = ldexp(rint(ldexp(x, mantissa_bits - exponent)), exponent - mantissa_bits);
    return fabs(y) >= ldexp(1, most + 1) ? copysign(INFINITY, x) : y;
}

mica_status ref_reduce_precision(const mica_node *n, ref_value *const *operands,
                                 ref_value **results) {
    int exponent_bits = (int)mica_node_int(n, "exponent_bits");
    int mantissa_bits = (int)mica_node_int(n, "mantissa_bits");
    mica_dtype dtype = results[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&results[0]->type); i < end; i++) {
        ref_number x = ref_load(dtype, operands[0]->data, i);
        x.real = round_to_bits(x.real, exponent_bits, mantissa_bits);
        ref_store(dtype, results[0]->data, i, x);
    }
    return NULL;
}
