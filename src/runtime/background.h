/* runtime/background.h: the one thread that compiles while runs go on. It starts with the first
 * executable that is due, and ends with mica_shutdown, which drops what still waits. */
#ifndef MICA_RUNTIME_BACKGROUND_H
#define MICA_RUNTIME_BACKGROUND_H

#include "runtime/executable.h"

#define MICA_RUNS_BEFORE_COMPILING 3

void mica_background_submit(mica_executable *exe);
void mica_background_stop(void);

/* Counts a run; the third one asks for generated code. */
static inline void mica_background_notice(mica_executable *exe) {
    if (__atomic_load_n(&exe->runs, __ATOMIC_RELAXED) >= MICA_RUNS_BEFORE_COMPILING) return;
    if (__atomic_add_fetch(&exe->runs, 1, __ATOMIC_RELAXED) == MICA_RUNS_BEFORE_COMPILING)
        mica_background_submit(exe);
}

#endif
