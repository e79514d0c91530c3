/* How sockets become connected (base/socket.h), on Linux and macOS. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/platform.h"
#include "base/socket.h"

static mica_status failed(const char *what, const char *host, int32_t port, const char *why) {
    return MICA_ERROR(MICA_UNAVAILABLE, "[peer] cannot %s %.200s:%d: %s", what, host, port, why);
}

static const char *reason(char *text, size_t capacity) {
#if defined(__linux__)
    (void)text, (void)capacity;
    return strerror(errno);
#else
    return strerror_r(errno, text, capacity) == 0 ? text : "unknown";
#endif
}

static mica_status resolve(const char *host, int32_t port, bool is_listener,
                           struct addrinfo **out_list) {
    char service[16];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
    if (is_listener) wanted.ai_flags = AI_PASSIVE;
    snprintf(service, sizeof service, "%d", port);
    /* Both ends of a machine alone take the same of its two loopback addresses. */
    const char *name = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    int answer = getaddrinfo(name, service, &wanted, out_list);
    return answer ? failed("find", host, port, gai_strerror(answer)) : NULL;
}

static int make_socket(const struct addrinfo *place) {
    int type = place->ai_socktype;
#if defined(SOCK_CLOEXEC)
    type |= SOCK_CLOEXEC;
#endif
    int number = socket(place->ai_family, type, place->ai_protocol);
    int on = 1;
    if (number < 0) return -1;
    setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(SO_NOSIGPIPE)
    setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return number;
}

static int32_t port_of(int number) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage room;
    } own;
    socklen_t n = sizeof own;
    memset(&own, 0, sizeof own);
    if (getsockname(number, &own.any, &n) != 0) return 0;
    return ntohs(own.any.sa_family == AF_INET6 ? own.six.sin6_port : own.four.sin_port);
}

mica_status mica_socket_listen(const char *host, int32_t port, int32_t *out_number,
                               int32_t *out_port) {
    char text[128];
    struct addrinfo *list = NULL;
    int on = 1;
    *out_number = -1;
    MICA_TRY(resolve(host, port, true, &list));
    int number = make_socket(list);
    if (number >= 0) setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool is_there = number >= 0 && bind(number, list->ai_addr, list->ai_addrlen) == 0 &&
                    listen(number, 128) == 0;
    mica_status status =
        is_there ? NULL : failed("listen at", host, port, reason(text, sizeof text));
    freeaddrinfo(list);
    if (status) {
        mica_socket_close(number);
        return status;
    }
    *out_number = number;
    *out_port = port_of(number);
    return NULL;
}

mica_status mica_socket_accept(int32_t listener, double seconds, int32_t *out_number) {
    struct pollfd file = {.fd = listener, .events = POLLIN};
    int on = 1;
    *out_number = -1;
    int n = poll(&file, 1, (int)(seconds * 1e3) + 1);
    if (n <= 0) return NULL;
    int number = accept(listener, NULL, NULL);
    if (number < 0) {
        bool is_over = errno == EBADF || errno == EINVAL || errno == ENOTSOCK;
        if (!is_over) mica_sleep(0.02); /* out of files, or the connection has gone already */
        return is_over ? MICA_ERROR(MICA_CANCELLED, "[peer] the listener was closed") : NULL;
    }
    fcntl(number, F_SETFD, FD_CLOEXEC);
    setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(SO_NOSIGPIPE)
    setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    *out_number = number;
    return NULL;
}

/* Connects by the deadline; errno says why not. */
static bool connect_to(int number, const struct addrinfo *place, double deadline) {
    int flags = fcntl(number, F_GETFL), error = 0;
    socklen_t n = sizeof error;
    fcntl(number, F_SETFL, flags | O_NONBLOCK);
    if (connect(number, place->ai_addr, place->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) return false;
        double left = deadline - mica_clock_seconds();
        struct pollfd file = {.fd = number, .events = POLLOUT};
        int milliseconds = left <= 0 ? 0 : left > 3600 ? 3600000 : (int)(left * 1e3) + 1;
        if (poll(&file, 1, milliseconds) <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &n) != 0) return false;
        if (error) {
            errno = error;
            return false;
        }
    }
    fcntl(number, F_SETFL, flags);
    return true;
}

mica_status mica_socket_connect(const char *host, int32_t port, double deadline,
                                int32_t *out_number) {
    char text[128] = "";
    struct addrinfo *list = NULL;
    *out_number = -1;
    MICA_TRY(resolve(host, port, false, &list));
    const char *why = "there is no address";
    for (struct addrinfo *place = list; place && *out_number < 0; place = place->ai_next) {
        int number = make_socket(place);
        if (number >= 0 && connect_to(number, place, deadline)) {
            *out_number = number;
        } else {
            why = reason(text, sizeof text);
            mica_socket_close(number);
        }
    }
    freeaddrinfo(list);
    return *out_number < 0 ? failed("connect to", host, port, why) : NULL;
}

bool mica_socket_is_loopback(int32_t number, bool is_listener) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage room;
    } other;
    socklen_t n = sizeof other;
    memset(&other, 0, sizeof other);
    int answer =
        is_listener ? getsockname(number, &other.any, &n) : getpeername(number, &other.any, &n);
    if (answer != 0) return false;
    if (other.any.sa_family == AF_INET) return ntohl(other.four.sin_addr.s_addr) >> 24 == 127;
    return other.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&other.six.sin6_addr);
}

void mica_socket_end(int32_t number) {
    if (number >= 0) shutdown(number, SHUT_RDWR);
}

void mica_socket_close(int32_t number) {
    if (number >= 0) close(number);
}
