/* Programs that are run: the part of base/platform.h about them, on Linux and macOS.
 *
 * A program runs under a shell of its own, in a process group of its own. Between that shell and
 * this process is a pair of sockets, which answers two questions that the system's own calls leave
 * open:
 *
 * - Did it succeed? waitpid cannot say where the host ignores SIGCHLD or waits for all children
 *   itself. The shell writes the exit status into its socket as its last act: no line, no success.
 * - Who ends it when this process is killed? The kernel closes this process's socket, however the
 *   process ends. A second shell, which reads the other one, then ends the group and removes the
 *   program's temporary folder.
 */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/platform.h"

#define SHELL "/bin/sh"
#define CHILD_SOCKET 3
#define MOST_WORDS 128

/* $1 is the temporary folder or empty, the rest the program. TERM lets a compiler's driver remove
 * its files; the second shell does not mind it. */
static const char script[] = "folder=$1; shift\n"
                             "if [ -n \"$folder\" ]; then export TMPDIR=\"$folder\"; fi\n"
                             "\"$@\" 3<&- &\n"
                             "program=$!\n"
                             "(trap '' TERM; read -r line <&3; kill -TERM 0; "
                             "[ -z \"$folder\" ] || rm -rf -- \"$folder\"; kill -KILL 0) &\n"
                             "watch=$!\n"
                             "wait $program; state=$?\n"
                             "kill -KILL $watch\n"
                             "echo $state >&3\n"
                             "exit $state\n";

/* ---- sockets that a forked child shall not keep open ------------------------------------------*/

#define MOST_SOCKETS 16
static int32_t held[MOST_SOCKETS]; /* atomic; a socket's number + 1, or 0 */

static void close_in_child(void) {
    for (int i = 0; i < MOST_SOCKETS; i++) {
        int32_t number = __atomic_exchange_n(&held[i], 0, __ATOMIC_RELAXED);
        if (number) close(number - 1);
    }
}

static void register_fork_handler(void) {
    pthread_atfork(NULL, NULL, close_in_child);
}

/* Where there is no room, a child that is forked meanwhile delays the end of the program. */
static void hold_socket(int number) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handler);
    for (int i = 0; i < MOST_SOCKETS; i++) {
        int32_t none = 0;
        if (__atomic_compare_exchange_n(&held[i], &none, number + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    }
}

static void close_socket(int number) {
    for (int i = 0; i < MOST_SOCKETS; i++) {
        int32_t mine = number + 1;
        if (__atomic_compare_exchange_n(&held[i], &mine, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            break;
    }
    close(number);
}

/* [0] stays here, [1] is the shell's; no other program gets them. */
static bool make_sockets(int ends[2]) {
#if defined(SOCK_CLOEXEC)
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
#else
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#endif
    hold_socket(ends[0]);
    return true;
}

/* ---- programs ---------------------------------------------------------------------------------*/

int64_t mica_process_id(void) {
    return (int64_t)getpid();
}

bool mica_program_find(const char *name, char *path, size_t capacity) {
    if (strchr(name, '/')) {
        int n = snprintf(path, capacity, "%s", name);
        return n > 0 && (size_t)n < capacity && access(name, X_OK) == 0;
    }
    for (const char *folders = mica_environment("PATH"); folders && *folders;) {
        size_t length = strcspn(folders, ":");
        int n = snprintf(path, capacity, "%.*s/%s", (int)length, folders, name);
        if (n > 0 && (size_t)n < capacity && access(path, X_OK) == 0) return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* The exit status that the shell wrote, or -1: it was ended before it could. */
static int reported_state(int socket) {
    char text[16];
    size_t n = 0;
    while (n + 1 < sizeof text) {
        ssize_t got = recv(socket, text + n, sizeof text - 1 - n, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    text[n] = 0;
    char *end = text;
    long state = strtol(text, &end, 10);
    return end > text && *end == '\n' && state >= 0 && state < 256 ? (int)state : -1;
}

static mica_status program_state(const char *name, int state) {
    if (state == 0) return NULL;
    if (state < 0) return MICA_ERROR(MICA_INTERNAL, "[program_run] '%s' was ended", name);
    return MICA_ERROR(MICA_INTERNAL, "[program_run] '%s' failed (%s %d)", name,
                      state > 128 ? "signal" : "exit", state > 128 ? state - 128 : state);
}

/* The group: a compiler's driver has children of its own. */
static void end_group(pid_t child) {
    if (kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static mica_status wait_for_program(pid_t child, int socket, const char *name,
                                    const mica_program_limits *limits) {
    double end = mica_clock_seconds() + limits->seconds;
    for (double pause = 0.001;; pause = pause < 0.02 ? pause * 1.5 : pause) {
        pid_t got = waitpid(child, NULL, WNOHANG);
        bool is_taken = got < 0 && errno != EINTR; /* the host waited for it, or ignores SIGCHLD */
        if (got == child || is_taken) return program_state(name, reported_state(socket));
        bool is_cancelled = limits->cancel && __atomic_load_n(limits->cancel, __ATOMIC_ACQUIRE);
        if (is_cancelled || mica_clock_seconds() > end) {
            end_group(child);
            if (is_cancelled)
                return MICA_ERROR(MICA_FAILED_PRECONDITION, "[program_run] '%s' was ended", name);
            return MICA_ERROR(MICA_INTERNAL, "[program_run] '%s' took more than %.0f s", name,
                              limits->seconds);
        }
        mica_sleep(pause);
    }
}

/* The program holds no file of the host's: a lock on it would last as long as the program. What
 * lies above the limit (a debugger's own) cannot be closed, and is none of them. */
static int close_others(posix_spawn_file_actions_t *files) {
    struct rlimit limit;
    DIR *folder = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? opendir("/dev/fd") : NULL;
    int error = 0;
    for (struct dirent *entry; folder && !error && (entry = readdir(folder));) {
        char *end;
        long file = strtol(entry->d_name, &end, 10);
        if (*end || file <= CHILD_SOCKET || file == dirfd(folder) || (rlim_t)file >= limit.rlim_cur)
            continue;
        error = posix_spawn_file_actions_addclose(files, (int)file);
    }
    if (folder) closedir(folder);
    return error;
}

/* Standard input, output and errors, and the socket; the output is opened after the socket has
 * its place, which it may have had from the beginning. */
static int give_files(posix_spawn_file_actions_t *files, int socket, const char *output) {
    int error = posix_spawn_file_actions_adddup2(files, socket, CHILD_SOCKET);
    if (!error) error = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error =
            posix_spawn_file_actions_addopen(files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error) error = posix_spawn_file_actions_adddup2(files, 1, 2);
    return error ? error : close_others(files);
}

/* Threads of the library block signals, and the host may ignore some; the program shall not. */
static void give_signals(posix_spawnattr_t *attributes) {
    sigset_t none, plain;
    sigemptyset(&none);
    sigemptyset(&plain);
    sigaddset(&plain, SIGCHLD);
    sigaddset(&plain, SIGTERM);
    sigaddset(&plain, SIGPIPE);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &plain);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETPGROUP);
}

static int start_program(char *const *words, int socket, const char *output, pid_t *out_child) {
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
    int error = posix_spawnattr_init(&attributes);
    if (!error) {
        give_signals(&attributes);
        error = give_files(&files, socket, output);
        if (!error) error = posix_spawn(out_child, SHELL, &files, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

mica_status mica_program_run(char *const *arguments, const char *output,
                             const mica_program_limits *limits) {
    const char *folder = limits->folder ? limits->folder : "";
    char *words[MOST_WORDS] = {(char *)(uintptr_t)SHELL, (char *)(uintptr_t) "-c",
                               (char *)(uintptr_t)script, (char *)(uintptr_t)SHELL,
                               (char *)(uintptr_t)folder};
    int n = 5;
    for (int i = 0; arguments[i]; i++) {
        if (n == MOST_WORDS - 1)
            return MICA_ERROR(MICA_INVALID_ARGUMENT, "[program_run] '%s' has more than %d words",
                              arguments[0], MOST_WORDS - 6);
        words[n++] = arguments[i];
    }
    int ends[2];
    pid_t child = 0;
    if (!make_sockets(ends))
        return MICA_ERROR(MICA_INTERNAL, "[program_run] cannot start '%s': %s", arguments[0],
                          strerror(errno));
    int error = start_program(words, ends[1], output, &child);
    close(ends[1]);
    mica_status status = NULL;
    if (error) {
        status = MICA_ERROR(MICA_INTERNAL, "[program_run] cannot start '%s': %s", arguments[0],
                            strerror(error));
    } else {
        if (limits->is_modest) setpriority(PRIO_PGRP, (id_t)child, 10);
        status = wait_for_program(child, ends[0], arguments[0], limits);
    }
    close_socket(ends[0]);
    return status;
}
