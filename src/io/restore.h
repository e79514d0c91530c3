/* io/restore.h: what the variables and tables of a SavedModel hold when it is loaded.
 *
 * The file says it by nodes: an assignment to a variable of a result of RestoreV2, whose operand
 * has the keys of the checkpoint; keys and values that are put into a table, or the text that they
 * are in; in the graph itself or in functions that it calls. They are followed, not run. */
#ifndef MICA_IO_RESTORE_H
#define MICA_IO_RESTORE_H

#include "io/attr_value.h"

typedef struct io_source {
    const char *key; /* of the checkpoint, or NULL: */
    size_t length;
    mica_tf_value value; /* a constant of the file */
} io_source;

/* `resource` is a node of the file's own graph: a variable, with one source, or a table, with one
 * for its keys and one for its values. */
typedef mica_status (*io_restore_visit)(void *context, int32_t resource, const io_source *sources,
                                        int32_t n);
typedef struct io_restoring {
    const io_graph_def *def;
    io_values *values;
    io_restore_visit visit;
    void *context;
    bool takes_constants; /* that variables are given; else they are initial values */
    /* The path of the file that the text of a table is in, in memory that the caller frees: `node`
     * is what says it. */
    mica_status (*find_asset)(void *context, const io_node *node, char **out_path);
} io_restoring;

/* Calls `visit` for all that the node `first` leads to. */
MICA_MUST_CHECK mica_status io_visit_restored(const io_restoring *how, io_range first);

#endif
