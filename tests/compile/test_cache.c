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

static void each_entry_of(const char *folder, void (*visit)(const char *path)) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        visit(path);
    }
    if (d) closedir(d);
}

static void give_to_other_user(const char *path) {
    if (chown(path, 65534, 65534) != 0) _exit(99);
}

/* Root may write everywhere. */
static void run_as_other_user(const char *folder) {
    if (getuid() != 0) return;
    each_entry_of(folder, give_to_other_user);
    if (chown(folder, 65534, 65534) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(99);
}

/* Children that live on, and have what was open when they began. */
static void fork_later(void *context) {
    (void)context;
    mica_sleep(0.3);
    if (fork() == 0) {
        alarm(40);
        for (;;) pause();
    }
}

static void start_forking(void) {
    mica_thread *thread;
    CHECK_OK(mica_thread_start(fork_later, NULL, "forks", &thread));
}

/* Runs first, and ends the process, when this process is a child. */
TEST(a_child_does_what_it_is_told) {
    CHECK(true);
    const char *folder = getenv("MICA_CACHE");
    if (!getenv("MICA_TEST_CHILD")) return;
    alarm(120);
    if (is_child("full disk") && !fill_disk(folder)) _exit(98);
    if (is_child("short files")) limit_files();
    if (is_child("read only")) run_as_other_user(folder);
    if (is_child("with a forked child")) start_forking();
    if (is_child("no children")) signal(SIGCHLD, SIG_IGN);
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
    each_entry_of(folder, visit);
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

static void check_mode(const char *path) {
    struct stat about;
    CHECK(stat(path, &about) == 0 && (about.st_mode & 07777) == 0600);
}

static void let_all_write(const char *path) {
    CHECK(chmod(path, 0666) == 0);
}

static void give_away(const char *path) {
    CHECK(chown(path, 12345, 12345) == 0 && chmod(path, 0644) == 0);
}

static void give_to_root(const char *path) {
    CHECK(chown(path, 0, 0) == 0);
}

/* The same bytes, behind a link. */
static void make_link(const char *path) {
    char other[400];
    const char *name = strrchr(path, '/') + 1;
    snprintf(other, sizeof other, "%.*s/.%s", (int)(name - 1 - path), path, name);
    CHECK(rename(path, other) == 0 && symlink(other, path) == 0);
}

static void remove_linked(const char *path) {
    char other[400];
    ssize_t n = readlink(path, other, sizeof other - 1);
    if (n > 0) other[n] = 0, unlink(other);
}

/* A program in `script` becomes the compiler of children. */
static char compiler[128];
static void use_compiler(const char *text) {
    snprintf(compiler, sizeof compiler, "%s-cc", folder);
    FILE *file = fopen(compiler, "w");
    fputs("#!/bin/sh\n", file);
    fputs(text, file);
    fclose(file);
    chmod(compiler, 0700);
    setenv("MICA_CC", compiler, 1);
}

static void end_compiler(void) {
    unsetenv("MICA_CC");
    unlink(compiler);
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

TEST(entries_are_for_this_user_alone_whatever_the_mask_is) {
    if (begin()) {
        each_entry(remove_entry);
        mode_t mask = umask(0);
        CHECK(run_child("again") == (GENERATED | COMPILED));
        umask(mask);
        CHECK(count() >= 1);
        each_entry(check_mode);
    }
    end();
}

TEST(an_entry_that_others_may_have_written_is_made_again) {
    if (begin()) {
        each_entry(let_all_write);
        CHECK(run_child("again") == (GENERATED | COMPILED));
        each_entry(check_mode);
        CHECK(run_child("again") == GENERATED);
        each_entry(make_link);
        CHECK(run_child("again") == (GENERATED | COMPILED));
        each_entry(check_mode);
        if (getuid() == 0) {
            each_entry(give_away);
            CHECK(run_child("again") == (GENERATED | COMPILED));
            each_entry(give_to_root);
        }
        CHECK(run_child("again") == GENERATED);
    }
    each_entry(remove_linked);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    end();
}

/* Of the same text, by the same compiler, with another option. */
static char other_entry[400];
static void note_entry(const char *path) {
    strcpy(other_entry, path);
}
static void take_place(const char *path) {
    if (strcmp(path, other_entry)) CHECK(unlink(other_entry) == 0 && link(path, other_entry) == 0);
}

TEST(an_entry_under_the_name_of_another_is_made_again) {
    if (begin()) {
        each_entry(note_entry);
        setenv("MICA_CC", "cc -O1", 1);
        CHECK(run_child("again") == (GENERATED | COMPILED));
        unsetenv("MICA_CC");
        CHECK(count() == 2);
        each_entry(take_place);
        CHECK(run_child("again") == (GENERATED | COMPILED));
    }
    end();
}

/* It leaves half a library and fails; the process hears nothing of it from the system. */
TEST(a_compiler_that_failed_is_noticed_where_children_are_ignored) {
    if (begin()) {
        each_entry(remove_entry);
        CHECK(run_child("no children") == (GENERATED | COMPILED));
        each_entry(remove_entry);
        use_compiler("cc \"$@\"\nwhile [ \"$1\" != -o ]; do shift; done\n"
                     "head -c 6000 \"$2\" > \"$2.cut\"\nmv \"$2.cut\" \"$2\"\nexit 1\n");
        CHECK(run_child("no children") == COMPILED);
        CHECK(count() == 0);
        CHECK(run_child("again") == COMPILED);
        use_compiler("cc \"$@\"\nkill -KILL $$\n");
        CHECK(run_child("no children") == COMPILED);
        CHECK(count() == 0);
        end_compiler();
    }
    end();
}

/* ---- ends -------------------------------------------------------------------------------------*/

static bool exists_within(const char *path, bool wanted, double seconds) {
    double last = mica_clock_seconds() + seconds;
    while ((access(path, F_OK) == 0) != wanted && mica_clock_seconds() < last) mica_sleep(0.01);
    return (access(path, F_OK) == 0) == wanted;
}

static void read_line(const char *path, char *line, size_t capacity) {
    FILE *file = fopen(path, "r");
    line[0] = 0;
    if (file && !fgets(line, (int)capacity, file)) line[0] = 0;
    if (file) fclose(file);
    line[strcspn(line, "\n")] = 0;
}

/* The compiler has a child that runs for a minute, as its driver has. */
static void check_that_nothing_outlives(int ending, const char *situation) {
    char note[128], line[400] = "", text[600];
    snprintf(note, sizeof note, "%s-note", folder);
    snprintf(text, sizeof text,
             "while [ \"$1\" != -o ]; do shift; done\n"
             "sleep 60 &\ntouch \"$TMPDIR/more\"\n"
             "echo $! ${2%%/*} > %s.part\nmv %s.part %s\nwait\n",
             note, note, note);
    use_compiler(text);
    pid_t child = start_child(situation);
    CHECK(exists_within(note, true, 60));
    read_line(note, line, sizeof line);
    char *temporary = strchr(line, ' ');
    REQUIRE(temporary != NULL);
    *temporary++ = 0;
    CHECK(access(temporary, F_OK) == 0);
    kill(child, ending);
    CHECK(end_child(child) == 100 + ending);
    double last = mica_clock_seconds() + 30;
    while (kill((pid_t)atoi(line), 0) == 0 && mica_clock_seconds() < last) mica_sleep(0.01);
    CHECK(kill((pid_t)atoi(line), 0) != 0);
    CHECK(exists_within(temporary, false, 30));
    unlink(note);
    end_compiler();
}

TEST(neither_the_compiler_nor_its_files_outlive_a_process_that_is_killed) {
    if (begin()) {
        each_entry(remove_entry);
        check_that_nothing_outlives(SIGTERM, "again");
        check_that_nothing_outlives(SIGKILL, "again");
        check_that_nothing_outlives(SIGKILL, "no children");
        check_that_nothing_outlives(SIGKILL, "with a forked child");
        CHECK(count() == 0);
    }
    end();
}

/* ---- rights -----------------------------------------------------------------------------------*/

static bool copy_program(const char *to) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    bool done = test_ok(mica_file_read("/proc/self/exe", &bytes, &size), __FILE__, __LINE__, "") &&
                test_ok(mica_file_write_atomic(to, bytes, size), __FILE__, __LINE__, "");
    mica_free(bytes);
    return done && chown(to, 65534, 65534) == 0 && chmod(to, 06755) == 0;
}

static int run_privileged(const char *program) {
    pid_t child = fork();
    if (!child) {
        setenv("MICA_TEST_CHILD", "again", 1);
        char *arguments[] = {"child", "a_child_does", NULL};
        execv(program, arguments);
        _exit(97);
    }
    return end_child(child);
}

TEST(a_setuid_program_reads_no_variable_and_runs_no_compiler) {
    if (begin()) {
        char program[128];
        snprintf(program, sizeof program, "%s-setuid", folder);
        if (getuid() != 0 || !copy_program(program)) {
            test_skip("only root can make a setuid program of another user");
        } else {
            each_entry(remove_entry);
            CHECK(run_privileged(program) == 0);
            CHECK(count() == 0);
        }
        unlink(program);
    }
    end();
}
