/* The primitives that a function became, with names for what goes in and out. */
#include "base/strings.h"
#include "tf/steps.h"

static bool keeps_graphs; /* atomic */

void mica_tf_keep_graphs(bool keeps) {
    __atomic_store_n(&keeps_graphs, keeps, __ATOMIC_RELAXED);
}

/* The node that makes the result in a slot. */
static const mica_tf_node *node_at(const mica_tf_graph *g, int32_t slot) {
    int32_t low = 0, high = g->n_nodes - 1;
    while (low < high) {
        int32_t middle = (low + high + 1) / 2;
        if (g->nodes[middle].first <= slot)
            low = middle;
        else
            high = middle - 1;
    }
    return &g->nodes[low];
}

static void note(mica_text *text, const char *what, int32_t i, const char *kind, const char *name) {
    mica_text_printf(text, " *     %s[%d]  %s%s\n", what, i, kind, name);
}

/* Which results of the function a slot is. */
static void note_output(mica_text *text, const mica_tf_graph *g, int32_t i, int32_t slot) {
    bool is_result = false;
    for (int32_t k = 0; k < g->n_outputs; k++) {
        if (mica_tf_slot(g, g->outputs[k]) != slot) continue;
        mica_text_printf(text, is_result ? ", result %d" : " *     outputs[%d]  result %d",
                         is_result ? k : i, k);
        is_result = true;
    }
    if (is_result)
        mica_text_append_char(text, '\n');
    else
        note(text, "outputs", i, "", node_at(g, slot)->name);
}

mica_status mica_tf_program_note(mica_tf_program *program, const mica_tf_graph *g,
                                 const mica_tf_step *step, mica_graph *lowered,
                                 const int32_t *handles, const bool *has_value, int32_t n_handles) {
    if (!__atomic_load_n(&keeps_graphs, __ATOMIC_RELAXED)) return NULL;
    mica_text text;
    mica_text_init(&text);
    int32_t n = 0;
    for (int32_t i = 0; i < step->n_inputs; i++)
        note(&text, "inputs", n++, "", node_at(g, step->inputs[i])->name);
    for (int32_t i = 0; i < n_handles; i++)
        if (has_value[i]) note(&text, "inputs", n++, "variable ", node_at(g, handles[i])->name);
    for (n = 0; n < step->n_outputs; n++) note_output(&text, g, n, step->outputs[n]);
    for (int32_t i = 0; i < program->n_written; i++)
        note(&text, "outputs", n++, "new value of ",
             node_at(g, handles[program->written[i]])->name);
    mica_graph_retain(lowered);
    program->graph = lowered;
    return mica_text_finish(&text, &program->notes);
}

static mica_status refuse(const mica_tf_graph *g, const char *why) {
    return MICA_ERROR(MICA_UNSUPPORTED, "[export] '%s' %s", g->name, why);
}

static mica_status take(const mica_tf_graph *g, const mica_tf_program *program,
                        mica_graph **out_graph, char **out_notes) {
    if (program->n_randoms) return refuse(g, "draws from a generator: use stateless random ops");
    if (program->n_checks) return refuse(g, "checks indices or divisors while it runs");
    *out_notes = mica_strdup(program->notes);
    if (!*out_notes) return MICA_NO_MEMORY();
    mica_graph_retain(program->graph);
    *out_graph = program->graph;
    return NULL;
}

mica_status mica_tf_graph_lowered(mica_tf_graph *g, mica_graph **out_graph, char **out_notes) {
    MICA_GIVEN(g, out_graph, out_notes);
    mica_tf_steps *steps;
    mica_tf_program **held;
    int32_t n;
    *out_graph = NULL;
    *out_notes = NULL;
    MICA_TRY(mica_tf_graph_steps(g, &steps));
    if (steps->n != 1 || steps->data[0].node >= 0)
        return refuse(g, "is not one segment: a part of it runs on the host, which "
                         "mica_tf_graph_describe tells");
    MICA_TRY(mica_tf_programs_hold(&steps->data[0], &held, &n));
    mica_status status = NULL;
    for (int32_t i = 0; i < n; i++) {
        if (!status && !*out_graph && held[i]->graph)
            status = take(g, held[i], out_graph, out_notes);
        mica_tf_program_release(held[i]);
    }
    mica_free(held);
    if (status || *out_graph) return status;
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[export] '%s' has not run since mica_tf_keep_graphs(true)", g->name);
}
