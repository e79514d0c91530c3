#include "dist/entrance.h"

#include <string.h>

#include "base/hmac.h"
#include "base/interrupt.h"
#include "base/socket.h"

enum { HELLO = 64, ANSWER = 8, VERSION = 1, MOST_GUESTS = 64 };
enum { AT_VERSION = 4, AT_PURPOSE = 5, AT_RANK = 8, AT_SIZE = 12, AT_ID = 16 };
enum { WELCOME = 1, OTHER_SESSION = 2, NOT_WANTED = 3 };

static const char word[4] = {'M', 'D', 'H', 'I'};
static const char greeting[] = "dist";

#define SLICE 0.1

typedef struct guest {
    dist_entrance *entrance;
    mica_thread *thread;
    int32_t number;  /* -1: taken over, or closed */
    int32_t is_done; /* atomic */
} guest;

struct dist_entrance {
    dist_session session;
    int32_t listener, port;
    mica_thread *thread;
    int32_t stop; /* atomic */
    mica_mutex lock;
    mica_condition came;
    int32_t *numbers[3]; /* by purpose and rank; -1: has not come */
    guest guests[MOST_GUESTS];
};

static void put_int(uint8_t *bytes, int32_t value) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)((uint32_t)value >> 8 * i);
}

static int32_t get_int(const uint8_t *bytes) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value |= (uint32_t)bytes[i] << 8 * i;
    return (int32_t)value;
}

/* ---- the side that listens --------------------------------------------------------------------*/

static bool is_open(void *context) {
    const dist_entrance *e = context;
    return !__atomic_load_n(&e->stop, __ATOMIC_ACQUIRE);
}

/* Where the connection of this hello belongs; NULL and the answer where it does not. */
static int32_t *place_of(dist_entrance *e, const uint8_t hello[HELLO], uint8_t *answer) {
    int purpose = hello[AT_PURPOSE];
    int32_t rank = get_int(hello + AT_RANK);
    *answer = OTHER_SESSION;
    if (memcmp(hello, word, sizeof word) != 0 || hello[AT_VERSION] != VERSION ||
        get_int(hello + AT_SIZE) != e->session.size ||
        !mica_secret_equal(hello + AT_ID, e->session.id, sizeof e->session.id))
        return NULL;
    *answer = NOT_WANTED;
    if (purpose != DIST_ARRAYS && purpose != DIST_SIGNS) return NULL;
    if (rank <= e->session.rank || rank >= e->session.size) return NULL;
    if (e->numbers[purpose][rank] >= 0) return NULL;
    *answer = WELCOME;
    return &e->numbers[purpose][rank];
}

static void greet_guest(void *context) {
    guest *g = context;
    dist_entrance *e = g->entrance;
    mica_peer peer = {e->session.door, g->number, is_open, e};
    mica_socket s = {g->number, is_open, e};
    uint8_t hello[HELLO], answer[ANSWER] = {0};
    size_t got = 0;
    double deadline = mica_clock_seconds() + mica_door_limits(e->session.door)->greeting_seconds;
    mica_status status = mica_peer_greet(&peer, true, greeting);
    if (!status) status = mica_socket_read(&s, hello, HELLO, deadline, &got);
    if (!status && got == HELLO) {
        memcpy(answer, word, sizeof word);
        mica_mutex_lock(&e->lock);
        int32_t *place = place_of(e, hello, &answer[sizeof word]);
        status = mica_socket_write(&s, answer, ANSWER, mica_clock_seconds() + 1);
        if (place && !status) {
            *place = g->number;
            g->number = -1;
            mica_condition_broadcast(&e->came);
        }
        mica_mutex_unlock(&e->lock);
    }
    mica_status_release(status);
    mica_socket_close(g->number);
    __atomic_store_n(&g->is_done, 1, __ATOMIC_RELEASE);
}

/* A place among the guests; one that was served makes room. NULL: all are being greeted. */
static guest *free_guest(dist_entrance *e) {
    for (int i = 0; i < MOST_GUESTS; i++) {
        guest *g = &e->guests[i];
        if (g->thread && !__atomic_load_n(&g->is_done, __ATOMIC_ACQUIRE)) continue;
        if (g->thread) mica_thread_join(g->thread);
        *g = (guest){.entrance = e, .number = -1};
        return g;
    }
    return NULL;
}

static void listen_for_guests(void *context) {
    dist_entrance *e = context;
    while (is_open(e)) {
        int32_t number = -1;
        mica_status_release(mica_socket_accept(e->listener, SLICE, &number));
        if (number < 0) continue;
        guest *g = free_guest(e);
        if (!g) {
            mica_socket_close(number);
            continue;
        }
        g->number = number;
        mica_status status = mica_thread_start(greet_guest, g, "mica greet", &g->thread);
        if (status) mica_socket_close(number);
        mica_status_release(status);
    }
}

static mica_status needs_secret(const char *host, int32_t port) {
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[dist_open] %.100s:%d is not of this machine alone and there is no secret: "
                      "set MICA_CLUSTER_SECRET_FILE or MICA_CLUSTER_SECRET to the same secret for "
                      "all ranks",
                      host, port);
}

static mica_status open_entrance(dist_entrance *e, const char *host, int32_t port) {
    size_t n = (size_t)e->session.size;
    e->numbers[DIST_ARRAYS] = mica_alloc(n * sizeof(int32_t));
    e->numbers[DIST_SIGNS] = mica_alloc(n * sizeof(int32_t));
    if (!e->numbers[DIST_ARRAYS] || !e->numbers[DIST_SIGNS]) return MICA_NO_MEMORY();
    for (size_t p = 0; p < n; p++) e->numbers[DIST_ARRAYS][p] = e->numbers[DIST_SIGNS][p] = -1;
    MICA_TRY(mica_socket_listen(host, port, &e->listener, &e->port));
    if (!mica_door_has_secret(e->session.door) && !mica_socket_is_loopback(e->listener, true))
        return needs_secret(host, port);
    return mica_thread_start(listen_for_guests, e, "mica entrance", &e->thread);
}

mica_status dist_entrance_open(const dist_session *session, const char *host, int32_t port,
                               dist_entrance **out_entrance) {
    *out_entrance = NULL;
    dist_entrance *e = mica_calloc(1, sizeof *e);
    if (!e) return MICA_NO_MEMORY();
    e->session = *session;
    e->listener = -1;
    mica_status status = open_entrance(e, host, port);
    if (status)
        dist_entrance_close(e);
    else
        *out_entrance = e;
    return status;
}

int32_t dist_entrance_port(const dist_entrance *e) {
    return e->port;
}

static int32_t find_missing(const dist_entrance *e, dist_purpose purpose) {
    for (int32_t p = e->session.rank + 1; p < e->session.size; p++)
        if (e->numbers[purpose][p] < 0) return p;
    return -1;
}

mica_status dist_entrance_await(dist_entrance *e, dist_purpose purpose, double deadline,
                                int32_t *numbers, int32_t *out_missing) {
    mica_status status = NULL;
    mica_mutex_lock(&e->lock);
    while (!status && (*out_missing = find_missing(e, purpose)) >= 0) {
        double left = deadline - mica_clock_seconds();
        if (left <= 0)
            status = MICA_ERROR(MICA_UNAVAILABLE, "[dist_open] rank %d did not come in time",
                                *out_missing);
        else if (mica_interrupt_poll())
            status = mica_interrupt_status();
        else
            (void)mica_condition_wait_for(&e->came, &e->lock, left < SLICE ? left : SLICE);
    }
    mica_mutex_unlock(&e->lock);
    if (!status) dist_entrance_take(e, purpose, numbers);
    return status;
}

void dist_entrance_take(dist_entrance *e, dist_purpose purpose, int32_t *numbers) {
    mica_mutex_lock(&e->lock);
    for (int32_t p = e->session.rank + 1; p < e->session.size; p++) {
        if (e->numbers[purpose][p] < 0) continue;
        numbers[p] = e->numbers[purpose][p];
        e->numbers[purpose][p] = -1;
    }
    mica_mutex_unlock(&e->lock);
}

void dist_entrance_close(dist_entrance *e) {
    if (!e) return;
    __atomic_store_n(&e->stop, 1, __ATOMIC_RELEASE);
    if (e->thread) mica_thread_join(e->thread);
    for (int i = 0; i < MOST_GUESTS; i++)
        if (e->guests[i].thread) mica_thread_join(e->guests[i].thread);
    mica_socket_close(e->listener);
    for (int purpose = DIST_ARRAYS; purpose <= DIST_SIGNS; purpose++) {
        for (int32_t p = 0; e->numbers[purpose] && p < e->session.size; p++)
            mica_socket_close(e->numbers[purpose][p]);
        mica_free(e->numbers[purpose]);
    }
    mica_free(e);
}

/* ---- the side that connects -------------------------------------------------------------------*/

static bool is_wanted(void *context) {
    (void)context;
    return !mica_interrupt_poll();
}

static mica_status introduce(const dist_session *session, int32_t number, dist_purpose purpose,
                             double deadline) {
    mica_peer peer = {session->door, number, is_wanted, NULL};
    mica_socket s = {number, is_wanted, NULL};
    uint8_t hello[HELLO] = {0}, answer[ANSWER];
    size_t got = 0;
    MICA_TRY(mica_peer_greet(&peer, false, greeting));
    memcpy(hello, word, sizeof word);
    hello[AT_VERSION] = VERSION;
    hello[AT_PURPOSE] = (uint8_t)purpose;
    put_int(hello + AT_RANK, session->rank);
    put_int(hello + AT_SIZE, session->size);
    memcpy(hello + AT_ID, session->id, sizeof session->id);
    MICA_TRY(mica_socket_write(&s, hello, HELLO, deadline));
    MICA_TRY(mica_socket_read(&s, answer, ANSWER, deadline, &got));
    if (got < ANSWER) return MICA_ERROR(MICA_UNAVAILABLE, "[peer] it ended the connection");
    if (memcmp(answer, word, sizeof word) != 0)
        return MICA_ERROR(MICA_DATA_LOSS, "[peer] it does not answer like a rank");
    if (answer[sizeof word] == WELCOME) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION, "[dist_open] rank %d was sent away: %s",
                      session->rank,
                      answer[sizeof word] == OTHER_SESSION
                          ? "the ranks do not have the same addresses, or another version"
                          : "there is one of this number already");
}

static mica_status connect_once(const dist_session *session, const char *host, int32_t port,
                                dist_purpose purpose, double deadline, int32_t *out_number) {
    int32_t number = -1;
    MICA_TRY(mica_socket_connect(host, port, deadline, &number));
    mica_status status = NULL;
    if (!mica_door_has_secret(session->door) && !mica_socket_is_loopback(number, false))
        status = needs_secret(host, port);
    if (!status) status = introduce(session, number, purpose, deadline);
    if (status)
        mica_socket_close(number);
    else
        *out_number = number;
    return status;
}

mica_status dist_connect(const dist_session *session, const char *host, int32_t port,
                         dist_purpose purpose, double deadline, int32_t *out_number) {
    *out_number = -1;
    for (;;) {
        mica_status status = connect_once(session, host, port, purpose, deadline, out_number);
        if (mica_status_code(status) != MICA_UNAVAILABLE) return status;
        if (mica_clock_seconds() >= deadline) return status;
        mica_status_release(status);
        if (mica_interrupt_poll()) return mica_interrupt_status();
        mica_sleep(0.03);
    }
}
