/* The commands as text: one per line, nested lists indented. */
#include "base/strings.h"
#include "codegen/nest.h"
#include "compile/plan.h"
#include "ir/contraction.h"

static void print_place(mica_text *text, const mica_plan *plan, mica_place place) {
    int32_t n_inputs = plan->graph->n_parameters, n_outputs = plan->graph->n_outputs;
    int32_t i = place.base - MICA_BASE_FIRST;
    if (place.base == MICA_BASE_NONE)
        mica_text_append(text, "token");
    else if (place.base == MICA_BASE_LIST)
        mica_text_printf(text, "list%lld", (long long)place.offset);
    else if (place.base == MICA_BASE_ARENA)
        mica_text_printf(text, "arena+%lld", (long long)place.offset);
    else if (place.base == MICA_BASE_CONSTANTS)
        mica_text_printf(text, "constants+%lld", (long long)place.offset);
    else if (i < n_inputs)
        mica_text_printf(text, "input%d", i);
    else if (i < n_inputs + n_outputs)
        mica_text_printf(text, "output%d", i - n_inputs);
    else
        mica_text_printf(text, "register%d", i - n_inputs - n_outputs);
}

static void print_places(mica_text *text, const mica_plan *plan, const mica_place *places,
                         int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (i) mica_text_append(text, ", ");
        print_place(text, plan, places[i]);
    }
}

static const char *kind_name(const mica_command *c) {
    switch (c->kind) {
    case MICA_COMMAND_COPY: return "copy";
    case MICA_COMMAND_LIST_EMPTY: return "list_empty";
    case MICA_COMMAND_LIST_COPY: return "list_copy";
    default: return mica_op_describe(c->node->op)->name;
    }
}

static void print_list(mica_text *text, const mica_plan *plan, const mica_commands *list,
                       int32_t depth);

static void print_loop(mica_text *text, const mica_plan *plan, const mica_command *c,
                       int32_t depth) {
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (carry->kind != MICA_TENSOR || !carry->bytes) continue;
        mica_text_printf(text, "%*scarry %d: %zu bytes, ", depth * 2, "", i, carry->bytes);
        print_place(text, plan, (mica_place){carry->current, 0});
        if (carry->exchange) {
            mica_text_append(text, " exchanged with ");
            print_place(text, plan, (mica_place){carry->next, 0});
            mica_text_append(text, " at ");
            print_place(text, plan, carry->spare);
        } else {
            mica_text_append(text, " in place");
        }
        mica_text_append_char(text, '\n');
    }
    for (int32_t i = 0; i < c->n_xs + c->n_ys; i++) {
        const mica_scan_slice *slice = i < c->n_xs ? &c->xs[i] : &c->ys[i - c->n_xs];
        mica_text_printf(text, "%*s%s: %zu bytes of ", depth * 2, "", i < c->n_xs ? "x" : "y",
                         slice->bytes);
        print_place(text, plan, slice->whole);
        mica_text_append(text, " by ");
        print_place(text, plan, (mica_place){slice->base, 0});
        mica_text_append_char(text, '\n');
    }
}

/* A call that is one kernel is named after what it computes: dot+add+tanh. */
static void print_kind(mica_text *text, const mica_command *c) {
    const mica_node *n = c->kind == MICA_COMMAND_LAUNCH ? c->node : NULL;
    int32_t shown = 0;
    if (n && (mica_node_is_fused(n) || mica_node_is_contraction(n)))
        for (int32_t i = 0; i < n->regions[0]->n_nodes; i++) {
            mica_op op = n->regions[0]->nodes[i]->op;
            if (op >= MICA_OP_COUNT || op == MICA_OP_constant || op == MICA_OP_broadcast) continue;
            mica_text_printf(text, "%s%s", shown++ ? "+" : "", mica_op_name(op));
        }
    mica_text_printf(text, "%s ", shown ? "" : kind_name(c));
}

static void print_command(mica_text *text, const mica_plan *plan, const mica_command *c,
                          int32_t depth) {
    mica_text_printf(text, "%*s", depth * 2, "");
    print_kind(text, c);
    print_places(text, plan, c->results, c->n_results);
    mica_text_append(text, " <- ");
    print_places(text, plan, c->operands, c->n_operands);
    if (c->scratch.base != MICA_BASE_NONE) {
        mica_text_append(text, " using ");
        print_place(text, plan, c->scratch);
    }
    if (c->bytes) mica_text_printf(text, " (%zu bytes)", c->bytes);
    mica_text_append_char(text, '\n');
    print_loop(text, plan, c, depth + 1);
    for (int32_t i = 0; i < c->n_regions; i++) {
        mica_text_printf(text, "%*sregion %d\n", depth * 2 + 2, "", i);
        print_list(text, plan, &c->regions[i], depth + 2);
    }
}

static void print_list(mica_text *text, const mica_plan *plan, const mica_commands *list,
                       int32_t depth) {
    for (int32_t i = 0; i < list->n; i++) print_command(text, plan, &list->data[i], depth);
}

mica_status mica_plan_print(const mica_plan *plan, char **out_text) {
    mica_text text;
    mica_text_init(&text);
    mica_text_printf(&text, "arena %zu bytes, constants %zu bytes\n", plan->arena_bytes,
                     plan->constants_bytes);
    for (int32_t i = 0; i < plan->graph->n_parameters; i++)
        if (plan->overwritten_by[i] >= 0)
            mica_text_printf(&text, "input%d may become output%d\n", i, plan->overwritten_by[i]);
    print_list(&text, plan, &plan->commands, 0);
    return mica_text_finish(&text, out_text);
}
