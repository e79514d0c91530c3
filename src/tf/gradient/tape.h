/* tf/gradient/tape.h: tapes, as values.c sees them. */
#ifndef MICA_TF_GRADIENT_TAPE_H
#define MICA_TF_GRADIENT_TAPE_H

#include "mica/tf/tape.h"
#include "tf/tf.h"

/* An op that was recorded, or something of an owner's. The inputs are held. */
typedef struct mica_tf_tape_entry {
    mica_tf_operation *operation; /* NULL: `owner` knows the derivative */
    void *owner;
    void **inputs;  /* in the tape's arena, as the slots are: they do not move */
    int32_t *slots; /* of the inputs, then of the outputs */
    int32_t n_inputs, n_outputs;
} mica_tf_tape_entry;

struct mica_tf_tape {
    mica_refcount references;
    mica_tf_front front;
    mica_arena arena; /* of the entries */
    int64_t *keys;    /* a hash map from ids (0: free) ... */
    int32_t *places;  /* ... to slots */
    int32_t mask, n_slots, slots_capacity;
    uint8_t *followed; /* by slot */
    mica_tf_tape_entry *entries;
    int32_t n_entries, capacity, most; /* most: inputs and outputs of one entry */
    int32_t n_walks;                   /* that go over it now */
    bool is_to_clear;                  /* when they are done */

    /* of a tape of values (values.c) */
    bool is_of_values, is_persistent, ignores_variables, is_used;
    mica_tf_tape *next;  /* on the stack of the thread where it records */
    const void *thread;  /* NULL: it does not */
    mica_tf_value *held; /* all outputs and what is watched: an object is known by its address */
    int32_t n_held, held_capacity;
};

MICA_MUST_CHECK mica_status mica_tf_tape_make(const mica_tf_front *front, mica_tf_tape **out_tape);
/* The public functions without their doors. */
MICA_MUST_CHECK mica_status mica_tf_tape_keep(mica_tf_tape *tape, mica_tf_operation *operation,
                                              void *owner, void *const *inputs, int32_t n_inputs,
                                              void *const *outputs, int32_t n_outputs);
MICA_MUST_CHECK mica_status mica_tf_tape_differentiate(mica_tf_tape *tape, void *context,
                                                       void *const *targets, int32_t n_targets,
                                                       void *const *cotangents,
                                                       void *const *sources, int32_t n_sources,
                                                       void **out_gradients);
/* Takes the last entry back. */
void mica_tf_tape_drop_last(mica_tf_tape *tape);
/* Whether the id was ever mentioned. */
bool mica_tf_tape_knows(const mica_tf_tape *tape, int64_t id);
/* Whether there are cotangents of it: floats, complex numbers, variables, lists. */
bool mica_tf_tape_may_follow(mica_tf_dtype dtype);

/* ---- values.c ---------------------------------------------------------------------------------*/

extern int32_t mica_tf_n_recording; /* atomic: tapes of values, on all threads */
/* Tapes of values that record on this thread; NULL: none. They are hidden while an op runs. */
mica_tf_tape *mica_tf_tapes_hide(void);
void mica_tf_tapes_show(mica_tf_tape *tapes);
/* Tells them of an op that ran. Outputs that someone else holds too are replaced. */
MICA_MUST_CHECK mica_status mica_tf_tapes_record(mica_tf_tape *tapes, mica_tf_operation *operation,
                                                 const mica_tf_value *inputs, int32_t n_inputs,
                                                 mica_tf_value *outputs, int32_t n_outputs);
void mica_tf_tape_forget_values(mica_tf_tape *tape);
/* Stops a tape whose last reference but one is that of this thread, where it records. */
void mica_tf_tape_leave(mica_tf_tape *tape);

#endif
