/* SavedModels that TensorFlow wrote, loaded and run without Python. */
#include "mica/saved_model.h"

#include <unistd.h>

#include "base/platform.h"
#include "io/graph_build.h"
#include "mica/mica.h"
#include "test.h"

#define MODELS "tests/tf/saved_models/"

static mica_device *device;

static void begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
}

static void finish(void) {
    mica_device_release(device);
    device = NULL;
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value numbers(mica_ints dims, const float *data) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, dims);
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return tensor ? mica_tf_value_of(tensor) : (mica_tf_value){0};
}

static mica_tf_value integer(int32_t value) {
    mica_type type = mica_type_scalar(MICA_DTYPE_i32);
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, &value, &tensor));
    return tensor ? mica_tf_value_of(tensor) : (mica_tf_value){0};
}

static void check_numbers(mica_tf_value value, const float *wanted, size_t n) {
    float got[64] = {0};
    REQUIRE(value.dtype == MICA_TF_float32 && value.object && n <= 64);
    REQUIRE_OK(mica_tensor_to_host(value.object, got, n * sizeof *got));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], wanted[i], 1e-5);
}

TEST(a_signature_tells_its_inputs_and_outputs) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "dense", device, NULL, &model));
    REQUIRE(mica_saved_model_signature_count(model) == 1);
    const mica_signature *signature = mica_saved_model_find(model, "serving_default");
    REQUIRE(signature && signature == mica_saved_model_signature(model, 0));
    CHECK(!mica_saved_model_signature(model, 1) && !mica_saved_model_signature(model, -1));
    CHECK(!mica_saved_model_find(model, "other") && !mica_saved_model_find(model, NULL));
    REQUIRE(signature->n_inputs == 1 && signature->n_outputs == 1);
    CHECK(!strcmp(signature->inputs[0].name, "x"));
    CHECK(signature->inputs[0].dtype == MICA_TF_float32);
    CHECK(signature->inputs[0].shape.rank == 2 && signature->inputs[0].shape.dims[0] == -1 &&
          signature->inputs[0].shape.dims[1] == 3);
    CHECK(!strcmp(signature->outputs[0].name, "output_0"));
    CHECK(mica_saved_model_variable_count(model) == 3);
    CHECK(!mica_saved_model_handle(model, 3).object);
    mica_saved_model_release(model);
    finish();
}

TEST(a_signature_runs_at_sizes_that_it_leaves_open) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "dense", device, NULL, &model));
    mica_tf_value y = {0}, x = numbers(MICA_INTS(1, 3), (float[]){1, -1, 2});
    CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
    check_numbers(y, (float[]){6.5f, 7.5f}, 2);
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    x = numbers(MICA_INTS(2, 3), (float[]){0, 0, 0, -5, 0, 1});
    CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
    check_numbers(y, (float[]){0.5f, 0, 4.5f, 0}, 4);
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    mica_saved_model_release(model);
    finish();
}

TEST(a_convolutional_net_gives_what_tensorflow_gave) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "convnet", device, NULL, &model));
    float image[36];
    for (int i = 0; i < 36; i++) image[i] = (float)i / 36;
    mica_tf_value y = {0}, x = numbers(MICA_INTS(1, 6, 6, 1), image);
    CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
    check_numbers(y, (float[]){0.4381564259529114f, 0.160808727145195f, 0.4010349214076996f}, 3);
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    mica_saved_model_release(model);
    finish();
}

TEST(branches_and_loops_of_a_model_run) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "control", device, NULL, &model));
    static const float wanted[] = {9, 30};
    for (int i = 0; i < 2; i++) {
        mica_tf_value y = {0}, x = integer(2 * i);
        CHECK_OK(mica_saved_model_run(model, "pick", &x, 1, &y, 1));
        check_numbers(y, &wanted[i], 1);
        mica_tf_value_release(x);
        mica_tf_value_release(y);
    }
    mica_tf_value totals[2] = {{0}}, n = integer(4);
    CHECK_OK(mica_saved_model_run(model, "total", &n, 1, totals, 2));
    check_numbers(totals[0], (float[]){36}, 1);
    for (int i = 0; i < 2; i++) mica_tf_value_release(totals[i]);
    mica_tf_value_release(n);
    mica_saved_model_release(model);
    finish();
}

/* Strings, a table that was filled when the model was loaded, an embedding, attention. */
TEST(a_signature_of_strings_gives_what_tensorflow_gave) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "words", device, NULL, &model));
    CHECK(mica_saved_model_variable_count(model) == 2);
    CHECK(mica_saved_model_handle_count(model) == 3);
    const char *words[] = {"the", "cat", "dog", "sat"};
    const size_t lengths[] = {3, 3, 3, 3};
    static const float wanted[] = {
        -0.03604600578546524f, -0.3930038809776306f, -0.3886357545852661f, -0.026957768946886063f,
        -0.23489747941493988f, 0.6570352911949158f,  0.9448928236961365f,  0.36402028799057007f};
    mica_tf_value x = {0}, y = {0};
    CHECK_OK(mica_tf_strings_create(MICA_INTS(2, 2), words, lengths, &x));
    CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
    check_numbers(y, wanted, 8);
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    mica_saved_model_release(model);
    finish();
}

/* d sum(relu(x w + b)) / d b is the number of rows where the sum is positive. */
TEST(a_signature_has_gradients) {
    begin();
    mica_saved_model *model = NULL;
    mica_tf_graph *graph = NULL, *forward = NULL, *backward = NULL;
    int32_t captured[3], n_captured = 0;
    REQUIRE_OK(mica_saved_model_load(MODELS "dense", device, NULL, &model));
    REQUIRE_OK(mica_saved_model_graph(model, "serving_default", &graph, captured, &n_captured));
    REQUIRE(n_captured == 2 && mica_tf_graph_parameter_count(graph) == 3);
    uint8_t wanted[3] = {0, 1, 1}, connected[3] = {0};
    REQUIRE_OK(mica_tf_graph_backward(graph, wanted, connected, &forward, &backward));
    CHECK(connected[1] == 1 && connected[2] == 1);
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    mica_tf_graph_release(graph);
    mica_saved_model_release(model);
    finish();
}

TEST(a_variable_that_is_assigned_changes_what_a_signature_gives) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "dense", device, NULL, &model));
    mica_tf_value bias = {0};
    for (int32_t i = 0; i < mica_saved_model_variable_count(model); i++) {
        mica_tf_value handle = mica_saved_model_handle(model, i);
        if (!strcmp(mica_tf_variable_name(handle), "b")) bias = handle;
    }
    REQUIRE(bias.object);
    mica_tf_value b = numbers(MICA_INTS(2), (float[]){100, 200}), y = {0};
    CHECK_OK(mica_tf_variable_assign(bias, b));
    mica_tf_value x = numbers(MICA_INTS(1, 3), (float[]){0, 0, 0});
    CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
    check_numbers(y, (float[]){100, 200}, 2);
    mica_tf_value_release(b);
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    mica_saved_model_release(model);
    finish();
}

TEST(arguments_that_do_not_fit_are_named) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "dense", device, NULL, &model));
    mica_tf_value y = {0}, x = numbers(MICA_INTS(1, 4), (float[]){1, 2, 3, 4}), i = integer(1);
    CHECK_FAILS(mica_saved_model_run(model, "other", &x, 1, &y, 1), MICA_NOT_FOUND,
                "no signature 'other'");
    CHECK_FAILS(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1), MICA_INVALID_ARGUMENT,
                "'x' of 'serving_default' has the shape [?,3], given [1,4]");
    CHECK_FAILS(mica_saved_model_run(model, "serving_default", &i, 1, &y, 1), MICA_INVALID_ARGUMENT,
                "is float32, given int32");
    CHECK_FAILS(mica_saved_model_run(model, "serving_default", &x, 0, &y, 1), MICA_INVALID_ARGUMENT,
                "1 inputs and 1 outputs, given 0 and 1");
    CHECK_FAILS(mica_saved_model_run(model, "serving_default", &(mica_tf_value){0}, 1, &y, 1),
                MICA_INVALID_ARGUMENT, "has no value");
    mica_tf_value_release(x);
    mica_tf_value_release(i);
    mica_saved_model_release(model);
    CHECK_FAILS(mica_saved_model_load(MODELS "nowhere", device, NULL, &model), MICA_NOT_FOUND,
                "saved_model.pb");
    CHECK_FAILS(mica_saved_model_load(NULL, device, NULL, &model), MICA_INVALID_ARGUMENT, "folder");
    const char *tag = "gpu";
    mica_saved_model_options options = {sizeof options, &tag, 1};
    CHECK_FAILS(mica_saved_model_load(MODELS "dense", device, &options, &model), MICA_NOT_FOUND,
                "tags");
    tag = "serve";
    CHECK_OK(mica_saved_model_load(MODELS "dense", device, &options, &model));
    mica_saved_model_release(model);
    finish();
}

/* A loop over lists of tensors, with unknown batch and time. */
TEST(a_recurrent_net_gives_what_tensorflow_gave) {
    begin();
    mica_saved_model *model = NULL;
    REQUIRE_OK(mica_saved_model_load(MODELS "recurrent", device, NULL, &model));
    const mica_signature *signature = mica_saved_model_find(model, "serving_default");
    REQUIRE(signature && signature->n_inputs == 1 && signature->n_outputs == 1);
    static const int32_t tokens[] = {0, 1, 2, 3, 1, 3, 3, 0, 0, 2};
    for (int64_t batch = 2; batch > 0; batch--) {
        mica_type type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(batch, 5));
        mica_tensor *tensor = NULL;
        CHECK_OK(mica_tensor_from_host(device, &type, tokens, &tensor));
        mica_tf_value y = {0}, x = mica_tf_value_of(tensor);
        CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
        check_numbers(y, (float[]){0.003646954894065857f, -0.00024142861366271973f}, (size_t)batch);
        mica_tf_value_release(x);
        mica_tf_value_release(y);
    }
    mica_saved_model_release(model);
    finish();
}

/* The weights of a loop's cell are handles that its body reads. */
TEST(gradients_find_the_variables_that_a_loop_reads) {
    begin();
    mica_saved_model *model = NULL;
    mica_tf_graph *graph = NULL, *forward = NULL, *backward = NULL;
    int32_t n = 0;
    REQUIRE_OK(mica_saved_model_load(MODELS "recurrent", device, NULL, &model));
    REQUIRE_OK(mica_saved_model_graph(model, "serving_default", &graph, NULL, &n));
    REQUIRE(n == 6 && mica_tf_graph_parameter_count(graph) == 7);
    uint8_t wanted[7] = {0, 1, 1, 1, 1, 1, 1}, connected[7] = {0};
    REQUIRE_OK(mica_tf_graph_backward(graph, wanted, connected, &forward, &backward));
    CHECK(connected[1] == 2); /* the embedding, by a gather */
    for (int i = 2; i < 7; i++) CHECK(connected[i] == 1);
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    mica_tf_graph_release(graph);
    mica_saved_model_release(model);
    finish();
}

/* ---- hostile files ----------------------------------------------------------------------------*/

static mica_status read_and_build(const uint8_t *bytes, size_t size) {
    mica_arena arena;
    io_graph_def def;
    io_library library = {0};
    mica_arena_init(&arena);
    mica_status status = io_graph_def_read((io_range){bytes, size}, "file", &arena, &def);
    if (!status) {
        status = io_library_init(&library, &def, (io_range){NULL, 0}, device);
        for (int32_t i = 0; !status && i < def.n_functions; i++) {
            mica_tf_graph *graph;
            status = io_library_function(&library, def.functions[i].name, NULL, 0, &graph);
        }
        io_library_deinit(&library);
    }
    mica_arena_deinit(&arena);
    return status;
}

TEST(a_constant_that_a_file_does_not_spell_out_is_bounded) {
    begin();
    /* TensorProto: float32, the shape [2^31], no elements. */
    static const uint8_t large[] = {8, 1, 18, 8, 18, 6, 8, 128, 128, 128, 128, 8};
    static const uint8_t small[] = {8, 1, 18, 4, 18, 2, 8, 3, 42, 4, 0, 0, 128, 63};
    io_values values = {.device = device};
    mica_tf_value value = {0};
    CHECK_FAILS(io_read_tensor(&values, (io_range){large, sizeof large}, &value),
                MICA_RESOURCE_EXHAUSTED, "8589934592 bytes");
    CHECK_OK(io_read_tensor(&values, (io_range){small, sizeof small}, &value));
    check_numbers(value, (float[]){1, 1, 1}, 3);
    mica_tf_value_release(value);
    finish();
}

/* The GraphDef of a model, in memory that the caller frees. */
static uint8_t *read_graph(const char *path, io_range *out_graph) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    CHECK_OK(mica_file_read(path, &bytes, &size));
    io_range meta = {bytes, size};
    CHECK(io_find_part(meta, 2, &meta) && io_find_part(meta, 2, out_graph));
    return bytes;
}

TEST(an_op_that_mica_does_not_have_is_named_with_its_node_and_function) {
    begin();
    io_range graph = {0};
    uint8_t *bytes = read_graph(MODELS "convnet/saved_model.pb", &graph);
    for (size_t i = 0; i + 6 < graph.n; i++) /* as an op: field 2, six bytes */
        if (!memcmp(graph.data + i,
                    "\x12\x06"
                    "Conv2D",
                    8))
            memcpy(bytes + (graph.data - bytes) + i,
                   "\x12\x06"
                   "Conv9D",
                   8);
    mica_status status = read_and_build(graph.data, graph.n);
    REQUIRE(status);
    CHECK(strstr(mica_status_message(status), "of op Conv9D in the function '__inference_"));
    CHECK_FAILS(status, MICA_UNSUPPORTED, "Op type not registered 'Conv9D'");
    mica_free(bytes);
    finish();
}

/* Every byte changed in turn: whatever comes of it, the process lives and nothing is lost. */
static void damage(const char *path) {
    io_range graph = {0};
    uint8_t *bytes = read_graph(path, &graph), *copy = mica_alloc(graph.n);
    size_t step = getenv("MICA_TEST_SOAK") ? 1 : 29, n_refused = 0;
    REQUIRE(copy);
    for (size_t i = 0; i < graph.n; i += step) {
        memcpy(copy, graph.data, graph.n);
        copy[i] ^= (uint8_t)(1 + i * 37 % 255);
        mica_status status = read_and_build(copy, i % 2 ? graph.n : graph.n - i);
        n_refused += status != NULL;
        mica_status_release(status);
    }
    CHECK(n_refused > graph.n / step / 4);
    mica_free(copy);
    mica_free(bytes);
}

TEST(damaged_graphs_are_refused) {
    begin();
    damage(MODELS "control/saved_model.pb");
    damage(MODELS "recurrent/saved_model.pb");
    finish();
}

TEST(loading_survives_the_failure_of_any_allocation) {
    begin();
    mica_saved_model *model = NULL;
    for (int64_t n = 1; n < 100000 && !model; n += 7) {
        mica_memory_fail_nth(n, false);
        mica_status status = mica_saved_model_load(MODELS "dense", device, NULL, &model);
        mica_tf_graph *graph = NULL;
        if (!status) status = mica_saved_model_graph(model, "serving_default", &graph, NULL, NULL);
        bool failed = status != NULL;
        mica_memory_fail_nth(0, false);
        mica_tf_graph_release(graph);
        if (failed) {
            mica_saved_model_release(model);
            model = NULL;
        }
        mica_status_release(status);
    }
    CHECK(model);
    mica_saved_model_release(model);
    finish();
}
