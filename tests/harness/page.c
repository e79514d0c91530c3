/* What docs/ops.md says about each row beyond the table itself: the dtypes it takes, those that
 * each device has a kernel for, and examples as printed graphs. Nothing is run. */
#include <stdio.h>
#include <string.h>

#include "device/cuda/cuda.h"
#include "harness.h"

enum { PAGE_CPU, PAGE_FAKE, PAGE_REF, PAGE_CUDA, N_PAGE_DEVICES };
static const char *const page_devices[N_PAGE_DEVICES] = {"cpu", "fake", "ref", "cuda"};
static bool supported[N_PAGE_DEVICES][MICA_OP_COUNT][MICA_DTYPE_COUNT];
enum { MOST_EXAMPLES = 2 };
static char *examples[MICA_OP_COUNT][MOST_EXAMPLES];

static bool compiles(const char *name, const mica_graph *g) {
    mica_device *device = NULL;
    mica_executable *executable = NULL;
    mica_status status = mica_device_open(name, &device);
    if (!status) status = mica_executable_create(device, g, NULL, &executable);
    bool done = !status;
    mica_status_release(status);
    mica_executable_release(executable);
    mica_device_release(device);
    return done;
}

/* The cuda device need not be there. */
static bool cuda_has(mica_op op, const mica_graph *g) {
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == op && mica_cuda_has_kernel(g->nodes[i])) return true;
    return false;
}

static void keep_example(const op_case *c, const mica_graph *g) {
    bool is_map = mica_op_class_of(c->op) == MICA_CLASS_MAP;
    int most = is_map ? 1 : MOST_EXAMPLES;
    if (c->build || (c->flags & (LARGE | NAMED_AXIS | SPRINKLED))) return;
    for (int i = 0; i < most; i++) {
        if (examples[c->op][i]) continue;
        harness_ok(mica_graph_print(g, &examples[c->op][i]), "printing an example");
        return;
    }
}

static void find_supported(const op_case *c) {
    for (int t = 0; t < MICA_DTYPE_COUNT; t++) {
        mica_type types[MOST_OPERANDS];
        mica_dtype dtype = (mica_dtype)t;
        if (!case_takes(c, dtype)) continue;
        case_types(c, dtype, types);
        mica_graph *g = case_graph(c, dtype, types);
        for (int d = 0; d <= PAGE_REF; d++)
            if (!supported[d][c->op][t]) supported[d][c->op][t] = compiles(page_devices[d], g);
        if (!supported[PAGE_CUDA][c->op][t]) supported[PAGE_CUDA][c->op][t] = cuda_has(c->op, g);
        if (dtype == first_dtype(c)) keep_example(c, g);
        mica_graph_release(g);
    }
}

static void print_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_dtypes(const char *name, const bool *set) {
    const char *separator = "";
    printf(", \"%s\": [", name);
    for (int t = 0; t < MICA_DTYPE_COUNT; t++) {
        if (!set[t]) continue;
        printf("%s\"%s\"", separator, mica_dtype_name((mica_dtype)t));
        separator = ", ";
    }
    putchar(']');
}

static void print_row(mica_op op) {
    bool takes[MICA_DTYPE_COUNT];
    for (int t = 0; t < MICA_DTYPE_COUNT; t++)
        takes[t] = mica_dtype_in_set((mica_dtype)t, mica_op_dtype_set(op));
    printf("{\"name\": \"%s\"", mica_op_name(op));
    print_dtypes("takes", takes);
    for (int d = 0; d < N_PAGE_DEVICES; d++) print_dtypes(page_devices[d], supported[d][op]);
    fputs(", \"examples\": [", stdout);
    for (int i = 0; i < MOST_EXAMPLES && examples[op][i]; i++) {
        if (i) fputs(", ", stdout);
        print_string(examples[op][i]);
        mica_string_free(examples[op][i]);
        examples[op][i] = NULL;
    }
    fputs("]}", stdout);
}

void print_page(const case_table *const *tables, int32_t n_tables) {
    for (int32_t t = 0; t < n_tables; t++)
        for (int32_t i = 0; i < tables[t]->n; i++) find_supported(&tables[t]->cases[i]);
    fputs("[\n", stdout);
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        print_row((mica_op)op);
        fputs(op + 1 < MICA_OP_COUNT ? ",\n" : "\n]\n", stdout);
    }
}
