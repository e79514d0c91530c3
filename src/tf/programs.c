/* The programs of segments: two lists, least recently used last, and their bounds.
 *
 * Each program is in the list of its segment and in that of the process. Neither grows beyond its
 * bound: what was used longest ago is let go, and made again when its key comes back. Runs hold the
 * program they use, so that it may be let go under them. Lists and counts are under one lock, which
 * is held for a search or a change of links; programs are made and destroyed without it. */
#include <string.h>

#include "tf/steps.h"

static struct {
    mica_mutex lock;
    mica_tf_program_list all;
    int32_t most, most_of_segment;
    int64_t made, evicted;
} programs = {.most = 2048, .most_of_segment = 64};

void mica_tf_program_release(mica_tf_program *program) {
    if (!program || !mica_refcount_release(&program->references)) return;
    mica_executable_release(program->executable);
    mica_device_release(program->device);
    mica_free(program->written);
    mica_free(program->donated);
    mica_free(program->written_types);
    mica_free(program->randoms);
    for (int32_t i = 0; i < program->n_checks; i++) {
        mica_free(program->checks[i].name);
        mica_free(program->checks[i].place);
    }
    mica_free(program->checks);
    mica_graph_release(program->graph);
    mica_free(program->notes);
    mica_free(program);
}

/* ---- lists, with the lock held ----------------------------------------------------------------*/

static void put_first(mica_tf_program_list *list, mica_tf_program *program, int which) {
    mica_tf_links *links = &program->links[which];
    *links = (mica_tf_links){.older = list->newest};
    *(list->newest ? &list->newest->links[which].newer : &list->oldest) = program;
    list->newest = program;
    list->n++;
}

static void take_out(mica_tf_program_list *list, mica_tf_program *program, int which) {
    mica_tf_links *links = &program->links[which];
    *(links->newer ? &links->newer->links[which].older : &list->newest) = links->older;
    *(links->older ? &links->older->links[which].newer : &list->oldest) = links->newer;
    list->n--;
}

static mica_tf_program *look_up(mica_tf_step *step, const mica_tf_key *key) {
    mica_tf_program *p = step->programs.newest;
    while (p && !(p->hash == key->hash && p->key_bytes == key->bytes &&
                  memcmp(p->key, key->words, key->bytes) == 0))
        p = p->links[OF_SEGMENT].older;
    if (!p) return NULL;
    if (p != step->programs.newest) {
        take_out(&step->programs, p, OF_SEGMENT);
        put_first(&step->programs, p, OF_SEGMENT);
    }
    if (p != programs.all.newest) {
        take_out(&programs.all, p, OF_PROCESS);
        put_first(&programs.all, p, OF_PROCESS);
    }
    mica_refcount_retain(&p->references);
    return p;
}

/* Into a chain of those to be released without the lock. */
static void evict(mica_tf_program *program, mica_tf_program **chain) {
    take_out(&program->step->programs, program, OF_SEGMENT);
    take_out(&programs.all, program, OF_PROCESS);
    program->step = NULL;
    program->links[OF_SEGMENT].older = *chain;
    *chain = program;
}

static void release_chain(mica_tf_program *chain) {
    while (chain) {
        mica_tf_program *next = chain->links[OF_SEGMENT].older;
        mica_tf_program_release(chain);
        chain = next;
    }
}

static void evict_oldest(mica_tf_program **chain) {
    while (programs.all.n > programs.most) {
        evict(programs.all.oldest, chain);
        programs.evicted++;
    }
}

/* ---- for runs ---------------------------------------------------------------------------------*/

mica_tf_program *mica_tf_program_find(mica_tf_step *step, const mica_tf_key *key) {
    mica_mutex_lock(&programs.lock);
    mica_tf_program *found = look_up(step, key);
    mica_mutex_unlock(&programs.lock);
    return found;
}

mica_tf_program *mica_tf_program_keep(mica_tf_step *step, const mica_tf_key *key,
                                      mica_tf_program *made) {
    mica_tf_program *chain = NULL;
    mica_mutex_lock(&programs.lock);
    mica_tf_program *kept = look_up(step, key);
    programs.made++;
    if (!kept) {
        made->step = step;
        put_first(&step->programs, made, OF_SEGMENT);
        put_first(&programs.all, made, OF_PROCESS);
        mica_refcount_retain(&made->references);
        while (step->programs.n > programs.most_of_segment) {
            evict(step->programs.oldest, &chain);
            programs.evicted++;
        }
        evict_oldest(&chain);
    }
    mica_mutex_unlock(&programs.lock);
    release_chain(chain);
    if (!kept) return made;
    mica_tf_program_release(made);
    return kept;
}

mica_status mica_tf_programs_hold(mica_tf_step *step, mica_tf_program ***out_held, int32_t *out_n) {
    *out_held = NULL;
    *out_n = 0;
    mica_mutex_lock(&programs.lock);
    mica_tf_program *p = step->programs.newest;
    if (p) *out_held = mica_alloc((size_t)step->programs.n * sizeof **out_held);
    for (; p && *out_held; p = p->links[OF_SEGMENT].older) {
        mica_refcount_retain(&p->references);
        (*out_held)[(*out_n)++] = p;
    }
    bool failed = step->programs.newest && !*out_held;
    mica_mutex_unlock(&programs.lock);
    return failed ? MICA_NO_MEMORY() : NULL;
}

void mica_tf_programs_forget(mica_tf_step *step) {
    mica_tf_program *chain = NULL;
    mica_mutex_lock(&programs.lock);
    while (step->programs.newest) evict(step->programs.newest, &chain);
    mica_mutex_unlock(&programs.lock);
    release_chain(chain);
}

/* ---- for everybody ----------------------------------------------------------------------------*/

void mica_tf_count_programs(mica_tf_program_counts *out_counts) {
    if (!out_counts) return;
    mica_tf_program_counts counts = {.size = out_counts->size};
    mica_mutex_lock(&programs.lock);
    counts.held = programs.all.n;
    counts.most = programs.most;
    counts.most_of_segment = programs.most_of_segment;
    counts.made = programs.made;
    counts.evicted = programs.evicted;
    mica_mutex_unlock(&programs.lock);
    memcpy(out_counts, &counts,
           out_counts->size < sizeof counts ? out_counts->size : sizeof counts);
}

mica_status mica_tf_set_program_limits(int32_t most, int32_t most_of_segment) {
    if (most < 1 || most_of_segment < 1)
        return MICA_INVALID("[programs] limits of %d programs and %d per segment: both must be at "
                            "least 1",
                            most, most_of_segment);
    mica_tf_program *chain = NULL;
    mica_mutex_lock(&programs.lock);
    programs.most = most;
    programs.most_of_segment = most_of_segment;
    evict_oldest(&chain);
    mica_mutex_unlock(&programs.lock);
    release_chain(chain);
    return NULL;
}
