#include "base/shutdown.h"

#include <assert.h>

#include "base/platform.h"

enum { MOST = 8 };

static struct {
    mica_mutex mutex;
    void (*functions[MOST])(void);
    int n;
} first;

void mica_shutdown_first(void (*function)(void)) {
    mica_mutex_lock(&first.mutex);
    int i = 0;
    while (i < first.n && first.functions[i] != function) i++;
    assert(i < MOST);
    if (i == first.n && first.n < MOST) first.functions[first.n++] = function;
    mica_mutex_unlock(&first.mutex);
}

void mica_shutdown_run_first(void) {
    for (int i = 0; i < MOST; i++) {
        mica_mutex_lock(&first.mutex);
        void (*function)(void) = i < first.n ? first.functions[i] : 0;
        mica_mutex_unlock(&first.mutex);
        if (function) function();
    }
}
