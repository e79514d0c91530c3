/* mica/nn.h: layers, losses and optimizers, composed of primitives.
 *
 * Every function appends nodes to a graph and follows the rules of graph.h: values nest, the first
 * error sticks to the graph, with a message that begins with the function's name in brackets.
 * Softmax, normalisations, attention, LSTM, losses, optimizer updates and the like are composites:
 * `call` nodes with a name and a body, so that a device can claim them whole. Nothing here touches
 * a device. All of it can be differentiated to any order.
 *
 * A value that is optional may be MICA_NULL_VALUE. Axes may be counted from the end. Images are
 * NCHW (batch, channels, height, width), or NHWC where an option channels_last says so. Pairs
 * of sizes are {y, x}. Options are structs that begin with their size; start from the macro of the
 * same name, which holds the defaults. Parameters, statistics and weights per channel may have any
 * shape with the right number of elements: (C) or (1,C,1,1).
 *
 * @example
 *     mica_graph *g = NULL;
 *     mica_status status = mica_graph_create("step", &g);
 *     mica_type image = mica_type_make(MICA_DTYPE_f32, MICA_INTS(8, 1, 12, 12));
 *     mica_type kernel = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4, 1, 3, 3));
 *     mica_type classes = mica_type_make(MICA_DTYPE_f32, MICA_INTS(8, 4));
 *     mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
 *     mica_value x = mica_parameter(g, &image), w = mica_parameter(g, &kernel);
 *     mica_value labels = mica_parameter(g, &classes), rate = mica_parameter(g, &scalar);
 *     mica_nn_conv2d_options conv = MICA_NN_CONV2D_OPTIONS;
 *     mica_value y = mica_nn_conv2d(g, x, w, MICA_NULL_VALUE, &conv);
 *     y = mica_nn_reduce(g, MICA_NN_REDUCE_MEAN, y, MICA_INTS(2, 3));
 *     mica_nn_loss_options loss = MICA_NN_LOSS_OPTIONS;
 *     loss.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
 *     y = mica_reshape(g, y, MICA_INTS(8, 4));
 *     y = mica_nn_loss(g, y, labels, MICA_NULL_VALUE, &loss);
 *     mica_nn_optimizer sgd = MICA_NN_OPTIMIZER;
 *     mica_value gradient, next;
 *     mica_gradient(g, y, &w, 1, &gradient);
 *     mica_nn_optimizer_update(g, &sgd, rate, MICA_NULL_VALUE, w, gradient, NULL, &next);
 *     mica_output(g, next);
 *     if (!status) status = mica_graph_verify(g);
 *     mica_graph_release(g);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_NN_H
#define MICA_NN_H

#include "graph.h"
#include "transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- activations ------------------------------------------------------------------------------
 * At a kink the derivative is that of the left side (relu'(0) = 0, as PyTorch and TensorFlow have
 * it), but of |x| at 0 it is 0. NaN stays NaN, and no derivative is NaN where the function is
 * smooth. */

typedef enum mica_nn_activation_kind {
    MICA_NN_NONE = 0,     /* x */
    MICA_NN_RELU,         /* x >= 0 ? x : a x */
    MICA_NN_LINEAR,       /* a x + b */
    MICA_NN_SIGMOID,      /* 1 / (1 + e^-x) */
    MICA_NN_HARD_SIGMOID, /* min(max(a x + b, 0), 1) */
    MICA_NN_TANH,         /* a tanh(b x) */
    MICA_NN_ABSOLUTE,     /* |x| */
    MICA_NN_SOFT_PLUS,    /* a ln(1 + e^(b x)) */
    MICA_NN_SOFT_SIGN,    /* x / (1 + |x|) */
    MICA_NN_ELU,          /* x >= 0 ? x : a (e^x - 1) */
    MICA_NN_RELU_N,       /* min(x >= 0 ? x : a x, b) */
    MICA_NN_LOG_SIGMOID,  /* ln(1 / (1 + e^-x)) */
    MICA_NN_SELU,         /* s (x >= 0 ? x : t (e^x - 1)), s 1.0507009873554805,
                             t 1.6732632423543772 */
    MICA_NN_CELU,         /* max(0, x) + min(0, a (e^(x/a) - 1)) */
    MICA_NN_HARD_SHRINK,  /* |x| > a ? x : 0 */
    MICA_NN_SOFT_SHRINK,  /* x > a ? x - a : x < -a ? x + a : 0 */
    MICA_NN_TANH_SHRINK,  /* x - tanh x */
    MICA_NN_THRESHOLD,    /* x > a ? x : b */
    MICA_NN_GELU,         /* x (1 + tanh((2/pi)^(1/2) (x + 0.044715 x^3))) / 2 */
    MICA_NN_HARD_SWISH,   /* x <= -3 ? 0 : x >= 3 ? x : x (x + 3) / 6 */
    MICA_NN_CLAMP,        /* min(max(x, a), b) */
    MICA_NN_ACTIVATION_COUNT
} mica_nn_activation_kind;

typedef struct mica_nn_activation {
    mica_nn_activation_kind kind;
    double a, b, c; /* c is kept, and used by no kind */
} mica_nn_activation;

/* With the kind's defaults: 1, 1, 1, but relu a 0, linear b 0, hard sigmoid a 0.2 b 0.5, hard and
 * soft shrink a 0.5. */
MICA_API mica_nn_activation mica_nn_activation_make(mica_nn_activation_kind kind);
MICA_API mica_value mica_nn_activate(mica_graph *g, mica_value x, mica_nn_activation activation);

/* x Phi(x) with the normal distribution function Phi: by erf, or (tanh_form) as MICA_NN_GELU. */
MICA_API mica_value mica_nn_gelu(mica_graph *g, mica_value x, bool tanh_form);
/* e^x / sum e^x along an axis, without overflow; of a slice that is all -inf: NaN. */
MICA_API mica_value mica_nn_softmax(mica_graph *g, mica_value x, int64_t axis);
MICA_API mica_value mica_nn_log_softmax(mica_graph *g, mica_value x, int64_t axis);

/* ---- arithmetic -------------------------------------------------------------------------------*/

typedef enum mica_nn_arithmetic_kind {
    MICA_NN_ADD = 0,
    MICA_NN_SUBTRACT,
    MICA_NN_MULTIPLY,
    MICA_NN_DIVIDE,
    MICA_NN_FLOOR,
    MICA_NN_ROUND, /* ties to even */
    MICA_NN_CEIL,
    MICA_NN_SQRT,
    MICA_NN_RSQRT,
    MICA_NN_SIN,
    MICA_NN_COS,
    MICA_NN_TAN,
    MICA_NN_ASIN,
    MICA_NN_ACOS,
    MICA_NN_ATAN,
    MICA_NN_SINH,
    MICA_NN_COSH,
    MICA_NN_TANH_OF,
    MICA_NN_ASINH,
    MICA_NN_ACOSH,
    MICA_NN_ATANH,
    MICA_NN_POW,
    MICA_NN_EXP,
    MICA_NN_EXP2,
    MICA_NN_LOG,
    MICA_NN_LOG2,
    MICA_NN_MULTIPLY_NO_NAN, /* 0 where y is 0, whatever x is; its derivatives are y and
                                multiply_no_nan(cotangent, x), as TensorFlow's MulNoNan */
    MICA_NN_DIVIDE_NO_NAN,   /* 0 where y is 0, and so are its derivatives there */
    MICA_NN_MIN,             /* of equals each gets half of the cotangent */
    MICA_NN_MAX,
    MICA_NN_ARITHMETIC_COUNT
} mica_nn_arithmetic_kind;

/* Operands of a kind: 1 or 2; 0 for a number that is no kind. */
MICA_API int32_t mica_nn_arithmetic_arity(mica_nn_arithmetic_kind kind);
/* y is the null value for kinds of one operand. Shapes broadcast as in numpy. */
MICA_API mica_value mica_nn_arithmetic(mica_graph *g, mica_nn_arithmetic_kind kind, mica_value x,
                                       mica_value y);

typedef enum mica_nn_comparison_kind {
    MICA_NN_EQUAL = 0,
    MICA_NN_NOT_EQUAL,
    MICA_NN_LESS,
    MICA_NN_GREATER,
    MICA_NN_LESS_OR_EQUAL,
    MICA_NN_GREATER_OR_EQUAL,
    MICA_NN_LOGICAL_AND, /* logical kinds take any dtype: true is what is not 0 */
    MICA_NN_LOGICAL_OR,
    MICA_NN_LOGICAL_NOT, /* the only kind of one operand */
    MICA_NN_LOGICAL_NAND,
    MICA_NN_LOGICAL_NOR,
    MICA_NN_LOGICAL_XOR,
    MICA_NN_COMPARISON_COUNT
} mica_nn_comparison_kind;

MICA_API int32_t mica_nn_comparison_arity(mica_nn_comparison_kind kind);
/* The result is of dtype bool. Shapes broadcast. */
MICA_API mica_value mica_nn_compare(mica_graph *g, mica_nn_comparison_kind kind, mica_value x,
                                    mica_value y);
/* x where condition is true (or not 0), else y; all three broadcast. */
MICA_API mica_value mica_nn_where(mica_graph *g, mica_value condition, mica_value x, mica_value y);

/* ---- reductions -------------------------------------------------------------------------------*/

typedef enum mica_nn_reduction_kind {
    MICA_NN_REDUCE_NONE = 0, /* x */
    MICA_NN_REDUCE_SUM,
    MICA_NN_REDUCE_MEAN,
    MICA_NN_REDUCE_MAX, /* of equals each gets the same share of the cotangent */
    MICA_NN_REDUCE_MIN,
    MICA_NN_REDUCE_ARGMAX,  /* i32; over several axes: the place in row-major order of those axes */
    MICA_NN_REDUCE_ARGMIN,  /* the first of equals; NaN counts as the largest (smallest) */
    MICA_NN_REDUCE_L1_NORM, /* sum |x| */
    MICA_NN_REDUCE_ANY,     /* bool: something is not 0 */
    MICA_NN_REDUCE_ALL,
    MICA_NN_REDUCTION_COUNT
} mica_nn_reduction_kind;

/* Reduced axes stay, with size 1. */
MICA_API mica_value mica_nn_reduce(mica_graph *g, mica_nn_reduction_kind kind, mica_value x,
                                   mica_ints axes);

/* ---- shapes -----------------------------------------------------------------------------------*/

/* One size may be -1: what is left. */
MICA_API mica_value mica_nn_reshape(mica_graph *g, mica_value x, mica_ints shape);
/* x[start : end : stride] per axis, one entry for each; stride may be empty (all 1) or negative
 * (then from start down to, but without, end). A negative start or end counts from the end, as in
 * Python, and what lies outside is cut off. */
MICA_API mica_value mica_nn_slice(mica_graph *g, mica_value x, mica_ints start, mica_ints end,
                                  mica_ints stride);
/* The sizes of `count` parts of an extent: as equal as can be, the first ones larger by one. No
 * more parts than the extent has elements: returns how many there are. */
MICA_API int32_t mica_nn_split_sizes(int64_t extent, int32_t count, int64_t *out_sizes);
/* Parts of the given sizes (whose sum is the extent) along an axis; fills sizes.n values. */
MICA_API void mica_nn_split(mica_graph *g, mica_value x, int64_t axis, mica_ints sizes,
                            mica_value *out_parts);
/* y[i...] = x[i..., indices[i...], ...]: torch.gather. Along other axes indices may be shorter than
 * x. An index out of range gives 0. */
MICA_API mica_value mica_nn_gather(mica_graph *g, mica_value x, mica_value indices, int64_t axis);
/* x with updates put in (adds false) or added (true) where indices say: torch.scatter and
 * scatter_add. indices may be shorter than updates and, but for `axis`, than x. Updates go in row-
 * major order: of several to one place the last stays. An index out of range is left out. */
MICA_API mica_value mica_nn_scatter(mica_graph *g, mica_value x, mica_value indices,
                                    mica_value updates, int64_t axis, bool adds);

typedef enum mica_nn_pad_kind {
    MICA_NN_PAD_ZERO = 0,
    MICA_NN_PAD_REFLECT,   /* mirrored at the edge element, which is not repeated */
    MICA_NN_PAD_SYMMETRIC, /* mirrored at the edge: its element is repeated */
    MICA_NN_PAD_CONSTANT,
} mica_nn_pad_kind;

/* low[i] elements before and high[i] after axis i; one entry for each axis. `value` serves the
 * constant kind alone. */
MICA_API mica_value mica_nn_pad(mica_graph *g, mica_value x, mica_nn_pad_kind kind, mica_ints low,
                                mica_ints high, double value);

typedef enum mica_nn_sample_mode {
    MICA_NN_NEAREST = 0, /* y[i] = x[floor(i in / out)]; aligned: x[round(i (in - 1) / (out - 1))],
                            halves away from 0 */
    MICA_NN_LINEAR_SAMPLES, /* at (i + 1/2) in / out - 1/2, edges continued; aligned: at
                               i (in - 1) / (out - 1) */
} mica_nn_sample_mode;

/* x resized along its last axes to sizes (one to three of them): torch.nn.functional.interpolate.
 * Sizes may also be smaller than x's. */
MICA_API mica_value mica_nn_resize(mica_graph *g, mica_value x, mica_ints sizes,
                                   mica_nn_sample_mode mode, bool aligns_corners);

/* ---- products ---------------------------------------------------------------------------------*/

/* alpha op(x) op(y) over leading axes, as mica_matmul broadcasts them; op transposes the last two
 * axes or not. */
MICA_API mica_value mica_nn_matmul(mica_graph *g, mica_value x, mica_value y, double alpha,
                                   bool transposes_x, bool transposes_y);
/* x (..., C) or (N, C, 1, 1), weights (C', C), bias null or C' elements: x weights^T + bias, of
 * shape (..., C') or (N, C', 1, 1). */
MICA_API mica_value mica_nn_fully_connected(mica_graph *g, mica_value x, mica_value weights,
                                            mica_value bias);
/* x (N, C, ...): y[n,i,j] = scale sum over positions of x[n,i] x[n,j], of shape (N, C, C). */
MICA_API mica_value mica_nn_gram_matrix(mica_graph *g, mica_value x, double scale);

typedef enum mica_nn_padding_policy {
    MICA_NN_SAME = 0, /* TensorFlow's: out = ceil(in / stride), the odd element of padding after */
    MICA_NN_VALID,    /* none */
    MICA_NN_EXPLICIT, /* padding[i] on both sides */
} mica_nn_padding_policy;

typedef enum mica_nn_conv_kind {
    MICA_NN_CONV_STANDARD = 0,
    MICA_NN_CONV_TRANSPOSED,
    MICA_NN_CONV_DEPTHWISE, /* groups is taken as the number of input channels */
} mica_nn_conv_kind;

typedef struct mica_nn_conv2d_options {
    size_t size;
    mica_nn_conv_kind kind;
    int64_t strides[2], dilations[2], groups;
    mica_nn_padding_policy padding_policy;
    int64_t padding[2];        /* for MICA_NN_EXPLICIT */
    int64_t output_padding[2]; /* transposed, VALID or EXPLICIT: as many rows and columns more */
    bool channels_last;        /* images are NHWC */
} mica_nn_conv2d_options;

#define MICA_NN_CONV2D_OPTIONS                                                                     \
    ((mica_nn_conv2d_options){.size = sizeof(mica_nn_conv2d_options),                              \
                              .strides = {1, 1},                                                   \
                              .dilations = {1, 1},                                                 \
                              .groups = 1,                                                         \
                              .padding_policy = MICA_NN_VALID})

/* The correlation of images with weights, and a bias per channel.
 *   standard, depthwise  weights (O, I / groups, kH, kW); depthwise: O = I multiplier, channel
 *                        c multiplier + m of the result comes from channel c
 *   transposed           the gradient of a convolution: weights (I, O / groups, kH, kW) as in
 *                        torch.nn.ConvTranspose2d. SAME: out = in stride; VALID and EXPLICIT:
 *                        out = (in - 1) stride + dilation (k - 1) + 1 - 2 padding + output_padding
 */
MICA_API mica_value mica_nn_conv2d(mica_graph *g, mica_value x, mica_value weights, mica_value bias,
                                   const mica_nn_conv2d_options *options);

typedef enum mica_nn_pool_kind {
    MICA_NN_POOL_MAX = 1,     /* of equals the first gets the cotangent */
    MICA_NN_POOL_AVERAGE = 2, /* padding counts or not */
    MICA_NN_POOL_L2 = 3,      /* (sum x^2)^(1/2); the derivative at 0 is 0 */
} mica_nn_pool_kind;

typedef struct mica_nn_pool2d_options {
    size_t size;
    mica_nn_pool_kind kind;
    int64_t window[2], strides[2], dilations[2];
    mica_nn_padding_policy padding_policy;
    int64_t padding[2];
    bool count_includes_padding;
    bool channels_last;
} mica_nn_pool2d_options;

#define MICA_NN_POOL2D_OPTIONS                                                                     \
    ((mica_nn_pool2d_options){.size = sizeof(mica_nn_pool2d_options),                              \
                              .kind = MICA_NN_POOL_MAX,                                            \
                              .window = {2, 2},                                                    \
                              .strides = {2, 2},                                                   \
                              .dilations = {1, 1},                                                 \
                              .padding_policy = MICA_NN_VALID})

MICA_API mica_value mica_nn_pool2d(mica_graph *g, mica_value x,
                                   const mica_nn_pool2d_options *options);

/* ---- normalisation ----------------------------------------------------------------------------
 * y = gamma (x - mean) / (variance + epsilon)^(1/2) + beta; gamma and beta may be null. Variances
 * that normalise are those of the batch itself (divided by n); running ones are updated with
 * the unbiased variance (divided by n - 1), as TensorFlow's and PyTorch's are:
 *     running' = momentum running + (1 - momentum) batch
 * (PyTorch's momentum is one minus this one). */

/* Over all axes but `axis`. out: y, mean', variance' (with the shapes of mean and variance). */
MICA_API void mica_nn_batch_norm(mica_graph *g, mica_value x, mica_value mean, mica_value variance,
                                 mica_value gamma, mica_value beta, int64_t axis, double epsilon,
                                 double momentum, mica_value out[3]);
/* With the running statistics. */
MICA_API mica_value mica_nn_batch_norm_inference(mica_graph *g, mica_value x, mica_value mean,
                                                 mica_value variance, mica_value gamma,
                                                 mica_value beta, int64_t axis, double epsilon);
/* Over the last axes of x, whose sizes `shape` gives; gamma and beta have this shape. */
MICA_API mica_value mica_nn_layer_norm(mica_graph *g, mica_value x, mica_value gamma,
                                       mica_value beta, mica_ints shape, double epsilon);
/* x (N, C, ...): over each of `groups` groups of channels and all positions. */
MICA_API mica_value mica_nn_group_norm(mica_graph *g, mica_value x, mica_value gamma,
                                       mica_value beta, int64_t groups, double epsilon);
/* x (N, C, ...): over the positions of each channel of each example. mean and variance may be null,
 * both; else out[1] and out[2] are the updated running ones (of the means over the batch). */
MICA_API void mica_nn_instance_norm(mica_graph *g, mica_value x, mica_value mean,
                                    mica_value variance, mica_value gamma, mica_value beta,
                                    double epsilon, double momentum, mica_value out[3]);

/* ---- randomness -------------------------------------------------------------------------------*/

/* x / (1 - rate) where kept, else 0; an element is kept with probability 1 - rate, by Philox bits
 * of the u32[2] key. `stream` tells the draws of several layers with one key apart. */
MICA_API mica_value mica_nn_dropout(mica_graph *g, mica_value x, double rate, mica_value key,
                                    int64_t stream);
/* x, with no gradient. */
MICA_API mica_value mica_nn_stop_gradient(mica_graph *g, mica_value x);

/* ---- embedding --------------------------------------------------------------------------------*/

typedef struct mica_nn_embedding_options {
    size_t size;
    int64_t padding_index; /* its row gets no gradient; negative: none */
    double maximum_norm;   /* rows looked up are shrunk to this norm; 0: none */
    double p_norm;
    bool scales_gradient_by_frequency; /* a row's gradient is divided by its count in the batch */
} mica_nn_embedding_options;

#define MICA_NN_EMBEDDING_OPTIONS                                                                  \
    ((mica_nn_embedding_options){                                                                  \
        .size = sizeof(mica_nn_embedding_options), .padding_index = -1, .p_norm = 2})

/* Rows of weights (count, dimension) at integer indices of any shape: torch.nn.Embedding. out: y
 * (indices' shape, dimension) and weights', in which rows longer than maximum_norm are shrunk
 * to it, outside of differentiation as in PyTorch. */
MICA_API void mica_nn_embedding(mica_graph *g, mica_value weights, mica_value indices,
                                const mica_nn_embedding_options *options, mica_value out[2]);

/* ---- LSTM -------------------------------------------------------------------------------------
 *   i = gate0(Wi x + Ui h + Vi c + bi)      f = gate1(Wf x + Uf h + Vf c + bf)
 *   c' = f c + i gate2(Wc x + Uc h + Vc c + bc)
 *   o = gate3(Wo x + Uo h + Vo c' + bo)     h' = o output(c')
 * The peephole weights V are optional; with as many elements as h they act element by element. */

typedef struct mica_nn_lstm_options {
    size_t size;
    int64_t hidden_size, layer_count;
    bool bidirectional;
    bool returns_sequences; /* else only the last output */
    double dropout;         /* on the output of every layer but the last */
    mica_nn_activation gates[4], output;
} mica_nn_lstm_options;

#define MICA_NN_LSTM_OPTIONS                                                                       \
    ((mica_nn_lstm_options){.size = sizeof(mica_nn_lstm_options),                                  \
                            .layer_count = 1,                                                      \
                            .returns_sequences = true,                                             \
                            .gates = {{MICA_NN_SIGMOID, 1, 1, 1},                                  \
                                      {MICA_NN_SIGMOID, 1, 1, 1},                                  \
                                      {MICA_NN_TANH, 1, 1, 1},                                     \
                                      {MICA_NN_SIGMOID, 1, 1, 1}},                                 \
                            .output = {MICA_NN_TANH, 1, 1, 1}})

/* Lists of 4 layer_count values, or twice as many when bidirectional: all layers forward, then all
 * backward; of each layer the gates i f c o. */
typedef struct mica_nn_lstm_weights {
    size_t size;
    const mica_value *input;  /* (H, F); after the first layer F is H, or 2 H when bidirectional */
    const mica_value *hidden; /* (H, H) */
    const mica_value *peephole; /* NULL, or (H) or (H, H) each; a null value is no peephole */
    const mica_value *bias;     /* NULL, or H elements each */
} mica_nn_lstm_weights;

/* x (N, T, F). initial_hidden and initial_cell: null (zeros), or (layers, directions, N, H).
 * lengths: null, or N integers: after its length a sequence's outputs are 0 and its states
 * stay; backward layers begin at its end. key: for dropout, null when there is none. out: the
 * output (N, T, directions H), or (N, directions H) of the last step of each direction; the final
 * hidden and cell states (layers, directions, N, H). */
MICA_API void mica_nn_lstm(mica_graph *g, mica_value x, const mica_nn_lstm_weights *weights,
                           mica_value initial_hidden, mica_value initial_cell, mica_value lengths,
                           mica_value key, const mica_nn_lstm_options *options, mica_value out[3]);

/* The recurrence alone, of one layer and direction, as a composite: projected (T, N, 4 H) holds the
 * inputs' part of the gates i f c o (with biases), weights (4 H, H) are those of the hidden state,
 * hidden and cell (N, H) come before the first step. The gates are sigmoid, sigmoid, tanh, sigmoid.
 * reverse: the last step comes first. out: outputs (T, N, H), cells (T, N, H) and gates
 * (T, N, 4 H) of every step. */
MICA_API void mica_nn_lstm_steps(mica_graph *g, mica_value projected, mica_value hidden,
                                 mica_value cell, mica_value weights, bool reverse,
                                 mica_value out[3]);

/* The recurrence of a GRU, likewise: with gates z r n, projected (T, N, 3 H) holds the inputs' part
 * (with biases), weights (3 H, H) and bias (3 H) are those of the hidden state h (N, H). With
 * u = weights h + bias, z = sigmoid(x_z + u_z), r = sigmoid(x_r + u_r), n = tanh(x_n + r u_n) and
 * the next h = z h + (1 - z) n. out: outputs (T, N, H), and z, r, n and u_n (T, N, 4 H) of every
 * step. */
MICA_API void mica_nn_gru_steps(mica_graph *g, mica_value projected, mica_value hidden,
                                mica_value weights, mica_value bias, bool reverse,
                                mica_value out[2]);

/* ---- attention --------------------------------------------------------------------------------*/

/* softmax(scale q k^T + mask) v, with q (..., L, D), k (..., S, D), v (..., S, E). mask: null,
 * float (added) or bool (true: not attended to), broadcast to (..., L, S). A query that may
 * attend to nothing gives 0. Dropout is on the softmax; key may be null when it is 0. */
MICA_API mica_value mica_nn_attention(mica_graph *g, mica_value q, mica_value k, mica_value v,
                                      mica_value mask, double scale, double dropout,
                                      mica_value key);

/* The same without dropout, for q, k and v with the same leading axes; causal: query i may attend
 * to keys 0 ... i only. One composite, which a device can compute without a matrix of all scores.
 */
MICA_API mica_value mica_nn_attend(mica_graph *g, mica_value q, mica_value k, mica_value v,
                                   mica_value mask, double scale, bool causal);

typedef struct mica_nn_multihead_options {
    size_t size;
    int64_t head_count;
    double dropout;
    bool adds_zero_attention;
} mica_nn_multihead_options;

#define MICA_NN_MULTIHEAD_OPTIONS                                                                  \
    ((mica_nn_multihead_options){.size = sizeof(mica_nn_multihead_options), .head_count = 1})

typedef struct mica_nn_multihead_weights {
    size_t size;
    mica_value query, key, value, output;                     /* (E, E) (E, K) (E, V) (E, E) */
    mica_value query_bias, key_bias, value_bias, output_bias; /* null, or E elements */
    mica_value key_attention_bias, value_attention_bias;      /* null, or E elements: bias_k,
                                                                 bias_v of PyTorch */
} mica_nn_multihead_weights;

/* query (N, L, E), key (N, S, K), value (N, S, V) -> (N, L, E): torch.nn.MultiheadAttention with
 * batch_first. key_mask: null, or (N, S): true (or, of float dtype, added) for keys not attended
 * to. attention_mask: null, or (L, S), (1, L, S) or (N heads, L, S), float or bool. */
MICA_API mica_value mica_nn_multihead_attention(mica_graph *g, mica_value query, mica_value key,
                                                mica_value value,
                                                const mica_nn_multihead_weights *weights,
                                                mica_value key_mask, mica_value attention_mask,
                                                mica_value random_key,
                                                const mica_nn_multihead_options *options);

/* ---- losses -----------------------------------------------------------------------------------
 * The formulas are those of tf.compat.v1.losses. With x the predictions, t the labels: */

typedef enum mica_nn_loss_kind {
    MICA_NN_MEAN_ABSOLUTE_ERROR = 0,   /* |x - t| */
    MICA_NN_MEAN_SQUARED_ERROR,        /* (x - t)^2 */
    MICA_NN_SOFTMAX_CROSS_ENTROPY,     /* -sum over classes of t ln softmax(x) */
    MICA_NN_SIGMOID_CROSS_ENTROPY,     /* max(x, 0) - x t + ln(1 + e^-|x|) */
    MICA_NN_CATEGORICAL_CROSS_ENTROPY, /* -sum over classes of t ln(x), x inside [epsilon,
                                          1 - epsilon] */
    MICA_NN_HINGE,                     /* max(0, 1 - (2 t - 1) x), labels 0 and 1 */
    MICA_NN_HUBER,           /* e = |x - t|: e <= delta ? e^2 / 2 : delta e - delta^2 / 2 */
    MICA_NN_COSINE_DISTANCE, /* 1 - sum over classes of x t, of vectors of length 1 */
    MICA_NN_LOG_LOSS,        /* -t ln(x + epsilon) - (1 - t) ln(1 - x + epsilon) */
    MICA_NN_LOSS_COUNT
} mica_nn_loss_kind;

typedef struct mica_nn_loss_options {
    size_t size;
    mica_nn_loss_kind kind;
    mica_nn_reduction_kind reduction; /* none, sum, mean, max or min, over everything */
    double weight;                    /* multiplies every loss */
    double label_smoothing;           /* s: t (1 - s) + s / classes; sigmoid: t (1 - s) + s / 2 */
    int64_t class_count;              /* of label smoothing; below 2: the size of the class axis */
    double epsilon, delta;
    int64_t axis; /* of the classes */
} mica_nn_loss_options;

#define MICA_NN_LOSS_OPTIONS                                                                       \
    ((mica_nn_loss_options){.size = sizeof(mica_nn_loss_options),                                  \
                            .reduction = MICA_NN_REDUCE_MEAN,                                      \
                            .weight = 1,                                                           \
                            .class_count = 1,                                                      \
                            .epsilon = 1e-7,                                                       \
                            .delta = 1,                                                            \
                            .axis = 1})

/* labels have the shape of predictions; for the cross entropies over classes also integers without
 * the class axis (or with size 1 there): the number of the class. weights: null, or broadcast to
 * the losses (shape of predictions; class kinds: with size 1 at, or without, the class axis); they
 * multiply. The mean is over the number of losses (TensorFlow's SUM_OVER_BATCH_SIZE). Reduction
 * none gives the losses, class kinds with size 1 at the class axis; else a scalar of rank 0. */
MICA_API mica_value mica_nn_loss(mica_graph *g, mica_value predictions, mica_value labels,
                                 mica_value weights, const mica_nn_loss_options *options);

typedef struct mica_nn_yolo_options {
    size_t size;
    const float *anchor_boxes; /* anchor_count pairs of width and height, in cells of the grid */
    int64_t anchor_count;
    bool rescores;
    double position_scale, size_scale, no_object_scale, object_scale, class_scale;
    double minimum_iou_for_presence, maximum_iou_for_absence;
} mica_nn_yolo_options;

#define MICA_NN_YOLO_OPTIONS                                                                       \
    ((mica_nn_yolo_options){.size = sizeof(mica_nn_yolo_options),                                  \
                            .rescores = true,                                                      \
                            .position_scale = 10,                                                  \
                            .size_scale = 10,                                                      \
                            .no_object_scale = 5,                                                  \
                            .object_scale = 100,                                                   \
                            .class_scale = 2,                                                      \
                            .minimum_iou_for_presence = 0.7,                                       \
                            .maximum_iou_for_absence = 0.3})

/* The loss of YOLO version 2, a scalar. predictions and labels (N, anchors (5 + classes), H, W): of
 * each anchor x, y, w, h, confidence, classes. Predicted are logits: a box has its centre at
 * sigmoid(x, y) of its cell and the size anchor e^(w, h); labels hold the true box (centre in the
 * cell, size in cells), confidence 1 where there is an object, and a distribution of classes.
 *   an anchor is responsible (r) in a cell with an object when the overlap (IOU) of its shape
 *   with the true box is the cell's best, or above minimum_iou_for_presence; else it should see
 *   nothing (a) where that overlap is below maximum_iou_for_absence. n = sum r + 1e-4, in all
 *   position    position_scale / n   sum r |sigmoid(x, y) - (x, y)|^2
 *   size        size_scale / (2 n)   sum r huber((w, h) - ln((w, h) / anchor + 1e-5))
 *   confidence  1 / (N H W)          sum (object_scale r + no_object_scale a)
 *                                    sigmoid_cross_entropy(confidence; r, times the predicted
 *                                    box's overlap with the true one when rescoring)
 *   classes     class_scale / n      sum r softmax_cross_entropy(classes) */
MICA_API mica_value mica_nn_yolo_loss(mica_graph *g, mica_value predictions, mica_value labels,
                                      const mica_nn_yolo_options *options);

/* ---- optimizers -------------------------------------------------------------------------------
 * Learning rate and time step are values, so that one executable serves all steps. The gradient d
 * is clipped, then multiplied by gradient_rescale, then regularized: L1 adds scale sign(p), L2 adds
 * scale p. With rate r and time step t (1 at the first step):
 *   SGD      m' = momentum m + d;  p' = p - r m';  Nesterov: p' = p - r (d + momentum m')
 *   Adam     m' = beta1 m + (1 - beta1) d;  v' = beta2 v + (1 - beta2) d^2
 *            p' = p - r m' / (1 - beta1^t) / ((v' / (1 - beta2^t))^(1/2) + epsilon)
 *            AMSGrad: the largest v so far (w' = max(w, v')) takes the place of v' in p'
 *   AdamW    Adam, with the regularization's part not in d but p' -= r scale p (L1: sign(p))
 *   RMSProp  v' = alpha v + (1 - alpha) d^2;  u = v';  centered: g' = alpha g + (1 - alpha) d,
 *            u = v' - g'^2;  p' = p - r d / (u^(1/2) + epsilon);
 *            momentum: m' = momentum m + d / (u^(1/2) + epsilon),  p' = p - r m'
 * These are PyTorch's. */

typedef enum mica_nn_optimizer_kind {
    MICA_NN_SGD = 0,
    MICA_NN_ADAM,
    MICA_NN_ADAMW,
    MICA_NN_RMSPROP,
} mica_nn_optimizer_kind;

typedef enum mica_nn_regularization_kind {
    MICA_NN_REGULARIZATION_NONE = 0,
    MICA_NN_REGULARIZATION_L1,
    MICA_NN_REGULARIZATION_L2,
} mica_nn_regularization_kind;

typedef enum mica_nn_clipping_kind {
    MICA_NN_CLIP_BY_VALUE = 0,   /* min(max(d, clip_min), clip_max) */
    MICA_NN_CLIP_BY_NORM,        /* d maximum_norm / max(|d|, maximum_norm), each by itself */
    MICA_NN_CLIP_BY_GLOBAL_NORM, /* the same with the norm of all gradients together, or with
                                    custom_global_norm where that is not 0 */
} mica_nn_clipping_kind;

typedef struct mica_nn_optimizer {
    size_t size;
    mica_nn_optimizer_kind kind;
    double gradient_rescale;
    bool clips;
    mica_nn_clipping_kind clipping;
    double clip_min, clip_max, maximum_norm, custom_global_norm;
    mica_nn_regularization_kind regularization;
    double regularization_scale;
    double momentum; /* SGD, RMSProp */
    bool nesterov;
    double beta1, beta2; /* Adam, AdamW */
    bool amsgrad;
    double alpha; /* RMSProp */
    bool centered;
    double epsilon; /* Adam, AdamW, RMSProp */
} mica_nn_optimizer;

#define MICA_NN_OPTIMIZER                                                                          \
    ((mica_nn_optimizer){.size = sizeof(mica_nn_optimizer),                                        \
                         .gradient_rescale = 1,                                                    \
                         .clip_min = -1,                                                           \
                         .clip_max = 1,                                                            \
                         .maximum_norm = 1,                                                        \
                         .beta1 = 0.9,                                                             \
                         .beta2 = 0.999,                                                           \
                         .alpha = 0.99,                                                            \
                         .epsilon = 1e-8})

#define MICA_NN_MAX_STATE 3

/* Arrays of state per parameter, each of its shape, zeros at first. In order: SGD with momentum m;
 * Adam m, v and with AMSGrad w; RMSProp v, centered g, with momentum m. */
MICA_API int32_t mica_nn_optimizer_state_count(const mica_nn_optimizer *optimizer);
/* Clips the gradients of all parameters of a model, which the global norm needs together; out may
 * be the same array. Without clipping they come back as they are. */
MICA_API void mica_nn_clip_gradients(mica_graph *g, const mica_nn_optimizer *optimizer,
                                     const mica_value *gradients, int32_t n, mica_value *out);
/* One step, of a gradient that is clipped already. rate and time_step are scalars of the
 * parameter's dtype (time_step may also be an integer; it is for Adam and AdamW, null for others).
 * out: the new parameter, then the new state. */
MICA_API void mica_nn_optimizer_update(mica_graph *g, const mica_nn_optimizer *optimizer,
                                       mica_value rate, mica_value time_step, mica_value parameter,
                                       mica_value gradient, const mica_value *state,
                                       mica_value *out);

#ifdef __cplusplus
}
#endif
#endif
