/* Functions made of a graph: parts of it, and variables as values. */
#include <string.h>

#include "test.h"
#include "tf/tf.h"

static mica_device *device;

static void begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
}

static void end(void) {
    mica_device_release(device);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value number(float x) {
    mica_type type = {.dtype = MICA_DTYPE_f32};
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, &x, &tensor));
    return mica_tf_value_of(tensor);
}

static float number_of(mica_tf_value value) {
    float x = 0;
    CHECK_OK(mica_tensor_to_host(value.object, &x, sizeof x));
    return x;
}

static mica_tf_ref parameter(mica_tf_graph *g, mica_tf_dtype dtype, const char *name) {
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref ref = {-1, 0};
    CHECK_OK(mica_tf_graph_parameter(g, dtype, &scalar, name, &ref));
    return ref;
}

static mica_tf_ref add(mica_tf_graph *g, mica_tf_op op, mica_tf_ref x, mica_tf_ref y) {
    mica_tf_ref inputs[2] = {x, y}, ref = {-1, 0};
    CHECK_OK(mica_tf_graph_add(g, op, NULL, inputs, 2, NULL, &ref));
    return ref;
}

/* y = a * b, z = y + a; w is a variable that an assignment adds y to. */
typedef struct whole {
    mica_tf_graph *g;
    mica_tf_ref a, b, w, y, z, assigned, read;
} whole;

static whole make_whole(void) {
    whole m = {0};
    mica_tf_attr attrs[1] = {{.as.integer = MICA_TF_float32}};
    CHECK_OK(mica_tf_graph_create("whole", &m.g));
    m.a = parameter(m.g, MICA_TF_float32, "a");
    m.b = parameter(m.g, MICA_TF_float32, "b");
    m.w = parameter(m.g, MICA_TF_resource, "w");
    m.y = add(m.g, MICA_TF_Mul, m.a, m.b);
    m.z = add(m.g, MICA_TF_AddV2, m.y, m.a);
    m.assigned = add(m.g, MICA_TF_AssignAddVariableOp, m.w, m.y);
    CHECK_OK(mica_tf_graph_add(m.g, MICA_TF_ReadVariableOp, attrs, &m.w, 1, NULL, &m.read));
    return m;
}

static mica_tf_graph *pruned(const whole *m, const mica_tf_pruning *of, int32_t *nodes,
                             int32_t *n) {
    mica_tf_graph *g = NULL;
    CHECK_OK(mica_tf_graph_prune(m->g, of, nodes, n, &g));
    return g;
}

TEST(a_part_has_what_its_fetches_need) {
    begin();
    whole m = make_whole();
    int32_t nodes[3], n = -1;
    mica_tf_graph *g = pruned(&m, &(mica_tf_pruning){.fetches = &m.z, .n_fetches = 1}, nodes, &n);
    CHECK(n == 2 && nodes[0] == m.a.node && nodes[1] == m.b.node);
    CHECK(mica_tf_graph_node_count(g) == 4 && !mica_tf_graph_has_effects(g));
    mica_tf_value in[2] = {number(3), number(4)}, out;
    CHECK_OK(mica_tf_graph_run(g, device, in, 2, &out, 1));
    CHECK(number_of(out) == 15);
    for (int i = 0; i < 2; i++) mica_tf_value_release(in[i]);
    mica_tf_value_release(out);
    mica_tf_graph_release(g);
    CHECK(add(m.g, MICA_TF_Mul, m.z, m.z).node == 7); /* it still grows */
    mica_tf_graph_release(m.g);
    end();
}

TEST(what_is_fed_is_not_computed) {
    begin();
    whole m = make_whole();
    int32_t nodes[3], n = -1;
    mica_tf_pruning of = {.feeds = &m.y, .n_feeds = 1, .fetches = &m.z, .n_fetches = 1};
    mica_tf_graph *g = pruned(&m, &of, nodes, &n);
    CHECK(n == 1 && nodes[0] == m.a.node);
    mica_tf_value in[2] = {number(10), number(3)}, out;
    CHECK_OK(mica_tf_graph_run(g, device, in, 2, &out, 1));
    CHECK(number_of(out) == 13);
    for (int i = 0; i < 2; i++) mica_tf_value_release(in[i]);
    mica_tf_value_release(out);
    mica_tf_graph_release(g);
    mica_tf_graph_release(m.g);
    end();
}

TEST(what_runs_before_is_needed_too) {
    begin();
    whole m = make_whole();
    int32_t nodes[3], n = -1;
    mica_tf_control after = {m.read.node, m.read.node + 1, m.assigned.node};
    mica_tf_pruning of = {.fetches = &m.read, .n_fetches = 1};
    mica_tf_graph *g = pruned(&m, &of, nodes, &n);
    CHECK(n == 1 && nodes[0] == m.w.node);
    mica_tf_graph_release(g);
    of.controls = &after, of.n_controls = 1;
    g = pruned(&m, &of, nodes, &n);
    CHECK(n == 3 && mica_tf_graph_has_effects(g));
    mica_tf_graph_release(g);
    mica_tf_graph_release(m.g);
    end();
}

TEST(what_is_not_of_the_graph_is_refused) {
    begin();
    whole m = make_whole();
    int32_t nodes[3], n, far = 99;
    mica_tf_graph *g;
    mica_tf_ref beyond = {99, 0}, result = {m.y.node, 1};
    mica_tf_control backwards = {1, 2, 5};
    mica_tf_pruning wrong[4] = {{.fetches = &beyond, .n_fetches = 1},
                                {.feeds = &result, .n_feeds = 1},
                                {.targets = &far, .n_targets = 1},
                                {.controls = &backwards, .n_controls = 1}};
    for (int i = 0; i < 4; i++) {
        mica_status status = mica_tf_graph_prune(m.g, &wrong[i], nodes, &n, &g);
        CHECK(status != NULL && g == NULL);
        mica_status_release(status);
    }
    mica_tf_graph_release(m.g);
    end();
}

TEST(a_variable_becomes_a_value) {
    begin();
    whole m = make_whole();
    CHECK_OK(mica_tf_graph_output(m.g, m.read));
    mica_tf_dtype dtypes[3] = {MICA_TF_no_dtype, MICA_TF_no_dtype, MICA_TF_float32};
    mica_tf_shape shapes[3] = {{0}};
    mica_tf_graph *g = NULL;
    CHECK_OK(mica_tf_graph_functional(m.g, dtypes, shapes, &g));
    CHECK(!mica_tf_graph_has_effects(g) && mica_tf_graph_output_count(g) == 2);
    mica_tf_value in[3] = {number(3), number(4), number(100)}, out[2];
    CHECK_OK(mica_tf_graph_run(g, device, in, 3, out, 2));
    CHECK(number_of(out[0]) == 112 && number_of(out[1]) == 112);
    for (int i = 0; i < 3; i++) mica_tf_value_release(in[i]);
    for (int i = 0; i < 2; i++) mica_tf_value_release(out[i]);
    mica_tf_graph_release(g);
    mica_tf_graph_release(m.g);
    end();
}

TEST(a_handle_that_goes_elsewhere_stays_no_value) {
    begin();
    whole m = make_whole();
    mica_tf_ref asked;
    CHECK_OK(mica_tf_graph_add(m.g, MICA_TF_VarIsInitializedOp, NULL, &m.w, 1, NULL, &asked));
    mica_tf_dtype dtypes[3] = {MICA_TF_no_dtype, MICA_TF_no_dtype, MICA_TF_float32};
    mica_tf_shape shapes[3] = {{0}};
    mica_tf_graph *g;
    mica_status status = mica_tf_graph_functional(m.g, dtypes, shapes, &g);
    CHECK(status && strstr(mica_status_message(status), "takes a variable itself") && !g);
    mica_status_release(status);
    mica_tf_graph_release(m.g);
    end();
}
