/* Compiled patterns, and the ones that were used lately. */
#include "text/regex.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/shutdown.h"
#include "text/regex_parts.h"

/* The last one used first. Patterns that are longer than this are compiled each time. */
#define N_KEPT 32
#define MAX_KEPT_PATTERN 65536
#define MAX_KEPT_STATES 16384

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const text_regex *kept[N_KEPT];

void text_regex_release(const text_regex *regex) {
    text_regex *r = (text_regex *)regex;
    if (!r || !mica_refcount_release(&r->refcount)) return;
    mica_free(r->states);
    mica_free(r->branches);
    mica_free(r);
}

int32_t text_regex_groups(const text_regex *regex) {
    return regex->n_groups;
}

int64_t text_regex_size(const text_regex *regex) {
    return regex->n_states;
}

/* Puts one in front, with a reference of its own, and takes the last one out. */
static void put_first(const text_regex *regex, size_t place) {
    const text_regex *out = kept[place];
    memmove(kept + 1, kept, place * sizeof *kept);
    kept[0] = regex;
    if (out != regex) text_regex_release(out);
}

static const text_regex *find_kept(const char *pattern, size_t n, uint64_t hash) {
    const text_regex *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < N_KEPT && kept[i] && !found; i++) {
        const text_regex *r = kept[i];
        if (r->hash != hash || r->n_pattern != n || memcmp(r->pattern, pattern, n) != 0) continue;
        found = r;
        mica_refcount_retain(&((text_regex *)r)->refcount);
        put_first(r, i);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void text_regex_forget(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < N_KEPT; i++) text_regex_release(kept[i]);
    memset(kept, 0, sizeof kept);
    pthread_mutex_unlock(&lock);
}

static void keep(text_regex *regex) {
    if (regex->n_pattern > MAX_KEPT_PATTERN) return;
    if (regex->n_states + regex->n_branches > MAX_KEPT_STATES) return;
    mica_shutdown_first(text_regex_forget);
    mica_refcount_retain(&regex->refcount);
    pthread_mutex_lock(&lock);
    put_first(regex, N_KEPT - 1);
    pthread_mutex_unlock(&lock);
}

mica_status text_regex_create(const char *pattern, size_t n, const text_regex **out_regex) {
    uint64_t hash = mica_hash_bytes(MICA_HASH_SEED, pattern, n);
    *out_regex = find_kept(pattern, n, hash);
    if (*out_regex) return NULL;
    text_regex *r = mica_calloc(1, sizeof *r + n);
    if (!r) return MICA_NO_MEMORY();
    mica_refcount_init(&r->refcount);
    r->hash = hash;
    r->n_pattern = n;
    memcpy(r->pattern, pattern, n);
    text_tree tree;
    mica_status status = text_regex_parse(pattern, n, &tree);
    if (!status) status = text_regex_compile(&tree, r);
    text_tree_deinit(&tree);
    if (status) {
        text_regex_release(r);
        return status;
    }
    keep(r);
    *out_regex = r;
    return NULL;
}
