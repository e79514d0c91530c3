/* mica devices, mica ops: the two tables. */
#include "cli.h"

#include <string.h>

int cli_devices(int argc, char **argv) {
    if (argc > 0) return cli_usage("devices takes no arguments, not '%s'", argv[0]);
    mica_device_info info = {.size = sizeof info};
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++) {
        printf("%-8s %-9s %s\n", info.name, info.available ? "available" : "absent",
               info.description);
        info.size = sizeof info;
    }
    return CLI_DONE;
}

static void print_json_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned char)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_json_field(const char *name, const char *value) {
    printf(", \"%s\": ", name);
    if (value)
        print_json_string(value);
    else
        fputs("null", stdout);
}

static void print_json_row(mica_op op) {
    const mica_op_info *info = mica_op_describe(op);
    fputs("{\"name\": ", stdout);
    print_json_string(info->name);
    printf(", \"arity\": %d", info->arity);
    print_json_field("class", info->op_class);
    print_json_field("dtypes", info->dtypes);
    fputs(", \"takes\": [", stdout);
    const char *separator = "\"";
    for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++) {
        if (!mica_op_takes(op, (mica_dtype)dtype)) continue;
        printf("%s%s\"", separator, mica_dtype_name((mica_dtype)dtype));
        separator = ", \"";
    }
    putchar(']');
    fputs(", \"attributes\": [", stdout);
    for (int32_t i = 0; i < info->n_attributes; i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        print_json_string(info->attribute_names[i]);
        print_json_field("kind", info->attribute_kinds[i]);
        putchar('}');
    }
    putchar(']');
    print_json_field("shape", info->shape_rule);
    print_json_field("jvp", info->jvp_rule);
    print_json_field("transpose", info->transpose_rule);
    print_json_field("vmap", info->vmap_rule);
    print_json_field("expression", info->expression);
    print_json_field("meaning", info->meaning);
    putchar('}');
}

static void print_text_row(const mica_op_info *info) {
    char attributes[256] = "";
    size_t at = 0;
    for (int32_t i = 0; i < info->n_attributes && at < sizeof attributes; i++)
        at += (size_t)snprintf(attributes + at, sizeof attributes - at, "%s%s", i ? ", " : "",
                               info->attribute_names[i]);
    char arity[16] = "N";
    if (info->arity >= 0) snprintf(arity, sizeof arity, "%d", info->arity);
    printf("%-21s %-2s %-12s %-15s %s%s%s\n", info->name, arity, info->op_class, info->dtypes,
           info->meaning, at ? "; attributes: " : "", attributes);
}

int cli_ops(int argc, char **argv) {
    bool json = argc > 0 && !strcmp(argv[0], "--json");
    if (argc > (json ? 1 : 0)) return cli_usage("ops: unknown argument '%s'", argv[json ? 1 : 0]);
    if (json) fputs("[\n", stdout);
    for (int i = 0; i < MICA_OP_COUNT; i++) {
        const mica_op_info *info = mica_op_describe((mica_op)i);
        if (!json) {
            print_text_row(info);
            continue;
        }
        print_json_row((mica_op)i);
        fputs(i + 1 < MICA_OP_COUNT ? ",\n" : "\n]\n", stdout);
    }
    return CLI_DONE;
}
