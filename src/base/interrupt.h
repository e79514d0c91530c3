/* base/interrupt.h: ending long computations on request (Ctrl-C).
 *
 * The host sets a check (mica_set_interrupt_check), which answers whether the user has asked to
 * stop. It is asked a few times a second, by the process's first thread alone, at places where work
 * can be left: between iterations of loops, between pieces of a parallel job, while waiting. A run
 * that is left answers CANCELLED, and its results are never seen. Another thread that computes what
 * the first one waits for looks at the flag of the run's event instead.
 *
 * Pieces of a job may be left only inside a scope, whose owner asks mica_interrupt_leave:
 * everywhere else all pieces are computed. Once a scope is left no job in it begins: what one did
 * not write is not read by the next. Code that takes indices from memory which a job has written,
 * outside of jobs, is kept (a scope of its own). */
#ifndef MICA_BASE_INTERRUPT_H
#define MICA_BASE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mica_interrupt_scope {
    struct mica_interrupt_scope *outer;
    const int32_t *flag; /* atomic, or NULL: set by who waits for this, and does not want to */
    bool is_kept;        /* what it computes must be finished: it is never left */
    bool is_left;        /* pieces were left out: the results are no results */
} mica_interrupt_scope;

void mica_interrupt_enter(mica_interrupt_scope *scope, const int32_t *flag, bool is_kept);
/* Whether something was left out. */
bool mica_interrupt_leave(mica_interrupt_scope *scope);
/* Whether this thread's scope is to be left now, and marks it so. Outside of any: false. */
bool mica_interrupt_must_leave(void);

/* In a kept scope, outside of its jobs: whether the scope around it is to be left now, and marks
 * that so. What the kept one computes on is not seen then, but must stay sound: all places in
 * range. In threads that work for another's job, and outside of any kept scope: false. */
bool mica_interrupt_must_leave_around(void);

bool mica_interrupt_is_left(void); /* whether it was, without asking anybody */

/* Whether the user has asked to stop: for those who wait, or go on and on, outside of runs. */
bool mica_interrupt_poll(void);
bool mica_interrupt_is_checked(void); /* whether polling can ever say so in this thread */
#define MICA_TRY_UNINTERRUPTED()                                                                   \
    do {                                                                                           \
        if (mica_interrupt_poll()) return mica_interrupt_status();                                 \
    } while (0)
MICA_MUST_CHECK mica_status mica_interrupt_status(void);

#endif
