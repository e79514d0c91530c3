/* Finding Python and this package for it, for the commands that run Python.
 *
 * Which Python: MICA_PYTHON, else the one beside this program (as in a virtual environment), else
 * python3 on the PATH. In a build tree it finds the package that was built there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define PATH_CAPACITY 4096

/* The folder of the program as it was called, "" when it cannot be told. */
static void program_folder(char *folder, size_t capacity) {
    char path[PATH_CAPACITY];
    folder[0] = 0;
    if (!cli_find_program(cli_program, path, sizeof path)) return;
    char *slash = strrchr(path, '/');
    if (!slash) return;
    *slash = 0;
    snprintf(folder, capacity, "%s", path);
}

static bool find_python(char *path, size_t capacity) {
    static const char *const names[] = {"python3", "python"};
    const char *wanted = getenv("MICA_PYTHON");
    if (wanted && *wanted) return cli_find_program(wanted, path, capacity);
    char folder[PATH_CAPACITY];
    program_folder(folder, sizeof folder);
    for (int i = 0; i < 2 && folder[0]; i++) {
        int length = snprintf(path, capacity, "%s/%s", folder, names[i]);
        if (length > 0 && (size_t)length < capacity && access(path, X_OK) == 0) return true;
    }
    return cli_find_program(names[0], path, capacity);
}

/* <build>/bin/mica stands beside <build>/python. */
static bool add_build_tree(void) {
    char folder[PATH_CAPACITY], package[PATH_CAPACITY + 32], all[2 * PATH_CAPACITY + 64];
    program_folder(folder, sizeof folder);
    snprintf(package, sizeof package, "%s/../python", folder);
    char probe[PATH_CAPACITY + 64];
    snprintf(probe, sizeof probe, "%s/mica/bench.py", package);
    if (!folder[0] || access(probe, R_OK) != 0) return true;
    const char *old = getenv("PYTHONPATH");
    int length = snprintf(all, sizeof all, "%s%s%s", package, old && *old ? ":" : "",
                          old && *old ? old : "");
    return length > 0 && (size_t)length < sizeof all && setenv("PYTHONPATH", all, 1) == 0;
}

int cli_run_python(const char *purpose, char **arguments) {
    char python[PATH_CAPACITY];
    if (!find_python(python, sizeof python)) {
        const char *wanted = getenv("MICA_PYTHON");
        fprintf(stderr, "mica: %s needs Python: %s was not found\n", purpose,
                wanted && *wanted ? wanted : "python3");
        return CLI_FAILED;
    }
    if (!add_build_tree()) {
        fputs("mica: out of memory\n", stderr);
        return CLI_FAILED;
    }
    arguments[0] = python;
    fflush(stdout);
    execv(python, arguments);
    fprintf(stderr, "mica: %s: %s\n", python, strerror(errno));
    return CLI_FAILED;
}
