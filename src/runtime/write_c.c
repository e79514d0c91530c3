/* A graph as one file of C that needs libc and libm alone: its commands over one static arena.
 *
 * The graph passes through the same passes as for a device, and what one loop nest can compute
 * becomes a nest; the others are texts that the device's kernels have of themselves. Both follow
 * the order of sums that shapes decide, so the program gives the bits of a run. */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "codegen/write.h"
#include "compile/passes.h"
#include "compile/plan.h"
#include "runtime/device.h"

/* The function of one node. Equal nests share one. */
typedef struct written_kernel {
    mica_kernel *kernel; /* the device's, NULL for a nest */
    mica_kernel_shape shape;
    int32_t number;
} written_kernel;

typedef struct writing {
    mica_device *device;
    const mica_plan *plan;
    const char *name;
    mica_text kernels, commands;
    char **nests; /* their texts, by number; NULL where a number is not a nest's */
    int32_t n_kernels, capacity;
    int32_t depth; /* of blocks in `commands` */
} writing;

/* ---- kernels ----------------------------------------------------------------------------------*/

static mica_status name_node(mica_status status, const mica_node *node) {
    if (!status || mica_status_code(status) == MICA_OUT_OF_MEMORY) return status;
    mica_status named =
        MICA_ERROR(mica_status_code(status), "[export] node %d, %s of %s: %s", node->id,
                   mica_op_describe(node->op)->name, mica_type_text(&node->results[0]).chars,
                   mica_status_message(status));
    mica_status_release(status);
    return named;
}

/* A number for a kernel; `nest`, when it is one, is taken over. */
static mica_status add_number(writing *w, char *nest, int32_t *out) {
    if (w->n_kernels == w->capacity) {
        int32_t more = w->capacity ? 2 * w->capacity : 64;
        char **grown = mica_realloc(w->nests, sizeof *grown * (size_t)more);
        if (!grown) {
            mica_free(nest);
            return MICA_NO_MEMORY();
        }
        w->nests = grown;
        w->capacity = more;
    }
    w->nests[w->n_kernels] = nest;
    *out = w->n_kernels++;
    return NULL;
}

static const char signature[] =
    "(const void *const *x, void *const *y, void *scratch, int64_t begin, int64_t end)";

static mica_status write_nest(writing *w, const mica_node *node, written_kernel *k) {
    mica_nest *nest = NULL;
    char *body = NULL;
    mica_text text;
    MICA_TRY(mica_nest_create(node->regions[0], &nest));
    nest->streams = false;
    mica_kernel_shape_find(nest, &k->shape);
    mica_text_init(&text);
    mica_write_kernel(&text, nest);
    mica_nest_destroy(nest);
    MICA_TRY(mica_text_finish(&text, &body));
    for (int32_t i = 0; i < w->n_kernels; i++)
        if (w->nests[i] && !strcmp(w->nests[i], body)) {
            mica_free(body);
            k->number = i;
            return NULL;
        }
    MICA_TRY(add_number(w, body, &k->number));
    mica_text_printf(&w->kernels, "\nstatic APART void k%d%s;\n", k->number, signature);
    if (k->shape.finish_units)
        mica_text_printf(&w->kernels, "static APART void k%d_finish%s;\n", k->number, signature);
    mica_text_printf(&w->kernels, "#define KERNEL k%d\n#define FINISH k%d_finish\n", k->number,
                     k->number);
    mica_text_append(&w->kernels, body);
    mica_text_append(&w->kernels, "#undef KERNEL\n#undef FINISH\n");
    return NULL;
}

static mica_status write_built_in(writing *w, const mica_node *node, written_kernel *k) {
    mica_text body;
    MICA_TRY(w->device->vtable->kernel_create(w->device, node, &k->kernel));
    MICA_TRY(add_number(w, NULL, &k->number));
    mica_text_init(&body);
    mica_text_append_char(&w->kernels, '\n');
    mica_kernel_text out = {.constants = &w->kernels, .body = &body, .number = k->number};
    mica_status status = w->device->vtable->kernel_write(w->device, k->kernel, node, &out);
    k->shape.scratch_bytes = out.scratch_bytes;
    if (!status)
        mica_text_printf(&w->kernels,
                         "static APART void k%d(const void *const *x, void *const *y, void "
                         "*scratch) {\n    (void)x, (void)y, (void)scratch;\n%s}\n",
                         k->number, mica_text_data(&body));
    w->kernels.failed = w->kernels.failed || mica_text_is_failed(&body);
    mica_text_deinit(&body);
    return status;
}

static void discard(void *context, void *kernel) {
    const writing *w = context;
    written_kernel *k = kernel;
    if (k->kernel) w->device->vtable->kernel_destroy(w->device, k->kernel);
    mica_free(k);
}

static mica_status prepare(void *context, const mica_node *node, mica_prepared *out) {
    writing *w = context;
    written_kernel *k = mica_calloc(1, sizeof *k);
    if (!k) return MICA_NO_MEMORY();
    bool is_nest = mica_node_is_fused(node);
    mica_status status = is_nest ? write_nest(w, node, k) : write_built_in(w, node, k);
    if (status) {
        discard(w, k);
        return name_node(status, node);
    }
    *out = (mica_prepared){.kernel = k, .scratch_bytes = k->shape.scratch_bytes};
    if (is_nest) {
        memcpy(out->in_place.masks, k->shape.in_place, sizeof out->in_place.masks);
        return NULL;
    }
    out->in_place.masks[0] = k->kernel->in_place_operands;
    memcpy(out->in_place.masks + 1, k->kernel->in_place_more, sizeof k->kernel->in_place_more);
    out->in_place.pairs = k->kernel->in_place;
    out->in_place.n_pairs = k->kernel->n_in_place;
    return NULL;
}

/* ---- commands ---------------------------------------------------------------------------------*/

static mica_status write_list(writing *w, const mica_commands *list);

static void indent(writing *w) {
    mica_text_printf(&w->commands, "%*s", 4 * w->depth, "");
}

static int32_t register_of(const writing *w, int32_t base) {
    const mica_graph *g = w->plan->graph;
    return base - MICA_BASE_FIRST - g->n_parameters - g->n_outputs;
}

/* The address of a place, as a char pointer. */
static void write_place(writing *w, mica_place place) {
    int32_t n_inputs = w->plan->graph->n_parameters, n_outputs = w->plan->graph->n_outputs;
    int32_t i = place.base - MICA_BASE_FIRST;
    mica_text *text = &w->commands;
    if (place.base < 0) {
        mica_text_append(text, "NULL");
        return;
    }
    if (place.base == MICA_BASE_ARENA)
        mica_text_append(text, "arena");
    else if (place.base == MICA_BASE_CONSTANTS)
        mica_text_append(text, "(char *)constants");
    else if (i < n_inputs)
        mica_text_printf(text, "(char *)inputs[%d]", i);
    else if (i < n_inputs + n_outputs)
        mica_text_printf(text, "(char *)outputs[%d]", i - n_inputs);
    else
        mica_text_printf(text, "at[%d]", i - n_inputs - n_outputs);
    if (place.offset) mica_text_printf(text, " + %lld", (long long)place.offset);
}

static void write_places(writing *w, const char *type, const mica_place *places, int32_t n) {
    indent(w);
    mica_text_printf(&w->commands, "%s[] = {", type);
    for (int32_t i = 0; i < n; i++) {
        if (i) mica_text_append(&w->commands, ", ");
        write_place(w, places[i]);
    }
    mica_text_append(&w->commands, n ? "};\n" : "NULL};\n");
}

static void write_call(writing *w, const mica_command *c, const char *suffix, int64_t units) {
    const written_kernel *k = c->kernel;
    indent(w);
    mica_text_printf(&w->commands, "k%d%s(x, y, ", k->number, suffix);
    write_place(w, c->scratch);
    if (units >= 0) mica_text_printf(&w->commands, ", 0, %lld", (long long)units);
    mica_text_append(&w->commands, ");\n");
}

static void write_launch(writing *w, const mica_command *c) {
    const written_kernel *k = c->kernel;
    indent(w);
    mica_text_append(&w->commands, "{\n");
    w->depth++;
    write_places(w, "const void *const x", c->operands, c->n_operands);
    write_places(w, "void *const y", c->results, c->n_results);
    write_call(w, c, "", k->kernel ? -1 : k->shape.units);
    if (k->shape.finish_units) write_call(w, c, "_finish", k->shape.finish_units);
    w->depth--;
    indent(w);
    mica_text_append(&w->commands, "}\n");
}

static void write_copy(writing *w, mica_place target, mica_place source, size_t bytes) {
    if (!bytes) return;
    indent(w);
    mica_text_append(&w->commands, "memmove(");
    write_place(w, target);
    mica_text_append(&w->commands, ", ");
    write_place(w, source);
    mica_text_printf(&w->commands, ", %zu);\n", bytes);
}

static void open_block(writing *w, const char *head) {
    indent(w);
    mica_text_printf(&w->commands, "%s{\n", head);
    w->depth++;
}

static void close_block(writing *w, const char *tail) {
    w->depth--;
    indent(w);
    mica_text_printf(&w->commands, "}%s\n", tail);
}

static mica_status write_branch(writing *w, const mica_command *c) {
    if (c->node->op != MICA_OP_cond && c->node->op != MICA_OP_case)
        return write_list(w, &c->regions[0]);
    bool is_case = c->node->op == MICA_OP_case;
    open_block(w, "");
    indent(w);
    mica_text_printf(&w->commands, is_case ? "const int32_t taken = *(const int32_t *)("
                                           : "const int32_t taken = !*(const uint8_t *)(");
    write_place(w, c->operands[0]);
    mica_text_append(&w->commands, ");\n");
    for (int32_t i = 0; i < c->n_regions; i++) {
        char head[64];
        if (i == c->n_regions - 1)
            snprintf(head, sizeof head, "if (taken < 0 || taken >= %d) ", i);
        else
            snprintf(head, sizeof head, "if (taken == %d) ", i);
        open_block(w, head);
        MICA_TRY(write_list(w, &c->regions[i]));
        close_block(w, "");
    }
    close_block(w, "");
    return NULL;
}

static void set_register(writing *w, int32_t base, mica_place place) {
    indent(w);
    mica_text_printf(&w->commands, "at[%d] = ", register_of(w, base));
    write_place(w, place);
    mica_text_append(&w->commands, ";\n");
}

static mica_status begin_carries(writing *w, const mica_command *c) {
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (carry->kind == MICA_LIST)
            return name_node(MICA_ERROR(MICA_UNSUPPORTED, "lists cannot be written as C"), c->node);
        if (carry->kind != MICA_TENSOR || !carry->bytes) continue;
        write_copy(w, carry->result, carry->initial, carry->bytes);
        set_register(w, carry->current, carry->result);
        if (carry->exchange) set_register(w, carry->next, carry->spare);
    }
    return NULL;
}

static void advance_carries(writing *w, const mica_command *c) {
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (!carry->exchange) continue;
        int32_t current = register_of(w, carry->current), next = register_of(w, carry->next);
        indent(w);
        mica_text_printf(&w->commands, "{ char *old = at[%d]; at[%d] = at[%d]; at[%d] = old; }\n",
                         current, current, next, next);
    }
}

static void end_carries(writing *w, const mica_command *c) {
    for (int32_t i = 0; i < c->n_carries; i++)
        if (c->carries[i].exchange)
            write_copy(w, c->carries[i].result, (mica_place){c->carries[i].current, 0},
                       c->carries[i].bytes);
}

static mica_status write_while(writing *w, const mica_command *c) {
    MICA_TRY(begin_carries(w, c));
    open_block(w, "for (;;) ");
    MICA_TRY(write_list(w, &c->regions[0]));
    indent(w);
    mica_text_append(&w->commands, "if (!*(const uint8_t *)(");
    write_place(w, c->regions[0].outputs[0]);
    mica_text_append(&w->commands, ")) break;\n");
    MICA_TRY(write_list(w, &c->regions[1]));
    advance_carries(w, c);
    close_block(w, "");
    end_carries(w, c);
    return NULL;
}

static void move_slices(writing *w, const mica_scan_slice *slices, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (!slices[i].bytes) continue;
        indent(w);
        mica_text_printf(&w->commands, "at[%d] = ", register_of(w, slices[i].base));
        write_place(w, slices[i].whole);
        mica_text_printf(&w->commands, " + turn%d * %zu;\n", w->depth, slices[i].bytes);
    }
}

static mica_status write_scan(writing *w, const mica_command *c) {
    long long length = (long long)mica_node_int(c->node, "length");
    char head[160];
    int32_t depth = w->depth + 1;
    MICA_TRY(begin_carries(w, c));
    if (mica_node_int(c->node, "reverse"))
        snprintf(head, sizeof head, "for (int64_t turn%d = %lld; turn%d >= 0; turn%d--) ", depth,
                 length - 1, depth, depth);
    else
        snprintf(head, sizeof head, "for (int64_t turn%d = 0; turn%d < %lld; turn%d++) ", depth,
                 depth, length, depth);
    open_block(w, head);
    move_slices(w, c->xs, c->n_xs);
    move_slices(w, c->ys, c->n_ys);
    MICA_TRY(write_list(w, &c->regions[0]));
    advance_carries(w, c);
    close_block(w, "");
    end_carries(w, c);
    return NULL;
}

static mica_status write_command(writing *w, const mica_command *c) {
    switch (c->kind) {
    case MICA_COMMAND_LAUNCH: write_launch(w, c); return NULL;
    case MICA_COMMAND_COPY: write_copy(w, c->results[0], c->operands[0], c->bytes); return NULL;
    case MICA_COMMAND_BRANCH: return write_branch(w, c);
    case MICA_COMMAND_WHILE: return write_while(w, c);
    case MICA_COMMAND_SCAN: return write_scan(w, c);
    case MICA_COMMAND_CALLBACK:
        return name_node(MICA_ERROR(MICA_UNSUPPORTED, "a call of the host cannot be written as C"),
                         c->node);
    default: break;
    }
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[export] '%s' keeps a list, as loops of unknown length do for their "
                      "gradients: lists cannot be written as C; give the loop a length",
                      w->plan->graph->name);
}

static mica_status write_list(writing *w, const mica_commands *list) {
    for (int32_t i = 0; i < list->n; i++) MICA_TRY(write_command(w, &list->data[i]));
    return NULL;
}

/* ---- the file ---------------------------------------------------------------------------------*/

static void write_values(mica_text *text, const char *what, const mica_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        mica_text_printf(text, " *     %s[%d]  %s\n", what, i,
                         mica_type_text(mica_value_type(values[i])).chars);
}

static void write_head(const writing *w, mica_text *text) {
    const mica_plan *plan = w->plan;
    const mica_graph *g = plan->graph;
    mica_text_printf(
        text,
        "/* %s: a function of tensors as C, written by mica export. It needs libc and libm.\n"
        " *\n"
        " *     x86-64: cc -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno "
        "-fno-trapping-math\n"
        " *     others: cc -std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math\n"
        " *\n"
        " * With these flags it gives the bits that Mica gives, whatever the vectors; with others "
        "it "
        "is\n"
        " * refused, here or when it is called. -march=native may be -mavx2 -mfma.\n"
        " *\n"
        " *     int %s(const void *const *inputs, void *const *outputs);\n"
        " *\n"
        " * computes the outputs of the inputs, arrays in row-major order, aligned to their "
        "elements, and\n"
        " * answers 0; or -1, with nothing done, where the compiler contracts products and sums. "
        "It\n"
        " * allocates nothing: what it needs lies in one static arena of %zu bytes and, some tens "
        "of "
        "KiB, on\n"
        " * the stack, so one call runs at a time. Outputs overlap no input, but for these "
        "pairs:\n",
        w->name, w->name, plan->arena_bytes);
    int32_t shared = 0;
    for (int32_t i = 0; i < g->n_parameters; i++)
        if (plan->overwritten_by[i] >= 0 && ++shared)
            mica_text_printf(text, " *     outputs[%d] may be inputs[%d]\n",
                             plan->overwritten_by[i], i);
    if (!shared) mica_text_append(text, " *     (none)\n");
    mica_text_append(text, " *\n");
    write_values(text, "inputs", g->parameters, g->n_parameters);
    write_values(text, "outputs", g->outputs, g->n_outputs);
    mica_text_append(text, " */\n");
}

static const char guards[] =
    "#define _DEFAULT_SOURCE\n"
    "#if defined(__FAST_MATH__)\n"
    "#error \"compile without -ffast-math: it changes the results\"\n"
    "#endif\n"
    "#if !defined(__GNUC__)\n"
    "#error \"compile with gcc or clang\"\n"
    "#endif\n"
    "#if !defined(__clang__) && !defined(__STRICT_ANSI__)\n"
    "#error \"compile with -std=c11: in its own dialects gcc contracts products and sums\"\n"
    "#endif\n"
    "#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)\n"
    "#error \"compile for a processor that computes float in float: with -mfpmath=sse\"\n"
    "#endif\n"
    "#if defined(__x86_64__) && !defined(__FMA__) && !defined(MICA_CALL_FMA)\n"
    "#error \"compile with -march=native or -mavx2 -mfma; -DMICA_CALL_FMA does without, slowly\"\n"
    "#endif\n"
    "#if defined(__clang__)\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#define APART __attribute__((noinline))\n"
    "#else /* memory of the arena has one type in one kernel and another in the next */\n"
    "#define APART __attribute__((noipa))\n"
    "#endif\n";

static void write_constants(const mica_plan *plan, mica_text *text) {
    if (!plan->constants_bytes) return;
    mica_text_append(text, "\nstatic const _Alignas(256) uint32_t constants[] = {\n");
    for (size_t i = 0; i < plan->constants_bytes; i += 4) {
        uint32_t word = 0;
        size_t n = plan->constants_bytes - i < 4 ? plan->constants_bytes - i : 4;
        memcpy(&word, plan->constants + i, n);
        mica_text_printf(text, "%s0x%x,", i % 32 ? " " : "\n", (unsigned)word);
    }
    mica_text_append(text, "};\n");
}

static void write_bytes(mica_text *text, const char *name, const char *what,
                        const mica_value *values, int32_t n) {
    mica_text_printf(text, "extern const size_t %s_%s[];\nconst size_t %s_%s[] = {", name, what,
                     name, what);
    for (int32_t i = 0; i < n; i++)
        mica_text_printf(text, "%s%zu", i ? ", " : "", mica_type_bytes(mica_value_type(values[i])));
    mica_text_append(text, n ? "};\n" : "0};\n");
}

static void write_function(writing *w, mica_text *text) {
    const mica_plan *plan = w->plan;
    const mica_graph *g = plan->graph;
    int32_t registers = plan->n_bases - MICA_BASE_FIRST - g->n_parameters - g->n_outputs;
    mica_text_printf(text, "\nenum { ARENA_BYTES = %zu };\n", plan->arena_bytes);
    mica_text_append(text, "static _Alignas(256) char arena[ARENA_BYTES ? ARENA_BYTES : 1];\n\n");
    mica_text_append(text, "/* (1 + 2^-12)^2 - (1 + 2^-11) is 0 when the product is rounded. */\n"
                           "static int rounds_one_by_one(void) {\n"
                           "    volatile float factor = 1.000244140625f, sum = -1.00048828125f;\n"
                           "    const float a = factor, b = factor, c = sum;\n"
                           "    return a * b + c == 0 && __builtin_fmaf(a, b, c) != 0;\n"
                           "}\n\n");
    mica_text_printf(text, "/* Bytes of the inputs, the outputs and the arena. */\n");
    write_bytes(text, w->name, "input_bytes", g->parameters, g->n_parameters);
    write_bytes(text, w->name, "output_bytes", g->outputs, g->n_outputs);
    mica_text_printf(text,
                     "extern const size_t %s_arena_bytes;\n"
                     "const size_t %s_arena_bytes = ARENA_BYTES;\n\n"
                     "int %s(const void *const *inputs, void *const *outputs);\n"
                     "int %s(const void *const *inputs, void *const *outputs) {\n"
                     "    (void)inputs, (void)outputs, (void)arena;\n",
                     w->name, w->name, w->name, w->name);
    if (registers > 0) mica_text_printf(text, "    char *at[%d];\n", registers);
    mica_text_append(text, "    if (!rounds_one_by_one()) return -1;\n");
    mica_text_append(text, mica_text_data(&w->commands));
    mica_text_append(text, "    return 0;\n}\n");
}

static mica_status write_file(writing *w, char **out_text) {
    mica_text text;
    mica_text_init(&text);
    write_head(w, &text);
    mica_text_append(&text, guards);
    mica_write_host_prelude(&text);
    write_constants(w->plan, &text);
    mica_text_append(&text, mica_text_data(&w->kernels));
    write_function(w, &text);
    text.failed = text.failed || w->kernels.failed || w->commands.failed;
    return mica_text_finish(&text, out_text);
}

/* ---- the whole --------------------------------------------------------------------------------*/

static bool device_claims(void *context, const mica_node *call) {
    mica_device *device = context;
    return device->vtable->claims(device, call);
}

/* Passes as for a run, so that composites which the device computes whole, and in another order,
 * are told from those it does not. What fuse leaves alone becomes a nest of its own. */
static mica_status make_graph(mica_device *device, const mica_graph *g, mica_graph **out_graph) {
    mica_claimer claimer = {device_claims, device, device->vtable->computes_again,
                            device->vtable->keeps_products};
    mica_graph *fused = NULL;
    MICA_TRY(mica_passes_run_for(g, "-contract", true, &claimer, &fused));
    mica_status status = mica_pass_wrap(fused, out_graph);
    mica_graph_release(fused);
    return status;
}

/* Words of C, and names that the file has. */
static bool is_taken(const char *name) {
    static const char *const words[] = {
        "APART",   "ARENA_BYTES", "arena",    "auto",    "break",    "case",     "char",
        "const",   "constants",   "continue", "default", "do",       "double",   "else",
        "enum",    "extern",      "float",    "for",     "goto",     "if",       "inline",
        "inputs",  "int",         "long",     "main",    "outputs",  "register", "restrict",
        "return",  "short",       "signed",   "sizeof",  "static",   "struct",   "switch",
        "typedef", "union",       "unsigned", "void",    "volatile", "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i])) return true;
    bool is_kernel = name[0] == 'k' && isdigit((unsigned char)name[1]);
    return is_kernel || !strncmp(name, "mica_", 5) || !strncmp(name, "MICA_", 5);
}

static mica_status check_name(const char *name) {
    if (is_taken(name))
        return MICA_INVALID("[export] '%s' is a word of C or a name of the file's own: give the "
                            "function another name",
                            name);
    bool is_name = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (const char *c = name; *c; c++)
        is_name = is_name && (isalnum((unsigned char)*c) || *c == '_') && c - name < 64;
    if (is_name) return NULL;
    return MICA_INVALID("[export] '%s' cannot name a function of C: give letters, digits and "
                        "underscores, at most 64",
                        name);
}

static mica_status write(writing *w, const mica_graph *g, char **out_text) {
    mica_graph *graph = NULL;
    mica_plan *plan = NULL;
    MICA_TRY(make_graph(w->device, g, &graph));
    mica_plan_target target = {prepare, discard, w};
    mica_status status = mica_plan_create(graph, &target, true, &plan);
    w->plan = plan;
    w->depth = 1;
    if (!status) status = write_list(w, &plan->commands);
    if (!status) status = write_file(w, out_text);
    mica_plan_destroy(plan);
    mica_graph_release(graph);
    return status;
}

mica_status mica_graph_write_c(const mica_graph *g, const char *name, char **out_text) {
    MICA_GIVEN(name, out_text);
    *out_text = NULL;
    MICA_TRY(mica_graph_check(g));
    MICA_TRY(check_name(name));
    writing w = {.name = name};
    MICA_TRY(mica_device_open("cpu", &w.device));
    mica_text_init(&w.kernels);
    mica_text_init(&w.commands);
    mica_status status = write(&w, g, out_text);
    for (int32_t i = 0; i < w.n_kernels; i++) mica_free(w.nests[i]);
    mica_free(w.nests);
    mica_text_deinit(&w.kernels);
    mica_text_deinit(&w.commands);
    mica_device_release(w.device);
    return status;
}
