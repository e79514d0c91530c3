/* mica/dist.h: several processes that compute together.
 *
 * A mica_dist is one of `size` ranks, each of which makes the same calls in the same order. Arrays
 * are on the host. Every call waits for the others and either does its work on all ranks or answers
 * a status; nothing waits for ever:
 *
 * - ranks whose calls differ (another collective, dtype, count, kind) are told so, by the number of
 *   the rank; nothing was sent, and the ranks can go on;
 * - a rank that ended, was killed or was stopped is named, within seconds: beside its work each
 *   rank gives signs of life. One that computes for long gives them too, and is waited for, as long
 *   as `seconds` says. After that the ranks cannot go on: every later call answers the same.
 *
 * Sums have an order of their own: a binary tree over the ranks, (0+1)+(2+3) and so on, whatever
 * carries the bytes. So the bits are the same in every run and on every rank.
 *
 * Engines: "local" is one process by itself; "tcp" connects processes that know each other's
 * addresses, with a secret (mica/peer.h) where they are not on one machine; "mpi" is Open MPI or
 * MPICH, found at run time, for processes that mpirun started. With none named, MICA_DIST names
 * one, else it is what started the process: mpirun, MICA_DIST_ADDRESSES ("host:port,host:port,...",
 * the same for all) with MICA_DIST_RANK, else nothing.
 *
 * A call belongs to one thread at a time; other threads wait for it.
 *
 * @example
 *     mica_dist *dist = NULL;
 *     float sum = 1;
 *     mica_status status = mica_dist_open(NULL, &dist);
 *     if (!status)
 *         status = mica_dist_all_reduce(dist, MICA_DIST_SUM, MICA_DTYPE_f32, &sum, &sum, 1);
 *     if (!status) printf("%g of %d ranks\n", sum, mica_dist_size(dist));
 *     mica_status_release(status);
 *     mica_dist_release(dist);
 * @end
 */
#ifndef MICA_DIST_H
#define MICA_DIST_H

#include <stdbool.h>

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_dist mica_dist;

typedef struct mica_dist_options {
    size_t size;                  /* sizeof(mica_dist_options), set by the caller */
    const char *engine;           /* NULL: see above */
    const char *const *addresses; /* of tcp: "host:port" of every rank; NULL: MICA_DIST_ADDRESSES */
    int32_t n_addresses, rank;    /* with addresses */
    double join_seconds;          /* that ranks wait for each other at first; 0: 600 */
    double seconds;               /* that a call waits for a rank that lives; 0: 600 */
    double silence_seconds;       /* after which a rank without signs of life is lost; 0: 5 */
} mica_dist_options;

/* Waits until all ranks are there; options may be NULL. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_open(const mica_dist_options *options,
                                                    mica_dist **out_dist);
/* n ranks of this process, for a thread each: out_dists has room for n. options may be NULL. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_open_threads(const mica_dist_options *options,
                                                            int32_t n, mica_dist **out_dists);
MICA_API void mica_dist_retain(mica_dist *dist);
/* The last release leaves: calls of the others that need this rank fail from then on. */
MICA_API void mica_dist_release(mica_dist *dist);

MICA_API int32_t mica_dist_size(const mica_dist *dist);
MICA_API int32_t mica_dist_rank(const mica_dist *dist);
MICA_API const char *mica_dist_engine(const mica_dist *dist);
/* The rank that was lost, -1 while none is. */
MICA_API int32_t mica_dist_lost(const mica_dist *dist);

typedef enum mica_dist_kind { MICA_DIST_SUM, MICA_DIST_MAX, MICA_DIST_MIN } mica_dist_kind;

/* y = the sum (maximum, minimum) over the ranks of x, given to each; x and y may be the same. Of
 * numbers; complex ones have a sum alone. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_all_reduce(mica_dist *dist, mica_dist_kind kind,
                                                          mica_dtype dtype, const void *x, void *y,
                                                          int64_t count);
/* y = part `rank` of that of x, which has size * count elements; y has count. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_reduce_scatter(mica_dist *dist, mica_dist_kind kind,
                                                              mica_dtype dtype, const void *x,
                                                              void *y, int64_t count);
/* y = the arrays x of all ranks one after the other; x has `bytes`, y size * bytes. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_all_gather(mica_dist *dist, const void *x, void *y,
                                                          size_t bytes);
/* The same where rank r has sizes[r] bytes: all ranks give the same sizes. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_all_gather_parts(mica_dist *dist, const void *x,
                                                                void *y, const size_t *sizes);
/* The array of the rank `source`, in place. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_broadcast(mica_dist *dist, void *x, size_t bytes,
                                                         int32_t source);
/* y of rank targets[k] = x of rank sources[k]; who is no target is given zeros. No rank is twice
 * among the sources, nor among the targets. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_permute(mica_dist *dist, const void *x, void *y,
                                                       size_t bytes, const int32_t *sources,
                                                       const int32_t *targets, int32_t n);
/* Returns when all ranks have come here. */
MICA_API MICA_MUST_CHECK mica_status mica_dist_barrier(mica_dist *dist);
/* Ends the calls of all ranks, now and later, with this reason. May be called by another thread
 * than the one that waits. */
MICA_API void mica_dist_abort(mica_dist *dist, const char *why);

/* The library that the engine "mpi" would take, or, with false, why there is none and what to
 * install. */
MICA_API bool mica_mpi_describe(char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
