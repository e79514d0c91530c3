/* Generated kernels: fused calls as C, compiled by the machine's compiler for the instruction set
 * in force. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/platform.h"
#include "base/strings.h"
#include "codegen/toolchain.h"
#include "codegen/write.h"
#include "device/cpu/generated.h"
#include "device/cpu/kernel.h"
#include "report/report.h"

typedef void (*generated_function)(const void *const *x, void *const *y, void *scratch,
                                   int64_t begin, int64_t end);

/* Where the code of a fused call is: function k<number> of a library. Equal calls share one. */
typedef struct placed_kernel {
    mica_kernel_shape shape;
    int32_t library, number;
} placed_kernel;

struct mica_unit {
    mica_library **libraries;
    int32_t n_libraries, n;
    placed_kernel kernels[];
};

typedef struct generated_kernel {
    cpu_kernel base;
    mica_kernel_shape shape;
    generated_function body, finish;
} generated_kernel;

typedef struct generated_run {
    generated_function function;
    const void *const *x;
    void *const *y;
    void *scratch;
} generated_run;

static void run_piece(void *context, int64_t begin, int64_t end) {
    const generated_run *run = context;
    run->function(run->x, run->y, run->scratch, begin, end);
}

static void run_generated(const cpu_kernel *kernel, const void *const *operands,
                          void *const *results, void *scratch) {
    const generated_kernel *k = (const generated_kernel *)kernel;
    generated_run run = {k->body, operands, results, scratch};
    mica_parallel_walk(k->shape.units, k->shape.grain, run_piece, &run);
    if (!k->finish) return;
    run.function = k->finish;
    mica_parallel_for(k->shape.finish_units, 1, run_piece, &run);
}

/* ---- units ------------------------------------------------------------------------------------*/

/* The flags that the built-in kernels of the same name are built with. */
static const char *const *isa_flags(void) {
    static const char *const none[] = {NULL};
    static const char *const avx2[] = {"-mavx2", "-mfma", NULL};
    static const char *const avx512[] = {"-mavx2",
                                         "-mfma",
                                         "-mavx512f",
                                         "-mavx512dq",
                                         "-mavx512bw",
                                         "-mavx512vl",
                                         "-mprefer-vector-width=512",
                                         NULL};
    const char *name = mica_cpu_isa_name();
    return !strcmp(name, "avx512") ? avx512 : !strcmp(name, "avx2") ? avx2 : none;
}

/* ---- texts ------------------------------------------------------------------------------------*/

#define KERNELS_OF_A_FILE 20

/* The different texts of a unit's kernels, and the files they become. */
typedef struct unit_text {
    char **kernels, **files;
    uint64_t *hashes;
    int32_t n_kernels, n_files;
} unit_text;

static void free_text(unit_text *t) {
    for (int32_t i = 0; i < t->n_kernels; i++) mica_free(t->kernels[i]);
    for (int32_t i = 0; i < t->n_files; i++) mica_free(t->files[i]);
    mica_free(t->kernels);
    mica_free(t->files);
    mica_free(t->hashes);
}

static mica_status write_kernel(const mica_node *fused, mica_kernel_shape *out_shape,
                                char **out_text) {
    mica_text text;
    mica_nest *nest = NULL;
    MICA_TRY(mica_nest_create(fused->regions[0], &nest));
    mica_kernel_shape_find(nest, out_shape);
    mica_text_init(&text);
    mica_write_kernel(&text, nest);
    mica_nest_destroy(nest);
    return mica_text_finish(&text, out_text);
}

/* Takes the text over; answers its number. */
static int32_t add_kernel(unit_text *t, char *kernel) {
    uint64_t hash = mica_hash_string(MICA_HASH_SEED, kernel);
    for (int32_t i = 0; i < t->n_kernels; i++)
        if (t->hashes[i] == hash && !strcmp(t->kernels[i], kernel)) {
            mica_free(kernel);
            return i;
        }
    t->hashes[t->n_kernels] = hash;
    t->kernels[t->n_kernels] = kernel;
    return t->n_kernels++;
}

static mica_status write_file(unit_text *t, int32_t file) {
    mica_text text;
    mica_text_init(&text);
    mica_write_prelude(&text, MICA_DIALECT_C);
    for (int32_t i = 0; i < KERNELS_OF_A_FILE; i++) {
        int32_t kernel = file * KERNELS_OF_A_FILE + i;
        if (kernel >= t->n_kernels) break;
        mica_text_printf(&text, "#define KERNEL k%d\n#define FINISH k%d_finish\n", i, i);
        mica_text_append(&text, t->kernels[kernel]);
        mica_text_append(&text, "#undef KERNEL\n#undef FINISH\n");
    }
    return mica_text_finish(&text, &t->files[file]);
}

static mica_status write_unit(mica_node *const *fused, mica_unit *unit, unit_text *t) {
    size_t n = (size_t)unit->n;
    t->kernels = mica_calloc(n, sizeof *t->kernels);
    t->hashes = mica_calloc(n, sizeof *t->hashes);
    if (!t->kernels || !t->hashes) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < unit->n; i++) {
        char *kernel = NULL;
        MICA_TRY(write_kernel(fused[i], &unit->kernels[i].shape, &kernel));
        if (mica_report_is_on()) mica_report_source(i, kernel);
        int32_t number = add_kernel(t, kernel);
        unit->kernels[i].library = number / KERNELS_OF_A_FILE;
        unit->kernels[i].number = number % KERNELS_OF_A_FILE;
    }
    int32_t n_files = (t->n_kernels + KERNELS_OF_A_FILE - 1) / KERNELS_OF_A_FILE;
    t->files = mica_calloc((size_t)n_files, sizeof *t->files);
    if (!t->files) return MICA_NO_MEMORY();
    t->n_files = n_files;
    for (int32_t i = 0; i < n_files; i++) MICA_TRY(write_file(t, i));
    return NULL;
}

/* ---- units ------------------------------------------------------------------------------------*/

#define MOST_COMPILERS 4 /* at once, where somebody waits for them */

typedef struct loading {
    mica_unit *unit;
    const unit_text *text;
    bool in_background;
    int32_t next;       /* atomic: the next file */
    mica_mutex lock;    /* of status */
    mica_status status; /* the first failure */
} loading;

static void load_files(void *context) {
    loading *l = context;
    for (int32_t i; (i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED)) < l->text->n_files;) {
        mica_source source = {l->text->files[i], isa_flags(), l->in_background};
        mica_status status = mica_toolchain_load(&source, &l->unit->libraries[i]);
        if (!status) continue;
        __atomic_store_n(&l->next, l->text->n_files, __ATOMIC_RELAXED);
        mica_mutex_lock(&l->lock);
        if (l->status)
            mica_status_release(status);
        else
            l->status = status;
        mica_mutex_unlock(&l->lock);
    }
}

/* A thread that does not start leaves its share to the others. */
static mica_status load_unit(mica_unit *unit, const unit_text *text, bool in_background) {
    loading l = {.unit = unit, .text = text, .in_background = in_background};
    mica_thread *threads[MOST_COMPILERS] = {NULL};
    unit->libraries = mica_calloc((size_t)text->n_files, sizeof *unit->libraries);
    if (!unit->libraries) return MICA_NO_MEMORY();
    unit->n_libraries = text->n_files;
    int32_t most = in_background ? 1 : mica_pool_threads();
    if (most > text->n_files) most = text->n_files;
    for (int32_t i = 1; i < most && i < MOST_COMPILERS; i++)
        mica_status_release(mica_thread_start(load_files, &l, "mica-compile", &threads[i]));
    load_files(&l);
    for (int32_t i = 1; i < MOST_COMPILERS; i++) mica_thread_join(threads[i]);
    return l.status;
}

mica_status mica_cpu_unit_create(mica_device *device, mica_node *const *fused, int32_t n,
                                 bool in_background, mica_unit **out_unit) {
    *out_unit = NULL;
    mica_unit *unit = mica_calloc(1, sizeof *unit + sizeof *unit->kernels * (size_t)n);
    if (!unit) return MICA_NO_MEMORY();
    unit->n = n;
    unit_text text = {0};
    mica_status status = write_unit(fused, unit, &text);
    if (!status) status = load_unit(unit, &text, in_background);
    free_text(&text);
    if (status)
        mica_cpu_unit_destroy(device, unit);
    else
        *out_unit = unit;
    return status;
}

void mica_cpu_unit_destroy(mica_device *device, mica_unit *unit) {
    (void)device;
    for (int32_t i = 0; i < unit->n_libraries; i++)
        if (unit->libraries[i]) mica_library_close(unit->libraries[i]);
    mica_free(unit->libraries);
    mica_free(unit);
}

static generated_function find_function(const mica_unit *unit, int32_t i, const char *suffix) {
    char name[32];
    const placed_kernel *placed = &unit->kernels[i];
    snprintf(name, sizeof name, "k%d%s", placed->number, suffix);
    void *symbol = mica_library_symbol(unit->libraries[placed->library], name);
    generated_function function = NULL;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

mica_status mica_cpu_unit_kernel(mica_device *device, mica_unit *unit, int32_t i,
                                 mica_kernel **out_kernel) {
    (void)device;
    *out_kernel = NULL;
    generated_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_generated, &k));
    k->base.may_be_left = true;
    k->shape = unit->kernels[i].shape;
    k->body = find_function(unit, i, "");
    k->finish = k->shape.finish_units ? find_function(unit, i, "_finish") : NULL;
    if (!k->body || (k->shape.finish_units && !k->finish)) {
        mica_free(k);
        return MICA_ERROR(MICA_INTERNAL, "[generated] the compiled unit has no kernel %d", i);
    }
    k->base.head.scratch_bytes = k->shape.scratch_bytes;
    k->base.head.in_place_operands = k->shape.in_place[0];
    memcpy(k->base.head.in_place_more, k->shape.in_place + 1, sizeof k->base.head.in_place_more);
    *out_kernel = &k->base.head;
    return NULL;
}
