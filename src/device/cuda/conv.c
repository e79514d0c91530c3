/* conv by cuDNN: which of its three computations a node is, and how its arrays lie.
 *
 *     forward          no dilated input: the node as it is
 *     filter gradient  the same with batch and channels in each other's place: the output's batch
 *                      is the filter's input channels. Both fit any such node; the one is taken
 *                      whose channels are closer together in memory than its batch.
 *     input gradient   the dilated input is y, dilated by the stride; the kernel is the mirrored
 *                      filter, padded by what reaches beyond it
 *
 * Images are handed over as they lie, which must be one of the two usual ways: the library answers
 * wrong numbers for some others. Filters are copied into scratch memory first (their gradient
 * from there) in the order that the library's fast engines want: output channels outside, then as
 * the image's axes. */
#include <string.h>

#include "device/cuda/dnn.h"
#include "device/cuda/steps.h"
#include "ir/conv_layout.h"

typedef struct conv_kernel {
    cuda_kernel base;
    cuda_dnn_plan *plan;
    cuda_dnn_kind kind;
    cuda_kernel *turn;    /* of the filter; NULL: it lies right */
    size_t filter_offset; /* in scratch memory */
} conv_kernel;

/* A filter's axes: groups of output channels, these, input channels, space. */
enum { GROUP, OUTPUT, INPUT, SPACE, FILTER_AXES = SPACE + CUDA_DNN_SPATIAL };

typedef struct filter_view {
    int64_t sizes[FILTER_AXES];
    int64_t node[FILTER_AXES], node_offset; /* strides in the node's array */
    int64_t library[FILTER_AXES];           /* and as the library takes it */
    bool channels_last;                     /* the order that it takes */
} filter_view;

/* A node's attributes by axes of space: absent ones come first and have size 1. */
typedef struct conv_node {
    const mica_node *node;
    const mica_type *x, *k, *y;
    mica_conv_layout layout;
    int64_t x_strides[MICA_MAX_RANK], k_strides[MICA_MAX_RANK], y_strides[MICA_MAX_RANK];
    int64_t groups, batch_groups;
    int32_t spatial, absent;
    int64_t stride[CUDA_DNN_SPATIAL], low[CUDA_DNN_SPATIAL];
    int64_t x_dilation[CUDA_DNN_SPATIAL], k_dilation[CUDA_DNN_SPATIAL];
    int64_t x_sizes[CUDA_DNN_SPATIAL], k_sizes[CUDA_DNN_SPATIAL], y_sizes[CUDA_DNN_SPATIAL];
} conv_node;

static bool read_node(const mica_node *node, conv_node *out) {
    conv_node c = {.node = node,
                   .x = mica_operand_type(node, 0),
                   .k = mica_operand_type(node, 1),
                   .y = &node->results[0],
                   .groups = mica_node_int(node, "groups"),
                   .batch_groups = mica_node_int(node, "batch_groups")};
    if (!mica_conv_layout_parse(mica_node_string(node, "layout"), &c.layout)) return false;
    cuda_strides(c.x, c.x_strides);
    cuda_strides(c.k, c.k_strides);
    cuda_strides(c.y, c.y_strides);
    c.spatial = c.layout.spatial < 2 ? 2 : c.layout.spatial;
    c.absent = c.spatial - c.layout.spatial;
    for (int32_t s = 0; s < c.spatial; s++) {
        int32_t i = s - c.absent;
        bool is_there = i >= 0;
        c.stride[s] = is_there ? mica_node_ints(node, "strides").data[i] : 1;
        c.low[s] = is_there ? mica_node_ints(node, "low").data[i] : 0;
        c.x_dilation[s] = is_there ? mica_node_ints(node, "lhs_dilation").data[i] : 1;
        c.k_dilation[s] = is_there ? mica_node_ints(node, "rhs_dilation").data[i] : 1;
        c.x_sizes[s] = is_there ? c.x->dims[c.layout.lhs_spatial[i]] : 1;
        c.k_sizes[s] = is_there ? c.k->dims[c.layout.rhs_spatial[i]] : 1;
        c.y_sizes[s] = is_there ? c.y->dims[c.layout.out_spatial[i]] : 1;
    }
    *out = c;
    return true;
}

/* ---- arrays -----------------------------------------------------------------------------------*/

/* An image: its first axis, its channels and its axes of space. */
static cuda_dnn_tensor view_image(const conv_node *c, const mica_type *type, int32_t batch,
                                  int32_t channel, const int32_t *spatial) {
    cuda_dnn_tensor t = {.alignment = (int64_t)mica_alignment_of(mica_type_bytes(type))};
    int64_t strides[MICA_MAX_RANK];
    if (t.alignment > 16) t.alignment = 16;
    cuda_strides(type, strides);
    t.sizes[0] = type->dims[batch], t.strides[0] = strides[batch];
    t.sizes[1] = type->dims[channel], t.strides[1] = strides[channel];
    for (int32_t s = c->spatial - 1; s >= 0; s--) {
        int32_t i = s - c->absent;
        t.sizes[2 + s] = i >= 0 ? type->dims[spatial[i]] : 1;
        t.strides[2 + s] = i >= 0 ? strides[spatial[i]] : 0;
    }
    return t;
}

/* A filter in a node's array with these axes. Groups are parts of the axis `grouped`. */
static filter_view view_filter(const conv_node *c, const mica_type *type, int32_t output,
                               int32_t input, int32_t grouped, int64_t groups,
                               const int32_t *spatial, bool is_mirrored) {
    filter_view f = {.sizes = {groups, type->dims[output], type->dims[input], 1, 1, 1}};
    int64_t strides[MICA_MAX_RANK];
    cuda_strides(type, strides);
    f.node[OUTPUT] = strides[output];
    f.node[INPUT] = strides[input];
    f.sizes[grouped == output ? OUTPUT : INPUT] /= groups;
    f.node[GROUP] = strides[grouped] * f.sizes[grouped == output ? OUTPUT : INPUT];
    for (int32_t s = c->absent; s < c->spatial; s++) {
        int32_t axis = spatial[s - c->absent];
        f.sizes[SPACE + s] = type->dims[axis];
        f.node[SPACE + s] = is_mirrored ? -strides[axis] : strides[axis];
        if (is_mirrored) f.node_offset += (type->dims[axis] - 1) * strides[axis];
    }
    return f;
}

/* The library's order: channels inside where those of the image are, else space. */
static void order_filter(filter_view *f, int32_t spatial) {
    int64_t stride = 1;
    if (f->channels_last) f->library[INPUT] = stride, stride *= f->sizes[INPUT];
    for (int32_t s = spatial - 1; s >= 0; s--) {
        f->library[SPACE + s] = stride;
        stride *= f->sizes[SPACE + s];
    }
    if (!f->channels_last) f->library[INPUT] = stride, stride *= f->sizes[INPUT];
    f->library[OUTPUT] = stride;
    f->library[GROUP] = stride * f->sizes[OUTPUT];
}

static cuda_dnn_tensor filter_tensor(const filter_view *f, int32_t spatial, int64_t alignment) {
    cuda_dnn_tensor t = {.alignment = alignment};
    t.sizes[0] = f->sizes[GROUP] * f->sizes[OUTPUT], t.strides[0] = f->library[OUTPUT];
    t.sizes[1] = f->sizes[INPUT], t.strides[1] = f->library[INPUT];
    for (int32_t s = 0; s < spatial; s++) {
        t.sizes[2 + s] = f->sizes[SPACE + s];
        t.strides[2 + s] = f->library[SPACE + s];
    }
    return t;
}

static bool lies_right(const filter_view *f) {
    for (int i = 0; i < FILTER_AXES; i++)
        if (f->sizes[i] > 1 && f->node[i] != f->library[i]) return false;
    return true;
}

/* ---- what a node is ---------------------------------------------------------------------------*/

/* High padding such that the sizes agree; false when there is none. */
static bool find_high(cuda_dnn_conv *v) {
    for (int32_t s = 0; s < v->spatial; s++) {
        int64_t reach = (v->w.sizes[2 + s] - 1) * v->dilations[s] + 1;
        int64_t needed = (v->y.sizes[2 + s] - 1) * v->strides[s] + reach;
        int64_t there = v->x.sizes[2 + s] + v->low[s];
        v->high[s] = needed > there ? needed - there : 0;
        if (v->low[s] < 0 || there - needed >= v->strides[s]) return false;
    }
    return true;
}

/* Whether an image's batch is outside, its channels inside (or outside of space). Then its strides
 * become those of this order for axes of one too. */
static bool order_image(cuda_dnn_tensor *t, int32_t spatial, bool channels_last) {
    int64_t strides[CUDA_DNN_AXES], stride = 1;
    if (channels_last) strides[1] = stride, stride *= t->sizes[1];
    for (int32_t i = spatial + 1; i > 1; i--) strides[i] = stride, stride *= t->sizes[i];
    if (!channels_last) strides[1] = stride, stride *= t->sizes[1];
    strides[0] = stride;
    for (int32_t i = 0; i < spatial + 2; i++)
        if (t->sizes[i] > 1 && t->strides[i] != strides[i]) return false;
    memcpy(t->strides, strides, (size_t)(spatial + 2) * sizeof *strides);
    return true;
}

/* Both images in one of the two orders. */
static bool order_images(cuda_dnn_conv *v, bool *out_channels_last) {
    for (int last = 1; last >= 0; last--) {
        cuda_dnn_tensor x = v->x, y = v->y;
        if (!order_image(&x, (int32_t)v->spatial, last) ||
            !order_image(&y, (int32_t)v->spatial, last))
            continue;
        v->x = x, v->y = y;
        *out_channels_last = last;
        return true;
    }
    return false;
}

static bool view_forward(const conv_node *c, cuda_dnn_conv *v, filter_view *f) {
    const mica_conv_layout *l = &c->layout;
    if (c->batch_groups != 1) return false;
    v->x = view_image(c, c->x, l->lhs_batch, l->lhs_channel, l->lhs_spatial);
    v->y = view_image(c, c->y, l->out_batch, l->out_channel, l->out_spatial);
    *f = view_filter(c, c->k, l->rhs_output, l->rhs_input, l->rhs_output, c->groups, l->rhs_spatial,
                     false);
    memcpy(v->strides, c->stride, sizeof v->strides);
    memcpy(v->dilations, c->k_dilation, sizeof v->dilations);
    memcpy(v->low, c->low, sizeof v->low);
    return true;
}

static bool view_filter_gradient(const conv_node *c, cuda_dnn_conv *v, filter_view *f) {
    const mica_conv_layout *l = &c->layout;
    /* Of groups in f64 the library makes wrong numbers (9.14). */
    if (c->groups != 1 || (c->batch_groups != 1 && c->y->dtype == MICA_DTYPE_f64)) return false;
    v->x = view_image(c, c->x, l->lhs_channel, l->lhs_batch, l->lhs_spatial);
    v->y = view_image(c, c->k, l->rhs_input, l->rhs_output, l->rhs_spatial);
    *f = view_filter(c, c->y, l->out_channel, l->out_batch, l->out_channel, c->batch_groups,
                     l->out_spatial, false);
    memcpy(v->strides, c->k_dilation, sizeof v->strides);
    memcpy(v->dilations, c->stride, sizeof v->dilations);
    memcpy(v->low, c->low, sizeof v->low);
    return true;
}

static bool view_input_gradient(const conv_node *c, cuda_dnn_conv *v, filter_view *f) {
    const mica_conv_layout *l = &c->layout;
    if (c->batch_groups != 1) return false;
    v->y = view_image(c, c->x, l->lhs_batch, l->lhs_channel, l->lhs_spatial);
    v->x = view_image(c, c->y, l->out_batch, l->out_channel, l->out_spatial);
    *f = view_filter(c, c->k, l->rhs_input, l->rhs_output, l->rhs_output, c->groups, l->rhs_spatial,
                     true);
    for (int32_t s = 0; s < c->spatial; s++) {
        if (c->stride[s] != 1) return false;
        v->strides[s] = c->x_dilation[s];
        v->dilations[s] = c->k_dilation[s];
        v->low[s] = (c->k_sizes[s] - 1) * c->k_dilation[s] - c->low[s];
    }
    return true;
}

static bool is_dilated(const conv_node *c) {
    for (int32_t s = 0; s < c->spatial; s++)
        if (c->x_dilation[s] != 1 && c->x_sizes[s] > 1) return true;
    return false;
}

static bool is_on(const char *variable) {
    const char *value = mica_environment(variable);
    return value && !strcmp(value, "1");
}

/* A node as one of the three; false when it is not. */
static bool view_as(const conv_node *c, cuda_dnn_kind kind, cuda_dnn_conv *out, filter_view *f) {
    cuda_dnn_conv v = {.kind = kind, .dtype = c->y->dtype, .spatial = c->spatial};
    bool fits = kind == CUDA_DNN_FORWARD          ? view_forward(c, &v, f)
                : kind == CUDA_DNN_INPUT_GRADIENT ? view_input_gradient(c, &v, f)
                                                  : view_filter_gradient(c, &v, f);
    if (!fits || !order_images(&v, &f->channels_last)) return false;
    order_filter(f, c->spatial);
    const mica_type *filter = kind == CUDA_DNN_FILTER_GRADIENT ? c->y : c->k;
    int64_t alignment = (int64_t)mica_alignment_of(mica_type_bytes(filter));
    v.w = filter_tensor(f, c->spatial, alignment > 16 || !lies_right(f) ? 16 : alignment);
    v.is_fast = is_on("MICA_FAST");
    v.is_tf32 = is_on("MICA_TF32");
    *out = v;
    return find_high(out);
}

/* ---- kernels ----------------------------------------------------------------------------------*/

static mica_status launch_conv(const cuda_kernel *kernel, cuda_stream *stream,
                               const mica_address *operands, const mica_address *results,
                               mica_address scratch) {
    const conv_kernel *k = (const conv_kernel *)kernel;
    mica_address filter = scratch + k->filter_offset;
    if (k->kind == CUDA_DNN_FILTER_GRADIENT) {
        MICA_TRY(cuda_dnn_execute(k->plan, stream, operands[0], k->turn ? filter : results[0],
                                  operands[1], scratch));
        return k->turn ? k->turn->launch(k->turn, stream, &filter, results, scratch) : NULL;
    }
    if (k->turn) MICA_TRY(k->turn->launch(k->turn, stream, &operands[1], &filter, scratch));
    bool is_forward = k->kind == CUDA_DNN_FORWARD;
    return cuda_dnn_execute(k->plan, stream, is_forward ? operands[0] : results[0],
                            k->turn ? filter : operands[1], is_forward ? results[0] : operands[0],
                            scratch);
}

static void destroy_conv(cuda_device *device, cuda_kernel *kernel) {
    conv_kernel *k = (conv_kernel *)kernel;
    if (k->turn) cuda_kernel_destroy(&device->base, &k->turn->base);
    cuda_dnn_plan_release(device, k->plan);
    mica_free(k);
}

/* Copies the filter to or from the library's order: a move, in the order of what is written. */
static mica_status create_turn(cuda_device *device, conv_kernel *k, mica_dtype dtype,
                               const filter_view *f) {
    static const int orders[2][FILTER_AXES] = {{GROUP, OUTPUT, INPUT, SPACE, SPACE + 1, SPACE + 2},
                                               {GROUP, OUTPUT, SPACE, SPACE + 1, SPACE + 2, INPUT}};
    bool is_back = k->kind == CUDA_DNN_FILTER_GRADIENT;
    mica_move_layout a = {.from_offset = is_back ? 0 : f->node_offset,
                          .to_offset = is_back ? f->node_offset : 0};
    cuda_steps *steps;
    cuda_space_init(&a.from);
    cuda_space_init(&a.to);
    for (int i = 0; i < FILTER_AXES; i++) {
        int axis = orders[f->channels_last][i];
        cuda_space_add_pair(&a.from, &a.to, f->sizes[axis],
                            is_back ? f->library[axis] : f->node[axis],
                            is_back ? f->node[axis] : f->library[axis]);
    }
    size_t bytes = mica_dtype_bytes(dtype);
    MICA_TRY(cuda_steps_create(device, CUDA_MOVE, dtype, 1, &steps));
    return cuda_steps_finish(
        device,
        cuda_move_add(device, steps, bytes, mica_alignment_of((size_t)a.to.n * bytes), &a, 0, -1),
        steps, &k->turn);
}

static mica_status create_as(cuda_device *device, const conv_node *c, cuda_dnn_kind kind,
                             cuda_kernel **out_kernel) {
    cuda_dnn_conv conv;
    filter_view filter;
    cuda_dnn_plan *plan;
    conv_kernel *k;
    *out_kernel = NULL;
    if (!view_as(c, kind, &conv, &filter)) return NULL;
    MICA_TRY(cuda_dnn_plan_get(device, &conv, &plan));
    if (!plan) return NULL;
    mica_status status = cuda_kernel_new(sizeof *k, &k);
    if (status) {
        cuda_dnn_plan_release(device, plan);
        return status;
    }
    k->base.launch = launch_conv;
    k->base.destroy = destroy_conv;
    k->plan = plan;
    k->kind = kind;
    k->filter_offset = k->base.base.scratch_bytes = (cuda_dnn_workspace(plan) + 255) / 256 * 256;
    if (!lies_right(&filter)) {
        const mica_type *type = kind == CUDA_DNN_FILTER_GRADIENT ? c->y : c->k;
        k->base.base.scratch_bytes += mica_type_bytes(type);
        status = create_turn(device, k, type->dtype, &filter);
    }
    if (status) {
        destroy_conv(device, &k->base);
        return status;
    }
    *out_kernel = &k->base;
    return NULL;
}

mica_status cuda_conv_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel) {
    conv_node c;
    *out_kernel = NULL;
    if (!read_node(node, &c)) return NULL;
    if (is_dilated(&c)) return create_as(device, &c, CUDA_DNN_INPUT_GRADIENT, out_kernel);
    const mica_conv_layout *l = &c.layout;
    bool is_gradient =
        c.batch_groups > 1 || c.x_strides[l->lhs_batch] < c.x_strides[l->lhs_channel];
    MICA_TRY(create_as(device, &c, is_gradient ? CUDA_DNN_FILTER_GRADIENT : CUDA_DNN_FORWARD,
                       out_kernel));
    if (*out_kernel) return NULL;
    return create_as(device, &c, is_gradient ? CUDA_DNN_FORWARD : CUDA_DNN_FILTER_GRADIENT,
                     out_kernel);
}
