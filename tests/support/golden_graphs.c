/* The function of mica/nn.h that a case of the golden values is for, on the case's operands. */
#include <stdio.h>
#include <string.h>

#include "support/golden.h"

static mica_value operand(const golden_operands *o, const char *name) {
    return golden_operand(o, name);
}
static double number(const golden_operands *o, const char *name, double otherwise) {
    return golden_number(o->c, name, otherwise);
}
static int integer(const golden_operands *o, const char *name, int otherwise) {
    return (int)golden_number(o->c, name, otherwise);
}

/* How many entries a setting has, at most n. */
static int32_t list(const golden_operands *o, const char *name, int64_t *values, int32_t n) {
    golden_ints(o->c, name, values, n);
    for (int32_t i = 0; i < o->c->n_settings; i++)
        if (!strcmp(o->c->settings[i].name, name)) return o->c->settings[i].n;
    return 0;
}

static mica_nn_activation activation_of(const golden_operands *o) {
    mica_nn_activation f = mica_nn_activation_make((mica_nn_activation_kind)integer(o, "kind", 0));
    f.a = number(o, "a", f.a);
    f.b = number(o, "b", f.b);
    f.c = number(o, "c", f.c);
    return f;
}

static mica_value conv2d(mica_graph *g, const golden_operands *o) {
    mica_nn_conv2d_options options = MICA_NN_CONV2D_OPTIONS;
    options.kind = (mica_nn_conv_kind)integer(o, "kind", 0);
    options.padding_policy = (mica_nn_padding_policy)integer(o, "policy", 1);
    options.groups = integer(o, "groups", 1);
    options.channels_last = integer(o, "channels_last", 0);
    golden_ints(o->c, "strides", options.strides, 2);
    golden_ints(o->c, "dilations", options.dilations, 2);
    golden_ints(o->c, "padding", options.padding, 2);
    golden_ints(o->c, "output_padding", options.output_padding, 2);
    return mica_nn_conv2d(g, operand(o, "input"), operand(o, "weight"), operand(o, "bias"),
                          &options);
}

static mica_value pool2d(mica_graph *g, const golden_operands *o) {
    mica_nn_pool2d_options options = MICA_NN_POOL2D_OPTIONS;
    options.kind = (mica_nn_pool_kind)integer(o, "kind", 1);
    options.padding_policy = (mica_nn_padding_policy)integer(o, "policy", 1);
    options.count_includes_padding = integer(o, "count_includes_padding", 0);
    options.channels_last = integer(o, "channels_last", 0);
    golden_ints(o->c, "window", options.window, 2);
    golden_ints(o->c, "strides", options.strides, 2);
    golden_ints(o->c, "dilations", options.dilations, 2);
    golden_ints(o->c, "padding", options.padding, 2);
    return mica_nn_pool2d(g, operand(o, "x"), &options);
}

static mica_value loss(mica_graph *g, const golden_operands *o) {
    mica_nn_loss_options options = MICA_NN_LOSS_OPTIONS;
    options.kind = (mica_nn_loss_kind)integer(o, "kind", 0);
    options.reduction = (mica_nn_reduction_kind)integer(o, "reduction", 2);
    options.weight = number(o, "weight", 1);
    options.label_smoothing = number(o, "smoothing", 0);
    options.epsilon = number(o, "epsilon", 1e-7);
    options.delta = number(o, "delta", 1);
    return mica_nn_loss(g, operand(o, "x"), operand(o, "labels"), operand(o, "weights"), &options);
}

static mica_value yolo(mica_graph *g, const golden_operands *o) {
    mica_nn_yolo_options options = MICA_NN_YOLO_OPTIONS;
    float anchors[GOLDEN_VALUES];
    int64_t scales[5];
    for (int32_t i = 0; i < o->c->n_settings; i++) {
        const golden_setting *s = &o->c->settings[i];
        if (strcmp(s->name, "anchors") != 0) continue;
        for (int32_t k = 0; k < s->n; k++) anchors[k] = (float)s->values[k];
        options.anchor_count = s->n / 2;
    }
    options.anchor_boxes = anchors;
    golden_ints(o->c, "scales", scales, 5);
    options.rescores = integer(o, "rescores", 1);
    options.position_scale = (double)scales[0];
    options.size_scale = (double)scales[1];
    options.no_object_scale = (double)scales[2];
    options.object_scale = (double)scales[3];
    options.class_scale = (double)scales[4];
    return mica_nn_yolo_loss(g, operand(o, "x"), operand(o, "labels"), &options);
}

/* Operands letter0, letter1 ... ; NULL when there is none. */
static const mica_value *numbered(const golden_operands *o, char letter, mica_value *values,
                                  int32_t n) {
    char name[16];
    for (int32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%c%d", letter, (int)i);
        values[i] = operand(o, name);
    }
    return mica_value_is_null(values[0]) ? NULL : values;
}

static void lstm(mica_graph *g, const golden_operands *o, mica_value out[3]) {
    enum { MOST = 32 };
    mica_value w[MOST], u[MOST], v[MOST], b[MOST];
    mica_nn_lstm_options options = MICA_NN_LSTM_OPTIONS;
    int64_t gates[4] = {0};
    options.hidden_size = integer(o, "hidden", 1);
    options.layer_count = integer(o, "layers", 1);
    options.bidirectional = integer(o, "bidirectional", 0);
    options.returns_sequences = integer(o, "sequences", 1);
    golden_ints(o->c, "gates", gates, 4);
    for (int32_t i = 0; i < 4; i++)
        options.gates[i] = mica_nn_activation_make((mica_nn_activation_kind)gates[i]);
    options.output = mica_nn_activation_make((mica_nn_activation_kind)integer(o, "output", 5));
    int32_t n = (int32_t)(4 * options.layer_count * (options.bidirectional ? 2 : 1));
    mica_nn_lstm_weights weights = {.size = sizeof weights,
                                    .input = numbered(o, 'w', w, n),
                                    .hidden = numbered(o, 'u', u, n),
                                    .peephole = numbered(o, 'v', v, n),
                                    .bias = numbered(o, 'b', b, n)};
    mica_nn_lstm(g, operand(o, "x"), &weights, operand(o, "h0"), operand(o, "c0"),
                 operand(o, "lengths"), MICA_NULL_VALUE, &options, out);
}

static mica_value multihead(mica_graph *g, const golden_operands *o) {
    mica_nn_multihead_options options = MICA_NN_MULTIHEAD_OPTIONS;
    options.head_count = integer(o, "heads", 1);
    options.adds_zero_attention = integer(o, "zero", 0);
    mica_nn_multihead_weights weights = {.size = sizeof weights,
                                         .query = operand(o, "wq"),
                                         .key = operand(o, "wk"),
                                         .value = operand(o, "wv"),
                                         .output = operand(o, "wo"),
                                         .query_bias = operand(o, "bq"),
                                         .key_bias = operand(o, "bk"),
                                         .value_bias = operand(o, "bv"),
                                         .output_bias = operand(o, "bo"),
                                         .key_attention_bias = operand(o, "bias_k"),
                                         .value_attention_bias = operand(o, "bias_v")};
    return mica_nn_multihead_attention(g, operand(o, "query"), operand(o, "key"),
                                       operand(o, "value"), &weights, operand(o, "key_mask"),
                                       operand(o, "mask"), MICA_NULL_VALUE, &options);
}

static void embedding(mica_graph *g, const golden_operands *o, mica_value out[2]) {
    mica_nn_embedding_options options = MICA_NN_EMBEDDING_OPTIONS;
    options.padding_index = integer(o, "padding_index", -1);
    options.maximum_norm = number(o, "maximum_norm", 0);
    options.p_norm = number(o, "p_norm", 2);
    options.scales_gradient_by_frequency = integer(o, "scales_gradient_by_frequency", 0);
    mica_nn_embedding(g, operand(o, "weights"), operand(o, "indices"), &options, out);
}

static mica_value reduce(mica_graph *g, const golden_operands *o) {
    int64_t axes[GOLDEN_VALUES];
    int32_t n = list(o, "axes", axes, GOLDEN_VALUES);
    return mica_nn_reduce(g, (mica_nn_reduction_kind)integer(o, "kind", 0), operand(o, "x"),
                          (mica_ints){axes, n});
}

static mica_value pad(mica_graph *g, const golden_operands *o) {
    int64_t low[4] = {0}, high[4] = {0};
    golden_ints(o->c, "low", low, 4);
    golden_ints(o->c, "high", high, 4);
    return mica_nn_pad(g, operand(o, "x"), (mica_nn_pad_kind)integer(o, "kind", 0),
                       (mica_ints){low, 4}, (mica_ints){high, 4}, number(o, "value", 0));
}

static mica_value resize(mica_graph *g, const golden_operands *o) {
    int64_t sizes[GOLDEN_VALUES];
    int32_t n = list(o, "sizes", sizes, GOLDEN_VALUES);
    return mica_nn_resize(g, operand(o, "x"), (mica_ints){sizes, n},
                          (mica_nn_sample_mode)integer(o, "linear", 0), integer(o, "aligned", 0));
}

static mica_value layer_norm(mica_graph *g, const golden_operands *o) {
    int64_t shape[GOLDEN_VALUES];
    int32_t n = list(o, "shape", shape, GOLDEN_VALUES);
    return mica_nn_layer_norm(g, operand(o, "x"), operand(o, "gamma"), operand(o, "beta"),
                              (mica_ints){shape, n}, number(o, "epsilon", 1e-5));
}

/* ---- kinds of one result ----------------------------------------------------------------------*/

static mica_value activation(mica_graph *g, const golden_operands *o) {
    return mica_nn_activate(g, operand(o, "x"), activation_of(o));
}
static mica_value gelu(mica_graph *g, const golden_operands *o) {
    return mica_nn_gelu(g, operand(o, "x"), false);
}
static mica_value softmax(mica_graph *g, const golden_operands *o) {
    return mica_nn_softmax(g, operand(o, "x"), integer(o, "axis", 1));
}
static mica_value log_softmax(mica_graph *g, const golden_operands *o) {
    return mica_nn_log_softmax(g, operand(o, "x"), integer(o, "axis", 1));
}
static mica_value arithmetic(mica_graph *g, const golden_operands *o) {
    return mica_nn_arithmetic(g, (mica_nn_arithmetic_kind)integer(o, "kind", 0), operand(o, "x"),
                              operand(o, "y"));
}
static mica_value comparison(mica_graph *g, const golden_operands *o) {
    return mica_nn_compare(g, (mica_nn_comparison_kind)integer(o, "kind", 0), operand(o, "x"),
                           operand(o, "y"));
}
static mica_value where(mica_graph *g, const golden_operands *o) {
    return mica_nn_where(g, operand(o, "condition"), operand(o, "x"), operand(o, "y"));
}
static mica_value gather(mica_graph *g, const golden_operands *o) {
    return mica_nn_gather(g, operand(o, "x"), operand(o, "indices"), integer(o, "axis", 0));
}
static mica_value scatter(mica_graph *g, const golden_operands *o) {
    return mica_nn_scatter(g, operand(o, "x"), operand(o, "indices"), operand(o, "updates"),
                           integer(o, "axis", 0), integer(o, "adds", 0));
}
static mica_value matmul(mica_graph *g, const golden_operands *o) {
    return mica_nn_matmul(g, operand(o, "x"), operand(o, "y"), number(o, "alpha", 1),
                          integer(o, "transposes_x", 0), integer(o, "transposes_y", 0));
}
static mica_value fully_connected(mica_graph *g, const golden_operands *o) {
    return mica_nn_fully_connected(g, operand(o, "input"), operand(o, "weight"),
                                   operand(o, "bias"));
}
static mica_value gram_matrix(mica_graph *g, const golden_operands *o) {
    return mica_nn_gram_matrix(g, operand(o, "x"), number(o, "scale", 1));
}
static mica_value batch_norm_inference(mica_graph *g, const golden_operands *o) {
    return mica_nn_batch_norm_inference(g, operand(o, "x"), operand(o, "mean"),
                                        operand(o, "variance"), operand(o, "gamma"),
                                        operand(o, "beta"), 1, number(o, "epsilon", 1e-5));
}
static mica_value group_norm(mica_graph *g, const golden_operands *o) {
    return mica_nn_group_norm(g, operand(o, "x"), operand(o, "gamma"), operand(o, "beta"),
                              integer(o, "groups", 1), number(o, "epsilon", 1e-5));
}
static mica_value attention(mica_graph *g, const golden_operands *o) {
    return mica_nn_attention(g, operand(o, "q"), operand(o, "k"), operand(o, "v"),
                             operand(o, "mask"), number(o, "scale", 1), 0, MICA_NULL_VALUE);
}

static const struct {
    const char *kind;
    mica_value (*build)(mica_graph *g, const golden_operands *o);
} single[] = {{"activation", activation},
              {"gelu", gelu},
              {"softmax", softmax},
              {"log_softmax", log_softmax},
              {"arithmetic", arithmetic},
              {"comparison", comparison},
              {"where", where},
              {"reduce", reduce},
              {"gather", gather},
              {"scatter", scatter},
              {"pad", pad},
              {"resize", resize},
              {"matmul", matmul},
              {"fully_connected", fully_connected},
              {"gram_matrix", gram_matrix},
              {"conv2d", conv2d},
              {"pool2d", pool2d},
              {"batch_norm_inference", batch_norm_inference},
              {"layer_norm", layer_norm},
              {"group_norm", group_norm},
              {"attention", attention},
              {"multihead_attention", multihead},
              {"loss", loss},
              {"yolo", yolo}};

int32_t golden_build(mica_graph *g, const golden_operands *o, mica_value out[GOLDEN_RESULTS]) {
    const char *kind = o->c->kind;
    double epsilon = number(o, "epsilon", 1e-5), momentum = number(o, "momentum", 0.99);
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        if (strcmp(kind, single[i].kind) != 0) continue;
        out[0] = single[i].build(g, o);
        return 1;
    }
    mica_value x = operand(o, "x"), mean = operand(o, "mean"), variance = operand(o, "variance");
    mica_value gamma = operand(o, "gamma"), beta = operand(o, "beta");
    if (!strcmp(kind, "batch_norm")) {
        mica_nn_batch_norm(g, x, mean, variance, gamma, beta, 1, epsilon, momentum, out);
        return 3;
    }
    if (!strcmp(kind, "instance_norm")) {
        mica_nn_instance_norm(g, x, mean, variance, gamma, beta, epsilon, momentum, out);
        return mica_value_is_null(mean) ? 1 : 3;
    }
    if (!strcmp(kind, "embedding")) {
        embedding(g, o, out);
        return 2;
    }
    if (!strcmp(kind, "lstm")) {
        lstm(g, o, out);
        return 3;
    }
    return 0;
}

mica_nn_optimizer golden_optimizer(const golden_case *c) {
    mica_nn_optimizer o = MICA_NN_OPTIMIZER;
    o.kind = (mica_nn_optimizer_kind)golden_number(c, "kind", 0);
    o.gradient_rescale = golden_number(c, "rescale", 1);
    o.clips = golden_number(c, "clipping", -1) >= 0;
    o.clipping = (mica_nn_clipping_kind)golden_number(c, "clipping", 0);
    o.clip_min = golden_number(c, "clip_min", o.clip_min);
    o.clip_max = golden_number(c, "clip_max", o.clip_max);
    o.maximum_norm = golden_number(c, "maximum_norm", o.maximum_norm);
    o.custom_global_norm = golden_number(c, "custom_global_norm", 0);
    o.regularization = (mica_nn_regularization_kind)golden_number(c, "regularization", 0);
    o.regularization_scale = golden_number(c, "regularization_scale", 0);
    o.momentum = golden_number(c, "momentum", 0);
    o.nesterov = golden_number(c, "nesterov", 0) != 0;
    o.beta1 = golden_number(c, "beta1", o.beta1);
    o.beta2 = golden_number(c, "beta2", o.beta2);
    o.amsgrad = golden_number(c, "amsgrad", 0) != 0;
    o.alpha = golden_number(c, "alpha", o.alpha);
    o.centered = golden_number(c, "centered", 0) != 0;
    o.epsilon = golden_number(c, "epsilon", o.epsilon);
    return o;
}
