/* Functions of the host language, counted: numbers, and who holds them.
 *
 * Each PyFunc operation of a function's number holds it, and its creator does. Numbers are never
 * given twice, so a stale graph cannot call somebody else's function. The list is sorted by number:
 * new ones come to its end. */
#include "tf/tf.h"

#include <string.h>

typedef struct host_function {
    int64_t number, holders, closed; /* closed: operations that only closed graphs hold */
    bool is_created;                 /* its creator holds it */
    void (*destroy)(void *context);
    void *context;
} host_function;

static mica_mutex lock;
static host_function *functions;
static int32_t n_functions, capacity;
static int64_t last_number;

/* With the lock held. */
static host_function *find(int64_t number) {
    int32_t low = 0, high = n_functions;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (functions[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n_functions && functions[low].number == number ? &functions[low] : NULL;
}

mica_status mica_tf_host_function_create(void (*destroy)(void *context), void *context,
                                         int64_t *out_number) {
    MICA_GIVEN(destroy, out_number);
    *out_number = 0;
    mica_mutex_lock(&lock);
    if (n_functions == capacity) {
        int32_t larger = capacity ? 2 * capacity : 16;
        host_function *block = mica_realloc(functions, (size_t)larger * sizeof *block);
        if (block) functions = block, capacity = larger;
    }
    bool fits = n_functions < capacity;
    if (fits) {
        functions[n_functions++] = (host_function){.number = ++last_number,
                                                   .holders = 1,
                                                   .is_created = true,
                                                   .destroy = destroy,
                                                   .context = context};
        *out_number = last_number;
    }
    mica_mutex_unlock(&lock);
    return fits ? NULL : MICA_NO_MEMORY();
}

void mica_tf_host_function_hold(int64_t number) {
    mica_mutex_lock(&lock);
    host_function *f = find(number);
    if (f) f->holders++;
    mica_mutex_unlock(&lock);
}

static void let_go(int64_t number, bool by_creator) {
    void (*destroy)(void *context) = NULL;
    void *context = NULL;
    mica_mutex_lock(&lock);
    host_function *f = find(number);
    if (f && by_creator && !f->is_created) f = NULL;
    if (f && by_creator) f->is_created = false;
    if (f && --f->holders == 0) {
        destroy = f->destroy;
        context = f->context;
        n_functions--;
        memmove(f, f + 1, (size_t)(functions + n_functions - f) * sizeof *f);
        if (!n_functions) {
            mica_free(functions);
            functions = NULL;
            capacity = 0;
        }
    }
    mica_mutex_unlock(&lock);
    if (destroy) destroy(context);
}

void mica_tf_host_function_drop(int64_t number) {
    let_go(number, false);
}

void mica_tf_host_function_release(int64_t number) {
    let_go(number, true);
}

void *mica_tf_host_function_context(int64_t number) {
    mica_mutex_lock(&lock);
    host_function *f = find(number);
    void *context = f ? f->context : NULL;
    mica_mutex_unlock(&lock);
    return context;
}

int32_t mica_tf_host_function_count(void) {
    mica_mutex_lock(&lock);
    int32_t n = n_functions;
    mica_mutex_unlock(&lock);
    return n;
}

/* ---- which functions given graphs alone hold ---------------------------------------------------
 *
 * The references that graphs and operations hold on each other are counted from the given graphs
 * on. One that has more references than were found is held by something else: it is open, and so is
 * all that it reaches. Only graphs with functions of the host are looked at. Marks stand in the
 * graphs and operations, under one lock. */

static mica_mutex walk_lock;
static int64_t walks;

typedef struct walk {
    int64_t number;
    mica_tf_graph *graphs; /* those found, by their next_found */
    mica_tf_operation *operations;
    void (*found)(void *context, int64_t function);
    void *context;
} walk;

static void visit_graph(walk *w, mica_tf_graph *g);

static void visit_operation(walk *w, mica_tf_operation *o) {
    if (o->mark.walk == w->number) {
        o->mark.references++;
        return;
    }
    o->mark = (mica_tf_mark){.walk = w->number, .references = 1};
    o->next_found = w->operations;
    w->operations = o;
    if (o->op == MICA_TF_PyFunc && w->found) w->found(w->context, mica_tf_host_function_of(o));
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        const mica_tf_attr *a = &o->attrs[i];
        mica_tf_attr_kind kind = o->info->attrs[i].kind;
        if (kind == MICA_TF_OPERATION && a->as.operation) visit_operation(w, a->as.operation);
        if (kind == MICA_TF_FUNCTION && a->as.function) visit_graph(w, a->as.function);
        for (int32_t k = 0; kind == MICA_TF_FUNCTIONS && k < a->n; k++)
            visit_graph(w, a->as.functions[k]);
    }
    mica_tf_graph *apart = __atomic_load_n(&o->apart, __ATOMIC_ACQUIRE);
    if (apart) visit_graph(w, apart);
}

static void visit_graph(walk *w, mica_tf_graph *g) {
    if (!g->has_host_functions) return;
    if (g->mark.walk == w->number) {
        g->mark.references++;
        return;
    }
    g->mark = (mica_tf_mark){.walk = w->number, .references = 1};
    g->next_found = w->graphs;
    w->graphs = g;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].operation) visit_operation(w, g->nodes[i].operation);
}

void mica_tf_graph_host_functions(mica_tf_graph *g, void (*found)(void *context, int64_t function),
                                  void *context) {
    if (!g || !found || !g->has_host_functions) return;
    mica_mutex_lock(&walk_lock);
    walk w = {.number = ++walks, .found = found, .context = context};
    visit_graph(&w, g);
    mica_mutex_unlock(&walk_lock);
}

static void open_graph(mica_tf_graph *g, int64_t number);

static void open_operation(mica_tf_operation *o, int64_t number) {
    if (o->mark.walk != number || o->mark.is_open) return;
    o->mark.is_open = true;
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        const mica_tf_attr *a = &o->attrs[i];
        mica_tf_attr_kind kind = o->info->attrs[i].kind;
        if (kind == MICA_TF_OPERATION && a->as.operation) open_operation(a->as.operation, number);
        if (kind == MICA_TF_FUNCTION && a->as.function) open_graph(a->as.function, number);
        for (int32_t k = 0; kind == MICA_TF_FUNCTIONS && k < a->n; k++)
            open_graph(a->as.functions[k], number);
    }
    mica_tf_graph *apart = __atomic_load_n(&o->apart, __ATOMIC_ACQUIRE);
    if (apart) open_graph(apart, number);
}

static void open_graph(mica_tf_graph *g, int64_t number) {
    if (g->mark.walk != number || g->mark.is_open) return;
    g->mark.is_open = true;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].operation) open_operation(g->nodes[i].operation, number);
}

static void close_function(int64_t number) {
    mica_mutex_lock(&lock);
    host_function *f = find(number);
    if (f) f->closed++;
    mica_mutex_unlock(&lock);
}

bool mica_tf_host_function_is_closed(int64_t number) {
    mica_mutex_lock(&lock);
    host_function *f = find(number);
    bool is_closed = f && f->closed == f->holders - f->is_created;
    mica_mutex_unlock(&lock);
    return is_closed;
}

void mica_tf_graphs_close(mica_tf_graph *const *graphs, int32_t n) {
    mica_mutex_lock(&lock);
    for (int32_t i = 0; i < n_functions; i++) functions[i].closed = 0;
    mica_mutex_unlock(&lock);
    mica_mutex_lock(&walk_lock);
    walk w = {.number = ++walks};
    for (int32_t i = 0; graphs && i < n; i++)
        if (graphs[i]) visit_graph(&w, graphs[i]);
    for (mica_tf_graph *g = w.graphs; g; g = g->next_found)
        if (mica_refcount_load(&g->references) > g->mark.references) open_graph(g, w.number);
    for (mica_tf_operation *o = w.operations; o; o = o->next_found)
        if (mica_refcount_load(&o->references) > o->mark.references) open_operation(o, w.number);
    for (mica_tf_operation *o = w.operations; o; o = o->next_found)
        if (o->op == MICA_TF_PyFunc && !o->mark.is_open)
            close_function(mica_tf_host_function_of(o));
    mica_mutex_unlock(&walk_lock);
}
