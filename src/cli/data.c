/* Arrays for `mica run`: from .npy and .raw files, made from a seed, printed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

mica_status cli_read_file(const char *path, char **out_bytes, size_t *out_size) {
    *out_bytes = NULL;
    *out_size = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return mica_status_create(MICA_NOT_FOUND, "%s: %s", path, strerror(errno));
    size_t capacity = 1 << 16, size = 0, got;
    char *bytes = malloc(capacity);
    while (bytes && (got = fread(bytes + size, 1, capacity - size - 1, file)) > 0) {
        size += got;
        if (capacity - size > 1) continue;
        char *larger = realloc(bytes, capacity *= 2);
        if (!larger) free(bytes);
        bytes = larger;
    }
    bool failed = ferror(file);
    fclose(file);
    if (!bytes) return mica_status_create(MICA_OUT_OF_MEMORY, "%s: out of memory", path);
    if (failed) {
        free(bytes);
        return mica_status_create(MICA_NOT_FOUND, "%s: cannot be read", path);
    }
    bytes[size] = 0;
    *out_bytes = bytes;
    *out_size = size;
    return NULL;
}

/* ---- .npy
 * ---------------------------------------------------------------------------------------*/

static const char *npy_type(mica_dtype dtype) {
    static const char *const names[MICA_DTYPE_COUNT] = {
        [MICA_DTYPE_bool] = "|b1", [MICA_DTYPE_i8] = "|i1",    [MICA_DTYPE_i16] = "<i2",
        [MICA_DTYPE_i32] = "<i4",  [MICA_DTYPE_i64] = "<i8",   [MICA_DTYPE_u8] = "|u1",
        [MICA_DTYPE_u16] = "<u2",  [MICA_DTYPE_u32] = "<u4",   [MICA_DTYPE_u64] = "<u8",
        [MICA_DTYPE_f16] = "<f2",  [MICA_DTYPE_f32] = "<f4",   [MICA_DTYPE_f64] = "<f8",
        [MICA_DTYPE_c64] = "<c8",  [MICA_DTYPE_c128] = "<c16",
    };
    return names[dtype] ? names[dtype] : "(none)";
}

/* The text after 'key': in the header, or NULL. */
static const char *npy_field(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':') at++;
    return at;
}

/* The sizes after an opening bracket; false where they are none, or too many. */
static bool npy_shape(const char *at, mica_type *out_type) {
    int64_t dims[MICA_MAX_RANK];
    int32_t rank = 0;
    if (!at || *at++ != '(') return false;
    while (*at && *at != ')') {
        char *end;
        long long size = strtoll(at, &end, 10);
        if (end == at || size < 0 || rank == MICA_MAX_RANK) return false;
        dims[rank++] = size;
        at = end;
        while (*at == ' ' || *at == ',') at++;
    }
    *out_type = mica_type_make(out_type->dtype, (mica_ints){dims, rank});
    return *at == ')';
}

static bool npy_dtype(const char *at, mica_dtype *out_dtype) {
    for (int i = 0; at && *at == '\'' && i < MICA_DTYPE_COUNT; i++) {
        const char *name = npy_type((mica_dtype)i);
        size_t n = strlen(name);
        if (strncmp(at + 1, name, n) || at[1 + n] != '\'') continue;
        *out_dtype = (mica_dtype)i;
        return true;
    }
    return false;
}

/* The header, ended with 0; the data begins at out_data. */
static mica_status npy_header(const char *path, char *bytes, size_t size, char **out_header,
                              const char **out_data) {
    size_t start = 0, length = 0;
    const unsigned char *u = (const unsigned char *)bytes;
    if (size >= 12 && !memcmp(bytes, "\x93NUMPY", 6)) {
        start = bytes[6] == 1 ? 10 : 12;
        length = u[8] | (size_t)u[9] << 8;
        if (bytes[6] != 1) length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    }
    if (!start || length == 0 || length > size - start)
        return mica_status_create(MICA_DATA_LOSS, "%s: not a .npy file, or cut short", path);
    bytes[start + length - 1] = 0; /* a newline */
    *out_header = bytes + start;
    *out_data = bytes + start + length;
    return NULL;
}

static mica_status npy_data(const char *path, const mica_type *type, char *bytes, size_t size,
                            const char **out_data) {
    char *header;
    mica_status status = npy_header(path, bytes, size, &header, out_data);
    if (status) return status;
    char text[256];
    mica_type_format(type, text, sizeof text);
    const char *descr = npy_field(header, "'descr'"), *order = npy_field(header, "'fortran_order'");
    mica_type found = *type;
    if (!npy_dtype(descr, &found.dtype) || found.dtype != type->dtype)
        return mica_status_create(MICA_INVALID_ARGUMENT, "%s: elements must be %s for %s", path,
                                  npy_type(type->dtype), text);
    if (!order || strncmp(order, "False", 5))
        return mica_status_create(MICA_INVALID_ARGUMENT, "%s: must be row-major", path);
    if (!npy_shape(npy_field(header, "'shape'"), &found) || !mica_type_equal(&found, type))
        return mica_status_create(MICA_INVALID_ARGUMENT, "%s: the shape must be that of %s", path,
                                  text);
    size_t n = size - (size_t)(*out_data - bytes);
    if (n != mica_type_bytes(type))
        return mica_status_create(MICA_DATA_LOSS, "%s: %zu bytes of data instead of %zu", path, n,
                                  mica_type_bytes(type));
    return NULL;
}

mica_status cli_npy_type(const char *path, mica_type *out_type) {
    char *bytes = NULL, *header;
    const char *data;
    size_t size = 0;
    *out_type = mica_type_scalar(MICA_DTYPE_f32);
    mica_status status = cli_read_file(path, &bytes, &size);
    if (!status) status = npy_header(path, bytes, size, &header, &data);
    if (!status && (!npy_dtype(npy_field(header, "'descr'"), &out_type->dtype) ||
                    !npy_shape(npy_field(header, "'shape'"), out_type)))
        status =
            mica_status_create(MICA_UNSUPPORTED, "%s: its dtype or shape is none of Mica's", path);
    free(bytes);
    return status;
}

mica_status cli_load_tensor(const char *path, const mica_type *type, mica_device *device,
                            mica_tensor **out_tensor) {
    char *bytes = NULL;
    size_t size = 0, n = strlen(path);
    const char *data = NULL;
    *out_tensor = NULL;
    mica_status status = cli_read_file(path, &bytes, &size);
    if (status) return status;
    if (n > 4 && !strcmp(path + n - 4, ".npy")) {
        status = npy_data(path, type, bytes, size, &data);
    } else {
        data = bytes;
        if (size != mica_type_bytes(type))
            status = mica_status_create(MICA_INVALID_ARGUMENT, "%s: %zu bytes instead of %zu", path,
                                        size, mica_type_bytes(type));
    }
    if (!status) status = mica_tensor_from_host(device, type, data, out_tensor);
    free(bytes);
    return status;
}

/* ---- made up
 * ------------------------------------------------------------------------------------*/

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Sign and a number below 2, or 4: neither infinite nor NaN. */
static char make_float8(uint64_t bits) {
    return (char)((bits & 0x80) | (bits & 0x3f));
}

static void make_element(uint64_t *state, mica_dtype dtype, char *element) {
    uint64_t bits = next_random(state);
    float value = (float)((double)(bits >> 40) / (1 << 23) - 1);
    uint32_t pattern;
    switch (mica_dtype_kind_of(dtype)) {
    case MICA_KIND_BOOLEAN: *element = (char)(bits & 1); return;
    case MICA_KIND_FLOAT8: *element = make_float8(bits); return;
    case MICA_KIND_SIGNED:
    case MICA_KIND_UNSIGNED: {
        int64_t digit = (int64_t)(bits % 10);
        memcpy(element, &digit, mica_dtype_bytes(dtype)); /* little-endian machines */
        return;
    }
    default: break;
    }
    memcpy(&pattern, &value, 4);
    if (dtype == MICA_DTYPE_f32) {
        memcpy(element, &value, 4);
    } else if (dtype == MICA_DTYPE_f64) {
        memcpy(element, &(double){value}, 8);
    } else if (dtype == MICA_DTYPE_bf16) {
        memcpy(element, &(uint16_t){(uint16_t)(pattern >> 16)}, 2);
    } else if (dtype == MICA_DTYPE_f16) { /* sign and a tenth-bit fraction of [1, 2), less 1.5 */
        memcpy(element, &(uint16_t){(uint16_t)((bits & 0x8000) | 0x3800 | (bits & 0x3ff))}, 2);
    } else if (dtype == MICA_DTYPE_c64) {
        memcpy(element, (float[]){value, -value}, 8);
    } else {
        memcpy(element, (double[]){value, -value}, 16);
    }
}

mica_status cli_make_tensor(uint64_t seed, int32_t index, const mica_type *type,
                            mica_device *device, mica_tensor **out_tensor) {
    *out_tensor = NULL;
    size_t bytes = mica_type_bytes(type), step = mica_dtype_bytes(type->dtype);
    char *data = malloc(bytes ? bytes : 1);
    if (!data) return mica_status_create(MICA_OUT_OF_MEMORY, "out of memory: %zu bytes", bytes);
    uint64_t state = seed * UINT64_C(0x2545f4914f6cdd1d) + (uint64_t)index;
    for (size_t at = 0; at < bytes; at += step) make_element(&state, type->dtype, data + at);
    mica_status status = mica_tensor_from_host(device, type, data, out_tensor);
    free(data);
    return status;
}

/* ---- printed
 * ------------------------------------------------------------------------------------*/

/* As IEEE lays floats out; where `all_finite`, the last number alone is NaN and none infinite. */
static double small_float(uint32_t bits, int exponent_bits, int mantissa_bits, bool all_finite) {
    uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    int top = (1 << exponent_bits) - 1, field = (int)(bits >> mantissa_bits) & top;
    int bias = top >> 1;
    double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
    bool is_number = all_finite && mantissa != (1u << mantissa_bits) - 1;
    if (field == top && !is_number) return mantissa ? NAN : sign * INFINITY;
    if (field == 0) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1u << mantissa_bits), field - bias - mantissa_bits);
}

double cli_element(const void *data, int64_t i, mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_bool:
    case MICA_DTYPE_u8: return ((const uint8_t *)data)[i];
    case MICA_DTYPE_i8: return ((const int8_t *)data)[i];
    case MICA_DTYPE_i16: return ((const int16_t *)data)[i];
    case MICA_DTYPE_i32: return ((const int32_t *)data)[i];
    case MICA_DTYPE_i64: return (double)((const int64_t *)data)[i];
    case MICA_DTYPE_u16: return ((const uint16_t *)data)[i];
    case MICA_DTYPE_u32: return ((const uint32_t *)data)[i];
    case MICA_DTYPE_u64: return (double)((const uint64_t *)data)[i];
    case MICA_DTYPE_f16: return small_float(((const uint16_t *)data)[i], 5, 10, false);
    case MICA_DTYPE_bf16: return small_float(((const uint16_t *)data)[i], 8, 7, false);
    case MICA_DTYPE_f8e4m3fn: return small_float(((const uint8_t *)data)[i], 4, 3, true);
    case MICA_DTYPE_f8e5m2: return small_float(((const uint8_t *)data)[i], 5, 2, false);
    case MICA_DTYPE_f32: return ((const float *)data)[i];
    case MICA_DTYPE_f64: return ((const double *)data)[i];
    case MICA_DTYPE_c64: return ((const float *)data)[2 * i];
    case MICA_DTYPE_c128: return ((const double *)data)[2 * i];
    default: return NAN;
    }
}

static void print_element(FILE *to, const void *data, int64_t i, mica_dtype dtype) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind == MICA_KIND_BOOLEAN)
        fputs(((const uint8_t *)data)[i] ? "true" : "false", to);
    else if (dtype == MICA_DTYPE_i64)
        fprintf(to, "%lld", (long long)((const int64_t *)data)[i]);
    else if (dtype == MICA_DTYPE_u64)
        fprintf(to, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
    else if (kind == MICA_KIND_COMPLEX)
        fprintf(to, "%.9g%+.9gi", cli_element(data, i, dtype),
                dtype == MICA_DTYPE_c64 ? (double)((const float *)data)[2 * i + 1]
                                        : ((const double *)data)[2 * i + 1]);
    else
        fprintf(to, "%.*g", dtype == MICA_DTYPE_f64 ? 17 : 9, cli_element(data, i, dtype));
}

void cli_print_tensor(FILE *to, const mica_type *type, const void *data) {
    int64_t n = mica_type_elements(type), shown = n < 100 ? n : 100;
    int64_t row = type->rank ? type->dims[type->rank - 1] : 1;
    for (int64_t i = 0; i < shown; i++) {
        bool row_ends = row && (i + 1) % row == 0;
        print_element(to, data, i, type->dtype);
        fputs(row_ends || i + 1 == shown ? "\n" : " ", to);
    }
    if (shown < n) fprintf(to, "... %lld more\n", (long long)(n - shown));
}
