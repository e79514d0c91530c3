/* compile/planner.h: the planner's own state; shared by plan*.c alone. */
#ifndef MICA_COMPILE_PLANNER_H
#define MICA_COMPILE_PLANNER_H

#include "compile/plan.h"

/* Memory that holds one value, or several one after the other. */
typedef struct mica_storage {
    size_t bytes;
    int32_t first, last; /* the commands' times between which it is in use */
    int32_t list;        /* that owns it */
    mica_place fixed;    /* base MICA_BASE_NONE: the layout decides */
    bool is_fixed;
    bool writable;  /* may be overwritten once dead */
    int64_t offset; /* in the list's frame */
} mica_storage;

typedef struct mica_planner {
    mica_plan *plan;
    bool share;
    mica_storage *storages;
    int32_t n_storages, storages_capacity;
    int32_t *frames; /* per list: the storage it lies in, -1 for the outermost */
    int32_t n_frames, frames_capacity;
} mica_planner;

/* One graph being planned. */
typedef struct mica_planning {
    mica_planner *planner;
    const mica_graph *g;
    int32_t list;
    int32_t *first_value; /* per node: the number of its first result */
    mica_place *places;   /* per value */
    int32_t *last_use;    /* per value; n_nodes: used as an output */
    mica_commands *out;
    double work;
} mica_planning;

static inline int32_t mica_planning_index(const mica_planning *p, mica_value v) {
    return p->first_value[v.node->id] + v.index;
}
static inline mica_place *mica_planning_place(const mica_planning *p, mica_value v) {
    return &p->places[mica_planning_index(p, v)];
}

void *mica_planner_alloc(mica_planner *planner, size_t count, size_t bytes);
/* A new storage; negative when out of memory. */
int32_t mica_planner_storage(mica_planner *planner, int32_t list, size_t bytes, int32_t first,
                             int32_t last);
/* The storage a place refers to, or NULL. */
mica_storage *mica_planner_find(mica_planner *planner, mica_place place);

/* Plans g as a nested or the outermost list. parameters: where they are; writable[i] (or NULL):
 * parameter i may be overwritten once dead. targets: where outputs shall be; homes (or NULL): the
 * parameter each output would best take over, or -1: the target is then changed to its place. */
MICA_MUST_CHECK mica_status mica_plan_list(mica_planner *planner, const mica_graph *g,
                                           const mica_place *parameters, const bool *writable,
                                           mica_place *targets, const int32_t *homes,
                                           int32_t *out_list, size_t *out_frame_bytes,
                                           double *out_work, mica_commands *out_commands);
/* cond, case, call, while, scan: n's results have places afterwards. */
MICA_MUST_CHECK mica_status mica_plan_control(mica_planning *p, const mica_node *n);
MICA_MUST_CHECK mica_command *mica_plan_append(mica_planning *p, mica_command_kind kind,
                                               const mica_node *n);
/* A fresh place for result i of n: a storage, a list or nothing. */
MICA_MUST_CHECK mica_status mica_plan_new_result(mica_planning *p, const mica_node *n, int32_t i);

/* Best fit of one list's storages into a frame. */
MICA_MUST_CHECK mica_status mica_plan_layout(mica_planner *planner, int32_t list,
                                             size_t *out_bytes);
/* Turns storages into offsets, in all commands. */
void mica_plan_resolve(mica_planner *planner, mica_commands *commands);

#endif
