#include "compile/passes.h"

#include <string.h>

#include "base/log.h"
#include "base/platform.h"
#include "base/selection.h"

const mica_pass mica_passes[] = {
    {"inline", mica_pass_inline},     {"simplify", mica_pass_simplify},
    {"contract", mica_pass_contract}, {"fuse", mica_pass_fuse},
    {"schedule", mica_pass_schedule}, {NULL, NULL},
};

/* ---- selection --------------------------------------------------------------------------------*/

static bool is_known(const char *name, size_t n) {
    static const char *const others[] = {"match", "again", "plan", "replay"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && memcmp(name, others[i], n) == 0) return true;
    for (const mica_pass *pass = mica_passes; pass->name; pass++)
        if (strlen(pass->name) == n && memcmp(name, pass->name, n) == 0) return true;
    return false;
}

static mica_status check_selection(const char *selection) {
    for (const char *s = mica_selection_text(selection); *s;) {
        size_t n = strcspn(s, ",");
        if (n && (s[0] != '-' || !is_known(s + 1, n - 1)))
            return MICA_INVALID(
                "[passes] '%.*s' is not one of -match, -inline, -simplify, -contract, -fuse, "
                "-again, -schedule, -plan, -replay",
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

/* What follows a pass; the result takes the place of what it was made from. */
static mica_status replace(mica_graph **current, mica_graph *next, const char *name) {
    mica_graph_release(*current);
    *current = next;
    dump(name, next);
    return verifies() ? mica_graph_verify(next) : NULL;
}

mica_status mica_passes_run_for(const mica_graph *g, const char *selection, bool fuse,
                                const mica_claimer *claimer, mica_graph **out_graph) {
    *out_graph = NULL;
    MICA_TRY(check_selection(selection));
    mica_graph *current = (mica_graph *)g, *next = NULL;
    mica_graph_retain(current);
    mica_status status = NULL;
    dump("given", g);
    if (claimer && mica_selection_has(selection, "match")) {
        status = mica_match(current, claimer, &next);
        if (!status) status = replace(&current, next, "match");
    }
    for (const mica_pass *pass = mica_passes; pass->name && !status; pass++) {
        bool is_fuse = pass->run == mica_pass_fuse,
             is_on = mica_selection_has(selection, pass->name);
        if (is_fuse ? !fuse : !is_on) continue;
        if (pass->run == mica_pass_contract && (!claimer || claimer->keeps_products)) continue;
        bool is_short = fuse && pass->run == mica_pass_contract;
        bool is_again =
            is_fuse && claimer && claimer->computes_again && mica_selection_has(selection, "again");
        status = !is_on     ? mica_pass_wrap(current, &next)
                 : is_short ? mica_pass_contract_short(current, &next)
                 : is_again ? mica_pass_fuse_again(current, &next)
                            : pass->run(current, &next);
        if (!status) status = replace(&current, next, pass->name);
    }
    if (status)
        mica_graph_release(current);
    else
        *out_graph = current;
    return status;
}

mica_status mica_passes_run(const mica_graph *g, const char *selection, bool fuse,
                            mica_graph **out_graph) {
    return mica_passes_run_for(g, selection, fuse, NULL, out_graph);
}
