/* Where storages lie: greedy best fit, largest first. */
#include <stdlib.h>

#include "compile/planner.h"

static int64_t aligned(int64_t offset) {
    return (offset + MICA_PLAN_ALIGNMENT - 1) / MICA_PLAN_ALIGNMENT * MICA_PLAN_ALIGNMENT;
}

static int larger_first(const void *a, const void *b) {
    const mica_storage *x = *(mica_storage *const *)a, *y = *(mica_storage *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* placed[0..n) are sorted by offset. The smallest gap between those that live at the same time. */
static int64_t best_offset(const mica_storage *s, mica_storage *const *placed, int32_t n) {
    int64_t end = 0, best = -1, best_gap = INT64_MAX, need = (int64_t)s->bytes;
    for (int32_t i = 0; i < n; i++) {
        const mica_storage *other = placed[i];
        if (other->last < s->first || s->last < other->first) continue;
        int64_t gap = other->offset - end;
        if (gap >= need && gap < best_gap) best = end, best_gap = gap;
        int64_t other_end = aligned(other->offset + (int64_t)other->bytes);
        if (other_end > end) end = other_end;
    }
    return best >= 0 ? best : end;
}

mica_status mica_plan_layout(mica_planner *planner, int32_t list, size_t *out_bytes) {
    *out_bytes = 0;
    int32_t n = 0, n_placed = 0;
    mica_storage **all = mica_alloc(2 * sizeof *all * (size_t)(planner->n_storages + 1));
    if (!all) return MICA_NO_MEMORY();
    mica_storage **placed = all + planner->n_storages + 1;
    for (int32_t i = 0; i < planner->n_storages; i++)
        if (planner->storages[i].list == list && !planner->storages[i].is_fixed)
            all[n++] = &planner->storages[i];
    qsort(all, (size_t)n, sizeof *all, larger_first);
    for (int32_t i = 0; i < n; i++) {
        mica_storage *s = all[i];
        s->offset = best_offset(s, placed, n_placed);
        int32_t k = n_placed++;
        while (k > 0 && placed[k - 1]->offset > s->offset) placed[k] = placed[k - 1], k--;
        placed[k] = s;
        size_t end = (size_t)aligned(s->offset + (int64_t)s->bytes);
        if (end > *out_bytes) *out_bytes = end;
    }
    mica_free(all);
    return NULL;
}

/* ---- places -----------------------------------------------------------------------------------*/

static void resolve(mica_planner *planner, mica_place *place) {
    while (place->base == MICA_BASE_STORAGE) {
        const mica_storage *s = &planner->storages[place->offset];
        if (s->is_fixed) {
            *place = s->fixed;
            continue;
        }
        int64_t offset = s->offset;
        for (int32_t f = planner->frames[s->list]; f >= 0;
             f = planner->frames[planner->storages[f].list])
            offset += planner->storages[f].offset;
        *place = (mica_place){MICA_BASE_ARENA, offset};
    }
}

static void resolve_slices(mica_planner *planner, mica_scan_slice *slices, int32_t n) {
    for (int32_t i = 0; i < n; i++) resolve(planner, &slices[i].whole);
}

static void resolve_command(mica_planner *planner, mica_command *c) {
    for (int32_t i = 0; i < c->n_operands; i++) resolve(planner, &c->operands[i]);
    for (int32_t i = 0; i < c->n_results; i++) resolve(planner, &c->results[i]);
    resolve(planner, &c->scratch);
    for (int32_t i = 0; i < c->n_carries; i++) {
        resolve(planner, &c->carries[i].initial);
        resolve(planner, &c->carries[i].result);
        resolve(planner, &c->carries[i].spare);
    }
    resolve_slices(planner, c->xs, c->n_xs);
    resolve_slices(planner, c->ys, c->n_ys);
    for (int32_t i = 0; i < c->n_regions; i++) {
        mica_commands *region = &c->regions[i];
        for (int32_t k = 0; k < c->node->regions[i]->n_outputs; k++)
            resolve(planner, &region->outputs[k]);
        mica_plan_resolve(planner, region);
    }
}

void mica_plan_resolve(mica_planner *planner, mica_commands *commands) {
    for (int32_t i = 0; i < commands->n; i++) resolve_command(planner, &commands->data[i]);
}
