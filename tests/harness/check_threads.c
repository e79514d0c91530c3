/* The same bits with 1, 2 and 5 threads: elementwise ops on arrays large enough to be split, all
 * others as their cases give them. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

static bool same_bits(const arrays *a, const arrays *b) {
    if (a->n != b->n) return false;
    for (int32_t i = 0; i < a->n; i++)
        if (!mica_type_equal(&a->items[i].type, &b->items[i].type) ||
            memcmp(a->items[i].data, b->items[i].data, mica_type_bytes(&a->items[i].type)) != 0)
            return false;
    return true;
}

static void check_dtype(const op_case *c, mica_dtype dtype, const mica_type *types) {
    static const int32_t threads[3] = {1, 2, 5};
    char title[200];
    arrays results[3] = {{.n = 0}};
    random_state r = case_random(c, "threads");
    snprintf(title, sizeof title, "%s %s", case_title(c), mica_dtype_name(dtype));
    mica_graph *g = case_graph(c, dtype, types);
    arrays inputs = draw_operands(c, types, c->n_operands, &r);
    for (int i = 0; i < 3; i++) {
        harness_ok(mica_set_threads(threads[i]), title);
        harness_ok(run_on_device("cpu", NULL, g, &inputs, &results[i]), title);
    }
    for (int i = 1; i < 3; i++) {
        harness_count();
        if (!same_bits(&results[0], &results[i]))
            harness_fail("%s: %d threads give other bits than 1", title, threads[i]);
    }
    for (int i = 0; i < 3; i++) arrays_free(&results[i]);
    arrays_free(&inputs);
    mica_graph_release(g);
}

void check_threads(const op_case *c) {
    mica_op_class class = mica_op_class_of(c->op);
    bool elementwise = class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE;
    if (c->build) return; /* control flow computes by the ops of its regions */
    for (int d = 0; d < MICA_DTYPE_COUNT; d++) {
        mica_type types[MOST_OPERANDS];
        if (!case_takes(c, (mica_dtype)d)) continue;
        if (harness_quick && d != MICA_DTYPE_f32 && d != MICA_DTYPE_i32) continue;
        case_types(c, (mica_dtype)d, types);
        for (int32_t i = 0; elementwise && i < c->n_operands; i++)
            types[i] = mica_type_make(types[i].dtype, MICA_INTS(140003));
        check_dtype(c, (mica_dtype)d, types);
    }
    harness_ok(mica_set_threads(0), "threads");
}
