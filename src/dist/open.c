/* Communicators: how they begin, fail and end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "dist/communicator.h"
#include "dist/watch.h"

/* ---- beginning --------------------------------------------------------------------------------*/

static double seconds_or(double given, double usual) {
    return given > 0 ? given : usual;
}

mica_status dist_create(const dist_engine *engine, int32_t rank, int32_t size,
                        const mica_dist_options *options, mica_dist **out_dist) {
    *out_dist = NULL;
    if (size < 1 || size > DIST_MOST_RANKS || rank < 0 || rank >= size)
        return MICA_INVALID("[dist_open] rank %d of %d: there are 1 to %d ranks, from 0 on", rank,
                            size, DIST_MOST_RANKS);
    mica_dist *d = mica_calloc(1, sizeof *d);
    if (!d) return MICA_NO_MEMORY();
    mica_refcount_init(&d->references);
    d->engine = engine;
    d->rank = rank;
    d->size = size;
    d->lost = -1;
    d->seconds = seconds_or(options ? options->seconds : 0, 600);
    d->silence = seconds_or(options ? options->silence_seconds : 0, 5);
    size_t n = (size_t)size;
    d->sends = mica_calloc(2 * n, sizeof *d->sends);
    d->calls = mica_calloc(n, DIST_CALL_BYTES);
    d->parts = mica_calloc(n, sizeof *d->parts);
    d->names = mica_calloc(n, sizeof *d->names);
    d->has_left = mica_calloc(n, sizeof *d->has_left);
    if (!d->sends || !d->calls || !d->parts || !d->names || !d->has_left) {
        mica_dist_release(d);
        return MICA_NO_MEMORY();
    }
    d->receives = d->sends + n;
    for (int32_t p = 0; p < size; p++) dist_set_name(d, p, NULL);
    *out_dist = d;
    return NULL;
}

void dist_set_name(mica_dist *d, int32_t rank, const char *address) {
    if (address)
        snprintf(d->names[rank], DIST_NAME, "rank %d (%.64s)", rank, address);
    else
        snprintf(d->names[rank], DIST_NAME, "rank %d", rank);
}

static mica_status check_options(const mica_dist_options *o) {
    if (!o) return NULL;
    if (o->size < sizeof *o)
        return MICA_INVALID("[dist_open] size of the options is %zu, expected %zu", o->size,
                            sizeof *o);
    if (o->n_addresses < 0 || (o->n_addresses > 0 && !o->addresses))
        return MICA_INVALID("[dist_open] there are %d addresses", o->n_addresses);
    return NULL;
}

static const char *engine_of(const mica_dist_options *o) {
    if (o && o->engine) return o->engine;
    const char *named = mica_environment("MICA_DIST");
    if (named && *named) return named;
    if (o && o->n_addresses > 0) return "tcp";
    if (dist_is_under_mpirun()) return "mpi";
    const char *addresses = mica_environment("MICA_DIST_ADDRESSES");
    return addresses && *addresses ? "tcp" : "local";
}

mica_status mica_dist_open(const mica_dist_options *options, mica_dist **out_dist) {
    MICA_GIVEN(out_dist);
    *out_dist = NULL;
    MICA_TRY(check_options(options));
    const char *engine = engine_of(options);
    if (!strcmp(engine, "local")) return dist_open_local(options, out_dist);
    if (!strcmp(engine, "tcp")) return dist_open_tcp(options, out_dist);
    if (!strcmp(engine, "mpi")) return dist_open_mpi(options, out_dist);
    if (!strcmp(engine, "nccl"))
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[dist_open] there is no engine nccl yet: arrays are on the host; take "
                          "mpi, tcp or local");
    return MICA_INVALID("[dist_open] there is no engine '%.100s': take mpi, tcp or local", engine);
}

/* ---- failing ----------------------------------------------------------------------------------*/

/* One line of printable characters: it may come from the network. */
static void clean(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 32 || (unsigned char)*text == 127) *text = ' ';
}

static bool keep_failure(mica_dist *d, mica_code code, int32_t rank, const char *why) {
    mica_mutex_lock(&d->failure_lock);
    bool is_first = !d->is_broken;
    if (is_first) {
        bool is_rank = rank >= 0 && rank < d->size;
        d->lost = is_rank ? rank : -1;
        d->code = code;
        snprintf(d->why, sizeof d->why, "%s%s%.*s", is_rank ? d->names[rank] : "",
                 is_rank ? ": " : "", DIST_WHY - 1, why);
        clean(d->why);
        __atomic_store_n(&d->is_broken, 1, __ATOMIC_RELEASE);
    }
    mica_mutex_unlock(&d->failure_lock);
    return is_first;
}

void dist_fail(mica_dist *d, mica_code code, int32_t rank, const char *why) {
    if (!keep_failure(d, code, rank, why)) return;
    if (d->engine->tell) d->engine->tell(d, rank, why);
    if (d->watch) dist_watch_tell(d->watch, rank, why);
}

void dist_fail_silently(mica_dist *d, mica_code code, int32_t rank, const char *why) {
    (void)keep_failure(d, code, rank, why);
}

mica_status dist_failure(mica_dist *d) {
    mica_mutex_lock(&d->failure_lock);
    mica_status status = MICA_ERROR(d->code, "[dist] %s", d->why);
    mica_mutex_unlock(&d->failure_lock);
    return status;
}

bool dist_keep_waiting(void *context) {
    return !dist_is_broken(context) && !mica_interrupt_must_leave() && !mica_interrupt_poll();
}

void mica_dist_abort(mica_dist *d, const char *why) {
    if (!d) return;
    char text[DIST_WHY];
    snprintf(text, sizeof text, "ended the run: %s", why ? why : "no reason was given");
    dist_fail(d, MICA_UNAVAILABLE, d->rank, text);
}

/* ---- ending -----------------------------------------------------------------------------------*/

void mica_dist_retain(mica_dist *d) {
    if (d) mica_refcount_retain(&d->references);
}

void mica_dist_release(mica_dist *d) {
    if (!d || !mica_refcount_release(&d->references)) return;
    if (d->watch) dist_watch_stop(d->watch);
    if (d->state) d->engine->destroy(d);
    mica_free(d->sends);
    mica_free(d->calls);
    mica_free(d->parts);
    mica_free(d->names);
    mica_free(d->has_left);
    mica_free(d);
}

/* ---- asking -----------------------------------------------------------------------------------*/

int32_t mica_dist_size(const mica_dist *d) {
    return d ? d->size : 1;
}

int32_t mica_dist_rank(const mica_dist *d) {
    return d ? d->rank : 0;
}

const char *mica_dist_engine(const mica_dist *d) {
    return d ? d->engine->name : "local";
}

int32_t mica_dist_lost(const mica_dist *d) {
    return d && dist_is_broken(d) ? d->lost : -1;
}
