/* cli/: the `mica` program, on the public API alone. Each command is a function from its own
 * arguments to an exit code: 0 done, 1 it failed (the message is on standard error), 2 the
 * arguments were wrong. */
#ifndef MICA_CLI_H
#define MICA_CLI_H

#include <mica/mica.h>
#include <stdio.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum { CLI_MAX_OPTIONS = 4 };

typedef struct cli_option {
    const char *name, *value, *meaning; /* "--seed", "N" or NULL, ... */
} cli_option;

typedef struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments, *meaning; /* of one line */
    const char *more;                /* of several, or NULL */
    cli_option options[CLI_MAX_OPTIONS];
} cli_command;

extern const cli_command cli_commands[]; /* up to one without a name */
const cli_command *cli_find_command(const char *name);
void cli_print_help(const cli_command *command);

int cli_devices(int argc, char **argv);
int cli_ops(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_view(int argc, char **argv);
int cli_upgrade(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_predict(int argc, char **argv);
int cli_records(int argc, char **argv);
int cli_completion(int argc, char **argv);
int cli_help(int argc, char **argv);

/* Becomes Python with these arguments, of which the first is filled in; answers only when that
 * failed, for `purpose`. */
int cli_run_python(const char *purpose, char **arguments);

extern const char *cli_program; /* as it was called */
/* Where an executable file of this name is on the PATH; a name with a slash is the place itself. */
bool cli_find_program(const char *name, char *path, size_t capacity);

/* Prints the status's message and releases it; CLI_FAILED. */
int cli_fail(mica_status status);
/* Prints a message about the arguments and where help is; CLI_USAGE. */
int cli_usage(const char *format, ...) MICA_PRINTF(1, 2);

/* A whole file with a 0 after it; free() it. */
MICA_MUST_CHECK mica_status cli_read_file(const char *path, char **out_bytes, size_t *out_size);
/* The type of the array in a .npy file. */
MICA_MUST_CHECK mica_status cli_npy_type(const char *path, mica_type *out_type);
/* An array of this type from a .npy or .raw file, onto the device. */
MICA_MUST_CHECK mica_status cli_load_tensor(const char *path, const mica_type *type,
                                            mica_device *device, mica_tensor **out_tensor);
/* Numbers that depend on the seed and on `index` only: floats in [-1, 1), integers 0 to 9. */
MICA_MUST_CHECK mica_status cli_make_tensor(uint64_t seed, int32_t index, const mica_type *type,
                                            mica_device *device, mica_tensor **out_tensor);
double cli_element(const void *data, int64_t i, mica_dtype dtype);
void cli_print_tensor(FILE *to, const mica_type *type, const void *data);

/* Compares the device with the reference on a handful of graphs; prints a line for each. Returns
 * the number of disagreements. */
int cli_self_check(mica_device *device);

#endif
