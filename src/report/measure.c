/* How fast this machine copies, words for quantities, and the lines of MICA_LOG=time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "report/parts.h"

/* ---- the copy limit ---------------------------------------------------------------------------*/

enum { COPIED = 64 << 20, PIECE = 1 << 20, LINE = 64 };

#if defined(__x86_64__)
typedef float lanes __attribute__((vector_size(16), may_alias));

/* Past the caches, as kernels write large results: else each line is read before it is written. */
static void copy_piece(char *to, const char *from, int64_t n) {
    for (int64_t i = 0; i < n; i += 16) {
        lanes x;
        memcpy(&x, from + i, sizeof x);
#if defined(__clang__)
        __builtin_nontemporal_store(x, (lanes *)(to + i));
#else
        __builtin_ia32_movntps((float *)(to + i), x);
#endif
    }
    __builtin_ia32_sfence();
}
#else
static void copy_piece(char *to, const char *from, int64_t n) {
    memcpy(to, from, (size_t)n);
}
#endif

typedef struct copying {
    char *to, *from;
} copying;

static void copy_part(void *context, int64_t begin, int64_t end) {
    const copying *c = context;
    copy_piece(c->to + begin * PIECE, c->from + begin * PIECE, (end - begin) * PIECE);
}

static void fill_part(void *context, int64_t begin, int64_t end) {
    const copying *c = context;
    memset(c->to + begin * PIECE, 1, (size_t)(end - begin) * PIECE);
    memset(c->from + begin * PIECE, 2, (size_t)(end - begin) * PIECE);
}

double report_measure_copy(void) {
    copying c = {mica_alloc_aligned(COPIED), mica_alloc_aligned(COPIED)};
    double best = 0;
    if (c.to && c.from) {
        mica_parallel_walk(COPIED / PIECE, 1, fill_part, &c);
        for (int i = 0; i < 4; i++) {
            double start = mica_clock_seconds();
            mica_parallel_walk(COPIED / PIECE, 1, copy_part, &c);
            double seconds = mica_clock_seconds() - start;
            if (seconds > 0 && 2.0 * COPIED / seconds > best) best = 2.0 * COPIED / seconds;
        }
    }
    mica_free_aligned(c.to);
    mica_free_aligned(c.from);
    return best;
}

/* ---- words ------------------------------------------------------------------------------------*/

static report_words in_units(double value, double step, const char *const *units, int32_t n) {
    report_words words;
    int32_t unit = 0;
    for (; unit < n - 1 && value >= 0.9995 * step; unit++) value /= step;
    int digits = value >= 99.95 || value == (double)(int64_t)value ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(words.chars, sizeof words.chars, "%.*f %s", digits, value, units[unit]);
    return words;
}

report_words report_bytes(double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    return in_units(bytes, 1000, units, 5);
}

report_words report_seconds(double seconds) {
    static const char *const units[] = {"ns", "\u00b5s", "ms", "s"};
    return in_units(seconds * 1e9, 1000, units, 4);
}

static int by_time(const void *a, const void *b) {
    const report_program *x = *(report_program *const *)a, *y = *(report_program *const *)b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : 0;
}

report_program **report_by_time(const report_data *d) {
    report_program **sorted = mica_alloc(sizeof *sorted * (size_t)(d->n_programs + 1));
    if (!sorted) return NULL;
    if (d->n_programs) memcpy(sorted, d->programs, sizeof *sorted * (size_t)d->n_programs);
    qsort(sorted, (size_t)d->n_programs, sizeof *sorted, by_time);
    return sorted;
}

/* ---- MICA_LOG=time ----------------------------------------------------------------------------*/

enum { MOST_PROGRAM_LINES = 20, MOST_KERNEL_LINES = 12, MOST_ROW_LINES = 12 };

static int by_kernel_time(const void *a, const void *b) {
    const report_kernel *x = *(report_kernel *const *)a, *y = *(report_kernel *const *)b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : 0;
}

static void log_kernels(const report_data *d, const report_program *p) {
    const report_kernel **sorted = mica_alloc(sizeof *sorted * (size_t)(p->n_kernels + 1));
    if (!sorted) return;
    for (int32_t i = 0; i < p->n_kernels; i++) sorted[i] = &p->kernels[i];
    qsort(sorted, (size_t)p->n_kernels, sizeof *sorted, by_kernel_time);
    for (int32_t i = 0; i < p->n_kernels && i < MOST_KERNEL_LINES; i++) {
        const report_kernel *k = sorted[i];
        if (!k->launches) break;
        double rate = k->seconds > 0 ? k->bytes * (double)k->launches / k->seconds : 0;
        mica_log_write(MICA_LOG_TIME, "    %10s  %7lld x  %6.1f GB/s%s  %s %s",
                       report_seconds(k->seconds).chars, (long long)k->launches, rate / 1e9,
                       d->copy_limit > 0 && rate > d->copy_limit ? " (in cache)" : "", k->label,
                       k->type);
    }
    mica_free(sorted);
}

void report_log_times(const report_data *d) {
    report_program **sorted = report_by_time(d);
    if (!sorted) return;
    mica_log_write(MICA_LOG_TIME,
                   "%s in %d programs, %lld launches of kernels in %s; this machine copies "
                   "%.1f GB/s",
                   report_seconds(d->run_seconds).chars, d->n_programs, (long long)d->launches,
                   report_seconds(d->kernel_seconds).chars, d->copy_limit / 1e9);
    for (int32_t i = 0; i < d->n_programs && i < MOST_PROGRAM_LINES; i++) {
        const report_program *p = sorted[i];
        if (!p->runs) break;
        mica_log_write(MICA_LOG_TIME, "%10s  %7lld runs  '%s' on %s, %s, %d kernels, arena %s",
                       report_seconds(p->seconds).chars, (long long)p->runs, p->name, p->device,
                       p->code, p->n_kernels, report_bytes((double)p->arena_bytes).chars);
        log_kernels(d, p);
    }
    mica_free(sorted);
    for (int32_t i = 0; i < d->n_devices; i++)
        mica_log_write(MICA_LOG_TIME, "%s: %s of memory at most", d->devices[i].name,
                       report_bytes(d->devices[i].peak).chars);
    for (int32_t i = 0; i < d->n_hosts && i < MOST_ROW_LINES; i++)
        mica_log_write(MICA_LOG_TIME, "on the host: %s, %lld times, %s: %s", d->hosts[i].what,
                       (long long)d->hosts[i].n, report_seconds(d->hosts[i].seconds).chars,
                       d->hosts[i].why);
    for (int32_t i = 0; i < d->n_transfers && i < MOST_ROW_LINES; i++)
        mica_log_write(MICA_LOG_TIME, "moved: %s, %lld times, %s: %s to %s", d->transfers[i].what,
                       (long long)d->transfers[i].n, report_bytes(d->transfers[i].bytes).chars,
                       d->transfers[i].from, d->transfers[i].to);
}
