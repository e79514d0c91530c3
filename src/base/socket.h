/* base/socket.h: bytes over a connected socket, all of them by a moment (socket_posix.c).
 *
 * A deadline is a moment of mica_clock_seconds for the whole of a call, however many pieces the
 * bytes come in: who sends one byte a second gains no time. A negative one is never. */
#ifndef MICA_BASE_SOCKET_H
#define MICA_BASE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Asked ten times a second while there is nothing to do: false ends the call with CANCELLED. */
typedef bool mica_keep_waiting(void *context);

typedef struct mica_socket {
    int32_t number;          /* of the open file; the caller's */
    mica_keep_waiting *keep; /* NULL: none */
    void *context;
} mica_socket;

/* Waits until there is a byte, or the end. UNAVAILABLE when the deadline has passed. */
MICA_MUST_CHECK mica_status mica_socket_await(const mica_socket *s, double deadline);
/* out_got < n: the other side has ended the connection. UNAVAILABLE when it is lost, or when the
 * deadline has passed. */
MICA_MUST_CHECK mica_status mica_socket_read(const mica_socket *s, void *bytes, size_t n,
                                             double deadline, size_t *out_got);
MICA_MUST_CHECK mica_status mica_socket_write(const mica_socket *s, const void *bytes, size_t n,
                                              double deadline);

#endif
