/* Two tiers: which programs are compiled, when, and what a process leaves behind. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/platform.h"
#include "codegen/toolchain.h"
#include "mica/mica.h"
#include "support/random_graph.h"
#include "support/same_bits.h"
#include "test.h"

/* ---- a program --------------------------------------------------------------------------------*/

static mica_graph *make_graph(const mica_type *type) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("tiers", &g));
    mica_value x = mica_parameter(g, type);
    mica_output(g, mica_add(g, mica_mul(g, mica_tanh(g, x), x), x));
    return g;
}

static mica_executable *make_executable(mica_device *device, int64_t n, mica_tier tier) {
    mica_compile_options options = {.size = sizeof options, .tier = tier};
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n, 4));
    mica_graph *g = make_graph(&type);
    mica_executable *exe = NULL;
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    mica_graph_release(g);
    return exe;
}

static void run_times(mica_device *device, mica_executable *exe, int64_t n, int times) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n, 4));
    mica_tensor *x = NULL, *y = NULL;
    float *data = calloc((size_t)n, 16);
    CHECK_OK(mica_tensor_from_host(device, &type, data, &x));
    mica_run_args args = {
        .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
    for (int i = 0; i < times; i++) {
        CHECK_OK(mica_executable_run(exe, &args, NULL));
        mica_tensor_release(y);
    }
    mica_tensor_release(x);
    free(data);
}

static bool becomes_generated(mica_executable *exe, double seconds) {
    double end = mica_clock_seconds() + seconds;
    while (!mica_executable_is_generated(exe) && mica_clock_seconds() < end) mica_sleep(0.005);
    return mica_executable_is_generated(exe);
}

static bool can_generate(void) {
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    mica_executable *exe = make_executable(device, 8, MICA_TIER_COMPILED);
    bool can = mica_executable_is_generated(exe);
    mica_executable_release(exe);
    mica_device_release(device);
    if (!can) test_skip("no C compiler makes code for this machine");
    return can;
}

/* ---- children ---------------------------------------------------------------------------------*/

/* Runs first, and ends the process, when this process is a child: it goes while a compiler runs. */
TEST(a_child_ends_while_a_compiler_runs) {
    CHECK(true);
    const char *how = getenv("MICA_TEST_CHILD");
    if (!how) return;
    alarm(20);
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    mica_executable *exe = make_executable(device, 10, MICA_TIER_DEFAULT);
    run_times(device, exe, 10, 3);
    while (access(getenv("MICA_TEST_STARTED"), F_OK) != 0) mica_sleep(0.005);
    if (!strcmp(how, "fork") && fork() == 0) exit(test_failures != 0); /* the child's child */
    if (!strcmp(how, "fork")) wait(NULL);
    if (!strcmp(how, "shutdown")) {
        mica_executable_release(exe);
        mica_device_release(device);
        mica_shutdown();
        _exit(mica_memory_live_blocks() != 0);
    }
    exit(test_failures != 0);
}

static bool is_empty(const char *folder) {
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n == 2;
}

/* A compiler that says that it runs, and does not end. */
static void write_compiler(const char *path, const char *started) {
    FILE *file = fopen(path, "w");
    fprintf(file, "#!/bin/sh\nsleep 1000 &\necho $! > %s.part\nmv %s.part %s\nwait\n", started,
            started, started);
    fclose(file);
    CHECK(chmod(path, 0700) == 0);
}

static void end_in_the_middle(const char *how) {
    char folder[] = "/tmp/mica-test-XXXXXX", temporary[64], compiler[64], started[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(temporary, sizeof temporary, "%s/temporary", folder);
    snprintf(compiler, sizeof compiler, "%s/compiler", folder);
    snprintf(started, sizeof started, "%s/started", folder);
    CHECK(mkdir(temporary, 0700) == 0);
    write_compiler(compiler, started);
    double start = mica_clock_seconds();
    pid_t child = fork();
    if (child == 0) {
        setenv("TMPDIR", temporary, 1);
        setenv("MICA_CC", compiler, 1);
        setenv("MICA_CACHE", "off", 1);
        setenv("MICA_TEST_CHILD", how, 1);
        setenv("MICA_TEST_STARTED", started, 1);
        setenv("MICA_TIER", "auto", 1);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* it leaves in the middle */
        char *arguments[] = {"child", "a_child_ends", NULL};
        execv("/proc/self/exe", arguments);
        _exit(97);
    }
    int state = 0;
    waitpid(child, &state, 0);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    CHECK(mica_clock_seconds() - start < 30);
    CHECK(is_empty(temporary));
    FILE *file = fopen(started, "r");
    int sleeper = 0;
    CHECK(file && fscanf(file, "%d", &sleeper) == 1 && sleeper > 1);
    if (file) fclose(file);
    /* It may be waited for by whoever adopted it, for a moment. */
    for (int i = 0; i < 400 && kill(sleeper, 0) == 0; i++) mica_sleep(0.005);
    if (kill(sleeper, 0) == 0) {
        char path[64], state_text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", sleeper);
        file = fopen(path, "r");
        if (file && fgets(state_text, sizeof state_text, file)) CHECK(strstr(state_text, ") Z"));
        if (file) fclose(file);
    }
    unlink(started);
    unlink(compiler);
    rmdir(temporary);
    CHECK(rmdir(folder) == 0);
}

TEST(a_process_that_exits_leaves_no_compiler_and_no_files) {
    if (!can_generate()) return;
    end_in_the_middle("exit");
}

TEST(shutting_down_ends_the_compiler) {
    if (!can_generate()) return;
    end_in_the_middle("shutdown");
}

TEST(the_child_of_a_fork_leaves_the_compiler_alone) {
    if (!can_generate()) return;
    end_in_the_middle("fork");
}

/* ---- when -------------------------------------------------------------------------------------*/

TEST(the_third_run_asks_for_compiled_code) {
    if (!can_generate()) return;
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    unsetenv("MICA_TIER");
    mica_executable *exe = make_executable(device, 6, MICA_TIER_DEFAULT);
    run_times(device, exe, 6, 2);
    CHECK(!becomes_generated(exe, 0.2));
    run_times(device, exe, 6, 1);
    CHECK(becomes_generated(exe, 60));
    setenv("MICA_TIER", "built-in", 1);
    mica_executable_release(exe);
    mica_device_release(device);
}

TEST(without_a_compiler_built_in_kernels_serve) {
    mica_device *device = NULL;
    char text[4400];
    CHECK_OK(mica_device_open("cpu", &device));
    setenv("MICA_CC", "none", 1);
    CHECK(!mica_compiler_describe(text, sizeof text));
    CHECK(!strcmp(text, "MICA_CC is none"));
    mica_executable *exe = make_executable(device, 6, MICA_TIER_AUTO);
    run_times(device, exe, 6, 5);
    CHECK(!becomes_generated(exe, 0.1));
    mica_executable *now = make_executable(device, 6, MICA_TIER_COMPILED);
    CHECK(!mica_executable_is_generated(now));
    run_times(device, now, 6, 1);
    unsetenv("MICA_CC");
    mica_executable_release(exe);
    mica_executable_release(now);
    mica_device_release(device);
}

TEST(another_batch_size_needs_no_new_code) {
    if (!can_generate()) return;
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    char folder[] = "/tmp/mica-test-XXXXXX", remove[64];
    CHECK(mkdtemp(folder) != NULL);
    setenv("MICA_CACHE", folder, 1);
    int64_t before = mica_toolchain_runs();
    for (int64_t n = 3; n < 20; n++) {
        mica_executable *exe = make_executable(device, n, MICA_TIER_COMPILED);
        CHECK(mica_executable_is_generated(exe));
        run_times(device, exe, n, 1);
        mica_executable_release(exe);
    }
    CHECK(mica_toolchain_runs() == before + 1);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0);
    unsetenv("MICA_CACHE");
    mica_device_release(device);
}

/* ---- training ---------------------------------------------------------------------------------*/

enum { STATES = 8, DATA = 2 };

/* Two layers with cross entropy; parameters and momenta in, their next values out. */
static mica_graph *make_training(mica_type types[STATES + DATA]) {
    mica_graph *g = NULL;
    mica_value p[STATES + DATA], gradients[4];
    const int64_t batch = 32, width = 48, hidden = 64, classes = 10;
    CHECK_OK(mica_graph_create("training", &g));
    for (int i = 0; i < 2; i++) {
        types[4 * i] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(width, hidden));
        types[4 * i + 1] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(hidden));
        types[4 * i + 2] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(hidden, classes));
        types[4 * i + 3] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(classes));
    }
    types[STATES] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(batch, width));
    types[STATES + 1] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(batch, classes));
    for (int i = 0; i < STATES + DATA; i++) p[i] = mica_parameter(g, &types[i]);
    mica_value h = mica_tanh(g, mica_add(g, mica_matmul(g, p[STATES], p[0]), p[1]));
    mica_value z = mica_add(g, mica_matmul(g, h, p[2]), p[3]);
    mica_value top = mica_reduce(g, z, "max", MICA_INTS(1));
    mica_value e = mica_exp(g, mica_sub(g, z, mica_reshape(g, top, MICA_INTS(batch, 1))));
    mica_value sum = mica_reshape(g, mica_reduce(g, e, "sum", MICA_INTS(1)), MICA_INTS(batch, 1));
    mica_value wrong = mica_sub(g, mica_div(g, e, sum), p[STATES + 1]);
    mica_value loss = mica_sum(g, mica_mul(g, wrong, wrong), MICA_INTS(0, 1));
    mica_gradient(g, loss, p, 4, gradients);
    for (int i = 0; i < 4; i++) {
        mica_value momentum =
            mica_add(g, mica_mul(g, p[4 + i], mica_scalar(g, MICA_DTYPE_f32, 0.9)), gradients[i]);
        gradients[i] = momentum;
        mica_output(
            g, mica_sub(g, p[i], mica_mul(g, momentum, mica_scalar(g, MICA_DTYPE_f32, 0.003))));
    }
    for (int i = 0; i < 4; i++) mica_output(g, gradients[i]);
    return g;
}

/* The state is donated: it is updated in place. */
static void step(mica_executable *exe, mica_tensor **states, mica_tensor **data) {
    mica_tensor *inputs[STATES + DATA], *outputs[STATES];
    uint8_t donate[STATES + DATA] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0};
    memcpy(inputs, states, sizeof outputs);
    memcpy(inputs + STATES, data, sizeof *data * DATA);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = STATES + DATA,
                          .donate = donate,
                          .outputs = outputs,
                          .n_outputs = STATES};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
    for (int i = 0; i < STATES; i++) mica_tensor_release(states[i]);
    memcpy(states, outputs, sizeof outputs);
}

TEST(training_gives_the_same_bits_in_every_tier_and_over_the_swap) {
    if (!can_generate()) return;
    mica_device *device = NULL;
    mica_type types[STATES + DATA];
    mica_graph *g = make_training(types);
    mica_executable *executables[3];
    mica_tensor *states[3][STATES], *data[DATA];
    CHECK_OK(mica_device_open("cpu", &device));
    float *numbers = calloc(64 * 64, sizeof *numbers);
    for (int k = 0; k < 3; k++) {
        mica_tier tiers[3] = {MICA_TIER_BUILT_IN, MICA_TIER_AUTO, MICA_TIER_COMPILED};
        mica_compile_options options = {.size = sizeof options, .tier = tiers[k]};
        CHECK_OK(mica_executable_create(device, g, &options, &executables[k]));
        for (int i = 0; i < STATES; i++) {
            if (i < 4)
                random_data((uint64_t)i, &types[i], numbers);
            else
                memset(numbers, 0, mica_type_bytes(&types[i]));
            CHECK_OK(mica_tensor_from_host(device, &types[i], numbers, &states[k][i]));
        }
    }
    for (int i = 0; i < DATA; i++) {
        random_data((uint64_t)(10 + i), &types[STATES + i], numbers);
        CHECK_OK(mica_tensor_from_host(device, &types[STATES + i], numbers, &data[i]));
    }
    int turns = 0, after = 0;
    double end = mica_clock_seconds() + 60;
    for (; after < 10 && mica_clock_seconds() < end; turns++) {
        after += mica_executable_is_generated(executables[1]);
        for (int k = 0; k < 3; k++) step(executables[k], states[k], data);
        if (turns > 20 && !after) mica_sleep(0.005);
    }
    CHECK(after == 10 && turns > 12);
    CHECK(!mica_executable_is_generated(executables[0]));
    for (int i = 0; i < STATES; i++) {
        CHECK(same_tensor(states[0][i], states[1][i]));
        CHECK(same_tensor(states[0][i], states[2][i]));
        for (int k = 0; k < 3; k++) mica_tensor_release(states[k][i]);
    }
    for (int i = 0; i < DATA; i++) mica_tensor_release(data[i]);
    for (int k = 0; k < 3; k++) mica_executable_release(executables[k]);
    free(numbers);
    mica_graph_release(g);
    mica_device_release(device);
}
