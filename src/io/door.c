/* The secret and the limits of a door, read from the environment. */
#include "io/door.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hmac.h"
#include "base/memory.h"
#include "base/platform.h"

enum { LEAST_SECRET = 16 };

/* ---- limits -----------------------------------------------------------------------------------*/

typedef enum bound_kind { COUNT, BYTES, SECONDS } bound_kind;

/* One row per limit: its name, its place, and what it may be. */
static const struct bound {
    const char *name;
    bound_kind kind;
    size_t place;
    double initial, least, most;
} bounds[] = {
#define BOUND(name, kind, initial, least, most)                                                    \
    {#name, kind, offsetof(mica_door_bounds, name), initial, least, most},
    BOUND(connections, COUNT, 256, 1, 4096) BOUND(arrays, COUNT, 16384, 1, 1 << 24)
        BOUND(depth, COUNT, 64, 4, 256) BOUND(values, COUNT, 1 << 17, 16, 1 << 28)
            BOUND(variables, COUNT, 65536, 0, 1 << 24) BOUND(header, BYTES, 4 << 20, 256, 1 << 30)
                BOUND(body, BYTES, 2147483648.0, 0, 1e12) BOUND(memory, BYTES, 0, 1 << 20, 1e15)
                    BOUND(greeting_seconds, SECONDS, 5, 0.01, 3600)
                        BOUND(frame_seconds, SECONDS, 30, 0.01, 86400)
                            BOUND(rate, BYTES, 1 << 20, 1, 1e12)
#undef BOUND
};
enum { N_BOUNDS = (int)(sizeof bounds / sizeof *bounds) };

static void set_bound(mica_door_bounds *limits, const struct bound *bound, double value) {
    char *place = (char *)limits + bound->place;
    if (bound->kind == COUNT)
        *(int32_t *)(void *)place = (int32_t)value;
    else if (bound->kind == BYTES)
        *(uint64_t *)(void *)place = (uint64_t)value;
    else
        *(double *)(void *)place = value;
}

/* A number with K, M or G after it, up to a comma or the end. */
static bool parse_number(const char *text, size_t n, double *out) {
    char copy[32], *end;
    if (n == 0 || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    *out = strtod(copy, &end);
    if (end == copy) return false;
    if (*end == 'K' || *end == 'M' || *end == 'G')
        *out *= ldexp(1, *end == 'K' ? 10 : *end == 'M' ? 20 : 30), end++;
    return *end == 0;
}

static mica_status set_named(mica_door_bounds *limits, const char *text, size_t n) {
    const char *equals = memchr(text, '=', n);
    size_t n_name = equals ? (size_t)(equals - text) : n;
    for (int i = 0; i < N_BOUNDS; i++) {
        double value;
        if (strlen(bounds[i].name) != n_name || memcmp(bounds[i].name, text, n_name) != 0) continue;
        if (!equals || !parse_number(equals + 1, n - n_name - 1, &value) ||
            !(value >= bounds[i].least && value <= bounds[i].most))
            return MICA_INVALID("MICA_CLUSTER_LIMITS: '%.*s': %s is a number from %g to %g", (int)n,
                                text, bounds[i].name, bounds[i].least, bounds[i].most);
        set_bound(limits, &bounds[i], value);
        return NULL;
    }
    return MICA_INVALID("MICA_CLUSTER_LIMITS: there is no limit '%.*s'", (int)n_name, text);
}

static mica_status read_limits(mica_door_bounds *limits) {
    const char *text = mica_environment("MICA_CLUSTER_LIMITS");
    for (int i = 0; i < N_BOUNDS; i++) set_bound(limits, &bounds[i], bounds[i].initial);
    uint64_t memory = mica_machine_memory();
    limits->memory = memory ? memory / 2 : UINT64_C(4) << 30;
    while (text && *text) {
        size_t n = strcspn(text, ",");
        if (n) MICA_TRY(set_named(limits, text, n));
        text += n;
        if (*text) text++;
    }
    return NULL;
}

/* ---- the secret -------------------------------------------------------------------------------*/

static void forget(uint8_t *secret, size_t n) {
    if (secret) mica_secret_erase(secret, n);
    mica_free(secret);
}

static mica_status read_secret(mica_door *door) {
    const char *text = mica_environment("MICA_CLUSTER_SECRET");
    const char *path = mica_environment("MICA_CLUSTER_SECRET_FILE");
    if (text && *text && path && *path)
        return MICA_INVALID(
            "MICA_CLUSTER_SECRET and MICA_CLUSTER_SECRET_FILE are both set: unset one of them");
    if (text && *text) {
        door->n_secret = strlen(text);
        door->secret = (uint8_t *)mica_strdup(text);
        if (!door->secret) return MICA_NO_MEMORY();
    } else if (path && *path) {
        MICA_TRY(mica_file_read_secret(path, &door->secret, &door->n_secret));
        while (door->n_secret && (door->secret[door->n_secret - 1] == '\n' ||
                                  door->secret[door->n_secret - 1] == '\r'))
            door->n_secret--;
    } else {
        return NULL;
    }
    if (door->n_secret < LEAST_SECRET)
        return MICA_INVALID("the cluster's secret has %zu bytes: it needs %d or more, at random",
                            door->n_secret, LEAST_SECRET);
    return NULL;
}

/* ---- doors ------------------------------------------------------------------------------------*/

mica_status mica_door_create(mica_door **out_door) {
    MICA_GIVEN(out_door);
    *out_door = NULL;
    mica_door *door = mica_calloc(1, sizeof *door);
    if (!door) return MICA_NO_MEMORY();
    mica_status status = read_limits(&door->limits);
    if (!status) status = read_secret(door);
    if (status)
        mica_door_release(door);
    else
        *out_door = door;
    return status;
}

mica_status mica_door_create_with(const void *secret, size_t n, mica_door **out_door) {
    MICA_GIVEN(secret, out_door);
    *out_door = NULL;
    if (n < LEAST_SECRET)
        return MICA_INVALID("[door_create_with] a secret of %zu bytes: it needs %d or more, at "
                            "random",
                            n, LEAST_SECRET);
    mica_door *door = mica_calloc(1, sizeof *door);
    if (!door) return MICA_NO_MEMORY();
    mica_status status = read_limits(&door->limits);
    door->secret = status ? NULL : mica_alloc(n);
    if (!status && !door->secret) status = MICA_NO_MEMORY();
    if (status) {
        mica_door_release(door);
        return status;
    }
    memcpy(door->secret, secret, n);
    door->n_secret = n;
    *out_door = door;
    return NULL;
}

void mica_door_release(mica_door *door) {
    if (!door) return;
    forget(door->secret, door->n_secret);
    mica_free(door);
}

const mica_door_bounds *mica_door_limits(const mica_door *door) {
    return door ? &door->limits : NULL;
}

bool mica_door_has_secret(const mica_door *door) {
    return door && door->secret;
}

void mica_door_guard(const mica_door *door) {
    mica_memory_guard(door ? door->limits.memory : 0);
}
