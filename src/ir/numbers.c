#include "ir/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/scalar.h"

/* One element of each dtype, as dtypes.def stores it. */
typedef union element {
#define MICA_DTYPE(name, storage, bytes, kind, meaning) storage as_##name;
#include "mica/dtypes.def"
#undef MICA_DTYPE
    uint8_t bytes[16];
} element;

void mica_number_store(mica_dtype dtype, double value, void *out_element) {
    element e = {.bytes = {0}};
    switch (dtype) {
#define STORE_BOOLEAN(name) e.as##name = mica_convert_f64##name(value);
#define STORE_SIGNED(name) e.as##name = mica_convert_f64##name(value);
#define STORE_UNSIGNED(name) e.as##name = mica_convert_f64##name(value);
#define STORE_FLOAT(name) e.as##name = mica_convert_f64##name(value);
#define STORE_FLOAT8(name) e.as##name = mica_convert_f64##name(value);
#define STORE_COMPLEX(name) mica_number_store(mica_number_part(dtype), value, &e);
#define MICA_DTYPE(name, storage, bytes, kind, meaning)                                            \
    case MICA_DTYPE_##name:                                                                        \
        STORE_##kind(_##name) break;
#include "mica/dtypes.def"
#undef MICA_DTYPE
    case MICA_DTYPE_COUNT: break;
    }
    memcpy(out_element, &e, mica_dtype_bytes(dtype));
}

mica_dtype mica_number_part(mica_dtype dtype) {
    if (dtype == MICA_DTYPE_c64) return MICA_DTYPE_f32;
    return dtype == MICA_DTYPE_c128 ? MICA_DTYPE_f64 : dtype;
}

/* ---- text -----------------------------------------------------------------------------------*/

/* What the C library writes between the digits, in the current locale. */
static const char *decimal_point(char text[16]) {
    snprintf(text, 16, "%.1f", 0.5);
    text[strlen(text) - 1] = 0;
    return text + 1;
}

static bool replace_point(char *text, size_t capacity, const char *from, const char *to) {
    char *at = strstr(text, from);
    if (!at || strcmp(from, to) == 0) return true;
    size_t from_length = strlen(from), to_length = strlen(to), rest = strlen(at + from_length) + 1;
    if ((size_t)(at - text) + to_length + rest > capacity) return false;
    memmove(at + to_length, at + from_length, rest);
    memcpy(at, to, to_length);
    return true;
}

static double float_value(mica_dtype dtype, const element *e) {
    switch (dtype) {
    case MICA_DTYPE_f16: return (double)mica_convert_f16_f32(e->as_f16);
    case MICA_DTYPE_bf16: return (double)mica_convert_bf16_f32(e->as_bf16);
    case MICA_DTYPE_f32: return (double)e->as_f32;
    case MICA_DTYPE_f8e4m3fn: return (double)mica_convert_f8e4m3fn_f32(e->as_f8e4m3fn);
    case MICA_DTYPE_f8e5m2: return (double)mica_convert_f8e5m2_f32(e->as_f8e5m2);
    default: return e->as_f64;
    }
}

static bool parse_float(mica_dtype dtype, const char *text, element *out) {
    char copy[2 * MICA_NUMBER_CHARS], point[16], *end;
    const char *digits = *text == '-' ? text + 1 : text;
    bool special = strcmp(digits, "nan") == 0 || strcmp(digits, "inf") == 0;
    if (strlen(text) + 1 > sizeof copy) return false;
    if (!special && !(digits[0] >= '0' && digits[0] <= '9')) return false;
    if (!special && strspn(digits, "0123456789.eE+-") != strlen(digits)) return false;
    strcpy(copy, text);
    if (!replace_point(copy, sizeof copy, ".", decimal_point(point))) return false;
    if (dtype == MICA_DTYPE_f32) { /* rounded once, from the text */
        out->as_f32 = strtof(copy, &end);
        if (strcmp(digits, "nan") == 0)
            out->as_f32 = mica_from_bits_f32(*text == '-' ? 0xffc00000u : 0x7fc00000u);
        return *end == 0 && (special || !isinf(out->as_f32));
    }
    double value = strtod(copy, &end);
    if (strcmp(digits, "nan") == 0)
        value = mica_from_bits_f64(*text == '-' ? UINT64_C(0xfff8) << 48 : UINT64_C(0x7ff8) << 48);
    mica_number_store(dtype, value, out);
    double stored = float_value(dtype, out);
    return *end == 0 && (special || (!isinf(stored) && stored == stored));
}

/* Decimal digits after an optional minus; magnitude at most `most`. */
static bool parse_integer(const char *text, bool negative, uint64_t most, uint64_t *out) {
    uint64_t value = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    if (value > most) return false;
    *out = negative ? 0 - value : value;
    return true;
}

static void narrow(uint64_t value, size_t bytes, element *out) {
    switch (bytes) {
    case 1: out->as_u8 = (uint8_t)value; break;
    case 2: out->as_u16 = (uint16_t)value; break;
    case 4: out->as_u32 = (uint32_t)value; break;
    default: out->as_u64 = value; break;
    }
}

static bool parse_element(mica_dtype dtype, const char *text, element *out) {
    size_t bytes = mica_dtype_bytes(dtype);
    bool negative = *text == '-';
    uint64_t all = ~UINT64_C(0) >> (64 - 8 * (bytes < 8 ? bytes : 8)), value;
    switch (mica_dtype_kind_of(dtype)) {
    case MICA_KIND_BOOLEAN:
        out->as_bool = strcmp(text, "true") == 0;
        return out->as_bool || strcmp(text, "false") == 0;
    case MICA_KIND_SIGNED:
        if (!parse_integer(text + negative, negative, all / 2 + negative, &value)) return false;
        narrow(value, bytes, out);
        return true;
    case MICA_KIND_UNSIGNED:
        if (!parse_integer(text, false, all, &value)) return false;
        narrow(value, bytes, out);
        return true;
    case MICA_KIND_FLOAT:
    case MICA_KIND_FLOAT8: return parse_float(dtype, text, out);
    case MICA_KIND_COMPLEX: return false;
    }
    return false;
}

bool mica_number_parse(mica_dtype dtype, const char *text, void *out_element) {
    element e = {.bytes = {0}};
    if (!parse_element(dtype, text, &e)) return false;
    memcpy(out_element, &e, mica_dtype_bytes(dtype));
    return true;
}

static bool reads_back(mica_dtype dtype, const char *text, const void *bits) {
    element e = {.bytes = {0}};
    return parse_element(dtype, text, &e) && memcmp(&e, bits, mica_dtype_bytes(dtype)) == 0;
}

static bool print_float(mica_dtype dtype, const element *e, char *text) {
    double value = float_value(dtype, e);
    char point[16];
    if (value != value) {
        strcpy(text, signbit(value) ? "-nan" : "nan");
        return reads_back(dtype, text, e);
    }
    if (value > -1e6 && value < 1e6 && value == (double)(int)value) { /* 100, not 1e+02 */
        snprintf(text, MICA_NUMBER_CHARS, "%.0f", value);
        if (reads_back(dtype, text, e)) return true;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, MICA_NUMBER_CHARS, "%.*g", digits, value);
        replace_point(text, MICA_NUMBER_CHARS, decimal_point(point), ".");
        if (reads_back(dtype, text, e)) return true;
    }
    return false;
}

bool mica_number_print(mica_dtype dtype, const void *bits, char out_text[MICA_NUMBER_CHARS]) {
    element e = {.bytes = {0}};
    memcpy(&e, bits, mica_dtype_bytes(dtype));
    switch (dtype) {
    case MICA_DTYPE_bool: strcpy(out_text, e.as_bool ? "true" : "false"); return e.as_bool <= 1;
    case MICA_DTYPE_i8: snprintf(out_text, MICA_NUMBER_CHARS, "%d", e.as_i8); return true;
    case MICA_DTYPE_i16: snprintf(out_text, MICA_NUMBER_CHARS, "%d", e.as_i16); return true;
    case MICA_DTYPE_i32: snprintf(out_text, MICA_NUMBER_CHARS, "%" PRId32, e.as_i32); return true;
    case MICA_DTYPE_i64: snprintf(out_text, MICA_NUMBER_CHARS, "%" PRId64, e.as_i64); return true;
    case MICA_DTYPE_u8: snprintf(out_text, MICA_NUMBER_CHARS, "%u", e.as_u8); return true;
    case MICA_DTYPE_u16: snprintf(out_text, MICA_NUMBER_CHARS, "%u", e.as_u16); return true;
    case MICA_DTYPE_u32: snprintf(out_text, MICA_NUMBER_CHARS, "%" PRIu32, e.as_u32); return true;
    case MICA_DTYPE_u64: snprintf(out_text, MICA_NUMBER_CHARS, "%" PRIu64, e.as_u64); return true;
    default: return print_float(dtype, &e, out_text);
    }
}

void mica_number_little_endian(mica_dtype dtype, const void *from, void *to, size_t n) {
    size_t bytes = mica_dtype_bytes(mica_number_part(dtype));
    n *= mica_dtype_bytes(dtype) / bytes;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n) memcpy(to, from, n * bytes);
#else
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < bytes; k++)
            ((uint8_t *)to)[i * bytes + k] = ((const uint8_t *)from)[i * bytes + bytes - 1 - k];
#endif
}
