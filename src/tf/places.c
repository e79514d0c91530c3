/* Where nodes come from: the caller's line that ran when a node was made, named by the error of a
 * run. It is known where a front says how to find it (mica_set_caller_line). */
#include <string.h>

#include "report/report.h"
#include "tf/tf.h"

#define ORIGIN "\n\nDetected at node '"

/* Nodes that follow each other usually come from one line: they share its text. */
mica_status mica_tf_place_keep(mica_tf_graph *g, const char *place, const char **out_place) {
    const char *last = g->n_nodes ? g->nodes[g->n_nodes - 1].place : NULL;
    *out_place = NULL;
    if (!place || !*place) return NULL;
    *out_place = last && !strcmp(last, place) ? last : mica_arena_strdup(&g->arena, place);
    return *out_place ? NULL : MICA_NO_MEMORY();
}

mica_status mica_tf_place_find(mica_tf_graph *g, const char **out_place) {
    char place[400] = "";
    *out_place = NULL;
    if (!mica_report_find_line(place, sizeof place)) return NULL;
    return mica_tf_place_keep(g, place, out_place);
}

mica_status mica_tf_status_at(mica_status status, const char *name, const char *place) {
    mica_code code = mica_status_code(status);
    const char *line = place ? strrchr(place, ':') : NULL;
    if (!status || !line || code == MICA_OUT_OF_MEMORY || code == MICA_CALLBACK_ERROR ||
        code == MICA_CANCELLED || strstr(mica_status_message(status), ORIGIN))
        return status;
    mica_status placed = MICA_ERROR(
        code, "%s" ORIGIN "%s' defined at (most recent call last):\n  File \"%.*s\", line %s",
        mica_status_message(status), name, (int)(line - place), place, line + 1);
    mica_status_release(status);
    return placed;
}
