/* mica view: runs a script of Python and writes a page about what was compiled for it. The script
 * is run as it is, by this process, with MICA_REPORT set; a script that imports tensorflow or keras
 * is run with mica.tf in their place. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define PAGE "mica-report.html"

static bool is_word(const char *text, const char *word) {
    size_t n = strlen(word);
    return !strncmp(text, word, n) && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

/* A line `import tensorflow ...`, `from keras ...`, at any depth; also `import numpy, keras`. */
static bool imports_tensorflow(const char *line, size_t length) {
    char text[512];
    if (length >= sizeof text) length = sizeof text - 1;
    memcpy(text, line, length);
    text[length] = 0;
    const char *at = text + strspn(text, " \t");
    if (!is_word(at, "import") && !is_word(at, "from")) return false;
    bool one = is_word(at, "from");
    for (at += one ? 4 : 6; *at && *at != '#'; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " \t");
        if (is_word(at, "tensorflow") || is_word(at, "keras")) return true;
        if (one) break;
    }
    return false;
}

static bool script_imports_tensorflow(const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (imports_tensorflow(text, n)) return true;
        text += n + (text[n] == '\n');
    }
    return false;
}

/* Settings that the caller has made already stay. */
static bool set_environment(const char *page, const char *script) {
    const char *slash = strrchr(script, '/');
    return !setenv("MICA_REPORT", page, 1) && !setenv("MICA_TIER", "compiled", 0) &&
           !setenv("MICA_REPORT_TITLE", slash ? slash + 1 : script, 0);
}

static int run(const char *page, char *script, int argc, char **argv) {
    char *text = NULL;
    size_t size;
    mica_status status = cli_read_file(script, &text, &size);
    if (status) return cli_fail(status);
    bool is_tensorflow = script_imports_tensorflow(text);
    free(text);
    char **arguments = calloc((size_t)argc + 5, sizeof *arguments);
    if (!arguments || !set_environment(page, script)) {
        free(arguments);
        fputs("mica: out of memory\n", stderr);
        return CLI_FAILED;
    }
    static char option[] = "-m", module[] = "mica.tf";
    int n = 1;
    if (is_tensorflow) arguments[n++] = option, arguments[n++] = module;
    arguments[n++] = script;
    for (int i = 0; i < argc; i++) arguments[n++] = argv[i];
    fprintf(stderr, "mica: %s will be written to %s\n", script, page);
    int code = cli_run_python("view", arguments);
    free(arguments);
    return code;
}

int cli_view(int argc, char **argv) {
    const char *page = PAGE;
    int i = 0;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--output") && strcmp(argv[i], "-o"))
            return cli_usage("view has no option '%s'", argv[i]);
        if (++i == argc) return cli_usage("--output needs the name of a file");
        page = argv[i];
    }
    if (i == argc) return cli_usage("view needs a script of Python");
    return run(page, argv[i], argc - i - 1, argv + i + 1);
}
