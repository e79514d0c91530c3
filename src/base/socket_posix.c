/* The part of the operating system behind base/socket.h, on Linux and macOS. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "base/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/platform.h"

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0 /* macOS: Python's sockets have SO_NOSIGPIPE */
#endif

#define SLICE 0.1 /* seconds between two questions whether to go on */

static mica_status lost(const char *what) {
    char text[128];
    const char *words = strerror_r(errno, text, sizeof text) == 0 ? text : "lost";
#if defined(__linux__)
    words = strerror(errno);
#endif
    return MICA_ERROR(MICA_UNAVAILABLE, "[peer] %s: %s", what, words ? words : "unknown");
}

/* Until the socket is ready for the events, or the deadline. */
static mica_status await_events(const mica_socket *s, short events, double deadline) {
    for (;;) {
        double left = deadline < 0 ? 3600 : deadline - mica_clock_seconds();
        if (left <= 0) return MICA_ERROR(MICA_UNAVAILABLE, "[peer] timed out");
        if (s->keep && left > SLICE) left = SLICE;
        struct pollfd file = {.fd = s->number, .events = events};
        int n = poll(&file, 1, left > 3600 ? 3600000 : (int)(left * 1e3) + 1);
        if (n > 0) return NULL;
        if (n < 0 && errno != EINTR) return lost("waiting failed");
        if (s->keep && !s->keep(s->context))
            return MICA_ERROR(MICA_CANCELLED, "[peer] waiting was interrupted");
    }
}

mica_status mica_socket_await(const mica_socket *s, double deadline) {
    return await_events(s, POLLIN, deadline);
}

mica_status mica_socket_read(const mica_socket *s, void *bytes, size_t n, double deadline,
                             size_t *out_got) {
    *out_got = 0;
    while (*out_got < n) {
        ssize_t got = recv(s->number, (char *)bytes + *out_got, n - *out_got, MSG_DONTWAIT);
        if (got == 0) return NULL;
        if (got > 0)
            *out_got += (size_t)got;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            MICA_TRY(await_events(s, POLLIN, deadline));
        else if (errno != EINTR)
            return lost("the connection was lost");
        /* A stream of single bytes never makes recv wait. */
        if (*out_got < n && deadline >= 0 && mica_clock_seconds() > deadline)
            return MICA_ERROR(MICA_UNAVAILABLE, "[peer] timed out");
    }
    return NULL;
}

mica_status mica_socket_write(const mica_socket *s, const void *bytes, size_t n, double deadline) {
    for (size_t at = 0; at < n;) {
        ssize_t put =
            send(s->number, (const char *)bytes + at, n - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put >= 0)
            at += (size_t)put;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            MICA_TRY(await_events(s, POLLOUT, deadline));
        else if (errno != EINTR)
            return lost("the connection was lost");
        if (at < n && deadline >= 0 && mica_clock_seconds() > deadline)
            return MICA_ERROR(MICA_UNAVAILABLE, "[peer] timed out");
    }
    return NULL;
}

size_t mica_socket_read_some(int32_t number, void *bytes, size_t n, bool *out_is_over) {
    ssize_t got = recv(number, bytes, n, MSG_DONTWAIT);
    *out_is_over =
        got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    return got > 0 ? (size_t)got : 0;
}

/* ---- many at once -----------------------------------------------------------------------------*/

static bool is_complete(const mica_transfer *t) {
    return t->sent == t->n_send && t->received == t->n_receive;
}

/* What can be moved without waiting; UNAVAILABLE when the connection is lost. */
static mica_status move_bytes(mica_transfer *t) {
    while (t->sent < t->n_send) {
        ssize_t put =
            send(t->number, t->send + t->sent, t->n_send - t->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put >= 0)
            t->sent += (size_t)put;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            return lost("the connection was lost");
    }
    while (t->received < t->n_receive) {
        ssize_t got =
            recv(t->number, t->receive + t->received, t->n_receive - t->received, MSG_DONTWAIT);
        if (got == 0) return MICA_ERROR(MICA_UNAVAILABLE, "[peer] it ended the connection");
        if (got > 0)
            t->received += (size_t)got;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            return lost("the connection was lost");
    }
    return NULL;
}

static mica_status move_all(mica_transfer *transfers, int32_t n, struct pollfd *files,
                            int32_t *out_waiting, int32_t *out_failed) {
    *out_waiting = 0;
    for (int32_t i = 0; i < n; i++) {
        mica_transfer *t = &transfers[i];
        files[i] = (struct pollfd){.fd = -1};
        if (is_complete(t)) continue;
        *out_failed = i;
        MICA_TRY(move_bytes(t));
        if (is_complete(t)) continue;
        ++*out_waiting;
        files[i].fd = t->number;
        files[i].events = (short)((t->sent < t->n_send ? POLLOUT : 0) |
                                  (t->received < t->n_receive ? POLLIN : 0));
    }
    return NULL;
}

static mica_status exchange(mica_transfer *transfers, int32_t n, struct pollfd *files,
                            mica_keep_waiting *keep, void *context, double deadline,
                            int32_t *out_failed) {
    for (;;) {
        int32_t waiting = 0;
        MICA_TRY(move_all(transfers, n, files, &waiting, out_failed));
        if (!waiting) return NULL;
        double left = deadline < 0 ? 3600 : deadline - mica_clock_seconds();
        if (left <= 0) return MICA_ERROR(MICA_UNAVAILABLE, "[peer] timed out");
        if (keep && left > SLICE) left = SLICE;
        if (poll(files, (nfds_t)n, left > 3600 ? 3600000 : (int)(left * 1e3) + 1) < 0 &&
            errno != EINTR)
            return lost("waiting failed");
        if (keep && !keep(context)) {
            *out_failed = -1;
            return MICA_ERROR(MICA_CANCELLED, "[peer] waiting was interrupted");
        }
    }
}

mica_status mica_socket_exchange(mica_transfer *transfers, int32_t n, mica_keep_waiting *keep,
                                 void *context, double deadline, int32_t *out_failed) {
    *out_failed = -1;
    struct pollfd *files = mica_calloc((size_t)n + 1, sizeof *files);
    if (!files) return MICA_NO_MEMORY();
    mica_status status = exchange(transfers, n, files, keep, context, deadline, out_failed);
    mica_free(files);
    return status;
}

void mica_socket_await_any(const int32_t *numbers, int32_t n, double seconds, bool *ready) {
    enum { MOST = 4096 };
    struct pollfd files[MOST];
    if (n > MOST) n = MOST;
    for (int32_t i = 0; i < n; i++) files[i] = (struct pollfd){.fd = numbers[i], .events = POLLIN};
    int found = poll(files, (nfds_t)n, (int)(seconds * 1e3) + 1);
    for (int32_t i = 0; i < n; i++) ready[i] = found > 0 && numbers[i] >= 0 && files[i].revents;
}
