/* mica bench: the peers that things are timed beside are Python's, so Python does it (mica.bench).
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_bench(int argc, char **argv) {
    if (argc < 1 || strcmp(argv[0], "ops"))
        return cli_usage("bench takes a name: ops%s%s", argc ? ", not " : "", argc ? argv[0] : "");
    char **arguments = calloc((size_t)argc + 4, sizeof *arguments);
    if (!arguments) {
        fputs("mica: out of memory\n", stderr);
        return CLI_FAILED;
    }
    static char module[] = "mica.bench", option[] = "-m";
    arguments[1] = option;
    arguments[2] = module;
    for (int i = 0; i < argc; i++) arguments[3 + i] = argv[i];
    int code = cli_run_python("bench", arguments);
    free(arguments);
    return code;
}
