/* tf/gradient/walk.h: the reverse walk.
 *
 * A walk goes back over steps: the entries of a tape, or the nodes of a graph. Their inputs and
 * results are known by slots, small numbers that the walk's owner gives. The walk keeps a cotangent
 * for each slot, asks for the derivative of each step, and adds up what comes of it; what a tensor
 * is and how an op is run, or added as a node, only the owner knows.
 *
 * tape.c      what was recorded, and walks over it
 * values.c    tapes of C programs, whose tensors are values
 * function.c  walks over graphs: functions of gradients, and gradients inside a graph */
#ifndef MICA_TF_GRADIENT_WALK_H
#define MICA_TF_GRADIENT_WALK_H

#include "tf/tf.h"

typedef struct mica_tf_walk mica_tf_walk;

typedef struct mica_tf_step {
    int32_t index;
    mica_tf_operation *operation;    /* NULL: its derivative is the owner's own */
    const int32_t *inputs, *outputs; /* slots */
    int32_t n_inputs, n_outputs;
} mica_tf_step;

/* A tensor is a pointer that the owner understands; NULL is none. */
typedef struct mica_tf_walk_class {
    /* Steps are taken first come, first served: one's turn comes when all that uses its results is
     * done. So terms are added in TensorFlow's order. Else from the last to the first. */
    bool is_served;
    void (*step)(mica_tf_walk *w, int32_t index, mica_tf_step *out_step);
    /* (optional) Before the cotangents of the step's results are looked at. */
    mica_status (*begin)(mica_tf_walk *w, int32_t index);
    /* (optional) A derivative that is no Vjp node's: *out_done is set to true. `given` has a
     * cotangent, or NULL, per result. */
    mica_status (*own)(mica_tf_walk *w, const mica_tf_step *step, void *const *given,
                       bool *out_done);
    /* (optional) The same for a gather whose indices may be its derivative. */
    mica_status (*gather)(mica_tf_walk *w, const mica_tf_step *step, void *cotangent,
                          bool *out_done);
    mica_tf_dtype (*input_dtype)(mica_tf_walk *w, const mica_tf_step *step, int32_t i);
    /* Input i of the step, as an operand of what is emitted; borrowed. */
    mica_status (*operand)(mica_tf_walk *w, const mica_tf_step *step, int32_t i, void **out);
    mica_tf_dtype (*dtype)(mica_tf_walk *w, void *tensor);
    /* Whether a derivative by an input of this dtype can be asked for. */
    bool (*has_derivative)(mica_tf_dtype dtype);
    /* Runs an op or adds a node; attrs has a place per attribute of the row. */
    mica_status (*run)(mica_tf_walk *w, mica_tf_op op, const mica_tf_attr *attrs,
                       void *const *inputs, int32_t n, void **outputs, int32_t n_outputs);
    mica_status (*sum)(mica_tf_walk *w, void *a, void *b, void **out);
    mica_status (*zeros_like)(mica_tf_walk *w, void *like, void **out);
    /* (optional) A cotangent as a tensor, a new reference; without it they all are. */
    mica_status (*dense)(mica_tf_walk *w, void *cotangent, void **out);
    /* (optional, together) Without them tensors live as long as the walk. */
    void (*retain)(void *tensor);
    void (*release)(void *tensor);
} mica_tf_walk_class;

struct mica_tf_walk {
    const mica_tf_walk_class *kind;
    int32_t n_steps, n_slots;
    uint8_t *active;   /* by slot: depends on a source; the owner's */
    uint8_t *held;     /* by slot, or NULL: nothing flows back through it; the owner's */
    uint8_t *kept;     /* by slot, or NULL: its cotangent is wanted afterwards; the owner's */
    void **cotangents; /* by slot */
    void **given;      /* room for those of one step */
    void **tensors;    /* room for the inputs and results of what is emitted */
    int64_t *ints;     /* and for its attributes */
};

/* `most`: inputs and results of a step together, at most. active, held and kept are set before. */
MICA_MUST_CHECK mica_status mica_tf_walk_init(mica_tf_walk *w, const mica_tf_walk_class *kind,
                                              int32_t n_steps, int32_t n_slots, int32_t most);
void mica_tf_walk_deinit(mica_tf_walk *w);
/* Adds to the cotangent of a slot; takes the reference in any case. */
MICA_MUST_CHECK mica_status mica_tf_walk_add(mica_tf_walk *w, int32_t slot, void *cotangent);
/* Goes back from what has cotangents. `targets` are slots: where a walk that is served begins. */
MICA_MUST_CHECK mica_status mica_tf_walk_back(mica_tf_walk *w, const int32_t *targets, int32_t n);
/* The derivative of one step as a Vjp of its op, added to the inputs' cotangents. */
MICA_MUST_CHECK mica_status mica_tf_walk_vjp(mica_tf_walk *w, const mica_tf_step *step,
                                             void *const *given);
/* Whether the gradient of the step reaches input i, be it as zeros. */
bool mica_tf_walk_carries(const mica_tf_walk *w, const mica_tf_step *step, int32_t i);

#endif
