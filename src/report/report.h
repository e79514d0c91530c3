/* report/: what a process did, for people to look at: MICA_REPORT=page.html writes a page of it
 * when the process ends or mica_shutdown is called, MICA_LOG=time the same as lines of text.
 *
 * The rooms above say here what they do: plain texts and numbers, nothing of theirs is kept. While
 * nothing is asked for, mica_report_is_on is one load, and everything that costs anything is behind
 * it. What is kept is bounded (the limits below); what did not fit is counted and the page says so.
 * Running out of memory loses records, never a result.
 *
 * One lock guards all of it but a trace, which has its own. They are the innermost: a caller may
 * hold any other.
 */
#ifndef MICA_REPORT_REPORT_H
#define MICA_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    MICA_REPORT_PROGRAMS = 1024,
    MICA_REPORT_KERNELS = 1024,   /* of a program */
    MICA_REPORT_PASSES = 16,      /* of a program */
    MICA_REPORT_NOTES = 16 << 10, /* bytes of a program's notes */
    MICA_REPORT_TEXT = 128 << 10, /* bytes of one graph or source; the rest is cut off */
    MICA_REPORT_TEXTS = 24 << 20, /* bytes of all texts */
    MICA_REPORT_LINES = 4096,     /* different lines of the caller's program */
    MICA_REPORT_ROWS = 256,       /* kinds of transfers, of ops on the host */
    MICA_REPORT_DEVICES = 8,
    MICA_REPORT_BUCKETS = 512, /* of a timeline; they grow as time goes on */
    MICA_REPORT_HOLDERS = 12,  /* of memory at its peak */
    MICA_REPORT_VALUES = 16,   /* the largest ones in a program's arena */
};

extern int32_t mica_report_state; /* 0: off; MICA_REPORT_NOT_READ: the environment was not read */
#define MICA_REPORT_NOT_READ (-1)
bool mica_report_look_up(void);
static inline bool mica_report_is_on(void) {
    return __atomic_load_n(&mica_report_state, __ATOMIC_RELAXED) != 0 && mica_report_look_up();
}

/* ---- lines of the caller's program ------------------------------------------------------------*/

/* "file:line" of the line that runs on this thread, whether or not a report is asked for. */
bool mica_report_find_line(char *text, size_t capacity);
/* A number for the line that runs on this thread, 0 when it is not known. No lock may be held. */
int32_t mica_report_line(void);
/* The same line as part of a layer: "file:line" and "model/layer" of an op's name
 * "model/layer/MatMul". */
int32_t mica_report_line_of(const char *op_name);
/* From now on, on this thread, that number is `line`; answers what to give back afterwards. */
int32_t mica_report_set_line(int32_t line);
enum { MICA_REPORT_ASK = -1 }; /* mica_report_set_line: ask whoever knows (the default) */

/* ---- programs ---------------------------------------------------------------------------------*/

/* A program is being made on this thread; 0 when it is not kept. Log lines of the passes and of
 * what was recognised, up to mica_report_made, are its own. */
int64_t mica_report_begin(const char *name, const char *device, const char *code);
/* The text of a generated kernel, by its number in the program. */
void mica_report_source(int32_t number, const char *text);
void mica_report_made(int64_t program, size_t arena_bytes, size_t constants_bytes);

typedef struct mica_report_kernel {
    const char *label, *type, *how; /* what it computes, its first result, who computes it */
    int32_t source;                 /* its number among the generated, or -1 */
    double bytes;                   /* operands and results, each once */
    double operations;              /* of products; 0: not counted */
    const int32_t *lines;           /* of the caller's program */
    int32_t n_lines;
} mica_report_kernel;

/* Answers its number, or -1. */
int32_t mica_report_add_kernel(int64_t program, const mica_report_kernel *kernel);
/* A value in the arena, alive from the first to the last of these commands. */
void mica_report_add_value(int64_t program, const char *label, const char *type, double bytes,
                           int32_t first, int32_t last, int32_t line);

void mica_report_launched(int64_t program, int32_t kernel, double seconds);
void mica_report_ran(int64_t program, double start, double seconds);

/* ---- memory -----------------------------------------------------------------------------------*/

typedef struct mica_report_holder {
    char what[96];
    double bytes; /* of one */
    int64_t n;
    int32_t line;
} mica_report_holder;

void mica_report_memory(const char *device, size_t in_use, size_t cached);
/* Whether so much is worth to be asked for its holders: more than ever, by some percent. */
bool mica_report_wants_holders(const char *device, size_t in_use);
/* The largest first. */
void mica_report_holders(const char *device, size_t in_use, const mica_report_holder *holders,
                         int32_t n);

/* ---- the host ---------------------------------------------------------------------------------*/

void mica_report_transfer(const char *what, const char *from, const char *to, size_t bytes);
void mica_report_host(const char *op, const char *why, double seconds);

/* ---- a trace: what ran when, on which thread --------------------------------------------------*/

/* mica_trace_start and mica_trace_stop of mica/runtime.h; nothing of it depends on the state above.
 * `kind` is a literal, of the name the first bytes are kept. */
extern int32_t mica_trace_state;
static inline bool mica_trace_is_on(void) {
    return __atomic_load_n(&mica_trace_state, __ATOMIC_RELAXED) != 0;
}
void mica_trace_add(const char *kind, const char *name, double start, double seconds);
void mica_trace_drop(void); /* ends a trace that is on; called by mica_shutdown */

/* ---- the end ----------------------------------------------------------------------------------*/

/* Writes what was asked for and forgets everything; called by mica_shutdown, and at exit. */
void mica_report_finish(void);

#endif
