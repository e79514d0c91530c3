/* Host functions that others see: printing, assertions, functions of the front end. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tf/host_rules.h"

static void (*print_sink)(void *context, const char *stream, const char *text, size_t n);
static void *print_context;
static mica_tf_host_call host_call_function;
static void *host_call_context;

void mica_tf_set_print(void (*print)(void *context, const char *stream, const char *text, size_t n),
                       void *context) {
    print_sink = print;
    print_context = context;
}

void mica_tf_set_host_call(mica_tf_host_call function, void *context) {
    host_call_function = function;
    host_call_context = context;
}

/* ---- values as text ---------------------------------------------------------------------------*/

/* As many digits as a decimal always keeps, or, where that is another number, as many as tell all
 * numbers apart. */
static void print_real(mica_text *text, double value, bool is_single) {
    char chars[40];
    if (value != value || value - value != 0) {
        mica_text_append(text, value != value ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    snprintf(chars, sizeof chars, "%.*g", is_single ? FLT_DIG : DBL_DIG, value);
    double back = strtod(chars, NULL);
    if (is_single ? (float)back != (float)value : back != value)
        snprintf(chars, sizeof chars, "%.*g", is_single ? FLT_DIG + 3 : DBL_DIG + 2, value);
    mica_text_append(text, chars);
}

static void print_element(mica_text *text, const void *data, mica_dtype dtype, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_bool: mica_text_append(text, ((const uint8_t *)data)[i] ? "1" : "0"); return;
    case MICA_DTYPE_i8: mica_text_printf(text, "%d", ((const int8_t *)data)[i]); return;
    case MICA_DTYPE_i16: mica_text_printf(text, "%d", ((const int16_t *)data)[i]); return;
    case MICA_DTYPE_i32: mica_text_printf(text, "%d", ((const int32_t *)data)[i]); return;
    case MICA_DTYPE_i64:
        mica_text_printf(text, "%lld", (long long)((const int64_t *)data)[i]);
        return;
    case MICA_DTYPE_u8: mica_text_printf(text, "%u", ((const uint8_t *)data)[i]); return;
    case MICA_DTYPE_u16: mica_text_printf(text, "%u", ((const uint16_t *)data)[i]); return;
    case MICA_DTYPE_u32: mica_text_printf(text, "%u", ((const uint32_t *)data)[i]); return;
    case MICA_DTYPE_u64:
        mica_text_printf(text, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
        return;
    case MICA_DTYPE_f16:
    case MICA_DTYPE_bf16:
        print_real(text, mica_tf_half_value(((const uint16_t *)data)[i], dtype == MICA_DTYPE_bf16),
                   true);
        return;
    case MICA_DTYPE_f32: print_real(text, ((const float *)data)[i], true); return;
    case MICA_DTYPE_f64: print_real(text, ((const double *)data)[i], false); return;
    default: mica_text_append_char(text, '?'); return; /* complex numbers */
    }
}

typedef struct printer {
    mica_text *text;
    mica_tf_value value;
    const void *data;
    mica_tf_shape shape;
    int64_t summarize;
    bool quote;
} printer;

static void print_one(printer *p, int64_t i) {
    if (p->value.dtype != MICA_TF_string) {
        print_element(p->text, p->data, mica_tf_dtype_core(p->value.dtype), i);
        return;
    }
    size_t n;
    const char *bytes = mica_tf_strings_get(p->value, i, &n);
    if (p->quote) mica_text_append_char(p->text, '"');
    mica_text_append_bytes(p->text, bytes, n);
    if (p->quote) mica_text_append_char(p->text, '"');
}

/* Between the elements of an axis; inner lists stand on lines of their own. */
static void print_space(printer *p, int32_t axis) {
    if (axis + 1 == p->shape.rank) {
        mica_text_append_char(p->text, ' ');
        return;
    }
    for (int32_t k = axis + 1; k < p->shape.rank; k++) mica_text_append_char(p->text, '\n');
    for (int32_t k = 0; k <= axis; k++) mica_text_append_char(p->text, ' ');
}

/* Nested brackets. */
static void print_axis(printer *p, int32_t axis, int64_t first) {
    if (axis == p->shape.rank) {
        print_one(p, first);
        return;
    }
    int64_t size = p->shape.dims[axis], step = 1;
    for (int32_t i = axis + 1; i < p->shape.rank; i++) step *= p->shape.dims[i];
    bool cut = p->summarize >= 0 && size - p->summarize > p->summarize;
    mica_text_append_char(p->text, '[');
    for (int64_t i = 0; i < size; i++) {
        bool is_gap = cut && i == p->summarize;
        if (i || is_gap) print_space(p, axis);
        if (is_gap) {
            mica_text_append(p->text, "...");
            i = size - p->summarize - 1;
            continue;
        }
        print_axis(p, axis + 1, first + i * step);
    }
    mica_text_append_char(p->text, ']');
}

/* Complex numbers have no text: one list, of whatever shape, of as many marks as are to be shown.
 */
static void print_marks(printer *p, int64_t n) {
    int64_t shown = p->summarize >= 0 && p->summarize < n ? p->summarize : n;
    if (p->shape.rank) mica_text_append_char(p->text, '[');
    for (int64_t i = 0; i < shown; i++) mica_text_append(p->text, i ? " ?" : "?");
    if (shown < n) mica_text_append(p->text, "...");
    if (p->shape.rank) mica_text_append_char(p->text, ']');
}

/* As TensorFlow writes a tensor: where there are no elements, rows are left out (and of booleans
 * the brackets too). */
static mica_status append_value(mica_text *text, mica_tf_value value, int64_t summarize,
                                bool quote) {
    printer p = {.text = text, .value = value, .summarize = summarize, .quote = quote};
    mica_tf_value_shape(value, &p.shape);
    bool is_tensor = mica_tf_is_core(value.dtype);
    if (!is_tensor && value.dtype != MICA_TF_string) {
        mica_text_printf(text, "<%s>", mica_tf_dtype_name(value.dtype));
        return NULL;
    }
    int64_t n = 1;
    for (int32_t i = 0; i < p.shape.rank; i++) n *= p.shape.dims[i];
    if (n == 0) p.summarize = 0;
    if (value.dtype == MICA_TF_complex64 || value.dtype == MICA_TF_complex128) {
        print_marks(&p, n);
        return NULL;
    }
    if (n == 0 && value.dtype == MICA_TF_bool) return NULL;
    if (is_tensor) MICA_TRY(mica_tf_open(value, &p.data));
    print_axis(&p, 0, 0);
    if (is_tensor) mica_tf_close(value);
    return NULL;
}

mica_status mica_tf_value_print(mica_tf_value value, int64_t summarize, bool quote_strings,
                                char **out_text) {
    mica_text text;
    mica_text_init(&text);
    mica_status status = append_value(&text, value, summarize, quote_strings);
    if (status) {
        mica_text_deinit(&text);
        return status;
    }
    return mica_text_finish(&text, out_text);
}

/* ---- ops --------------------------------------------------------------------------------------*/

mica_status tf_host_string_format(mica_tf_host *c) {
    const mica_tf_attr *template = mica_tf_host_attr(c, "template");
    const mica_tf_attr *placeholder = mica_tf_host_attr(c, "placeholder");
    int64_t summarize = mica_tf_host_attr(c, "summarize")->as.integer;
    mica_text text;
    mica_text_init(&text);
    mica_status status = NULL;
    int32_t used = 0;
    size_t n = (size_t)placeholder->n, total = (size_t) template->n;
    for (size_t i = 0; i < total && !status;) {
        const char *at = template->as.string + i;
        if (n && i + n <= total && !memcmp(at, placeholder->as.string, n) && used < c->n_inputs) {
            status = append_value(&text, c->inputs[used++], summarize, true);
            i += n;
        } else {
            mica_text_append_char(&text, *at);
            i++;
        }
    }
    char *chars = NULL;
    if (status) {
        mica_text_deinit(&text);
        return status;
    }
    size_t length = text.length;
    MICA_TRY(mica_text_finish(&text, &chars));
    status =
        mica_tf_strings_create(MICA_NO_INTS, (const char *const *)&chars, &length, &c->outputs[0]);
    mica_free(chars);
    return status;
}

mica_status tf_host_print(mica_tf_host *c) {
    const mica_tf_attr *stream = mica_tf_host_attr(c, "output_stream");
    const mica_tf_attr *end = mica_tf_host_attr(c, "end");
    size_t n;
    const char *bytes = mica_tf_strings_get(c->inputs[0], 0, &n);
    mica_text text;
    mica_text_init(&text);
    mica_text_append_bytes(&text, bytes, n);
    mica_text_append_bytes(&text, end->as.string, (size_t)end->n);
    if (mica_text_is_failed(&text)) {
        mica_text_deinit(&text);
        return MICA_NO_MEMORY();
    }
    if (print_sink)
        print_sink(print_context, stream->as.string, mica_text_data(&text), text.length);
    mica_text_deinit(&text);
    return NULL;
}

mica_status tf_host_assert(mica_tf_host *c) {
    bool holds;
    int64_t summarize = mica_tf_host_attr(c, "summarize")->as.integer;
    MICA_TRY(mica_tf_truth(c->inputs[0], &holds));
    if (holds) return NULL;
    mica_text text;
    mica_text_init(&text);
    mica_status status = NULL;
    for (int32_t i = 1; i < c->n_inputs && !status; i++) {
        if (i > 1) mica_text_append_char(&text, ' ');
        status = append_value(&text, c->inputs[i], summarize, false);
    }
    if (!status) status = MICA_INVALID("[Assert] assertion failed: [%s]", mica_text_data(&text));
    mica_text_deinit(&text);
    return status;
}

mica_status tf_host_py_func(mica_tf_host *c) {
    int64_t token = mica_tf_host_attr(c, "token")->as.integer;
    if (!host_call_function)
        return MICA_ERROR(
            MICA_UNSUPPORTED,
            "[PyFunc] function %lld is not registered: the graph outlived the process "
            "that made it, or runs where no Python is",
            (long long)token);
    MICA_TRY(host_call_function(host_call_context, token, c->inputs, c->n_inputs, c->outputs,
                                c->n_outputs));
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].dtype != c->output_dtypes[i])
            return MICA_INVALID(
                "[PyFunc] %d-th value returned by the function is %s, but expects %s", i,
                mica_tf_dtype_name(c->outputs[i].dtype), mica_tf_dtype_name(c->output_dtypes[i]));
    return NULL;
}
