/* Host functions between strings and numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tf/fingerprint.h"
#include "tf/strings.h"

/* ---- numbers as texts -------------------------------------------------------------------------*/

typedef struct number_format {
    int precision, width;
    char conversion, fill;
} number_format;

static mica_status read_format(const mica_tf_host *c, mica_tf_dtype dtype, number_format *out) {
    bool scientific = mica_tf_host_attr(c, "scientific")->as.integer != 0;
    bool shortest = mica_tf_host_attr(c, "shortest")->as.integer != 0;
    const mica_tf_attr *fill = mica_tf_host_attr(c, "fill");
    bool is_real = dtype == MICA_TF_float32 || dtype == MICA_TF_float64 ||
                   dtype == MICA_TF_float16 || dtype == MICA_TF_bfloat16 ||
                   dtype == MICA_TF_complex64 || dtype == MICA_TF_complex128;
    out->precision = (int)mica_tf_host_attr(c, "precision")->as.integer;
    out->width = (int)mica_tf_host_attr(c, "width")->as.integer;
    out->conversion = scientific ? 'e' : shortest ? 'g' : 'f';
    out->fill = fill->n ? fill->as.string[0] : 0;
    if (fill->n > 1) return MICA_INVALID("[AsString] Fill string must be one or fewer characters");
    if (scientific && shortest)
        return MICA_INVALID("[AsString] Cannot select both scientific and shortest notation");
    if (!is_real && (scientific || shortest || out->precision >= 0))
        return MICA_INVALID("[AsString] %s not supported for datatype %s",
                            out->precision >= 0 ? "precision" : "scientific and shortest format",
                            mica_tf_dtype_name(dtype));
    if (out->width > 200 || out->precision > 100)
        return MICA_INVALID("[AsString] width %d and precision %d are too large", out->width,
                            out->precision);
    return NULL;
}

/* A conversion with the flags, "%08.3f". */
static void make_pattern(const number_format *f, const char *conversion, char out[40]) {
    char width[16] = "", precision[16] = "", flag[2] = {f->fill, 0};
    if (f->width >= 0) snprintf(width, sizeof width, "%d", f->width);
    if (f->precision >= 0) snprintf(precision, sizeof precision, ".%d", f->precision);
    snprintf(out, 40, "%%%s%s%s%s", f->width >= 0 && f->fill ? flag : "", width, precision,
             conversion);
}

static void write_real(mica_text *out, const number_format *f, double value) {
    char pattern[40], chars[512], conversion[2] = {f->conversion, 0};
    make_pattern(f, conversion, pattern);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(chars, sizeof chars, pattern, value);
#pragma GCC diagnostic pop
    mica_text_append(out, chars);
}

static void write_integer(mica_text *out, const number_format *f, int64_t value, bool is_unsigned) {
    char pattern[40], chars[300];
    make_pattern(f, is_unsigned ? "llu" : "lld", pattern);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(chars, sizeof chars, pattern, (long long)value);
#pragma GCC diagnostic pop
    mica_text_append(out, chars);
}

/* Texts of one element: reals come as float64, complex as complex128, integers as (u)int64. */
static void write_number(mica_text *out, const number_format *f, mica_tf_dtype dtype,
                         const void *data, int64_t i) {
    switch (dtype) {
    case MICA_TF_bool: mica_text_append(out, ((const uint8_t *)data)[i] ? "true" : "false"); return;
    case MICA_TF_float64: write_real(out, f, ((const double *)data)[i]); return;
    case MICA_TF_complex128:
        mica_text_append_char(out, '(');
        write_real(out, f, ((const double *)data)[2 * i]);
        mica_text_append_char(out, ',');
        write_real(out, f, ((const double *)data)[2 * i + 1]);
        mica_text_append_char(out, ')');
        return;
    default: write_integer(out, f, ((const int64_t *)data)[i], dtype == MICA_TF_uint64); return;
    }
}

/* The widest dtype of the same kind. */
static mica_tf_dtype widest(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    switch (mica_dtype_kind_of(core)) {
    case MICA_KIND_BOOLEAN: return MICA_TF_bool;
    case MICA_KIND_FLOAT: return MICA_TF_float64;
    case MICA_KIND_COMPLEX: return MICA_TF_complex128;
    case MICA_KIND_UNSIGNED: return MICA_TF_uint64;
    default: return MICA_TF_int64;
    }
}

static mica_status widen(mica_tf_host *c, mica_tf_value value, mica_tf_dtype wide,
                         mica_tf_value *out) {
    int32_t n;
    mica_tf_attr attrs[] = {{.as.integer = value.dtype}, {.as.integer = wide}, {.as.integer = 0}};
    return mica_tf_eager(c->device, MICA_TF_Cast, attrs, &value, 1, out, 1, &n, NULL);
}

mica_status tf_host_as_string(mica_tf_host *c) {
    mica_tf_value given = c->inputs[0], value;
    if (given.dtype == MICA_TF_string) {
        mica_tf_value_retain(given);
        c->outputs[0] = given;
        return NULL;
    }
    number_format format;
    mica_tf_shape shape;
    const void *data;
    if (!mica_tf_is_core(given.dtype))
        return MICA_INVALID("[AsString] %s has no text", mica_tf_dtype_name(given.dtype));
    MICA_TRY(read_format(c, given.dtype, &format));
    mica_tf_value_shape(given, &shape);
    MICA_TRY(widen(c, given, widest(given.dtype), &value));
    mica_status status = mica_tf_open(value, &data);
    if (status) {
        mica_tf_value_release(value);
        return status;
    }
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    int64_t n = mica_tf_shape_elements(&shape);
    for (int64_t i = 0; i < n; i++) {
        write_number(&w.bytes, &format, value.dtype, data, i);
        mica_tf_writer_end(&w);
    }
    mica_tf_close(value);
    mica_tf_value_release(value);
    return mica_tf_writer_finish(&w, mica_tf_dims(&shape), &c->outputs[0]);
}

/* ---- texts as numbers -------------------------------------------------------------------------*/

static mica_status not_a_number(const char *text) {
    return MICA_INVALID("[StringToNumber] StringToNumberOp could not correctly convert string: %s",
                        text);
}

/* The text, ended with a zero and without white space around it. */
static mica_status read_number(const char *text, mica_tf_dtype dtype, void *data, int64_t i) {
    char *end = NULL;
    errno = 0;
    if (!*text) return not_a_number(text);
    switch (dtype) {
    case MICA_TF_float32: ((float *)data)[i] = strtof(text, &end); break;
    case MICA_TF_float64: ((double *)data)[i] = strtod(text, &end); break;
    case MICA_TF_uint32:
    case MICA_TF_uint64: {
        unsigned long long value = strtoull(text, &end, 10);
        if (errno || *text == '-' || (dtype == MICA_TF_uint32 && value > UINT32_MAX))
            return not_a_number(text);
        if (dtype == MICA_TF_uint32)
            ((uint32_t *)data)[i] = (uint32_t)value;
        else
            ((uint64_t *)data)[i] = value;
        break;
    }
    default: {
        long long value = strtoll(text, &end, 10);
        if (errno || (dtype == MICA_TF_int32 && (value < INT32_MIN || value > INT32_MAX)))
            return not_a_number(text);
        if (dtype == MICA_TF_int32)
            ((int32_t *)data)[i] = (int32_t)value;
        else
            ((int64_t *)data)[i] = value;
    }
    }
    return *end ? not_a_number(text) : NULL;
}

static mica_status read_numbers(mica_tf_value strings, mica_tf_dtype dtype, void *data) {
    int64_t n = mica_tf_strings_count(strings);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(strings, i, &length);
        while (length && mica_tf_is_space(*bytes)) bytes++, length--;
        while (length && mica_tf_is_space(bytes[length - 1])) length--;
        char *text = mica_alloc(length + 1);
        if (!text) return MICA_NO_MEMORY();
        if (length) memcpy(text, bytes, length);
        text[length] = 0;
        mica_status status =
            strlen(text) == length ? read_number(text, dtype, data, i) : not_a_number(text);
        mica_free(text);
        MICA_TRY(status);
    }
    return NULL;
}

mica_status tf_host_string_to_number(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    mica_tf_dtype dtype = c->output_dtypes[0];
    void *data = mica_calloc((size_t)mica_tf_strings_count(c->inputs[0]) + 1, 8);
    if (!data) return MICA_NO_MEMORY();
    mica_status status = read_numbers(c->inputs[0], dtype, data);
    if (!status)
        status = mica_tf_give_numbers(c, 0, mica_tf_dtype_core(dtype), mica_tf_dims(&shape), data);
    mica_free(data);
    return status;
}

/* ---- hashes -----------------------------------------------------------------------------------*/

static mica_status hashed(mica_tf_host *c, const uint64_t *key) {
    int64_t buckets = mica_tf_host_attr(c, "num_buckets")->as.integer;
    if (buckets < 1) return MICA_INVALID("[%s] num_buckets must be positive", c->info->name);
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    uint64_t *hashes = mica_alloc((size_t)n * sizeof *hashes + 8);
    if (!hashes) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        uint64_t hash =
            key ? mica_tf_siphash(key, bytes, length) : mica_tf_fingerprint(bytes, length);
        hashes[i] = hash % (uint64_t)buckets;
    }
    mica_status status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i64, mica_tf_dims(&shape), hashes);
    mica_free(hashes);
    return status;
}

mica_status tf_host_hash_bucket_fast(mica_tf_host *c) {
    return hashed(c, NULL);
}

mica_status tf_host_hash_bucket_strong(mica_tf_host *c) {
    const mica_tf_attr *key = mica_tf_host_attr(c, "key");
    if (key->n != 2) return MICA_INVALID("[%s] Key must have 2 elements", c->info->name);
    uint64_t words[2] = {(uint64_t)key->as.ints[0], (uint64_t)key->as.ints[1]};
    return hashed(c, words);
}

/* ---- code points ------------------------------------------------------------------------------*/

static mica_status only_utf8(const mica_tf_host *c, const char *attr) {
    const char *encoding = mica_tf_host_attr(c, attr)->as.string;
    if (!strcmp(encoding, "UTF-8") || !strcmp(encoding, "utf-8")) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] encoding '%s' is not known here", c->info->name,
                      encoding);
}

static mica_status decode(const mica_tf_host *c, int64_t *splits, int32_t *codes) {
    const char *errors = mica_tf_host_attr(c, "errors")->as.string;
    int32_t replacement = (int32_t)mica_tf_host_attr(c, "replacement_char")->as.integer;
    int64_t n = mica_tf_strings_count(c->inputs[0]), count = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        for (size_t at = 0; at < length;) {
            int32_t code;
            at += mica_tf_utf8_next(bytes + at, length - at, &code);
            if (code < 0 && !strcmp(errors, "strict"))
                return MICA_INVALID("[UnicodeDecode] Invalid formatting on input string");
            if (code < 0 && !strcmp(errors, "ignore")) continue;
            codes[count++] = code < 0 ? replacement : code;
        }
        splits[i + 1] = count;
    }
    return NULL;
}

mica_status tf_host_unicode_decode(mica_tf_host *c) {
    MICA_TRY(only_utf8(c, "input_encoding"));
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    size_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        mica_tf_strings_get(c->inputs[0], i, &length);
        total += length;
    }
    int64_t *splits = mica_calloc((size_t)n + 2 + total, sizeof *splits);
    if (!splits) return MICA_NO_MEMORY();
    int32_t *codes = (int32_t *)(splits + n + 1);
    mica_status status = decode(c, splits, codes);
    if (!status) status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i64, MICA_INTS(n + 1), splits);
    if (!status) status = mica_tf_give_numbers(c, 1, MICA_DTYPE_i32, MICA_INTS(splits[n]), codes);
    mica_free(splits);
    return status;
}

static mica_status encode(mica_tf_host *c, const int32_t *codes, const int64_t *splits,
                          int64_t rows, int64_t n_codes) {
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    uint32_t replacement = (uint32_t)mica_tf_host_attr(c, "replacement_char")->as.integer;
    for (int64_t i = 0; i < rows; i++) {
        if (splits[i] < 0 || splits[i + 1] < splits[i] || splits[i + 1] > n_codes) {
            mica_tf_writer_deinit(&w);
            return MICA_INVALID("[UnicodeEncode] Values in input_splits must be in order and "
                                "within the values");
        }
        for (int64_t k = splits[i]; k < splits[i + 1]; k++) {
            uint32_t code = (uint32_t)codes[k];
            mica_tf_utf8_append(&w.bytes,
                                code > 0x10ffff || code >> 11 == 0x1b ? replacement : code);
        }
        mica_tf_writer_end(&w);
    }
    return mica_tf_writer_finish(&w, MICA_INTS(rows), &c->outputs[0]);
}

mica_status tf_host_unicode_encode(mica_tf_host *c) {
    MICA_TRY(only_utf8(c, "output_encoding"));
    mica_tf_shape values, splits;
    mica_tf_value_shape(c->inputs[0], &values);
    mica_tf_value_shape(c->inputs[1], &splits);
    int64_t n = mica_tf_shape_elements(&splits);
    const void *codes, *places;
    if (n < 1) return MICA_INVALID("[UnicodeEncode] input_splits is empty");
    MICA_TRY(mica_tf_open(c->inputs[0], &codes));
    mica_status status = mica_tf_open(c->inputs[1], &places);
    if (!status) {
        status = encode(c, codes, places, n - 1, mica_tf_shape_elements(&values));
        mica_tf_close(c->inputs[1]);
    }
    mica_tf_close(c->inputs[0]);
    return status;
}

/* ---- bytes ------------------------------------------------------------------------------------*/

static void turn_around(uint8_t *bytes, size_t n, size_t size) {
    for (size_t at = 0; at + size <= n; at += size)
        for (size_t i = 0; i < size / 2; i++) {
            uint8_t swap = bytes[at + i];
            bytes[at + i] = bytes[at + size - 1 - i];
            bytes[at + size - 1 - i] = swap;
        }
}

mica_status tf_host_decode_raw(mica_tf_host *c) {
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[0]);
    bool is_little = mica_tf_host_attr(c, "little_endian")->as.integer != 0;
    size_t size = mica_dtype_bytes(dtype), length = 0, part = size;
    if (mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX) part /= 2;
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    if (shape.rank >= MICA_MAX_RANK) return MICA_INVALID("[DecodeRaw] rank is too high");
    if (n) mica_tf_strings_get(c->inputs[0], 0, &length);
    if (length % size)
        return MICA_INVALID("[DecodeRaw] Input to DecodeRaw has length %zu that is not a multiple "
                            "of %zu, the size of %s",
                            length, size, mica_tf_dtype_text(c->output_dtypes[0]));
    uint8_t *all = mica_alloc((size_t)n * length + 1);
    if (!all) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int64_t i = 0; i < n && !status; i++) {
        size_t own;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &own);
        if (own != length)
            status = MICA_INVALID("[DecodeRaw] DecodeRaw requires input strings to all be the same "
                                  "size, but element %lld has size %zu != %zu",
                                  (long long)i, own, length);
        else if (length)
            memcpy(all + (size_t)i * length, bytes, length);
    }
    if (!is_little) turn_around(all, (size_t)n * length, part);
    shape.dims[shape.rank++] = (int64_t)(length / size);
    if (!status) status = mica_tf_give_numbers(c, 0, dtype, mica_tf_dims(&shape), all);
    mica_free(all);
    return status;
}
