/* tf/gradient/function.h: gradients of functions, as functions.
 *
 * copy.c      copies a graph, calls in line; takes derivatives of what stays on the host apart
 * function.c  walks a copy back, from the cotangents of outputs to those of parameters
 * stages.c    branches and loops that stay on the host: forward they keep what the backward pass
 *             needs on a stack, from which the backward pass takes it */
#ifndef MICA_TF_GRADIENT_FUNCTION_H
#define MICA_TF_GRADIENT_FUNCTION_H

#include "tf/gradient/walk.h"

typedef struct mica_tf_stage mica_tf_stage;

/* A function in the backward pass. Its tensors are refs of `backward`; where forward and backward
 * are one graph, values serve as they are. */
typedef struct mica_tf_graph_walk {
    mica_tf_walk walk; /* first */
    mica_arena arena;
    mica_tf_graph *forward, *backward;
    bool puts_off;          /* gathers: see function.c */
    bool take_apart;        /* branches and loops are stages even where they could be lowered */
    mica_tf_stage **stages; /* by node of forward; NULL: it is none */
    int32_t n_nodes, nodes_capacity, slots_capacity; /* what is known of forward */
    mica_tf_ref *residuals;                          /* by slot: in backward */
    struct mica_tf_put_off **put_off; /* by slot, or NULL: gathers from it, in program order */
    int32_t *slots;                   /* room for those of a step */
} mica_tf_graph_walk;

/* A ref as a walk's tensor: no ref is NULL. */
_Static_assert(sizeof(void *) >= sizeof(uint64_t), "a pointer holds a ref");
static inline void *mica_tf_pack(mica_tf_ref ref) {
    uint64_t bits = (uint64_t)((uint32_t)ref.node + 1u) << 32 | (uint32_t)ref.index;
    return (void *)(uintptr_t)bits;
}
static inline mica_tf_ref mica_tf_unpack(const void *tensor) {
    uint64_t bits = (uint64_t)(uintptr_t)tensor;
    return (mica_tf_ref){(int32_t)(uint32_t)(bits >> 32) - 1, (int32_t)(uint32_t)bits};
}

/* What a gradient is wanted of. By parameter and by output of the function; NULL: all outputs of a
 * dtype that carries gradients. */
typedef struct mica_tf_wish {
    const uint8_t *wanted, *given;
    bool fill;       /* zeros for wanted parameters that are not connected */
    bool take_apart; /* as in the walk */
    bool slices;     /* where gathers alone lead to a parameter: what they gather and where */
} mica_tf_wish;

/* As mica_tf_graph_backward; the cotangents are of the outputs that are given. */
MICA_MUST_CHECK mica_status mica_tf_derive(const mica_tf_graph *g, const mica_tf_wish *wish,
                                           uint8_t *out_connected, mica_tf_graph **out_forward,
                                           mica_tf_graph **out_backward);

static inline bool mica_tf_is_ref(mica_tf_ref ref) {
    return ref.node >= 0;
}
/* Whether cotangents of it exist: floats, complex numbers, and stacks of them. */
bool mica_tf_flows(mica_tf_dtype dtype);
/* active (by slot of g) of what depends on what is set in it. */
void mica_tf_find_active(const mica_tf_graph *g, int32_t first_node, uint8_t *active);
/* A value of the forward function in the backward one: a constant again, else a parameter. */
MICA_MUST_CHECK mica_status mica_tf_residual(mica_tf_graph_walk *w, mica_tf_ref ref,
                                             mica_tf_ref *out);
MICA_MUST_CHECK mica_status mica_tf_add_cotangent(mica_tf_graph_walk *w, int32_t slot,
                                                  mica_tf_ref ref);
/* The cotangent of result i of a forward node; zeros where there is none. */
MICA_MUST_CHECK mica_status mica_tf_cotangent_or_zeros(mica_tf_graph_walk *w, int32_t node,
                                                       int32_t i, mica_tf_ref *out);
MICA_MUST_CHECK mica_status mica_tf_zeros_like(mica_tf_graph *g, mica_tf_ref like,
                                               mica_tf_ref *out);

/* ---- copying ----------------------------------------------------------------------------------*/

typedef struct mica_tf_copier {
    mica_tf_graph *to;
    mica_tf_graph_walk
        *walk;       /* whose forward function `to` is: stages are made. NULL: a plain copy */
    bool take_apart; /* derivatives of branches and loops, even where they could be lowered */
} mica_tf_copier;

/* The nodes of a function on these arguments; out has a place per output. */
MICA_MUST_CHECK mica_status mica_tf_copy_function(const mica_tf_copier *c, const mica_tf_graph *f,
                                                  const mica_tf_ref *arguments, mica_tf_ref *out);
/* A function of one node: parameters of these types, the op on them, its results. */
MICA_MUST_CHECK mica_status mica_tf_function_of(const mica_tf_operation *operation,
                                                const mica_tf_graph *g, const mica_tf_ref *inputs,
                                                int32_t n, mica_tf_graph **out_function);

/* Whether it calls functions, as calls, branches and loops do. */
bool mica_tf_has_bodies(const mica_tf_operation *operation);

/* Room for what is known of the forward function, whose nodes have become more. */
MICA_MUST_CHECK mica_status mica_tf_catch_up(mica_tf_graph_walk *w);

/* ---- stages -----------------------------------------------------------------------------------*/

/* Whether it is a branch or a loop that has to be a stage. */
bool mica_tf_is_stage(const mica_tf_operation *operation, bool take_apart);
/* Adds the node to w->forward as a stage; out receives the results that the op itself has. */
MICA_MUST_CHECK mica_status mica_tf_stage_forward(mica_tf_graph_walk *w,
                                                  const mica_tf_operation *operation,
                                                  const mica_tf_ref *inputs, int32_t n,
                                                  const char *name, mica_tf_ref *out);
MICA_MUST_CHECK mica_status mica_tf_stage_backward(mica_tf_graph_walk *w, int32_t node);
void mica_tf_stage_destroy(mica_tf_stage *stage);

#endif
