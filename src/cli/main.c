/* mica: devices, ops, run, show, predict, bench, doctor, version. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

static const char help[] =
    "usage: mica COMMAND [ARGUMENTS]\n"
    "\n"
    "  devices                 every kind of device, present or not\n"
    "  ops [--json]            the table of primitives\n"
    "  run GRAPH.txt [INPUT...] [--device NAME] [--seed N]\n"
    "                          runs a printed graph and prints its results; inputs are .npy or\n"
    "                          .raw files in the order of the parameters, missing ones are made\n"
    "                          from the seed\n"
    "  show MODEL              the signatures and variables of a SavedModel\n"
    "  predict MODEL --inputs [NAME=]INPUT.npy... [--signature NAME] [--device NAME]\n"
    "                          runs a signature (serving_default) and prints its outputs\n"
    "  bench ops [PART...] [--json] [--check] [--threads N]\n"
    "                          times each primitive beside numpy, on 1M elements; needs Python\n"
    "  doctor [--device NAME]  what was found, what was not and why; checks each device's numbers\n"
    "                          against the reference\n"
    "  version                 the version\n"
    "\n"
    "  --help                  this text\n";

int cli_fail(mica_status status) {
    fprintf(stderr, "mica: %s\n", mica_status_message(status));
    mica_status_release(status);
    return CLI_FAILED;
}

int cli_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("mica: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\nTry 'mica --help'.\n", stderr);
    va_end(arguments);
    return CLI_USAGE;
}

static int version(int argc, char **argv) {
    if (argc > 0) return cli_usage("version takes no arguments, not '%s'", argv[0]);
    printf("mica %s\n", mica_version());
    return CLI_DONE;
}

static int show_help(int argc, char **argv) {
    (void)argc, (void)argv;
    fputs(help, stdout);
    return CLI_DONE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"devices", cli_devices}, {"ops", cli_ops},      {"run", cli_run},
    {"bench", cli_bench},     {"show", cli_show},    {"predict", cli_predict},
    {"doctor", cli_doctor},   {"version", version},  {"--version", version},
    {"help", show_help},      {"--help", show_help}, {"-h", show_help},
};

const char *cli_program = "mica";

int main(int argc, char **argv) {
    if (argc > 0) cli_program = argv[0];
    if (argc < 2) return cli_usage("a command is needed");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name)) continue;
        int code = commands[i].run(argc - 2, argv + 2);
        mica_shutdown();
        if (fflush(stdout) || ferror(stdout)) {
            fputs("mica: standard output cannot be written\n", stderr);
            return CLI_FAILED;
        }
        return code;
    }
    return cli_usage("there is no command '%s'", argv[1]);
}
