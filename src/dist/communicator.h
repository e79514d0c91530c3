/* dist/communicator.h: what is behind mica/dist.h.
 *
 * An engine moves bytes between ranks, nothing more: one exchange, in which every rank has bytes
 * for every other. All collectives are made of exchanges once, in collectives.c, so that what they
 * mean, the order of sums and what happens when ranks differ do not depend on the engine:
 *
 *     all_reduce       everybody sends part p to rank p, which adds them up as a tree (tree.c), and
 *                      sends the sum to everybody: the bytes of a ring in two rounds
 *     reduce_scatter   the first half of it
 *     all_gather       the second half
 *     broadcast        the source sends part p to rank p, then the second half
 *     permute          an exchange with at most one rank each way
 *
 * Before the first byte of a call the ranks exchange what they are about to do (dist_call): ranks
 * that differ, or cannot take part, end the call on all ranks with nothing sent.
 *
 * A failure that ranks cannot go on after is kept (dist_fail): the first one stays, is told to the
 * others (watch.c) and is the answer to every later call. */
#ifndef MICA_DIST_COMMUNICATOR_H
#define MICA_DIST_COMMUNICATOR_H

#include "base/memory.h"
#include "base/platform.h"
#include "base/status.h"
#include "mica/dist.h"

enum { DIST_MOST_RANKS = 4096, DIST_WHY = 200, DIST_CALL_BYTES = 64, DIST_NAME = 96 };

typedef struct dist_part {
    uint8_t *bytes;
    size_t n;
} dist_part;

typedef struct dist_watch dist_watch;

typedef struct dist_engine {
    const char *name;
    /* sends[p].n bytes go to rank p and receives[p].n come from it; the own entries are passed
     * over. Waits by dist_keep_waiting. A failure says in out_rank who caused it, -1: none. */
    mica_status (*exchange)(mica_dist *d, const dist_part *sends, const dist_part *receives,
                            double deadline, int32_t *out_rank);
    /* (optional: NULL, the watch tells the others) A failure is to end the calls of the others. */
    void (*tell)(mica_dist *d, int32_t rank, const char *why);
    void (*destroy)(mica_dist *d); /* also of one that was not opened to its end */
} dist_engine;

struct mica_dist {
    mica_refcount references;
    const dist_engine *engine;
    void *state; /* the engine's */
    int32_t rank, size;
    double seconds, silence;
    mica_mutex lock; /* of calls */
    uint64_t number; /* of calls so far */
    dist_part *sends, *receives;
    uint8_t *calls; /* DIST_CALL_BYTES of each rank */
    uint8_t **parts;
    char (*names)[DIST_NAME]; /* "rank 2 (localhost:1234)" */
    dist_watch *watch;        /* NULL: the engine knows by itself who lives */
    int32_t *has_left;        /* per rank, atomic */
    mica_mutex failure_lock;
    int32_t is_broken; /* atomic: what follows is set, and stays */
    int32_t lost;      /* the rank at fault, or -1 */
    mica_code code;
    char why[DIST_WHY + 2 * DIST_NAME];
};

/* ---- one communicator (open.c) ----------------------------------------------------------------*/

/* An engine makes one, then fills in the rest; a failure on the way releases it. */
MICA_MUST_CHECK mica_status dist_create(const dist_engine *engine, int32_t rank, int32_t size,
                                        const mica_dist_options *options, mica_dist **out_dist);
void dist_set_name(mica_dist *d, int32_t rank, const char *address);
/* What ranks are told about a failure: the first one stays. `rank` is at fault, or -1. */
void dist_fail(mica_dist *d, mica_code code, int32_t rank, const char *why);
/* The same for what another rank has told. */
void dist_fail_silently(mica_dist *d, mica_code code, int32_t rank, const char *why);
MICA_MUST_CHECK mica_status dist_failure(mica_dist *d);
static inline bool dist_is_broken(const mica_dist *d) {
    return __atomic_load_n(&d->is_broken, __ATOMIC_ACQUIRE) != 0;
}
static inline bool dist_has_left(const mica_dist *d, int32_t rank) {
    return __atomic_load_n(&d->has_left[rank], __ATOMIC_ACQUIRE) != 0;
}
/* For engines that wait: false when the communicator is broken or the user wants to stop. */
bool dist_keep_waiting(void *d);

/* ---- engines ----------------------------------------------------------------------------------*/

MICA_MUST_CHECK mica_status dist_open_local(const mica_dist_options *options, mica_dist **out_dist);
MICA_MUST_CHECK mica_status dist_open_tcp(const mica_dist_options *options, mica_dist **out_dist);
MICA_MUST_CHECK mica_status dist_open_mpi(const mica_dist_options *options, mica_dist **out_dist);
/* Whether mpirun started this process: of Open MPI, MPICH or others with their variables. */
bool dist_is_under_mpirun(void);

/* ---- collectives (collectives.c, tree.c) ------------------------------------------------------*/

typedef enum dist_what {
    DIST_ALL_REDUCE = 1,
    DIST_REDUCE_SCATTER,
    DIST_ALL_GATHER,
    DIST_ALL_GATHER_PARTS,
    DIST_BROADCAST,
    DIST_PERMUTE,
    DIST_BARRIER,
    DIST_WHATS
} dist_what;

/* A call as the ranks tell it to each other. */
typedef struct dist_call {
    dist_what what;
    mica_dist_kind kind;
    mica_dtype dtype;
    uint64_t count; /* elements, or bytes */
    uint64_t more;  /* the source, or a hash of sizes or pairs */
    uint64_t tag;   /* which of a program's collectives it is, or 0 */
} dist_call;

/* From now on this thread's calls are told with this tag. */
void dist_set_tag(uint64_t tag);
/* parts[0] = the tree over n arrays; the others are overwritten. */
void dist_tree(mica_dist_kind kind, mica_dtype dtype, uint8_t **parts, int32_t n, int64_t count);
bool dist_can_reduce(mica_dist_kind kind, mica_dtype dtype);

#endif
