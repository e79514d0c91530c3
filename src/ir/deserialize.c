/* Graphs from bytes; ir/serialize.c describes them. Every count is checked against the bytes that
 * are left before memory is asked for, and every node is made by mica_node_create, so whatever
 * the bytes are, the answer is a graph that verifies, or a status. */
#include <string.h>

#include "ir/bytes.h"
#include "ir/graph.h"
#include "ir/numbers.h"

/* An op of the file's table: which op it is here and where its attributes go. */
typedef struct file_op {
    mica_op op;
    int32_t n_attributes;
    int32_t places[8];
} file_op;

typedef struct reader {
    mica_byte_reader bytes;
    mica_arena tables, scratch; /* of the file; of the node being read */
    mica_dtype *dtypes;
    uint32_t n_dtypes;
    file_op *ops;
    uint32_t n_ops;
    mica_graph **graphs; /* one reference each */
    uint32_t n_graphs;
} reader;

#define CORRUPT(...) MICA_ERROR(MICA_DATA_LOSS, "[deserialize] " __VA_ARGS__)

static mica_status check_end(const reader *r) {
    return r->bytes.failed ? CORRUPT("the graph is cut short") : NULL;
}

static mica_status read_string(reader *r, mica_arena *arena, char **out) {
    uint32_t n = mica_read_count(&r->bytes, 1);
    const uint8_t *bytes = mica_read_bytes(&r->bytes, n);
    MICA_TRY(check_end(r));
    char *string = mica_arena_alloc(arena, (size_t)n + 1);
    if (!string) return MICA_NO_MEMORY();
    memcpy(string, bytes, n);
    if (strlen(string) != n) return CORRUPT("a string holds a zero");
    *out = string;
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------*/

static mica_status read_dtypes(reader *r) {
    r->n_dtypes = mica_read_count(&r->bytes, 4);
    MICA_TRY(check_end(r));
    r->dtypes = mica_arena_alloc(&r->tables, r->n_dtypes * sizeof *r->dtypes);
    if (!r->dtypes) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < r->n_dtypes; i++) {
        char *name;
        MICA_TRY(read_string(r, &r->tables, &name));
        /* A dtype that is not known here matters only if something has it. */
        if (!mica_dtype_parse(name, &r->dtypes[i])) r->dtypes[i] = MICA_DTYPE_COUNT;
    }
    return NULL;
}

static mica_status read_op_attribute(reader *r, file_op *op) {
    char *name;
    MICA_TRY(read_string(r, &r->tables, &name));
    uint8_t kind = mica_read_u8(&r->bytes);
    MICA_TRY(check_end(r));
    const mica_op_info *info = mica_op_describe(op->op);
    for (int32_t i = 0; i < info->n_attributes; i++) {
        if (strcmp(info->attribute_names[i], name) != 0) continue;
        for (int32_t k = 0; k < op->n_attributes; k++)
            if (op->places[k] == i) return CORRUPT("attribute '%s' comes twice", name);
        if (kind != (uint8_t)mica_op_attr_kind(op->op, i)) break;
        op->places[op->n_attributes++] = i;
        return NULL;
    }
    return CORRUPT("%s has no attribute '%s' of kind %d", info->name, name, kind);
}

static mica_status read_ops(reader *r) {
    r->n_ops = mica_read_count(&r->bytes, 8);
    MICA_TRY(check_end(r));
    r->ops = mica_arena_alloc(&r->tables, r->n_ops * sizeof *r->ops);
    if (!r->ops) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < r->n_ops; i++) {
        char *name;
        MICA_TRY(read_string(r, &r->tables, &name));
        if (!mica_op_parse(name, &r->ops[i].op)) return CORRUPT("there is no op '%s'", name);
        uint32_t n = mica_read_count(&r->bytes, 5);
        for (uint32_t k = 0; k < n; k++) MICA_TRY(read_op_attribute(r, &r->ops[i]));
    }
    return check_end(r);
}

/* ---- types and attributes -------------------------------------------------------------------*/

static mica_status read_type(reader *r, mica_type *out) {
    uint8_t kind = mica_read_u8(&r->bytes), dtype = mica_read_u8(&r->bytes);
    uint8_t rank = mica_read_u8(&r->bytes);
    if (kind > MICA_LIST || rank > MICA_MAX_RANK || (kind == MICA_TOKEN && rank))
        return CORRUPT("a type of kind %d and rank %d", kind, rank);
    if (kind != MICA_TOKEN && (dtype >= r->n_dtypes || r->dtypes[dtype] == MICA_DTYPE_COUNT))
        return CORRUPT("there is no dtype %d", dtype);
    *out = (mica_type){.kind = (mica_type_kind)kind, .rank = rank};
    if (kind != MICA_TOKEN) out->dtype = r->dtypes[dtype];
    for (int32_t i = 0; i < rank; i++) out->dims[i] = (int64_t)mica_read_u64(&r->bytes);
    return check_end(r);
}

static mica_status read_data(reader *r, mica_attr *attr) {
    mica_type *type = &attr->as.data.type;
    MICA_TRY(read_type(r, type));
    MICA_TRY(mica_type_check(type, "deserialize"));
    size_t n = mica_type_bytes(type);
    const uint8_t *bytes = mica_read_bytes(&r->bytes, n);
    MICA_TRY(check_end(r));
    attr->as.data.bytes = NULL;
    if (!n) return NULL;
    uint8_t *copy = mica_arena_alloc(&r->scratch, n);
    if (!copy) return MICA_NO_MEMORY();
    mica_number_little_endian(type->dtype, bytes, copy, n / mica_dtype_bytes(type->dtype));
    attr->as.data.bytes = copy;
    return NULL;
}

static mica_status read_types(reader *r, mica_attr *attr) {
    uint32_t n = mica_read_count(&r->bytes, 3);
    mica_type *types = mica_arena_alloc(&r->scratch, n * sizeof *types);
    if (!types) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++) MICA_TRY(read_type(r, &types[i]));
    attr->as.types = (mica_types){types, (int32_t)n};
    return check_end(r);
}

static mica_status read_ints(reader *r, mica_attr *attr) {
    uint32_t n = mica_read_count(&r->bytes, 8);
    int64_t *ints = mica_arena_alloc(&r->scratch, n * sizeof *ints);
    if (!ints) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++) ints[i] = (int64_t)mica_read_u64(&r->bytes);
    attr->as.ints = (mica_ints){ints, (int32_t)n};
    return check_end(r);
}

static mica_status read_attr(reader *r, mica_attr *attr) {
    char *string;
    uint8_t dtype;
    switch (attr->kind) {
    case MICA_ATTR_INT: attr->as.integer = (int64_t)mica_read_u64(&r->bytes); return check_end(r);
    case MICA_ATTR_INTS: return read_ints(r, attr);
    case MICA_ATTR_STRING:
        MICA_TRY(read_string(r, &r->scratch, &string));
        attr->as.string = string;
        return NULL;
    case MICA_ATTR_DTYPE:
        dtype = mica_read_u8(&r->bytes);
        if (dtype >= r->n_dtypes) return CORRUPT("there is no dtype %d", dtype);
        attr->as.integer = (int64_t)r->dtypes[dtype];
        return check_end(r);
    case MICA_ATTR_DATA: return read_data(r, attr);
    case MICA_ATTR_TYPES: return read_types(r, attr);
    }
    return NULL;
}

/* Attributes that the file's table does not have are 0, (), "". */
static mica_status read_attrs(reader *r, const file_op *op, mica_attr *attrs) {
    for (int32_t i = 0; i < mica_op_describe(op->op)->n_attributes; i++)
        attrs[i] = (mica_attr){.kind = mica_op_attr_kind(op->op, i)};
    for (int32_t i = 0; i < op->n_attributes; i++) MICA_TRY(read_attr(r, &attrs[op->places[i]]));
    return NULL;
}

/* ---- graphs ---------------------------------------------------------------------------------*/

static mica_status read_value(reader *r, const mica_graph *g, mica_value *out) {
    uint32_t id = mica_read_u32(&r->bytes), index = mica_read_u32(&r->bytes);
    MICA_TRY(check_end(r));
    if (id >= (uint32_t)g->n_nodes || index >= (uint32_t)g->nodes[id]->n_results)
        return CORRUPT("graph '%s' has no value %u.%u yet", g->name, id, index);
    *out = (mica_value){g->nodes[id], (int32_t)index};
    return NULL;
}

/* An error of building as a loss of data, but for want of memory. */
static mica_status as_loss(const mica_graph *g, mica_status status) {
    if (!status || mica_status_code(status) == MICA_OUT_OF_MEMORY ||
        mica_status_code(status) == MICA_DATA_LOSS)
        return status;
    mica_status corrupt =
        CORRUPT("node %d of graph '%s': %s", g->n_nodes, g->name, mica_status_message(status));
    mica_status_release(status);
    return corrupt;
}

static mica_status sticky(const mica_graph *g) {
    return as_loss(g, mica_graph_check(g));
}

static mica_status read_application(reader *r, mica_graph *g, const file_op *op) {
    uint32_t n_operands = mica_read_count(&r->bytes, 8);
    mica_value *operands = mica_arena_alloc(&r->scratch, n_operands * sizeof *operands);
    if (!operands) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < n_operands; i++) MICA_TRY(read_value(r, g, &operands[i]));
    uint32_t n_regions = mica_read_count(&r->bytes, 4);
    mica_graph **regions = mica_arena_alloc(&r->scratch, n_regions * sizeof *regions);
    if (!regions) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < n_regions; i++) {
        uint32_t place = mica_read_u32(&r->bytes);
        if (place >= r->n_graphs) return CORRUPT("there is no graph %u yet", place);
        regions[i] = r->graphs[place];
    }
    mica_attr attrs[8];
    MICA_TRY(read_attrs(r, op, attrs));
    MICA_TRY(check_end(r));
    mica_node *n = mica_node_create(g, op->op, operands, (int32_t)n_operands, attrs, regions,
                                    (int32_t)n_regions);
    return n ? NULL : sticky(g);
}

static mica_status read_node(reader *r, mica_graph *g) {
    uint32_t op = mica_read_u32(&r->bytes);
    MICA_TRY(check_end(r));
    if (op != UINT32_MAX) {
        if (op >= r->n_ops) return CORRUPT("there is no op %u", op);
        return read_application(r, g, &r->ops[op]);
    }
    mica_type type;
    MICA_TRY(read_type(r, &type));
    return mica_value_is_null(mica_parameter(g, &type)) ? sticky(g) : NULL;
}

static mica_status read_graph_body(reader *r, mica_graph *g) {
    uint32_t n_nodes = mica_read_count(&r->bytes, 7);
    for (uint32_t i = 0; i < n_nodes; i++) {
        mica_status status = as_loss(g, read_node(r, g));
        mica_arena_deinit(&r->scratch);
        MICA_TRY(status);
    }
    uint32_t n_outputs = mica_read_count(&r->bytes, 8);
    for (uint32_t i = 0; i < n_outputs; i++) {
        mica_value value;
        MICA_TRY(read_value(r, g, &value));
        mica_output(g, value);
    }
    MICA_TRY(check_end(r));
    return sticky(g);
}

static mica_status read_graphs(reader *r) {
    uint32_t n = mica_read_count(&r->bytes, 12);
    MICA_TRY(check_end(r));
    if (n == 0) return CORRUPT("there is no graph");
    r->graphs = mica_arena_alloc(&r->tables, n * sizeof *r->graphs);
    if (!r->graphs) return MICA_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++) {
        char *name;
        mica_graph *g;
        MICA_TRY(read_string(r, &r->tables, &name));
        MICA_TRY(mica_graph_create(name, &g));
        mica_status status = read_graph_body(r, g);
        r->graphs[i] = g;
        r->n_graphs += status ? 0 : 1;
        if (status) mica_graph_release(g);
        MICA_TRY(status);
    }
    return r->bytes.at == r->bytes.end ? NULL : CORRUPT("bytes follow the graph");
}

static mica_status read_header(reader *r) {
    const uint8_t *magic = mica_read_bytes(&r->bytes, 8);
    if (!magic || memcmp(magic, MICA_GRAPH_MAGIC, 8) != 0) return CORRUPT("this is no graph");
    uint32_t version = mica_read_u32(&r->bytes);
    uint64_t checksum = mica_read_u64(&r->bytes);
    MICA_TRY(check_end(r));
    if (version == 0 || version > MICA_GRAPH_FORMAT_VERSION)
        return CORRUPT("version %u; this library reads up to %d", version,
                       MICA_GRAPH_FORMAT_VERSION);
    if (checksum != mica_checksum(r->bytes.at, (size_t)(r->bytes.end - r->bytes.at)))
        return CORRUPT("the checksum does not match");
    return NULL;
}

static mica_status read_all(reader *r) {
    MICA_TRY(read_header(r));
    MICA_TRY(read_dtypes(r));
    MICA_TRY(read_ops(r));
    return read_graphs(r);
}

mica_status mica_graph_deserialize(const uint8_t *bytes, size_t size, mica_graph **out_graph) {
    MICA_GIVEN(out_graph);
    *out_graph = NULL;
    if (!bytes) return MICA_INVALID("[deserialize] the bytes are at a null address");
    reader r = {.bytes = {bytes, bytes + size, false}};
    mica_arena_init(&r.tables);
    mica_arena_init(&r.scratch);
    mica_status status = read_all(&r);
    if (!status) {
        *out_graph = r.graphs[r.n_graphs - 1];
        mica_graph_retain(*out_graph);
    }
    for (uint32_t i = 0; i < r.n_graphs; i++) mica_graph_release(r.graphs[i]);
    mica_arena_deinit(&r.tables);
    mica_arena_deinit(&r.scratch);
    return status;
}
