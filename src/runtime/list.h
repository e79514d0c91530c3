/* runtime/list.h: the lists of one run (list_push, list_pop).
 *
 * A list is a chain of elements, newest first, shared by all lists that were pushed on it: values
 * do not change. Elements of one size come from blocks that double; blocks come from the device's
 * pool and go back when the run's last command was issued.
 *
 * How many elements a loop pushes is known when it has run. So a program remembers the room that
 * its lists took, and its next run acquires that much before the first command: only a run that
 * pushes more than any before it asks for memory on the way. */
#ifndef MICA_RUNTIME_LIST_H
#define MICA_RUNTIME_LIST_H

#include "runtime/buffer.h"

typedef struct mica_element {
    int32_t references;
    struct mica_list_space *space;
    mica_address address;
    struct mica_element *below; /* in the list, or in the space's free elements */
} mica_element;

typedef struct mica_lists {
    mica_device *device;
    mica_element **tops; /* per list; NULL: empty */
    int32_t n;
    struct mica_list_space *spaces; /* one per element size */
} mica_lists;

/* The room that lists of one program took so far; the device's lock guards it. */
enum { MICA_LIST_ROOMS = 4 };
typedef struct mica_list_rooms {
    struct {
        size_t bytes; /* of an element; 0: not in use */
        int64_t n;
    } rooms[MICA_LIST_ROOMS];
} mica_list_rooms;

/* Lists with the room that was needed before. */
MICA_MUST_CHECK mica_status mica_lists_init(mica_lists *lists, mica_device *device, int32_t n,
                                            const mica_list_rooms *rooms);
/* At the end of a run. */
void mica_lists_remember(const mica_lists *lists, mica_list_rooms *rooms);
void mica_lists_deinit(mica_lists *lists);
/* All memory so far is in use up to this ticket. */
void mica_lists_mark(mica_lists *lists, uint64_t ticket);

/* Memory for one more element on top of list `below`, as list `result`; the caller fills it. */
MICA_MUST_CHECK mica_status mica_list_grow(mica_lists *lists, int32_t below, int32_t result,
                                           size_t bytes, mica_address *out_address);
/* The top element's address (0: the list is empty); list `result` is the list below it. The memory
 * stays as it is until the next mica_list_grow. */
mica_address mica_list_shrink(mica_lists *lists, int32_t list, int32_t result);
void mica_list_assign(mica_lists *lists, int32_t target, int32_t source);
void mica_list_clear(mica_lists *lists, int32_t list);

#endif
