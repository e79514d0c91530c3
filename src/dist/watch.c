#include "dist/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/socket.h"

enum { FRAME = 256, AT_KIND = 0, AT_RANK = 4, AT_TEXT = 8 };
enum { BEAT = 1, LOST, LEFT };

#define BEAT_SECONDS 0.5
#define SLICE 0.1

struct dist_watch {
    mica_dist *d;
    int32_t *numbers; /* per rank; -1: no connection, or none any more */
    double *heard;
    uint8_t (*frames)[FRAME]; /* being received */
    size_t *filled;
    bool *ready;
    mica_mutex lock; /* of sending: frames are not mixed */
    mica_thread *thread;
    int32_t stop; /* atomic */
};

/* ---- sending ----------------------------------------------------------------------------------*/

static void write_frame(uint8_t frame[FRAME], int kind, int32_t rank, const char *text) {
    memset(frame, 0, FRAME);
    frame[AT_KIND] = (uint8_t)kind;
    for (int i = 0; i < 4; i++) frame[AT_RANK + i] = (uint8_t)((uint32_t)rank >> 8 * i);
    snprintf((char *)frame + AT_TEXT, FRAME - AT_TEXT, "%s", text);
}

/* To all that are connected, but for one. Who does not take it is found out by its silence. */
static void send_frame(dist_watch *w, const uint8_t frame[FRAME], int32_t but) {
    mica_mutex_lock(&w->lock);
    for (int32_t p = 0; p < w->d->size; p++) {
        if (w->numbers[p] < 0 || p == but) continue;
        mica_socket s = {.number = w->numbers[p]};
        mica_status_release(mica_socket_write(&s, frame, FRAME, mica_clock_seconds() + SLICE));
    }
    mica_mutex_unlock(&w->lock);
}

void dist_watch_tell(dist_watch *w, int32_t rank, const char *why) {
    uint8_t frame[FRAME];
    write_frame(frame, LOST, rank, why);
    send_frame(w, frame, rank);
}

/* ---- hearing ----------------------------------------------------------------------------------*/

static void let_go(dist_watch *w, int32_t p) {
    mica_mutex_lock(&w->lock);
    mica_socket_close(w->numbers[p]);
    w->numbers[p] = -1;
    mica_mutex_unlock(&w->lock);
}

static void lose(dist_watch *w, int32_t p, const char *why) {
    let_go(w, p);
    if (!dist_has_left(w->d, p)) dist_fail(w->d, MICA_UNAVAILABLE, p, why);
}

/* A rank that came over the network is one of ours, or it is none. */
static void hear(dist_watch *w, int32_t p, const uint8_t frame[FRAME]) {
    char text[FRAME - AT_TEXT + 1];
    uint32_t about = 0;
    memcpy(text, frame + AT_TEXT, FRAME - AT_TEXT);
    text[FRAME - AT_TEXT] = 0;
    for (int i = 0; i < 4; i++) about |= (uint32_t)frame[AT_RANK + i] << 8 * i;
    int32_t rank = about < (uint32_t)w->d->size ? (int32_t)about : -1;
    if (frame[AT_KIND] == LOST) {
        if (w->d->rank == 0) send_frame(w, frame, p);
        dist_fail_silently(w->d, MICA_UNAVAILABLE, rank, text);
    } else if (frame[AT_KIND] == LEFT && rank >= 0) {
        if (w->d->rank == 0) send_frame(w, frame, p);
        __atomic_store_n(&w->d->has_left[rank], 1, __ATOMIC_RELEASE);
    }
}

static void receive(dist_watch *w, int32_t p) {
    bool is_over;
    size_t got = mica_socket_read_some(w->numbers[p], w->frames[p] + w->filled[p],
                                       FRAME - w->filled[p], &is_over);
    w->filled[p] += got;
    if (got) w->heard[p] = mica_clock_seconds();
    if (w->filled[p] == FRAME) {
        w->filled[p] = 0;
        hear(w, p, w->frames[p]);
    } else if (is_over) {
        lose(w, p, "was lost: its process ended, or the connection to it");
    }
}

static void find_silent(dist_watch *w) {
    double now = mica_clock_seconds();
    for (int32_t p = 0; p < w->d->size; p++) {
        char why[DIST_WHY];
        if (w->numbers[p] < 0 || now - w->heard[p] < w->d->silence) continue;
        snprintf(why, sizeof why, "was lost: it has given no sign of life for %g seconds",
                 w->d->silence);
        lose(w, p, why);
    }
}

static void watch_them(void *context) {
    dist_watch *w = context;
    double next = 0, before = mica_clock_seconds();
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        uint8_t beat[FRAME];
        mica_socket_await_any(w->numbers, w->d->size, SLICE, w->ready);
        for (int32_t p = 0; p < w->d->size; p++)
            if (w->ready[p] && w->numbers[p] >= 0) receive(w, p);
        double now = mica_clock_seconds();
        /* This process itself was stopped for a while: the others' signs may still be on the way.
         */
        for (int32_t p = 0; p < w->d->size && now - before > 1; p++) w->heard[p] = now;
        before = now;
        find_silent(w);
        if (now < next) continue;
        next = now + BEAT_SECONDS;
        write_frame(beat, BEAT, w->d->rank, "");
        send_frame(w, beat, -1);
    }
}

/* ---- beginning and ending ---------------------------------------------------------------------*/

static void destroy(dist_watch *w) {
    mica_free(w->numbers);
    mica_free(w->heard);
    mica_free(w->frames);
    mica_free(w->filled);
    mica_free(w->ready);
    mica_free(w);
}

static mica_status start(dist_watch *w, const int32_t *numbers) {
    size_t n = (size_t)w->d->size;
    w->numbers = mica_calloc(n, sizeof *w->numbers);
    w->heard = mica_calloc(n, sizeof *w->heard);
    w->frames = mica_calloc(n, sizeof *w->frames);
    w->filled = mica_calloc(n, sizeof *w->filled);
    w->ready = mica_calloc(n, sizeof *w->ready);
    if (!w->numbers || !w->heard || !w->frames || !w->filled || !w->ready) return MICA_NO_MEMORY();
    for (size_t p = 0; p < n; p++) {
        w->numbers[p] = numbers[p];
        w->heard[p] = mica_clock_seconds();
    }
    return mica_thread_start(watch_them, w, "mica watch", &w->thread);
}

mica_status dist_watch_start(mica_dist *d, const int32_t *numbers) {
    dist_watch *w = mica_calloc(1, sizeof *w);
    mica_status status = w ? NULL : MICA_NO_MEMORY();
    if (w) w->d = d;
    d->watch = w; /* the thread may fail it at once */
    if (!status) status = start(w, numbers);
    if (!status) return NULL;
    d->watch = NULL;
    for (int32_t p = 0; p < d->size; p++) mica_socket_close(numbers[p]);
    if (w) destroy(w);
    return status;
}

void dist_watch_stop(dist_watch *w) {
    mica_dist *d = w->d;
    if (!dist_is_broken(d)) {
        uint8_t frame[FRAME];
        write_frame(frame, LEFT, d->rank, "");
        send_frame(w, frame, -1);
    }
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    mica_thread_join(w->thread);
    for (int32_t p = 0; p < d->size; p++) mica_socket_close(w->numbers[p]);
    d->watch = NULL;
    destroy(w);
}
