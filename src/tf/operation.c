/* Operations: an op and its attributes, copied, hashed, compared. */
#include <string.h>

#include "base/hash.h"
#include "tf/ops/random/generators.h"

/* ---- hash and equality ------------------------------------------------------------------------*/

static uint64_t hash_shapes(uint64_t h, const mica_tf_shape *shapes, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        h = mica_hash_u64(h, (uint64_t)(uint32_t)shapes[i].rank);
        for (int32_t k = 0; k < shapes[i].rank; k++)
            h = mica_hash_u64(h, (uint64_t)shapes[i].dims[k]);
    }
    return h;
}

static uint64_t hash_attr(uint64_t h, mica_tf_attr_kind kind, const mica_tf_attr *a) {
    switch (kind) {
    case MICA_TF_INT:
    case MICA_TF_BOOL:
    case MICA_TF_TYPE: return mica_hash_u64(h, (uint64_t)a->as.integer);
    case MICA_TF_FLOAT: return mica_hash_bytes(h, &a->as.real, sizeof a->as.real);
    case MICA_TF_STRING: return mica_hash_bytes(h, a->as.string, (size_t)a->n);
    case MICA_TF_SHAPE: return hash_shapes(h, a->as.shapes, 1);
    case MICA_TF_TENSOR: return mica_hash_u64(h, (uint64_t)(uintptr_t)a->as.value.object);
    case MICA_TF_FUNCTION: return mica_hash_u64(h, (uint64_t)(uintptr_t)a->as.function);
    case MICA_TF_OPERATION: return mica_hash_u64(h, a->as.operation->hash);
    case MICA_TF_INTS:
    case MICA_TF_TYPES: return mica_hash_bytes(h, a->as.ints, sizeof(int64_t) * (size_t)a->n);
    case MICA_TF_FLOATS: return mica_hash_bytes(h, a->as.reals, sizeof(double) * (size_t)a->n);
    case MICA_TF_SHAPES: return hash_shapes(mica_hash_u64(h, (uint64_t)a->n), a->as.shapes, a->n);
    case MICA_TF_STRINGS:
        h = mica_hash_u64(h, (uint64_t)a->n);
        for (int32_t i = 0; i < a->n; i++) h = mica_hash_string(h, a->as.strings[i]);
        return h;
    case MICA_TF_FUNCTIONS:
        for (int32_t i = 0; i < a->n; i++)
            h = mica_hash_u64(h, (uint64_t)(uintptr_t)a->as.functions[i]);
        return mica_hash_u64(h, (uint64_t)a->n);
    }
    return h;
}

uint64_t mica_tf_attrs_hash(mica_tf_op op, const mica_tf_attr *attrs) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    uint64_t h = mica_hash_u64(MICA_HASH_SEED, (uint64_t)op);
    for (int32_t i = 0; i < info->n_attrs; i++) h = hash_attr(h, info->attrs[i].kind, &attrs[i]);
    return h;
}

static bool same_bytes(const void *a, const void *b, size_t n) {
    return n == 0 || memcmp(a, b, n) == 0;
}

static bool same_shapes(const mica_tf_shape *a, const mica_tf_shape *b, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (!mica_tf_shape_equal(&a[i], &b[i])) return false;
    return true;
}

static bool same_attr(mica_tf_attr_kind kind, const mica_tf_attr *a, const mica_tf_attr *b) {
    switch (kind) {
    case MICA_TF_INT:
    case MICA_TF_BOOL:
    case MICA_TF_TYPE: return a->as.integer == b->as.integer;
    case MICA_TF_FLOAT: return same_bytes(&a->as.real, &b->as.real, sizeof a->as.real);
    case MICA_TF_SHAPE: return same_shapes(a->as.shapes, b->as.shapes, 1);
    case MICA_TF_TENSOR: return a->as.value.object == b->as.value.object;
    case MICA_TF_FUNCTION: return a->as.function == b->as.function;
    case MICA_TF_OPERATION:
        return a->as.operation == b->as.operation ||
               (a->as.operation->op == b->as.operation->op &&
                a->as.operation->hash == b->as.operation->hash &&
                mica_tf_attrs_equal(a->as.operation->info, a->as.operation->attrs,
                                    b->as.operation->attrs));
    default: break;
    }
    if (a->n != b->n) return false;
    size_t n = (size_t)a->n;
    switch (kind) {
    case MICA_TF_STRING: return same_bytes(a->as.string, b->as.string, n);
    case MICA_TF_INTS:
    case MICA_TF_TYPES: return same_bytes(a->as.ints, b->as.ints, n * sizeof(int64_t));
    case MICA_TF_FLOATS: return same_bytes(a->as.reals, b->as.reals, n * sizeof(double));
    case MICA_TF_SHAPES: return same_shapes(a->as.shapes, b->as.shapes, a->n);
    case MICA_TF_FUNCTIONS:
        return same_bytes(a->as.functions, b->as.functions, n * sizeof(mica_tf_graph *));
    default:
        for (size_t i = 0; i < n; i++)
            if (strcmp(a->as.strings[i], b->as.strings[i]) != 0) return false;
        return true;
    }
}

bool mica_tf_attrs_equal(const mica_tf_op_info *info, const mica_tf_attr *a,
                         const mica_tf_attr *b) {
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (!same_attr(info->attrs[i].kind, &a[i], &b[i])) return false;
    return true;
}

/* ---- copies -----------------------------------------------------------------------------------*/

static mica_status copy_strings(mica_arena *arena, mica_tf_attr *a) {
    const char **strings = mica_arena_alloc(arena, sizeof *strings * ((size_t)a->n + 1));
    if (!strings) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < a->n; i++)
        if (!(strings[i] = mica_arena_strdup(arena, a->as.strings[i]))) return MICA_NO_MEMORY();
    a->as.strings = strings;
    return NULL;
}

/* *a is the caller's; its data moves into the arena. Nothing is retained yet. */
static mica_status copy_attr(mica_arena *arena, mica_tf_attr_kind kind, mica_tf_attr *a) {
    size_t n = (size_t)a->n;
    const void *copy = a;
    switch (kind) {
    case MICA_TF_STRING: {
        char *text = mica_arena_alloc(arena, n + 1);
        if (text && n) memcpy(text, a->as.string, n);
        copy = a->as.string = text;
        break;
    }
    case MICA_TF_SHAPE:
        copy = a->as.shapes = mica_arena_copy(arena, a->as.shapes, sizeof(mica_tf_shape));
        break;
    case MICA_TF_SHAPES:
        copy = a->as.shapes = mica_arena_copy(arena, a->as.shapes, n * sizeof(mica_tf_shape));
        break;
    case MICA_TF_INTS:
    case MICA_TF_TYPES:
        copy = a->as.ints = mica_arena_copy(arena, a->as.ints, n * sizeof(int64_t));
        break;
    case MICA_TF_FLOATS:
        copy = a->as.reals = mica_arena_copy(arena, a->as.reals, n * sizeof(double));
        break;
    case MICA_TF_FUNCTIONS:
        copy = a->as.functions = mica_arena_copy(arena, a->as.functions, n * sizeof(void *));
        break;
    case MICA_TF_STRINGS: return copy_strings(arena, a);
    default: break;
    }
    return copy ? NULL : MICA_NO_MEMORY();
}

static void hold_attr(mica_tf_attr_kind kind, const mica_tf_attr *a, bool retain) {
    if (kind == MICA_TF_TENSOR && a->as.value.object)
        (retain ? mica_tf_value_retain : mica_tf_value_release)(a->as.value);
    else if (kind == MICA_TF_OPERATION)
        (retain ? mica_tf_operation_retain : mica_tf_operation_release)(a->as.operation);
    else if (kind == MICA_TF_FUNCTION && a->as.function)
        (retain ? mica_tf_graph_retain : mica_tf_graph_release)(a->as.function);
    else if (kind == MICA_TF_FUNCTIONS)
        for (int32_t i = 0; i < a->n; i++)
            (retain ? mica_tf_graph_retain : mica_tf_graph_release)(a->as.functions[i]);
}

mica_status mica_tf_operation_create(mica_tf_op op, const mica_tf_attr *attrs,
                                     mica_tf_operation **out_operation) {
    MICA_GIVEN(attrs, out_operation);
    *out_operation = NULL;
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    if (!info) return MICA_INVALID("[operation] %d is not an op", (int)op);
    mica_tf_operation *o = mica_calloc(1, sizeof *o);
    if (!o) return MICA_NO_MEMORY();
    mica_refcount_init(&o->references);
    mica_arena_init(&o->arena);
    o->op = op;
    o->info = info;
    size_t n = (size_t)info->n_attrs;
    o->attrs = mica_arena_alloc(&o->arena, (n + 1) * sizeof *o->attrs);
    mica_status status = o->attrs ? NULL : MICA_NO_MEMORY();
    for (size_t i = 0; i < n && !status; i++) {
        o->attrs[i] = attrs[i];
        status = copy_attr(&o->arena, info->attrs[i].kind, &o->attrs[i]);
    }
    if (status) {
        mica_arena_deinit(&o->arena);
        mica_free(o);
        return status;
    }
    for (size_t i = 0; i < n; i++) hold_attr(info->attrs[i].kind, &o->attrs[i], true);
    if (op == MICA_TF_PyFunc) mica_tf_host_function_hold(mica_tf_host_function_of(o));
    o->hash = mica_tf_attrs_hash(op, o->attrs);
    *out_operation = o;
    return NULL;
}

void mica_tf_operation_retain(mica_tf_operation *operation) {
    if (!operation) return;
    mica_refcount_retain(&operation->references);
}

void mica_tf_operation_release(mica_tf_operation *operation) {
    if (!operation || !mica_refcount_release(&operation->references)) return;
    for (int32_t i = 0; i < operation->info->n_attrs; i++)
        hold_attr(operation->info->attrs[i].kind, &operation->attrs[i], false);
    if (operation->op == MICA_TF_PyFunc)
        mica_tf_host_function_drop(mica_tf_host_function_of(operation));
    mica_tf_graph_release(operation->apart);
    if (operation->philox) mica_tf_philox_destroy(operation->philox);
    mica_arena_deinit(&operation->arena);
    mica_free(operation);
}

int64_t mica_tf_host_function_of(const mica_tf_operation *operation) {
    return mica_tf_attr_find(operation->info, operation->attrs, "token")->as.integer;
}

mica_tf_op mica_tf_operation_op(const mica_tf_operation *operation) {
    if (!operation) return MICA_TF_OP_COUNT;
    return operation->op;
}

const mica_tf_attr *mica_tf_operation_attrs(const mica_tf_operation *operation) {
    if (!operation) return NULL;
    return operation->attrs;
}
