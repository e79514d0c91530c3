/* Ranks of one process: one by itself, or several with a thread each, which meet in memory. Each
 * lays down where its bytes are, waits for all, takes what is for it, and waits for all again. */
#include <stdio.h>
#include <string.h>

#include "dist/communicator.h"

typedef struct meeting {
    mica_refcount references;
    mica_mutex lock;
    mica_condition changed;
    int32_t size, arrived;
    uint64_t round;
    mica_dist **members; /* NULL: has left */
    const dist_part **sends;
} meeting;

static const dist_engine local_engine;

static int32_t find_leaver(const meeting *m) {
    for (int32_t p = 0; p < m->size; p++)
        if (!m->members[p]) return p;
    return -1;
}

/* Waits until all are here. The lock is held. */
static mica_status meet(mica_dist *d, meeting *m, double deadline, int32_t *out_rank) {
    uint64_t round = m->round;
    if (++m->arrived == m->size) {
        m->arrived = 0;
        m->round++;
        mica_condition_broadcast(&m->changed);
        return NULL;
    }
    while (m->round == round) {
        int32_t leaver = find_leaver(m);
        double left = deadline - mica_clock_seconds();
        const char *why = leaver >= 0 ? "has left" : left <= 0 ? "did not come in time" : NULL;
        if (!why && !dist_keep_waiting(d)) why = "was interrupted";
        if (why) {
            m->arrived--;
            *out_rank = leaver;
            mica_code code = leaver >= 0 || left <= 0 ? MICA_UNAVAILABLE : MICA_CANCELLED;
            return MICA_ERROR(code, "[dist] a rank %s", why);
        }
        (void)mica_condition_wait_for(&m->changed, &m->lock, left < 0.1 ? left : 0.1);
    }
    return NULL;
}

static mica_status take(const mica_dist *d, const meeting *m, const dist_part *receives,
                        int32_t *out_rank) {
    for (int32_t p = 0; p < m->size; p++) {
        if (p == d->rank) continue;
        const dist_part *part = &m->sends[p][d->rank];
        if (part->n != receives[p].n) {
            *out_rank = p;
            return MICA_ERROR(MICA_INTERNAL, "[dist] %zu bytes came where %zu were expected",
                              part->n, receives[p].n);
        }
        if (part->n) memcpy(receives[p].bytes, part->bytes, part->n);
    }
    return NULL;
}

static mica_status exchange(mica_dist *d, const dist_part *sends, const dist_part *receives,
                            double deadline, int32_t *out_rank) {
    meeting *m = d->state;
    mica_mutex_lock(&m->lock);
    m->sends[d->rank] = sends;
    mica_status status = meet(d, m, deadline, out_rank);
    if (!status) {
        mica_mutex_unlock(&m->lock);
        mica_status taken = take(d, m, receives, out_rank);
        mica_mutex_lock(&m->lock);
        status = mica_status_join(taken, meet(d, m, deadline, out_rank));
    }
    mica_mutex_unlock(&m->lock);
    return status;
}

static void tell(mica_dist *d, int32_t rank, const char *why) {
    meeting *m = d->state;
    mica_mutex_lock(&m->lock);
    for (int32_t p = 0; p < m->size; p++)
        if (m->members[p] && p != d->rank)
            dist_fail_silently(m->members[p], MICA_UNAVAILABLE, rank, why);
    mica_condition_broadcast(&m->changed);
    mica_mutex_unlock(&m->lock);
}

static void free_meeting(meeting *m) {
    mica_free(m->members);
    mica_free(m->sends);
    mica_free(m);
}

static void destroy(mica_dist *d) {
    meeting *m = d->state;
    mica_mutex_lock(&m->lock);
    m->members[d->rank] = NULL;
    for (int32_t p = 0; p < m->size; p++)
        if (m->members[p]) __atomic_store_n(&m->members[p]->has_left[d->rank], 1, __ATOMIC_RELEASE);
    mica_condition_broadcast(&m->changed);
    mica_mutex_unlock(&m->lock);
    if (mica_refcount_release(&m->references)) free_meeting(m);
}

static const dist_engine local_engine = {"local", exchange, tell, destroy};

static mica_status create_meeting(int32_t size, meeting **out_meeting) {
    meeting *m = mica_calloc(1, sizeof *m);
    *out_meeting = m;
    if (!m) return MICA_NO_MEMORY();
    mica_refcount_init(&m->references);
    m->size = size;
    m->members = mica_calloc((size_t)size, sizeof *m->members);
    m->sends = mica_calloc((size_t)size, sizeof *m->sends);
    return m->members && m->sends ? NULL : MICA_NO_MEMORY();
}

mica_status mica_dist_open_threads(const mica_dist_options *options, int32_t n,
                                   mica_dist **out_dists) {
    MICA_GIVEN(out_dists);
    if (n < 1 || n > DIST_MOST_RANKS)
        return MICA_INVALID("[dist_open_threads] %d ranks: there are 1 to %d", n, DIST_MOST_RANKS);
    if (options && options->size < sizeof *options)
        return MICA_INVALID("[dist_open_threads] size of the options is %zu, expected %zu",
                            options->size, sizeof *options);
    for (int32_t i = 0; i < n; i++) out_dists[i] = NULL;
    meeting *m = NULL;
    mica_status status = create_meeting(n, &m);
    for (int32_t i = 0; !status && i < n; i++) {
        status = dist_create(&local_engine, i, n, options, &out_dists[i]);
        if (status) break;
        mica_refcount_retain(&m->references);
        out_dists[i]->state = m;
        m->members[i] = out_dists[i];
    }
    for (int32_t i = 0; status && i < n; i++) {
        mica_dist_release(out_dists[i]);
        out_dists[i] = NULL;
    }
    if (m && mica_refcount_release(&m->references)) free_meeting(m);
    return status;
}

mica_status dist_open_local(const mica_dist_options *options, mica_dist **out_dist) {
    return mica_dist_open_threads(options, 1, out_dist);
}
