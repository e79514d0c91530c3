/* The table of commands. Dispatch, help (docs/mica.1 is made of it) and shell completion come out
 * of it; what an option does is in the command's own file. */
#include <string.h>

#include "cli.h"

static int version(int argc, char **argv) {
    if (argc > 0) return cli_usage("version takes no arguments, not '%s'", argv[0]);
    printf("mica %s\n", mica_version());
    return CLI_DONE;
}

const cli_command cli_commands[] = {
    {"devices", cli_devices, "", "every kind of device, present or not", NULL, {{0}}},
    {"ops",
     cli_ops,
     "[--json]",
     "the table of primitives",
     "A line for each: name, operands, class, dtypes, meaning, attributes.",
     {{"--json", NULL, "all that the table says, for programs"}}},
    {"run",
     cli_run,
     "GRAPH.txt [INPUT...] [--device NAME] [--seed N]",
     "run a printed graph and print its results",
     "Inputs are .npy or .raw files in the order of the graph's parameters; missing ones are made\n"
     "from the seed.",
     {{"--device", "NAME", "where to run it (any)"},
      {"--seed", "N", "of the inputs that are not given (0)"}}},
    {"show",
     cli_show,
     "MODEL [--device NAME]",
     "the signatures and variables of a SavedModel",
     NULL,
     {{"--device", "NAME", "where to load it (cpu)"}}},
    {"predict",
     cli_predict,
     "MODEL --inputs [NAME=]INPUT.npy... [--signature NAME] [--device NAME]",
     "run a signature of a SavedModel and print its outputs",
     "NAME= may be left out where the signature has one input; 'mica show MODEL' lists them.",
     {{"--inputs", "[NAME=]INPUT.npy...", "the inputs"},
      {"--signature", "NAME", "which signature (serving_default)"},
      {"--device", "NAME", "where to run it (any)"}}},
    {"records",
     cli_records,
     "FOLDER | PICTURES LABELS --output PREFIX [--size MB] [--seed N]",
     "pictures as TFRecord files of about 100 MB",
     "FOLDER has a folder of pictures (JPEG, PNG, GIF, BMP) for each class; PICTURES and LABELS "
     "are\n"
     "IDX files, as those of MNIST are, or .gz files of them. PREFIX-00000-of-00003 and so on "
     "have\n"
     "a tf.train.Example message for each picture.",
     {{"--output", "PREFIX", "what the names of the files begin with"},
      {"--size", "MB", "about so large is a file (100)"},
      {"--seed", "N", "shuffle, by this number; without it records stand as they are found"}}},
    {"bench",
     cli_bench,
     "ops [PART...] [--json] [--check] [--threads N]",
     "time each primitive beside numpy, on 1M elements",
     "PARTs select primitives by parts of their names. It needs Python with numpy.",
     {{"--json", NULL, "for programs"},
      {"--check", NULL, "fail when one is slower than numpy without a stated reason"},
      {"--threads", "N", "on both sides (2)"}}},
    {"view",
     cli_view,
     "[--output PAGE.html] SCRIPT.py [ARGUMENT...]",
     "run a script of Python and write a page about what was compiled",
     "The page shows graphs before and after each pass, what was fused and why not, generated "
     "code,\n"
     "time and bytes of each kernel, memory over time, and what ran on the host. Scripts that "
     "import\n"
     "tensorflow or keras run on mica.tf. Code is compiled before the first run, unless MICA_TIER\n"
     "says otherwise. MICA_REPORT=PAGE.html does the same for any program.",
     {{"--output", "PAGE.html", "the page (mica-report.html)"}}},
    {"upgrade",
     cli_upgrade,
     "IN OUT",
     "a program of TensorFlow 1 in the names of TensorFlow 2",
     "IN and OUT are files or folders. Each change is printed with its line, and each place that\n"
     "needs a change by hand as TO DO. Programs that build graphs for sessions go on doing so.",
     {{0}}},
    {"export",
     cli_export,
     "SCRIPT.py:FUNCTION --output FILE",
     "run a script of Python and write a function of it for programs of C",
     "FUNCTION is one of mica.jit or tf.function; types are those of its last call. FILE.c is C\n"
     "that needs libc and libm alone, with the bits of the run; FILE.graph is for programs that\n"
     "have the library (mica_graph_deserialize).",
     {{"--output", "FILE", "FILE.c or FILE.graph"}}},
    {"doctor",
     cli_doctor,
     "[--device NAME]",
     "what was found, what was not and why",
     "It also checks the numbers of each device against the reference.",
     {{"--device", "NAME", "check this one alone"}}},
    {"completion",
     cli_completion,
     "bash|zsh",
     "a shell's completion of this command",
     "For one session: eval \"$(mica completion bash)\"",
     {{0}}},
    {"version", version, "", "the version", NULL, {{0}}},
    {"help", cli_help, "[COMMAND]", "what the commands are, or what one does", NULL, {{0}}},
    {0},
};

const cli_command *cli_find_command(const char *name) {
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) name = "help";
    if (!strcmp(name, "--version")) name = "version";
    for (const cli_command *c = cli_commands; c->name; c++)
        if (!strcmp(name, c->name)) return c;
    return NULL;
}

static bool has_option(const cli_command *c, int i) {
    return i < CLI_MAX_OPTIONS && c->options[i].name;
}

/* ---- help -------------------------------------------------------------------------------------*/

static void print_option(const cli_option *option) {
    printf("  %s", option->name);
    int width = (int)strlen(option->name);
    if (option->value) width += printf(" %s", option->value);
    printf("%*s%s\n", width < 18 ? 20 - width : 2, "", option->meaning);
}

void cli_print_help(const cli_command *c) {
    printf("usage: mica %s%s%s\n\n", c->name, *c->arguments ? " " : "", c->arguments);
    printf("  %s\n", c->meaning);
    if (c->more) printf("\n%s\n", c->more);
    putchar('\n');
    for (int i = 0; has_option(c, i); i++) print_option(&c->options[i]);
    print_option(&(cli_option){"--help", NULL, "this text"});
}

static void print_overview(void) {
    fputs("usage: mica COMMAND [ARGUMENTS]\n\n", stdout);
    for (const cli_command *c = cli_commands; c->name; c++)
        printf("  %-12s%s\n", c->name, c->meaning);
    fputs("\n'mica COMMAND --help' says more about one.\n", stdout);
}

int cli_help(int argc, char **argv) {
    if (argc > 1) return cli_usage("help takes one command, not '%s' too", argv[1]);
    const cli_command *c = argc ? cli_find_command(argv[0]) : NULL;
    if (argc && !c) return cli_usage("there is no command '%s'", argv[0]);
    if (c)
        cli_print_help(c);
    else
        print_overview();
    return CLI_DONE;
}

/* ---- completion -------------------------------------------------------------------------------*/

static void complete_bash(void) {
    fputs("_mica() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} words=--help\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "        words=\"--help --version",
          stdout);
    for (const cli_command *c = cli_commands; c->name; c++) printf(" %s", c->name);
    fputs("\"\n        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (const cli_command *c = cli_commands; c->name; c++) {
        if (!has_option(c, 0)) continue;
        printf("    %s) words=\"--help", c->name);
        for (int i = 0; has_option(c, i); i++) printf(" %s", c->options[i].name);
        fputs("\" ;;\n", stdout);
    }
    fputs("    esac\n"
          "    case $word in\n"
          "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -o filenames -F _mica mica\n",
          stdout);
}

/* Text inside single quotes, where zsh's completion gives a meaning to :, [ and ]. */
static void print_zsh(const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(":[]", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_zsh_option(const cli_option *option) {
    printf(" '%s[", option->name);
    print_zsh(option->meaning);
    putchar(']');
    if (option->value) {
        putchar(':');
        print_zsh(option->value);
        fputs(":_files", stdout);
    }
    putchar('\'');
}

static void complete_zsh(void) {
    fputs("#compdef mica\n_mica() {\n    local -a commands\n    commands=(\n", stdout);
    for (const cli_command *c = cli_commands; c->name; c++) {
        printf("        '%s:", c->name);
        print_zsh(c->meaning);
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          stdout);
    for (const cli_command *c = cli_commands; c->name; c++) {
        printf("    %s) _arguments", c->name);
        for (int i = 0; has_option(c, i); i++) print_zsh_option(&c->options[i]);
        print_zsh_option(&(cli_option){"--help", NULL, "help"});
        fputs(" '*:file:_files' ;;\n", stdout);
    }
    fputs("    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _mica ]; then _mica \"$@\"; else compdef _mica mica; fi\n",
          stdout);
}

int cli_completion(int argc, char **argv) {
    if (argc == 1 && !strcmp(argv[0], "bash"))
        complete_bash();
    else if (argc == 1 && !strcmp(argv[0], "zsh"))
        complete_zsh();
    else
        return cli_usage("completion takes the name of a shell: bash or zsh");
    return CLI_DONE;
}
