/* tests/dist/processes.h: ranks that are processes, which a test forks before it uses a device. */
#ifndef MICA_TESTS_DIST_PROCESSES_H
#define MICA_TESTS_DIST_PROCESSES_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dist_test.h"
#include "mica/runtime.h"

enum { MOST_NUMBERS = 2048 };

/* What a rank tells the test at its end. */
typedef struct rank_report {
    char words[512]; /* of the status, "" when all went well */
    mica_code code;
    double seconds; /* from the moment that `work` says */
    int32_t n;
    float numbers[MOST_NUMBERS];
} rank_report;

typedef mica_status rank_work(mica_dist *dist, rank_report *report, const void *context);

typedef struct rank_process {
    pid_t pid;
    int pipe;
} rank_process;

static inline void be_rank(int32_t rank, int32_t n, rank_work *work, const void *context,
                           double silence, int to) {
    static rank_report report;
    mica_dist_options options = {.size = sizeof options,
                                 .addresses = test_addresses,
                                 .n_addresses = n,
                                 .rank = rank,
                                 .join_seconds = 30,
                                 .seconds = 30,
                                 .silence_seconds = silence};
    mica_dist *dist = NULL;
    mica_status status = mica_dist_open(&options, &dist);
    if (!status) status = work(dist, &report, context);
    snprintf(report.words, sizeof report.words, "%s", mica_status_message(status));
    report.code = mica_status_code(status);
    mica_status_release(status);
    mica_dist_release(dist);
    for (size_t at = 0; at < sizeof report;) {
        ssize_t put = write(to, (char *)&report + at, sizeof report - at);
        if (put <= 0) _exit(3);
        at += (size_t)put;
    }
    mica_shutdown();
    _exit(0);
}

static inline bool start_processes(rank_process *processes, int32_t n, rank_work *work,
                                   const void *context, double silence) {
    if (!find_addresses(n)) return false;
    fflush(stdout);
    for (int32_t i = 0; i < n; i++) {
        int ends[2];
        if (pipe(ends) != 0) return false;
        processes[i] = (rank_process){fork(), ends[0]};
        if (processes[i].pid == 0) {
            close(ends[0]);
            be_rank(i, n, work, context, silence, ends[1]);
        }
        close(ends[1]);
    }
    return true;
}

/* false: it ended without a report. */
static inline bool end_process(rank_process *process, rank_report *report) {
    size_t at = 0;
    for (ssize_t got = 1; got > 0 && at < sizeof *report; at += (size_t)got) {
        got = read(process->pipe, (char *)report + at, sizeof *report - at);
        if (got < 0) got = 0;
    }
    close(process->pipe);
    waitpid(process->pid, NULL, 0);
    return at == sizeof *report;
}

/* All of them, which are to end well. */
static inline bool run_processes(rank_report *reports, int32_t n, rank_work *work,
                                 const void *context) {
    rank_process processes[MOST_RANKS];
    bool all = start_processes(processes, n, work, context, 20);
    for (int32_t i = 0; all && i < n; i++) {
        bool is_there = end_process(&processes[i], &reports[i]);
        if (is_there && !*reports[i].words) continue;
        test_report(__FILE__, __LINE__, "rank %d of %d: %s", i, n,
                    is_there ? reports[i].words : "ended without a word");
        all = false;
    }
    return all;
}

#endif
