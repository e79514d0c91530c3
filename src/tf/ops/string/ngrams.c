/* StringNGrams: runs of strings within rows, joined. A row with its pads is one sequence
 *   left^p, data[begin], ..., data[end - 1], right^p
 * and its n-grams of a width are the runs of so many of its strings, one after the other. */
#include "tf/strings.h"

typedef struct ngrams {
    mica_tf_value data;
    const int64_t *widths;
    int32_t n_widths;
    int64_t pad_width;                            /* at most; -1: as much as the width leaves */
    const mica_tf_attr *separator, *left, *right; /* strings of n bytes */
    bool keeps_short;
    int64_t parts; /* strings appended so far, with repetitions */
    mica_tf_writer words;
} ngrams;

enum { MAX_PARTS = INT32_MAX };

static int64_t pads_of(const ngrams *g, int64_t width) {
    return g->pad_width < 0 || g->pad_width > width - 1 ? width - 1 : g->pad_width;
}

static void append(ngrams *g, const mica_tf_attr *text) {
    mica_text_append_bytes(&g->words.bytes, text->as.string, (size_t)text->n);
}

/* Strings k to k + width - 1 of the row [begin, end) with `pads` pads on each side. */
static void append_run(ngrams *g, int64_t begin, int64_t end, int64_t pads, int64_t k,
                       int64_t width) {
    for (int64_t i = k; i < k + width; i++) {
        if (i > k) append(g, g->separator);
        if (i < pads) {
            append(g, g->left);
        } else if (i - pads < end - begin) {
            size_t n;
            const char *bytes = mica_tf_strings_get(g->data, begin + i - pads, &n);
            mica_text_append_bytes(&g->words.bytes, bytes, n);
        } else {
            append(g, g->right);
        }
    }
    (void)mica_tf_writer_end(&g->words);
}

static mica_status count_parts(ngrams *g, int64_t count, int64_t width) {
    int64_t parts;
    if (__builtin_mul_overflow(count, width, &parts) || parts > MAX_PARTS - g->parts)
        return MICA_INVALID("[StringNGrams] n-grams of width %lld would have more than %lld parts "
                            "together: use smaller widths or fewer rows",
                            (long long)width, (long long)MAX_PARTS);
    g->parts += parts;
    return NULL;
}

static mica_status append_row(ngrams *g, int64_t begin, int64_t end) {
    int64_t length = end - begin, before = g->words.n;
    for (int32_t w = 0; w < g->n_widths; w++) {
        int64_t width = g->widths[w], pads = pads_of(g, width);
        int64_t count = length + 2 * pads - width + 1;
        if (count <= 0) continue;
        MICA_TRY(count_parts(g, count, width));
        for (int64_t k = 0; k < count && !g->words.is_interrupted; k++)
            append_run(g, begin, end, pads, k, width);
    }
    if (g->keeps_short && length > 0 && g->words.n == before) {
        /* Pads without a limit would have made n-grams. */
        int64_t width = length + 2 * g->pad_width;
        MICA_TRY(count_parts(g, 1, width));
        append_run(g, begin, end, g->pad_width, 0, width);
    }
    return NULL;
}

static mica_status check_splits(const int64_t *splits, int64_t n, int64_t n_data) {
    if (splits[0])
        return MICA_INVALID("[StringNGrams] First split value must be 0, got %lld",
                            (long long)splits[0]);
    for (int64_t i = 1; i < n; i++)
        if (splits[i] < splits[i - 1] || splits[i] > n_data)
            return MICA_INVALID("[StringNGrams] Invalid split value %lld, must be in [%lld, %lld]",
                                (long long)splits[i], (long long)splits[i - 1], (long long)n_data);
    if (splits[n - 1] != n_data)
        return MICA_INVALID("[StringNGrams] Last split value must be data size. Expected %lld, got "
                            "%lld",
                            (long long)n_data, (long long)splits[n - 1]);
    return NULL;
}

/* `places` are the n splits, in place of which come those of the n-grams. */
static mica_status make(ngrams *g, int64_t *places, int64_t n) {
    MICA_TRY(check_splits(places, n, mica_tf_strings_count(g->data)));
    int64_t begin = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t end = places[i];
        MICA_TRY(append_row(g, begin, end));
        places[i] = g->words.n;
        begin = end;
    }
    return NULL;
}

static mica_status give_splits(mica_tf_host *c, const int64_t *places, int64_t n) {
    bool is_wide = c->output_dtypes[1] == MICA_TF_int64;
    const void *splits = places;
    int32_t *narrow = NULL;
    if (!is_wide) {
        splits = narrow = mica_alloc((size_t)n * sizeof *narrow + 1);
        if (!narrow) return MICA_NO_MEMORY();
        for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)places[i]; /* at most MAX_PARTS */
    }
    mica_dtype dtype = is_wide ? MICA_DTYPE_i64 : MICA_DTYPE_i32;
    mica_status status = mica_tf_give_numbers(c, 1, dtype, MICA_INTS(n), splits);
    mica_free(narrow);
    return status;
}

static mica_status read_splits(mica_tf_value value, int64_t n, int64_t *out) {
    const void *data;
    MICA_TRY(mica_tf_open(value, &data));
    for (int64_t i = 0; i < n; i++)
        out[i] =
            value.dtype == MICA_TF_int64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
    mica_tf_close(value);
    return NULL;
}

mica_status tf_host_string_ngrams(mica_tf_host *c) {
    const mica_tf_attr *widths = mica_tf_host_attr(c, "ngram_widths");
    ngrams g = {.data = c->inputs[0],
                .widths = widths->as.ints,
                .n_widths = widths->n,
                .pad_width = mica_tf_host_attr(c, "pad_width")->as.integer,
                .separator = mica_tf_host_attr(c, "separator"),
                .left = mica_tf_host_attr(c, "left_pad"),
                .right = mica_tf_host_attr(c, "right_pad"),
                .keeps_short = mica_tf_host_attr(c, "preserve_short_sequences")->as.integer != 0};
    for (int32_t w = 0; w < g.n_widths; w++)
        if (g.widths[w] < 1 || g.widths[w] > MAX_PARTS)
            return MICA_INVALID("[StringNGrams] ngram_widths must contain numbers from 1 to %lld, "
                                "not %lld",
                                (long long)MAX_PARTS, (long long)g.widths[w]);
    if (g.pad_width > MAX_PARTS)
        return MICA_INVALID("[StringNGrams] pad_width must be at most %lld, not %lld",
                            (long long)MAX_PARTS, (long long)g.pad_width);
    if (g.keeps_short && g.pad_width < 0) g.keeps_short = false;
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[1], &shape);
    int64_t n = mica_tf_shape_elements(&shape);
    if (n < 1) /* no rows at all: nothing says where they would end */
        return MICA_INVALID("[StringNGrams] data_splits is empty: it has one number more than "
                            "there are rows");
    int64_t *places = mica_alloc((size_t)n * sizeof *places);
    if (!places) return MICA_NO_MEMORY();
    mica_tf_writer_init(&g.words);
    mica_status status = read_splits(c->inputs[1], n, places);
    if (!status) status = make(&g, places, n);
    if (!status) status = give_splits(c, places, n);
    if (status)
        mica_tf_writer_deinit(&g.words);
    else
        status = mica_tf_writer_finish(&g.words, MICA_INTS(g.words.n), &c->outputs[0]);
    mica_free(places);
    return status;
}
