/* mlc/: ML Compute on Mica's public API (see mica/mlc.h).
 *
 * objects.h        the structs behind the opaque types
 * tensor*.c        descriptors, data, tensors; random.c initialisers; device.c devices
 * descriptors.c    descriptors of layers;  optimizer.c;  enums.c names
 * layer.c          what layers share;  layers_*.c their factories
 * lower*.c         layers as functions on an ir graph, made of mica/nn.h
 * graph.c          nodes; node.c finds sizes by lowering one layer;  dot.c;  wrap.c the
 * declarations program.c        ir graphs and executables of a whole graph;  gradient.c its
 * backward pass execute.c        one execution: inputs in, run, state and results out;  dispatch.c
 * handlers
 *
 * A tensor's data on a device is an immutable mica_tensor, which executions replace. One lock, held
 * while an execution is started, orders everything that reads or replaces these values, so that
 * parameters can be donated: the tensor's reference is then the only one. No callback of a user
 * runs under it. */
#ifndef MICA_MLC_OBJECTS_H
#define MICA_MLC_OBJECTS_H

#include "base/memory.h"
#include "base/platform.h"
#include "base/status.h"
#include "mica/mlc.h"

enum { MLC_MAX_STATE = 3 };

struct mlc_device {
    mica_refcount references;
    mlc_device_type type, actual;
    mica_device *device;
};

struct mlc_tensor_descriptor {
    mica_refcount references;
    mlc_data_type data_type;
    mica_type type;
    int64_t stride[MICA_MAX_RANK];
    int64_t *lengths, *steps; /* sequence lengths; batch size per step */
    int32_t n_lengths, n_steps;
    bool is_sorted;
    int64_t fan_in, fan_out; /* 0: by the shape */
};

struct mlc_tensor_data {
    mica_refcount references;
    void *bytes;
    size_t length;
    bool is_immutable;
    void (*deallocator)(void *context, void *bytes, size_t length);
    void *context;
    mlc_tensor_data *next; /* in the trash */
};

struct mlc_optimizer_device_data {
    mica_refcount references;
    mica_tensor *value;
};

struct mlc_tensor {
    mica_refcount references;
    uint64_t id;
    mlc_tensor_descriptor *descriptor;
    char *label; /* NULL: default_label */
    char default_label[32];
    /* Guarded by the lock of values. */
    mlc_tensor_data *host; /* NULL: no data on the host */
    mica_tensor *value;    /* NULL: not on a device; its first size may be a smaller batch */
    mlc_device *device;    /* of the value */
    bool value_is_host;    /* the value is the host's memory itself */
    mlc_tensor_data *optimizer_data[MLC_MAX_STATE];
    mlc_optimizer_device_data *optimizer_state[MLC_MAX_STATE];
    int32_t n_optimizer_data, n_optimizer_state;
};

struct mlc_tensor_parameter {
    mica_refcount references;
    mlc_tensor *tensor;
    bool is_updatable;
};

struct mlc_optimizer {
    mica_refcount references;
    mlc_optimizer_kind kind;
    mlc_optimizer_descriptor descriptor;
    float momentum, beta1, beta2, epsilon, alpha;
    bool nesterov, amsgrad, centered;
    int64_t time_step;
};

/* Groups of tensors that a layer holds. Means and variances are state, a loss layer's weights are
 * constants; all others are trained. */
typedef enum mlc_role {
    MLC_ROLE_WEIGHTS,
    MLC_ROLE_BIASES,
    MLC_ROLE_GAMMA,
    MLC_ROLE_BETA,
    MLC_ROLE_INPUT_WEIGHTS,
    MLC_ROLE_HIDDEN_WEIGHTS,
    MLC_ROLE_PEEPHOLES,
    MLC_ROLE_ATTENTION_BIASES,
    MLC_ROLE_MEAN,
    MLC_ROLE_VARIANCE,
    MLC_ROLES
} mlc_role;

typedef struct mlc_group {
    mlc_tensor **tensors;
    mlc_tensor_parameter **parameters;
    int32_t n;
} mlc_group;

enum { MLC_LISTS = 3 };

struct mlc_layer {
    mica_refcount references;
    mlc_layer_kind kind;
    uint64_t id;
    char *label;
    char default_label[48];
    bool is_debugging_enabled;
    int32_t device_type; /* atomic */
    mlc_graph *graph;    /* it belongs to; borrowed */
    mlc_group groups[MLC_ROLES];
    int64_t *lists[MLC_LISTS]; /* shapes, dimensions; slices: start, end, stride */
    int32_t list_sizes[MLC_LISTS];
    int64_t dimension, count, channels; /* count: groups or splits */
    float epsilon, momentum;            /* also: rate or scale; constant */
    uint64_t seed;
    int64_t padding[4]; /* top, bottom, left, right */
    int32_t operation;  /* of the class's own enumeration */
    bool aligns_corners;
    float *anchor_boxes;
    mlc_activation_descriptor gates[4], output_activation;
    union {
        mlc_activation_descriptor activation;
        mlc_convolution_descriptor convolution;
        mlc_pooling_descriptor pooling;
        mlc_loss_descriptor loss;
        mlc_yolo_loss_descriptor yolo;
        mlc_lstm_descriptor lstm;
        mlc_multihead_attention_descriptor attention;
        mlc_embedding_descriptor embedding;
        mlc_matmul_descriptor matmul;
    } as;
};

/* ---- what files share -------------------------------------------------------------------------*/

#define MLC_FAILED(...) MICA_ERROR(MICA_FAILED_PRECONDITION, __VA_ARGS__)

/* The lock of values (see above). A deallocator of a user is not called under it: data that is let
 * go meanwhile is put aside (true) and freed by mlc_unlock. */
void mlc_lock(void);
void mlc_unlock(void);
bool mlc_put_aside(mlc_tensor_data *data);
void mlc_tensor_data_destroy(mlc_tensor_data *data);

/* "(2,3)", by value for messages. */
typedef struct mlc_text {
    char chars[256];
} mlc_text;
mlc_text mlc_shape_text(mica_ints shape);
static inline mica_ints mlc_dims(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}
static inline mlc_text mlc_tensor_shape_text(const mlc_tensor *t) {
    return mlc_shape_text(mlc_dims(&t->descriptor->type));
}

void mlc_note(const char *key, const char *text); /* each key once */
bool mlc_data_type_of(mica_dtype dtype, mlc_data_type *out_type);
bool mlc_data_type_is_float(mlc_data_type type);

MICA_MUST_CHECK mica_status mlc_tensor_descriptor_of_type(const mica_type *type,
                                                          mlc_tensor_descriptor **out_descriptor);
/* Memory of the library's own, zeroed. */
MICA_MUST_CHECK mica_status mlc_tensor_data_allocate(size_t length, mlc_tensor_data **out_data);
MICA_MUST_CHECK mica_status mlc_random_fill(const mlc_tensor_descriptor *descriptor,
                                            mlc_random_initializer_type type, void *bytes);
double mlc_element(mlc_data_type type, const void *bytes, size_t i);
void mlc_set_element(mlc_data_type type, void *bytes, size_t i, double value);

/* A view of the data as a device's tensor: no copy where the device computes on the host. */
MICA_MUST_CHECK mica_status mlc_wrap_data(mlc_device *device, const mica_type *type,
                                          mlc_tensor_data *data, mica_tensor **out_value);
/* With the lock held: takes the reference; sets the device too. */
void mlc_tensor_set_value(mlc_tensor *tensor, mica_tensor *value, mlc_device *device,
                          bool value_is_host);
/* With the lock held: gives a tensor that has host data, but no value on the device, one. */
MICA_MUST_CHECK mica_status mlc_tensor_place(mlc_tensor *tensor, mlc_device *device);
/* With the lock held: binds without writing. */
void mlc_tensor_set_host(mlc_tensor *tensor, mlc_tensor_data *data);
/* With the lock held: forgets optimizer buffers on the device (and the host). */
void mlc_tensor_clear_optimizer(mlc_tensor *tensor, bool host_too);
/* false when an element is NaN or infinite. */
bool mlc_bytes_are_finite(mica_dtype dtype, const void *bytes, size_t n);

/* A layer of a kind, with nothing set but its names. */
MICA_MUST_CHECK mica_status mlc_layer_make(mlc_layer_kind kind, mlc_layer **out_layer);
/* Holds tensors in a role; NULLs are left out only when all are NULL. */
MICA_MUST_CHECK mica_status mlc_layer_hold(mlc_layer *layer, mlc_role role, mlc_tensors tensors);
MICA_MUST_CHECK mica_status mlc_layer_hold_one(mlc_layer *layer, mlc_role role, mlc_tensor *tensor);
MICA_MUST_CHECK mica_status mlc_layer_keep_list(mlc_layer *layer, int32_t i, mica_ints list);
/* Hands the layer over, or releases it after an error. */
MICA_MUST_CHECK mica_status mlc_layer_finish(mlc_layer *layer, mica_status status,
                                             mlc_layer **out_layer);
/* INVALID_ARGUMENT unless the tensor has data (where has_data) and so many elements. */
MICA_MUST_CHECK mica_status mlc_check_weights(const char *where, const char *what,
                                              const mlc_tensor *tensor, int64_t elements);
static inline bool mlc_role_is_trained(const mlc_layer *layer, mlc_role role) {
    return role < MLC_ROLE_MEAN && layer->kind != MLC_LOSS_LAYER;
}
static inline bool mlc_layer_is_loss(const mlc_layer *layer) {
    return layer->kind == MLC_LOSS_LAYER || layer->kind == MLC_YOLO_LOSS_LAYER;
}

/* What tensors held at the end of one execution. A handler reads these on its thread, whatever
 * later executions have computed by then. Answers what was read before. */
typedef struct mlc_results {
    struct {
        mlc_tensor *tensor; /* of the graph, which the run keeps */
        mica_tensor *value; /* a reference */
    } * data;
    int32_t n;
} mlc_results;
const mlc_results *mlc_read_results(const mlc_results *results);

#endif
