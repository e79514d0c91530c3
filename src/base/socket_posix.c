/* The part of the operating system behind base/socket.h, on Linux and macOS. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "base/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

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
