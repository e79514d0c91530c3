/* mica upgrade: programs of TensorFlow 1 in the names of TensorFlow 2. The work is mica.upgrade's,
 * in Python, whose grammar the programs are read with. */
#include "cli.h"

int cli_upgrade(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        if (argv[i][0] == '-' && argv[i][1])
            return cli_usage("upgrade has no option '%s'", argv[i]);
    if (argc != 2) return cli_usage("upgrade needs a file or folder and the name of the new one");
    static char option[] = "-m", module[] = "mica.upgrade";
    char *arguments[] = {NULL, option, module, argv[0], argv[1], NULL};
    return cli_run_python("upgrade", arguments);
}
