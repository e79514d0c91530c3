/* reduce_window and select_and_scatter.
 *
 * Results are computed in strips along the last axis. A strip passes through the elements of its
 * windows in row-major order: what lies at element w of the windows of a strip is one line of x,
 * with a step. Pieces of work are strips; no result depends on how they are cut.
 *
 * select_and_scatter of windows that share no element writes each window's elements at once.
 * Otherwise it first finds the place that every window selects, and then adds: the array is cut
 * along its first axis, and every part goes, in order, through the windows that may reach it. */
#include "device/cpu/window.h"

#include <string.h>

#include "device/cpu/write_c.h"
#include "ir/window_layout.h"

#define GRAIN_WORK 16384
#define MOST_PLACED 64 /* elements of a window that are placed at once */

typedef struct window_kernel {
    cpu_kernel base;
    const mica_cpu_windower *windower; /* of the kind, or of what is selected */
    const mica_cpu_windower *adder;    /* select_and_scatter */
    mica_windows windows;              /* axes that need no windows are merged; at least one */
    int64_t strides[MICA_MAX_RANK];    /* of x, by axis */
    int64_t rows, strips;              /* of results */
    int64_t elements;                  /* of x */
    int64_t results;
    int64_t grain;
    int32_t bytes;
} window_kernel;

typedef struct window_run {
    const window_kernel *kernel;
    const char *x, *source;
    char *y;
    int64_t *places; /* select_and_scatter: one per window, -1 for none */
    char *sums;      /* select_and_scatter: as x, of the compute type; may be y */
} window_run;

const mica_cpu_windower *mica_cpu_windower_of(const char *kind, mica_dtype dtype) {
    static const char *const kinds[] = {"sum", "prod", "max", "min"};
    for (int i = 0; i < 4; i++) {
        const mica_cpu_windower *windower = &mica_cpu_isa_current()->window[dtype][i];
        if (!strcmp(kind, kinds[i])) return windower->scan ? windower : NULL;
    }
    return NULL;
}

/* ---- lines ------------------------------------------------------------------------------------*/

/* Where element w of windows lies, along an axis: window first + i step has x[at + i x_step] there,
 * for i < n; the other windows have nothing there. */
typedef struct line {
    int64_t first, step, at, x_step, n;
} line;

static int64_t divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Without base dilation every window has an element there, up to the edges; and lines are often so
 * short that divisions would cost more than the line. */
static line find_dense_line(const mica_window_axis *a, int64_t w, int64_t begin, int64_t end) {
    line l = {.step = 1, .x_step = a->stride};
    int64_t shift = w * a->window_dilation - a->low, o = begin;
    if (o * a->stride + shift < 0) o = (-shift + a->stride - 1) / a->stride;
    l.at = o * a->stride + shift;
    if (o >= end || l.at >= a->size) return l;
    l.first = o;
    l.n = end - o;
    if (l.at + (l.n - 1) * a->stride >= a->size) l.n = (a->size - 1 - l.at) / a->stride + 1;
    return l;
}

/* Of the windows begin .. end - 1. */
static line find_line(const mica_window_axis *a, int64_t w, int64_t begin, int64_t end) {
    if (a->base_dilation == 1) return find_dense_line(a, w, begin, end);
    line l = {.step = a->base_dilation / divisor(a->base_dilation, a->stride), .x_step = 1};
    int64_t shift = w * a->window_dilation - a->low, o = begin;
    if (shift < 0) o = cpu_max(o, (-shift + a->stride - 1) / a->stride);
    /* Windows that reach an element there are l.step apart, if there are any. */
    int64_t limit = cpu_min(end, o + l.step);
    while (o < limit && (o * a->stride + shift) % a->base_dilation) o++;
    if (o >= limit) return l;
    l.first = o;
    l.at = (o * a->stride + shift) / a->base_dilation;
    if (l.at >= a->size) return l;
    l.n = (end - 1 - o) / l.step + 1;
    if (l.n > 1) {
        l.x_step = l.step * a->stride / a->base_dilation;
        l.n = cpu_min(l.n, (a->size - 1 - l.at) / l.x_step + 1);
    }
    return l;
}

/* The element of x at element w of window i; -1 for none. */
static int64_t find_element(const mica_window_axis *a, int64_t i, int64_t w) {
    int64_t position = i * a->stride + w * a->window_dilation - a->low;
    if (a->base_dilation != 1) {
        if (position < 0 || position % a->base_dilation) return -1;
        position /= a->base_dilation;
    }
    return position >= 0 && position < a->size ? position : -1;
}

/* What to do with a line; x_at is the position in x of its first element. */
typedef void (*line_visitor)(const window_kernel *k, void *acc, int64_t *places, const line *l,
                             int64_t begin, int64_t x_at, const char *x);

static void reduce_line(const window_kernel *k, void *acc, int64_t *places, const line *l,
                        int64_t begin, int64_t x_at, const char *x) {
    (void)places;
    k->windower->accumulate((char *)acc + (l->first - begin) * k->windower->bytes, l->step,
                            x + x_at * k->bytes, l->x_step, l->n);
}

static void choose_line(const window_kernel *k, void *acc, int64_t *places, const line *l,
                        int64_t begin, int64_t x_at, const char *x) {
    k->windower->choose((char *)acc + (l->first - begin) * k->windower->bytes,
                        places + (l->first - begin), l->step, x, x_at, l->x_step, l->n);
}

/* Visits the elements of the windows begin .. end - 1 of a row, in order. */
static void visit_strip(const window_kernel *k, int64_t row, int64_t begin, int64_t end,
                        line_visitor visit, void *acc, int64_t *places, const char *x) {
    int32_t last = k->windows.rank - 1;
    const mica_window_axis *axes = k->windows.axes;
    int64_t index[MICA_MAX_RANK], w[MICA_MAX_RANK] = {0};
    for (int32_t i = last - 1; i >= 0; i--) {
        index[i] = row % axes[i].results;
        row /= axes[i].results;
    }
    for (;;) {
        int64_t at = 0;
        bool inside = true;
        for (int32_t i = 0; i < last && inside; i++) {
            int64_t element = find_element(&axes[i], index[i], w[i]);
            inside = element >= 0;
            at += element * k->strides[i];
        }
        for (int64_t v = 0; inside && v < axes[last].window; v++) {
            line l = find_line(&axes[last], v, begin, end);
            if (l.n > 0) visit(k, acc, places, &l, begin, at + l.at, x);
        }
        int32_t i = last - 1;
        while (i >= 0 && ++w[i] == axes[i].window) w[i--] = 0;
        if (i < 0) return;
    }
}

/* ---- reduce_window ----------------------------------------------------------------------------*/

static void reduce_strips(void *context, int64_t first, int64_t limit) {
    const window_run *run = context;
    const window_kernel *k = run->kernel;
    int64_t width = k->windows.axes[k->windows.rank - 1].results;
    _Alignas(64) char acc[CPU_WINDOW_STRIP * 16];
    for (int64_t i = first; i < limit; i++) {
        int64_t row = i / k->strips, begin = i % k->strips * CPU_WINDOW_STRIP;
        int64_t end = cpu_min(width, begin + CPU_WINDOW_STRIP);
        k->windower->identity(acc, end - begin);
        visit_strip(k, row, begin, end, reduce_line, acc, NULL, run->x);
        k->windower->store(acc, run->y + (row * width + begin) * k->bytes, end - begin);
    }
}

static void run_reduce_window(const cpu_kernel *kernel, const void *const *operands,
                              void *const *results, void *scratch) {
    (void)scratch;
    const window_kernel *k = (const window_kernel *)kernel;
    window_run run = {.kernel = k, .x = operands[0], .y = results[0]};
    mica_parallel_walk(k->rows * k->strips, k->grain, reduce_strips, &run);
}

/* ---- select_and_scatter -----------------------------------------------------------------------*/

static void choose_strips(void *context, int64_t first, int64_t limit) {
    const window_run *run = context;
    const window_kernel *k = run->kernel;
    int64_t width = k->windows.axes[k->windows.rank - 1].results;
    _Alignas(64) char best[CPU_WINDOW_STRIP * 8];
    for (int64_t i = first; i < limit; i++) {
        int64_t row = i / k->strips, begin = i % k->strips * CPU_WINDOW_STRIP;
        int64_t end = cpu_min(width, begin + CPU_WINDOW_STRIP);
        int64_t *places = run->places + row * width + begin;
        k->windower->identity(best, end - begin);
        for (int64_t j = 0; j < end - begin; j++) places[j] = -1;
        visit_strip(k, row, begin, end, choose_line, best, places, run->x);
    }
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* Parts begin .. end - 1 of x along its first axis. */
static void add_part(void *context, int64_t begin, int64_t end) {
    const window_run *run = context;
    const window_kernel *k = run->kernel;
    const mica_window_axis *a = &k->windows.axes[0];
    int64_t low = begin * k->strides[0], high = end * k->strides[0];
    int64_t per_window = k->results / a->results;
    int64_t first = cpu_max(0, -floor_div(a->window - 1 - a->low - begin, a->stride));
    int64_t last = cpu_min(a->results - 1, floor_div(end - 1 + a->low, a->stride));
    k->adder->identity(run->sums + low * k->adder->bytes, high - low);
    if (first <= last)
        k->adder->scatter(run->sums, run->places + first * per_window,
                          run->source + first * per_window * k->bytes,
                          (last - first + 1) * per_window, low, high);
    if (run->sums != run->y)
        k->adder->store(run->sums + low * k->adder->bytes, run->y + low * k->bytes, high - low);
}

/* Where the elements of the window of results at `row` lie, by their order in the window. */
static int64_t find_offsets(const window_kernel *k, int64_t row, int64_t *offsets) {
    int32_t last = k->windows.rank - 1;
    int64_t n = 1, at[MICA_MAX_RANK];
    for (int32_t i = last - 1; i >= 0; i--) {
        at[i] = row % k->windows.axes[i].results * k->windows.axes[i].stride * k->strides[i];
        row /= k->windows.axes[i].results;
    }
    offsets[0] = 0;
    for (int32_t i = 0; i < last; i++) {
        int64_t window = k->windows.axes[i].window;
        for (int64_t o = n - 1; o >= 0; o--)
            for (int64_t w = window - 1; w >= 0; w--)
                offsets[o * window + w] = offsets[o] + at[i] + w * k->strides[i];
        n *= window;
    }
    return n;
}

static void place_rows(void *context, int64_t first, int64_t limit) {
    const window_run *run = context;
    const window_kernel *k = run->kernel;
    int64_t width = k->windows.axes[k->windows.rank - 1].results, offsets[MOST_PLACED];
    for (int64_t row = first; row < limit; row++) {
        int64_t count = find_offsets(k, row, offsets);
        for (int64_t begin = 0; begin < width; begin += CPU_WINDOW_STRIP) {
            int64_t at = begin * k->bytes, source = (row * width + begin) * k->bytes;
            k->windower->place(run->x + at, run->source + source, run->y + at, offsets, count,
                               cpu_min(CPU_WINDOW_STRIP, width - begin));
        }
    }
}

/* Windows of whole lines side by side, without gaps. */
static bool may_place(const window_kernel *k) {
    int32_t last = k->windows.rank - 1;
    int64_t count = 1;
    if (!k->windower->place || !mica_window_is_trivial(&k->windows.axes[last])) return false;
    for (int32_t i = 0; i < last; i++) {
        const mica_window_axis *a = &k->windows.axes[i];
        if (a->low != 0 || a->stride != a->window || a->results * a->stride != a->size ||
            a->base_dilation != 1 || a->window_dilation != 1 || a->window > MOST_PLACED / count)
            return false;
        count *= a->window;
    }
    return true;
}

static bool sums_in_place(const window_kernel *k) {
    return k->adder->bytes == k->bytes;
}

static void run_select_and_scatter(const cpu_kernel *kernel, const void *const *operands,
                                   void *const *results, void *scratch) {
    const window_kernel *k = (const window_kernel *)kernel;
    window_run run = {.kernel = k,
                      .x = operands[0],
                      .source = operands[1],
                      .y = results[0],
                      .places = scratch,
                      .sums = results[0]};
    if (k->elements == 0) return;
    if (k->results == 0) {
        memset(run.y, 0, (size_t)(k->elements * k->bytes));
        return;
    }
    if (may_place(k)) {
        int64_t width = k->windows.axes[k->windows.rank - 1].results;
        mica_parallel_for(k->rows, cpu_max(1, GRAIN_WORK / width), place_rows, &run);
        return;
    }
    if (!sums_in_place(k)) run.sums = (char *)scratch + cpu_align((size_t)k->results * 8);
    mica_parallel_walk(k->rows * k->strips, k->grain, choose_strips, &run);
    mica_parallel_for(k->windows.axes[0].size, cpu_max(1, GRAIN_WORK / k->strides[0]), add_part,
                      &run);
}

/* ---- both -------------------------------------------------------------------------------------*/

static void plan_axes(window_kernel *k, const mica_windows *windows) {
    mica_windows *merged = &k->windows;
    for (int32_t i = 0; i < windows->rank; i++) {
        const mica_window_axis *a = &windows->axes[i];
        bool trivial = mica_window_is_trivial(a);
        mica_window_axis *before = merged->rank ? &merged->axes[merged->rank - 1] : NULL;
        if (trivial && a->size == 1) continue;
        if (trivial && before && mica_window_is_trivial(before))
            before->results = before->size *= a->size;
        else
            merged->axes[merged->rank++] = *a;
    }
    if (merged->rank == 0)
        merged->axes[merged->rank++] = (mica_window_axis){.size = 1,
                                                          .window = 1,
                                                          .stride = 1,
                                                          .base_dilation = 1,
                                                          .window_dilation = 1,
                                                          .results = 1};
}

static mica_status create(const mica_node *node, const mica_cpu_windower *windower,
                          void (*run)(const cpu_kernel *, const void *const *, void *const *,
                                      void *),
                          window_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_windows windows = mica_windows_of(node);
    if (!windower) return mica_cpu_unsupported(node, x->dtype);
    window_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run, &k));
    k->windower = windower;
    k->bytes = (int32_t)mica_dtype_bytes(x->dtype);
    plan_axes(k, &windows);
    int32_t last = k->windows.rank - 1;
    int64_t width = k->windows.axes[last].results, per_result = 1;
    k->elements = k->rows = 1;
    for (int32_t i = last; i >= 0; i--) {
        const mica_window_axis *a = &k->windows.axes[i];
        k->strides[i] = k->elements;
        k->elements *= a->size;
        if (i < last) k->rows *= a->results;
        per_result = cpu_min(GRAIN_WORK, per_result * cpu_min(GRAIN_WORK, a->window));
    }
    k->results = k->rows * width;
    k->strips = cpu_ceil_div(width, CPU_WINDOW_STRIP);
    k->grain = cpu_max(1, GRAIN_WORK / cpu_max(1, per_result * cpu_min(CPU_WINDOW_STRIP, width)));
    *out = k;
    return NULL;
}

static void write_windows(const window_kernel *k, mica_kernel_text *out) {
    mica_text_printf(out->constants,
                     "static const mica_host_windows windows%d = {.rank = %d, .rows = %lld, "
                     ".elements = %lld, .axes = {\n",
                     out->number, k->windows.rank, (long long)k->rows, (long long)k->elements);
    for (int32_t i = 0; i < k->windows.rank; i++) {
        const mica_window_axis *a = &k->windows.axes[i];
        mica_text_printf(out->constants,
                         "    {.size = %lld, .window = %lld, .stride = %lld, .low = %lld,\n"
                         "     .base_dilation = %lld, .window_dilation = %lld, .results = %lld,\n"
                         "     .x_stride = %lld},\n",
                         (long long)a->size, (long long)a->window, (long long)a->stride,
                         (long long)a->low, (long long)a->base_dilation,
                         (long long)a->window_dilation, (long long)a->results,
                         (long long)k->strides[i]);
    }
    mica_text_append(out->constants, "}};\n");
}

static mica_status write_reduce_window(const cpu_kernel *kernel, const mica_node *node,
                                       mica_kernel_text *out) {
    const window_kernel *k = (const window_kernel *)kernel;
    const char *type, *kind = mica_node_string(node, "kind");
    MICA_TRY(mica_cpu_write_float(node, node->results[0].dtype, &type));
    write_windows(k, out);
    const char *op = !strcmp(kind, "sum") ? "add" : !strcmp(kind, "prod") ? "mul" : kind;
    mica_text_printf(out->body,
                     "    mica_window_%s_%s(&windows%d, (const %s *)x[0], (%s *)y[0]);\n", op,
                     mica_dtype_name(node->results[0].dtype), out->number, type, type);
    return NULL;
}

static mica_status write_select_and_scatter(const cpu_kernel *kernel, const mica_node *node,
                                            mica_kernel_text *out) {
    const window_kernel *k = (const window_kernel *)kernel;
    const char *type;
    MICA_TRY(mica_cpu_write_float(node, node->results[0].dtype, &type));
    write_windows(k, out);
    mica_text_printf(out->body,
                     "    mica_select_%s_%s(&windows%d, (const %s *)x[0], (const %s *)x[1], (%s "
                     "*)y[0]);\n",
                     mica_node_string(node, "select"), mica_dtype_name(node->results[0].dtype),
                     out->number, type, type, type);
    return NULL;
}

mica_status mica_cpu_create_reduce_window(const mica_node *node, cpu_kernel **out) {
    window_kernel *k;
    MICA_TRY(create(
        node,
        mica_cpu_windower_of(mica_node_string(node, "kind"), mica_operand_type(node, 0)->dtype),
        run_reduce_window, &k));
    k->base.write = write_reduce_window;
    *out = &k->base;
    return NULL;
}

mica_status mica_cpu_create_select_and_scatter(const mica_node *node, cpu_kernel **out) {
    mica_dtype dtype = mica_operand_type(node, 0)->dtype;
    window_kernel *k;
    MICA_TRY(create(node, mica_cpu_windower_of(mica_node_string(node, "select"), dtype),
                    run_select_and_scatter, &k));
    k->base.write = write_select_and_scatter;
    k->adder = mica_cpu_windower_of("sum", dtype);
    k->base.head.scratch_bytes = cpu_align((size_t)k->results * 8);
    if (!sums_in_place(k)) k->base.head.scratch_bytes += (size_t)(k->elements * k->adder->bytes);
    *out = &k->base;
    return NULL;
}
