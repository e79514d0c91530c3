/* mica: finds the command in the table (commands.c) and runs it. */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_fail(mica_status status) {
    fprintf(stderr, "mica: %s\n", mica_status_message(status));
    mica_status_release(status);
    return CLI_FAILED;
}

static const char *running = ""; /* the command's name */

int cli_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("mica: ", stderr);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nTry 'mica %s%s--help'.\n", running, *running ? " " : "");
    va_end(arguments);
    return CLI_USAGE;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return true;
    return false;
}

/* Whoever reads a pipe may stop early, as `head` does. */
static bool reader_is_gone(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

const char *cli_program = "mica";

int main(int argc, char **argv) {
    if (argc > 0) cli_program = argv[0];
    if (argc < 2) return cli_usage("a command is needed");
    const cli_command *command = cli_find_command(argv[1]);
    if (!command) return cli_usage("there is no command '%s'", argv[1]);
    signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe fails instead */
    running = command->name;
    int code = CLI_DONE;
    if (asks_for_help(argc - 2, argv + 2))
        cli_print_help(command);
    else
        code = command->run(argc - 2, argv + 2);
    mica_shutdown();
    if ((fflush(stdout) || ferror(stdout)) && !reader_is_gone()) {
        fputs("mica: standard output cannot be written\n", stderr);
        return CLI_FAILED;
    }
    return code;
}
