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
