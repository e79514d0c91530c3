/* io/door.h: what frames.c and greeting.c share of a door. */
#ifndef MICA_IO_DOOR_H
#define MICA_IO_DOOR_H

#include "base/socket.h"
#include "mica/peer.h"

struct mica_door {
    mica_door_bounds limits;
    uint8_t *secret; /* NULL: none */
    size_t n_secret;
};

static inline mica_socket io_socket_of(const mica_peer *peer) {
    return (mica_socket){peer->socket, peer->keep_waiting, peer->context};
}

#endif
