#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "device/cpu/contract.h"

bool harness_quick, harness_soak;
static bool first_only;
static int64_t checks, failures;

void harness_count(void) {
    checks++;
}

void harness_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    failures++;
    printf("    ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    if (first_only) exit(1);
}

/* What the library says it cannot do, and why it stays so for now. An entry that no longer comes
 * true fails, so that none outlives its reason. */
typedef struct limit {
    const char *part, *what, *message, *reason;
    bool soak; /* only met there */
} limit;
static const limit limits[] = {
    {0}, /* none; the last entry does not count */
};
enum { N_LIMITS = sizeof limits / sizeof *limits - 1 };
static bool limit_met[N_LIMITS + 1];

static bool is_limit(mica_status status, const char *what) {
    for (int i = 0; i < N_LIMITS; i++) {
        if (strcmp(limits[i].what, what) != 0) continue;
        if (!strstr(mica_status_message(status), limits[i].message)) continue;
        limit_met[i] = true;
        return true;
    }
    return false;
}

static void check_limits(const char *part) {
    for (int i = 0; i < N_LIMITS; i++)
        if (!strcmp(limits[i].part, part) && !limit_met[i] && (harness_soak || !limits[i].soak))
            harness_fail("%s works now: strike it from the limits", limits[i].what);
}

bool harness_ok(mica_status status, const char *what) {
    if (!status) return true;
    if (is_limit(status, what)) {
        mica_status_release(status);
        return false;
    }
    harness_fail("%s: %s", what, mica_status_trace(status));
    mica_status_release(status);
    return false;
}

const char *case_title(const op_case *c) {
    static char title[100];
    snprintf(title, sizeof title, "%s%s%s", mica_op_name(c->op), c->name ? " " : "",
             c->name ? c->name : "");
    return title;
}

random_state case_random(const op_case *c, const char *part) {
    random_state r = {0};
    for (const char *at = case_title(c); *at; at++) r.state = r.state * 131 + (uint8_t)*at;
    for (const char *at = part; *at; at++) r.state = r.state * 131 + (uint8_t)*at;
    return r;
}

/* ---- the table of what devices can do ---------------------------------------------------------*/

typedef struct support {
    bool ran, refused;
    char reason[120];
} support;
static support notes[MOST_DEVICES][MICA_OP_COUNT][MICA_DTYPE_COUNT];

/* What a device may refuse, and why. A refusal that is not here fails, and so does an entry here
 * that was not refused. */
typedef struct refusal {
    const char *device;
    mica_op op;
    mica_dtype dtype;
    const char *reason;
} refusal;
static const refusal refusals[] = {
    {NULL, MICA_OP_COUNT, MICA_DTYPE_COUNT, NULL},
};

void harness_note(const char *device, mica_op op, mica_dtype dtype, bool supported,
                  const char *reason) {
    int number = 0;
    while (strcmp(device, harness_devices[number]) != 0) number++;
    support *note = &notes[number][op][dtype];
    if (supported)
        note->ran = true;
    else {
        note->refused = true;
        snprintf(note->reason, sizeof note->reason, "%s", reason);
    }
}

static bool is_expected_refusal(const char *device, mica_op op, mica_dtype dtype) {
    for (const refusal *r = refusals; r->device; r++)
        if (!strcmp(r->device, device) && r->op == op && r->dtype == dtype) return true;
    return false;
}

static void check_refusals(void) {
    for (int d = 0; d < harness_device_count; d++)
        for (int op = 0; op < MICA_OP_COUNT; op++)
            for (int t = 0; t < MICA_DTYPE_COUNT; t++) {
                const support *note = &notes[d][op][t];
                bool expected = is_expected_refusal(harness_devices[d], (mica_op)op, (mica_dtype)t);
                if (note->refused && !expected)
                    harness_fail("%s %s is not supported on %s: %s", mica_op_name((mica_op)op),
                                 mica_dtype_name((mica_dtype)t), harness_devices[d], note->reason);
                if (!note->refused && note->ran && expected)
                    harness_fail("%s %s is supported on %s: strike it from the refusals",
                                 mica_op_name((mica_op)op), mica_dtype_name((mica_dtype)t),
                                 harness_devices[d]);
            }
}

/* ---- the program ------------------------------------------------------------------------------*/

static const case_table *const tables[] = {&elementwise_cases, &array_cases,    &index_cases,
                                           &contraction_cases, &window_cases,   &order_cases,
                                           &linalg_cases,      &control_cases,  &collective_cases,
                                           &nested_cases,      &composite_cases};
enum { N_TABLES = sizeof tables / sizeof *tables };

static void check_every_row_has_a_case(void) {
    bool seen[MICA_OP_COUNT] = {false};
    for (int t = 0; t < N_TABLES; t++)
        for (int32_t i = 0; i < tables[t]->n; i++) seen[tables[t]->cases[i].op] = true;
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        harness_count();
        if (!seen[op])
            harness_fail("%s has no case: add one to tests/harness/cases_*.c",
                         mica_op_name((mica_op)op));
    }
}

typedef struct part {
    const char *name;
    void (*check)(const op_case *c);
} part;
static const part parts[] = {{"values", check_values}, {"derivatives", check_derivatives},
                             {"vmap", check_vmap},     {"threads", check_threads},
                             {"errors", check_errors}, {"failures", check_failures},
                             {"modes", check_modes}};
enum { N_PARTS = sizeof parts / sizeof *parts };

typedef struct tally {
    int64_t checks, failures;
} tally;
static tally tallies[MICA_OP_COUNT][N_PARTS];

static void run_case(const op_case *c, const bool *wanted) {
    mica_cpu_contract_share(c->flags & TIGHT ? 70000 : 0);
    mica_machine_stream_above(c->flags & STREAMED ? 128 : 0);
    for (int p = 0; p < N_PARTS; p++) {
        tally before = {checks, failures};
        if (!wanted[p]) continue;
        parts[p].check(c);
        tallies[c->op][p].checks += checks - before.checks;
        tallies[c->op][p].failures += failures - before.failures;
        if (failures > before.failures) printf("FAILED %s: %s\n", case_title(c), parts[p].name);
    }
}

/* One line per op: how much was checked in each part, and what each device ran. */
static void print_table(void) {
    printf("%-21s", "op");
    for (int p = 0; p < N_PARTS; p++) printf(" %11s", parts[p].name);
    printf("  dtypes, - before one that is refused\n");
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        printf("%-21s", mica_op_name((mica_op)op));
        for (int p = 0; p < N_PARTS; p++) {
            const tally *t = &tallies[op][p];
            char text[40];
            snprintf(text, sizeof text, t->failures ? "%lld failed" : "%lld",
                     (long long)(t->failures ? t->failures : t->checks));
            printf(" %11s", t->checks || t->failures ? text : "-");
        }
        for (int d = 0; d < harness_device_count; d++) {
            printf("  %s:", harness_devices[d]);
            for (int t = 0; t < MICA_DTYPE_COUNT; t++) {
                const support *note = &notes[d][op][t];
                if (note->ran || note->refused)
                    printf(" %s%s", note->refused ? "-" : "", mica_dtype_name((mica_dtype)t));
            }
        }
        printf("\n");
    }
}

static int usage(void) {
    printf("usage: harness --page, or [--table] [--first] [--ops=add,sub] "
           "[--devices=cpu,fake] [--dtypes=f32,i32] "
           "[values|derivatives|vmap|threads|errors|failures|modes]... [part of a case's name]\n"
           "--first stops at the first failure\n");
    return 2;
}

/* One row after the other as JSON, for scripts/ops_page.py. */
static int show_page(void) {
    print_page(tables, N_TABLES);
    harness_close();
    mica_shutdown();
    return failures != 0;
}

/* A list of whole names, with commas between. */
static bool is_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length])) return true;
    }
    return false;
}

static const char *dtypes_asked_for; /* NULL: all */
bool harness_takes_dtype(mica_dtype dtype) {
    return !dtypes_asked_for || is_listed(dtypes_asked_for, mica_dtype_name(dtype));
}

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value == '1';
}

int main(int argc, char **argv) {
    bool wanted[N_PARTS] = {false}, any = false, table = false;
    const char *filter = NULL, *ops = NULL;
    setenv("MICA_TIER", "built-in", 0); /* allocations are counted: no thread in the background */
    harness_quick = is_set("MICA_TEST_QUICK");
    harness_soak = is_set("MICA_TEST_SOAK");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && !strcmp(argv[1], "--page")) return show_page();
    for (int i = 1; i < argc; i++) {
        int p = 0;
        while (p < N_PARTS && strcmp(argv[i], parts[p].name) != 0) p++;
        if (p < N_PARTS)
            wanted[p] = any = true;
        else if (!strcmp(argv[i], "--table"))
            table = true;
        else if (!strcmp(argv[i], "--first"))
            first_only = true;
        else if (!strncmp(argv[i], "--ops=", 6))
            ops = argv[i] + 6;
        else if (!strncmp(argv[i], "--dtypes=", 9))
            dtypes_asked_for = argv[i] + 9;
        else if (!strncmp(argv[i], "--devices=", 10) && harness_set_devices(argv[i] + 10))
            continue;
        else if (argv[i][0] == '-' || filter)
            return usage();
        else
            filter = argv[i];
    }
    for (int p = 0; p < N_PARTS && !any; p++) wanted[p] = true;
    check_every_row_has_a_case();
    int64_t cases = 0;
    for (int t = 0; t < N_TABLES; t++)
        for (int32_t i = 0; i < tables[t]->n; i++) {
            const op_case *c = &tables[t]->cases[i];
            if (filter && !strstr(case_title(c), filter)) continue;
            if (ops && !is_listed(ops, mica_op_name(c->op))) continue;
            run_case(c, wanted);
            cases++;
        }
    finish_modes(!filter && !ops);
    if (filter && !cases) harness_fail("no case is called '%s'", filter);
    if (ops && !cases) harness_fail("no case has an op of '%s'", ops);
    check_refusals();
    for (int p = 0; p < N_PARTS; p++)
        if (wanted[p] && !filter && !ops) check_limits(parts[p].name);
    if (table) print_table();
    harness_close();
    mica_shutdown();
    if (mica_memory_live_blocks() != 0)
        harness_fail("%lld blocks of memory were not freed", (long long)mica_memory_live_blocks());
    printf("%lld cases, %lld checks, %lld failures\n", (long long)cases, (long long)checks,
           (long long)failures);
    return failures != 0;
}
