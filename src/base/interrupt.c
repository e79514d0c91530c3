#include "base/interrupt.h"

#include <stddef.h>

#include "base/platform.h"
#include "mica/runtime.h"

#define PAUSE 0.05 /* seconds between two questions */

static bool (*asked)(void); /* atomic */
static _Thread_local mica_interrupt_scope *current;
static _Thread_local double last; /* when this thread asked */

void mica_set_interrupt_check(bool (*check)(void)) {
    __atomic_store_n(&asked, check, __ATOMIC_RELEASE);
}

bool mica_interrupt_is_checked(void) {
    return __atomic_load_n(&asked, __ATOMIC_ACQUIRE) && mica_thread_is_first();
}

bool mica_interrupt_poll(void) {
    bool (*check)(void) = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    if (!check) return false;
    double now = mica_clock_coarse_seconds();
    if (now < last + PAUSE) return false;
    last = now;
    return mica_thread_is_first() && check();
}

mica_status mica_interrupt_status(void) {
    return MICA_ERROR(MICA_CANCELLED, "[interrupt] the computation was interrupted");
}

void mica_interrupt_enter(mica_interrupt_scope *scope, const int32_t *flag, bool is_kept) {
    *scope = (mica_interrupt_scope){.outer = current, .flag = flag, .is_kept = is_kept};
    current = scope;
}

bool mica_interrupt_leave(mica_interrupt_scope *scope) {
    current = scope->outer;
    return scope->is_left;
}

bool mica_interrupt_is_left(void) {
    return current && current->is_left;
}

static bool must_leave(mica_interrupt_scope *scope) {
    if (!scope || scope->is_kept) return false;
    if (!scope->is_left)
        scope->is_left = (scope->flag && __atomic_load_n(scope->flag, __ATOMIC_RELAXED)) ||
                         mica_interrupt_poll();
    return scope->is_left;
}

bool mica_interrupt_must_leave(void) {
    return must_leave(current);
}

bool mica_interrupt_must_leave_around(void) {
    return current && current->is_kept && must_leave(current->outer);
}
