/* Finding a LAPACK. */
#include "device/cpu/lapack.h"

#include <stdio.h>
#include <string.h>

#include "base/packages.h"
#include "base/platform.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "narrow integers are read in place");

/* How libraries spell LAPACK's names: OpenBLAS in numpy's and scipy's wheels, with wide integers or
 * not, then the usual ones, then Apple's. */
typedef struct spelling {
    const char *prefix, *suffix, *threads_suffix;
    bool wide;
} spelling;
static const spelling spellings[] = {
    {"scipy_", "_64_", "64_", true},    {"scipy_", "_", "", false},    {"", "_64_", "64_", true},
    {"", "$NEWLAPACK$ILP64", "", true}, {"", "$NEWLAPACK", "", false}, {"", "_", "", false},
};
enum { SPELLINGS = sizeof spellings / sizeof *spellings };

/* How a library is kept to one thread. */
typedef struct one_thread {
    int (*count)(void); /* OpenBLAS: of the whole process */
    void (*set_count)(int);
    int (*set_local)(int); /* MKL: of the calling thread; answers what it was */
    int (*set_accelerate)(unsigned);
} one_thread;

static struct {
    mica_mutex mutex;
    bool tried, found;
    cpu_lapack table;
    one_thread threads;
    int users, kept; /* calls inside the library, and its threads before the first of them */
    char text[1024]; /* the path, or why there is none */
} state;

/* ---- one library ------------------------------------------------------------------------------*/

#define X(name, parameters) #name,
static const char *const real_names[] = {MICA_LAPACK_API(X)};
static const char *const complex_names[] = {MICA_LAPACK_COMPLEX_API(X)};
#undef X
enum {
    REAL_ROUTINES = sizeof real_names / sizeof *real_names,
    COMPLEX_ROUTINES = sizeof complex_names / sizeof *complex_names
};
_Static_assert(sizeof(cpu_lapack_routines) == REAL_ROUTINES * sizeof(void *), "a pointer each");
_Static_assert(sizeof(cpu_lapack_complex) == COMPLEX_ROUTINES * sizeof(void *), "a pointer each");

static bool fill(mica_library *library, const spelling *s, char letter, const char *const *names,
                 int n, void *out) {
    char name[64];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%c%s%s", s->prefix, letter, names[i], s->suffix);
        void *function = mica_library_symbol(library, name);
        if (!function) return false;
        memcpy((char *)out + (size_t)i * sizeof function, &function, sizeof function);
    }
    return true;
}

static bool fill_all(mica_library *library, const spelling *s) {
    return fill(library, s, 's', real_names, REAL_ROUTINES, &state.table.f32) &&
           fill(library, s, 'd', real_names, REAL_ROUTINES, &state.table.f64) &&
           fill(library, s, 'c', complex_names, COMPLEX_ROUTINES, &state.table.c64) &&
           fill(library, s, 'z', complex_names, COMPLEX_ROUTINES, &state.table.c128);
}

static void *thread_symbol(mica_library *library, const spelling *s, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "%sopenblas_%s_num_threads%s", s->prefix, what, s->threads_suffix);
    void *symbol = mica_library_symbol(library, name);
    if (symbol) return symbol;
    snprintf(name, sizeof name, "openblas_%s_num_threads", what);
    return mica_library_symbol(library, name);
}

static void fill_threads(mica_library *library, const spelling *s) {
    void *const symbols[] = {thread_symbol(library, s, "get"), thread_symbol(library, s, "set"),
                             mica_library_symbol(library, "MKL_Set_Num_Threads_Local"),
                             mica_library_symbol(library, "BLASSetThreading")};
    _Static_assert(sizeof symbols == sizeof state.threads, "one pointer per name");
    memcpy(&state.threads, symbols, sizeof symbols);
    if (!state.threads.count) state.threads.set_count = NULL;
    state.table.tuned = state.threads.set_count || symbols[2] || symbols[3];
}

/* Takes a library when it has every function. Apple's runs on one thread only when it can be told.
 */
static bool take(mica_library *library, const char *path) {
    for (int i = 0; i < SPELLINGS; i++) {
        const spelling *s = &spellings[i];
        if (!fill_all(library, s)) continue;
        state.table.wide = s->wide;
        fill_threads(library, s);
        if (strstr(path, "Accelerate") && !state.threads.set_accelerate) return false;
        void *function;
        memcpy(&function, &state.table.f64.potrf, sizeof function);
        if (!mica_library_of(function, state.text, sizeof state.text))
            snprintf(state.text, sizeof state.text, "%s", path);
        return true;
    }
    return false;
}

/* ---- the search -------------------------------------------------------------------------------*/

/* A search is over when a library was taken or memory ran out. */
typedef struct search {
    bool found, over;
} search;

static void try_library(search *s, const char *path) {
    mica_library *library = NULL;
    if (s->over) return;
    mica_status status = mica_library_open(path, &library);
    if (status) {
        s->over = mica_status_code(status) == MICA_OUT_OF_MEMORY;
        mica_status_release(status);
        return;
    }
    s->found = s->over = take(library, path);
    if (s->found)
        mica_library_keep(library);
    else
        mica_library_close(library);
}

/* Wheels give their libraries names that end in a hash. */
static void try_packages(search *s, const char *site) {
    static const char *const places[][2] = {
        {"numpy.libs", "libscipy_openblas"},           {"numpy.libs", "libopenblas"},
        {"scipy_openblas64/lib", "libscipy_openblas"}, {"scipy.libs", "libscipy_openblas"},
        {"numpy/.dylibs", "libscipy_openblas"},        {"numpy/.dylibs", "libopenblas"}};
    char folder[1100], name[256], path[1400];
    for (size_t i = 0; i < sizeof places / sizeof *places && !s->over; i++) {
        snprintf(folder, sizeof folder, "%s/%s", site, places[i][0]);
        if (!mica_folder_find(folder, places[i][1], name, sizeof name)) continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        try_library(s, path);
    }
}

/* false for want of memory */
static bool look(void) {
    static const char *const system[] = {
        "libopenblas.so.0", "libopenblas.so", "liblapack.so.3",
        "/System/Library/Frameworks/Accelerate.framework/Accelerate"};
    search s = {false, false};
    char site[1024];
    const char *named = mica_environment("MICA_LAPACK");
    if (named && !strcmp(named, "off")) {
        snprintf(state.text, sizeof state.text, "switched off by MICA_LAPACK");
        return true;
    }
    if (named && *named) {
        try_library(&s, named);
        if (!s.found)
            snprintf(state.text, sizeof state.text,
                     "MICA_LAPACK is '%.900s', which does not load or is no LAPACK", named);
        state.found = s.found;
        return s.found || !s.over;
    }
    for (int i = 0; mica_packages_folder(i, site, sizeof site); i++) try_packages(&s, site);
    for (size_t i = 0; i < sizeof system / sizeof *system; i++) try_library(&s, system[i]);
    if (!s.found)
        snprintf(state.text, sizeof state.text,
                 "no numpy beside this library, no libopenblas.so.0, no liblapack.so.3");
    state.found = s.found;
    return s.found || !s.over;
}

mica_status mica_cpu_lapack(const cpu_lapack **out) {
    mica_mutex_lock(&state.mutex);
    if (!state.tried) state.tried = look();
    bool tried = state.tried;
    *out = state.found ? &state.table : NULL;
    mica_mutex_unlock(&state.mutex);
    return tried ? NULL : MICA_NO_MEMORY();
}

bool mica_lapack_describe(char *text, size_t capacity) {
    if (!text) return false;
    const cpu_lapack *lapack;
    mica_status status = mica_cpu_lapack(&lapack);
    if (capacity > 0)
        snprintf(text, capacity, "%s", status ? mica_status_message(status) : state.text);
    mica_status_release(status);
    return lapack != NULL;
}

void mica_cpu_lapack_forget(void) {
    mica_mutex_lock(&state.mutex);
    state.tried = state.found = false;
    mica_mutex_unlock(&state.mutex);
}

/* ---- threads ----------------------------------------------------------------------------------*/

enum { ACCELERATE_MANY = 0, ACCELERATE_ONE = 1 };

/* MKL's own count of a thread is 0 when the process's holds. No other choice is kept there:
 * the threads are our pool's. */
void mica_cpu_lapack_enter(void) {
    if (state.threads.set_local) (void)state.threads.set_local(1);
    if (state.threads.set_accelerate) (void)state.threads.set_accelerate(ACCELERATE_ONE);
    if (!state.threads.set_count) return;
    mica_mutex_lock(&state.mutex);
    if (state.users++ == 0) {
        state.kept = state.threads.count();
        if (state.kept != 1) state.threads.set_count(1);
    }
    mica_mutex_unlock(&state.mutex);
}

void mica_cpu_lapack_leave(void) {
    if (state.threads.set_local) (void)state.threads.set_local(0);
    if (state.threads.set_accelerate) (void)state.threads.set_accelerate(ACCELERATE_MANY);
    if (!state.threads.set_count) return;
    mica_mutex_lock(&state.mutex);
    if (--state.users == 0 && state.kept != 1) state.threads.set_count(state.kept);
    mica_mutex_unlock(&state.mutex);
}
