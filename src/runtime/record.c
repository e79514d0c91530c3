/* What a program consists of, for a report: a kernel for each launch, with what it computes, what
 * it moves at least, and the lines of the caller's program that it comes from. */
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "ir/contraction.h"
#include "report/report.h"
#include "runtime/executable.h"

enum { MOST_LINES = 4 };

typedef struct recording {
    mica_program *program;
    int32_t n;      /* kernels so far */
    int32_t *first; /* per node of the program's graph: the kernel that makes it, or -1 */
    int32_t *last;  /* the last one that reads it */
} recording;

/* ---- what a node computes ---------------------------------------------------------------------*/

static bool says_nothing(const mica_node *n) {
    return n->op == MICA_OP_PARAMETER || n->op == MICA_OP_constant || n->op == MICA_OP_broadcast ||
           n->op == MICA_OP_reshape;
}

/* "dot, add, tanh": equal neighbours once, with their number. */
static void list_ops(const mica_graph *body, mica_text *text) {
    bool is_first = true;
    for (int32_t i = 0; i < body->n_nodes; i++) {
        const mica_node *n = body->nodes[i];
        if (says_nothing(n)) continue;
        int32_t same = 1;
        while (i + 1 < body->n_nodes && body->nodes[i + 1]->op == n->op) i++, same++;
        mica_text_printf(text, "%s%s", is_first ? "" : ", ", mica_op_name(n->op));
        if (same > 1) mica_text_printf(text, " \u00d7%d", same);
        is_first = false;
    }
    if (is_first) mica_text_append(text, "copy");
}

static bool is_body(const mica_node *n) {
    return n->op == MICA_OP_call && (mica_node_is_fused(n) || mica_node_is_contraction(n));
}

static void describe(const mica_node *n, mica_text *text) {
    if (is_body(n)) {
        list_ops(n->regions[0], text);
    } else if (mica_node_is_claimed(n)) {
        const char *name = mica_node_string(n, "name") + sizeof MICA_CLAIMED - 1;
        mica_text_append(text, !strncmp(name, "mica.", 5) ? name + 5 : name);
    } else {
        mica_text_append(text, mica_op_name(n->op));
        if (n->op == MICA_OP_reduce) mica_text_printf(text, " %s", mica_node_string(n, "kind"));
    }
}

static double bytes_of(const mica_node *n) {
    double bytes = 0;
    for (int32_t i = 0; i < n->n_operands; i++) {
        bool again = false;
        for (int32_t k = 0; k < i; k++) again |= mica_value_same(n->operands[k], n->operands[i]);
        const mica_type *type = mica_operand_type(n, i);
        if (!again && type->kind == MICA_TENSOR) bytes += (double)mica_type_bytes(type);
    }
    for (int32_t i = 0; i < n->n_results; i++)
        if (n->results[i].kind == MICA_TENSOR) bytes += (double)mica_type_bytes(&n->results[i]);
    return bytes;
}

/* Multiplications and additions of products. */
static double operations_of(const mica_node *n) {
    if (is_body(n)) {
        double sum = 0;
        for (int32_t i = 0; i < n->regions[0]->n_nodes; i++)
            sum += operations_of(n->regions[0]->nodes[i]);
        return sum;
    }
    if (n->op != MICA_OP_dot && n->op != MICA_OP_conv) return 0;
    double results = (double)mica_type_elements(&n->results[0]), length = 1;
    const mica_type *x = mica_operand_type(n, 0), *w = mica_operand_type(n, 1);
    if (n->op == MICA_OP_dot) {
        mica_ints axes = mica_node_ints(n, "lhs_contract");
        for (int32_t i = 0; i < axes.n; i++) length *= (double)x->dims[axes.data[i]];
        return 2 * results * length;
    }
    /* conv: every output sums over the taps and channels of one filter. */
    const char *layout = strchr(mica_node_string(n, "layout"), ',');
    size_t outputs = layout ? strcspn(layout + 1, "O") : (size_t)w->rank;
    if (outputs >= (size_t)w->rank || !w->dims[outputs]) return 0;
    return 2 * results * (double)mica_type_elements(w) / (double)w->dims[outputs];
}

static void add_line(int32_t line, int32_t *lines, int32_t *n) {
    for (int32_t i = 0; i < *n; i++)
        if (lines[i] == line) return;
    if (line > 0 && *n < MOST_LINES) lines[(*n)++] = line;
}

static int32_t lines_of(const mica_node *node, int32_t *lines) {
    int32_t n = 0;
    for (int32_t i = 0; is_body(node) && i < node->regions[0]->n_nodes; i++)
        if (!says_nothing(node->regions[0]->nodes[i]))
            add_line(node->regions[0]->nodes[i]->line, lines, &n);
    add_line(node->line, lines, &n);
    return n;
}

/* ---- a program --------------------------------------------------------------------------------*/

static int32_t source_of(const mica_program *program, const mica_node *n) {
    for (int32_t i = 0; program->unit && i < program->n_generated; i++)
        if (program->generated[i] == n) return i;
    return -1;
}

static void record_kernel(recording *r, mica_command *c) {
    const mica_node *n = c->node;
    mica_text label;
    int32_t lines[MOST_LINES], source = source_of(r->program, n);
    mica_text_init(&label);
    describe(n, &label);
    mica_label type = n->n_results ? mica_type_text(&n->results[0]) : (mica_label){""};
    mica_report_kernel kernel = {.label = mica_text_data(&label),
                                 .type = type.chars,
                                 .how = source >= 0               ? "generated"
                                        : mica_node_is_claimed(n) ? "whole layer"
                                                                  : "built-in",
                                 .source = source,
                                 .bytes = bytes_of(n),
                                 .operations = operations_of(n),
                                 .lines = lines,
                                 .n_lines = lines_of(n, lines)};
    c->record = mica_report_add_kernel(r->program->report, &kernel);
    mica_text_deinit(&label);
    r->n++;
}

static void record_list(recording *r, const mica_commands *list, bool is_outermost) {
    for (int32_t i = 0; i < list->n; i++) {
        mica_command *c = &list->data[i];
        int32_t from = r->n;
        for (int32_t k = 0; k < c->n_regions; k++) record_list(r, &c->regions[k], false);
        if (c->kind == MICA_COMMAND_LAUNCH) record_kernel(r, c);
        if (!is_outermost || !c->node) continue;
        r->first[c->node->id] = from;
        for (int32_t k = 0; k < c->node->n_operands; k++)
            r->last[c->node->operands[k].node->id] = r->n > from ? r->n - 1 : from;
    }
}

/* What lies in the arena: results of the outermost commands. */
static void record_values(const recording *r, const mica_commands *list) {
    for (int32_t i = 0; i < list->n; i++) {
        const mica_command *c = &list->data[i];
        if (c->kind != MICA_COMMAND_LAUNCH || !c->node) continue;
        int32_t first = r->first[c->node->id], last = r->last[c->node->id];
        mica_text label;
        mica_text_init(&label);
        describe(c->node, &label);
        int32_t lines[MOST_LINES], n_lines = lines_of(c->node, lines);
        for (int32_t k = 0; k < c->n_results; k++) {
            const mica_type *type = &c->node->results[k];
            if (c->results[k].base != MICA_BASE_ARENA || type->kind != MICA_TENSOR) continue;
            mica_report_add_value(r->program->report, mica_text_data(&label),
                                  mica_type_text(type).chars, (double)mica_type_bytes(type), first,
                                  last < first ? first : last, n_lines ? lines[0] : 0);
        }
        mica_text_deinit(&label);
    }
}

void mica_record_program(mica_program *program) {
    if (!program->report) return;
    const mica_plan *plan = program->plan;
    size_t n = (size_t)program->graph->n_nodes;
    recording r = {.program = program, .first = mica_calloc(2 * n + 1, sizeof *r.first)};
    if (!r.first) return;
    r.last = r.first + n;
    record_list(&r, &plan->commands, true);
    record_values(&r, &plan->commands);
    mica_free(r.first);
}
