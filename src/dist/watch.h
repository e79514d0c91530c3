/* dist/watch.h: who lives.
 *
 * Every rank has a connection to rank 0 beside those that carry arrays, and a thread that sends a
 * sign of life over it twice a second, whatever the rank computes. Rank 0 sends them to all. A rank
 * whose signs stop for d->silence seconds, or whose connection ends without a word, is lost; rank 0
 * tells the others. A failure that a rank finds by itself goes the same way, so that all name the
 * same cause. A frame has 256 bytes: what it is, a rank, a text. */
#ifndef MICA_DIST_WATCH_H
#define MICA_DIST_WATCH_H

#include "dist/communicator.h"

/* Takes over the connections: of rank 0 one to each other rank, of the others one to rank 0; -1
 * where there is none. They are closed in any case. */
MICA_MUST_CHECK mica_status dist_watch_start(mica_dist *d, const int32_t *numbers);
void dist_watch_tell(dist_watch *watch, int32_t rank, const char *why);
/* Says that this rank leaves, unless it has failed, and ends the thread. */
void dist_watch_stop(dist_watch *watch);

#endif
