#include "compile/passes.h"

#include <string.h>

#include "base/log.h"
#include "base/platform.h"

const mica_pass mica_passes[] = {
    {"inline", mica_pass_inline},
    {"simplify", mica_pass_simplify},
    {"fuse", mica_pass_fuse},
    {"schedule", mica_pass_schedule},
    {NULL, NULL},
};

/* ---- selection --------------------------------------------------------------------------------*/

static const char *selection_or_environment(const char *selection) {
    if (!selection) selection = mica_environment("MICA_PASSES");
    return selection ? selection : "";
}

bool mica_pass_is_on(const char *selection, const char *name) {
    size_t length = strlen(name);
    for (const char *s = selection_or_environment(selection); *s;) {
        size_t n = strcspn(s, ",");
        if (n == length + 1 && s[0] == '-' && memcmp(s + 1, name, length) == 0) return false;
        s += n + (s[n] == ',');
    }
    return true;
}

static bool is_known(const char *name, size_t n) {
    if (n == 4 && memcmp(name, "plan", 4) == 0) return true;
    for (const mica_pass *pass = mica_passes; pass->name; pass++)
        if (strlen(pass->name) == n && memcmp(name, pass->name, n) == 0) return true;
    return false;
}

static mica_status check_selection(const char *selection) {
    for (const char *s = selection_or_environment(selection); *s;) {
        size_t n = strcspn(s, ",");
        if (n && (s[0] != '-' || !is_known(s + 1, n - 1)))
            return MICA_INVALID(
                "[passes] '%.*s' is not one of -inline, -simplify, -fuse, -schedule, "
                "-plan",
                (int)n, s);
        s += n + (s[n] == ',');
    }
    return NULL;
}

/* ---- running ----------------------------------------------------------------------------------*/

static bool verifies(void) {
#ifndef NDEBUG
    return true;
#else
    const char *text = mica_environment("MICA_VERIFY");
    return text && *text && strcmp(text, "0") != 0;
#endif
}

static void dump(const char *name, const mica_graph *g) {
    if (!mica_log_on(MICA_LOG_PASS)) return;
    char *text = NULL;
    mica_status status = mica_graph_print(g, &text);
    mica_log_write(MICA_LOG_PASS, "%s\n%s", name, status ? mica_status_message(status) : text);
    mica_status_release(status);
    mica_string_free(text);
}

mica_status mica_passes_run(const mica_graph *g, const char *selection, bool fuse,
                            mica_graph **out_graph) {
    *out_graph = NULL;
    MICA_TRY(check_selection(selection));
    mica_graph *current = (mica_graph *)g;
    mica_graph_retain(current);
    mica_status status = NULL;
    for (const mica_pass *pass = mica_passes; pass->name && !status; pass++) {
        bool is_fuse = pass->run == mica_pass_fuse, is_on = mica_pass_is_on(selection, pass->name);
        if (is_fuse ? !fuse : !is_on) continue;
        mica_graph *next = NULL;
        status = is_on ? pass->run(current, &next) : mica_pass_wrap(current, &next);
        if (status) break;
        mica_graph_release(current);
        current = next;
        dump(pass->name, current);
        if (verifies()) status = mica_graph_verify(current);
    }
    if (status)
        mica_graph_release(current);
    else
        *out_graph = current;
    return status;
}
