#include "runtime/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "report/report.h"
#include "runtime/tensor.h"

/* ---- the list ---------------------------------------------------------------------------------*/

void mica_memory_enlist(mica_buffer *buffer) {
    mica_device_runtime *r = buffer->device->runtime;
    buffer->serial = ++r->serials;
    buffer->next_of_all = r->all;
    buffer->link_of_all = &r->all;
    if (r->all) r->all->link_of_all = &buffer->next_of_all;
    r->all = buffer;
}

void mica_memory_strike(mica_buffer *buffer) {
    *buffer->link_of_all = buffer->next_of_all;
    if (buffer->next_of_all) buffer->next_of_all->link_of_all = buffer->link_of_all;
}

/* ---- the limit --------------------------------------------------------------------------------*/

bool mica_memory_reserve(mica_device *device, size_t bytes) {
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    bool fits = !r->limit || r->in_use + r->cached + bytes <= r->limit;
    if (fits) r->in_use += bytes;
    mica_mutex_unlock(&r->lock);
    return fits;
}

void mica_memory_unreserve(mica_device *device, size_t bytes) {
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    r->in_use -= bytes;
    mica_mutex_unlock(&r->lock);
}

mica_status mica_device_set_memory_limit(mica_device *device, size_t bytes) {
    MICA_GIVEN(device);
    MICA_TRY(mica_check_process("memory"));
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    r->limit = bytes;
    bool is_over = bytes && r->in_use + r->cached > bytes;
    mica_mutex_unlock(&r->lock);
    if (is_over) mica_device_trim(device);
    return NULL;
}

void mica_device_memory_info(const mica_device *device, mica_memory_info *out_info) {
    if (!device || !out_info) return;
    mica_device_runtime *r = device->runtime;
    mica_memory_info info = {.size = out_info->size};
    if (!mica_fork_happened()) {
        mica_mutex_lock(&r->lock);
        info.now = r->in_use;
        info.peak = r->peak;
        info.cached = r->cached;
        info.limit = r->limit;
        for (const mica_buffer *b = r->all; b; b = b->next_of_all) info.blocks++;
        mica_mutex_unlock(&r->lock);
    }
    memcpy(out_info, &info, out_info->size < sizeof info ? out_info->size : sizeof info);
}

void mica_device_memory_reset(mica_device *device) {
    if (!device) return;
    mica_device_runtime *r = device->runtime;
    if (mica_fork_happened()) return;
    mica_mutex_lock(&r->lock);
    r->peak = r->in_use;
    mica_mutex_unlock(&r->lock);
}

/* ---- the table --------------------------------------------------------------------------------*/

enum { MOST_LINES = 8, LINE = 480 };

/* Buffers of one size, role and type. */
typedef struct holder {
    size_t bytes; /* of one */
    mica_buffer_role role;
    bool has_type;
    mica_type type;
    int64_t n;
    int32_t line;
} holder;

static const char *const role_names[] = {
    [MICA_HOLDS_TENSOR] = "tensor",          [MICA_HOLDS_ARENA] = "arena of runs",
    [MICA_HOLDS_CONSTANTS] = "constants",    [MICA_HOLDS_SLOT] = "slot of a recording",
    [MICA_HOLDS_LIST] = "elements of lists",
};

static bool is_same(const holder *a, const holder *b) {
    return a->bytes == b->bytes && a->role == b->role && a->has_type == b->has_type &&
           a->line == b->line && (!a->has_type || mica_type_equal(&a->type, &b->type));
}

static int by_size(const void *a, const void *b) {
    const holder *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->role != y->role) return x->role < y->role ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return memcmp(&x->type, &y->type, sizeof x->type);
}

static int by_total(const void *a, const void *b) {
    const holder *x = a, *y = b;
    double difference = (double)y->bytes * (double)y->n - (double)x->bytes * (double)x->n;
    return difference < 0 ? -1 : difference > 0;
}

/* With the lock held: what is in use, one entry per buffer. */
static int64_t collect(const mica_device_runtime *r, holder *out, int64_t capacity) {
    int64_t n = 0;
    for (const mica_buffer *b = r->all; b && n < capacity; b = b->next_of_all) {
        if (b->is_cached) continue;
        const mica_tensor *tensor = __atomic_load_n(&b->tensor, __ATOMIC_ACQUIRE);
        holder h = {.bytes = b->bytes, .n = 1};
        h.role = __atomic_load_n(&b->role, __ATOMIC_RELAXED);
        h.line = __atomic_load_n(&b->line, __ATOMIC_RELAXED);
        h.has_type = tensor && h.role == MICA_HOLDS_TENSOR;
        if (h.has_type) memcpy(&h.type, &tensor->type, sizeof h.type);
        out[n++] = h;
    }
    return n;
}

static int64_t merge(holder *holders, int64_t n) {
    int64_t kept = 0;
    qsort(holders, (size_t)n, sizeof *holders, by_size);
    for (int64_t i = 0; i < n; i++) {
        if (kept && is_same(&holders[kept - 1], &holders[i]))
            holders[kept - 1].n++;
        else
            holders[kept++] = holders[i];
    }
    qsort(holders, (size_t)kept, sizeof *holders, by_total);
    return kept;
}

static void write_line(char *out, const holder *h) {
    char count[32] = "";
    if (h->n > 1) snprintf(count, sizeof count, "%lld x ", (long long)h->n);
    snprintf(out, LINE, "\n  %12.0f  %s%s%s%s", (double)h->bytes * (double)h->n, count,
             role_names[h->role], h->has_type ? " " : "",
             h->has_type ? mica_type_text(&h->type).chars : "");
}

mica_status mica_memory_exhausted(mica_device *device, size_t bytes, mica_status cause) {
    mica_device_runtime *r = device->runtime;
    mica_memory_info info = {.size = sizeof info};
    mica_device_memory_info(device, &info);
    int64_t capacity = info.blocks + 1;
    holder *holders = mica_alloc((size_t)capacity * sizeof *holders + MOST_LINES * LINE + LINE);
    if (!holders) return cause;
    char *text = (char *)(holders + capacity), *end = text;
    mica_mutex_lock(&r->lock);
    int64_t n = collect(r, holders, capacity);
    mica_mutex_unlock(&r->lock);
    n = merge(holders, n);
    *text = '\0';
    for (int64_t i = 0; i < n && i < MOST_LINES; i++) {
        write_line(end, &holders[i]);
        end += strlen(end);
    }
    char limit[48] = "";
    if (info.limit) snprintf(limit, sizeof limit, ", limit %zu", info.limit);
    mica_status status =
        MICA_ERROR(MICA_OUT_OF_MEMORY,
                   "[memory] %s has no %zu bytes left: %zu in use, %zu kept for reuse%s. The "
                   "largest holders, in bytes:%s",
                   device->name, bytes, info.now, info.cached, limit, text);
    mica_free(holders);
    mica_status_release(cause);
    return status;
}

/* ---- for a report -----------------------------------------------------------------------------*/

void mica_memory_record(mica_device_runtime *r) {
    mica_report_memory(r->name, r->in_use, r->cached);
}

void mica_memory_record_holders(mica_device_runtime *r) {
    if (!mica_report_wants_holders(r->name, r->in_use)) return;
    int64_t n = 0;
    for (const mica_buffer *b = r->all; b; b = b->next_of_all) n += !b->is_cached;
    holder *holders = mica_alloc((size_t)(n + 1) * sizeof *holders);
    if (!holders) return;
    n = merge(holders, collect(r, holders, n));
    mica_report_holder kept[MICA_REPORT_HOLDERS];
    int32_t n_kept = 0;
    for (; n_kept < n && n_kept < MICA_REPORT_HOLDERS; n_kept++) {
        const holder *h = &holders[n_kept];
        mica_report_holder *k = &kept[n_kept];
        *k = (mica_report_holder){.bytes = (double)h->bytes, .n = h->n, .line = h->line};
        snprintf(k->what, sizeof k->what, "%s%s%.60s", role_names[h->role], h->has_type ? " " : "",
                 h->has_type ? mica_type_text(&h->type).chars : "");
    }
    mica_report_holders(r->name, r->in_use, kept, n_kept);
    mica_free(holders);
}
