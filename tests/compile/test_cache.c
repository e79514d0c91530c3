/* Compiled code on disk: processes that run this program again find, spoil, share and lack it. */
#define _GNU_SOURCE /* unshare */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/mount.h>
#endif

#include "base/platform.h"
#include "codegen/toolchain.h"
#include "mica/mica.h"
#include "test.h"

#define N 1000

/* ---- a process --------------------------------------------------------------------------------*/

/* What a child found, as its exit status. */
enum { WRONG = 1, GENERATED = 2, COMPILED = 4, WARNED = 8, WARNED_TWICE = 16 };

static int warnings;

static void count_warnings(void *context, const char *topic, const char *line) {
    (void)context, (void)line;
    warnings += !strcmp(topic, "warning");
}

static mica_graph *make_graph(const mica_type *type) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("cached", &g));
    mica_value x = mica_parameter(g, type);
    mica_output(g, mica_add(g, mica_mul(g, mica_tanh(g, x), x), x));
    return g;
}

static void run_on(mica_device *device, mica_executable *exe, const mica_type *type,
                   const float *data, float *result) {
    mica_tensor *x = NULL, *y = NULL;
    CHECK_OK(mica_tensor_from_host(device, type, data, &x));
    mica_run_args args = {
        .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
    CHECK_OK(mica_tensor_to_host(y, result, sizeof(float) * N));
    mica_tensor_release(x);
    mica_tensor_release(y);
}

/* Two programs that need the compiler, each beside one that does not. */
static int compute(void) {
    int found = 0;
    mica_device *device = NULL;
    mica_set_log(count_warnings, NULL);
    CHECK_OK(mica_device_open("cpu", &device));
    mica_type types[2] = {mica_type_make(MICA_DTYPE_f32, MICA_INTS(N)),
                          mica_type_make(MICA_DTYPE_f32, MICA_INTS(N / 8, 8))};
    static float data[N], results[2][N];
    for (int i = 0; i < N; i++) data[i] = (float)(i - N / 2) / 100;
    for (int i = 0; i < 2; i++) {
        mica_graph *g = make_graph(&types[i]);
        for (int k = 0; k < 2; k++) {
            mica_compile_options options = {.size = sizeof options,
                                            .tier = k ? MICA_TIER_COMPILED : MICA_TIER_BUILT_IN};
            mica_executable *exe = NULL;
            CHECK_OK(mica_executable_create(device, g, &options, &exe));
            run_on(device, exe, &types[i], data, results[k]);
            if (k && mica_executable_is_generated(exe)) found |= GENERATED;
            mica_executable_release(exe);
        }
        if (memcmp(results[0], results[1], sizeof data) != 0) found |= WRONG;
        mica_graph_release(g);
    }
    mica_device_release(device);
    if (mica_toolchain_runs()) found |= COMPILED;
    if (warnings) found |= WARNED;
    if (warnings > 1) found |= WARNED_TWICE;
    return found;
}

/* ---- what surrounds it ------------------------------------------------------------------------*/

static bool is_child(const char *situation) {
    const char *text = getenv("MICA_TEST_CHILD");
    return text && !strcmp(text, situation);
}

/* Only this user's, and full: a disk of two pages, or no file may become longer than one. */
static bool fill_disk(const char *folder) {
#if defined(__linux__)
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=8k,mode=0700") == 0;
#else
    (void)folder;
    return false;
#endif
}

static void limit_files(void) {
    struct rlimit limit = {4096, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* Root may write everywhere. */
static void be_nobody(const char *folder) {
    if (getuid() != 0) return;
    if (chown(folder, 65534, 65534) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(99);
}

/* Runs first, and ends the process, when this process is a child. */
TEST(a_child_does_what_it_is_told) {
    CHECK(true);
    const char *folder = getenv("MICA_CACHE");
    if (!getenv("MICA_TEST_CHILD")) return;
    alarm(120);
    if (is_child("full disk") && !fill_disk(folder)) _exit(98);
    if (is_child("short files")) limit_files();
    if (is_child("read only")) be_nobody(folder);
    int found = compute();
    mica_shutdown();
    _exit(test_failures ? WRONG : found);
}

static pid_t start_child(const char *situation) {
    pid_t child = fork();
    if (child) return child;
    setenv("MICA_TEST_CHILD", situation, 1);
    setenv("MICA_LOG", "warning", 1);
    char *arguments[] = {"child", "a_child_does", NULL};
    execv("/proc/self/exe", arguments);
    _exit(97);
}

static int end_child(pid_t child) {
    int state = 0;
    waitpid(child, &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 100 + WTERMSIG(state);
}

static int run_child(const char *situation) {
    return end_child(start_child(situation));
}

/* ---- the folder -------------------------------------------------------------------------------*/

static char folder[64];

/* An empty folder for each test; false, said, where nothing can be compiled. */
static bool begin(void) {
    strcpy(folder, "/tmp/mica-test-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    setenv("MICA_CACHE", folder, 1);
    if (run_child("probe") == (GENERATED | COMPILED)) return true;
    test_skip("no C compiler makes code for this machine");
    return false;
}

static void each_entry(void (*visit)(const char *path)) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        visit(path);
    }
    if (d) closedir(d);
}

static int n_entries;
static void count_entry(const char *path) {
    (void)path, n_entries++;
}
static int count(void) {
    n_entries = 0;
    each_entry(count_entry);
    return n_entries;
}

static void remove_entry(const char *path) {
    unlink(path);
}

static void end(void) {
    chmod(folder, 0700);
    each_entry(remove_entry);
    CHECK(rmdir(folder) == 0);
    unsetenv("MICA_CACHE");
}

static void cut_entry(const char *path) {
    struct stat about;
    CHECK(stat(path, &about) == 0 && truncate(path, about.st_size / 2) == 0);
}

static void spoil_entry(const char *path) {
    int file = open(path, O_RDWR);
    char byte = 0;
    CHECK(pread(file, &byte, 1, 4096) == 1);
    byte ^= 1;
    CHECK(pwrite(file, &byte, 1, 4096) == 1);
    close(file);
}

/* ---- tests ------------------------------------------------------------------------------------*/

TEST(what_was_compiled_is_found_by_the_next_process) {
    if (begin()) {
        CHECK(count() >= 1);
        CHECK(run_child("again") == GENERATED);
    }
    end();
}

TEST(eight_processes_start_at_once) {
    if (begin()) {
        pid_t children[8];
        each_entry(remove_entry);
        for (int i = 0; i < 8; i++) children[i] = start_child("together");
        for (int i = 0; i < 8; i++) {
            int found = end_child(children[i]);
            CHECK(found == (GENERATED | COMPILED) || found == GENERATED);
        }
        CHECK(run_child("again") == GENERATED);
    }
    end();
}

TEST(an_entry_that_is_cut_short_is_made_again) {
    if (begin()) {
        each_entry(cut_entry);
        CHECK(run_child("again") == (GENERATED | COMPILED));
        CHECK(run_child("again") == GENERATED);
    }
    end();
}

TEST(an_entry_with_a_wrong_bit_is_made_again) {
    if (begin()) {
        each_entry(spoil_entry);
        CHECK(run_child("again") == (GENERATED | COMPILED));
        CHECK(run_child("again") == GENERATED);
    }
    end();
}

TEST(a_full_disk_costs_a_warning_only) {
    if (begin()) {
        int found = run_child("full disk");
        if (found == 98)
            test_skip("no disk can be mounted here");
        else
            CHECK(found == (GENERATED | COMPILED | WARNED));
        /* Nothing can be written anywhere: built-in kernels serve. */
        each_entry(remove_entry);
        found = run_child("short files");
        CHECK((found & (WRONG | GENERATED | WARNED_TWICE)) == 0);
        CHECK(count() == 0);
    }
    end();
}

TEST(a_folder_that_cannot_be_written_to_is_read) {
    if (begin()) {
        chmod(folder, 0500);
        CHECK(run_child("read only") == (GENERATED | WARNED));
        if (getuid() == 0) CHECK(chown(folder, 0, 0) == 0);
        chmod(folder, 0700);
        each_entry(remove_entry);
        chmod(folder, 0500);
        CHECK(run_child("read only") == (GENERATED | COMPILED | WARNED));
        CHECK(count() == 0);
    }
    end();
}

TEST(a_folder_that_others_may_change_is_not_used) {
    if (begin()) {
        chmod(folder, 0777);
        CHECK(run_child("again") == (GENERATED | COMPILED | WARNED));
        chmod(folder, 0700);
        each_entry(remove_entry);
        if (getuid() == 0) {
            CHECK(chown(folder, 12345, 12345) == 0);
            CHECK(run_child("again") == (GENERATED | COMPILED | WARNED));
            CHECK(count() == 0);
            CHECK(chown(folder, 0, 0) == 0);
        }
        setenv("MICA_CACHE", "/dev/null/nowhere", 1);
        CHECK(run_child("again") == (GENERATED | COMPILED | WARNED));
        setenv("MICA_CACHE", "off", 1);
        CHECK(run_child("again") == (GENERATED | COMPILED));
    }
    end();
}

TEST(the_oldest_entries_go_when_there_are_too_many) {
    if (begin()) {
        each_entry(remove_entry);
        for (int i = 0; i < 1200; i++) {
            char path[128];
            snprintf(path, sizeof path, "%s/old%d.so", folder, i);
            close(open(path, O_CREAT | O_WRONLY, 0600));
            struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
            CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
        }
        CHECK(run_child("again") == (GENERATED | COMPILED));
        char path[128];
        snprintf(path, sizeof path, "%s/old0.so", folder);
        CHECK(count() == 1000);
        CHECK(access(path, F_OK) != 0);
        CHECK(run_child("again") == GENERATED);
    }
    end();
}
