#include "support/convnet.h"

#include <math.h>

enum { KERNEL = 5, CHANNELS_1 = 16, CHANNELS_2 = 32, HIDDEN = 128 };

static const double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-7;

/* Shapes of the parameters: weights at even places, biases after them. */
static void parameter_types(const mnist_shape *s, mica_type types[MNIST_PARAMETERS]) {
    int64_t flat = (s->rows / 4) * (s->columns / 4) * CHANNELS_2;
    types[0] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(KERNEL, KERNEL, 1, CHANNELS_1));
    types[1] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(CHANNELS_1));
    types[2] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(KERNEL, KERNEL, CHANNELS_1, CHANNELS_2));
    types[3] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(CHANNELS_2));
    types[4] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(flat, HIDDEN));
    types[5] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(HIDDEN));
    types[6] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(HIDDEN, s->classes));
    types[7] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(s->classes));
}

static mica_value number(mica_graph *g, double value) {
    return mica_scalar(g, MICA_DTYPE_f32, value);
}

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

static mica_value zeros(mica_graph *g, const mica_type *type) {
    return mica_broadcast_to(g, number(g, 0), dims_of(type));
}

/* Uniform in +-(6 / fan_in)^(1/2); parameter `place` has the counters from place * 2^32 on. */
static mica_value random_weights(mica_graph *g, mica_value key, int place, const mica_type *type) {
    uint32_t counter[4] = {0, (uint32_t)place, 0, 0};
    mica_type counter_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(4));
    int64_t fan_in = mica_type_elements(type) / type->dims[type->rank - 1];
    double limit = sqrt(6.0 / (double)fan_in);
    mica_value bits = mica_rng_bits(g, key, mica_constant(g, (mica_data){&counter_type, counter}),
                                    dims_of(type), MICA_DTYPE_u32);
    mica_value unit = mica_mul(g, mica_convert(g, bits, MICA_DTYPE_f32), number(g, 0x1p-32));
    return mica_mul(g, mica_sub(g, unit, number(g, 0.5)), number(g, 2 * limit));
}

mica_status mnist_build_start(const mnist_shape *shape, mica_graph **out_graph) {
    mica_status status = mica_graph_create("mnist_start", out_graph);
    if (status) return status;
    mica_graph *g = *out_graph;
    mica_type types[MNIST_PARAMETERS], key_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    parameter_types(shape, types);
    mica_value key = mica_parameter(g, &key_type);
    for (int i = 0; i < MNIST_PARAMETERS; i++)
        mica_output(g, i % 2 == 0 ? random_weights(g, key, i, &types[i]) : zeros(g, &types[i]));
    for (int i = 0; i < 2 * MNIST_PARAMETERS; i++)
        mica_output(g, zeros(g, &types[i % MNIST_PARAMETERS]));
    mica_output(g, number(g, 0));
    return mica_graph_check(g);
}

static mica_value conv_relu(mica_graph *g, mica_value x, mica_value w, mica_value b) {
    mica_ints one = MICA_INTS(1, 1), half = MICA_INTS(KERNEL / 2, KERNEL / 2);
    mica_value y = mica_conv(g, x, w, "N01C,01IO,N01C", one, half, half, one, one, 1, 1);
    return mica_relu(g, mica_add(g, y, b));
}

/* 2x2 max pooling; an odd last row or column is left out. */
static mica_value pool(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return x;
    int64_t n = type->dims[0], h = type->dims[1] / 2, w = type->dims[2] / 2, c = type->dims[3];
    x = mica_slice(g, x, MICA_INTS(0, 0, 0, 0), MICA_INTS(n, 2 * h, 2 * w, c),
                   MICA_INTS(1, 1, 1, 1));
    x = mica_reshape(g, x, MICA_INTS(n, h, 2, w, 2, c));
    return mica_reduce(g, x, "max", MICA_INTS(2, 4));
}

static mica_value logits(mica_graph *g, const mnist_shape *s, mica_value images,
                         const mica_value *p) {
    mica_value x = mica_mul(g, mica_convert(g, images, MICA_DTYPE_f32), number(g, 1.0 / 255));
    x = mica_reshape(g, x, MICA_INTS(s->batch, s->rows, s->columns, 1));
    x = pool(g, conv_relu(g, x, p[0], p[1]));
    x = pool(g, conv_relu(g, x, p[2], p[3]));
    x = mica_reshape(g, x, MICA_INTS(s->batch, (s->rows / 4) * (s->columns / 4) * CHANNELS_2));
    x = mica_relu(g, mica_add(g, mica_matmul(g, x, p[4]), p[5]));
    return mica_add(g, mica_matmul(g, x, p[6]), p[7]);
}

static mica_value cross_entropy(mica_graph *g, const mnist_shape *s, mica_value scores,
                                mica_value labels) {
    mica_value classes = mica_iota(g, MICA_INTS(s->batch, s->classes), 1, MICA_DTYPE_u8);
    mica_value right =
        mica_compare(g, mica_reshape(g, labels, MICA_INTS(s->batch, 1)), classes, "eq");
    mica_value picked =
        mica_mul(g, mica_log_softmax(g, scores, 1), mica_convert(g, right, MICA_DTYPE_f32));
    return mica_div(g, mica_sum(g, picked, MICA_INTS(0, 1)), number(g, -(double)s->batch));
}

/* Adam: m = b1 m + (1 - b1) d, v = b2 v + (1 - b2) d^2, p -= rate' m / (v^(1/2) + epsilon) with
 * rate' = rate (1 - b2^t)^(1/2) / (1 - b1^t). */
static void adam(mica_graph *g, mica_value rate, mica_value *p, mica_value *m, mica_value *v,
                 mica_value d) {
    *m = mica_add(g, mica_mul(g, *m, number(g, adam_beta1)),
                  mica_mul(g, d, number(g, 1 - adam_beta1)));
    *v = mica_add(g, mica_mul(g, *v, number(g, adam_beta2)),
                  mica_mul(g, mica_mul(g, d, d), number(g, 1 - adam_beta2)));
    mica_value slope = mica_div(g, *m, mica_add(g, mica_sqrt(g, *v), number(g, adam_epsilon)));
    *p = mica_sub(g, *p, mica_mul(g, rate, slope));
}

mica_status mnist_build_step(const mnist_shape *shape, mica_graph **out_graph) {
    mica_status status = mica_graph_create("mnist_step", out_graph);
    if (status) return status;
    mica_graph *g = *out_graph;
    enum { N = MNIST_PARAMETERS };
    mica_type types[N], scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_type image_type =
        mica_type_make(MICA_DTYPE_u8, MICA_INTS(shape->batch, shape->rows, shape->columns));
    mica_type label_type = mica_type_make(MICA_DTYPE_u8, MICA_INTS(shape->batch));
    parameter_types(shape, types);

    mica_value state[MNIST_STATE], gradients[N];
    for (int i = 0; i < 3 * N; i++) state[i] = mica_parameter(g, &types[i % N]);
    state[3 * N] = mica_parameter(g, &scalar);
    mica_value images = mica_parameter(g, &image_type), labels = mica_parameter(g, &label_type);
    mica_value rate = mica_parameter(g, &scalar);

    mica_value loss = cross_entropy(g, shape, logits(g, shape, images, state), labels);
    mica_gradient(g, loss, state, N, gradients);

    mica_value t = mica_add(g, state[3 * N], number(g, 1));
    mica_value decay1 = mica_sub(g, number(g, 1), mica_pow(g, number(g, adam_beta1), t));
    mica_value decay2 = mica_sub(g, number(g, 1), mica_pow(g, number(g, adam_beta2), t));
    rate = mica_div(g, mica_mul(g, rate, mica_sqrt(g, decay2)), decay1);
    for (int i = 0; i < N; i++)
        adam(g, rate, &state[i], &state[N + i], &state[2 * N + i], gradients[i]);
    state[3 * N] = t;
    for (int i = 0; i < MNIST_STATE; i++) mica_output(g, state[i]);
    mica_output(g, loss);
    return mica_graph_check(g);
}

mica_status mnist_build_score(const mnist_shape *shape, mica_graph **out_graph) {
    mica_status status = mica_graph_create("mnist_score", out_graph);
    if (status) return status;
    mica_graph *g = *out_graph;
    mica_type types[MNIST_PARAMETERS];
    mica_type image_type =
        mica_type_make(MICA_DTYPE_u8, MICA_INTS(shape->batch, shape->rows, shape->columns));
    mica_type label_type = mica_type_make(MICA_DTYPE_u8, MICA_INTS(shape->batch));
    parameter_types(shape, types);
    mica_value parameters[MNIST_PARAMETERS];
    for (int i = 0; i < MNIST_PARAMETERS; i++) parameters[i] = mica_parameter(g, &types[i]);
    mica_value images = mica_parameter(g, &image_type), labels = mica_parameter(g, &label_type);
    mica_value guess = mica_argmax(g, logits(g, shape, images, parameters), 1, MICA_DTYPE_i32);
    mica_value right = mica_compare(g, guess, mica_convert(g, labels, MICA_DTYPE_i32), "eq");
    mica_output(g, mica_reduce(g, mica_convert(g, right, MICA_DTYPE_i32), "sum", MICA_INTS(0)));
    return mica_graph_check(g);
}
