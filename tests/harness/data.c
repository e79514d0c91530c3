#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

array array_create(const mica_type *type) {
    array a = {.type = *type};
    if (type->kind != MICA_TENSOR) return a;
    a.data = calloc(1, mica_type_bytes(type) + 16);
    if (!a.data) exit(3);
    return a;
}

void arrays_free(arrays *list) {
    for (int32_t i = 0; i < list->n; i++) free(list->items[i].data);
    list->n = 0;
}

static bool is_real(mica_dtype dtype) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX || kind == MICA_KIND_FLOAT8;
}

double array_get(const array *a, int64_t i) {
    ref_number number = ref_load(a->type.dtype, a->data, i);
    if (is_real(a->type.dtype)) return number.real;
    return mica_dtype_kind_of(a->type.dtype) == MICA_KIND_SIGNED ? (double)(int64_t)number.bits
                                                                 : (double)number.bits;
}

void array_set(array *a, int64_t i, double value) {
    ref_number number = {.real = value};
    if (!is_real(a->type.dtype)) number.bits = (uint64_t)(int64_t)value;
    ref_store(a->type.dtype, a->data, i, number);
}

int32_t array_parts(const array *a) {
    return mica_dtype_kind_of(a->type.dtype) == MICA_KIND_COMPLEX ? 2 : 1;
}

double array_get_part(const array *a, int64_t i, int32_t part) {
    return part == 0 ? array_get(a, i) : ref_load(a->type.dtype, a->data, i).imaginary;
}

void array_set_part(array *a, int64_t i, int32_t part, double value) {
    ref_number number = ref_load(a->type.dtype, a->data, i);
    if (part == 0)
        number.real = value;
    else
        number.imaginary = value;
    ref_store(a->type.dtype, a->data, i, number);
}

double array_magnitude(const array *a, int64_t i) {
    return hypot(array_get(a, i), array_get_part(a, i, 1));
}

/* An array along an axis is `outer` rows of dims[axis] pieces of `inner` bytes. */
static void split_at(const mica_type *type, int32_t axis, size_t *outer, size_t *inner) {
    *outer = 1;
    *inner = mica_dtype_bytes(type->dtype);
    for (int32_t k = 0; k < axis; k++) *outer *= (size_t)type->dims[k];
    for (int32_t k = axis + 1; k < type->rank; k++) *inner *= (size_t)type->dims[k];
}

static mica_type without_axis(const mica_type *type, int32_t axis) {
    mica_type part = *type;
    part.rank--;
    for (int32_t k = axis; k < part.rank; k++) part.dims[k] = type->dims[k + 1];
    part.dims[part.rank] = 0;
    return part;
}

array array_slice(const array *a, int32_t axis, int64_t b) {
    mica_type type = without_axis(&a->type, axis);
    array part = array_create(&type);
    size_t outer, inner, size = (size_t)a->type.dims[axis];
    split_at(&a->type, axis, &outer, &inner);
    for (size_t i = 0; i < outer; i++)
        memcpy((char *)part.data + i * inner,
               (const char *)a->data + (i * size + (size_t)b) * inner, inner);
    return part;
}

void array_put(array *a, int32_t axis, int64_t b, const array *part) {
    size_t outer, inner, size = (size_t)a->type.dims[axis];
    split_at(&a->type, axis, &outer, &inner);
    for (size_t i = 0; i < outer; i++)
        memcpy((char *)a->data + (i * size + (size_t)b) * inner,
               (const char *)part->data + i * inner, inner);
}

/* splitmix64 */
uint64_t random_bits(random_state *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

double random_between(random_state *r, double low, double high) {
    return low + (high - low) * ldexp((double)(random_bits(r) >> 11), -53);
}

static void draw_range(array *a, double low, double high, random_state *r) {
    bool given = low != 0 || high != 0;
    bool integer = !is_real(a->type.dtype);
    for (int64_t i = 0, end = mica_type_elements(&a->type); i < end; i++) {
        ref_number number = {0};
        if (integer && !given)
            number.bits = random_bits(r);
        else if (integer)
            number.bits = (uint64_t)(int64_t)floor(random_between(r, low, high + 1));
        else {
            number.real = random_between(r, given ? low : -2, given ? high : 2);
            number.imaginary = random_between(r, -2, 2) * (given ? 0.35 : 1);
        }
        ref_store(a->type.dtype, a->data, i, number);
    }
}

/* Numbers 0.1 apart, around 0 (but not 0), shuffled over all the arrays. */
static void draw_distinct(arrays *list, random_state *r) {
    int64_t total = 0, next = 0;
    for (int32_t i = 0; i < list->n; i++) total += mica_type_elements(&list->items[i].type);
    int64_t *order = malloc((size_t)(total + 1) * sizeof *order);
    if (!order) exit(3);
    for (int64_t i = 0; i < total; i++) {
        int64_t j = (int64_t)(random_bits(r) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int32_t i = 0; i < list->n; i++)
        for (int64_t j = 0, j_end = mica_type_elements(&list->items[i].type); j < j_end; j++)
            array_set(&list->items[i], j, 0.1 * (double)(order[next++] - total / 2) + 0.05);
    free(order);
}

static void sprinkle(arrays *list, random_state *r) {
    static const double specials[4] = {NAN, INFINITY, -INFINITY, -0.0};
    for (int32_t i = 0; i < list->n; i++)
        for (int64_t j = 0, j_end = mica_type_elements(&list->items[i].type); j < j_end; j++)
            if (is_float(&list->items[i].type) && random_bits(r) % 6 == 0)
                array_set(&list->items[i], j, specials[random_bits(r) % 4]);
}

static void make_dominant(array *a) {
    int64_t rows = a->type.dims[a->type.rank - 2], columns = a->type.dims[a->type.rank - 1];
    for (int64_t i = 0, end = mica_type_elements(&a->type); i < end; i++)
        if (i / columns % rows == i % columns) array_set(a, i, array_get(a, i) + (double)rows);
}

arrays draw_operands(const op_case *c, const mica_type *types, int32_t n, random_state *r) {
    arrays list = {.n = n};
    for (int32_t i = 0; i < n; i++) {
        list.items[i] = array_create(&types[i]);
        if (types[i].kind == MICA_TENSOR)
            draw_range(&list.items[i], c->operands[i].low, c->operands[i].high, r);
    }
    if ((c->flags & DISTINCT) && n > 0 && is_float(&types[0])) draw_distinct(&list, r);
    if ((c->flags & DOMINANT) && n > 0) make_dominant(&list.items[0]);
    if (c->flags & SPRINKLED) sprinkle(&list, r);
    return list;
}

array draw_direction(const mica_type *type, random_state *r) {
    array a = array_create(type);
    for (int64_t i = 0, end = mica_type_elements(type); i < end; i++) {
        array_set(&a, i, random_between(r, -1, 1));
        if (array_parts(&a) == 2) array_set_part(&a, i, 1, random_between(r, -1, 1));
    }
    return a;
}

/* ---- comparison -------------------------------------------------------------------------------*/

typedef struct float_shape {
    int precision, lowest, highest; /* bits with the hidden one; exponents of normal numbers */
} float_shape;

static float_shape float_shape_of(mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_f16: return (float_shape){11, -14, 15};
    case MICA_DTYPE_bf16: return (float_shape){8, -126, 127};
    case MICA_DTYPE_f8e4m3fn: return (float_shape){4, -6, 8};
    case MICA_DTYPE_f8e5m2: return (float_shape){3, -14, 15};
    case MICA_DTYPE_f32:
    case MICA_DTYPE_c64: return (float_shape){24, -126, 127};
    default: return (float_shape){53, -1022, 1023};
    }
}

double epsilon_of(mica_dtype dtype) {
    return ldexp(1, 1 - float_shape_of(dtype).precision);
}

static double ulp_of(mica_dtype dtype, double x) {
    float_shape shape = float_shape_of(dtype);
    int exponent = x == 0 ? shape.lowest : ilogb(x);
    if (exponent < shape.lowest) exponent = shape.lowest;
    if (exponent > shape.highest) exponent = shape.highest;
    return ldexp(1, exponent - shape.precision + 1);
}

/* Infinity counts as the number after the largest, so that overflow is one rounding away. In f64
 * that number does not exist, and infinities must be equal. */
static double as_finite(mica_dtype dtype, double x) {
    float_shape shape = float_shape_of(dtype);
    if (!isinf(x) || shape.highest == 1023) return x;
    return copysign(ldexp(1, shape.highest + 1), x);
}

static bool number_agrees(mica_dtype dtype, double got, double want, double slack,
                          const tolerance *allowed) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (got == want) return !allowed->strict_zeros || got != 0 || signbit(got) == signbit(want);
    double distance = fabs(as_finite(dtype, got) - as_finite(dtype, want));
    return distance <= allowed->ulps * ulp_of(dtype, want) + allowed->absolute + slack;
}

static bool element_agrees(mica_dtype dtype, const void *got, const void *want, int64_t i,
                           double slack, const tolerance *allowed) {
    ref_number a = ref_load(dtype, got, i), b = ref_load(dtype, want, i);
    if (!is_real(dtype)) return a.bits == b.bits;
    if (!is_complex(dtype)) return number_agrees(dtype, a.real, b.real, slack, allowed);
    /* An infinite part next to a NaN has no sign that means something. */
    if (isnan(b.real) && isnan(a.real) && isinf(b.imaginary)) return isinf(a.imaginary);
    if (isnan(b.imaginary) && isnan(a.imaginary) && isinf(b.real)) return isinf(a.real);
    double larger = fmax(fabs(b.real), fabs(b.imaginary));
    if (isfinite(larger)) slack += allowed->ulps * ulp_of(dtype, larger);
    return number_agrees(dtype, a.real, b.real, slack, allowed) &&
           number_agrees(dtype, a.imaginary, b.imaginary, slack, allowed);
}

static double largest_magnitude(const array *a) {
    double largest = 0;
    for (int64_t i = 0, end = mica_type_elements(&a->type); i < end; i++)
        if (isfinite(array_magnitude(a, i))) largest = fmax(largest, array_magnitude(a, i));
    return largest;
}

static bool array_agrees(const array *got, const array *want, const array *bound,
                         const tolerance *allowed, const char *what, int32_t k) {
    mica_dtype dtype = want->type.dtype;
    bool real = is_real(dtype);
    double slack = real ? allowed->of_largest * largest_magnitude(want) : 0;
    int64_t wrong = 0, first = -1;
    for (int64_t i = 0, end = mica_type_elements(&want->type); i < end; i++) {
        double extra = bound && real ? array_get(bound, i) : 0;
        if (element_agrees(dtype, got->data, want->data, i, slack + extra, allowed)) continue;
        if (wrong++ == 0) first = i;
    }
    if (!wrong) return true;
    harness_fail("%s: output %d %s: %lld of %lld elements differ, first at %lld: %.17g%+.17gi, "
                 "expected %.17g%+.17gi",
                 what, k, mica_type_text(&want->type).chars, (long long)wrong,
                 (long long)mica_type_elements(&want->type), (long long)first,
                 array_get(got, first), array_get_part(got, first, 1), array_get(want, first),
                 array_get_part(want, first, 1));
    return false;
}

bool arrays_agree(const arrays *got, const arrays *want, const tolerance *allowed,
                  const char *what) {
    bool agree = true;
    harness_count();
    if (got->n != want->n) {
        harness_fail("%s: %d outputs, expected %d", what, got->n, want->n);
        return false;
    }
    for (int32_t k = 0; k < want->n; k++) {
        if (!mica_type_equal(&got->items[k].type, &want->items[k].type)) {
            harness_fail("%s: output %d is %s, expected %s", what, k,
                         mica_type_text(&got->items[k].type).chars,
                         mica_type_text(&want->items[k].type).chars);
            agree = false;
        } else if (want->items[k].type.kind == MICA_TENSOR)
            agree &=
                array_agrees(&got->items[k], &want->items[k],
                             allowed->bounds ? &allowed->bounds->items[k] : NULL, allowed, what, k);
    }
    return agree;
}
