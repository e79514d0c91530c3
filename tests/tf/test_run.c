/* Runs of graphs by several threads: programs are bounded, nobody waits for a compiler who did not
 * ask for it, variables stay free meanwhile. The compiler of these tests does not end before it is
 * told to, so that a call that waited for it would never return. */
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/platform.h"
#include "mica/runtime.h"
#include "test.h"
#include "tf/tf.h"

/* WARM_CALLS: until then threads take what they keep. */
enum { THREADS = 8, FUNCTIONS = 100, MOST = 64, MOST_OF_SEGMENT = 4, WARM_CALLS = 400000 };

static mica_device *device;

static mica_tf_value vector(int64_t n, float element) {
    float data[64];
    for (int64_t i = 0; i < n; i++) data[i] = element;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return mica_tf_value_of(tensor);
}

static float first_of(mica_tf_value value) {
    float data[64] = {0};
    CHECK_OK(
        mica_tensor_to_host(value.object, data, mica_type_bytes(mica_tensor_type(value.object))));
    return data[0];
}

static mica_tf_value variable_of(int64_t size, mica_tf_value start) {
    mica_tf_shape shape = {.rank = 1, .dims = {size}};
    mica_tf_value variable;
    CHECK_OK(mica_tf_variable_create("v", MICA_TF_float32, &shape, &variable));
    CHECK_OK(mica_tf_variable_assign(variable, start));
    return variable;
}

static mica_tf_ref binary(mica_tf_graph *g, mica_tf_op op, mica_tf_ref a, mica_tf_ref b) {
    mica_tf_ref both[2] = {a, b}, result = {-1, 0};
    CHECK_OK(mica_tf_graph_add(g, op, NULL, both, 2, NULL, &result));
    return result;
}

/* f(x) = (x + x) + ... + x, `n` times, for vectors of any length; with a variable: v += x - x + v
 * / v before that. */
static mica_tf_graph *make_function(int n, bool with_variable) {
    mica_tf_graph *g = NULL;
    mica_tf_shape any = {.rank = 1, .dims = {-1}}, scalar = {.rank = 0};
    mica_tf_ref x, v, unused;
    CHECK_OK(mica_tf_graph_create("sum", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &any, "x", &x));
    if (with_variable) {
        mica_tf_attr attrs[2] = {{.as.integer = MICA_TF_float32}, {0}};
        CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_resource, &scalar, "v", &v));
        mica_tf_ref value;
        CHECK_OK(mica_tf_graph_add(g, MICA_TF_ReadVariableOp, attrs, &v, 1, NULL, &value));
        mica_tf_ref one = binary(g, MICA_TF_RealDiv, value, value);
        mica_tf_ref operands[2] = {v, one};
        CHECK_OK(
            mica_tf_graph_add(g, MICA_TF_AssignAddVariableOp, attrs, operands, 2, NULL, &unused));
    }
    mica_tf_ref y = x;
    for (int i = 0; i < n; i++) y = binary(g, MICA_TF_AddV2, y, x);
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

/* Whether f gives what it should for one size. */
static bool call(mica_tf_graph *g, int n, int64_t size, const mica_tf_value *variable) {
    float data[64], answers[64];
    for (int64_t i = 0; i < size; i++) data[i] = (float)i;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(size));
    mica_tensor *tensor = NULL;
    mica_tf_value result = {0};
    mica_status status = mica_tensor_from_host(device, &type, data, &tensor);
    mica_tf_value inputs[2] = {status ? (mica_tf_value){0} : mica_tf_value_of(tensor)};
    if (variable) inputs[1] = *variable;
    if (!status) status = mica_tf_graph_run(g, device, inputs, variable ? 2 : 1, &result, 1);
    size_t bytes = (size_t)size * sizeof *data;
    if (!status) status = mica_tensor_to_host(result.object, answers, bytes);
    bool right = !status;
    for (int64_t i = 0; i < size && right; i++) right = answers[i] == (float)(n + 1) * data[i];
    mica_tensor_release(tensor);
    mica_tf_value_release(result);
    mica_status_release(status);
    return right;
}

static mica_tf_program_counts counts(void) {
    mica_tf_program_counts c = {.size = sizeof c};
    mica_tf_count_programs(&c);
    return c;
}

static void end(void) {
    mica_device_release(device);
    mica_shutdown();
    CHECK(counts().held == 0);
    CHECK(mica_memory_live_blocks() == 0);
    CHECK_OK(mica_tf_set_program_limits(2048, 64));
}

TEST(programs_are_bounded_by_segment_and_by_process) {
    CHECK_OK(mica_device_open("cpu", &device));
    CHECK_FAILS(mica_tf_set_program_limits(0, 4), MICA_INVALID_ARGUMENT, "at least 1");
    CHECK_OK(mica_tf_set_program_limits(6, 4));
    mica_tf_graph *g[2] = {make_function(1, false), make_function(2, false)};
    mica_tf_program_counts before = counts();
    for (int64_t size = 1; size <= 10; size++) CHECK(call(g[0], 1, size, NULL));
    CHECK(counts().held == 4 && counts().evicted == before.evicted + 6);
    for (int64_t size = 7; size <= 10; size++) CHECK(call(g[0], 1, size, NULL));
    CHECK(counts().made == before.made + 10); /* the last ones are there */
    CHECK(call(g[0], 1, 7, NULL) && call(g[0], 1, 11, NULL) && call(g[0], 1, 7, NULL));
    CHECK(counts().made == before.made + 11); /* 8 had to go, not 7 */
    for (int64_t size = 1; size <= 10; size++) CHECK(call(g[1], 2, size, NULL));
    CHECK(counts().held == 6);
    CHECK_OK(mica_tf_set_program_limits(2, 4));
    CHECK(counts().held == 2);
    mica_tf_graph_release(g[0]);
    mica_tf_graph_release(g[1]);
    end();
}

/* ---- a compiler that waits --------------------------------------------------------------------*/

static char folder[64], compiler[96], started[96], go_on[96];

static bool can_compile(void) {
    char text[4096];
    return mica_compiler_describe(text, sizeof text);
}

/* One that waits until it is told to go on, or for some seconds. */
static void use_slow_compiler(int seconds) {
    char wanted[4096];
    snprintf(folder, sizeof folder, "/tmp/mica-test-XXXXXX");
    CHECK(mica_compiler_describe(wanted, sizeof wanted));
    CHECK(mkdtemp(folder) != NULL);
    snprintf(compiler, sizeof compiler, "%s/compiler", folder);
    snprintf(started, sizeof started, "%s/started", folder);
    snprintf(go_on, sizeof go_on, "%s/go_on", folder);
    FILE *file = fopen(compiler, "w");
    fprintf(file, "#!/bin/sh\ntouch %s\n", started);
    if (seconds > 0)
        fprintf(file, "sleep %d\n", seconds);
    else
        fprintf(file, "until [ -e %s ]; do sleep 0.05; done\n", go_on);
    fprintf(file, "exec %s \"$@\"\n", wanted);
    fclose(file);
    CHECK(chmod(compiler, 0700) == 0);
    setenv("MICA_CC", compiler, 1);
    setenv("MICA_CACHE", "off", 1);
    setenv("MICA_TIER", "auto", 1);
    CHECK_OK(mica_device_open("cpu", &device));
}

static void forget_slow_compiler(void) {
    unlink(compiler);
    unlink(started);
    unlink(go_on);
    rmdir(folder);
    unsetenv("MICA_CC");
    unsetenv("MICA_CACHE");
    unsetenv("MICA_TIER");
}

static void wait_for_file(const char *path) {
    while (access(path, F_OK) != 0) mica_sleep(0.01);
}

typedef struct worker {
    mica_tf_graph **functions;
    const mica_tf_value *variable;
    int number, calls;
    double seconds; /* 0: each function a few times */
    double longest; /* of the calls, in seconds */
    int64_t done, wrong;
} worker;

/* The same size three times asks for compiled code; then the next one. */
static void call_all(void *context) {
    worker *w = context;
    double start = mica_clock_seconds();
    for (int i = 0; w->seconds > 0 ? mica_clock_seconds() - start < w->seconds : i < w->calls;
         i++) {
        int k = (i * 13 + w->number * 5) % FUNCTIONS;
        int64_t size = 1 + (i / FUNCTIONS + w->number) % 40;
        double before = mica_clock_seconds();
        w->wrong += !call(w->functions[k], k % 10, size, w->variable);
        double took = mica_clock_seconds() - before;
        if (took > w->longest) w->longest = took;
        w->done++;
    }
}

static int64_t resident_pages(void) {
    long long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lld %lld", &all, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident;
}

/* malloc keeps an arena per thread, whose gaps grow with the number of threads and not with what is
 * in use: with one arena resident memory shows what the library holds. */
static void use_one_arena(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* Calls of all threads; answers how many there were. */
static int64_t run_threads(mica_tf_graph **functions, const mica_tf_value *variable, int calls,
                           double seconds) {
    worker workers[THREADS];
    mica_thread *threads[THREADS] = {NULL};
    int64_t done = 0, wrong = 0;
    double longest = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){functions, variable, i, calls, seconds, 0, 0, 0};
        CHECK_OK(mica_thread_start(call_all, &workers[i], "test", &threads[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        mica_thread_join(threads[i]);
        done += workers[i].done;
        wrong += workers[i].wrong;
        if (workers[i].longest > longest) longest = workers[i].longest;
    }
    CHECK(wrong == 0);
    if (seconds > 0)
        printf("    %lld calls, the longest %.3f s; programs: %lld made, %lld held; %lld KiB\n",
               (long long)done, longest, (long long)counts().made, (long long)counts().held,
               (long long)resident_pages() * sysconf(_SC_PAGESIZE) / 1024);
    return done;
}

TEST(threads_call_functions_of_changing_sizes_while_the_compiler_is_busy) {
    if (!can_compile()) {
        test_skip("there is no C compiler");
        return;
    }
    bool soaks = getenv("MICA_TEST_SOAK") != NULL;
    use_slow_compiler(soaks ? 5 : 0);
    if (soaks) use_one_arena();
    CHECK_OK(mica_tf_set_program_limits(soaks ? 1024 : MOST, MOST_OF_SEGMENT));
    mica_tf_graph *functions[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++) functions[i] = make_function(i % 10, true);
    mica_tf_value zero = vector(4, 1), variable = variable_of(4, zero), now;
    int64_t done = run_threads(functions, &variable, 2 * FUNCTIONS, soaks ? 20 : 0);
    while (soaks && done < WARM_CALLS) done += run_threads(functions, &variable, 0, 5);
    if (soaks) {
        int64_t resident = resident_pages(), live = mica_memory_live_bytes();
        done += run_threads(functions, &variable, 0, 40);
        CHECK(mica_memory_live_bytes() <= live + live / 20);
        CHECK(resident_pages() <= resident + resident / 10);
    }
    CHECK(counts().held <= (soaks ? 1024 : MOST));
    CHECK(counts().evicted > 0);
    CHECK_OK(mica_tf_variable_read(variable, &now));
    CHECK_NEAR(first_of(now), (double)(1 + done), 0); /* no assignment is lost */
    mica_tf_value_release(now);
    mica_tf_value_release(zero);
    mica_tf_value_release(variable);
    for (int i = 0; i < FUNCTIONS; i++) mica_tf_graph_release(functions[i]);
    end();
    forget_slow_compiler();
}

/* ---- jit_compile ------------------------------------------------------------------------------*/

typedef struct waiting {
    mica_tf_graph *g;
    mica_tf_value variable;
    bool right;
} waiting;

static void call_once(void *context) {
    waiting *w = context;
    w->right = call(w->g, 5, 3, &w->variable);
}

TEST(variables_are_free_while_a_function_waits_for_the_compiler) {
    if (!can_compile()) {
        test_skip("there is no C compiler");
        return;
    }
    use_slow_compiler(0);
    mica_tf_value two = vector(2, 1), three = vector(3, 10), now;
    mica_tf_value variable = variable_of(-1, two);
    mica_tf_graph *g = make_function(5, true), *other = make_function(3, true);
    mica_tf_graph_set_compiled(g);
    mica_tf_program_counts before = counts();
    waiting w = {g, variable, false};
    mica_thread *thread = NULL;
    REQUIRE_OK(mica_thread_start(call_once, &w, "test", &thread));
    wait_for_file(started);
    CHECK(call(other, 3, 4, &variable)); /* v is 2 */
    CHECK_OK(mica_tf_variable_read(variable, &now));
    CHECK_NEAR(first_of(now), 2, 0);
    mica_tf_value_release(now);
    CHECK_OK(mica_tf_variable_assign(variable, three)); /* another size than is compiled for */
    mica_tf_value operands[2] = {variable, three}, unused[1];
    mica_tf_attr attrs[2] = {{.as.integer = MICA_TF_float32}, {0}};
    int32_t n = 0;
    CHECK_OK(mica_tf_eager(device, MICA_TF_AssignAddVariableOp, attrs, operands, 2, unused, 1, &n,
                           NULL)); /* v is 20 */
    fclose(fopen(go_on, "w"));
    mica_thread_join(thread);
    CHECK(w.right);
    CHECK(counts().made == before.made + 3);
    CHECK_OK(mica_tf_variable_read(variable, &now));
    CHECK_NEAR(first_of(now), 21, 0);
    mica_tf_value_release(now);
    mica_tf_value_release(two);
    mica_tf_value_release(three);
    mica_tf_value_release(variable);
    mica_tf_graph_release(g);
    mica_tf_graph_release(other);
    end();
    forget_slow_compiler();
}
