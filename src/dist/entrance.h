/* dist/entrance.h: how ranks come to have connections to each other.
 *
 * A rank listens for those above it and connects to those below it. Who connects is greeted
 * (mica/peer.h), which needs the secret where there is one, and then says who it is: the session it
 * belongs to, its rank, and what the connection is for. Connections are greeted side by side, each
 * by a deadline: strangers hold nothing up and get nothing. */
#ifndef MICA_DIST_ENTRANCE_H
#define MICA_DIST_ENTRANCE_H

#include "base/sha256.h"
#include "dist/communicator.h"
#include "mica/peer.h"

typedef enum dist_purpose { DIST_ARRAYS = 1, DIST_SIGNS = 2 } dist_purpose;

typedef struct dist_session {
    const mica_door *door;
    uint8_t id[MICA_SHA256_BYTES]; /* the same for all ranks of a run */
    int32_t rank, size;
} dist_session;

typedef struct dist_entrance dist_entrance;

/* Listens. Where there is no secret this must be at an address of this machine alone. */
MICA_MUST_CHECK mica_status dist_entrance_open(const dist_session *session, const char *host,
                                               int32_t port, dist_entrance **out_entrance);
int32_t dist_entrance_port(const dist_entrance *entrance);
/* Waits until the ranks above have come for this purpose, and gives their connections, which are
 * the caller's from then on. UNAVAILABLE, with out_missing, when one has not come in time. */
MICA_MUST_CHECK mica_status dist_entrance_await(dist_entrance *entrance, dist_purpose purpose,
                                                double deadline, int32_t *numbers,
                                                int32_t *out_missing);
/* What has come for this purpose so far. */
void dist_entrance_take(dist_entrance *entrance, dist_purpose purpose, int32_t *numbers);
void dist_entrance_close(dist_entrance *entrance); /* NULL is fine */

/* Connects to a rank below, again and again until it listens. */
MICA_MUST_CHECK mica_status dist_connect(const dist_session *session, const char *host,
                                         int32_t port, dist_purpose purpose, double deadline,
                                         int32_t *out_number);

#endif
