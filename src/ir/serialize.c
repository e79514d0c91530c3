/* Graphs as bytes, little-endian:
 *
 *     8 bytes "MICAGRPH", u32 version, u64 checksum of all that follows
 *     dtypes: u32 count, names
 *     ops:    u32 count, each: name, u32 attributes, each: name, u8 kind
 *     graphs: u32 count, inner ones first, the last is the graph itself; each:
 *             name, u32 nodes, nodes, u32 outputs, values
 *     node:   u32 op (place in the table above; all bits set for a parameter);
 *             a parameter: its type; else: u32 operands, values, u32 regions, u32 graph each,
 *             the attributes in the order of the table above
 *     value:  u32 node, u32 result     name, string: u32 length, bytes
 *     type:   u8 kind, u8 dtype (place in the table above), u8 rank, i64 each size
 *
 * Ops, attributes and dtypes go by name, so rows of the tables may move and ops may gain
 * attributes. Result types are not written: they are inferred again. */
#include <string.h>

#include "ir/bytes.h"
#include "ir/graph.h"
#include "ir/graph_list.h"
#include "ir/numbers.h"

typedef struct writer {
    mica_byte_writer bytes;
    mica_graph_list graphs;
    uint32_t op_places[MICA_OP_COUNT]; /* place in the file's table + 1; 0: not used */
} writer;

static void write_type(writer *w, const mica_type *type) {
    bool token = type->kind == MICA_TOKEN;
    mica_write_u8(&w->bytes, (uint8_t)type->kind);
    mica_write_u8(&w->bytes, token ? 0 : (uint8_t)type->dtype);
    mica_write_u8(&w->bytes, token ? 0 : (uint8_t)type->rank);
    for (int32_t i = 0; !token && i < type->rank; i++)
        mica_write_u64(&w->bytes, (uint64_t)type->dims[i]);
}

static void write_value(writer *w, mica_value value) {
    mica_write_u32(&w->bytes, (uint32_t)value.node->id);
    mica_write_u32(&w->bytes, (uint32_t)value.index);
}

static void write_data(writer *w, const mica_attr *attr) {
    const mica_type *type = &attr->as.data.type;
    size_t bytes = mica_type_bytes(type);
    write_type(w, type);
    uint8_t *to = mica_write_room(&w->bytes, bytes);
    if (to && bytes)
        mica_number_little_endian(type->dtype, attr->as.data.bytes, to,
                                  bytes / mica_dtype_bytes(type->dtype));
}

static void write_attr(writer *w, const mica_attr *attr) {
    switch (attr->kind) {
    case MICA_ATTR_INT: mica_write_u64(&w->bytes, (uint64_t)attr->as.integer); break;
    case MICA_ATTR_INTS:
        mica_write_u32(&w->bytes, (uint32_t)attr->as.ints.n);
        for (int32_t i = 0; i < attr->as.ints.n; i++)
            mica_write_u64(&w->bytes, (uint64_t)attr->as.ints.data[i]);
        break;
    case MICA_ATTR_STRING: mica_write_string(&w->bytes, attr->as.string); break;
    case MICA_ATTR_DTYPE: mica_write_u8(&w->bytes, (uint8_t)attr->as.integer); break;
    case MICA_ATTR_DATA: write_data(w, attr); break;
    case MICA_ATTR_TYPES:
        mica_write_u32(&w->bytes, (uint32_t)attr->as.types.n);
        for (int32_t i = 0; i < attr->as.types.n; i++) write_type(w, &attr->as.types.data[i]);
        break;
    }
}

static void write_node(writer *w, const mica_node *n) {
    if (n->op == MICA_OP_PARAMETER) {
        mica_write_u32(&w->bytes, UINT32_MAX);
        write_type(w, &n->results[0]);
        return;
    }
    mica_write_u32(&w->bytes, w->op_places[n->op] - 1);
    mica_write_u32(&w->bytes, (uint32_t)n->n_operands);
    for (int32_t i = 0; i < n->n_operands; i++) write_value(w, n->operands[i]);
    mica_write_u32(&w->bytes, (uint32_t)n->n_regions);
    for (int32_t i = 0; i < n->n_regions; i++)
        mica_write_u32(&w->bytes, (uint32_t)mica_graph_list_find(&w->graphs, n->regions[i]));
    for (int32_t i = 0; i < n->n_attrs; i++) write_attr(w, &n->attrs[i]);
}

static void write_graph(writer *w, const mica_graph *g) {
    mica_write_string(&w->bytes, g->name);
    mica_write_u32(&w->bytes, (uint32_t)g->n_nodes);
    for (int32_t i = 0; i < g->n_nodes; i++) write_node(w, g->nodes[i]);
    mica_write_u32(&w->bytes, (uint32_t)g->n_outputs);
    for (int32_t i = 0; i < g->n_outputs; i++) write_value(w, g->outputs[i]);
}

/* The ops in use, in the order of ops.def. */
static void write_ops(writer *w) {
    uint32_t count = 0;
    for (int32_t i = 0; i < w->graphs.n; i++)
        for (int32_t k = 0; k < w->graphs.graphs[i]->n_nodes; k++) {
            mica_op op = w->graphs.graphs[i]->nodes[k]->op;
            if (op != MICA_OP_PARAMETER) w->op_places[op] = 1;
        }
    for (int32_t op = 0; op < MICA_OP_COUNT; op++)
        if (w->op_places[op]) w->op_places[op] = ++count;
    mica_write_u32(&w->bytes, count);
    for (int32_t op = 0; op < MICA_OP_COUNT; op++) {
        if (!w->op_places[op]) continue;
        const mica_op_info *info = mica_op_describe((mica_op)op);
        mica_write_string(&w->bytes, info->name);
        mica_write_u32(&w->bytes, (uint32_t)info->n_attributes);
        for (int32_t i = 0; i < info->n_attributes; i++) {
            mica_write_string(&w->bytes, info->attribute_names[i]);
            mica_write_u8(&w->bytes, (uint8_t)mica_op_attr_kind((mica_op)op, i));
        }
    }
}

mica_status mica_graph_serialize(const mica_graph *g, uint8_t **out_bytes, size_t *out_size) {
    MICA_GIVEN(out_bytes, out_size);
    *out_bytes = NULL;
    *out_size = 0;
    MICA_TRY(mica_graph_check(g));
    writer w = {.graphs = {0}};
    MICA_TRY(mica_graph_list_collect(g, &w.graphs));
    mica_write_bytes(&w.bytes, MICA_GRAPH_MAGIC, 8);
    mica_write_u32(&w.bytes, MICA_GRAPH_FORMAT_VERSION);
    mica_write_u64(&w.bytes, 0);
    mica_write_u32(&w.bytes, MICA_DTYPE_COUNT);
    for (int32_t i = 0; i < MICA_DTYPE_COUNT; i++)
        mica_write_string(&w.bytes, mica_dtype_name((mica_dtype)i));
    write_ops(&w);
    mica_write_u32(&w.bytes, (uint32_t)w.graphs.n);
    for (int32_t i = 0; i < w.graphs.n; i++) write_graph(&w, w.graphs.graphs[i]);
    mica_graph_list_deinit(&w.graphs);
    if (w.bytes.failed) {
        mica_free(w.bytes.data);
        return MICA_NO_MEMORY();
    }
    mica_put_u64(w.bytes.data + MICA_GRAPH_CHECKSUM_AT,
                 mica_checksum(w.bytes.data + MICA_GRAPH_HEADER, w.bytes.size - MICA_GRAPH_HEADER));
    *out_bytes = w.bytes.data;
    *out_size = w.bytes.size;
    return NULL;
}

void mica_bytes_free(uint8_t *bytes) {
    mica_free(bytes);
}
