/* A graph in the DOT language: boxes are layers, ellipses the tensors that come from outside. */
#include "base/strings.h"
#include "mlc/graph.h"

static void quoted(mica_text *text, const char *string) {
    mica_text_append_char(text, '"');
    for (; *string; string++) {
        if (*string == '"' || *string == '\\') mica_text_append_char(text, '\\');
        mica_text_append_char(text, *string == '\n' ? ' ' : *string);
    }
    mica_text_append_char(text, '"');
}

static void print_layer(mica_text *text, const mlc_node *node, int32_t i) {
    mica_text_printf(text, "  layer%d [shape=box, label=", i);
    quoted(text, mlc_layer_label(node->layer));
    mica_text_append(text, "];\n");
}

static int32_t producer(const mlc_list *nodes, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < nodes->n; i++) {
        const mlc_node *node = nodes->data[i];
        for (int32_t k = 0; k < node->n_results; k++)
            if (node->results[k] == tensor) return i;
    }
    return -1;
}

static bool is_first_use(const mlc_list *nodes, const mlc_tensor *tensor, int32_t node,
                         int32_t operand) {
    for (int32_t i = 0; i <= node; i++) {
        const mlc_node *n = nodes->data[i];
        for (int32_t k = 0; k < n->n_sources + n->n_labels; k++) {
            if (i == node && k == operand) return true;
            if ((k < n->n_sources ? n->sources[k] : n->labels[k - n->n_sources]) == tensor)
                return false;
        }
    }
    return true;
}

static void print_edge(mica_text *text, const mlc_graph *graph, const mlc_list *nodes, int32_t to,
                       int32_t operand) {
    const mlc_node *node = nodes->data[to];
    bool is_source = operand < node->n_sources;
    mlc_tensor *t = is_source ? node->sources[operand] : node->labels[operand - node->n_sources];
    int32_t from = producer(nodes, t);
    bool is_stopped = mlc_list_find(&graph->stopped, t) >= 0;
    if (from < 0 && is_first_use(nodes, t, to, operand)) {
        mica_text_printf(text, "  tensor%llu [shape=ellipse, label=", (unsigned long long)t->id);
        quoted(text, mlc_tensor_label(t));
        mica_text_append(text, "];\n");
    }
    if (from < 0)
        mica_text_printf(text, "  tensor%llu", (unsigned long long)t->id);
    else
        mica_text_printf(text, "  layer%d", from);
    mica_text_printf(text, " -> layer%d [label=\"%s\"%s];\n", to, mlc_tensor_shape_text(t).chars,
                     is_stopped ? ", style=dashed" : "");
}

mica_status mlc_graph_dot_description(const mlc_graph *graph, char **out_text) {
    MICA_GIVEN(graph, out_text);
    mlc_list nodes = {NULL, 0, 0};
    mica_text text;
    *out_text = NULL;
    mica_status status = mlc_graph_collect(graph, &nodes);
    if (status) {
        mlc_list_deinit(&nodes);
        return status;
    }
    mica_text_init(&text);
    mica_text_append(&text, "digraph {\n");
    for (int32_t i = 0; i < nodes.n; i++) print_layer(&text, nodes.data[i], i);
    for (int32_t i = 0; i < nodes.n; i++) {
        const mlc_node *node = nodes.data[i];
        for (int32_t k = 0; k < node->n_sources + node->n_labels; k++)
            print_edge(&text, graph, &nodes, i, k);
    }
    mica_text_append(&text, "}\n");
    mlc_list_deinit(&nodes);
    return mica_text_finish(&text, out_text);
}
