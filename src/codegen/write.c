#include "codegen/write.h"

#include <stdio.h>
#include <string.h>

#include "base/plant.h"
#include "base/platform.h"
#include "codegen/embedded.h"
#include "codegen/prelude/reducers.h"
#include "ir/scalar_stream.h"

#define UNIT_WORK 16384      /* turns that are worth another thread, about */
#define COSTLY_TURN 8        /* a turn with a costly function counts as so many */
#define ENOUGH_UNITS 16      /* below this, the parts of a line are shared between units */
#define STREAMED_TURNS 65536 /* of a piece at least, which ends by waiting for its stores */

/* ---- pieces of text ---------------------------------------------------------------------------*/

const char *mica_storage_type(mica_dtype dtype) {
    switch (dtype) {
#define MICA_DTYPE(name, storage, bytes, kind, meaning)                                            \
    case MICA_DTYPE_##name:                                                                        \
        return #storage;
#include "mica/dtypes.def"
#undef MICA_DTYPE
    default: return NULL;
    }
}

static bool is_half(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
}

/* What arithmetic is done in. */
static mica_dtype compute_dtype(mica_dtype dtype) {
    return is_half(dtype) ? MICA_DTYPE_f32 : dtype;
}

void mica_write_expression(mica_text *text, const char *expression, const char *suffix) {
    for (const char *c = expression; *c;) {
        const char *end = c[0] == 'M' && c[1] == '(' ? strchr(c, ')') : NULL;
        if (end) {
            mica_text_printf(text, "mica_%.*s_%s", (int)(end - c - 2), c + 2, suffix);
            c = end + 1;
        } else {
            mica_text_append_char(text, *c++);
        }
    }
}

/* Embedded headers take the place of their #include, each once: they have guards, but the compiler
 * has no files. */
static void paste_header(mica_text *text, const char *name, uint32_t *pasted) {
    for (int32_t i = 0; i < mica_embedded_header_count && i < 32; i++) {
        if (strcmp(mica_embedded_headers[i].name, name) || *pasted >> i & 1) continue;
        *pasted |= 1u << i;
        const char *line = mica_embedded_headers[i].text;
        while (*line) {
            size_t length = strcspn(line, "\n") + 1;
            char inner[64];
            if (sscanf(line, "#include \"%63[^\"]\"", inner) == 1)
                paste_header(text, inner, pasted);
            else
                mica_text_append_bytes(text, line, line[length - 1] ? length : length - 1);
            line += line[length - 1] ? length : length - 1;
        }
    }
}

static void define_independent(mica_text *text) {
    mica_text_append(text, "#if defined(__clang__)\n"
                           "#define INDEPENDENT _Pragma(\"clang loop vectorize(assume_safety)\")\n"
                           "#else\n"
                           "#define INDEPENDENT _Pragma(\"GCC ivdep\")\n"
                           "#endif\n");
}

void mica_write_host_prelude(mica_text *text) {
    uint32_t pasted = 0;
    define_independent(text);
    paste_header(text, "codegen/prelude/host_contract.h", &pasted);
    paste_header(text, "codegen/prelude/host_window.h", &pasted);
    paste_header(text, "codegen/prelude/host_index.h", &pasted);
}

void mica_write_prelude(mica_text *text, mica_dialect dialect) {
    uint32_t pasted = 0;
    if (dialect == MICA_DIALECT_CUDA) {
        mica_text_append(text, "#include \"codegen/prelude/kernel.h\"\n"
                               "#include \"codegen/prelude/reducers.h\"\n");
        return;
    }
    define_independent(text);
    paste_header(text, "codegen/prelude/reducers.h", &pasted);
    paste_header(text, "ir/scalar_stream.h", &pasted);
}

/* ---- values -----------------------------------------------------------------------------------*/

typedef struct writer {
    mica_text *text;
    const mica_nest *nest;
    bool is_gpu;
    int32_t wide;     /* neighbouring turns that a thread of a GPU does at a time; 0: one */
    int32_t ahead;    /* turns that it reads for before it computes the first; 0: none */
    uint8_t *written; /* per use, in the present block of text */
    uint8_t *needed;  /* per use, by a pass whose turns are several at a time */
} writer;

static mica_dtype dtype_of(const writer *w, int32_t use) {
    return mica_value_type(w->nest->uses[use].value)->dtype;
}

static void write_constant(writer *w, int32_t use) {
    const mica_node *n = w->nest->uses[use].value.node;
    mica_dtype dtype = n->results[0].dtype;
    unsigned long long bits = 0;
    memcpy(&bits, n->attrs[0].as.data.bytes, mica_dtype_bytes(dtype));
    mica_text_printf(w->text, "%s v%d = ", mica_storage_type(dtype), use);
    if (dtype == MICA_DTYPE_f32)
        mica_text_printf(w->text, "mica_from_bits_f32(0x%llxu);\n", bits);
    else if (dtype == MICA_DTYPE_f64)
        mica_text_printf(w->text, "mica_from_bits_f64(UINT64_C(0x%llx));\n", bits);
    else
        mica_text_printf(w->text, "(%s)UINT64_C(0x%llx);\n", mica_storage_type(dtype), bits);
}

/* Where something lies: its offset and steps along the outer loops. */
static void write_outer_index(writer *w, int64_t offset, const int64_t *steps) {
    mica_text_printf(w->text, "%lld", (long long)(mica_is_planted("emit") ? 0 : offset));
    for (int32_t l = 0; l < w->nest->inner; l++)
        if (steps[l]) mica_text_printf(w->text, " + i%d * %lld", l, (long long)steps[l]);
}

/* The same along the inner loops, of which `i` counts the turns. */
static void write_inner_index(writer *w, const int64_t *steps) {
    const mica_nest *nest = w->nest;
    int64_t below = nest->inner_turns;
    bool any = false;
    for (int32_t l = nest->inner; l < nest->rank; l++) {
        below /= nest->sizes[l];
        if (!steps[l]) continue;
        if (any) mica_text_append(w->text, " + ");
        any = true;
        if (nest->rank - nest->inner == 1)
            mica_text_append(w->text, "i");
        else
            mica_text_printf(w->text, "i / %lld %% %lld", (long long)below,
                             (long long)nest->sizes[l]);
        if (steps[l] != 1) mica_text_printf(w->text, " * %lld", (long long)steps[l]);
    }
    if (!any) mica_text_append(w->text, "0");
}

/* v<use> as a value to compute with. */
static void write_operand(writer *w, int32_t use) {
    mica_dtype dtype = dtype_of(w, use);
    if (is_half(dtype))
        mica_text_printf(w->text, "mica_convert_%s_f32(v%d)", mica_dtype_name(dtype), use);
    else
        mica_text_printf(w->text, "v%d", use);
}

static void write_map(writer *w, int32_t use) {
    const mica_use *u = &w->nest->uses[use];
    const mica_node *n = u->value.node;
    mica_dtype dtype = n->results[0].dtype, compute = compute_dtype(dtype);
    const char *type = mica_storage_type(dtype);
    mica_text_printf(w->text, "%s v%d; { ", type, use);
    for (int32_t i = 0; i < n->n_operands; i++) {
        mica_text_printf(w->text, "const %s %c = ", mica_storage_type(compute), 'a' + i);
        write_operand(w, u->operands[i]);
        mica_text_append(w->text, "; ");
    }
    mica_text_printf(w->text, "v%d = ", use);
    if (is_half(dtype)) mica_text_printf(w->text, "mica_convert_f32_%s(", mica_dtype_name(dtype));
    mica_write_expression(w->text, mica_op_describe(n->op)->expression, mica_dtype_name(compute));
    mica_text_append(w->text, is_half(dtype) ? "); }\n" : "; }\n");
}

static void write_compare(writer *w, int32_t use) {
    static const char *const names[] = {"eq", "==", "ne", "!=", "lt", "<",
                                        "le", "<=", "gt", ">",  "ge", ">="};
    const mica_use *u = &w->nest->uses[use];
    const char *direction = mica_node_string(u->value.node, "direction"), *sign = "==";
    for (size_t i = 0; i < sizeof names / sizeof *names; i += 2)
        if (!strcmp(direction, names[i])) sign = names[i + 1];
    mica_text_printf(w->text, "uint8_t v%d = (uint8_t)(", use);
    write_operand(w, u->operands[0]);
    mica_text_printf(w->text, " %s ", sign);
    write_operand(w, u->operands[1]);
    mica_text_append(w->text, ");\n");
}

static void write_is_finite(writer *w, int32_t use) {
    int32_t x = w->nest->uses[use].operands[0];
    bool wide = dtype_of(w, x) == MICA_DTYPE_f64;
    const char *mask = wide ? "UINT64_C(0x7ff0000000000000)" : "0x7f800000u";
    mica_text_printf(w->text, "uint8_t v%d = (uint8_t)((mica_bits_%s(", use, wide ? "f64" : "f32");
    write_operand(w, x);
    mica_text_printf(w->text, ") & %s) != %s);\n", mask, mask);
}

static void write_iota(writer *w, int32_t use) {
    const mica_use *u = &w->nest->uses[use];
    mica_dtype dtype = u->value.node->results[0].dtype;
    mica_text_printf(w->text, "%s v%d = mica_convert_i32_%s((int32_t)(", mica_storage_type(dtype),
                     use, mica_dtype_name(dtype));
    write_outer_index(w, u->offset, u->steps);
    mica_text_append(w->text, " + ");
    write_inner_index(w, u->steps);
    mica_text_append(w->text, "));\n");
}

/* ---- several turns at a time (a GPU's threads) ------------------------------------------------*/

enum {
    TURNS_AHEAD = 8,
    WIDE_BYTES = 16,
    MOST_WIDE = 8,
    LEAST_THREADS = 1 << 10 /* with fewer, one each */
};

/* Neighbours of the inner loop are neighbours in memory, in whole pieces of `wide`. */
static bool passes_wide(const mica_nest *nest, const mica_type *type, const int64_t *steps,
                        int64_t offset, int64_t wide) {
    if (nest->rank != nest->inner + 1 || steps[nest->inner] != 1 || offset % wide != 0 ||
        mica_type_bytes(type) % ((size_t)wide * mica_dtype_bytes(type->dtype)) != 0)
        return false;
    for (int32_t l = 0; l < nest->inner; l++)
        if (steps[l] % wide != 0) return false;
    return true;
}

static bool is_wide_use(const writer *w, int32_t use) {
    const mica_use *u = &w->nest->uses[use];
    return w->wide > 1 && u->varies && u->value.node->op == MICA_OP_PARAMETER &&
           passes_wide(w->nest, mica_value_type(u->value), u->steps, u->offset, w->wide);
}

static bool is_wide_store(const writer *w, int32_t output) {
    const mica_store *store = &w->nest->stores[output];
    return w->wide > 1 && passes_wide(w->nest, mica_value_type(w->nest->body->outputs[output]),
                                      store->steps, store->offset, w->wide);
}

/* Turns that a thread may do at a time: as many as make pieces of WIDE_BYTES of the widest dtype.
 */
static int64_t find_width(const mica_nest *nest) {
    size_t bytes = 1;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        size_t own = mica_dtype_bytes(mica_value_type(u->value)->dtype);
        if (u->varies && u->value.node->op == MICA_OP_PARAMETER && own > bytes) bytes = own;
    }
    for (int32_t i = 0; i < nest->body->n_outputs && nest->kind != MICA_NEST_COLUMNS; i++) {
        size_t own = mica_dtype_bytes(mica_value_type(nest->body->outputs[i])->dtype);
        if (own > bytes) bytes = own;
    }
    int64_t wide = bytes > WIDE_BYTES ? 1 : (int64_t)(WIDE_BYTES / bytes);
    if (nest->rank != nest->inner + 1) return 1;
    return wide > MOST_WIDE ? MOST_WIDE : wide;
}

static int32_t find_wide(const mica_nest *nest) {
    int64_t turns = nest->outer_turns * nest->inner_turns, wide = find_width(nest);
    while (wide > 1 && (nest->inner_turns % wide != 0 || turns / wide < LEAST_THREADS)) wide /= 2;
    return (int32_t)wide;
}

/* v<use>; its operands are there. */
static void write_value(writer *w, int32_t use) {
    const mica_use *u = &w->nest->uses[use];
    const mica_node *n = u->value.node;
    const char *type = mica_storage_type(mica_value_type(u->value)->dtype);
    switch ((int)n->op) {
    case MICA_OP_PARAMETER:
        if (is_wide_use(w, use) || (w->ahead && u->varies)) {
            mica_text_printf(w->text, "%s v%d = w%d[k];\n", type, use, use);
            break;
        }
        mica_text_printf(w->text, "%s v%d = p%d[", type, use, use);
        write_inner_index(w, u->steps);
        mica_text_append(w->text, "];\n");
        break;
    case MICA_OP_constant: write_constant(w, use); break;
    case MICA_OP_iota: write_iota(w, use); break;
    case MICA_OP_broadcast:
    case MICA_OP_reshape:
    case MICA_OP_slice:
    case MICA_OP_transpose:
        mica_text_printf(w->text, "%s v%d = v%d;\n", type, use, u->operands[0]);
        break;
    case MICA_OP_compare: write_compare(w, use); break;
    case MICA_OP_select:
        mica_text_printf(w->text, "%s v%d = v%d ? v%d : v%d;\n", type, use, u->operands[0],
                         u->operands[1], u->operands[2]);
        break;
    case MICA_OP_is_finite: write_is_finite(w, use); break;
    case MICA_OP_convert:
        mica_text_printf(w->text, "%s v%d = mica_convert_%s_%s(v%d);\n", type, use,
                         mica_dtype_name(dtype_of(w, u->operands[0])),
                         mica_dtype_name(n->results[0].dtype), u->operands[0]);
        break;
    default: write_map(w, use); break;
    }
}

/* ---- a turn of the inner loops ----------------------------------------------------------------*/

enum { NOT_WRITTEN, WRITTEN_IN_ROW, WRITTEN_IN_TURN };

static void forget_turn(writer *w) {
    for (int32_t i = 0; i < w->nest->n_uses; i++)
        if (w->written[i] == WRITTEN_IN_TURN) w->written[i] = NOT_WRITTEN;
}

static void write_turn_value(writer *w, int32_t use, int32_t pass) {
    if (w->written[use]) return;
    w->written[use] = WRITTEN_IN_TURN;
    const mica_use *u = &w->nest->uses[use];
    const mica_node *n = u->value.node;
    if (u->is_kept && u->pass < pass) {
        mica_text_printf(w->text, "%s v%d = kept%d[i];\n",
                         mica_storage_type(mica_value_type(u->value)->dtype), use, use);
        return;
    }
    for (int32_t i = 0; n->op != MICA_OP_PARAMETER && i < n->n_operands; i++)
        write_turn_value(w, u->operands[i], pass);
    write_value(w, use);
}

static bool is_inner_store(const mica_nest *nest, const mica_store *store) {
    if (nest->kind == MICA_NEST_LOOP || nest->rank == nest->inner)
        return nest->kind == MICA_NEST_LOOP;
    for (int32_t l = nest->inner; l < nest->rank; l++)
        if (store->steps[l]) return true;
    return false;
}

static int32_t store_pass(const mica_nest *nest, const mica_store *store) {
    const mica_use *u = &nest->uses[store->use];
    return u->varies ? u->pass : nest->n_passes - 1;
}

static bool is_reduced_in(const mica_nest *nest, int32_t use, int32_t pass) {
    const mica_use *u = &nest->uses[use];
    return u->value.node->op == MICA_OP_reduce && u->pass == pass + 1;
}

static bool is_stored_in(const mica_nest *nest, const mica_store *store, int32_t pass) {
    return is_inner_store(nest, store) && store_pass(nest, store) == pass;
}

/* ---- large arrays -----------------------------------------------------------------------------*/

/* The row, or all of a plain loop, lies side by side. */
static bool is_dense(const mica_nest *nest, const int64_t *steps) {
    return nest->rank == nest->inner + 1 && steps[nest->inner] == 1;
}

/* Results that are written past the caches, in whole lines, by passes that reduce nothing. */
static bool is_streamed(const mica_nest *nest, int32_t output, int32_t pass) {
    const mica_type *type = mica_value_type(nest->body->outputs[output]);
    if (!nest->streams || nest->kind == MICA_NEST_COLUMNS ||
        !is_stored_in(nest, &nest->stores[output], pass) ||
        !is_dense(nest, nest->stores[output].steps) || !mica_machine_streams(mica_type_bytes(type)))
        return false;
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (is_reduced_in(nest, i, pass)) return false;
    int64_t row = nest->inner_turns * (int64_t)mica_dtype_bytes(type->dtype);
    return nest->outer_turns == 1 || row % MICA_STREAM_LINE == 0;
}

/* Turns that make whole lines of all results that a pass streams; 0 when there are none. */
static int64_t streamed_turns(const mica_nest *nest, int32_t pass) {
    int64_t turns = 0;
    for (int32_t i = 0; i < nest->body->n_outputs; i++) {
        size_t bytes = mica_dtype_bytes(mica_value_type(nest->body->outputs[i])->dtype);
        if (is_streamed(nest, i, pass) && (int64_t)(MICA_STREAM_LINE / bytes) > turns)
            turns = (int64_t)(MICA_STREAM_LINE / bytes);
    }
    return turns;
}

static bool has_streamed(const mica_nest *nest) {
    for (int32_t pass = 0; pass < nest->n_passes; pass++)
        if (streamed_turns(nest, pass)) return true;
    return false;
}

/* Prefetches the block at `at` of the next row, of operands that no cache holds. */
static void write_prefetch(writer *w) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; nest->streams && nest->inner > 0 && i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        const mica_type *type = mica_value_type(u->value);
        int64_t step = u->steps[nest->inner - 1];
        if (u->value.node->op != MICA_OP_PARAMETER || !is_dense(nest, u->steps) || !step ||
            !mica_machine_streams(mica_type_bytes(type)))
            continue;
        mica_text_printf(w->text,
                         "for (int64_t j = 0; j < n; j += %d) "
                         "__builtin_prefetch(p%d + at + %lld + j, 0, 2);\n",
                         (int)(MICA_STREAM_LINE / mica_dtype_bytes(type->dtype)), i,
                         (long long)step);
    }
}

/* What is reduced is contiguous already: it is read as it is, or kept for later passes. */
static bool is_contiguous(const writer *w, int32_t reduce, int32_t pass) {
    const mica_nest *nest = w->nest;
    const mica_use *x = &nest->uses[nest->uses[reduce].operands[0]];
    if (is_half(mica_value_type(x->value)->dtype)) return false;
    if (x->is_kept) return x->pass <= pass;
    return x->value.node->op == MICA_OP_PARAMETER && nest->rank == nest->inner + 1 &&
           x->steps[nest->inner] == 1;
}

/* Turns write what is reduced to t<reduce>; a GPU's add it to sum<reduce>. */
static bool needs_line(const writer *w, int32_t reduce, int32_t pass) {
    return w->is_gpu || !is_contiguous(w, reduce, pass);
}

/* All that a turn of this pass needs; nothing is stored before everything is read, since a result
 * may lie where an operand does. */
static void write_turn_values(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        if (is_reduced_in(nest, i, pass) && needs_line(w, i, pass))
            write_turn_value(w, u->operands[0], pass);
        if (u->is_kept && u->pass == pass) write_turn_value(w, i, pass);
    }
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (is_stored_in(nest, &nest->stores[i], pass))
            write_turn_value(w, nest->stores[i].use, pass);
}

/* A turn: outputs (those that are streamed: into s<output>[j]), kept values, and what is to be
 * reduced (into t<use>[at]). */
static void write_turn(writer *w, int32_t pass, const char *at, bool streams) {
    const mica_nest *nest = w->nest;
    write_turn_values(w, pass);
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        if (is_reduced_in(nest, i, pass) && needs_line(w, i, pass)) {
            mica_text_printf(w->text, "t%d[%s] = ", i, at);
            write_operand(w, u->operands[0]);
            mica_text_append(w->text, ";\n");
        }
        if (u->is_kept && u->pass == pass) mica_text_printf(w->text, "kept%d[i] = v%d;\n", i, i);
    }
    for (int32_t i = 0; i < nest->body->n_outputs; i++) {
        const mica_store *store = &nest->stores[i];
        if (!is_stored_in(nest, store, pass)) continue;
        if (streams && is_streamed(nest, i, pass)) {
            mica_text_printf(w->text, "s%d[j] = v%d;\n", i, store->use);
            continue;
        }
        if (is_wide_store(w, i)) {
            mica_text_printf(w->text, "r%d[k] = v%d;\n", i, store->use);
            continue;
        }
        mica_text_printf(w->text, "q%d[", i);
        write_inner_index(w, store->steps);
        mica_text_printf(w->text, "] = v%d;\n", store->use);
    }
    forget_turn(w);
}

/* out_turns: something is computed turn by turn. */
static bool pass_has_work(const writer *w, int32_t pass, bool *out_reduces, bool *out_turns) {
    const mica_nest *nest = w->nest;
    bool turns = false;
    *out_reduces = false;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        bool reduced = is_reduced_in(nest, i, pass);
        *out_reduces = *out_reduces || reduced;
        turns = turns || (reduced && needs_line(w, i, pass)) ||
                (nest->uses[i].is_kept && nest->uses[i].pass == pass);
    }
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        turns = turns || is_stored_in(nest, &nest->stores[i], pass);
    *out_turns = turns;
    return turns || *out_reduces;
}

/* ---- rows -------------------------------------------------------------------------------------*/

static void write_outer_turns(writer *w, const char *counter) {
    const mica_nest *nest = w->nest;
    int64_t below = nest->outer_turns;
    for (int32_t l = 0; l < nest->inner; l++) {
        below /= nest->sizes[l];
        mica_text_printf(w->text, "const int64_t i%d = %s / %lld", l, counter, (long long)below);
        if (l > 0) mica_text_printf(w->text, " %% %lld", (long long)nest->sizes[l]);
        mica_text_append(w->text, ";\n");
    }
}

/* Addresses of what this row reads and writes. */
static void write_row_pointers(writer *w, bool with_stores) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        if (u->value.node->op != MICA_OP_PARAMETER) continue;
        int32_t number = 0;
        while (!mica_value_same(nest->body->parameters[number], u->value)) number++;
        const char *type = mica_storage_type(mica_value_type(u->value)->dtype);
        mica_text_printf(w->text, "const %s *p%d = (const %s *)x[%d] + (", type, i, type, number);
        write_outer_index(w, u->offset, u->steps);
        mica_text_append(w->text, ");\n");
    }
    for (int32_t i = 0; with_stores && i < nest->body->n_outputs; i++) {
        const mica_store *store = &nest->stores[i];
        const char *type = mica_storage_type(dtype_of(w, store->use));
        mica_text_printf(w->text, "%s *q%d = (%s *)y[%d] + (", type, i, type, i);
        write_outer_index(w, store->offset, store->steps);
        mica_text_append(w->text, ");\n");
    }
}

/* What is the same along the row, as far as it is known at the beginning of a pass. */
static void write_row_values(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        if (u->varies || u->pass > pass || u->value.node->op == MICA_OP_reduce || w->written[i])
            continue;
        write_value(w, i);
        w->written[i] = WRITTEN_IN_ROW;
    }
}

static const char *reducer_name(const mica_node *n) {
    const char *kind = mica_node_string(n, "kind");
    return !strcmp(kind, "sum") ? "add" : !strcmp(kind, "prod") ? "mul" : kind;
}

static void write_reduced(writer *w, int32_t use, const char *text) {
    mica_dtype dtype = dtype_of(w, use);
    mica_text_printf(w->text, "%s v%d = ", mica_storage_type(dtype), use);
    if (is_half(dtype)) mica_text_printf(w->text, "mica_convert_f32_%s(", mica_dtype_name(dtype));
    mica_text_append(w->text, text);
    mica_text_append(w->text, is_half(dtype) ? ");\n" : ";\n");
    w->written[use] = WRITTEN_IN_ROW;
}

static bool is_best(const mica_node *reduce) {
    const char *kind = mica_node_string(reduce, "kind");
    return !strcmp(kind, "max") || !strcmp(kind, "min");
}

/* Where the line of a reduction begins, at element `at` of the row. */
static void describe_line(const writer *w, int32_t reduce, int32_t pass, const char *at, char *text,
                          size_t capacity) {
    int32_t x = w->nest->uses[reduce].operands[0];
    if (needs_line(w, reduce, pass))
        snprintf(text, capacity, "t%d", reduce);
    else if (w->nest->uses[x].is_kept)
        snprintf(text, capacity, "kept%d + %s", x, at);
    else
        snprintf(text, capacity, "p%d + %s", x, at);
}

static void write_line_storage(writer *w, int32_t pass, int64_t blocks) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        const char *type = mica_storage_type(compute_dtype(dtype_of(w, i)));
        if (needs_line(w, i, pass))
            mica_text_printf(w->text, "%s t%d[%lld];\n", type, i,
                             (long long)(blocks > 1 ? MICA_REDUCE_BLOCK : nest->inner_turns));
        if (blocks > 1 && !is_best(nest->uses[i].value.node))
            mica_text_printf(w->text, "%s levels%d[%d];\n", type, i, MICA_REDUCE_LEVELS);
        else if (blocks > 1)
            mica_text_printf(w->text, "%s best%d = 0;\n", type, i);
    }
}

/* Block b of what is reduced becomes a part of the tree, or is compared with the best so far. */
static void write_parts(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    char line[64];
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        const mica_node *reduce = nest->uses[i].value.node;
        const char *name = reducer_name(reduce);
        const char *dtype = mica_dtype_name(compute_dtype(dtype_of(w, i)));
        describe_line(w, i, pass, "at", line, sizeof line);
        if (!is_best(reduce))
            mica_text_printf(w->text, "tree_%s_%s(levels%d, (uint64_t)b, row_%s_%s(%s, n));\n",
                             name, dtype, i, name, dtype, line);
        else if (needs_line(w, i, pass))
            mica_text_printf(w->text,
                             "{ const %s part = best_%s_%s(%s, n);\n"
                             "best%d = b ? mica_%s_%s(best%d, part) : part; }\n",
                             mica_storage_type(compute_dtype(dtype_of(w, i))), name, dtype, line, i,
                             name, dtype, i);
    }
}

static void write_results(writer *w, int32_t pass, int64_t blocks) {
    const mica_nest *nest = w->nest;
    char text[200], line[64];
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        const mica_node *reduce = nest->uses[i].value.node;
        const char *name = reducer_name(reduce);
        const char *dtype = mica_dtype_name(compute_dtype(dtype_of(w, i)));
        describe_line(w, i, pass, "0", line, sizeof line);
        if (blocks > 1 && is_best(reduce) && needs_line(w, i, pass))
            snprintf(text, sizeof text, "best%d", i);
        else if (blocks > 1 && !is_best(reduce))
            snprintf(text, sizeof text, "root_%s_%s(levels%d, %lldu)", name, dtype, i,
                     (long long)blocks);
        else
            snprintf(text, sizeof text, "%s_%s_%s(%s, %lld)", is_best(reduce) ? "best" : "row",
                     name, dtype, line, (long long)nest->inner_turns);
        write_reduced(w, i, text);
    }
}

static void write_reducing_pass(writer *w, int32_t pass, bool has_turns) {
    int64_t n = w->nest->inner_turns, blocks = (n + MICA_REDUCE_BLOCK - 1) / MICA_REDUCE_BLOCK;
    write_line_storage(w, pass, blocks);
    if (blocks > 1)
        mica_text_printf(w->text,
                         "for (int64_t b = 0; b < %lld; b++) {\n"
                         "const int64_t at = b * %d, n = MIN(%d, %lld - at);\n",
                         (long long)blocks, MICA_REDUCE_BLOCK, MICA_REDUCE_BLOCK, (long long)n);
    /* The first pass waits for memory; meanwhile the second computes. */
    if (blocks > 1 && pass == 1) write_prefetch(w);
    if (has_turns && blocks > 1)
        mica_text_append(w->text, "INDEPENDENT\nfor (int64_t j = 0; j < n; j++) {\n"
                                  "const int64_t i = at + j;\n");
    else if (has_turns)
        mica_text_printf(w->text, "INDEPENDENT\nfor (int64_t i = 0; i < %lld; i++) {\n",
                         (long long)n);
    if (has_turns) {
        write_turn(w, pass, blocks > 1 ? "j" : "i", false);
        mica_text_append(w->text, "}\n");
    }
    if (blocks > 1) {
        write_parts(w, pass);
        mica_text_append(w->text, "}\n");
    }
    write_results(w, pass, blocks);
}

/* Turns from `at` on that make whole lines of the results that are streamed, while there are such:
 * none when the lines of a result begin elsewhere. */
static void write_streamed_turns(writer *w, int32_t pass, int64_t turns, const char *last) {
    const mica_nest *nest = w->nest;
    mica_text_append(w->text, "if (1");
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (is_streamed(nest, i, pass))
            mica_text_printf(w->text, " && (uintptr_t)(q%d + at) %% %d == 0", i, MICA_STREAM_LINE);
    mica_text_printf(w->text, ")\nfor (; at + %lld <= %s; at += %lld) {\n", (long long)turns, last,
                     (long long)turns);
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (is_streamed(nest, i, pass))
            mica_text_printf(w->text, "_Alignas(%d) %s s%d[%lld];\n", MICA_STREAM_LINE,
                             mica_storage_type(dtype_of(w, nest->stores[i].use)), i,
                             (long long)turns);
    mica_text_printf(w->text,
                     "INDEPENDENT\nfor (int64_t j = 0; j < %lld; j++) {\n"
                     "const int64_t i = at + j;\n",
                     (long long)turns);
    write_turn(w, pass, NULL, true);
    mica_text_append(w->text, "}\n");
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (is_streamed(nest, i, pass))
            mica_text_printf(w->text, "mica_stream_lines(q%d + at, s%d, sizeof s%d);\n", i, i, i);
    mica_text_append(w->text, "}\n");
}

/* Turns first .. last - 1 of a pass that reduces nothing. */
static void write_turns(writer *w, int32_t pass, const char *first, const char *last) {
    int64_t turns = streamed_turns(w->nest, pass);
    mica_text_printf(w->text, "{ int64_t at = %s;\n", first);
    if (turns) write_streamed_turns(w, pass, turns, last);
    mica_text_printf(w->text, "INDEPENDENT\nfor (int64_t i = at; i < %s; i++) {\n", last);
    write_turn(w, pass, NULL, false);
    mica_text_append(w->text, "} }\n");
}

static void write_row(writer *w) {
    const mica_nest *nest = w->nest;
    char turns_text[32];
    snprintf(turns_text, sizeof turns_text, "%lld", (long long)nest->inner_turns);
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (nest->uses[i].is_kept)
            mica_text_printf(w->text, "%s kept%d[%lld];\n", mica_storage_type(dtype_of(w, i)), i,
                             (long long)nest->inner_turns);
    for (int32_t pass = 0; pass < nest->n_passes; pass++) {
        bool reduces, turns;
        write_row_values(w, pass);
        if (!pass_has_work(w, pass, &reduces, &turns)) continue;
        if (reduces) {
            write_reducing_pass(w, pass, turns);
            continue;
        }
        write_turns(w, pass, "0", turns_text);
    }
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (!is_inner_store(nest, &nest->stores[i]))
            mica_text_printf(w->text, "q%d[0] = v%d;\n", i, nest->stores[i].use);
}

/* A loop without rows: the units are its turns. */
static void write_plain_loop(writer *w) {
    write_row_pointers(w, true);
    write_row_values(w, 0);
    write_turns(w, 0, "begin", "end");
}

static void write_rows(writer *w) {
    mica_text_append(w->text, "for (int64_t o = begin; o < end; o++) {\n");
    write_outer_turns(w, "o");
    write_row_pointers(w, true);
    write_row(w);
    mica_text_append(w->text, "}\n");
}

/* ---- columns ----------------------------------------------------------------------------------*/

/* How the parts of a line are shared between units: chunks of a power of two. */
typedef struct column_cut {
    int64_t parts, strips, chunk, chunks;
    int levels;
} column_cut;

static column_cut cut_columns(const mica_nest *nest) {
    column_cut cut = {.parts = (nest->outer_turns + MICA_REDUCE_ROWS - 1) / MICA_REDUCE_ROWS,
                      .strips = (nest->inner_turns + STRIP - 1) / STRIP,
                      .chunk = 1,
                      .levels = 1};
    int64_t width = nest->inner_turns < STRIP ? nest->inner_turns : STRIP;
    while (cut.chunk < cut.parts &&
           (cut.strips >= ENOUGH_UNITS || cut.chunk * MICA_REDUCE_ROWS * width < 4 * UNIT_WORK)) {
        cut.chunk *= 2;
        cut.levels++;
    }
    cut.chunks = (cut.parts + cut.chunk - 1) / cut.chunk;
    return cut;
}

static size_t partial_bytes(const mica_nest *nest, int32_t output) {
    mica_dtype dtype = mica_value_type(nest->body->outputs[output])->dtype;
    return STRIP * mica_dtype_bytes(compute_dtype(dtype));
}

/* One row of a strip: into acc<output>, or combined with what is there. */
static void write_column_row(writer *w, bool is_first) {
    const mica_nest *nest = w->nest;
    mica_text_append(w->text, "{\n");
    write_outer_turns(w, "r");
    write_row_pointers(w, false);
    for (int32_t i = 0; i < nest->n_uses; i++) w->written[i] = NOT_WRITTEN;
    write_row_values(w, 0);
    mica_text_append(w->text, "INDEPENDENT\nfor (int64_t j = 0; j < width; j++) {\n"
                              "const int64_t i = column + j;\n");
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        const mica_use *u = &nest->uses[nest->stores[k].use];
        mica_dtype dtype = compute_dtype(dtype_of(w, nest->stores[k].use));
        write_turn_value(w, u->operands[0], 0);
        mica_text_printf(w->text, "acc%d[j] = ", k);
        if (!is_first)
            mica_text_printf(w->text, "mica_%s_%s(acc%d[j], ", reducer_name(u->value.node),
                             mica_dtype_name(dtype), k);
        write_operand(w, u->operands[0]);
        mica_text_append(w->text, is_first ? ";\n" : ");\n");
    }
    forget_turn(w);
    mica_text_append(w->text, "}\n}\n");
}

static void write_column_levels(writer *w, int levels) {
    const mica_nest *nest = w->nest;
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        const char *type = mica_storage_type(compute_dtype(dtype_of(w, nest->stores[k].use)));
        mica_text_printf(w->text, "%s acc%d[%d], levels%d[%d][%d];\n", type, k, STRIP, k, levels,
                         STRIP);
    }
}

static void write_line_calls(writer *w, const char *function, const char *count) {
    const mica_nest *nest = w->nest;
    for (int32_t k = 0; k < nest->body->n_outputs; k++)
        mica_text_printf(w->text, "%s_%s_%s(levels%d, (uint64_t)(%s), acc%d, width);\n", function,
                         reducer_name(nest->uses[nest->stores[k].use].value.node),
                         mica_dtype_name(compute_dtype(dtype_of(w, nest->stores[k].use))), k, count,
                         k);
}

/* acc<output>, rounded, to the line of the result. */
static void write_column_stores(writer *w) {
    const mica_nest *nest = w->nest;
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        mica_dtype dtype = dtype_of(w, nest->stores[k].use);
        const char *type = mica_storage_type(dtype);
        mica_text_printf(
            w->text, "for (int64_t j = 0; j < width; j++) ((%s *)y[%d])[column + j] = ", type, k);
        if (is_half(dtype))
            mica_text_printf(w->text, "mica_convert_f32_%s(acc%d[j]);\n", mica_dtype_name(dtype),
                             k);
        else
            mica_text_printf(w->text, "acc%d[j];\n", k);
    }
}

/* acc<output> to or from the scratch memory; u is the number of the chunk. */
static void write_partials(writer *w, const column_cut *cut, bool store) {
    const mica_nest *nest = w->nest;
    size_t offset = 0;
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        const char *type = mica_storage_type(compute_dtype(dtype_of(w, nest->stores[k].use)));
        mica_text_printf(w->text, "{ %s *partial = (%s *)((char *)scratch + %zu) + u * %d;\n", type,
                         type, offset, STRIP);
        mica_text_printf(w->text,
                         store ? "for (int64_t j = 0; j < width; j++) partial[j] = acc%d[j]; }\n"
                               : "for (int64_t j = 0; j < width; j++) acc%d[j] = partial[j]; }\n",
                         k);
        offset += partial_bytes(nest, k) * (size_t)(cut->strips * cut->chunks);
    }
}

static void write_columns(writer *w) {
    const mica_nest *nest = w->nest;
    column_cut cut = cut_columns(nest);
    mica_text_printf(w->text,
                     "for (int64_t u = begin; u < end; u++) {\n"
                     "const int64_t column = u / %lld * %d, first = u %% %lld * %lld;\n"
                     "const int64_t width = MIN(%d, %lld - column);\n"
                     "const int64_t parts = MIN(%lld, %lld - first);\n",
                     (long long)cut.chunks, STRIP, (long long)cut.chunks, (long long)cut.chunk,
                     STRIP, (long long)nest->inner_turns, (long long)cut.chunk,
                     (long long)cut.parts);
    write_column_levels(w, cut.levels);
    mica_text_printf(w->text,
                     "for (int64_t p = 0; p < parts; p++) {\n"
                     "int64_t r = (first + p) * %d;\n"
                     "const int64_t last = MIN(r + %d, %lld);\n",
                     MICA_REDUCE_ROWS, MICA_REDUCE_ROWS, (long long)nest->outer_turns);
    write_column_row(w, true);
    mica_text_append(w->text, "for (r++; r < last; r++)\n");
    write_column_row(w, false);
    write_line_calls(w, "lines", "p");
    mica_text_append(w->text, "}\n");
    write_line_calls(w, "sum_lines", "parts");
    if (cut.chunks > 1)
        write_partials(w, &cut, true);
    else
        write_column_stores(w);
    mica_text_append(w->text, "}\n");
}

static void write_finish(writer *w) {
    const mica_nest *nest = w->nest;
    column_cut cut = cut_columns(nest);
    int levels = 1;
    while ((int64_t)1 << levels <= cut.chunks) levels++;
    mica_text_printf(w->text,
                     "void FINISH(const void *const *x, void *const *y, void *scratch, int64_t "
                     "begin, int64_t end) {\n(void)x;\n"
                     "for (int64_t s = begin; s < end; s++) {\n"
                     "const int64_t column = s * %d, width = MIN(%d, %lld - column);\n",
                     STRIP, STRIP, (long long)nest->inner_turns);
    write_column_levels(w, levels);
    mica_text_printf(w->text,
                     "for (int64_t c = 0; c < %lld; c++) {\nconst int64_t u = s * %lld + c;\n",
                     (long long)cut.chunks, (long long)cut.chunks);
    write_partials(w, &cut, false);
    write_line_calls(w, "lines", "c");
    mica_text_append(w->text, "}\n");
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)cut.chunks);
    write_line_calls(w, "sum_lines", count);
    write_column_stores(w);
    mica_text_append(w->text, "}\n}\n");
}

/* ---- a kernel ---------------------------------------------------------------------------------*/

/* A result may be written over an operand that is read at the same places, and only before. */
static uint32_t find_in_place(const mica_nest *nest, int32_t result) {
    const mica_store *store = &nest->stores[result];
    uint32_t mask = 0;
    if (nest->kind == MICA_NEST_COLUMNS || !is_stored_in(nest, store, nest->n_passes - 1)) return 0;
    const mica_type *type = mica_value_type(nest->body->outputs[result]);
    for (int32_t i = 0; i < nest->body->n_parameters && i < 32; i++) {
        const mica_type *x = mica_value_type(nest->body->parameters[i]);
        bool fits = mica_dtype_bytes(x->dtype) == mica_dtype_bytes(type->dtype) &&
                    mica_type_elements(x) == mica_type_elements(type);
        for (int32_t u = 0; u < nest->n_uses && fits; u++)
            if (mica_value_same(nest->uses[u].value, nest->body->parameters[i]))
                fits = nest->uses[u].offset == 0 &&
                       !memcmp(nest->uses[u].steps, store->steps, sizeof store->steps);
        if (fits) mask |= 1u << i;
    }
    return mask;
}

void mica_kernel_shape_find(const mica_nest *nest, mica_kernel_shape *out) {
    *out = (mica_kernel_shape){0};
    for (int32_t i = 0; i < nest->body->n_outputs && i < 4; i++)
        out->in_place[i] = find_in_place(nest, i);
    int64_t turn_work = nest->is_costly ? COSTLY_TURN : 1, unit_turns = nest->inner_turns,
            unit_work;
    if (nest->kind == MICA_NEST_COLUMNS) {
        column_cut cut = cut_columns(nest);
        out->units = cut.strips * cut.chunks;
        unit_work = cut.chunk * MICA_REDUCE_ROWS *
                    (nest->inner_turns < STRIP ? nest->inner_turns : STRIP) * turn_work;
        if (cut.chunks > 1) {
            out->finish_units = cut.strips;
            for (int32_t k = 0; k < nest->body->n_outputs; k++)
                out->scratch_bytes += partial_bytes(nest, k) * (size_t)out->units;
        }
    } else if (nest->kind == MICA_NEST_LOOP && nest->inner == 0) {
        out->units = nest->inner_turns;
        unit_turns = 1;
        unit_work = turn_work;
    } else {
        out->units = nest->outer_turns;
        unit_work = nest->inner_turns * turn_work * nest->n_passes;
    }
    out->grain = UNIT_WORK / unit_work > 1 ? UNIT_WORK / unit_work : 1;
    if (has_streamed(nest) && out->grain * unit_turns < STREAMED_TURNS)
        out->grain = (STREAMED_TURNS + unit_turns - 1) / unit_turns;
}

void mica_write_kernel(mica_text *text, const mica_nest *nest) {
    writer w = {.text = text, .nest = nest};
    w.written = mica_calloc((size_t)nest->n_uses, sizeof *w.written);
    if (!w.written) {
        text->failed = true;
        return;
    }
    mica_text_append(text, "void KERNEL(const void *const *x, void *const *y, void *scratch, "
                           "int64_t begin, int64_t end) {\n(void)x, (void)scratch;\n");
    if (nest->kind == MICA_NEST_COLUMNS)
        write_columns(&w);
    else if (nest->kind == MICA_NEST_LOOP && nest->inner == 0)
        write_plain_loop(&w);
    else
        write_rows(&w);
    if (has_streamed(nest)) mica_text_append(text, "mica_stream_end();\n");
    mica_text_append(text, "}\n");
    if (nest->kind == MICA_NEST_COLUMNS && cut_columns(nest).chunks > 1) write_finish(&w);
    mica_free(w.written);
}

/* ---- GPUs -------------------------------------------------------------------------------------*/

/* Loops: a thread per turn, or per neighbouring turns. Rows: a block per row, whose threads reduce
 * blocks of the row by lanes, sixteen a block, and put the parts together. Columns: a thread per
 * piece (gpu_columns), and blocks that put the pieces together. */

#define ROW_PARTS(nest) (((nest)->inner_turns + MICA_REDUCE_BLOCK - 1) / MICA_REDUCE_BLOCK)
#define COLUMN_PARTS(nest) (((nest)->outer_turns + MICA_REDUCE_ROWS - 1) / MICA_REDUCE_ROWS)

void mica_nest_prepare_gpu(mica_nest *nest) {
    nest->streams = false;
    for (int32_t i = 0; i < nest->n_uses; i++) nest->uses[i].is_kept = false;
}

/* How columns are cut: a thread has `wide` neighbouring columns and `together` groups of
 * MICA_REDUCE_ROWS rows, a power of two, so that what it puts together is a subtree. */
typedef struct gpu_columns {
    int64_t wide, together, pieces; /* pieces: of a column */
} gpu_columns;

enum { MOST_TOGETHER = 32, TOGETHER_LEVELS = 6, ENOUGH_THREADS = 1 << 16, MOST_WIDE_COLUMNS = 4 };

static gpu_columns cut_gpu_columns(const mica_nest *nest) {
    int64_t parts = COLUMN_PARTS(nest), n = nest->inner_turns;
    gpu_columns c = {.wide = find_width(nest), .together = 1};
    if (c.wide > MOST_WIDE_COLUMNS) c.wide = MOST_WIDE_COLUMNS;
    while (c.wide > 1 && (n % c.wide != 0 || parts * n / c.wide < ENOUGH_THREADS)) c.wide /= 2;
    while (c.together < MOST_TOGETHER &&
           (parts + 2 * c.together - 1) / (2 * c.together) * (n / c.wide) >= ENOUGH_THREADS)
        c.together *= 2;
    c.pieces = (parts + c.together - 1) / c.together;
    return c;
}

static size_t gpu_partial_bytes(const mica_nest *nest, int32_t output) {
    mica_dtype dtype = mica_value_type(nest->body->outputs[output])->dtype;
    return (size_t)(cut_gpu_columns(nest).pieces * nest->inner_turns) *
           mica_dtype_bytes(compute_dtype(dtype));
}

void mica_gpu_shape_find(const mica_nest *nest, mica_gpu_shape *out) {
    *out = (mica_gpu_shape){0};
    for (int32_t i = 0; i < nest->body->n_outputs && i < 4; i++)
        out->in_place[i] = find_in_place(nest, i);
    if (nest->kind == MICA_NEST_LOOP) {
        out->units = nest->outer_turns * nest->inner_turns / find_wide(nest);
    } else if (nest->kind == MICA_NEST_ROWS) {
        int64_t threads = ROW_PARTS(nest) * MICA_REDUCE_LANES;
        out->units = nest->outer_turns;
        out->threads = threads < 32    ? 32
                       : threads > 256 ? 256
                                       : (int32_t)((threads + 31) / 32 * 32);
    } else {
        gpu_columns cut = cut_gpu_columns(nest);
        out->units = cut.pieces * (nest->inner_turns / cut.wide);
        if (cut.pieces == 1) return;
        out->finish_units = nest->inner_turns;
        for (int32_t k = 0; k < nest->body->n_outputs; k++)
            out->scratch_bytes += gpu_partial_bytes(nest, k);
    }
}

/* The kernel's head: its argument, and the names that the rest of the text has for it. */
static void write_gpu_head(writer *w, const char *entry) {
    int32_t n_operands = w->nest->body->n_parameters, n_results = w->nest->body->n_outputs;
    mica_text_printf(w->text,
                     "typedef struct { const void *x[%d]; void *y[%d]; void *scratch; int64_t "
                     "units, finish_units; } LAYOUT_OF(%s);\n"
                     "MICA_KERNEL(%s, LAYOUT_OF(%s)) {\n"
                     "const void *const *x = a.x;\nvoid *const *y = a.y;\n(void)x, (void)y;\n",
                     n_operands > 0 ? n_operands : 1, n_results, entry, entry, entry);
}

/* Marks the uses that the turns of a pass need. */
static void find_needed(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    memset(w->needed, 0, (size_t)nest->n_uses);
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (is_stored_in(nest, &nest->stores[i], pass)) w->needed[nest->stores[i].use] = 1;
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (is_reduced_in(nest, i, pass)) w->needed[nest->uses[i].operands[0]] = 1;
    for (int32_t i = nest->n_uses - 1; i >= 0; i--) {
        const mica_node *n = nest->uses[i].value.node;
        if (!w->needed[i] || n->op == MICA_OP_PARAMETER || n->op == MICA_OP_reduce) continue;
        for (int32_t k = 0; k < n->n_operands; k++) w->needed[nest->uses[i].operands[k]] = 1;
    }
}

static void write_wide_read(writer *w, int32_t use) {
    mica_dtype dtype = dtype_of(w, use);
    mica_text_printf(w->text, "MICA_WIDE(%s, w%d, %d);\nMICA_COPY_WIDE(w%d, p%d + first, %zu);\n",
                     mica_storage_type(dtype), use, w->wide, use, use,
                     (size_t)w->wide * mica_dtype_bytes(dtype));
}

/* w<use>, what is read before all turns of a piece, and r<output>, what is written after them. */
static void write_wide_begin(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    find_needed(w, pass);
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (is_wide_use(w, i) && w->needed[i]) write_wide_read(w, i);
    }
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (is_wide_store(w, i) && is_stored_in(nest, &nest->stores[i], pass))
            mica_text_printf(w->text, "MICA_WIDE(%s, r%d, %d);\n",
                             mica_storage_type(dtype_of(w, nest->stores[i].use)), i, w->wide);
    mica_text_printf(w->text,
                     "MICA_UNROLLED for (int k = 0; k < %d; k++) {\n"
                     "const int64_t i = first + k;\n",
                     w->wide);
}

static void write_wide_end(writer *w, int32_t pass) {
    mica_text_append(w->text, "}\n");
    for (int32_t i = 0; i < w->nest->body->n_outputs; i++)
        if (is_wide_store(w, i) && is_stored_in(w->nest, &w->nest->stores[i], pass))
            mica_text_printf(w->text, "MICA_COPY_WIDE(q%d + first, r%d, %zu);\n", i, i,
                             (size_t)w->wide *
                                 mica_dtype_bytes(dtype_of(w, w->nest->stores[i].use)));
}

static void write_gpu_loop(writer *w) {
    const mica_nest *nest = w->nest;
    bool is_small = nest->outer_turns * nest->inner_turns <= INT32_MAX;
    const char *first = w->wide > 1 ? "first" : "i";
    int64_t pieces = nest->inner_turns / w->wide;
    mica_text_append(w->text, "MICA_EACH_THREAD MICA_EACH(u, a.units) {\n");
    if (nest->inner == 0) {
        mica_text_printf(w->text, "const int64_t %s = u * %d;\n", first, w->wide);
    } else {
        mica_text_printf(w->text,
                         "const %s o = (%s)u / %lld;\n"
                         "const int64_t %s = (u - (int64_t)o * %lld) * %d;\n",
                         is_small ? "uint32_t" : "int64_t", is_small ? "uint32_t" : "int64_t",
                         (long long)pieces, first, (long long)pieces, w->wide);
        write_outer_turns(w, "o");
    }
    write_row_pointers(w, true);
    write_row_values(w, 0);
    if (w->wide > 1) write_wide_begin(w, 0);
    write_turn(w, 0, NULL, false);
    if (w->wide > 1) write_wide_end(w, 0);
    mica_text_append(w->text, "}\n");
}

static const char *reducer_identity(const mica_node *reduce, mica_dtype compute) {
    const char *kind = mica_node_string(reduce, "kind");
    bool wide = compute == MICA_DTYPE_f64;
    if (!strcmp(kind, "max")) return wide ? "-MICA_INF_F64" : "-MICA_INF_F32";
    if (!strcmp(kind, "min")) return wide ? "MICA_INF_F64" : "MICA_INF_F32";
    return !strcmp(kind, "prod") ? "1" : "0";
}

/* A turn that adds to sum<use> what is reduced. */
static void write_gpu_turn(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    write_turn_values(w, pass);
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        mica_text_printf(w->text, "sum%d = mica_%s_%s(sum%d, ", i,
                         reducer_name(nest->uses[i].value.node),
                         mica_dtype_name(compute_dtype(dtype_of(w, i))), i);
        write_operand(w, nest->uses[i].operands[0]);
        mica_text_append(w->text, ");\n");
    }
    for (int32_t i = 0; i < nest->body->n_outputs; i++) {
        if (!is_stored_in(nest, &nest->stores[i], pass)) continue;
        if (is_wide_store(w, i)) {
            mica_text_printf(w->text, "r%d[k] = v%d;\n", i, nest->stores[i].use);
            continue;
        }
        mica_text_printf(w->text, "q%d[", i);
        write_inner_index(w, nest->stores[i].steps);
        mica_text_printf(w->text, "] = v%d;\n", nest->stores[i].use);
    }
    forget_turn(w);
}

/* For every reduction of a pass: `format` with its number twice, its reducer and its dtype. */
static void write_gpu_lanes(writer *w, int32_t pass, bool store) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        if (store)
            mica_text_printf(w->text, "lanes%d[MICA_THREAD] = sum%d;\n", i, i);
        else
            mica_text_printf(w->text,
                             "lanes%d[MICA_THREAD] = mica_%s_%s(lanes%d[MICA_THREAD], "
                             "lanes%d[MICA_THREAD + half]);\n",
                             i, reducer_name(nest->uses[i].value.node),
                             mica_dtype_name(compute_dtype(dtype_of(w, i))), i, i);
    }
}

/* v<use> of every reduction of the pass, from lanes<use>[0] or the tree over parts<use>. */
static void write_gpu_results(writer *w, int32_t pass, int64_t parts) {
    const mica_nest *nest = w->nest;
    char text[80];
    if (parts > 2) mica_text_append(w->text, "MICA_PHASE { if (MICA_THREAD == 0) {\n");
    for (int32_t i = 0; parts > 2 && i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        mica_text_printf(w->text, "whole%d = span_%s_%s(parts%d, %lld, 1);\n", i,
                         reducer_name(nest->uses[i].value.node),
                         mica_dtype_name(compute_dtype(dtype_of(w, i))), i, (long long)parts);
    }
    if (parts > 2) mica_text_append(w->text, "} }\n");
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (!is_reduced_in(nest, i, pass)) continue;
        if (parts == 2)
            snprintf(text, sizeof text, "mica_%s_%s(parts%d[0], parts%d[1])",
                     reducer_name(nest->uses[i].value.node),
                     mica_dtype_name(compute_dtype(dtype_of(w, i))), i, i);
        else
            snprintf(text, sizeof text, parts > 1 ? "whole%d" : "lanes%d[0]", i);
        write_reduced(w, i, text);
    }
}

/* The turns of a thread's lane in a block of a row: what some of them read is asked for before the
 * first is computed, since what one stores may lie where another reads, for all that a compiler
 * knows. */
static void write_gpu_block_turns(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    find_needed(w, pass);
    mica_text_printf(w->text, "for (int64_t j = MICA_THREAD %% %d; j < end; j += %d) {\n",
                     MICA_REDUCE_LANES, MICA_REDUCE_LANES * TURNS_AHEAD);
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        if (!w->needed[i] || !u->varies || u->value.node->op != MICA_OP_PARAMETER) continue;
        mica_text_printf(w->text,
                         "%s w%d[%d];\nMICA_UNROLLED for (int k = 0; k < %d; k++) {\n"
                         "const int64_t i = at + j + k * %d;\nif (i < at + end) w%d[k] = p%d[",
                         mica_storage_type(dtype_of(w, i)), i, TURNS_AHEAD, TURNS_AHEAD,
                         MICA_REDUCE_LANES, i, i);
        write_inner_index(w, u->steps);
        mica_text_append(w->text, "];\n}\n");
    }
    mica_text_printf(w->text,
                     "MICA_UNROLLED for (int k = 0; k < %d; k++) {\n"
                     "const int64_t i = at + j + k * %d;\nif (i < at + end) {\n",
                     TURNS_AHEAD, MICA_REDUCE_LANES);
    w->ahead = TURNS_AHEAD;
    write_gpu_turn(w, pass);
    w->ahead = 0;
    mica_text_append(w->text, "}\n}\n}\n");
}

static void write_gpu_reducing_pass(writer *w, int32_t pass) {
    const mica_nest *nest = w->nest;
    int64_t n = nest->inner_turns, parts = ROW_PARTS(nest);
    mica_text_printf(w->text,
                     "for (int64_t group = 0; group < %lld; group += MICA_THREADS / %d) {\n"
                     "MICA_PHASE {\n"
                     "const int64_t b = group + MICA_THREAD / %d, at = b * %d;\n"
                     "const int64_t end = MIN(%d, %lld - at);\n",
                     (long long)parts, MICA_REDUCE_LANES, MICA_REDUCE_LANES, MICA_REDUCE_BLOCK,
                     MICA_REDUCE_BLOCK, (long long)n);
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (is_reduced_in(nest, i, pass))
            mica_text_printf(
                w->text, "%s sum%d = %s;\n", mica_storage_type(compute_dtype(dtype_of(w, i))), i,
                reducer_identity(nest->uses[i].value.node, compute_dtype(dtype_of(w, i))));
    write_gpu_block_turns(w, pass);
    write_gpu_lanes(w, pass, true);
    mica_text_printf(w->text,
                     "}\nfor (int64_t half = %d; half > 0; half /= 2) MICA_PHASE {\n"
                     "if (MICA_THREAD %% %d < half) {\n",
                     MICA_REDUCE_LANES / 2, MICA_REDUCE_LANES);
    write_gpu_lanes(w, pass, false);
    mica_text_append(w->text, "} }\n");
    if (parts > 1) {
        mica_text_printf(w->text,
                         "MICA_PHASE {\nconst int64_t b = group + MICA_THREAD / %d;\n"
                         "if (MICA_THREAD %% %d == 0 && b < %lld) {\n",
                         MICA_REDUCE_LANES, MICA_REDUCE_LANES, (long long)parts);
        for (int32_t i = 0; i < nest->n_uses; i++)
            if (is_reduced_in(nest, i, pass))
                mica_text_printf(w->text, "parts%d[b] = lanes%d[MICA_THREAD];\n", i, i);
        mica_text_append(w->text, "} }\n");
    }
    mica_text_append(w->text, "}\n");
    write_gpu_results(w, pass, parts);
}

static void write_gpu_shared(writer *w) {
    const mica_nest *nest = w->nest;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        if (nest->uses[i].value.node->op != MICA_OP_reduce) continue;
        const char *type = mica_storage_type(compute_dtype(dtype_of(w, i)));
        mica_text_printf(w->text, "MICA_SHARED %s lanes%d[MICA_MOST_THREADS];\n", type, i);
        if (ROW_PARTS(nest) > 1)
            mica_text_printf(w->text, "MICA_SHARED %s parts%d[%lld];\n", type, i,
                             (long long)ROW_PARTS(nest));
        if (ROW_PARTS(nest) > 2) mica_text_printf(w->text, "MICA_SHARED %s whole%d;\n", type, i);
    }
}

/* A pass that reduces nothing. */
static void write_gpu_row_pass(writer *w, int32_t pass) {
    long long turns = (long long)w->nest->inner_turns;
    w->wide = find_wide(w->nest);
    if (w->wide > 1) {
        mica_text_printf(w->text,
                         "MICA_PHASE { for (int64_t first = MICA_THREAD * %d; first < %lld; "
                         "first += MICA_THREADS * %d) {\n",
                         w->wide, turns, w->wide);
        write_wide_begin(w, pass);
    } else {
        mica_text_printf(
            w->text, "MICA_PHASE { for (int64_t i = MICA_THREAD; i < %lld; i += MICA_THREADS) {\n",
            turns);
    }
    write_gpu_turn(w, pass);
    if (w->wide > 1) write_wide_end(w, pass);
    mica_text_append(w->text, "} }\n");
    w->wide = 1;
}

static void write_gpu_rows(writer *w) {
    const mica_nest *nest = w->nest;
    write_gpu_shared(w);
    mica_text_append(w->text, "for (int64_t o = MICA_BLOCK; o < a.units; o += MICA_BLOCKS) {\n");
    write_outer_turns(w, "o");
    write_row_pointers(w, true);
    for (int32_t pass = 0; pass < nest->n_passes; pass++) {
        bool reduces, turns;
        write_row_values(w, pass);
        if (!pass_has_work(w, pass, &reduces, &turns)) continue;
        if (reduces) {
            write_gpu_reducing_pass(w, pass);
            continue;
        }
        write_gpu_row_pass(w, pass);
    }
    mica_text_append(w->text, "MICA_PHASE { if (MICA_THREAD == 0) {\n");
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (!is_inner_store(nest, &nest->stores[i]))
            mica_text_printf(w->text, "q%d[0] = v%d;\n", i, nest->stores[i].use);
    mica_text_append(w->text, "} }\n}\n");
}

/* One row of the columns: into acc<output>[k], or combined with what is there. */
static void write_gpu_column_row(writer *w, bool is_first) {
    const mica_nest *nest = w->nest;
    mica_text_append(w->text, "{\n");
    write_outer_turns(w, "r");
    write_row_pointers(w, false);
    for (int32_t i = 0; i < nest->n_uses; i++) w->written[i] = NOT_WRITTEN;
    write_row_values(w, 0);
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (is_wide_use(w, i)) write_wide_read(w, i);
    mica_text_printf(w->text,
                     "MICA_UNROLLED for (int k = 0; k < %d; k++) {\n"
                     "const int64_t i = first + k;\n",
                     w->wide);
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        const mica_use *u = &nest->uses[nest->stores[k].use];
        mica_dtype dtype = compute_dtype(dtype_of(w, nest->stores[k].use));
        write_turn_value(w, u->operands[0], 0);
        mica_text_printf(w->text, "acc%d[k] = ", k);
        if (!is_first)
            mica_text_printf(w->text, "mica_%s_%s(acc%d[k], ", reducer_name(u->value.node),
                             mica_dtype_name(dtype), k);
        write_operand(w, u->operands[0]);
        mica_text_append(w->text, is_first ? ";\n" : ");\n");
    }
    forget_turn(w);
    mica_text_append(w->text, "(void)i;\n}\n}\n");
}

static void write_gpu_column_store(writer *w, int32_t k, const char *value) {
    mica_dtype dtype = dtype_of(w, w->nest->stores[k].use);
    mica_text_printf(w->text, "((%s *)y[%d])[i] = ", mica_storage_type(dtype), k);
    if (is_half(dtype))
        mica_text_printf(w->text, "mica_convert_f32_%s(%s);\n", mica_dtype_name(dtype), value);
    else
        mica_text_printf(w->text, "%s;\n", value);
}

/* What a thread has made of its groups of rows, for column first + k. */
static void write_gpu_column_result(writer *w, const gpu_columns *cut, int32_t k, size_t offset) {
    const mica_nest *nest = w->nest;
    const mica_use *u = &nest->uses[nest->stores[k].use];
    mica_dtype compute = compute_dtype(dtype_of(w, nest->stores[k].use));
    char value[96];
    if (cut->together == 1)
        snprintf(value, sizeof value, "acc%d[k]", k);
    else
        snprintf(value, sizeof value, "root_%s_%s(levels%d[k], (uint64_t)n)",
                 reducer_name(u->value.node), mica_dtype_name(compute), k);
    if (cut->pieces == 1)
        write_gpu_column_store(w, k, value);
    else
        mica_text_printf(w->text, "((%s *)((char *)a.scratch + %zu))[piece * %lld + i] = %s;\n",
                         mica_storage_type(compute), offset, (long long)nest->inner_turns, value);
}

static void write_gpu_columns(writer *w) {
    const mica_nest *nest = w->nest;
    gpu_columns cut = cut_gpu_columns(nest);
    long long threads = nest->inner_turns / cut.wide;
    size_t offset = 0;
    w->wide = (int32_t)cut.wide;
    mica_text_printf(w->text,
                     "MICA_EACH_THREAD MICA_EACH(u, a.units) {\n"
                     "const int64_t piece = u / %lld, first = (u - piece * %lld) * %d;\n"
                     "const int64_t n = MIN(%lld, %lld - piece * %lld);\n",
                     threads, threads, w->wide, (long long)cut.together,
                     (long long)COLUMN_PARTS(nest), (long long)cut.together);
    for (int32_t k = 0; cut.together > 1 && k < nest->body->n_outputs; k++)
        mica_text_printf(w->text, "%s levels%d[%d][%d];\n",
                         mica_storage_type(compute_dtype(dtype_of(w, nest->stores[k].use))), k,
                         w->wide, TOGETHER_LEVELS);
    mica_text_printf(w->text,
                     "for (int64_t part = 0; part < n; part++) {\n"
                     "int64_t r = (piece * %lld + part) * %d;\n"
                     "const int64_t last = MIN(r + %d, %lld);\n",
                     (long long)cut.together, MICA_REDUCE_ROWS, MICA_REDUCE_ROWS,
                     (long long)nest->outer_turns);
    for (int32_t k = 0; k < nest->body->n_outputs; k++)
        mica_text_printf(w->text, "%s acc%d[%d];\n",
                         mica_storage_type(compute_dtype(dtype_of(w, nest->stores[k].use))), k,
                         w->wide);
    write_gpu_column_row(w, true);
    mica_text_append(w->text, "MICA_UNROLLED_BY_8 for (r++; r < last; r++)\n");
    write_gpu_column_row(w, false);
    mica_text_printf(w->text, "MICA_UNROLLED for (int k = 0; k < %d; k++) {\n", w->wide);
    for (int32_t k = 0; cut.together > 1 && k < nest->body->n_outputs; k++) {
        const mica_use *u = &nest->uses[nest->stores[k].use];
        mica_text_printf(w->text, "tree_%s_%s(levels%d[k], (uint64_t)part, acc%d[k]);\n",
                         reducer_name(u->value.node),
                         mica_dtype_name(compute_dtype(dtype_of(w, nest->stores[k].use))), k, k);
    }
    if (cut.together > 1)
        mica_text_printf(w->text, "}\n}\nMICA_UNROLLED for (int k = 0; k < %d; k++) {\n", w->wide);
    mica_text_append(w->text, "const int64_t i = first + k;\n");
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        write_gpu_column_result(w, &cut, k, offset);
        offset += gpu_partial_bytes(nest, k);
    }
    mica_text_append(w->text, cut.together > 1 ? "}\n}\n" : "}\n}\n}\n");
    w->wide = 1;
}

/* A block puts together the groups of MICA_FINISH_UNITS columns: a warp a span of the groups, then
 * the first warp the spans. */
static void write_gpu_finish(writer *w) {
    const mica_nest *nest = w->nest;
    int64_t parts = cut_gpu_columns(nest).pieces, span = 1;
    while (span * MICA_FINISH_SPANS < parts) span *= 2;
    for (int32_t k = 0; k < nest->body->n_outputs; k++)
        mica_text_printf(w->text, "MICA_SHARED %s spans%d[MICA_MOST_THREADS];\n",
                         mica_storage_type(compute_dtype(dtype_of(w, nest->stores[k].use))), k);
    mica_text_printf(w->text,
                     "for (int64_t first = MICA_BLOCK * %d; first < a.finish_units; "
                     "first += MICA_BLOCKS * %d) {\nMICA_PHASE {\n"
                     "const int64_t i = first + MICA_THREAD %% %d;\n"
                     "const int64_t begin = MICA_THREAD / %d * %lld;\n"
                     "const int64_t n = MIN(%lld, %lld - begin);\n"
                     "if (i < a.finish_units && n > 0) {\n",
                     MICA_FINISH_UNITS, MICA_FINISH_UNITS, MICA_FINISH_UNITS, MICA_FINISH_UNITS,
                     (long long)span, (long long)span, (long long)parts);
    size_t offset = 0;
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        const mica_use *u = &nest->uses[nest->stores[k].use];
        mica_dtype compute = compute_dtype(dtype_of(w, nest->stores[k].use));
        mica_text_printf(w->text,
                         "spans%d[MICA_THREAD] = span_%s_%s((const %s *)((char *)a.scratch + %zu) "
                         "+ begin * %lld + i, n, %lld);\n",
                         k, reducer_name(u->value.node), mica_dtype_name(compute),
                         mica_storage_type(compute), offset, (long long)nest->inner_turns,
                         (long long)nest->inner_turns);
        offset += gpu_partial_bytes(nest, k);
    }
    mica_text_printf(w->text,
                     "} }\nMICA_PHASE {\nconst int64_t i = first + MICA_THREAD;\n"
                     "if (MICA_THREAD < %d && i < a.finish_units) {\n",
                     MICA_FINISH_UNITS);
    for (int32_t k = 0; k < nest->body->n_outputs; k++) {
        const mica_use *u = &nest->uses[nest->stores[k].use];
        mica_dtype compute = compute_dtype(dtype_of(w, nest->stores[k].use));
        mica_text_printf(
            w->text, "{ const %s all = spans_%s_%s(spans%d + MICA_THREAD, %d, %lld, %d);\n",
            mica_storage_type(compute), reducer_name(u->value.node), mica_dtype_name(compute), k,
            MICA_FINISH_UNITS, (long long)(parts / span), parts % span != 0);
        write_gpu_column_store(w, k, "all");
        mica_text_append(w->text, "}\n");
    }
    mica_text_append(w->text, "} }\n}\n");
}

void mica_write_gpu_kernel(mica_text *text, const mica_nest *nest) {
    writer w = {.text = text, .nest = nest, .is_gpu = true, .wide = 1};
    w.written = mica_calloc((size_t)nest->n_uses, 2);
    if (!w.written) {
        text->failed = true;
        return;
    }
    w.needed = w.written + nest->n_uses;
    write_gpu_head(&w, "ENTRY");
    if (nest->kind == MICA_NEST_LOOP) {
        w.wide = find_wide(nest);
        write_gpu_loop(&w);
    } else if (nest->kind == MICA_NEST_ROWS) {
        write_gpu_rows(&w);
    } else {
        write_gpu_columns(&w);
    }
    mica_text_append(text, "}\n");
    if (nest->kind == MICA_NEST_COLUMNS && cut_gpu_columns(nest).pieces > 1) {
        write_gpu_head(&w, "FINISH_ENTRY");
        write_gpu_finish(&w);
        mica_text_append(text, "}\n");
    }
    mica_free(w.written);
}
