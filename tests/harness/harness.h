/* tests/harness/: the op harness. Every row of ops.def has at least one case; everything else is
 * derived from the cases:
 *
 *   values       each device against the reference, over dtypes, shapes and special values, as
 *                executables and eagerly
 *   derivatives  jvp against finite differences in f64 and c128, vjp against jvp, the same once
 *                more for the jvp and the vjp themselves (and again with MICA_TEST_SOAK=1); the
 *                derivative graphs on each device against the reference
 *   vmap         every subset of mapped operands, first and last axis, against a loop; batches of
 *                one and of none; vmap of vmap, vmap of the gradient, gradient of the vmap
 *   threads      the cpu gives the same bits with 1, 2 and 5 threads
 *   errors       wrong operands and attributes: a sticky error that begins with [op], no crash
 *   failures     jvp, vjp, vmap, compiling and running with one allocation that fails, for every
 *                one (pieces of arenas included): an error, no crash, nothing lost
 *   modes        the same bits on built-in kernels, on generated ones without fusion and with it
 *
 * The devices are cpu and fake; --devices=cuda takes others, --dtypes=f32,i32 fewer dtypes.
 *
 * To add an op, add a case to one of the cases_*.c files. A case is an op, its attributes, the
 * operands' types and how they are drawn; or, for ops with regions, a function that builds the
 * graph. Draws for derivative checks must stay away from kinks by more than 0.01.
 */
#ifndef MICA_TESTS_HARNESS_H
#define MICA_TESTS_HARNESS_H

#include "device/ref/ref.h"
#include "device/ref/value.h"
#include "mica/mica.h"
#include "runtime/device.h"

#define MOST_OPERANDS 8
#define MOST_ARRAYS 40 /* parameters or outputs of a derived graph */

/* An operand's dtype when it is the one that the harness varies. */
#define VARIES MICA_DTYPE_COUNT

typedef struct operand {
    mica_dtype dtype;
    int32_t rank;
    int64_t dims[6];
    double low, high; /* floats are drawn evenly from here; both 0: [-2, 2]. Integers: random bits,
                       * but from here when it is given. Imaginary parts: [-2, 2], or [-0.7, 0.7]
                       * when it is given */
} operand;

enum {
    /* Elements of all operands together are a shuffled row of numbers 0.1 apart: no ties. */
    DISTINCT = 1 << 0,
    /* The graph is only meaningful under vmap over the axis "batch"; `expected` says what it is. */
    NAMED_AXIS = 1 << 1,
    /* No special values and no shapes but the given ones (rows that are not MAP or ELEMENTWISE
     * never get others). */
    AS_GIVEN = 1 << 2,
    /* Calls a host function, whose results are constants to derivatives. */
    OPAQUE = 1 << 3,
    /* The sign of a zero result is not checked. */
    ZEROS_ALIKE = 1 << 4,
    /* Finite differences do not work: it rounds to a coarse dtype, or gives infinities. */
    COARSE = 1 << 5,
    /* One float in six is NaN, an infinity or -0; no derivatives then. */
    SPRINKLED = 1 << 6,
    /* For values and threads only: a smaller case has the same vmap and derivatives. */
    LARGE = 1 << 7,
    /* The first operand holds matrices; their size is added to their diagonals, so that they are
     * far from singular and, read as symmetric ones, positive definite. */
    DOMINANT = 1 << 8,
    /* Contractions pack little at a time, so that what is large to them is not large here. */
    TIGHT = 1 << 15,
    /* What is larger than a line or two of a cache is written past the caches. */
    STREAMED = 1 << 16,
    /* In f32 the CPU has one kernel for each composite in it, and does not run their parts. */
    AS_ONE = 1 << 17,
};

typedef struct op_case {
    mica_op op;
    const char *name; /* tells cases of one op apart; may be NULL */
    int32_t n_operands;
    operand operands[MOST_OPERANDS];
    mica_attr attributes[8];
    /* Outputs what the case computes; NULL: the op itself on the operands. */
    void (*build)(mica_graph *g, const mica_value *operands, mica_dtype dtype);
    /* NAMED_AXIS: the same with the axis "batch" (size 3) in front of every operand and output. */
    void (*expected)(mica_graph *g, const mica_value *operands, mica_dtype dtype);
    const char *dtypes; /* "f32 f64": those that vary; NULL: all that the row takes */
    double ulps;        /* allowed against the reference, for f32; a fraction of it elsewhere. Of
                         * complex numbers: ulps of the larger part */
    double absolute;    /* allowed besides, for f32 */
    double largest;     /* special values beyond this are left out; 0: none are */
    double noise;       /* of finite differences, relative; 0: 1e-7 */
    uint32_t flags;
} op_case;

/* A table of cases, one per cases_*.c. */
typedef struct case_table {
    const op_case *cases;
    int32_t n;
} case_table;
extern const case_table elementwise_cases, array_cases, index_cases, contraction_cases,
    window_cases, order_cases, linalg_cases, collective_cases, control_cases, nested_cases,
    composite_cases;

/* How cases are written. */
#define SHAPED(d, l, h, ...)                                                                       \
    {                                                                                              \
        .dtype = d, .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),         \
        .dims = {__VA_ARGS__}, .low = l, .high = h                                                 \
    }
#define SCALAR(d, l, h)                                                                            \
    { .dtype = d, .rank = 0, .low = l, .high = h }
#define OF(...) SHAPED(VARIES, 0, 0, __VA_ARGS__)
#define A_INT(value)                                                                               \
    { .kind = MICA_ATTR_INT, .as.integer = value }
#define A_INTS(...)                                                                                \
    {                                                                                              \
        .kind = MICA_ATTR_INTS, .as.ints = {                                                       \
            (const int64_t[]){__VA_ARGS__},                                                        \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                               \
        }                                                                                          \
    }
#define A_NONE                                                                                     \
    { .kind = MICA_ATTR_INTS }
#define A_STRING(value)                                                                            \
    { .kind = MICA_ATTR_STRING, .as.string = value }
#define A_DTYPE(value)                                                                             \
    { .kind = MICA_ATTR_DTYPE, .as.integer = MICA_DTYPE_##value }

/* ---- data.c: arrays ---------------------------------------------------------------------------*/

typedef struct array {
    mica_type type;
    void *data; /* NULL for a token */
} array;

typedef struct arrays {
    array items[MOST_ARRAYS];
    int32_t n;
} arrays;

array array_create(const mica_type *type); /* zeroed; the harness stops when out of memory */
void arrays_free(arrays *list);
double array_get(const array *a, int64_t i); /* of complex numbers the real part */
void array_set(array *a, int64_t i, double value);
/* Complex numbers have two parts, others one. array_get_part is 0 for a part that is not there. */
int32_t array_parts(const array *a);
double array_get_part(const array *a, int64_t i, int32_t part);
void array_set_part(array *a, int64_t i, int32_t part, double value);
double array_magnitude(const array *a, int64_t i);
/* The b-th slice along an axis, and its opposite. */
array array_slice(const array *a, int32_t axis, int64_t b);
void array_put(array *a, int32_t axis, int64_t b, const array *part);

typedef struct random_state {
    uint64_t state;
} random_state;
uint64_t random_bits(random_state *r);
double random_between(random_state *r, double low, double high);
/* Operands of a case, of the given types. */
arrays draw_operands(const op_case *c, const mica_type *types, int32_t n, random_state *r);
/* Uniform in [-1, 1], for tangents and cotangents. */
array draw_direction(const mica_type *type, random_state *r);

typedef struct tolerance {
    double ulps; /* of the wanted element */
    double absolute;
    double of_largest;    /* times the largest wanted magnitude */
    const arrays *bounds; /* element by element; or NULL */
    bool strict_zeros;
} tolerance;
double epsilon_of(mica_dtype dtype);
/* true when output k of both agree; else a report begins with `what`. */
bool arrays_agree(const arrays *got, const arrays *want, const tolerance *allowed,
                  const char *what);

/* ---- graphs.c ---------------------------------------------------------------------------------*/

/* The op on operands, through its public builder; its first result. CONTROL and HOST rows have no
 * such builder: null. */
mica_value build_op(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                    const mica_attr *attributes);
void case_types(const op_case *c, mica_dtype dtype, mica_type *out_types);
/* The case as a graph on parameters of these types. NAMED_AXIS cases come batched, or as one
 * participant's own. */
mica_graph *case_graph(const op_case *c, mica_dtype dtype, const mica_type *types);
mica_graph *participant_graph(const op_case *c, mica_dtype dtype, const mica_type *types);
/* vmap over "batch", of size 3 and in front of everything; takes g. */
mica_graph *batched_graph(mica_graph *g, const char *title);
mica_graph *expected_graph(const op_case *c, mica_dtype dtype, const mica_type *types);
/* (x, tangents of the float x) -> tangents of the float outputs; complex numbers count as floats.
 */
mica_graph *jvp_graph(const mica_graph *f);
/* (x, cotangents of the float outputs) -> cotangents of the float x. */
mica_graph *vjp_graph(const mica_graph *f);
/* The same in f64 by mica_gradient, of the sum of the float outputs times the cotangents. */
mica_graph *gradient_graph(const mica_graph *f);
/* Unless 0, this allocation of a derivative graph fails, counted from the graph's creation. */
extern int64_t harness_allocation_to_fail;
bool is_float(const mica_type *type); /* or complex */
bool is_complex(mica_dtype dtype);
/* The reference takes complex functions from libm, and the formulas of some (musl's) lose digits
 * and overflow. glibc's do not. */
bool has_complex_oracle(mica_op op);
/* Whether --dtypes leaves it in. */
bool harness_takes_dtype(mica_dtype dtype);
mica_dtype first_dtype(const op_case *c);
bool case_takes(const op_case *c, mica_dtype dtype);

/* ---- running ----------------------------------------------------------------------------------*/

enum { MOST_DEVICES = 4 };
extern const char *harness_devices[MOST_DEVICES]; /* cpu and fake, or what --devices names */
extern int harness_device_count;
/* "cuda,cpu"; false when there are too many or none. */
bool harness_set_devices(const char *list);
/* On the reference; a failure is reported, and outputs are then zeros. */
arrays run_reference(const mica_graph *g, const arrays *inputs, const char *what);
/* On a device; the status may be UNSUPPORTED. out is empty unless OK. passes: as in
 * mica_compile_options. */
mica_status run_on_device(const char *device, const char *passes, const mica_graph *g,
                          const arrays *inputs, arrays *out);
/* Runs g on every device, and when it has more than one node also without passes, and compares
 * with `want`; notes unsupported cases. */
void check_on_devices(const op_case *c, mica_dtype dtype, const mica_graph *g, const arrays *inputs,
                      const arrays *want, const tolerance *allowed, const char *what);
/* The op of a case without a build function, through mica_eager. */
void check_eager(const op_case *c, const arrays *inputs, const arrays *want,
                 const tolerance *allowed, const char *what);
/* Until the devices have nothing left to do, not even memory to give back. */
void harness_wait(void);
void harness_close(void);
void control_cases_close(void); /* gives back what the cases registered */

/* ---- checks -----------------------------------------------------------------------------------*/

void check_values(const op_case *c);
void check_ulps(const op_case *c);
void check_derivatives(const op_case *c);
void check_vmap(const op_case *c);
void check_threads(const op_case *c);
void check_errors(const op_case *c);
void check_failures(const op_case *c);
/* Collects; finish_modes compiles what was collected, many cases at once. all: every case was. */
void check_modes(const op_case *c);
void finish_modes(bool all);
/* For graphs derived elsewhere: `order` 2 checks the derivatives' own derivatives too. */
void check_graph_derivatives(const op_case *c, const mica_graph *f, const arrays *inputs, int order,
                             random_state *r, const char *what);

/* ---- main.c: reports --------------------------------------------------------------------------*/

extern bool harness_quick; /* MICA_TEST_QUICK=1: fewer dtypes and shapes */
extern bool harness_soak;  /* MICA_TEST_SOAK=1: derivatives of one order more */
void harness_count(void);  /* one more thing was checked */
void harness_fail(const char *format, ...) MICA_PRINTF(1, 2);
/* true when OK; else reports. Always releases. */
bool harness_ok(mica_status status, const char *what);
/* For the table: this device ran (or could not run) the op for this dtype. */
void harness_note(const char *device, mica_op op, mica_dtype dtype, bool supported,
                  const char *reason);
const char *case_title(const op_case *c); /* "reduce max" */
random_state case_random(const op_case *c, const char *part);

/* ---- page.c: --page, for docs/ops.md ----------------------------------------------------------*/

void print_page(const case_table *const *tables, int32_t n_tables);

/* For graphs made by functions: an empty one (the program ends when there is none), a parameter. */
mica_graph *harness_region(const char *name);
mica_value harness_parameter(mica_graph *g, mica_dtype dtype, mica_ints dims);

#endif
