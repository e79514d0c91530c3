/* io/saved_model.h: what saved_model.c and saved_model_save.c share: a model that is loaded. */
#ifndef MICA_IO_SAVED_MODEL_H
#define MICA_IO_SAVED_MODEL_H

#include "base/memory.h"
#include "base/platform.h"
#include "io/graph_build.h"
#include "io/restore.h"
#include "mica/io.h"
#include "mica/saved_model.h"

typedef struct io_signature {
    mica_signature about;
    io_range *fetches;    /* the tensors of the outputs */
    io_feed *feeds;       /* of the inputs */
    mica_tf_graph *graph; /* made when it is first asked for */
    int32_t *captured;    /* numbers of resources */
    int32_t n_captured;
} io_signature;

/* Which resource a stored value was restored to. */
typedef struct io_stored {
    int32_t resource; /* -1: none */
    int32_t part;     /* of a table: 0 its keys, 1 its values */
} io_stored;

struct mica_saved_model {
    mica_refcount references;
    mica_device *device;
    mica_arena arena;
    char *folder, *path; /* path: of the file */
    uint8_t *bytes;      /* of the file, which everything points into */
    size_t size;
    io_range meta; /* MetaGraphDef */
    io_graph_def def;
    io_library library;
    bool has_library;
    io_object_graph objects;
    io_signature *signatures;
    int32_t n_signatures;
    mica_tf_value *resources; /* handles of variables, then of tables */
    mica_tf_value *initial;   /* for each resource, the value that the graph itself gave it */
    int32_t n_variables, n_resources;
    mica_tf_dtype (*table_dtypes)[2]; /* for each table: of keys and values */
    int32_t *same_as; /* for each node of the graph: the variable that it is a copy of; -1: none */
    int32_t *numbers; /* for each node of the graph: which resource it is; -1: none */
    io_fact *facts;   /* for each node of the graph, when it is a resource */
    mica_bundle *bundle; /* the stored values; NULL: there are none */
    io_stored *stored;   /* for each of them */
    mica_mutex lock;     /* of graphs being made */
};

/* Fills same_as; the stored values are open. `restore` is the node that restores them. */
MICA_MUST_CHECK mica_status io_find_copies(mica_saved_model *m, io_range restore);

#endif
