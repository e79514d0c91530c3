/* safetensors: eight bytes with the length of a header, the header, the data of all arrays.
 *
 * The header is an object of JSON: by name the dtype, the shape and where the data begins and ends,
 * counted from the end of the header. The data has no gaps and no overlaps. "__metadata__" is an
 * object of texts, which is checked and passed over. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/arrays.h"

#define FORMAT "safetensors"
enum { MOST_HEADER = 100 * 1000 * 1000, ALIGNMENT = 8 };

/* By mica_dtype; NULL where safetensors has none. */
static const char *const DTYPES[MICA_DTYPE_COUNT] = {
    [MICA_DTYPE_bool] = "BOOL",      [MICA_DTYPE_i8] = "I8",     [MICA_DTYPE_i16] = "I16",
    [MICA_DTYPE_i32] = "I32",        [MICA_DTYPE_i64] = "I64",   [MICA_DTYPE_u8] = "U8",
    [MICA_DTYPE_u16] = "U16",        [MICA_DTYPE_u32] = "U32",   [MICA_DTYPE_u64] = "U64",
    [MICA_DTYPE_f16] = "F16",        [MICA_DTYPE_bf16] = "BF16", [MICA_DTYPE_f32] = "F32",
    [MICA_DTYPE_f64] = "F64",        [MICA_DTYPE_c64] = "C64",   [MICA_DTYPE_f8e4m3fn] = "F8_E4M3",
    [MICA_DTYPE_f8e5m2] = "F8_E5M2",
};

/* ---- JSON, as much as a header needs ----------------------------------------------------------*/

static void pass_spaces(io_range *in) {
    while (in->n &&
           (*in->data == ' ' || *in->data == '\t' || *in->data == '\n' || *in->data == '\r'))
        in->data++, in->n--;
}

static bool take_char(io_range *in, char c) {
    pass_spaces(in);
    if (!in->n || *in->data != (uint8_t)c) return false;
    in->data++, in->n--;
    return true;
}

static bool take_digits16(io_range *in, uint32_t *out) {
    *out = 0;
    if (in->n < 4) return false;
    for (int i = 0; i < 4; i++) {
        uint8_t c = in->data[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    in->data += 4, in->n -= 4;
    return true;
}

static void put_utf8(mica_text *to, uint32_t c) {
    if (c < 0x80) {
        mica_text_append_char(to, (char)c);
        return;
    }
    int n = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes after the first */
    static const uint8_t heads[] = {0, 0xC0, 0xE0, 0xF0};
    mica_text_append_char(to, (char)(heads[n] | c >> 6 * n));
    while (n-- > 0) mica_text_append_char(to, (char)(0x80 | (c >> 6 * n & 0x3F)));
}

/* What follows a backslash. */
static bool take_escape(io_range *in, mica_text *to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (!in->n) return false;
    char c = (char)*in->data;
    in->data++, in->n--;
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
        mica_text_append_char(to, into[at - from]);
        return true;
    }
    uint32_t code, low;
    if (c != 'u' || !take_digits16(in, &code)) return false;
    if (code >= 0xDC00 && code < 0xE000) return false;
    if (code >= 0xD800 && code < 0xDC00) {
        if (in->n < 2 || in->data[0] != '\\' || in->data[1] != 'u') return false;
        in->data += 2, in->n -= 2;
        if (!take_digits16(in, &low) || low < 0xDC00 || low >= 0xE000) return false;
        code = 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00);
    }
    put_utf8(to, code);
    return true;
}

/* Without memory there is no string, and `to` has failed. */
static bool take_string(io_range *in, mica_text *to) {
    mica_text_clear(to);
    if (!take_char(in, '"')) return false;
    while (in->n) {
        uint8_t c = *in->data;
        in->data++, in->n--;
        if (c == '"') return !mica_text_is_failed(to);
        if (c < 0x20) return false;
        if (c != '\\')
            mica_text_append_char(to, (char)c);
        else if (!take_escape(in, to))
            return false;
    }
    return false;
}

static bool take_number(io_range *in, uint64_t *out) {
    pass_spaces(in);
    *out = 0;
    size_t n = 0;
    for (; in->n && *in->data >= '0' && *in->data <= '9'; in->data++, in->n--, n++)
        if (*out > (INT64_MAX - 9) / 10)
            return false;
        else
            *out = 10 * *out + (uint64_t)(*in->data - '0');
    return n > 0;
}

static bool take_numbers(io_range *in, uint64_t *out, int32_t most, int32_t *out_n) {
    *out_n = 0;
    if (!take_char(in, '[')) return false;
    if (take_char(in, ']')) return true;
    do {
        if (*out_n == most || !take_number(in, &out[*out_n])) return false;
        ++*out_n;
    } while (take_char(in, ','));
    return take_char(in, ']');
}

/* ---- reading ----------------------------------------------------------------------------------*/

typedef struct header {
    mica_arrays *arrays;
    io_range in, data;
    mica_text name, word;
} header;

static mica_status damaged(const header *h, const char *why) {
    return io_arrays_damaged(h->arrays, FORMAT, why);
}

static mica_status read_dtype(header *h, mica_dtype *out) {
    if (!take_string(&h->in, &h->word)) return damaged(h, "a dtype is no string");
    for (int i = 0; i < MICA_DTYPE_COUNT; i++) {
        if (!DTYPES[i] || strcmp(DTYPES[i], mica_text_data(&h->word)) != 0) continue;
        *out = (mica_dtype)i;
        return NULL;
    }
    return MICA_ERROR(MICA_UNSUPPORTED, "[" FORMAT "] '%.900s' has the dtype '%.40s' ('%.200s')",
                      h->arrays->path, mica_text_data(&h->word), mica_text_data(&h->name));
}

/* One array: its three fields, in any order, each once. */
static mica_status read_array(header *h) {
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    int seen = 0;
    uint64_t dims[MICA_MAX_RANK], offsets[2];
    int32_t rank = 0, n_offsets = 0;
    mica_type type = {.kind = MICA_TENSOR};
    if (!take_char(&h->in, '{')) return damaged(h, "an array is no object");
    do {
        if (!take_string(&h->in, &h->word) || !take_char(&h->in, ':'))
            return damaged(h, "a field of an array has no name");
        const char *field = mica_text_data(&h->word);
        int bit = !strcmp(field, "dtype")          ? DTYPE
                  : !strcmp(field, "shape")        ? SHAPE
                  : !strcmp(field, "data_offsets") ? OFFSETS
                                                   : 0;
        if (!bit || (seen & bit)) return damaged(h, "an array has other fields than it should");
        seen |= bit;
        if (bit == DTYPE) MICA_TRY(read_dtype(h, &type.dtype));
        if (bit == SHAPE && !take_numbers(&h->in, dims, MICA_MAX_RANK, &rank))
            return damaged(h, "a shape is no list of at most 16 sizes");
        if (bit == OFFSETS && (!take_numbers(&h->in, offsets, 2, &n_offsets) || n_offsets != 2))
            return damaged(h, "data_offsets are no pair");
    } while (take_char(&h->in, ','));
    if (!take_char(&h->in, '}') || seen != (DTYPE | SHAPE | OFFSETS))
        return damaged(h, "an array lacks a field");
    type.rank = rank;
    for (int32_t i = 0; i < rank; i++) type.dims[i] = (int64_t)dims[i];
    if (offsets[0] > offsets[1] || offsets[1] > h->data.n ||
        offsets[1] - offsets[0] != mica_type_bytes(&type))
        return damaged(h, "the data of an array is not as long as its shape says");
    io_range name = {(const uint8_t *)mica_text_data(&h->name), h->name.length};
    return io_arrays_add(h->arrays, name, &type, h->data.data + offsets[0]);
}

static mica_status pass_metadata(header *h) {
    if (!take_char(&h->in, '{')) return damaged(h, "__metadata__ is no object");
    if (take_char(&h->in, '}')) return NULL;
    do {
        if (!take_string(&h->in, &h->word) || !take_char(&h->in, ':') ||
            !take_string(&h->in, &h->word))
            return damaged(h, "__metadata__ has more than texts");
    } while (take_char(&h->in, ','));
    return take_char(&h->in, '}') ? NULL : damaged(h, "__metadata__ does not end");
}

static mica_status read_header(header *h) {
    bool is_empty;
    if (!take_char(&h->in, '{')) return damaged(h, "the header is no object");
    is_empty = take_char(&h->in, '}');
    if (!is_empty) {
        do {
            if (!take_string(&h->in, &h->name) || !take_char(&h->in, ':'))
                return damaged(h, "an array has no name");
            bool is_metadata = !strcmp(mica_text_data(&h->name), "__metadata__");
            MICA_TRY(is_metadata ? pass_metadata(h) : read_array(h));
        } while (take_char(&h->in, ','));
        if (!take_char(&h->in, '}')) return damaged(h, "the header does not end");
    }
    pass_spaces(&h->in);
    return h->in.n ? damaged(h, "bytes follow the header's end") : NULL;
}

static int by_place(const void *a, const void *b) {
    const mica_array *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
    if (p != q) return p < q ? -1 : 1;
    size_t n = mica_type_bytes(&x->type), m = mica_type_bytes(&y->type);
    return n < m ? -1 : n > m; /* empty ones come before what begins at the same place */
}

/* Sorted by place, the arrays lie one behind the other and fill the data. */
static mica_status check_places(header *h) {
    mica_arrays *a = h->arrays;
    if (a->n > 0) qsort(a->items, (size_t)a->n, sizeof *a->items, by_place);
    const uint8_t *at = h->data.data;
    for (int64_t i = 0; i < a->n; i++) {
        if (a->items[i].data != (const void *)at)
            return damaged(h, "there are gaps or overlaps in the data");
        at += mica_type_bytes(&a->items[i].type);
    }
    return at == h->data.data + h->data.n ? NULL : damaged(h, "there is data that is no array's");
}

mica_status io_safetensors_read(mica_arrays *a) {
    header h = {.arrays = a};
    io_range rest = {a->bytes, a->size};
    uint32_t low, high;
    if (!io_take_u32(&rest, &low) || !io_take_u32(&rest, &high) || high != 0 || low > MOST_HEADER ||
        !io_take(&rest, low, &h.in))
        return MICA_ERROR(MICA_DATA_LOSS,
                          "[arrays] '%.900s' is none of safetensors, .npy and .npz, or damaged",
                          a->path);
    h.data = rest;
    mica_text_init(&h.name);
    mica_text_init(&h.word);
    mica_status status = read_header(&h);
    if (mica_text_is_failed(&h.name) || mica_text_is_failed(&h.word)) {
        mica_status_release(status);
        status = MICA_NO_MEMORY();
    }
    if (!status) status = check_places(&h);
    mica_text_deinit(&h.name);
    mica_text_deinit(&h.word);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------*/

static void put_string(mica_text *to, const char *text) {
    mica_text_append_char(to, '"');
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        if (c < 0x20)
            mica_text_printf(to, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            mica_text_printf(to, "\\%c", c);
        else
            mica_text_append_char(to, (char)c);
    }
    mica_text_append_char(to, '"');
}

static void put_array(mica_text *to, const mica_array *array, uint64_t at) {
    put_string(to, array->name);
    mica_text_printf(to, ":{\"dtype\":\"%s\",\"shape\":[", DTYPES[array->type.dtype]);
    for (int32_t k = 0; k < array->type.rank; k++)
        mica_text_printf(to, k ? ",%lld" : "%lld", (long long)array->type.dims[k]);
    mica_text_printf(to, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                     (unsigned long long)(at + mica_type_bytes(&array->type)));
}

static mica_status put_header(mica_text *to, const mica_array *arrays, int64_t n) {
    uint64_t at = 0;
    io_put_u64(to, 0); /* the length, when it is known */
    mica_text_append_char(to, '{');
    for (int64_t i = 0; i < n; i++) {
        if (!DTYPES[arrays[i].type.dtype])
            return MICA_ERROR(MICA_UNSUPPORTED, "[" FORMAT "] '%.200s': the format has no %s",
                              arrays[i].name, mica_dtype_name(arrays[i].type.dtype));
        if (!strcmp(arrays[i].name, "__metadata__"))
            return MICA_INVALID("[" FORMAT "] __metadata__ is no name for an array");
        if (i > 0) mica_text_append_char(to, ',');
        put_array(to, &arrays[i], at);
        at += mica_type_bytes(&arrays[i].type);
    }
    mica_text_append_char(to, '}');
    while (to->length % ALIGNMENT && !mica_text_is_failed(to)) mica_text_append_char(to, ' ');
    if (mica_text_is_failed(to)) return MICA_NO_MEMORY();
    uint64_t length = to->length - 8;
    if (length > MOST_HEADER)
        return MICA_INVALID("[" FORMAT "] a header of %llu bytes is too long: at most %d",
                            (unsigned long long)length, MOST_HEADER);
    for (int i = 0; i < 8; i++) to->data[i] = (char)(length >> 8 * i);
    return NULL;
}

mica_status io_safetensors_write(mica_file *file, const mica_array *arrays, int64_t n) {
    mica_text text;
    mica_text_init(&text);
    mica_status status = put_header(&text, arrays, n);
    if (!status) status = mica_file_append(file, text.data, text.length);
    mica_text_deinit(&text);
    for (int64_t i = 0; !status && i < n; i++) {
        size_t size = mica_type_bytes(&arrays[i].type);
        if (size) status = mica_file_append(file, arrays[i].data, size);
    }
    return status;
}
