/* One allocation fails, each in its turn: what is asked for then comes back as "out of memory" or,
 * where it can be done without, as usual. Nothing crashes, and nothing stays allocated. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Attempts of one stage of a case: every allocation, or so many spread evenly. */
enum { MOST_ATTEMPTS = 300, MOST_QUICK_ATTEMPTS = 12 };

typedef struct subject {
    const op_case *c;
    const mica_graph *f;
    const arrays *inputs;
} subject;

static mica_status finish_graph(mica_graph *g) {
    mica_memory_fail_nth(0, false);
    mica_status status = mica_graph_check(g);
    mica_graph_release(g);
    return status;
}

static mica_status differentiate_forward(const subject *s, int64_t n) {
    harness_allocation_to_fail = n;
    return finish_graph(jvp_graph(s->f));
}

static mica_status differentiate_reverse(const subject *s, int64_t n) {
    harness_allocation_to_fail = n;
    return finish_graph(vjp_graph(s->f));
}

static mica_status map_over_axis(const subject *s, int64_t n) {
    int32_t axes[MOST_ARRAYS] = {0};
    mica_graph *out = NULL;
    mica_memory_fail_nth(n, false);
    mica_status status = mica_vmap(s->f, axes, axes, 2, NULL, &out);
    mica_memory_fail_nth(0, false);
    mica_graph_release(out);
    return status;
}

static mica_status compile_and_run(const subject *s, int64_t n) {
    arrays out = {0};
    mica_memory_fail_nth(n, false);
    mica_status status = run_on_device("cpu", NULL, s->f, s->inputs, &out);
    mica_memory_fail_nth(0, false);
    arrays_free(&out);
    return status;
}

typedef struct stage {
    const char *name;
    mica_status (*attempt)(const subject *s, int64_t n);
    bool pure; /* leaves no block behind; a device may keep memory for later */
} stage;
static const stage stages[] = {{"jvp", differentiate_forward, true},
                               {"vjp", differentiate_reverse, true},
                               {"vmap", map_over_axis, true},
                               {"compiling and running", compile_and_run, false}};

/* A status may have lost its text, but not its code. */
static bool attempt_fails(const subject *s, const stage *at, int64_t n) {
    int64_t blocks = mica_memory_live_blocks();
    mica_status status = at->attempt(s, n);
    mica_code code = mica_status_code(status);
    harness_count();
    if (code != MICA_OK && code != MICA_OUT_OF_MEMORY)
        harness_fail("%s of %s, allocation %lld fails: %s", at->name, case_title(s->c),
                     (long long)n, mica_status_message(status));
    mica_status_release(status);
    if (at->pure && mica_memory_live_blocks() > blocks)
        harness_fail("%s of %s, allocation %lld fails: %lld blocks are lost", at->name,
                     case_title(s->c), (long long)n,
                     (long long)(mica_memory_live_blocks() - blocks));
    return code != MICA_OK;
}

/* The first attempt fails nothing: it counts. What is refused anyway has no failures to check. */
static void check_stage(const subject *s, const stage *at) {
    int64_t failed = 0, most = harness_quick ? MOST_QUICK_ATTEMPTS : MOST_ATTEMPTS;
    int64_t before = mica_memory_total_allocations();
    mica_status status = at->attempt(s, 0);
    int64_t n = mica_memory_total_allocations() - before;
    bool usual = !status;
    mica_status_release(status);
    int64_t step = n > most ? (n + most - 1) / most : 1;
    for (int64_t k = 1 + n % step; usual && k <= n; k += step) failed += attempt_fails(s, at, k);
    if (usual && n > 0 && !failed)
        harness_fail("%s of %s: no failed allocation makes it fail", at->name, case_title(s->c));
}

void check_failures(const op_case *c) {
    mica_type types[MOST_OPERANDS];
    random_state r = case_random(c, "failures");
    if (c->flags & LARGE) return;
    case_types(c, first_dtype(c), types);
    mica_graph *f = case_graph(c, first_dtype(c), types);
    if (!f) return;
    for (int32_t i = 0; i < c->n_operands; i++) types[i] = *mica_value_type(f->parameters[i]);
    arrays inputs = draw_operands(c, types, c->n_operands, &r);
    harness_wait();
    mica_memory_count_arenas(true);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        check_stage(&(subject){c, f, &inputs}, &stages[i]);
    harness_allocation_to_fail = 0;
    mica_memory_count_arenas(false);
    arrays_free(&inputs);
    mica_graph_release(f);
}
