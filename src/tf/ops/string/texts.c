/* Host functions between strings and numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tf/ops/string/fingerprint.h"
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
    int64_t precision = mica_tf_host_attr(c, "precision")->as.integer;
    int64_t width = mica_tf_host_attr(c, "width")->as.integer;
    out->precision = precision < 0 ? -1 : precision > 1000 ? 1000 : (int)precision;
    out->width = width < 0 ? -1 : width > 1000 ? 1000 : (int)width;
    out->conversion = scientific ? 'e' : shortest ? 'g' : 'f';
    out->fill = fill->n ? fill->as.string[0] : 0;
    if (fill->n > 1) return MICA_INVALID("[AsString] Fill string must be one or fewer characters");
    if (out->fill && !strchr(" +-0#", out->fill)) /* it becomes a flag of printf */
        return MICA_INVALID("[AsString] Fill argument not supported: '%c' is none of ' ', '+', "
                            "'-', '0', '#'",
                            out->fill);
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
    snprintf(out, 40, "%%%s%s%s%s", flag, width, precision, conversion);
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
        if (!mica_tf_writer_end(&w)) break;
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
        if (mica_tf_is_interrupted(i)) return mica_interrupt_status();
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
    mica_status status = NULL;
    for (int64_t i = 0; i < n && !status; i++) {
        if (mica_tf_is_interrupted(i)) status = mica_interrupt_status();
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        uint64_t hash =
            key ? mica_tf_siphash(key, bytes, length) : mica_tf_fingerprint(bytes, length);
        hashes[i] = hash % (uint64_t)buckets;
    }
    if (!status) status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i64, mica_tf_dims(&shape), hashes);
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

static mica_status encoding_of(const mica_tf_host *c, const char *attr, mica_tf_encoding *out) {
    const char *name = mica_tf_host_attr(c, attr)->as.string;
    if (mica_tf_encoding_parse(name, out)) return NULL;
    return MICA_INVALID("[%s] Could not create converter for encoding '%s': UTF-8, UTF-16-BE, "
                        "UTF-32-BE, US-ASCII and latin1 are known",
                        c->info->name, name);
}

/* What becomes of a code point that is not one: STRICT is an error, IGNORE leaves it out. */
typedef enum mistakes { STRICT, IGNORE, REPLACE } mistakes;

static mistakes mistakes_of(const mica_tf_host *c) {
    const char *errors = mica_tf_host_attr(c, "errors")->as.string;
    return !strcmp(errors, "strict") ? STRICT : !strcmp(errors, "ignore") ? IGNORE : REPLACE;
}

static bool is_code_point(int64_t code) {
    return code >= 0 && code <= 0x10ffff && code >> 11 != 0x1b;
}

/* How an op reads code points. With replace_control_characters U+0000 to U+001F are mistakes; those
 * are replaced where others are errors, but for UnicodeTranscode. */
typedef struct decoding {
    mica_tf_encoding encoding;
    mistakes how, how_controls;
    int32_t replacement, least;
} decoding;

static mica_status read_replacement(const mica_tf_host *c, int32_t *out) {
    int64_t code = mica_tf_host_attr(c, "replacement_char")->as.integer;
    *out = (int32_t)code;
    if (code >= 0 && code <= 0x10ffff) return NULL;
    return MICA_INVALID("[%s] replacement_char out of unicode codepoint range: %lld", c->info->name,
                        (long long)code);
}

static mica_status decoding_of(const mica_tf_host *c, bool strict_controls, decoding *out) {
    MICA_TRY(encoding_of(c, "input_encoding", &out->encoding));
    out->how = out->how_controls = mistakes_of(c);
    if (out->how == STRICT && !strict_controls) out->how_controls = REPLACE;
    out->least = mica_tf_host_attr(c, "replace_control_characters")->as.integer ? 0x20 : 0;
    return read_replacement(c, &out->replacement);
}

/* The next code point of a string, or -1 where it is left out. */
static mica_status next_code(const mica_tf_host *c, const decoding *d, const char *bytes,
                             size_t length, size_t *at, int32_t *out_code) {
    *at += mica_tf_code_next(d->encoding, bytes + *at, length - *at, out_code);
    if (*out_code >= d->least) return NULL;
    mistakes how = *out_code < 0 ? d->how : d->how_controls;
    if (how == STRICT)
        return MICA_INVALID("[%s] Invalid formatting on input string", c->info->name);
    *out_code = how == REPLACE ? d->replacement : -1;
    return NULL;
}

/* `starts`: where in its string each code point begins, or NULL. */
static mica_status decode(const mica_tf_host *c, int64_t *splits, int64_t *starts, int32_t *codes) {
    decoding d;
    MICA_TRY(decoding_of(c, false, &d));
    int64_t n = mica_tf_strings_count(c->inputs[0]), count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (mica_tf_is_interrupted(i)) return mica_interrupt_status();
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        for (size_t at = 0; at < length;) {
            size_t start = at;
            MICA_TRY(next_code(c, &d, bytes, length, &at, &codes[count]));
            if (codes[count] < 0) continue;
            if (starts) starts[count] = (int64_t)start;
            count++;
        }
        splits[i + 1] = count;
    }
    return NULL;
}

static mica_status give_decoded(mica_tf_host *c, bool with_starts) {
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    size_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        mica_tf_strings_get(c->inputs[0], i, &length);
        total += length;
    }
    int64_t *splits = mica_calloc((size_t)n + 3 + 2 * total, sizeof *splits);
    if (!splits) return MICA_NO_MEMORY();
    int64_t *starts = splits + n + 1;
    int32_t *codes = (int32_t *)(starts + total);
    mica_status status = decode(c, splits, with_starts ? starts : NULL, codes);
    if (!status) status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i64, MICA_INTS(n + 1), splits);
    if (!status) status = mica_tf_give_numbers(c, 1, MICA_DTYPE_i32, MICA_INTS(splits[n]), codes);
    if (!status && with_starts)
        status = mica_tf_give_numbers(c, 2, MICA_DTYPE_i64, MICA_INTS(splits[n]), starts);
    mica_free(splits);
    return status;
}

mica_status tf_host_unicode_decode(mica_tf_host *c) {
    return give_decoded(c, false);
}

mica_status tf_host_unicode_decode_with_offsets(mica_tf_host *c) {
    return give_decoded(c, true);
}

/* Surrogates, which a replacement may be, are written as U+FFFD. */
static void append_code(mica_tf_encoding encoding, mica_text *out, int32_t code) {
    mica_tf_code_append(encoding, out, (uint32_t)(is_code_point(code) ? code : 0xfffd));
}

static mica_status transcode(const mica_tf_host *c, mica_tf_writer *w) {
    decoding d;
    mica_tf_encoding to;
    MICA_TRY(decoding_of(c, true, &d));
    MICA_TRY(encoding_of(c, "output_encoding", &to));
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        for (size_t at = 0; at < length;) {
            int32_t code;
            MICA_TRY(next_code(c, &d, bytes, length, &at, &code));
            if (code >= 0) append_code(to, &w->bytes, code);
        }
        if (!mica_tf_writer_end(w)) break;
    }
    return NULL;
}

mica_status tf_host_unicode_transcode(mica_tf_host *c) {
    mica_tf_writer w;
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    mica_tf_writer_init(&w);
    mica_status status = transcode(c, &w);
    if (!status) return mica_tf_writer_finish(&w, mica_tf_dims(&shape), &c->outputs[0]);
    mica_tf_writer_deinit(&w);
    return status;
}

/* How an op writes code points. */
typedef struct encoder {
    mica_tf_encoding encoding;
    mistakes how;
    int32_t replacement;
} encoder;

static mica_status encode_row(mica_text *out, const int32_t *codes, int64_t n, const encoder *e) {
    for (int64_t k = 0; k < n; k++) {
        bool is_good = is_code_point(codes[k]);
        if (!is_good && e->how == STRICT)
            return MICA_INVALID("[UnicodeEncode] Code point is out of range for Unicode, or is a "
                                "surrogate: %d",
                                codes[k]);
        if (is_good || e->how == REPLACE)
            append_code(e->encoding, out, is_good ? codes[k] : e->replacement);
    }
    return NULL;
}

static mica_status encode(mica_tf_host *c, const int32_t *codes, const int64_t *splits,
                          int64_t rows, int64_t n_codes) {
    encoder e = {.how = mistakes_of(c)};
    MICA_TRY(encoding_of(c, "output_encoding", &e.encoding));
    MICA_TRY(read_replacement(c, &e.replacement));
    mica_tf_writer w;
    mica_status status = NULL;
    mica_tf_writer_init(&w);
    for (int64_t i = 0; i < rows && !status; i++) {
        if (splits[i] < 0 || splits[i + 1] < splits[i] || splits[i + 1] > n_codes)
            status = MICA_INVALID("[UnicodeEncode] Values in input_splits must be in order and "
                                  "within the values");
        else
            status = encode_row(&w.bytes, codes + splits[i], splits[i + 1] - splits[i], &e);
        if (!mica_tf_writer_end(&w)) break;
    }
    if (!status) return mica_tf_writer_finish(&w, MICA_INTS(rows), &c->outputs[0]);
    mica_tf_writer_deinit(&w);
    return status;
}

mica_status tf_host_unicode_encode(mica_tf_host *c) {
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

/* Of each string `length` bytes, with zeros behind those that are shorter, as numbers. */
static mica_status give_bytes(mica_tf_host *c, size_t length) {
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[0]);
    bool is_little = mica_tf_host_attr(c, "little_endian")->as.integer != 0;
    size_t size = mica_dtype_bytes(dtype), part = size, bytes;
    if (mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX) part /= 2;
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    if (shape.rank >= MICA_MAX_RANK)
        return MICA_INVALID("[%s] strings of rank %d are too many axes: at most %d", c->info->name,
                            shape.rank, MICA_MAX_RANK - 1);
    if (__builtin_mul_overflow((size_t)n, length, &bytes) || bytes >= PTRDIFF_MAX)
        return MICA_NO_MEMORY();
    uint8_t *all = mica_calloc(bytes + 1, 1);
    if (!all) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < n && length; i++) {
        size_t own;
        const char *text = mica_tf_strings_get(c->inputs[0], i, &own);
        if (own) memcpy(all + (size_t)i * length, text, own < length ? own : length);
    }
    if (!is_little) turn_around(all, bytes, part);
    shape.dims[shape.rank++] = (int64_t)(length / size);
    mica_status status = mica_tf_give_numbers(c, 0, dtype, mica_tf_dims(&shape), all);
    mica_free(all);
    return status;
}

mica_status tf_host_decode_raw(mica_tf_host *c) {
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[0]);
    size_t size = mica_dtype_bytes(dtype), length = 0;
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    if (n) mica_tf_strings_get(c->inputs[0], 0, &length);
    if (length % size)
        return MICA_INVALID("[DecodeRaw] Input to DecodeRaw has length %zu that is not a multiple "
                            "of %zu, the size of %s",
                            length, size, mica_tf_dtype_text(c->output_dtypes[0]));
    for (int64_t i = 0; i < n; i++) {
        size_t own;
        mica_tf_strings_get(c->inputs[0], i, &own);
        if (own != length)
            return MICA_INVALID("[DecodeRaw] DecodeRaw requires input strings to all be the same "
                                "size, but element %lld has size %zu != %zu",
                                (long long)i, own, length);
    }
    return give_bytes(c, length);
}

mica_status tf_host_decode_padded_raw(mica_tf_host *c) {
    size_t size = mica_dtype_bytes(mica_tf_dtype_core(c->output_dtypes[0]));
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[1], &shape);
    if (shape.rank != 0)
        return MICA_INVALID("[DecodePaddedRaw] fixed_length must be a scalar, not of shape %s",
                            mica_tf_shape_text(&shape).chars);
    const void *data;
    MICA_TRY(mica_tf_open(c->inputs[1], &data));
    int32_t length = *(const int32_t *)data;
    mica_tf_close(c->inputs[1]);
    if (length <= 0 || (size_t)length % size)
        return MICA_INVALID("[DecodePaddedRaw] fixed_length (%d) must be greater than zero and a "
                            "multiple of %zu, the size of %s",
                            length, size, mica_tf_dtype_text(c->output_dtypes[0]));
    return give_bytes(c, (size_t)length);
}
