/* mlc/graph.h: graphs, what is declared about them, and what is compiled. */
#ifndef MICA_MLC_GRAPH_H
#define MICA_MLC_GRAPH_H

#include "mlc/objects.h"

typedef enum mlc_graph_kind { MLC_GRAPH, MLC_INFERENCE_GRAPH, MLC_TRAINING_GRAPH } mlc_graph_kind;

/* A growing list of pointers. */
typedef struct mlc_list {
    void **data;
    int32_t n, capacity;
} mlc_list;
MICA_MUST_CHECK mica_status mlc_list_add(mlc_list *list, void *item);
void mlc_list_deinit(mlc_list *list);
int32_t mlc_list_find(const mlc_list *list, const void *item); /* -1: not in it */

typedef struct mlc_node {
    mlc_layer *layer;
    mlc_tensor **sources, **labels, **results; /* references */
    int32_t n_sources, n_labels, n_results;
    bool disable_update;
    mlc_list source_gradients, result_gradients; /* as last asked for; borrowed tensors */
    double seconds; /* of the last execution that timed layers; guarded by the lock */
} mlc_node;

typedef struct mlc_declaration {
    char *name;
    mlc_tensor *tensor; /* a reference */
} mlc_declaration;

typedef struct mlc_declarations {
    mlc_declaration *data;
    int32_t n, capacity;
} mlc_declarations;

/* The gradient tensor of a tensor; with a node: the node's own part of it. */
typedef struct mlc_gradient {
    mlc_tensor *of, *gradient; /* gradient: a reference */
    const mlc_node *node;
    bool is_user;   /* what is bound to it is added to the tensor's gradient */
    bool is_wanted; /* computed and stored */
} mlc_gradient;

/* A value of a program's input or output, and where it comes from or goes to. */
typedef enum mlc_slot_kind {
    MLC_SLOT_TENSOR,    /* a tensor's value */
    MLC_SLOT_STATE,     /* optimizer buffer `index` of a tensor */
    MLC_SLOT_RATE,      /* f32[] */
    MLC_SLOT_TIME_STEP, /* f32[] */
    MLC_SLOT_STEP,      /* u32[1] */
    MLC_SLOT_SEED,      /* a gradient tensor's value; when it has none, `index` everywhere */
    MLC_SLOT_RESIDUAL,  /* number `index` of what a forward pass keeps */
    MLC_SLOT_GRADIENT,  /* of parameter `index` of the graph */
    MLC_SLOT_FLAG,      /* bool: all of node `index`'s results (or gradients) are finite */
} mlc_slot_kind;

typedef struct mlc_slot {
    mlc_slot_kind kind;
    mlc_tensor *tensor; /* borrowed */
    int32_t index;
    bool is_gradient; /* of a flag */
    bool is_donated;
    mica_type type;
} mlc_slot;

typedef struct mlc_slots {
    mlc_slot *data;
    int32_t n, capacity;
} mlc_slots;
MICA_MUST_CHECK mica_status mlc_slots_add(mlc_slots *slots, mlc_slot slot);

typedef enum mlc_program_kind {
    MLC_PROGRAM_INFERENCE,
    MLC_PROGRAM_STEP, /* forward, gradient, update */
    MLC_PROGRAM_FORWARD,
    MLC_PROGRAM_GRADIENT,
    MLC_PROGRAM_UPDATE,
} mlc_program_kind;

typedef struct mlc_program {
    struct mlc_program *next;
    mlc_program_kind kind;
    int64_t batch; /* 0: the tensors' */
    bool clips;    /* the optimizer did, when this was built */
    mica_executable *executable;
    mlc_slots inputs, outputs;
    int32_t n_residuals;
} mlc_program;

/* Graphs that pass tensors to each other; each holds a reference to the group. */
typedef struct mlc_link {
    mica_refcount references;
    mlc_list graphs; /* borrowed: a graph that goes away takes itself off */
} mlc_link;

struct mlc_graph {
    mica_refcount references;
    mlc_graph_kind kind;
    mlc_list nodes;  /* its own, mlc_node */
    mlc_list graphs; /* that it wraps; references */
    mlc_list layers; /* for mlc_graph_layers */
    bool is_frozen;  /* compiled, or wrapped by a graph that is */

    /* Of inference and training graphs. */
    mlc_declarations inputs, labels, label_weights, outputs;
    mlc_declarations constants; /* the tensors hold the data */
    mlc_layer *loss_layer;
    mlc_optimizer *optimizer;
    mlc_list stopped; /* tensors; references */
    mlc_list trained; /* mlc_tensor_parameter given by the user; references */
    mlc_gradient *gradients;
    int32_t n_gradients, gradients_capacity;

    /* Compiled; guarded by the lock from here on. */
    mlc_device *device; /* NULL: not compiled */
    uint64_t options;
    mlc_list all;        /* mlc_node of this and the wrapped graphs, in order */
    mlc_list parameters; /* mlc_tensor, each once: what the optimizer updates */
    int64_t full_batch;  /* the first size of the inputs */
    mlc_program *programs;
    mlc_link *link;
    mlc_tensor *result; /* what handlers get; borrowed */

    /* Executions. */
    uint32_t step;
    mica_tensor **kept; /* residuals, then inputs, of the last forward pass */
    int32_t n_kept;
    const mlc_program *kept_for;       /* the gradient program that takes them */
    mica_tensor **parameter_gradients; /* one per parameter, or NULL */
    mica_status broken;                /* why the state is lost */
    int32_t pending;                   /* asynchronous executions; guarded by the dispatcher */
    mica_status error; /* the first since the last wait; guarded by the dispatcher */
};

void mlc_node_release(mlc_node *node);
/* Appends a node, after checks and with its results' sizes found. */
MICA_MUST_CHECK mica_status mlc_graph_add(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources,
                                          mlc_tensors labels, bool disable_update,
                                          mlc_node **out_node);
/* Finds the types of a node's results (in node.c). */
MICA_MUST_CHECK mica_status mlc_infer_results(const mlc_layer *layer, mlc_tensors sources,
                                              mlc_tensors labels, mica_type **out_types,
                                              int32_t *out_n);
/* All nodes, wrapped graphs' first. */
MICA_MUST_CHECK mica_status mlc_graph_collect(const mlc_graph *graph, mlc_list *list);
mlc_node *mlc_graph_find_node(const mlc_graph *graph, const mlc_layer *layer);
/* The node that makes a tensor; NULL: none of this graph. */
mlc_node *mlc_graph_find_producer(const mlc_graph *graph, const mlc_tensor *tensor);
MICA_MUST_CHECK mica_status mlc_graph_is(const mlc_graph *graph, mlc_graph_kind kind,
                                         const char *where);

mlc_declaration *mlc_declarations_find(const mlc_declarations *list, const char *name);
bool mlc_declarations_have(const mlc_declarations *list, const mlc_tensor *tensor);
/* Whether the caller gives the tensor with every execution, by its batch: inputs and labels. */
bool mlc_graph_declares(const mlc_graph *graph, const mlc_tensor *tensor);
MICA_MUST_CHECK mica_status mlc_declarations_add(mlc_declarations *list, const char *name,
                                                 mlc_tensor *tensor, const char *where);
void mlc_declarations_deinit(mlc_declarations *list);

/* The gradient of a tensor (of a node's part of it; or a user's), made when there is none yet. */
MICA_MUST_CHECK mica_status mlc_graph_gradient_of(mlc_graph *graph, mlc_tensor *tensor,
                                                  const mlc_node *node, bool is_user,
                                                  mlc_gradient **out_gradient);

/* With the lock held: programs have to be built again. */
void mlc_graph_drop_programs(mlc_graph *graph);
/* With the lock held: the program of a kind for a batch size, built when first needed. */
MICA_MUST_CHECK mica_status mlc_program_get(mlc_graph *graph, mlc_program_kind kind, int64_t batch,
                                            mlc_program **out_program);
void mlc_program_release(mlc_program *program);
/* With the lock held: what a forward pass has kept goes. */
void mlc_graph_forget_kept(mlc_graph *graph);
void mlc_graph_forget_gradients(mlc_graph *graph);
void mlc_graph_unlink(mlc_graph *graph);
/* Runs and times every layer by itself. */
MICA_MUST_CHECK mica_status mlc_graph_time_layers(mlc_graph *graph, int64_t batch, bool training);

#endif
