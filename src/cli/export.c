/* mica export: functions are Python's, so Python writes them (mica._export_main). */
#include <stdlib.h>

#include "cli.h"

int cli_export(int argc, char **argv) {
    if (argc < 1) return cli_usage("export needs SCRIPT.py:FUNCTION and --output FILE");
    char **arguments = calloc((size_t)argc + 4, sizeof *arguments);
    if (!arguments) {
        fputs("mica: out of memory\n", stderr);
        return CLI_FAILED;
    }
    static char module[] = "mica._export_main", option[] = "-m";
    arguments[1] = option;
    arguments[2] = module;
    for (int i = 0; i < argc; i++) arguments[3 + i] = argv[i];
    int code = cli_run_python("export", arguments);
    free(arguments);
    return code;
}
