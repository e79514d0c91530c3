#include "tf/strings.h"

#include <string.h>

void mica_tf_writer_init(mica_tf_writer *w) {
    *w = (mica_tf_writer){.n = 0};
    mica_text_init(&w->bytes);
}

void mica_tf_writer_deinit(mica_tf_writer *w) {
    mica_text_deinit(&w->bytes);
    mica_free(w->ends);
    w->ends = NULL;
}

bool mica_tf_writer_end(mica_tf_writer *w) {
    if (w->n == w->capacity) {
        int64_t capacity = w->capacity ? 2 * w->capacity : 16;
        size_t *ends = mica_realloc(w->ends, (size_t)capacity * sizeof *ends);
        if (!ends) {
            w->is_failed = true;
            return false;
        }
        w->ends = ends;
        w->capacity = capacity;
    }
    w->ends[w->n++] = w->bytes.length;
    if (mica_tf_is_interrupted(w->n)) w->is_interrupted = true;
    return !w->is_interrupted && !mica_text_is_failed(&w->bytes);
}

static mica_status create(mica_tf_writer *w, mica_ints dims, mica_tf_value *out) {
    if (w->is_interrupted) return mica_interrupt_status();
    if (w->is_failed || mica_text_is_failed(&w->bytes)) return MICA_NO_MEMORY();
    int64_t n = 1;
    for (int32_t i = 0; i < dims.n; i++) n *= dims.data[i];
    if (n != w->n)
        return MICA_INVALID("[string] %lld strings are given for %lld elements", (long long)w->n,
                            (long long)n);
    const char **data = mica_alloc(((size_t)n + 1) * (sizeof *data + sizeof(size_t)));
    if (!data) return MICA_NO_MEMORY();
    size_t *lengths = (size_t *)(data + n + 1), at = 0;
    for (int64_t i = 0; i < n; at = w->ends[i++]) {
        data[i] = mica_text_data(&w->bytes) + at;
        lengths[i] = w->ends[i] - at;
    }
    mica_status status = mica_tf_strings_create(dims, data, lengths, out);
    mica_free(data);
    return status;
}

mica_status mica_tf_writer_finish(mica_tf_writer *w, mica_ints dims, mica_tf_value *out) {
    mica_status status = create(w, dims, out);
    mica_tf_writer_deinit(w);
    return status;
}

size_t mica_tf_utf8_next(const char *s, size_t n, int32_t *out_code) {
    const uint8_t *bytes = (const uint8_t *)s;
    size_t length = bytes[0] < 0x80           ? 1
                    : (bytes[0] >> 5) == 0x6  ? 2
                    : (bytes[0] >> 4) == 0xe  ? 3
                    : (bytes[0] >> 3) == 0x1e ? 4
                                              : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = length == 1 ? bytes[0] : length ? bytes[0] & (0x7fu >> length) : 0;
    bool is_good = length > 0 && length <= n;
    for (size_t i = 1; is_good && i < length; i++) {
        is_good = (bytes[i] & 0xc0) == 0x80;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if (is_good && (code < least[length] || code > 0x10ffff || (code >> 11) == 0x1b))
        is_good = false;
    if (out_code) *out_code = is_good ? (int32_t)code : -1;
    return is_good ? length : 1;
}

void mica_tf_utf8_append(mica_text *text, uint32_t code) {
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
    mica_text_append_char(text, (char)(first[more] | code >> 6 * more));
    while (more-- > 0) mica_text_append_char(text, (char)(0x80 | (code >> 6 * more & 0x3f)));
}

size_t mica_tf_utf8_count(const char *s, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((uint8_t)s[i] & 0xc0) != 0x80;
    return count;
}

mica_status mica_tf_give_numbers(mica_tf_host *c, int32_t i, mica_dtype dtype, mica_ints dims,
                                 const void *data) {
    mica_type type = mica_type_make(dtype, dims);
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tensor_from_host(c->device, &type, data, &tensor));
    c->outputs[i] = mica_tf_value_of(tensor);
    return NULL;
}
