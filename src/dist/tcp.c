/* Ranks that know each other's addresses: a connection between every two of them, and signs of life
 * beside (watch.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/socket.h"
#include "base/strings.h"
#include "dist/entrance.h"
#include "dist/watch.h"

typedef struct mesh {
    int32_t *numbers; /* per rank; the own is -1 */
    mica_transfer *transfers;
    int32_t *ranks; /* of the transfers */
} mesh;

/* ---- exchanges --------------------------------------------------------------------------------*/

static mica_status exchange(mica_dist *d, const dist_part *sends, const dist_part *receives,
                            double deadline, int32_t *out_rank) {
    mesh *m = d->state;
    int32_t n = 0, at_fault = -1;
    for (int32_t p = 0; p < d->size; p++) {
        if (p == d->rank || (!sends[p].n && !receives[p].n)) continue;
        m->transfers[n] = (mica_transfer){.number = m->numbers[p],
                                          .send = sends[p].bytes,
                                          .n_send = sends[p].n,
                                          .receive = receives[p].bytes,
                                          .n_receive = receives[p].n};
        m->ranks[n++] = p;
    }
    mica_status status =
        mica_socket_exchange(m->transfers, n, dist_keep_waiting, d, deadline, &at_fault);
    *out_rank = status && at_fault >= 0 ? m->ranks[at_fault] : -1;
    return status;
}

static void destroy(mica_dist *d) {
    mesh *m = d->state;
    for (int32_t p = 0; m->numbers && p < d->size; p++) mica_socket_close(m->numbers[p]);
    mica_free(m->numbers);
    mica_free(m->transfers);
    mica_free(m->ranks);
    mica_free(m);
}

static const dist_engine tcp_engine = {"tcp", exchange, NULL, destroy};

/* ---- addresses --------------------------------------------------------------------------------*/

typedef struct places {
    char **addresses;
    int32_t n, rank;
    char *text; /* that they point into, or NULL */
} places;

static mica_status split(const char *address, char *host, size_t capacity, int32_t *out_port) {
    const char *colon = strrchr(address, ':');
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    size_t n = colon ? (size_t)(colon - address) : 0;
    if (!colon || !n || n >= capacity || !colon[1] || *end || port < 1 || port > 65535)
        return MICA_INVALID("[dist_open] '%.100s' is no address: it is host:port", address);
    bool is_bracketed = address[0] == '[' && n > 2 && address[n - 1] == ']';
    snprintf(host, capacity, "%.*s", (int)(is_bracketed ? n - 2 : n), address + is_bracketed);
    *out_port = (int32_t)port;
    return NULL;
}

static mica_status read_environment(places *p) {
    const char *text = mica_environment("MICA_DIST_ADDRESSES");
    const char *rank = mica_environment("MICA_DIST_RANK");
    char *end = NULL;
    if (!text || !*text)
        return MICA_INVALID("[dist_open] tcp needs the ranks' addresses: set MICA_DIST_ADDRESSES "
                            "to host:port,host:port,... and MICA_DIST_RANK");
    long number = rank && *rank ? strtol(rank, &end, 10) : -1;
    if (!rank || !*rank || *end || number < 0 || number >= DIST_MOST_RANKS)
        return MICA_INVALID("[dist_open] MICA_DIST_RANK is '%.40s': it is the place of this "
                            "process in MICA_DIST_ADDRESSES, from 0 on",
                            rank ? rank : "");
    p->rank = (int32_t)number;
    p->n = 1;
    for (const char *c = text; *c; c++) p->n += *c == ',';
    if (p->n > DIST_MOST_RANKS)
        return MICA_INVALID("[dist_open] there are %d addresses, and at most %d ranks", p->n,
                            DIST_MOST_RANKS);
    p->text = mica_strdup(text);
    p->addresses = mica_calloc((size_t)p->n, sizeof *p->addresses);
    if (!p->text || !p->addresses) return MICA_NO_MEMORY();
    char *next = p->text;
    for (int32_t i = 0; i < p->n; i++) {
        p->addresses[i] = next;
        next += strcspn(next, ",");
        if (*next) *next++ = 0;
    }
    return NULL;
}

static mica_status read_places(const mica_dist_options *o, places *p) {
    if (!o || !o->n_addresses) return read_environment(p);
    if (o->n_addresses > DIST_MOST_RANKS)
        return MICA_INVALID("[dist_open] there are %d addresses, and at most %d ranks",
                            o->n_addresses, DIST_MOST_RANKS);
    p->n = o->n_addresses;
    p->rank = o->rank;
    p->addresses = mica_calloc((size_t)p->n, sizeof *p->addresses);
    if (!p->addresses) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < p->n; i++) {
        p->addresses[i] = (char *)(uintptr_t)o->addresses[i];
        if (!p->addresses[i]) return MICA_INVALID("[dist_open] address %d is NULL", i);
    }
    return NULL;
}

/* What all ranks of a run have in common. */
static void name_session(const places *p, uint8_t id[MICA_SHA256_BYTES]) {
    mica_sha256 hash;
    mica_sha256_init(&hash);
    for (int32_t i = 0; i < p->n; i++)
        mica_sha256_add(&hash, p->addresses[i], strlen(p->addresses[i]) + 1);
    mica_sha256_finish(&hash, id);
}

/* ---- coming together --------------------------------------------------------------------------*/

static mica_status cannot_reach(mica_dist *d, int32_t rank, mica_status status) {
    if (mica_status_code(status) != MICA_UNAVAILABLE) return status;
    mica_status named = MICA_ERROR(MICA_UNAVAILABLE, "[dist_open] %s cannot be reached: %s",
                                   d->names[rank], mica_status_message(status));
    mica_status_release(status);
    return named;
}

static mica_status connect_below(mica_dist *d, const places *p, const dist_session *session,
                                 double deadline, int32_t *signs) {
    mesh *m = d->state;
    char host[256];
    int32_t port;
    for (int32_t i = 0; i < d->rank; i++) {
        MICA_TRY(split(p->addresses[i], host, sizeof host, &port));
        mica_status status =
            dist_connect(session, host, port, DIST_ARRAYS, deadline, &m->numbers[i]);
        if (!status && i == 0)
            status = dist_connect(session, host, port, DIST_SIGNS, deadline, &signs[0]);
        if (status) return cannot_reach(d, i, status);
    }
    return NULL;
}

static mica_status await_above(mica_dist *d, dist_entrance *entrance, double deadline,
                               int32_t *signs) {
    mesh *m = d->state;
    int32_t missing = -1;
    mica_status status = dist_entrance_await(entrance, DIST_ARRAYS, deadline, m->numbers, &missing);
    if (!status && d->rank == 0)
        status = dist_entrance_await(entrance, DIST_SIGNS, deadline, signs, &missing);
    if (mica_status_code(status) != MICA_UNAVAILABLE || missing < 0) return status;
    mica_status_release(status);
    return MICA_ERROR(MICA_UNAVAILABLE, "[dist_open] %s did not come in time", d->names[missing]);
}

static mica_status come_together(mica_dist *d, const places *p, const dist_session *session,
                                 double deadline, int32_t *signs) {
    char host[256];
    int32_t port;
    dist_entrance *entrance = NULL;
    const char *listen = mica_environment("MICA_CLUSTER_LISTEN");
    MICA_TRY(split(p->addresses[d->rank], host, sizeof host, &port));
    if (d->rank < d->size - 1)
        MICA_TRY(dist_entrance_open(session, listen && *listen ? listen : host, port, &entrance));
    mica_status status = connect_below(d, p, session, deadline, signs);
    if (!status && entrance) status = await_above(d, entrance, deadline, signs);
    dist_entrance_close(entrance);
    return status;
}

static mica_status make_mesh(mica_dist *d) {
    size_t n = (size_t)d->size;
    mesh *m = d->state = mica_calloc(1, sizeof *m);
    if (!m) return MICA_NO_MEMORY();
    m->numbers = mica_alloc(n * sizeof *m->numbers);
    m->transfers = mica_calloc(n, sizeof *m->transfers);
    m->ranks = mica_calloc(n, sizeof *m->ranks);
    for (size_t p = 0; m->numbers && p < n; p++) m->numbers[p] = -1;
    return m->numbers && m->transfers && m->ranks ? NULL : MICA_NO_MEMORY();
}

static mica_status join(mica_dist *d, const places *p, double deadline) {
    mica_door *door = NULL;
    int32_t *signs = mica_alloc((size_t)d->size * sizeof *signs);
    mica_status status = signs ? make_mesh(d) : MICA_NO_MEMORY();
    for (int32_t i = 0; signs && i < d->size; i++) signs[i] = -1;
    for (int32_t i = 0; i < d->size; i++) dist_set_name(d, i, p->addresses[i]);
    if (!status) status = mica_door_create(&door);
    if (!status && d->size > 1) {
        dist_session session = {.door = door, .rank = d->rank, .size = d->size};
        name_session(p, session.id);
        status = come_together(d, p, &session, deadline, signs);
        if (!status)
            status = dist_watch_start(d, signs);
        else
            for (int32_t i = 0; i < d->size; i++) mica_socket_close(signs[i]);
    }
    mica_door_release(door);
    mica_free(signs);
    return status;
}

mica_status dist_open_tcp(const mica_dist_options *o, mica_dist **out_dist) {
    places p = {0};
    mica_dist *d = NULL;
    double seconds = o && o->join_seconds > 0 ? o->join_seconds : 600;
    mica_status status = read_places(o, &p);
    if (!status) status = dist_create(&tcp_engine, p.rank, p.n, o, &d);
    if (!status) status = join(d, &p, mica_clock_seconds() + seconds);
    mica_free(p.addresses);
    mica_free(p.text);
    if (status)
        mica_dist_release(d);
    else
        *out_dist = d;
    return status;
}
