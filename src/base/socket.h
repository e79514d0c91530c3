/* base/socket.h: bytes over connected sockets, all of them by a moment (socket_posix.c), and how
 * sockets become connected (connect_posix.c).
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
/* What is there, up to n bytes, without waiting; out_is_over: nothing will come any more. */
size_t mica_socket_read_some(int32_t number, void *bytes, size_t n, bool *out_is_over);

/* ---- many at once -----------------------------------------------------------------------------*/

/* What goes over one connection, both ways. */
typedef struct mica_transfer {
    int32_t number; /* of the open file */
    const uint8_t *send;
    uint8_t *receive;
    size_t n_send, n_receive;
    size_t sent, received; /* so far; 0 at the beginning */
} mica_transfer;

/* Sends and receives over all of them side by side. After a failure out_failed is the transfer
 * whose connection was lost, or the first that is not complete at the deadline, else -1. */
MICA_MUST_CHECK mica_status mica_socket_exchange(mica_transfer *transfers, int32_t n,
                                                 mica_keep_waiting *keep, void *context,
                                                 double deadline, int32_t *out_failed);
/* Waits until one of the open files has something to read, or for so many seconds; ready[i] says
 * whether number[i] has. A number below 0 is passed over. n is at most 4096. */
void mica_socket_await_any(const int32_t *numbers, int32_t n, double seconds, bool *ready);

/* ---- connections ------------------------------------------------------------------------------*/

/* Listens at an address of this machine; port 0 is any that is free. */
MICA_MUST_CHECK mica_status mica_socket_listen(const char *host, int32_t port, int32_t *out_number,
                                               int32_t *out_port);
/* The next connection, or -1 when none came in so many seconds. */
MICA_MUST_CHECK mica_status mica_socket_accept(int32_t listener, double seconds,
                                               int32_t *out_number);
MICA_MUST_CHECK mica_status mica_socket_connect(const char *host, int32_t port, double deadline,
                                                int32_t *out_number);
/* Whether only this machine can be at the other end (of a listener: can connect to it). */
bool mica_socket_is_loopback(int32_t number, bool is_listener);
void mica_socket_end(int32_t number);   /* nothing more comes or goes; who waits for it wakes */
void mica_socket_close(int32_t number); /* -1 is fine */

#endif
