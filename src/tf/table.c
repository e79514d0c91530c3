/* The table, read: signatures as structures, names to numbers, dtypes of inputs and outputs.
 *
 * The texts of a row are read once, when the table is first asked for anything, into static memory.
 * A row that cannot be read is a mistake of ours: a test asks every row, and `broken` says which.
 */
#include <stdlib.h>
#include <string.h>

#include "tf/derive_rules.h"
#include "tf/host_rules.h"
#include "tf/ints_rules.h"
#include "tf/lower_rules.h"
#include "tf/refusals.h"
#include "tf/shape_rules.h"

/* ---- rows -------------------------------------------------------------------------------------*/

#define FUNCTIONS_LOWER(f) tf_lower_##f, NULL
#define FUNCTIONS_HOST(f) NULL, tf_host_##f
#define FUNCTIONS_BOTH(f) tf_lower_##f, tf_host_##f
#define FUNCTIONS_ARRAY(f) tf_lower_##f, tf_host_##f
#define FUNCTIONS_MOVE(f) tf_lower_##f, mica_tf_move_strings

const mica_tf_row mica_tf_rows[MICA_TF_OP_COUNT] = {
#define MICA_TF_OP(name, in, out, attrs, roles, shape, run, f, effect, ...)                        \
    [MICA_TF_##name] = {tf_shape_##shape, FUNCTIONS_##run(f), MICA_TF_##run, MICA_TF_##effect},
#include "tf/ops/rows.def"
#undef MICA_TF_OP
};

const mica_tf_traits mica_tf_traits_of[MICA_TF_OP_COUNT] = {
#define MICA_TF_OP(name, in, out, attrs, roles, shape, run, f, effect, meaning, ...)               \
    [MICA_TF_##name] = {__VA_ARGS__},
#include "tf/ops/rows.def"
#undef MICA_TF_OP
};

/* The columns that are text; `infos` are made of them when the table is first read. */
static const struct {
    const char *name, *inputs, *outputs, *attrs, *roles, *meaning;
} texts[MICA_TF_OP_COUNT] = {
#define MICA_TF_OP(op, in, out, attributes, columns, shape, run, f, effect, line, ...)             \
    [MICA_TF_##op] = {#op, in, out, attributes, columns, line},
#include "tf/ops/rows.def"
#undef MICA_TF_OP
};

#define MICA_TF_OP(...) +1
_Static_assert(0
#include "tf/ops/rows.def"
                   == MICA_TF_OP_COUNT,
               "a number of mica/tf_ops.h without a row, or a row without a number");
#undef MICA_TF_OP

static mica_tf_op_info infos[MICA_TF_OP_COUNT];

/* ---- dtypes -----------------------------------------------------------------------------------*/

enum { MOST_DTYPES = 26 };
static const char *const dtype_names[MOST_DTYPES] = {
#define MICA_TF_DTYPE(name, number, core, meaning) [number] = #name,
#include "mica/tf_dtypes.def"
#undef MICA_TF_DTYPE
};
static const mica_dtype dtype_cores[MOST_DTYPES] = {
#define MICA_TF_DTYPE(name, number, core, meaning) [number] = MICA_DTYPE_##core,
#include "mica/tf_dtypes.def"
#undef MICA_TF_DTYPE
};

const char *mica_tf_dtype_name(mica_tf_dtype dtype) {
    return (unsigned)dtype < MOST_DTYPES ? dtype_names[dtype] : NULL;
}

const char *mica_tf_dtype_text(mica_tf_dtype dtype) {
    switch (dtype) {
    case MICA_TF_float32: return "float";
    case MICA_TF_float64: return "double";
    case MICA_TF_float16: return "half";
    default: return mica_tf_dtype_name(dtype) ? mica_tf_dtype_name(dtype) : "unknown";
    }
}

mica_dtype mica_tf_dtype_core(mica_tf_dtype dtype) {
    return (unsigned)dtype < MOST_DTYPES && dtype_names[dtype] ? dtype_cores[dtype]
                                                               : MICA_DTYPE_COUNT;
}

mica_tf_dtype mica_tf_dtype_of_core(mica_dtype dtype) {
    static const uint8_t of_core[] = {
        [MICA_DTYPE_bool] = MICA_TF_bool,          [MICA_DTYPE_i8] = MICA_TF_int8,
        [MICA_DTYPE_i16] = MICA_TF_int16,          [MICA_DTYPE_i32] = MICA_TF_int32,
        [MICA_DTYPE_i64] = MICA_TF_int64,          [MICA_DTYPE_u8] = MICA_TF_uint8,
        [MICA_DTYPE_u16] = MICA_TF_uint16,         [MICA_DTYPE_u32] = MICA_TF_uint32,
        [MICA_DTYPE_u64] = MICA_TF_uint64,         [MICA_DTYPE_f16] = MICA_TF_float16,
        [MICA_DTYPE_bf16] = MICA_TF_bfloat16,      [MICA_DTYPE_f32] = MICA_TF_float32,
        [MICA_DTYPE_f64] = MICA_TF_float64,        [MICA_DTYPE_c64] = MICA_TF_complex64,
        [MICA_DTYPE_c128] = MICA_TF_complex128,    [MICA_DTYPE_f8e4m3fn] = MICA_TF_float8_e4m3fn,
        [MICA_DTYPE_f8e5m2] = MICA_TF_float8_e5m2,
    };
    return (unsigned)dtype < MICA_DTYPE_COUNT ? (mica_tf_dtype)of_core[dtype] : MICA_TF_no_dtype;
}

/* ---- reading a row's texts --------------------------------------------------------------------*/

typedef struct reader {
    const char *at;
    bool failed;
} reader;

static void skip_spaces(reader *r) {
    while (*r->at == ' ') r->at++;
}

static bool take(reader *r, char c) {
    skip_spaces(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void take_word(reader *r, char *out, size_t capacity) {
    size_t n = 0;
    skip_spaces(r);
    while (is_word(*r->at)) {
        if (n + 1 < capacity)
            out[n++] = *r->at;
        else
            r->failed = true;
        r->at++;
    }
    out[n] = 0;
    if (n == 0) r->failed = true;
}

static int32_t dtype_from_word(const char *word) {
    for (int32_t i = 1; i < MOST_DTYPES; i++)
        if (dtype_names[i] && !strcmp(dtype_names[i], word)) return i;
    return 0;
}

/* The words for sets of dtypes; 0: no such word. */
static uint32_t dtype_set(const char *word) {
    uint32_t set = 0;
    for (int32_t i = 1; i < MOST_DTYPES; i++) {
        if (!dtype_names[i]) continue;
        bool core = dtype_cores[i] != MICA_DTYPE_COUNT;
        mica_dtype_kind kind = core ? mica_dtype_kind_of(dtype_cores[i]) : MICA_KIND_BOOLEAN;
        bool integer = core && (kind == MICA_KIND_SIGNED || kind == MICA_KIND_UNSIGNED);
        bool is_float = core && kind == MICA_KIND_FLOAT,
             complex = core && kind == MICA_KIND_COMPLEX;
        bool in =
            (!strcmp(word, "any") && (core || i == MICA_TF_string)) ||
            (!strcmp(word, "number") && (integer || is_float || complex)) ||
            (!strcmp(word, "addable") && (integer || is_float || complex || i == MICA_TF_string)) ||
            (!strcmp(word, "real") && (integer || is_float)) ||
            (!strcmp(word, "floating") && is_float) ||
            (!strcmp(word, "inexact") && (is_float || complex)) ||
            (!strcmp(word, "complex") && complex) || (!strcmp(word, "integer") && integer) ||
            (!strcmp(word, "index") && (i == MICA_TF_int32 || i == MICA_TF_int64)) ||
            (!strcmp(word, "type"));
        if (in) set |= UINT32_C(1) << i;
    }
    return set;
}

static bool kind_from_word(const char *word, mica_tf_attr_kind *out) {
    static const struct {
        const char *word;
        mica_tf_attr_kind kind;
    } kinds[] = {{"int", MICA_TF_INT},       {"bool", MICA_TF_BOOL},
                 {"string", MICA_TF_STRING}, {"shape", MICA_TF_SHAPE},
                 {"tensor", MICA_TF_TENSOR}, {"func", MICA_TF_FUNCTION},
                 {"float", MICA_TF_FLOAT},   {"operation", MICA_TF_OPERATION}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(word, kinds[i].word)) {
            *out = kinds[i].kind;
            return true;
        }
    return false;
}

static mica_tf_attr_kind list_of(mica_tf_attr_kind kind) {
    switch (kind) {
    case MICA_TF_FLOAT: return MICA_TF_FLOATS;
    case MICA_TF_STRING: return MICA_TF_STRINGS;
    case MICA_TF_TYPE: return MICA_TF_TYPES;
    case MICA_TF_SHAPE: return MICA_TF_SHAPES;
    case MICA_TF_FUNCTION: return MICA_TF_FUNCTIONS;
    default: return MICA_TF_INTS;
    }
}

static void read_kind(reader *r, mica_tf_attr_info *attr) {
    char word[40];
    if (take(r, '{')) {
        if (skip_spaces(r), *r->at == '\'') {
            attr->kind = MICA_TF_STRING;
            attr->choices = r->at;
            while (*r->at && *r->at != '}') r->at++;
            if (!take(r, '}')) r->failed = true;
            return;
        }
        attr->kind = MICA_TF_TYPE;
        do {
            take_word(r, word, sizeof word);
            int32_t dtype = dtype_from_word(word);
            if (!dtype) r->failed = true;
            attr->allowed |= UINT32_C(1) << dtype;
        } while (take(r, ','));
        if (!take(r, '}')) r->failed = true;
        return;
    }
    take_word(r, word, sizeof word);
    if (!strcmp(word, "list")) {
        if (!take(r, '(')) r->failed = true;
        read_kind(r, attr);
        attr->kind = list_of(attr->kind);
        if (!take(r, ')')) r->failed = true;
        return;
    }
    if (kind_from_word(word, &attr->kind)) return;
    attr->kind = MICA_TF_TYPE;
    attr->allowed = dtype_set(word);
    if (!attr->allowed) r->failed = true;
}

static void read_string(reader *r, mica_tf_attr_info *attr) {
    size_t n = 0;
    if (!take(r, '\'')) r->failed = true;
    while (*r->at && *r->at != '\'' && n + 1 < sizeof attr->text) attr->text[n++] = *r->at++;
    if (!take(r, '\'')) r->failed = true;
    attr->value.n = (int32_t)n;
    attr->value.as.string = attr->text;
}

static const mica_tf_shape unknown_shape = {.rank = -1};

static void read_default(reader *r, mica_tf_attr_info *attr) {
    char word[40], *end = NULL;
    attr->has_default = true;
    skip_spaces(r);
    switch (attr->kind) {
    case MICA_TF_INT: attr->value.as.integer = strtoll(r->at, &end, 10); break;
    case MICA_TF_FLOAT: attr->value.as.real = strtod(r->at, &end); break;
    case MICA_TF_BOOL:
        take_word(r, word, sizeof word);
        attr->value.as.integer = !strcmp(word, "true");
        break;
    case MICA_TF_TYPE:
        take_word(r, word, sizeof word);
        attr->value.as.integer = dtype_from_word(word);
        if (!attr->value.as.integer) r->failed = true;
        break;
    case MICA_TF_STRING: read_string(r, attr); break;
    case MICA_TF_SHAPE: /* only: unknown */
        attr->value = (mica_tf_attr){.n = 1, .as.shapes = &unknown_shape};
        if (!take(r, '?')) r->failed = true;
        break;
    default: /* a list: only the empty one */
        if (!take(r, '[') || !take(r, ']')) r->failed = true;
    }
    if (end == r->at) r->failed = true;
    if (end) r->at = end;
}

static void read_attrs(mica_tf_op_info *info, reader *r) {
    r->at = info->attrs_text;
    skip_spaces(r);
    while (*r->at && !r->failed && info->n_attrs < MICA_TF_MAX_ATTRS) {
        mica_tf_attr_info *attr = &info->attrs[info->n_attrs++];
        take_word(r, attr->name, sizeof attr->name);
        if (!take(r, ':')) r->failed = true;
        read_kind(r, attr);
        if (take(r, '=')) read_default(r, attr);
        if (!take(r, ';')) break;
        skip_spaces(r);
    }
    skip_spaces(r);
    if (*r->at) r->failed = true;
}

static int8_t find_attr(const mica_tf_op_info *info, const char *name) {
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (!strcmp(info->attrs[i].name, name)) return (int8_t)i;
    return -1;
}

static void read_argument(mica_tf_op_info *info, reader *r, mica_tf_argument *argument) {
    char word[40];
    *argument = (mica_tf_argument){.type_attr = -1, .count_attr = -1};
    take_word(r, argument->name, sizeof argument->name);
    if (!take(r, ':')) r->failed = true;
    take_word(r, word, sizeof word);
    if (take(r, '*')) {
        argument->count_attr = find_attr(info, word);
        if (argument->count_attr < 0) r->failed = true;
        take_word(r, word, sizeof word);
    }
    argument->dtype = (int8_t)dtype_from_word(word);
    if (argument->dtype) return;
    argument->type_attr = find_attr(info, word);
    if (argument->type_attr < 0) r->failed = true;
}

static int32_t read_arguments(mica_tf_op_info *info, reader *r, const char *text,
                              mica_tf_argument *arguments) {
    int32_t n = 0;
    r->at = text;
    skip_spaces(r);
    while (*r->at && !r->failed && n < MICA_TF_MAX_ARGUMENTS) {
        read_argument(info, r, &arguments[n++]);
        if (!take(r, ',')) break;
    }
    skip_spaces(r);
    if (*r->at) r->failed = true;
    return n;
}

static bool has_elements(const mica_tf_argument *a) {
    return a->dtype != MICA_TF_resource && a->dtype != MICA_TF_variant;
}

/* Follows from the row: no effect that others see, no functions, nothing but elements; a STATE or a
 * CHECK may take one variable, first. */
static mica_tf_remote remote_of(const mica_tf_op_info *info, mica_tf_effect effect) {
    bool of_variable = info->n_inputs > 0 && info->inputs[0].dtype == MICA_TF_resource &&
                       (effect == MICA_TF_STATE || effect == MICA_TF_CHECK);
    if (effect == MICA_TF_EFFECT || effect == MICA_TF_READS) return MICA_TF_REMOTE_NONE;
    for (int32_t i = of_variable ? 1 : 0; i < info->n_inputs; i++)
        if (!has_elements(&info->inputs[i])) return MICA_TF_REMOTE_NONE;
    for (int32_t i = 0; i < info->n_outputs; i++)
        if (!has_elements(&info->outputs[i])) return MICA_TF_REMOTE_NONE;
    for (int32_t i = 0; i < info->n_attrs; i++) {
        mica_tf_attr_kind kind = info->attrs[i].kind;
        if (kind == MICA_TF_FUNCTION || kind == MICA_TF_FUNCTIONS || kind == MICA_TF_OPERATION)
            return MICA_TF_REMOTE_NONE;
    }
    return of_variable ? MICA_TF_REMOTE_VARIABLE : MICA_TF_REMOTE_VALUES;
}

static void read_row(int32_t op) {
    mica_tf_op_info *info = &infos[op];
    reader r = {.at = ""};
    info->name = texts[op].name;
    info->inputs_text = texts[op].inputs;
    info->outputs_text = texts[op].outputs;
    info->attrs_text = texts[op].attrs;
    info->roles = texts[op].roles;
    info->meaning = texts[op].meaning;
    info->has_effect =
        mica_tf_rows[op].effect != MICA_TF_PURE && mica_tf_rows[op].effect != MICA_TF_RANDOM;
    info->is_host = mica_tf_rows[op].run == MICA_TF_HOST;
    info->category = mica_tf_traits_of[op].category;
    info->axis = mica_tf_traits_of[op].axis;
    info->no_file = mica_tf_traits_of[op].no_file;
    read_attrs(info, &r);
    info->n_inputs = read_arguments(info, &r, info->inputs_text, info->inputs);
    info->n_outputs = read_arguments(info, &r, info->outputs_text, info->outputs);
    for (int32_t i = 0; i < info->n_inputs; i++) {
        const mica_tf_argument *a = &info->inputs[i];
        if (a->type_attr >= 0) info->attrs[a->type_attr].is_inferred = true;
        if (a->count_attr >= 0) info->attrs[a->count_attr].is_inferred = true;
    }
    if (r.failed) info->n_inputs = info->n_outputs = -1;
    info->remote = remote_of(info, mica_tf_rows[op].effect);
}

static mica_tf_op by_name[MICA_TF_OP_COUNT]; /* in the order of their names */

static int compare_to_name(const void *name, const void *op) {
    return strcmp(name, texts[*(const mica_tf_op *)op].name);
}

static int compare_names(const void *a, const void *b) {
    return compare_to_name(texts[*(const mica_tf_op *)a].name, b);
}

static int table_state; /* 0 unread, 2 read */
static mica_mutex table_lock;

static void read_rows(void) {
    mica_mutex_lock(&table_lock);
    if (table_state == 0) {
        for (int32_t i = 0; i < MICA_TF_OP_COUNT; i++) {
            read_row(i);
            by_name[i] = (mica_tf_op)i;
        }
        qsort(by_name, MICA_TF_OP_COUNT, sizeof *by_name, compare_names);
    }
    __atomic_store_n(&table_state, 2, __ATOMIC_RELEASE);
    mica_mutex_unlock(&table_lock);
}

static inline void read_table(void) {
    if (__atomic_load_n(&table_state, __ATOMIC_ACQUIRE) != 2) read_rows();
}

/* ---- questions --------------------------------------------------------------------------------*/

const mica_tf_op_info *mica_tf_op_describe(mica_tf_op op) {
    read_table();
    return (unsigned)op < MICA_TF_OP_COUNT ? &infos[op] : NULL;
}

bool mica_tf_op_parse(const char *name, mica_tf_op *out_op) {
    if (!name) return false;
    read_table();
    const mica_tf_op *found =
        bsearch(name, by_name, MICA_TF_OP_COUNT, sizeof *by_name, compare_to_name);
    if (found) *out_op = *found;
    return found != NULL;
}

const mica_tf_attr *mica_tf_attr_find(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                                      const char *name) {
    static const mica_tf_attr none;
    int8_t i = find_attr(info, name);
    return i < 0 ? &none : &attrs[i];
}

static int32_t argument_count(const mica_tf_argument *a, const mica_tf_op_info *info,
                              const mica_tf_attr *attrs) {
    if (a->count_attr >= 0) {
        int64_t count = attrs[a->count_attr].as.integer;
        return count < 0 ? -1 : count > INT32_MAX ? INT32_MAX : (int32_t)count;
    }
    if (a->type_attr >= 0 && info->attrs[a->type_attr].kind == MICA_TF_TYPES)
        return attrs[a->type_attr].n;
    return 1;
}

int32_t mica_tf_output_dtypes(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                              mica_tf_dtype *out, int32_t capacity) {
    int32_t n = 0;
    for (int32_t i = 0; i < info->n_outputs; i++) {
        const mica_tf_argument *a = &info->outputs[i];
        int32_t count = argument_count(a, info, attrs);
        if (count < 0 || count > capacity - n) return -1;
        bool listed = a->type_attr >= 0 && info->attrs[a->type_attr].kind == MICA_TF_TYPES;
        for (int32_t k = 0; k < count; k++)
            out[n++] = a->dtype ? (mica_tf_dtype)a->dtype
                       : listed ? (mica_tf_dtype)attrs[a->type_attr].as.ints[k]
                                : (mica_tf_dtype)attrs[a->type_attr].as.integer;
    }
    return n;
}

/* ---- inputs' dtypes ---------------------------------------------------------------------------*/

static mica_status check_dtype(const mica_tf_op_info *info, const mica_tf_attr_info *attr,
                               int32_t i, mica_tf_dtype dtype) {
    if ((unsigned)dtype < 32 && attr->allowed >> dtype & 1) return NULL;
    return MICA_INVALID("[%s] Value for attr '%s' of %s is not in the list of allowed values "
                        "(input #%d)",
                        info->name, attr->name, mica_tf_dtype_text(dtype), i);
}

static mica_status wrong_dtype(const mica_tf_op_info *info, int32_t i, mica_tf_dtype expected,
                               mica_tf_dtype given) {
    return MICA_INVALID("[%s] cannot compute %s as input #%d(zero-based) was expected to be a %s "
                        "tensor but is a %s tensor",
                        info->name, info->name, i, mica_tf_dtype_text(expected),
                        mica_tf_dtype_text(given));
}

static mica_status infer_argument(const mica_tf_op_info *info, const mica_tf_argument *a,
                                  const mica_tf_dtype *inputs, int32_t at, int32_t count,
                                  uint32_t *seen, mica_tf_attr *attrs) {
    if (a->count_attr >= 0) attrs[a->count_attr].as.integer = count;
    for (int32_t k = 0; k < count; k++) {
        mica_tf_dtype given = inputs[at + k];
        if (a->dtype) {
            if (given != (mica_tf_dtype)a->dtype)
                return wrong_dtype(info, at + k, (mica_tf_dtype)a->dtype, given);
            continue;
        }
        const mica_tf_attr_info *attr = &info->attrs[a->type_attr];
        mica_tf_attr *value = &attrs[a->type_attr];
        bool decided = attr->kind != MICA_TF_TYPES && *seen >> a->type_attr & 1;
        if (decided && value->as.integer != given)
            return wrong_dtype(info, at + k, (mica_tf_dtype)value->as.integer, given);
        MICA_TRY(check_dtype(info, attr, at + k, given));
        if (attr->kind == MICA_TF_TYPES) continue; /* the caller's list */
        *seen |= UINT32_C(1) << a->type_attr;
        value->as.integer = given;
    }
    return NULL;
}

static mica_status check_choice(const mica_tf_op_info *info, const mica_tf_attr_info *attr,
                                const mica_tf_attr *given) {
    int32_t length = (int32_t)strcspn(attr->choices, "}");
    const char *end = attr->choices + length;
    const char *text = given->as.string ? given->as.string : "";
    size_t n = strlen(text);
    for (const char *at = attr->choices; at < end;) { /* 'A', 'B' */
        size_t size = strcspn(at + 1, "'");
        if (size == n && !memcmp(at + 1, text, n)) return NULL;
        at += size + 2;
        at += strspn(at, ", ");
    }
    return MICA_INVALID("[%s] Value for attr '%s' of \"%s\" is not in the list of allowed values: "
                        "%.*s",
                        info->name, attr->name, text, length, attr->choices);
}

/* The dtypes and strings that the caller chose. */
static mica_status check_given(const mica_tf_op_info *info, const mica_tf_attr *attrs) {
    for (int32_t i = 0; i < info->n_attrs; i++) {
        const mica_tf_attr_info *attr = &info->attrs[i];
        if (attr->choices) {
            MICA_TRY(check_choice(info, attr, &attrs[i]));
            continue;
        }
        int64_t dtype = attrs[i].as.integer;
        if (attr->kind != MICA_TF_TYPE || attr->is_inferred || dtype == 0) continue;
        if ((uint64_t)dtype >= 32 || !(attr->allowed >> dtype & 1))
            return MICA_INVALID("[%s] Value for attr '%s' of %s is not in the list of allowed "
                                "values",
                                info->name, attr->name, mica_tf_dtype_text((mica_tf_dtype)dtype));
    }
    return NULL;
}

/* Most ops: all inputs are of the one dtype that is the only attribute. */
static bool infer_one_type(const mica_tf_op_info *info, const mica_tf_dtype *inputs, int32_t n,
                           mica_tf_attr *attrs) {
    if (info->n_attrs != 1 || info->attrs[0].kind != MICA_TF_TYPE || n != info->n_inputs || n == 0)
        return false;
    for (int32_t i = 0; i < n; i++)
        if (info->inputs[i].type_attr != 0 || info->inputs[i].count_attr >= 0 ||
            inputs[i] != inputs[0])
            return false;
    if ((uint32_t)inputs[0] >= 32 || !(info->attrs[0].allowed >> inputs[0] & 1)) return false;
    attrs[0].as.integer = inputs[0];
    return true;
}

mica_status mica_tf_op_infer_types(mica_tf_op op, const mica_tf_dtype *inputs, int32_t n,
                                   mica_tf_attr *attrs) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    if (!info) return MICA_INVALID("[op] there is no op %d", (int)op);
    MICA_GIVEN(MICA_MANY(inputs, n), MICA_MANY(attrs, info->n_attrs));
    if (infer_one_type(info, inputs, n, attrs)) return NULL;
    MICA_TRY(check_given(info, attrs));
    int32_t fixed = 0, variadic = -1;
    for (int32_t i = 0; i < info->n_inputs; i++) {
        const mica_tf_argument *a = &info->inputs[i];
        bool listed = a->type_attr >= 0 && info->attrs[a->type_attr].kind == MICA_TF_TYPES;
        if (a->count_attr < 0 && !listed)
            fixed++;
        else if (variadic < 0)
            variadic = i;
        else {
            int32_t count = argument_count(a, info, attrs);
            if (count < 0 || count > n)
                return MICA_INVALID("[%s] '%s' cannot be that many of %d tensors", info->name,
                                    a->name, n);
            fixed += count;
        }
    }
    if (n < fixed || (variadic < 0 && n != fixed))
        return MICA_INVALID("[%s] takes %d inputs, %d given", info->name, fixed, n);
    uint32_t seen = 0;
    int32_t at = 0;
    for (int32_t i = 0; i < info->n_inputs; i++) {
        const mica_tf_argument *a = &info->inputs[i];
        bool listed = a->type_attr >= 0 && info->attrs[a->type_attr].kind == MICA_TF_TYPES;
        int32_t count = i == variadic                  ? n - fixed
                        : a->count_attr >= 0 || listed ? argument_count(a, info, attrs)
                                                       : 1;
        if (listed && attrs[a->type_attr].n != count)
            return MICA_INVALID("[%s] %s has %d dtypes for %d tensors", info->name, a->name,
                                attrs[a->type_attr].n, count);
        MICA_TRY(infer_argument(info, a, inputs, at, count, &seen, attrs));
        at += count;
    }
    for (int32_t i = 0; i < info->n_inputs; i++) {
        const mica_tf_argument *a = &info->inputs[i];
        /* Without tensors the dtype is the attribute's own, where it has one. */
        bool is_told = a->type_attr >= 0 &&
                       (seen >> a->type_attr & 1 || info->attrs[a->type_attr].has_default);
        if (a->count_attr >= 0 && a->type_attr >= 0 && !is_told)
            return MICA_INVALID("[%s] '%s' is a list of no tensors: at least one is needed",
                                info->name, a->name);
    }
    return NULL;
}

/* ---- roles ------------------------------------------------------------------------------------*/

/* A gradient that the user gives: its function says to which arguments there is one. That of a
 * gradient that is missing is reached, to be refused. */
static char role_of_custom(const mica_tf_operation *operation, int32_t i) {
    const mica_tf_attr *connected =
        mica_tf_attr_find(operation->info, operation->attrs, "connected");
    int64_t n = mica_tf_attr_find(operation->info, operation->attrs, "n")->as.integer;
    for (int32_t k = 0; k < connected->n; k++)
        if (connected->as.ints[k] == i || (connected->as.ints[k] < 0 && i < n)) return 'd';
    return '-';
}

const mica_tf_argument *mica_tf_argument_of(const mica_tf_operation *operation, int32_t i) {
    const mica_tf_op_info *info = operation->info;
    for (int32_t k = 0; k < info->n_inputs; k++) {
        int32_t count = argument_count(&info->inputs[k], info, operation->attrs);
        if (i < count) return &info->inputs[k];
        i -= count;
    }
    return NULL;
}

mica_status mica_tf_check_input(const mica_tf_operation *operation, int32_t i,
                                mica_tf_dtype dtype) {
    const mica_tf_argument *a = mica_tf_argument_of(operation, i);
    if (!a)
        return MICA_INVALID("[%s] has no input %d with these attributes", operation->info->name, i);
    if (!a->dtype)
        return check_dtype(operation->info, &operation->info->attrs[a->type_attr], i, dtype);
    if (dtype == (mica_tf_dtype)a->dtype) return NULL;
    return wrong_dtype(operation->info, i, (mica_tf_dtype)a->dtype, dtype);
}

/* Steps of the reals turn among the complex numbers: there they have a derivative. */
static bool is_complex(const mica_tf_operation *operation, const mica_tf_argument *a) {
    if (a->type_attr < 0) return false;
    int64_t dtype = operation->attrs[a->type_attr].as.integer;
    return dtype == MICA_TF_complex64 || dtype == MICA_TF_complex128;
}

static char role_in_row(const mica_tf_operation *operation, int32_t i) {
    const mica_tf_op_info *info = operation->info;
    const mica_tf_argument *a = mica_tf_argument_of(operation, i);
    if (!a) return '-';
    size_t k = (size_t)(a - info->inputs), last = strlen(info->roles) - 1;
    char role = info->roles[k < last ? k : last];
    return role == 'z' && is_complex(operation, a) ? 'd' : role;
}

/* Whether a derivative with respect to these inputs can depend on the value of input i. */
static bool derivative_needs(const mica_tf_operation *of, int32_t i, const mica_tf_attr *inputs) {
    char role = role_in_row(of, i);
    if (role != 'b') return role != 'l' && role != 'z';
    for (int32_t k = 0; k < inputs->n; k++)
        if (inputs->as.ints[k] != i) return true;
    return false;
}

char mica_tf_operation_role(const mica_tf_operation *operation, int32_t i) {
    if (!operation) return 0;
    if (operation->info->category == MICA_TF_CATEGORY_DERIVATIVE) {
        const mica_tf_operation *of = operation->attrs[0].as.operation;
        if (i >= operation->attrs[1].as.integer || of->op == MICA_TF_CustomGradient) return 'd';
        if (role_in_row(of, i) == 'h') return 'd';
        return derivative_needs(of, i, &operation->attrs[3]) ? mica_tf_operation_role(of, i) : '-';
    }
    if (operation->op == MICA_TF_CustomGradient) return role_of_custom(operation, i);
    char role = role_in_row(operation, i);
    return role == 'l' || role == 'b' ? 'd' : role == 'h' ? '-' : role;
}
