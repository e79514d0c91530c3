/* Graphs of layers: nodes, conveniences, descriptions, and what is refused. */
#include "mlc_test.h"

static bool shape_is(mlc_tensor *t, mica_ints shape) {
    mica_ints has = mlc_tensor_descriptor_shape(mlc_tensor_descriptor_of(t));
    return has.n == shape.n && memcmp(has.data, shape.data, (size_t)has.n * sizeof *has.data) == 0;
}

TEST(a_graph_knows_its_layers_sources_and_results) {
    mlc_graph *g = new_graph();
    mlc_tensor *a = empty(MICA_INTS(2, 3)), *b = empty(MICA_INTS(3)), *sum = NULL, *root = NULL;
    mlc_layer *add_layer = arithmetic(MLC_ARITHMETIC_OPERATION_ADD);
    mlc_layer *root_layer = arithmetic(MLC_ARITHMETIC_OPERATION_SQRT);
    REQUIRE_OK(mlc_graph_node(g, add_layer, MLC_TENSORS(a, b), &sum));
    REQUIRE_OK(mlc_graph_node_disable_update(g, root_layer, MLC_TENSORS(sum), true, &root));
    CHECK(shape_is(sum, MICA_INTS(2, 3)) && shape_is(root, MICA_INTS(2, 3)));
    mlc_layers layers = mlc_graph_layers(g);
    CHECK(layers.n == 2 && layers.data[0] == add_layer && layers.data[1] == root_layer);
    CHECK(mlc_graph_source_tensors(g, add_layer).n == 2);
    CHECK(mlc_graph_source_tensors(g, add_layer).data[1] == b);
    CHECK(mlc_graph_result_tensors(g, root_layer).data[0] == root);
    CHECK(mlc_graph_device(g) == NULL);
    CHECK_FAILS(mlc_graph_node(g, add_layer, MLC_TENSORS(a, b), &sum), MICA_INVALID_ARGUMENT,
                "already in this graph");
    mlc_graph *other = new_graph();
    CHECK_FAILS(mlc_graph_node(other, add_layer, MLC_TENSORS(a, b), &sum), MICA_INVALID_ARGUMENT,
                "another graph");
    CHECK(mlc_graph_result_tensors(other, add_layer).n == 0);
    mlc_graph_release(other);
    mlc_graph_retain(g);
    mlc_graph_release(g);
    mlc_graph_release(g);
    mlc_layer_release(add_layer);
    mlc_layer_release(root_layer);
    mlc_tensor_release(a);
    mlc_tensor_release(b);
}

TEST(errors_name_the_layer_and_the_shapes) {
    mlc_graph *g = new_graph();
    mlc_tensor *a = empty(MICA_INTS(2, 3)), *b = empty(MICA_INTS(4)), *result = NULL;
    mlc_layer *layer = arithmetic(MLC_ARITHMETIC_OPERATION_ADD);
    REQUIRE_OK(mlc_layer_set_label(layer, "my sum"));
    CHECK_FAILS(mlc_graph_node(g, layer, MLC_TENSORS(a, b), &result), MICA_INVALID_ARGUMENT,
                "[my sum]");
    CHECK_FAILS(mlc_graph_node(g, layer, MLC_TENSORS(a, b), &result), MICA_INVALID_ARGUMENT,
                "Float32 (2,3), Float32 (4)");
    CHECK(result == NULL && mlc_graph_layers(g).n == 0);
    CHECK_FAILS(mlc_graph_node(g, layer, MLC_TENSORS(a), &result), MICA_INVALID_ARGUMENT,
                "takes 2 sources, not 1");
    CHECK_FAILS(mlc_graph_node(g, layer, MLC_TENSORS(a, NULL), &result), MICA_INVALID_ARGUMENT,
                "source 1 is NULL");
    CHECK_OK(mlc_graph_node(g, layer, MLC_TENSORS(a, a), &result)); /* it is still usable */
    CHECK_FAILS(mlc_graph_node_loss(g, layer, MLC_TENSORS(a, a), MLC_TENSORS(a), &result),
                MICA_INVALID_ARGUMENT, "only loss layers");
    mlc_layer_release(layer);
    mlc_tensor *ints = NULL;
    REQUIRE_OK(mlc_tensor_with_shape(MICA_INTS(2, 3), MLC_DATA_TYPE_INT32, &ints));
    REQUIRE_OK(mlc_softmax_layer_create(MLC_SOFTMAX, &layer));
    CHECK_FAILS(mlc_graph_node(g, layer, MLC_TENSORS(ints), &result), MICA_UNSUPPORTED,
                "does not take Int32");
    mlc_layer_release(layer);
    REQUIRE_OK(mlc_reshape_layer_create(MICA_INTS(5), &layer));
    CHECK_FAILS(mlc_graph_node(g, layer, MLC_TENSORS(a), &result), MICA_INVALID_ARGUMENT, "(2,3)");
    mlc_layer_release(layer);
    mlc_tensor_release(ints);
    mlc_tensor_release(a);
    mlc_tensor_release(b);
    mlc_graph_release(g);
}

TEST(conveniences_add_their_layers) {
    mlc_graph *g = new_graph();
    mlc_tensor *x = empty(MICA_INTS(2, 5)), *y = NULL, *at = NULL, *condition = NULL;
    mlc_tensors parts;
    REQUIRE_OK(mlc_graph_split(g, x, 2, 1, &parts));
    REQUIRE(parts.n == 2);
    CHECK(shape_is(parts.data[0], MICA_INTS(2, 3)) && shape_is(parts.data[1], MICA_INTS(2, 2)));
    REQUIRE_OK(mlc_graph_concatenate(g, parts, 1, &y));
    CHECK(shape_is(y, MICA_INTS(2, 5)));
    REQUIRE_OK(mlc_graph_split_sections(g, x, MICA_INTS(1, 1, 3), 1, &parts));
    CHECK(parts.n == 3 && shape_is(parts.data[2], MICA_INTS(2, 3)));
    REQUIRE_OK(mlc_graph_split(g, x, 9, 1, &parts));
    CHECK(parts.n == 5); /* no more parts than elements */
    REQUIRE_OK(mlc_graph_reshape(g, MICA_INTS(2, 5, 1), x, &y));
    CHECK(shape_is(y, MICA_INTS(2, 5, 1)));
    REQUIRE_OK(mlc_graph_transpose(g, MICA_INTS(0, 2, 1), y, &y));
    CHECK(shape_is(y, MICA_INTS(2, 1, 5)));
    REQUIRE_OK(mlc_tensor_with_shape(MICA_INTS(2, 3), MLC_DATA_TYPE_INT32, &at));
    REQUIRE_OK(mlc_graph_gather(g, 1, x, at, &y));
    CHECK(shape_is(y, MICA_INTS(2, 3)));
    REQUIRE_OK(mlc_graph_scatter(g, 1, y, at, x, MLC_REDUCTION_SUM, &y));
    CHECK(shape_is(y, MICA_INTS(2, 5)));
    REQUIRE_OK(mlc_tensor_with_shape(MICA_INTS(2, 5), MLC_DATA_TYPE_BOOLEAN, &condition));
    REQUIRE_OK(mlc_graph_select(g, MLC_TENSORS(x, y), condition, &y));
    CHECK(shape_is(y, MICA_INTS(2, 5)));
    CHECK(mlc_graph_layers(g).n == 9);
    CHECK_FAILS(mlc_graph_select(g, MLC_TENSORS(x), condition, &y), MICA_INVALID_ARGUMENT,
                "2 sources");
    CHECK_FAILS(mlc_graph_concatenate(g, MLC_TENSORS(x), 7, &y), MICA_INVALID_ARGUMENT, "axis");
    mlc_tensor_release(x);
    mlc_tensor_release(at);
    mlc_tensor_release(condition);
    mlc_graph_release(g);
}

TEST(the_dot_description_shows_layers_and_stopped_gradients) {
    mlc_graph *g = new_graph(), *training = NULL;
    mlc_tensor *x = empty(MICA_INTS(2)), *y = NULL, *z = NULL;
    mlc_layer *first = arithmetic(MLC_ARITHMETIC_OPERATION_SIN);
    REQUIRE_OK(mlc_layer_set_label(first, "a \"sine\""));
    REQUIRE_OK(mlc_tensor_set_label(x, "the input"));
    REQUIRE_OK(mlc_graph_node(g, first, MLC_TENSORS(x), &y));
    z = add(g, arithmetic(MLC_ARITHMETIC_OPERATION_COS), MLC_TENSORS(y));
    CHECK(z != NULL);
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), NULL, NULL, &training));
    char *text = NULL;
    REQUIRE_OK(mlc_graph_dot_description(training, &text));
    CHECK(strstr(text, "digraph") && strstr(text, "a \\\"sine\\\"") && strstr(text, "the input"));
    CHECK(strstr(text, "layer0 -> layer1") && strstr(text, "(2)") && !strstr(text, "dashed"));
    mica_string_free(text);
    REQUIRE_OK(mlc_training_graph_stop_gradient(training, MLC_TENSORS(y)));
    REQUIRE_OK(mlc_graph_dot_description(training, &text));
    CHECK(strstr(text, "style=dashed"));
    mica_string_free(text);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_layer_release(first);
    mlc_tensor_release(x);
}

TEST(graphs_of_the_wrong_kind_are_refused) {
    mlc_graph *g = new_graph(), *inference = NULL, *training = NULL, *wrong = NULL;
    mlc_device *device = cpu();
    REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(g), &inference));
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), NULL, NULL, &training));
    mlc_execution e = mlc_execution_make(0);
    CHECK_FAILS(mlc_inference_graph_compile(training, 0, device), MICA_INVALID_ARGUMENT,
                "not a inference graph");
    CHECK_FAILS(mlc_training_graph_execute(inference, &e), MICA_INVALID_ARGUMENT, "training graph");
    CHECK_FAILS(mlc_training_graph_synchronize_updates(g), MICA_INVALID_ARGUMENT, "training graph");
    CHECK_FAILS(mlc_inference_graph_create(MLC_GRAPHS(training), &wrong), MICA_INVALID_ARGUMENT,
                "plain");
    CHECK_FAILS(mlc_inference_graph_compile(inference, 0, device), MICA_INVALID_ARGUMENT,
                "no layers");
    CHECK_FAILS(mlc_inference_graph_execute(inference, &e), MICA_FAILED_PRECONDITION,
                "not compiled");
    mlc_layer *layer = arithmetic(MLC_ARITHMETIC_OPERATION_ADD);
    CHECK_FAILS(mlc_training_graph_create(MLC_GRAPHS(g), layer, NULL, &wrong),
                MICA_INVALID_ARGUMENT, "not a loss");
    mlc_layer_release(layer);
    mlc_graph_release(inference);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_device_release(device);
}
