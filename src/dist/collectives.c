/* The collectives, made of exchanges (communicator.h). */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "dist/communicator.h"

static _Thread_local uint64_t current_tag;

void dist_set_tag(uint64_t tag) {
    current_tag = tag;
}

static const char *const names[DIST_WHATS] = {
    [DIST_ALL_REDUCE] = "all_reduce", [DIST_REDUCE_SCATTER] = "reduce_scatter",
    [DIST_ALL_GATHER] = "all_gather", [DIST_ALL_GATHER_PARTS] = "all_gather_parts",
    [DIST_BROADCAST] = "broadcast",   [DIST_PERMUTE] = "permute",
    [DIST_BARRIER] = "barrier",
};

/* ---- what ranks tell each other ---------------------------------------------------------------*/

enum { AT_WORD = 0, AT_WHAT = 4, AT_KIND, AT_DTYPE, AT_CANNOT, AT_NUMBER = 8, AT_COUNT = 16 };
enum { AT_MORE = 24, AT_TAG = 32, TOLD = 40 };
static const char word[4] = {'M', 'D', 'C', '1'};

static void put_number(uint8_t *bytes, uint64_t value) {
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_number(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static void write_call(uint8_t *bytes, const dist_call *call, uint64_t number, mica_code cannot) {
    memset(bytes, 0, DIST_CALL_BYTES);
    memcpy(bytes + AT_WORD, word, sizeof word);
    bytes[AT_WHAT] = (uint8_t)call->what;
    bytes[AT_KIND] = (uint8_t)call->kind;
    bytes[AT_DTYPE] = (uint8_t)call->dtype;
    bytes[AT_CANNOT] = (uint8_t)cannot;
    put_number(bytes + AT_NUMBER, number);
    put_number(bytes + AT_COUNT, call->count);
    put_number(bytes + AT_MORE, call->more);
    put_number(bytes + AT_TAG, call->tag);
}

/* Nothing of what came is used as an index without a look at it. */
static void describe(const uint8_t *bytes, char *text, size_t capacity) {
    int what = bytes[AT_WHAT];
    const char *name = what > 0 && what < DIST_WHATS ? names[what] : "an unknown call";
    unsigned long long count = get_number(bytes + AT_COUNT), tag = get_number(bytes + AT_TAG);
    static const char *const kinds[] = {"sum", "max", "min"};
    char which[48] = "";
    if (tag) snprintf(which, sizeof which, " (collective %llu of a program)", tag & 0xffff);
    if (what == DIST_ALL_REDUCE || what == DIST_REDUCE_SCATTER) {
        int kind = bytes[AT_KIND], dtype = bytes[AT_DTYPE];
        snprintf(text, capacity, "%s %s of %llu %s%s", name, kind < 3 ? kinds[kind] : "?", count,
                 dtype < MICA_DTYPE_COUNT ? mica_dtype_name((mica_dtype)dtype) : "?", which);
    } else if (what == DIST_BARRIER) {
        snprintf(text, capacity, "%s", name);
    } else {
        snprintf(text, capacity, "%s of %llu bytes%s", name, count, which);
    }
}

static mica_status differ(const mica_dist *d, int32_t other) {
    char own[160], theirs[160];
    const uint8_t *mine = d->calls + (size_t)d->rank * DIST_CALL_BYTES;
    const uint8_t *its = d->calls + (size_t)other * DIST_CALL_BYTES;
    describe(mine, own, sizeof own);
    describe(its, theirs, sizeof theirs);
    if (get_number(mine + AT_NUMBER) != get_number(its + AT_NUMBER))
        return MICA_ERROR(MICA_INTERNAL, "[dist] %s is at call %llu, %s at call %llu",
                          d->names[d->rank], (unsigned long long)get_number(mine + AT_NUMBER),
                          d->names[other], (unsigned long long)get_number(its + AT_NUMBER));
    if (!strcmp(own, theirs))
        return MICA_INVALID("[%s] %s and %s differ in the source, the sizes or the pairs, or in "
                            "the program they run: all ranks must make the same calls",
                            names[mine[AT_WHAT]], d->names[d->rank], d->names[other]);
    return MICA_INVALID("[%s] %s has %s where %s has %s: all ranks must make the same calls",
                        names[mine[AT_WHAT]], d->names[d->rank], own, d->names[other], theirs);
}

static const char left[] = "has left";

/* ---- exchanges --------------------------------------------------------------------------------*/

/* Another rank that went on without this one may be a consequence: the watch knows the cause. It
 * is asked for a while, unless the rank lives and is too slow. */
static mica_status settle(mica_dist *d, mica_status status, int32_t rank, bool is_late) {
    double patience = mica_clock_seconds() + (d->watch && !is_late ? 2 : 0);
    while (!dist_is_broken(d) && rank >= 0 && !dist_has_left(d, rank) &&
           mica_clock_seconds() < patience)
        mica_sleep(0.01);
    if (!dist_is_broken(d)) {
        mica_code code = mica_status_code(status);
        bool is_gone = rank >= 0 && dist_has_left(d, rank) && !is_late;
        dist_fail(d, code == MICA_CANCELLED ? code : MICA_UNAVAILABLE,
                  code == MICA_CANCELLED ? d->rank : rank,
                  is_gone ? left : mica_status_message(status));
    }
    mica_status_release(status);
    return dist_failure(d);
}

static mica_status exchange(mica_dist *d) {
    int32_t rank = -1;
    double deadline = mica_clock_seconds() + d->seconds;
    mica_status status = d->engine->exchange(d, d->sends, d->receives, deadline, &rank);
    return status ? settle(d, status, rank, mica_clock_seconds() >= deadline) : NULL;
}

static mica_status tell_call(mica_dist *d, const dist_call *call, mica_code cannot) {
    uint8_t *own = d->calls + (size_t)d->rank * DIST_CALL_BYTES;
    write_call(own, call, ++d->number, cannot);
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = (dist_part){own, DIST_CALL_BYTES};
        d->receives[p] = (dist_part){d->calls + (size_t)p * DIST_CALL_BYTES, DIST_CALL_BYTES};
    }
    return exchange(d);
}

/* Everybody has told everybody the same, so all see the same differences. */
static mica_status compare_calls(mica_dist *d) {
    const uint8_t *own = d->calls + (size_t)d->rank * DIST_CALL_BYTES;
    for (int32_t p = 0; p < d->size; p++) {
        const uint8_t *theirs = d->calls + (size_t)p * DIST_CALL_BYTES;
        if (memcmp(theirs, word, sizeof word) != 0)
            return MICA_ERROR(MICA_DATA_LOSS, "[dist] %s sends what is no call", d->names[p]);
        if (p != d->rank && theirs[AT_CANNOT]) {
            char text[160];
            describe(theirs, text, sizeof text);
            return MICA_ERROR(MICA_UNAVAILABLE, "[dist] %s cannot take part in %s: %s", d->names[p],
                              text, mica_code_name((mica_code)theirs[AT_CANNOT]));
        }
    }
    /* The other of a pair names this one: of several the first that is not like rank 0. */
    const uint8_t *first = d->calls;
    for (int32_t p = 1; p < d->size; p++) {
        const uint8_t *theirs = d->calls + (size_t)p * DIST_CALL_BYTES;
        if (memcmp(theirs, first, TOLD) == 0) continue;
        return differ(d, memcmp(own, first, TOLD) == 0 ? p : 0);
    }
    return NULL;
}

/* Takes the lock and, where the call cannot be made here, tells the others. */
static mica_status begin(mica_dist *d, const dist_call *call, mica_status own) {
    mica_mutex_lock(&d->lock);
    if (d->size == 1) return own;
    mica_status status = dist_is_broken(d) ? dist_failure(d) : NULL;
    for (int32_t p = 0; p < d->size && !status; p++) {
        if (!dist_has_left(d, p)) continue;
        dist_fail(d, MICA_UNAVAILABLE, p, left);
        status = dist_failure(d);
    }
    if (!status) status = tell_call(d, call, mica_status_code(own));
    if (!status && !own) status = compare_calls(d);
    return mica_status_join(own, status);
}

static mica_status end(mica_dist *d, void *scratch, mica_status status) {
    mica_mutex_unlock(&d->lock);
    mica_free_aligned(scratch);
    return status;
}

/* ---- parts ------------------------------------------------------------------------------------*/

static int64_t first_of(const mica_dist *d, int64_t count, int32_t rank) {
    int64_t each = count / d->size, more = count % d->size;
    return each * rank + (rank < more ? rank : more);
}

static size_t own_bytes(const mica_dist *d, int64_t count, size_t size) {
    return (size_t)(first_of(d, count, d->rank + 1) - first_of(d, count, d->rank)) * size;
}

static dist_part part_of(const mica_dist *d, uint8_t *bytes, int64_t count, size_t size,
                         int32_t rank) {
    int64_t from = first_of(d, count, rank), to = first_of(d, count, rank + 1);
    return (dist_part){bytes + (size_t)from * size, (size_t)(to - from) * size};
}

/* Part p of x goes to rank p; all that come for this one are in scratch, this one's among them. */
static mica_status scatter(mica_dist *d, const uint8_t *x, int64_t count, size_t size,
                           uint8_t *scratch) {
    size_t own = own_bytes(d, count, size);
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = part_of(d, (uint8_t *)(uintptr_t)x, count, size, p);
        d->parts[p] = scratch + own * (size_t)p;
        d->receives[p] = (dist_part){d->parts[p], own};
    }
    if (own) memcpy(d->parts[d->rank], d->sends[d->rank].bytes, own);
    return exchange(d);
}

/* Part p of y comes from rank p. */
static mica_status gather(mica_dist *d, uint8_t *y, int64_t count, size_t size) {
    dist_part own = part_of(d, y, count, size, d->rank);
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = own;
        d->receives[p] = part_of(d, y, count, size, p);
    }
    return exchange(d);
}

static mica_status check_bytes(const char *what, int64_t count, size_t size, int64_t times,
                               size_t *out_bytes) {
    int64_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) ||
        __builtin_mul_overflow(bytes, times, &bytes))
        return MICA_INVALID("[%s] %lld elements of %zu bytes are too many", what, (long long)count,
                            size);
    *out_bytes = (size_t)bytes;
    return NULL;
}

static mica_status check_reduction(const char *what, mica_dist_kind kind, mica_dtype dtype) {
    if (dist_can_reduce(kind, dtype)) return NULL;
    if (dtype < 0 || dtype >= MICA_DTYPE_COUNT)
        return MICA_INVALID("[%s] there is no dtype %d", what, (int)dtype);
    return MICA_INVALID("[%s] %s has no such reduction: numbers have sum, max and min, complex "
                        "ones sum alone",
                        what, mica_dtype_name(dtype));
}

/* Memory is had before the others are told: who has none says so to them. */
static mica_status take(size_t bytes, uint8_t **out_scratch) {
    *out_scratch = mica_alloc_aligned(bytes ? bytes : 1);
    return *out_scratch ? NULL : MICA_NO_MEMORY();
}

/* ---- the calls --------------------------------------------------------------------------------*/

mica_status mica_dist_all_reduce(mica_dist *d, mica_dist_kind kind, mica_dtype dtype, const void *x,
                                 void *y, int64_t count) {
    MICA_GIVEN(d, MICA_MANY(x, count), MICA_MANY(y, count));
    uint8_t *scratch = NULL;
    size_t bytes = 0;
    MICA_TRY(check_reduction("all_reduce", kind, dtype));
    size_t size = mica_dtype_bytes(dtype);
    MICA_TRY(check_bytes("all_reduce", count, size, 1, &bytes));
    size_t own = own_bytes(d, count, size);
    dist_call call = {DIST_ALL_REDUCE, kind, dtype, (uint64_t)count, 0, current_tag};
    mica_status status = take(own * (size_t)d->size, &scratch);
    status = begin(d, &call, status);
    if (!status && d->size == 1 && bytes) memmove(y, x, bytes);
    if (status || d->size == 1) return end(d, scratch, status);
    status = scatter(d, x, count, size, scratch);
    if (!status) {
        dist_part part = part_of(d, y, count, size, d->rank);
        dist_tree(kind, dtype, d->parts, d->size, (int64_t)(own / size));
        if (own) memcpy(part.bytes, d->parts[0], own);
        status = gather(d, y, count, size);
    }
    return end(d, scratch, status);
}

mica_status mica_dist_reduce_scatter(mica_dist *d, mica_dist_kind kind, mica_dtype dtype,
                                     const void *x, void *y, int64_t count) {
    MICA_GIVEN(d, MICA_MANY(x, count), MICA_MANY(y, count));
    uint8_t *scratch = NULL;
    size_t bytes = 0;
    MICA_TRY(check_reduction("reduce_scatter", kind, dtype));
    size_t size = mica_dtype_bytes(dtype);
    MICA_TRY(check_bytes("reduce_scatter", count, size, d->size, &bytes));
    dist_call call = {DIST_REDUCE_SCATTER, kind, dtype, (uint64_t)count, 0, current_tag};
    mica_status status = take(bytes, &scratch);
    status = begin(d, &call, status);
    if (!status && d->size == 1 && bytes) memmove(y, x, bytes);
    if (status || d->size == 1) return end(d, scratch, status);
    status = scatter(d, x, count * d->size, size, scratch);
    if (!status) {
        dist_tree(kind, dtype, d->parts, d->size, count);
        if (count) memcpy(y, d->parts[0], (size_t)count * size);
    }
    return end(d, scratch, status);
}

mica_status mica_dist_all_gather(mica_dist *d, const void *x, void *y, size_t bytes) {
    MICA_GIVEN(d, MICA_MANY(x, bytes), MICA_MANY(y, bytes));
    size_t all = 0;
    MICA_TRY(check_bytes("all_gather", bytes > INT64_MAX ? -1 : (int64_t)bytes, 1, d->size, &all));
    dist_call call = {DIST_ALL_GATHER, 0, 0, bytes, 0, current_tag};
    mica_status status = begin(d, &call, NULL);
    if (status) return end(d, NULL, status);
    if (bytes) memmove((uint8_t *)y + bytes * (size_t)d->rank, x, bytes);
    if (d->size > 1) status = gather(d, y, (int64_t)all, 1);
    return end(d, NULL, status);
}

mica_status mica_dist_all_gather_parts(mica_dist *d, const void *x, void *y, const size_t *sizes) {
    MICA_GIVEN(d, sizes);
    size_t all = 0, before = 0;
    uint64_t hash = 0;
    for (int32_t p = 0; p < d->size; p++) {
        hash = mica_hash_u64(hash, sizes[p]);
        if (p == d->rank) before = all;
        if (sizes[p] > (size_t)INT64_MAX - all)
            return MICA_INVALID("[all_gather_parts] %zu bytes and more are too many", all);
        all += sizes[p];
    }
    MICA_GIVEN(MICA_MANY(y, all), MICA_MANY(x, sizes[d->rank]));
    dist_call call = {DIST_ALL_GATHER_PARTS, 0, 0, all, hash, current_tag};
    mica_status status = begin(d, &call, NULL);
    if (status) return end(d, NULL, status);
    uint8_t *next = y;
    if (sizes[d->rank]) memmove(next + before, x, sizes[d->rank]);
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = (dist_part){(uint8_t *)y + before, sizes[d->rank]};
        d->receives[p] = (dist_part){next, sizes[p]};
        next += sizes[p];
    }
    if (d->size > 1) status = exchange(d);
    return end(d, NULL, status);
}

static mica_status check_rank(const mica_dist *d, const char *what, const char *name,
                              int32_t rank) {
    if (rank >= 0 && rank < d->size) return NULL;
    return MICA_INVALID("[%s] %s %d of %d ranks", what, name, rank, d->size);
}

mica_status mica_dist_broadcast(mica_dist *d, void *x, size_t bytes, int32_t source) {
    MICA_GIVEN(d, MICA_MANY(x, bytes));
    size_t all = 0;
    MICA_TRY(check_rank(d, "broadcast", "source", source));
    MICA_TRY(check_bytes("broadcast", bytes > INT64_MAX ? -1 : (int64_t)bytes, 1, 1, &all));
    dist_call call = {DIST_BROADCAST, 0, 0, bytes, (uint64_t)source, current_tag};
    mica_status status = begin(d, &call, NULL);
    if (status || d->size == 1) return end(d, NULL, status);
    int64_t count = (int64_t)bytes;
    for (int32_t p = 0; p < d->size; p++) {
        d->sends[p] = d->receives[p] = (dist_part){NULL, 0};
        if (d->rank == source) d->sends[p] = part_of(d, x, count, 1, p);
    }
    if (d->rank != source) d->receives[source] = part_of(d, x, count, 1, d->rank);
    status = exchange(d);
    if (!status) status = gather(d, x, count, 1);
    return end(d, NULL, status);
}

static mica_status check_pairs(const mica_dist *d, const int32_t *sources, const int32_t *targets,
                               int32_t n) {
    if (n < 0 || n > d->size) return MICA_INVALID("[permute] %d pairs for %d ranks", n, d->size);
    for (int32_t i = 0; i < n; i++) {
        MICA_TRY(check_rank(d, "permute", "source", sources[i]));
        MICA_TRY(check_rank(d, "permute", "target", targets[i]));
        for (int32_t k = 0; k < i; k++)
            if (sources[k] == sources[i] || targets[k] == targets[i])
                return MICA_INVALID("[permute] a rank is twice among the sources or the targets");
    }
    return NULL;
}

mica_status mica_dist_permute(mica_dist *d, const void *x, void *y, size_t bytes,
                              const int32_t *sources, const int32_t *targets, int32_t n) {
    MICA_GIVEN(d, MICA_MANY(x, bytes), MICA_MANY(y, bytes), MICA_MANY(sources, n),
               MICA_MANY(targets, n));
    uint8_t *scratch = NULL;
    uint64_t hash = 0;
    MICA_TRY(check_pairs(d, sources, targets, n));
    int32_t from = -1, to = -1;
    for (int32_t i = 0; i < n; i++) {
        hash = mica_hash_u64(hash, (uint64_t)(uint32_t)sources[i] << 32 | (uint32_t)targets[i]);
        if (sources[i] == d->rank) to = targets[i];
        if (targets[i] == d->rank) from = sources[i];
    }
    dist_call call = {DIST_PERMUTE, 0, 0, bytes, hash, current_tag};
    /* What comes must not be written over what is yet to go. */
    mica_status status = take(bytes, &scratch);
    status = begin(d, &call, status);
    if (status) return end(d, scratch, status);
    for (int32_t p = 0; p < d->size; p++) d->sends[p] = d->receives[p] = (dist_part){NULL, 0};
    if (to >= 0) d->sends[to] = (dist_part){(uint8_t *)(uintptr_t)x, bytes};
    if (from >= 0) d->receives[from] = (dist_part){scratch, bytes};
    if (d->size > 1) status = exchange(d);
    if (!status && bytes && from < 0) memset(y, 0, bytes);
    if (!status && bytes && from >= 0) memmove(y, from == d->rank ? x : scratch, bytes);
    return end(d, scratch, status);
}

mica_status mica_dist_barrier(mica_dist *d) {
    MICA_GIVEN(d);
    dist_call call = {DIST_BARRIER, 0, 0, 0, 0, current_tag};
    mica_status status = begin(d, &call, NULL);
    return end(d, NULL, status);
}
