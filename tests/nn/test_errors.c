/* Wrong operands and options: the first error sticks, names the layer and the shapes, and nothing
 * crashes or leaks. */
#include "mica/nn.h"
#include "support/golden.h"
#include "test.h"

typedef struct bench {
    mica_graph *g;
    mica_value none, vector, matrix, images, sequence, integers, key;
} bench;

static bool bench_begin(bench *b) {
    *b = (bench){0};
    if (!test_ok(mica_graph_create("bench", &b->g), __FILE__, __LINE__, "create")) return false;
    mica_type vector = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4, 3));
    mica_type images = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 4, 5, 5));
    mica_type sequence = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 5, 3));
    mica_type integers = mica_type_make(MICA_DTYPE_i32, MICA_INTS(4, 3));
    mica_type key = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    b->vector = mica_parameter(b->g, &vector);
    b->matrix = mica_parameter(b->g, &matrix);
    b->images = mica_parameter(b->g, &images);
    b->sequence = mica_parameter(b->g, &sequence);
    b->integers = mica_parameter(b->g, &integers);
    b->key = mica_parameter(b->g, &key);
    return true;
}

/* The expression leaves this error on the graph; taken away, the graph can be built on. */
#define FAILS(expression, part)                                                                    \
    do {                                                                                           \
        (void)(expression);                                                                        \
        CHECK_FAILS(mica_graph_take_error(b.g), MICA_INVALID_ARGUMENT, part);                      \
        CHECK(!mica_value_is_null(mica_add(b.g, b.vector, b.vector)));                             \
    } while (0)

TEST(layers_name_themselves_and_what_does_not_fit) {
    bench b;
    if (!bench_begin(&b)) return;
    FAILS(mica_nn_activate(b.g, b.integers, mica_nn_activation_make(MICA_NN_RELU)),
          "[activation] operand 0 must be of a float dtype, not i32[4,3]");
    FAILS(
        mica_nn_activate(b.g, b.vector, (mica_nn_activation){(mica_nn_activation_kind)99, 1, 1, 1}),
        "[activation] there is no kind 99");
    FAILS(mica_nn_softmax(b.g, b.matrix, 2), "[softmax] axis 2 is out of range for f32[4,3]");
    FAILS(mica_nn_arithmetic(b.g, MICA_NN_ADD, b.vector, b.none), "[arithmetic] operand 1 is null");
    FAILS(mica_nn_arithmetic(b.g, MICA_NN_EXP, b.vector, b.vector),
          "[arithmetic] kind 22 takes one operand");
    FAILS(mica_nn_arithmetic(b.g, MICA_NN_DIVIDE_NO_NAN, b.matrix, b.images),
          "[divide_no_nan] shapes do not fit: f32[4,3] and f32[2,4,5,5]");
    FAILS(mica_nn_reduce(b.g, MICA_NN_REDUCE_SUM, b.matrix, MICA_INTS(0, -2)),
          "[reduce] axes (0,-2) name one axis twice");
    FAILS(mica_nn_reshape(b.g, b.matrix, MICA_INTS(5, -1)),
          "[reshape] f32[4,3] has 12 elements and does not fit shape");
    FAILS(mica_nn_slice(b.g, b.matrix, MICA_INTS(0), MICA_INTS(1, 1), MICA_NO_INTS),
          "[slice] start has 1 entries, not 2");
    mica_value parts[2];
    FAILS(mica_nn_split(b.g, b.matrix, 0, MICA_INTS(1, 2), parts),
          "[split] parts (1,2) do not make up axis 0 of f32[4,3]");
    FAILS(mica_nn_gather(b.g, b.matrix, b.matrix, 0), "[gather] indices must be integers");
    FAILS(mica_nn_gather(b.g, b.images, b.integers, 0),
          "[gather] indices i32[4,3] do not fit the input f32[2,4,5,5]");
    FAILS(mica_nn_pad(b.g, b.vector, MICA_NN_PAD_REFLECT, MICA_INTS(3), MICA_INTS(0), 0),
          "[pad] f32[3] cannot be padded by (3) and (0): the mirror image is too short");
    FAILS(mica_nn_resize(b.g, b.images, MICA_INTS(0, 4), MICA_NN_NEAREST, false),
          "[resize] f32[2,4,5,5] cannot be resized to (0,4)");
    FAILS(mica_nn_resize(b.g, b.images, MICA_INTS(2, 4, 5, 5), MICA_NN_NEAREST, false),
          "[resize] f32[2,4,5,5] cannot be resized to (2,4,5,5)");
    FAILS(mica_nn_resize(b.g, b.images, MICA_NO_INTS, MICA_NN_NEAREST, false),
          "[resize] f32[2,4,5,5] cannot be resized to ()");
    FAILS(mica_nn_resize(b.g, b.vector, MICA_INTS(4, 4), MICA_NN_NEAREST, false),
          "[resize] f32[3] cannot be resized to (4,4)");
    FAILS(mica_nn_resize(b.g, b.vector, MICA_INTS(4), (mica_nn_sample_mode)2, false),
          "[resize] f32[3] cannot be resized to (4) in mode 2");
    FAILS(mica_nn_resize(b.g, b.integers, MICA_INTS(4), MICA_NN_LINEAR_SAMPLES, false),
          "[resize] operand 0 must be of a float dtype");
    FAILS(mica_nn_matmul(b.g, b.vector, b.matrix, 1, true, false),
          "[matmul] a vector cannot be transposed: f32[3] x f32[4,3]");
    FAILS(mica_nn_fully_connected(b.g, b.images, b.matrix, b.none),
          "[fully_connected] weights f32[4,3] do not fit the input f32[2,4,5,5]");
    FAILS(mica_nn_fully_connected(b.g, b.sequence, b.matrix, b.vector),
          "[fully_connected] bias is f32[3]");
    mica_graph_release(b.g);
}

TEST(images_and_normalisations_say_which_axis_is_wrong) {
    bench b;
    if (!bench_begin(&b)) return;
    mica_nn_conv2d_options conv = MICA_NN_CONV2D_OPTIONS;
    FAILS(mica_nn_conv2d(b.g, b.images, b.matrix, b.none, &conv),
          "[conv2d] input and weights must have 4 axes, not f32[2,4,5,5] and f32[4,3]");
    FAILS(mica_nn_conv2d(b.g, b.images, b.images, b.vector, &conv), "[conv2d] bias is f32[3]");
    conv.groups = 3;
    FAILS(mica_nn_conv2d(b.g, b.images, b.images, b.none, &conv),
          "[conv2d] weights f32[2,4,5,5] do not fit the input f32[2,4,5,5], kind 0 with 3 groups");
    conv.strides[1] = 0;
    FAILS(mica_nn_conv2d(b.g, b.images, b.images, b.none, &conv), "[conv2d] strides (1,0)");
    conv.size = 8;
    FAILS(mica_nn_conv2d(b.g, b.images, b.images, b.none, &conv),
          "[conv2d] the options have size 8");
    mica_nn_pool2d_options pool = MICA_NN_POOL2D_OPTIONS;
    FAILS(mica_nn_pool2d(b.g, b.matrix, &pool), "[pool2d] windows of (2,2) over f32[4,3]");
    pool.kind = (mica_nn_pool_kind)0;
    FAILS(mica_nn_pool2d(b.g, b.images, &pool), "[pool2d] there is no kind 0");
    mica_value out[3];
    FAILS(mica_nn_batch_norm(b.g, b.images, b.vector, b.vector, b.none, b.none, 1, 1e-5, 0.9, out),
          "[batch_norm] mean is f32[3], but axis 1 of the input f32[2,4,5,5] has 4 elements");
    FAILS(mica_nn_layer_norm(b.g, b.images, b.none, b.none, MICA_INTS(4), 1e-5),
          "[layer_norm] the normalized shape (4) is not that of the last axes of f32[2,4,5,5]");
    FAILS(mica_nn_group_norm(b.g, b.images, b.none, b.none, 3, 1e-5),
          "[group_norm] the 4 channels of f32[2,4,5,5] do not make 3 groups");
    FAILS(mica_nn_instance_norm(b.g, b.matrix, b.none, b.none, b.none, b.none, 1e-5, 0.9, out),
          "[instance_norm] the input f32[4,3]");
    mica_graph_release(b.g);
}

TEST(networks_losses_and_optimizers_say_what_they_were_given) {
    bench b;
    if (!bench_begin(&b)) return;
    mica_value out[4], list[4] = {b.matrix, b.matrix, b.matrix, b.matrix};
    FAILS(mica_nn_dropout(b.g, b.vector, 1.5, b.key, 0), "[dropout] a rate of 1.5");
    FAILS(mica_nn_dropout(b.g, b.vector, 0.5, b.none, 0), "[dropout] the key must be u32[2], not");
    mica_nn_embedding_options embedding = MICA_NN_EMBEDDING_OPTIONS;
    embedding.padding_index = 4;
    FAILS(mica_nn_embedding(b.g, b.matrix, b.integers, &embedding, out),
          "[embedding] weights f32[4,3] must be a matrix, with padding index 4");
    mica_nn_lstm_options lstm = MICA_NN_LSTM_OPTIONS;
    mica_nn_lstm_weights weights = {.size = sizeof weights, .input = list, .hidden = list};
    FAILS(mica_nn_lstm(b.g, b.sequence, &weights, b.none, b.none, b.none, b.none, &lstm, out),
          "[lstm] input f32[2,5,3] must be (N, T, F), with hidden size 0");
    lstm.hidden_size = 4;
    FAILS(mica_nn_lstm(b.g, b.sequence, &weights, b.none, b.none, b.none, b.none, &lstm, out),
          "[lstm] hidden weights 0 must have shape (4,4), not f32[4,3]");
    FAILS(mica_nn_lstm(b.g, b.sequence, &weights, b.vector, b.none, b.none, b.none, &lstm, out),
          "[lstm] the initial hidden state 0 must have shape (1,1,2,4), not f32[3]");
    FAILS(mica_nn_attention(b.g, b.matrix, b.images, b.matrix, b.none, 1, 0, b.none),
          "[attention] query f32[4,3], key f32[2,4,5,5] and value f32[4,3] do not fit");
    mica_nn_multihead_options heads = MICA_NN_MULTIHEAD_OPTIONS;
    mica_nn_multihead_weights projections = {.size = sizeof projections,
                                             .query = b.matrix,
                                             .key = b.matrix,
                                             .value = b.matrix,
                                             .output = b.matrix};
    FAILS(mica_nn_multihead_attention(b.g, b.sequence, b.sequence, b.sequence, &projections, b.none,
                                      b.none, b.none, &heads),
          "[multihead_attention] query weights f32[4,3] do not fit query f32[2,5,3]");
    mica_type square = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3, 3));
    mica_value eye = mica_parameter(b.g, &square);
    projections = (mica_nn_multihead_weights){
        .size = sizeof projections, .query = eye, .key = eye, .value = eye, .output = eye};
    FAILS(mica_nn_multihead_attention(b.g, b.sequence, b.sequence, b.sequence, &projections,
                                      b.integers, b.none, b.none, &heads),
          "[multihead_attention] key mask i32[4,3] and attention mask null do not fit 2 examples");
    FAILS(mica_nn_multihead_attention(b.g, b.sequence, b.sequence, b.sequence, &projections, b.none,
                                      b.matrix, b.none, &heads),
          "[multihead_attention] key mask null and attention mask f32[4,3] do not fit");
    heads.head_count = 2;
    FAILS(mica_nn_multihead_attention(b.g, b.sequence, b.sequence, b.sequence, &projections, b.none,
                                      b.none, b.none, &heads),
          "[multihead_attention] the model's dimension is no multiple of the heads");
    projections.key_attention_bias = b.vector;
    heads.head_count = 1;
    FAILS(mica_nn_multihead_attention(b.g, b.sequence, b.sequence, b.sequence, &projections, b.none,
                                      b.none, b.none, &heads),
          "[multihead_attention] attention biases come in pairs");
    mica_nn_loss_options loss = MICA_NN_LOSS_OPTIONS;
    loss.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
    mica_type four = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4));
    FAILS(mica_nn_loss(b.g, b.matrix, mica_parameter(b.g, &four), b.none, &loss),
          "[loss] labels f32[4] do not fit predictions f32[4,3]");
    loss.kind = MICA_NN_MEAN_ABSOLUTE_ERROR;
    FAILS(mica_nn_loss(b.g, b.matrix, b.vector, b.none, &loss),
          "[loss] labels f32[3] do not fit predictions f32[4,3]");
    FAILS(mica_nn_loss(b.g, b.matrix, b.matrix, b.vector, &loss),
          "[loss] weights f32[3] do not fit the losses f32[4,3]");
    loss.reduction = MICA_NN_REDUCE_ARGMAX;
    FAILS(mica_nn_loss(b.g, b.matrix, b.matrix, b.none, &loss),
          "[loss] there is no kind 0 with reduction 5");
    mica_nn_yolo_options yolo = MICA_NN_YOLO_OPTIONS;
    FAILS(mica_nn_yolo_loss(b.g, b.images, b.images, &yolo), "[yolo_loss] predictions");
    mica_nn_optimizer adam = MICA_NN_OPTIMIZER;
    adam.kind = MICA_NN_ADAM;
    mica_value rate = mica_scalar(b.g, MICA_DTYPE_f32, 0.1), state[2] = {b.matrix, b.vector};
    FAILS(mica_nn_optimizer_update(b.g, &adam, rate, rate, b.matrix, b.matrix, state, out),
          "[adam] parameter f32[4,3], but state f32[3]");
    state[1] = b.matrix;
    FAILS(mica_nn_optimizer_update(b.g, &adam, rate, b.none, b.matrix, b.matrix, state, out),
          "[adam] operand 1 is null");
    FAILS(mica_nn_optimizer_update(b.g, &adam, b.vector, rate, b.matrix, b.matrix, state, out),
          "[adam] learning rate f32[3]");
    mica_graph_release(b.g);
}

TEST(defaults_are_those_of_the_header) {
    static const struct {
        mica_nn_activation_kind kind;
        double a, b;
    } special[] = {{MICA_NN_RELU, 0, 1},
                   {MICA_NN_LINEAR, 1, 0},
                   {MICA_NN_HARD_SIGMOID, 0.2, 0.5},
                   {MICA_NN_HARD_SHRINK, 0.5, 1},
                   {MICA_NN_SOFT_SHRINK, 0.5, 1},
                   {MICA_NN_ELU, 1, 1},
                   {MICA_NN_TANH, 1, 1}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        mica_nn_activation f = mica_nn_activation_make(special[i].kind);
        CHECK(f.kind == special[i].kind && f.a == special[i].a && f.b == special[i].b && f.c == 1);
    }
    mica_nn_loss_options loss = MICA_NN_LOSS_OPTIONS;
    CHECK(loss.weight == 1 && loss.label_smoothing == 0 && loss.class_count == 1);
    CHECK(loss.epsilon == 1e-7 && loss.delta == 1 && loss.axis == 1);
    mica_nn_optimizer o = MICA_NN_OPTIMIZER;
    CHECK(o.beta1 == 0.9 && o.beta2 == 0.999 && o.epsilon == 1e-8 && o.alpha == 0.99);
    CHECK(o.clip_min == -1 && o.clip_max == 1 && o.maximum_norm == 1 && o.gradient_rescale == 1);
    CHECK(!o.clips && !o.nesterov && !o.amsgrad && !o.centered && o.momentum == 0);
    mica_nn_yolo_options yolo = MICA_NN_YOLO_OPTIONS;
    CHECK(yolo.position_scale == 10 && yolo.size_scale == 10 && yolo.no_object_scale == 5);
    CHECK(yolo.object_scale == 100 && yolo.class_scale == 2 && yolo.rescores);
    CHECK(yolo.minimum_iou_for_presence == 0.7 && yolo.maximum_iou_for_absence == 0.3);
    mica_nn_embedding_options embedding = MICA_NN_EMBEDDING_OPTIONS;
    CHECK(embedding.p_norm == 2 && embedding.padding_index < 0 && embedding.maximum_norm == 0);
    for (int kind = -1; kind <= MICA_NN_ARITHMETIC_COUNT; kind++) {
        bool two = kind <= 3 || kind == 21 || kind >= 26;
        bool known = kind >= 0 && kind < MICA_NN_ARITHMETIC_COUNT;
        CHECK(mica_nn_arithmetic_arity((mica_nn_arithmetic_kind)kind) == (known ? 1 + two : 0));
    }
}

TEST(after_an_error_every_layer_answers_null_and_the_first_error_stays) {
    golden_values all;
    REQUIRE(golden_read("tests/nn/golden.txt.gz", &all));
    for (int32_t i = 0; i < all.n; i++) {
        const golden_case *c = &all.cases[i];
        if (!strcmp(c->kind, "optimizer")) continue;
        mica_graph *g = NULL;
        CHECK_OK(mica_graph_create("errors", &g));
        if (!g) continue;
        mica_value *values = calloc((size_t)c->n_tensors, sizeof *values);
        mica_value out[GOLDEN_RESULTS];
        for (int32_t k = 0; k < c->n_tensors; k++)
            if (golden_is_in(&c->tensors[k], "in", NULL))
                values[k] = mica_parameter(g, &c->tensors[k].type);
        mica_graph_fail(g, mica_status_create(MICA_INVALID_ARGUMENT, "[first] error"));
        golden_operands operands = {c, values};
        int32_t n = golden_build(g, &operands, out);
        CHECK(n > 0);
        CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[first] error");
        memset(values, 0, (size_t)c->n_tensors * sizeof *values);
        mica_status_release(mica_graph_take_error(g));
        golden_build(g, &operands, out);
        CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[");
        free(values);
        mica_graph_release(g);
    }
    golden_free(&all);
}

/* ---- changed cases ----------------------------------------------------------------------------*/

static unsigned draw(unsigned *seed, unsigned n) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void change_type(mica_type *type, unsigned *seed) {
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 64};
    static const mica_dtype dtypes[] = {MICA_DTYPE_f32, MICA_DTYPE_f64, MICA_DTYPE_f16,
                                        MICA_DTYPE_i32, MICA_DTYPE_u8,  MICA_DTYPE_bool,
                                        MICA_DTYPE_i64};
    switch (draw(seed, 4)) {
    case 0: type->dtype = dtypes[draw(seed, 7)]; break;
    case 1:
        if (type->rank > 0) type->dims[--type->rank] = 0;
        break;
    case 2:
        if (type->rank < 6) type->dims[type->rank++] = sizes[draw(seed, 6)];
        break;
    default:
        if (type->rank > 0) type->dims[draw(seed, (unsigned)type->rank)] = sizes[draw(seed, 6)];
    }
}

static void change_settings(golden_case *c, unsigned *seed) {
    static const double values[] = {-3, -1, 0, 1, 2, 3, 7, 0.5, 1e9};
    if (c->n_settings == 0) return;
    golden_setting *s = &c->settings[draw(seed, (unsigned)c->n_settings)];
    /* lists of weights are as long as layers and directions say */
    if (!strcmp(s->name, "layers") || !strcmp(s->name, "bidirectional")) return;
    if (s->n > 0) s->values[draw(seed, (unsigned)s->n)] = values[draw(seed, 9)];
}

/* Builds a changed case, with its gradient when all is well. */
static void build_changed(const golden_case *original, unsigned *seed) {
    golden_case c = *original;
    mica_graph *g = NULL;
    mica_value *values = calloc((size_t)c.n_tensors, sizeof *values), out[GOLDEN_RESULTS];
    CHECK_OK(mica_graph_create(c.name, &g));
    bool settings_change = draw(seed, 2);
    if (settings_change) change_settings(&c, seed);
    for (int32_t k = 0; k < c.n_tensors; k++) {
        mica_type type = c.tensors[k].type;
        if (!golden_is_in(&c.tensors[k], "in", NULL)) continue;
        if (!settings_change && draw(seed, 3) == 0) change_type(&type, seed);
        values[k] = draw(seed, 40) ? mica_parameter(g, &type) : MICA_NULL_VALUE;
    }
    golden_operands operands = {&c, values};
    int32_t n = golden_build(g, &operands, out);
    mica_status status = mica_graph_check(g);
    if (status) {
        CHECK(mica_status_message(status)[0] == '[');
        if (mica_status_code(status) != MICA_INVALID_ARGUMENT)
            test_report(__FILE__, __LINE__, "%s: %s", c.name, mica_status_message(status));
    } else {
        for (int32_t i = 0; i < n; i++)
            if (!mica_value_is_null(out[i])) mica_output(g, out[i]);
        CHECK_OK(mica_graph_verify(g));
    }
    mica_status_release(status);
    mica_graph_release(g);
    free(values);
}

TEST(operands_of_any_type_and_any_setting_give_a_graph_or_an_error) {
    golden_values all;
    unsigned seed = 2024;
    int times = getenv("MICA_TEST_QUICK") ? 4 : 60;
    REQUIRE(golden_read("tests/nn/golden.txt.gz", &all));
    for (int32_t i = 0; i < all.n; i++)
        for (int k = 0; k < times && strcmp(all.cases[i].kind, "optimizer") != 0; k++)
            build_changed(&all.cases[i], &seed);
    golden_free(&all);
}

/* ---- failing allocations ----------------------------------------------------------------------*/

/* One graph with the gradient of nearly everything. */
static mica_status build_much(mica_graph **out_graph) {
    MICA_TRY(mica_graph_create("much", out_graph));
    mica_graph *g = *out_graph;
    mica_type sequence = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3, 4));
    mica_type square = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4, 4));
    mica_value x = mica_parameter(g, &sequence), w = mica_parameter(g, &square), d = w;
    mica_value none = MICA_NULL_VALUE, list[4] = {w, w, w, w}, out[4];
    mica_nn_lstm_options lstm = MICA_NN_LSTM_OPTIONS;
    lstm.hidden_size = 4;
    mica_nn_lstm_weights weights = {.size = sizeof weights, .input = list, .hidden = list};
    mica_nn_lstm(g, x, &weights, none, none, none, none, &lstm, out);
    mica_nn_multihead_options heads = MICA_NN_MULTIHEAD_OPTIONS;
    mica_nn_multihead_weights projections = {
        .size = sizeof projections, .query = w, .key = w, .value = w, .output = w};
    mica_value y =
        mica_nn_multihead_attention(g, out[0], x, x, &projections, none, none, none, &heads);
    y = mica_nn_resize(g, y, MICA_INTS(6, 5), MICA_NN_LINEAR_SAMPLES, false);
    y = mica_nn_layer_norm(g, y, none, none, MICA_INTS(6, 5), 1e-5);
    mica_nn_loss_options loss = MICA_NN_LOSS_OPTIONS;
    loss.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
    y = mica_nn_loss(g, y, mica_zeros_like(g, y), none, &loss);
    if (!mica_value_is_null(y)) mica_gradient(g, y, &w, 1, &d);
    mica_nn_optimizer adam = MICA_NN_OPTIMIZER;
    adam.kind = MICA_NN_ADAM;
    mica_value state[2] = {w, w}, rate = mica_scalar(g, MICA_DTYPE_f32, 1);
    mica_nn_optimizer_update(g, &adam, rate, rate, w, d, state, out);
    mica_output(g, out[0]);
    return mica_graph_check(g);
}

TEST(every_allocation_may_fail_while_layers_are_built) {
    int64_t live = mica_memory_live_blocks(), stride = getenv("MICA_TEST_QUICK") ? 41 : 1;
    for (int64_t n = 1;; n += stride) {
        mica_graph *g = NULL;
        mica_memory_fail_nth(n, false);
        mica_status status = build_much(&g);
        mica_memory_fail_nth(0, false);
        bool whole = status == NULL;
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        mica_graph_release(g);
        CHECK(mica_memory_live_blocks() == live);
        if (whole) break;
    }
}
