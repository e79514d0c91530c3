/* SymbolicGradient: the gradient of a function, which files have where a tape of ours had a Vjp. It
 * takes the function's arguments and a cotangent for each of its results, and gives one for each
 * argument. The function is called by an operation that never runs by itself: the Vjp is of it. */
#include "io/graph_builder.h"

/* Arguments, results; the types of all inputs. */
typedef struct symbolic {
    int32_t n, n_results;
    int64_t *types, *given, *places;
    mica_tf_ref *inputs, *results;
} symbolic;

static bool flows(const io_builder *b, mica_tf_ref ref) {
    mica_tf_dtype dtype = mica_tf_graph_type(b->graph, ref, NULL);
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

static mica_status prepare(io_builder *b, const io_making *m, const mica_tf_graph *function,
                           symbolic *s) {
    s->n = mica_tf_graph_parameter_count(function);
    s->n_results = mica_tf_graph_output_count(function);
    if (s->n < 1 || m->n != s->n + s->n_results)
        return MICA_ERROR(MICA_DATA_LOSS,
                          "[SymbolicGradient] %d inputs where a function of %d arguments has %d "
                          "results",
                          m->n, s->n, s->n_results);
    size_t room = (size_t)m->n + 1;
    s->types = mica_arena_alloc(b->scratch, 2 * room * sizeof *s->types);
    s->given = mica_arena_alloc(b->scratch, room * sizeof *s->given);
    s->places = mica_arena_alloc(b->scratch, room * sizeof *s->places);
    s->inputs = mica_arena_alloc(b->scratch, room * sizeof *s->inputs);
    s->results = mica_arena_alloc(b->scratch, room * sizeof *s->results);
    if (!s->types || !s->given || !s->places || !s->inputs || !s->results) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < m->n; i++) {
        s->types[i] = mica_tf_graph_type(b->graph, m->inputs[i], NULL);
        s->inputs[i] = m->inputs[i];
    }
    return NULL;
}

/* The Vjp of a call: of the results and arguments that have derivatives. */
static mica_status add_vjp(io_builder *b, const io_making *m, mica_tf_graph *function, symbolic *s,
                           mica_tf_ref *out_first) {
    int32_t n_given = 0, n_places = 0;
    int64_t *types = s->types, *made = types + m->n + 1, *result_types = s->types + s->n;
    for (int32_t i = 0; i < s->n; i++)
        if (flows(b, m->inputs[i])) {
            made[n_places] = types[i];
            s->places[n_places++] = i;
        }
    const mica_tf_attr call[3] = {{.n = s->n, .as.ints = types},
                                  {.n = s->n_results, .as.ints = result_types},
                                  {.as.function = function}};
    mica_tf_operation *operation = NULL;
    MICA_TRY(mica_tf_operation_create(MICA_TF_PartitionedCall, call, &operation));
    for (int32_t i = 0; i < s->n_results; i++) /* overwrites what call has read of result_types */
        if (flows(b, m->inputs[s->n + i])) {
            s->given[n_given] = i;
            s->inputs[s->n + n_given] = m->inputs[s->n + i];
            types[s->n + n_given++] = mica_tf_graph_type(b->graph, m->inputs[s->n + i], NULL);
        }
    int32_t n = s->n + n_given;
    const mica_tf_attr attrs[6] = {
        {.as.operation = operation},         {.as.integer = s->n},
        {.n = n_given, .as.ints = s->given}, {.n = n_places, .as.ints = s->places},
        {.n = n, .as.ints = types},          {.n = n_places, .as.ints = made}};
    mica_status status = NULL;
    *out_first = (mica_tf_ref){-1, 0};
    if (n_places > 0) status = io_add(b, MICA_TF_Vjp, attrs, s->inputs, n, out_first);
    mica_tf_operation_release(operation);
    return status;
}

mica_status io_symbolic_gradient(io_builder *b, const io_making *m) {
    mica_tf_graph *function = NULL;
    mica_tf_ref first, all;
    io_range value, part;
    symbolic s = {0};
    if (!io_node_attr(m->node, "f", &value) || !io_find_part(value, 10, &part))
        return MICA_ERROR(MICA_DATA_LOSS, "[SymbolicGradient] the attribute f is missing");
    MICA_TRY(io_read_function(b, part, m->facts, m->n, &function));
    MICA_TRY(prepare(b, m, function, &s));
    MICA_TRY(add_vjp(b, m, function, &s, &first));
    for (int32_t i = 0, k = 0; i < s.n; i++) {
        if (flows(b, m->inputs[i]))
            s.results[i] = (mica_tf_ref){first.node, k++};
        else
            MICA_TRY(io_add(b, MICA_TF_ZerosLike, NULL, &m->inputs[i], 1, &s.results[i]));
    }
    for (int32_t i = 0; i < s.n; i++) s.types[i] = mica_tf_graph_type(b->graph, s.results[i], NULL);
    const mica_tf_attr types = {.n = s.n, .as.ints = s.types};
    MICA_TRY(io_add(b, MICA_TF_IdentityN, &types, s.results, s.n, &all));
    b->refs[m->item] = all;
    return NULL;
}
