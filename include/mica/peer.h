/* mica/peer.h: the door between processes: who may come in, and frames of bounded size.
 *
 * Two processes that are connected by a socket greet each other first. Where a secret is set, each
 * proves to the other that it knows it: HMAC-SHA256 over the nonces of both, so that nothing that
 * was heard before opens the door again. Then they send frames: the word "MICA", the length of a
 * header (4 bytes) and of a body (8 bytes), little-endian, the header (an object of JSON) and the
 * body. What comes after the greeting is neither encrypted nor signed: who can change bytes on the
 * way can change frames.
 *
 * Nothing that a peer sends ends the process or takes more than the limits allow. Deadlines are for
 * a whole greeting or frame. A frame that is none is MICA_DATA_LOSS, a connection that ended before
 * the first byte of one MICA_OUT_OF_RANGE, one that was lost or too slow MICA_UNAVAILABLE, a secret
 * that is missing or wrong MICA_FAILED_PRECONDITION.
 *
 * @example
 *     mica_door *door = NULL;
 *     mica_status status = mica_door_create(&door);
 *     if (!status) printf("%d connections\n", mica_door_limits(door)->connections);
 *     mica_status_release(status);
 *     mica_door_release(door);
 * @end
 */
#ifndef MICA_PEER_H
#define MICA_PEER_H

#include <stdbool.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* MICA_CLUSTER_LIMITS sets them by name: "connections=16,body=1G,frame_seconds=5". */
typedef struct mica_door_bounds {
    int32_t connections;     /* that a server has at once */
    int32_t arrays;          /* of a frame */
    int32_t depth;           /* of the lists and objects of a header */
    int32_t values;          /* of a header: items and names in all */
    int32_t variables;       /* of a connection */
    uint64_t header, body;   /* bytes of a frame */
    uint64_t memory;         /* bytes of arrays in the process, beyond which servers refuse */
    double greeting_seconds; /* for a whole greeting */
    double frame_seconds;    /* for a whole frame, from its first byte on, and */
    uint64_t rate;           /* a second more for so many bytes of it */
} mica_door_bounds;

/* The secret and the limits that the environment says: MICA_CLUSTER_SECRET, or the bytes of the
 * file MICA_CLUSTER_SECRET_FILE (of mode 0600), without a line's end. */
typedef struct mica_door mica_door;
MICA_API MICA_MUST_CHECK mica_status mica_door_create(mica_door **out_door);
/* One with the limits of the environment and a secret of the caller's: at least 16 bytes. */
MICA_API MICA_MUST_CHECK mica_status mica_door_create_with(const void *secret, size_t n,
                                                           mica_door **out_door);
MICA_API void mica_door_release(mica_door *door);
MICA_API const mica_door_bounds *mica_door_limits(const mica_door *door);
MICA_API bool mica_door_has_secret(const mica_door *door);

/* From now on this thread's allocations fail where they would bring the process above
 * limits->memory; NULL ends it. */
MICA_API void mica_door_guard(const mica_door *door);

/* A connected socket, the caller's; it stays open during a call. */
typedef struct mica_peer {
    const mica_door *door;
    int32_t socket;
    bool (*keep_waiting)(void *context); /* NULL, or asked again and again; false: MICA_CANCELLED */
    void *context;
} mica_peer;

/* The greeting, by the side that was connected to or the one that connected. `purpose` says what
 * both want of each other: a greeting for another purpose is refused. */
MICA_API MICA_MUST_CHECK mica_status mica_peer_greet(const mica_peer *peer, bool is_server,
                                                     const char *purpose);

typedef struct mica_frame {
    uint8_t *header, *body; /* freed with mica_bytes_free; body is NULL when it is empty */
    size_t n_header, n_body;
} mica_frame;

/* Waits `seconds` for the first byte; for ever when negative. The header's text has a bounded
 * number of values at a bounded depth, but may still be no JSON. */
MICA_API MICA_MUST_CHECK mica_status mica_peer_receive(const mica_peer *peer, double seconds,
                                                       uint64_t most_body, mica_frame *out_frame);
/* The body is the parts one after the other. RESOURCE_EXHAUSTED when the frame is longer than the
 * limits: nothing was sent. */
MICA_API MICA_MUST_CHECK mica_status mica_peer_send(const mica_peer *peer, const void *header,
                                                    size_t n_header, const void *const *parts,
                                                    const size_t *sizes, int32_t n_parts);

#ifdef __cplusplus
}
#endif
#endif
