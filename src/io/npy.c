/* numpy's .npy: a magic word, a version, the length of a header, the header, the data.
 *
 * The header is a dict as Python prints it: 'descr', the byte order, kind and size of an element;
 * 'fortran_order', whether the first axis is the one whose elements are next to each other;
 * 'shape'. */
#include <string.h>

#include "base/memory.h"
#include "io/arrays.h"

#define FORMAT "npy"
enum { MAGIC = 6, ALIGNMENT = 64 };

/* By mica_dtype, without the byte order; NULL where numpy has none. */
static const char *const DTYPES[MICA_DTYPE_COUNT] = {
    [MICA_DTYPE_bool] = "b1", [MICA_DTYPE_i8] = "i1",    [MICA_DTYPE_i16] = "i2",
    [MICA_DTYPE_i32] = "i4",  [MICA_DTYPE_i64] = "i8",   [MICA_DTYPE_u8] = "u1",
    [MICA_DTYPE_u16] = "u2",  [MICA_DTYPE_u32] = "u4",   [MICA_DTYPE_u64] = "u8",
    [MICA_DTYPE_f16] = "f2",  [MICA_DTYPE_f32] = "f4",   [MICA_DTYPE_f64] = "f8",
    [MICA_DTYPE_c64] = "c8",  [MICA_DTYPE_c128] = "c16",
};

typedef struct npy {
    mica_arrays *arrays;
    io_range in; /* what is left of the header */
    mica_type type;
    bool is_swapped, is_fortran;
} npy;

static mica_status damaged(const npy *f, const char *why) {
    return io_arrays_damaged(f->arrays, FORMAT, why);
}

/* ---- the header -------------------------------------------------------------------------------*/

static void pass_spaces(npy *f) {
    while (f->in.n && (*f->in.data == ' ' || *f->in.data == '\n')) f->in.data++, f->in.n--;
}

static bool take_word(npy *f, const char *word) {
    size_t n = strlen(word);
    pass_spaces(f);
    if (f->in.n < n || memcmp(f->in.data, word, n) != 0) return false;
    f->in.data += n, f->in.n -= n;
    return true;
}

static bool take_string(npy *f, io_range *out) {
    pass_spaces(f);
    if (!f->in.n || (*f->in.data != '\'' && *f->in.data != '"')) return false;
    const uint8_t *end = f->in.n > 1 ? memchr(f->in.data + 1, *f->in.data, f->in.n - 1) : NULL;
    if (!end) return false;
    *out = (io_range){f->in.data + 1, (size_t)(end - f->in.data) - 1};
    f->in.n -= out->n + 2, f->in.data = end + 1;
    return true;
}

static mica_status read_descr(npy *f) {
    io_range text;
    if (!take_string(f, &text)) return damaged(f, "'descr' is no text: records are not read");
    bool has_order = text.n > 0 && strchr("<>|=", text.data[0]) && text.data[0];
    io_range kind = {text.data + has_order, text.n - has_order};
    for (int i = 0; i < MICA_DTYPE_COUNT; i++) {
        if (!DTYPES[i] || !io_is(kind, DTYPES[i])) continue;
        f->type.dtype = (mica_dtype)i;
        f->is_swapped = has_order && text.data[0] == '>';
        return NULL;
    }
    return MICA_ERROR(MICA_UNSUPPORTED, "[" FORMAT "] '%.900s' has the dtype '%.*s'",
                      f->arrays->path, (int)(text.n < 40 ? text.n : 40), (const char *)text.data);
}

static mica_status read_shape(npy *f) {
    if (!take_word(f, "(")) return damaged(f, "'shape' is no tuple");
    while (!take_word(f, ")")) {
        int64_t size = 0;
        bool has_digits = false;
        pass_spaces(f);
        for (; f->in.n && *f->in.data >= '0' && *f->in.data <= '9'; f->in.data++, f->in.n--) {
            if (size > (INT64_MAX - 9) / 10) return damaged(f, "a size is too large");
            size = 10 * size + (*f->in.data - '0');
            has_digits = true;
        }
        if (!has_digits || f->type.rank == MICA_MAX_RANK)
            return damaged(f, "'shape' is no tuple of at most 16 sizes");
        f->type.dims[f->type.rank++] = size;
        if (!take_word(f, ",") && (!f->in.n || *f->in.data != ')'))
            return damaged(f, "'shape' does not end");
    }
    return NULL;
}

static mica_status read_header(npy *f) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0;
    if (!take_word(f, "{")) return damaged(f, "the header is no dict");
    while (!take_word(f, "}")) {
        io_range key;
        if (!take_string(f, &key) || !take_word(f, ":")) return damaged(f, "a key is missing");
        int bit = io_is(key, "descr")           ? DESCR
                  : io_is(key, "fortran_order") ? ORDER
                  : io_is(key, "shape")         ? SHAPE
                                                : 0;
        if (!bit || (seen & bit)) return damaged(f, "the header has other keys than it should");
        seen |= bit;
        if (bit == DESCR) MICA_TRY(read_descr(f));
        if (bit == SHAPE) MICA_TRY(read_shape(f));
        if (bit == ORDER) {
            f->is_fortran = take_word(f, "True");
            if (!f->is_fortran && !take_word(f, "False"))
                return damaged(f, "'fortran_order' is neither True nor False");
        }
        pass_spaces(f);
        if (!take_word(f, ",") && (!f->in.n || *f->in.data != '}'))
            return damaged(f, "the header does not end");
    }
    pass_spaces(f);
    if (f->in.n || seen != (DESCR | ORDER | SHAPE)) return damaged(f, "the header lacks a key");
    return NULL;
}

/* ---- the data ---------------------------------------------------------------------------------*/

static void swap_bytes(uint8_t *data, size_t bytes, size_t element) {
    for (size_t i = 0; i + element <= bytes; i += element)
        for (size_t k = 0; k < element / 2; k++) {
            uint8_t byte = data[i + k];
            data[i + k] = data[i + element - 1 - k];
            data[i + element - 1 - k] = byte;
        }
}

/* Elements whose first axis is next to each other, in row-major order; there is at least one, which
 * bounds the strides. */
static void reorder(const mica_type *type, const uint8_t *from, uint8_t *to) {
    size_t element = mica_dtype_bytes(type->dtype);
    int64_t n = mica_type_elements(type), index[MICA_MAX_RANK] = {0}, strides[MICA_MAX_RANK];
    int64_t place = 0, stride = 1;
    for (int32_t k = 0; k < type->rank; k++) strides[k] = stride, stride *= type->dims[k];
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + (size_t)i * element, from + (size_t)place * element, element);
        for (int32_t k = type->rank - 1; k >= 0; k--) {
            place += strides[k];
            if (++index[k] < type->dims[k]) break;
            place -= strides[k] * index[k];
            index[k] = 0;
        }
    }
}

/* The data as Mica has it: where it stands, or a copy in the arena. */
static mica_status data_of(npy *f, io_range stored, const void **out) {
    *out = stored.data;
    bool is_complex = mica_dtype_kind_of(f->type.dtype) == MICA_KIND_COMPLEX;
    size_t part = mica_dtype_bytes(f->type.dtype) / (is_complex ? 2 : 1);
    bool is_swapped = f->is_swapped && part > 1, is_transposed = f->is_fortran && f->type.rank > 1;
    if (stored.n == 0 || (!is_swapped && !is_transposed)) return NULL;
    uint8_t *copy = mica_arena_alloc(&f->arrays->arena, stored.n);
    if (!copy) return MICA_NO_MEMORY();
    if (is_transposed)
        reorder(&f->type, stored.data, copy);
    else
        memcpy(copy, stored.data, stored.n);
    if (is_swapped) swap_bytes(copy, stored.n, part);
    *out = copy;
    return NULL;
}

mica_status io_npy_read(mica_arrays *a, io_range name, io_range file) {
    npy f = {.arrays = a, .type = {.kind = MICA_TENSOR}};
    io_range magic, version, word;
    static const uint8_t expected[MAGIC] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (!io_take(&file, MAGIC, &magic) || memcmp(magic.data, expected, MAGIC) != 0)
        return damaged(&f, "it does not begin as numpy's files do");
    if (!io_take(&file, 2, &version) || version.data[0] < 1 || version.data[0] > 3)
        return damaged(&f, "its version is none of 1, 2 and 3");
    size_t width = version.data[0] == 1 ? 2 : 4, length = 0;
    if (!io_take(&file, width, &word)) return damaged(&f, "it ends within its header");
    for (size_t i = 0; i < width; i++) length |= (size_t)word.data[i] << 8 * i;
    if (!io_take(&file, length, &f.in)) return damaged(&f, "it ends within its header");
    MICA_TRY(read_header(&f));
    if (file.n != mica_type_bytes(&f.type))
        return damaged(&f, "the data is not as long as the shape says");
    const void *data;
    MICA_TRY(data_of(&f, file, &data));
    return io_arrays_add(a, name, &f.type, data);
}

/* ---- writing ----------------------------------------------------------------------------------*/

mica_status io_npy_put_header(mica_text *to, const mica_array *array) {
    const mica_type *type = &array->type;
    if (!DTYPES[type->dtype])
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[" FORMAT "] '%.200s': numpy has no %s; .safetensors has", array->name,
                          mica_dtype_name(type->dtype));
    char order = mica_dtype_bytes(type->dtype) == 1 ? '|' : '<';
    size_t start = to->length;
    static const uint8_t head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0};
    mica_text_append_bytes(to, head, sizeof head);
    mica_text_printf(to, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                     DTYPES[type->dtype]);
    for (int32_t k = 0; k < type->rank; k++)
        mica_text_printf(to, k ? " %lld," : "%lld,", (long long)type->dims[k]);
    mica_text_append(to, "), }");
    while ((to->length - start + 1) % ALIGNMENT && !mica_text_is_failed(to))
        mica_text_append_char(to, ' ');
    mica_text_append_char(to, '\n');
    if (mica_text_is_failed(to)) return MICA_NO_MEMORY();
    size_t length = to->length - start - sizeof head;
    to->data[start + 8] = (char)(length & 0xFF);
    to->data[start + 9] = (char)(length >> 8);
    return NULL;
}
