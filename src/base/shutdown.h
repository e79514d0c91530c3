/* base/shutdown.h: what upper rooms have to stop before the runtime does. */
#ifndef MICA_BASE_SHUTDOWN_H
#define MICA_BASE_SHUTDOWN_H

/* Called first thing by mica_shutdown; the same function is kept once. There is room for a few. */
void mica_shutdown_first(void (*function)(void));
void mica_shutdown_run_first(void);

#endif
