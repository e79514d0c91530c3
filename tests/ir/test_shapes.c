/* Shape rules: for every row of the table what they infer and what they refuse, with the words of
 * the refusal. The cases are lines of text; regions come from a few graphs above them. */
#include "../test.h"
#include "ir/graph.h"
#include "ir/numbers.h"

/* What a line may refer to. */
static const char *const preamble =
    "mica graph 1\n"
    "graph @sin(%x: f32[3]) { %y = sin(%x) return %y }\n"
    "graph @sum(%x: f32[3]) { %y = reduce(%x) {kind = \"sum\", axes = (0)} return %y }\n"
    "graph @true(%c: f32[], %x: f32[3]) { %t = constant() {value = bool[] (true)} return %t }\n"
    "graph @keep(%c: f32[], %x: f32[3]) { return %x }\n"
    "graph @step(%c: f32[], %x: f32[]) { %y = add(%c, %x) return %y, %y }\n"
    "graph @lists(%c: list(f32[3]), %x: f32[]) { return %c, %c }\n"
    "graph @vjp(%x: f32[3], %y: f32[3], %d: f32[3]) { return %d }\n"
    "graph @transposed(%d: f32[3]) { return %d }\n"
    "graph @count(%x: f32[3]) { %i = constant() {value = i32[] (3)} return %i }\n"
    "graph @test(%f: f32[], %x: f32[3], %m: f32[2,3], %n: f32[3,4], %i: i32[3], %j: i32[], "
    "%b: bool[3], %p: bool[], %z: c64[3], %e: f32[0,3], %t: token, %l: list(f32[3]), "
    "%s2: i32[2], %key: u32[2], %ctr: u32[4], %img: f32[2,8,9,4], %ker: f32[3,3,4,6], "
    "%h: f16[3], %hh: f16[3,3], %w: f32[300], %sq: f32[2,3,3], %rhs: f32[2,3,4], %big: "
    "f32[2000000000,1000000000]) {\n";

typedef struct shape_case {
    const char *line;
    const char *expected; /* the result types, or a part of the message */
} shape_case;

#define GATHER(operands, offset, collapsed, operand_batch, indices_batch, map, vector, sizes,      \
               mode)                                                                               \
    "gather(" operands ") {offset_dims = " offset ", collapsed_dims = " collapsed                  \
    ", operand_batch_dims = " operand_batch ", indices_batch_dims = " indices_batch                \
    ", start_map = " map ", index_vector_dim = " vector ", slice_sizes = " sizes                   \
    ", mode = \"" mode "\"}"
#define SCATTER(operands, kind, window, inserted, operand_batch, indices_batch, map, vector, mode) \
    "scatter(" operands ") {kind = \"" kind "\", update_window_dims = " window                     \
    ", inserted_window_dims = " inserted ", operand_batch_dims = " operand_batch                   \
    ", indices_batch_dims = " indices_batch ", scatter_map = " map ", index_vector_dim = " vector  \
    ", mode = \"" mode "\"}"

#define WINDOW(x, kind, window, strides, low, high, base, dilation)                                \
    "reduce_window(" x ") {kind = \"" kind "\", window = " window ", strides = " strides           \
    ", low = " low ", high = " high ", base_dilation = " base ", window_dilation = " dilation "}"
#define SELECT(operands, select, window, strides, low, high)                                       \
    "select_and_scatter(" operands ") {select = \"" select "\", window = " window                  \
    ", strides = " strides ", low = " low ", high = " high "}"

static const shape_case right[] = {
    {"add(%x, %x)", "f32[3]"},
    {"sub(%i, %i)", "i32[3]"},
    {"not(%b)", "bool[3]"},
    {"is_finite(%m)", "bool[2,3]"},
    {"compare(%z, %z) {direction = \"eq\"}", "bool[3]"},
    {"compare(%b, %b) {direction = \"lt\"}", "bool[3]"},
    {"select(%b, %x, %x)", "f32[3]"},
    {"select(%b, %z, %z)", "c64[3]"},
    {"convert(%x) {dtype = bf16}", "bf16[3]"},
    {"convert(%x) {dtype = c128}", "c128[3]"},
    {"convert(%z) {dtype = f32}", "f32[3]"},
    {"real(%z)", "f32[3]"},
    {"imag(%z)", "f32[3]"},
    {"conj(%z)", "c64[3]"},
    {"complex(%x, %x)", "c64[3]"},
    {"abs(%z)", "f32[3]"},
    {"exp(%z)", "c64[3]"},
    {"reduce(%z) {kind = \"prod\", axes = (0)}", "c64[]"},
    {"clamp(%i, %i, %i)", "i32[3]"},
    {"nextafter(%h, %h)", "f16[3]"},
    {"igamma(%h, %h)", "f16[3]"},
    {"sar(%i, %i)", "i32[3]"},
    {"constant() {value = i8[2] (1, -128)}", "i8[2]"},
    {"constant() {value = list(f32[3])}", "list(f32[3])"},
    {"constant() {value = token}", "token"},
    {"iota() {shape = (2,3), axis = 1, dtype = f16}", "f16[2,3]"},
    {"broadcast(%x) {shape = (5,3,7), axes = (1)}", "f32[5,3,7]"},
    {"broadcast(%f) {shape = (0), axes = ()}", "f32[0]"},
    {"reshape(%m) {shape = (3,2,1)}", "f32[3,2,1]"},
    {"reshape(%e) {shape = (0)}", "f32[0]"},
    {"bitcast(%x) {dtype = i32}", "i32[3]"},
    {"bitcast(%x) {dtype = u8}", "u8[3,4]"},
    {"bitcast(%z) {dtype = f32}", "f32[3,2]"},
    {"bitcast(%key) {dtype = f64}", "f64[]"},
    {"reduce_precision(%h) {exponent_bits = 4, mantissa_bits = 3}", "f16[3]"},
    {"transpose(%img) {permutation = (3,0,1,2)}", "f32[4,2,8,9]"},
    {"slice(%m) {start = (0,1), limit = (2,3), stride = (1,2)}", "f32[2,1]"},
    {"slice(%m) {start = (2,0), limit = (2,3), stride = (1,1)}", "f32[0,3]"},
    {"pad(%x, %f) {low = (1), high = (-2), interior = (2)}", "f32[6]"},
    {"pad(%e, %f) {low = (1,0), high = (0,0), interior = (5,0)}", "f32[1,3]"},
    {"concat(%m, %e, %m) {axis = 0}", "f32[4,3]"},
    {"reverse(%m) {axes = (1,0)}", "f32[2,3]"},
    {"dynamic_slice(%m, %s2) {sizes = (1,3)}", "f32[1,3]"},
    {"dynamic_update_slice(%m, %m, %s2)", "f32[2,3]"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "1", "(1,3)", "clip"), "f32[3,3]"},
    {GATHER("%m, %i", "(0)", "(1)", "()", "()", "(1)", "1", "(2,1)", "fill"), "f32[2,3]"},
    {GATHER("%m, %s2", "(0,1)", "()", "()", "()", "(1,0)", "0", "(1,2)", "clip"), "f32[1,2]"},
    {GATHER("%m, %s2", "()", "(1)", "(0)", "(0)", "(1)", "1", "(1,1)", "clip"), "f32[2]"},
    {GATHER("%z, %i", "()", "(0)", "()", "()", "(0)", "1", "(1)", "fill"), "c64[3]"},
    {SCATTER("%n, %i, %n", "add", "(1)", "(0)", "()", "()", "(0)", "1", "clip"), "f32[3,4]"},
    {SCATTER("%m, %s2, %m", "mul", "(0,1)", "()", "()", "()", "(0,1)", "0", "fill"), "f32[2,3]"},
    {SCATTER("%b, %i, %b", "set", "()", "(0)", "()", "()", "(0)", "1", "clip"), "bool[3]"},
    {"dot(%m, %n) {lhs_contract = (1), rhs_contract = (0), lhs_batch = (), rhs_batch = ()}",
     "f32[2,4]"},
    {"dot(%i, %i) {lhs_contract = (), rhs_contract = (), lhs_batch = (0), rhs_batch = (0)}",
     "i32[3]"},
    {"dot(%m, %n) {lhs_contract = (), rhs_contract = (), lhs_batch = (1), rhs_batch = (0)}",
     "f32[3,2,4]"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,2), low = (0,1), high = (0,1), "
     "lhs_dilation = (1,1), rhs_dilation = (2,1), groups = 1, batch_groups = 1}",
     "f32[2,4,5,6]"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,CN01\", strides = (1,1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,2), rhs_dilation = (1,1), groups = 1, batch_groups = 2}",
     "f32[6,1,6,15]"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,1), low = (-9,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 1, batch_groups = 1}",
     "f32[2,0,7,6]"},
    {"reduce(%m) {kind = \"prod\", axes = (1,0)}", "f32[]"},
    {"reduce(%b) {kind = \"or\", axes = (0)}", "bool[]"},
    {"reduce(%i) {kind = \"and\", axes = ()}", "i32[3]"},
    {"argmax(%m) {axis = 1, dtype = i8}", "i8[2]"},
    {"argmin(%w) {axis = 0, dtype = u16}", "u16[]"},
    {"cumulative(%m) {kind = \"sum\", axis = 1, reverse = 0, exclusive = 1}", "f32[2,3]"},
    {WINDOW("%m", "max", "(2,2)", "(1,1)", "(0,0)", "(0,1)", "(1,1)", "(1,1)"), "f32[1,3]"},
    {WINDOW("%x", "sum", "(2)", "(2)", "(1)", "(2)", "(3)", "(2)"), "f32[4]"},
    {WINDOW("%x", "sum", "(5)", "(1)", "(0)", "(0)", "(1)", "(1)"), "f32[0]"},
    {WINDOW("%e", "prod", "(2,1)", "(1,1)", "(1,0)", "(1,0)", "(9,1)", "(1,1)"), "f32[1,3]"},
    {SELECT("%m, %m", "max", "(1,2)", "(1,1)", "(0,0)", "(0,1)"), "f32[2,3]"},
    {"rng_bits(%key, %ctr) {shape = (3), dtype = u32}", "u32[3]"},
    {"triangular_solve(%sq, %rhs) {left = 1, lower = 0, transpose = 1, unit = 0}", "f32[2,3,4]"},
    {"cholesky(%sq)", "f32[2,3,3]"},
    {"sort(%m) {axis = 1, keys = 1, descending = 0}", "f32[2,3]"},
    {"sort(%x, %z, %b) {axis = 0, keys = 2, descending = 1}", "(f32[3], c64[3], bool[3])"},
    {"top_k(%m) {k = 2}", "(f32[2,2], i32[2,2])"},
    {"top_k(%i) {k = 0}", "(i32[0], i32[0])"},
    {"top_k(%e) {k = 3}", "(f32[0,3], i32[0,3])"},
    {"lu(%rhs)", "(f32[2,3,4], i32[2,3], i32[2,3])"},
    {"lu(%e)", "(f32[0,3], i32[0], i32[0])"},
    {"qr(%rhs) {full = 0}", "(f32[2,3,3], f32[2,3,4])"},
    {"qr(%e) {full = 1}", "(f32[0,0], f32[0,3])"},
    {"eigh(%sq)", "(f32[2,3], f32[2,3,3])"},
    {"svd(%rhs) {full = 0}", "(f32[2,3,3], f32[2,3], f32[2,3,4])"},
    {"svd(%rhs) {full = 1}", "(f32[2,3,3], f32[2,3], f32[2,4,4])"},
    {"eig(%sq)", "(c64[2,3], c64[2,3,3])"},
    {"fft(%z) {kind = \"fft\", lengths = (3)}", "c64[3]"},
    {"fft(%rhs) {kind = \"rfft\", lengths = (2,3,4)}", "c64[2,3,3]"},
    {"fft(%m) {kind = \"rfft\", lengths = (3)}", "c64[2,2]"},
    {"fft(%z) {kind = \"irfft\", lengths = (5)}", "f32[5]"},
    {"fft(%z) {kind = \"irfft\", lengths = (4)}", "f32[4]"},
    {"cond(%p, %x) @sin @sin", "f32[3]"},
    {"case(%j, %x) @sin", "f32[3]"},
    {"while(%f, %x) @true @keep {consts = 1, bookkeeping = 0}", "f32[3]"},
    {"scan(%f, %x) @step {consts = 0, carry = 1, length = 3, reverse = 0}", "(f32[], f32[3])"},
    {"call(%x) @sin {name = \"s\", vjp = \"\", linear = 0, config = \"\"}", "f32[3]"},
    {"call(%x) @sin @vjp {name = \"s\", vjp = \"v\", linear = 0, config = \"\"}", "f32[3]"},
    {"call(%x) @sin @transposed {name = \"s\", vjp = \"\", linear = 1, config = \"\"}", "f32[3]"},
    {"custom_gradient(%x) @sin @vjp", "f32[3]"},
    {"remat(%x) @count", "i32[]"},
    {"barrier(%t, %l, %x)", "(token, list(f32[3]), f32[3])"},
    {"barrier()", "()"},
    {"list_push(%l, %x)", "list(f32[3])"},
    {"list_pop(%l)", "(list(f32[3]), f32[3])"},
    {"axis_index() {axis = \"data\"}", "i32[]"},
    {"all_reduce(%x) {kind = \"min\", axis = \"data\"}", "f32[3]"},
    {"all_gather(%m) {axis = \"data\", size = 4, dim = 1}", "f32[2,12]"},
    {"all_gather(%e) {axis = \"data\", size = 2, dim = 0}", "f32[0,3]"},
    {"reduce_scatter(%n) {kind = \"sum\", axis = \"data\", size = 2, dim = 1}", "f32[3,2]"},
    {"permute(%b) {axis = \"data\", size = 3, sources = (0,2), targets = (2,1)}", "bool[3]"},
    {"permute(%z) {axis = \"data\", size = 1, sources = (), targets = ()}", "c64[3]"},
    {"broadcast_from(%i) {axis = \"data\", size = 3, source = 2}", "i32[3]"},
    {"callback(%t, %x) {name = \"f\", function = 1, results = (i8[2])}", "(token, i8[2])"},
};

static const shape_case wrong[] = {
    {"add(%x, %i)", "[add] dtypes differ: f32[3] and i32[3]"},
    {"add(%x, %m)", "[add] shapes differ: (3) and (2,3)"},
    {"add(%b, %b)", "[add] operand 0 is bool[3]; the op takes NUMBERS_COMPLEX"},
    {"add(%x)", "[add] takes 2 operands, not 1"},
    {"add(%t, %t)", "[add] operand 0 must be a tensor, not token"},
    {"sin(%i)", "[sin] operand 0 is i32[3]; the op takes FLOATS"},
    {"erf(%z)", "[erf] operand 0 is c64[3]; the op takes FLOATS"},
    {"complex(%i, %i)", "[complex] operand 0 is i32["},
    {"complex(%z, %z)", "[complex] operand 0 is c64[3]; the op takes F32_F64"},
    {"real(%b)", "[real] operand 0 is bool[3]; the op takes NUMBERS_COMPLEX"},
    {"imag(%b)", "[imag] operand 0 is bool[3]; the op takes NUMBERS_COMPLEX"},
    {"conj(%z, %z)", "[conj] takes 1 operands, not 2"},
    {"convert(%t) {dtype = f32}", "[convert] operand 0 must be a tensor, not token"},
    {"reduce(%z) {kind = \"max\", axes = (0)}", "[reduce] kind 'max' does not take c64[3]"},
    {"cumulative(%z) {kind = \"min\", axis = 0, reverse = 0, exclusive = 0}",
     "[cumulative] c64[3] has no order for 'min'"},
    {"all_reduce(%z) {kind = \"max\", axis = \"a\"}", "[all_reduce] c64[3] has no order for 'max'"},
    {"sin(%l)", "[sin] operand 0 must be a tensor, not list(f32[3])"},
    {"sin(%x) @sin", "[sin] takes no regions, not 1"},
    {"not(%x)", "[not] operand 0 is f32[3]; the op takes BITS"},
    {"shl(%b, %b)", "[shl] operand 0 is bool[3]; the op takes INTEGERS"},
    {"popcount(%x)", "[popcount] operand 0 is f32[3]; the op takes INTEGERS"},
    {"nextafter(%i, %i)", "[nextafter] operand 0 is i32[3]; the op takes FLOATS"},
    {"nextafter(%x, %h)", "[nextafter] dtypes differ: f32[3] and f16[3]"},
    {"bitcast(%x) {dtype = f64}", "[bitcast] f32[3] as f64 needs a last axis of size 2"},
    {"bitcast(%f) {dtype = f64}", "[bitcast] f32[] as f64 needs a last axis of size 2"},
    {"bitcast(%b) {dtype = i8}", "[bitcast] bool[3] as i8: bool has no bits of its own"},
    {"bitcast(%i) {dtype = bool}", "[bitcast] i32[3] as bool"},
    {"reduce_precision(%i) {exponent_bits = 4, mantissa_bits = 3}",
     "[reduce_precision] operand 0 is i32[3]; the op takes FLOATS"},
    {"reduce_precision(%x) {exponent_bits = 1, mantissa_bits = 3}",
     "[reduce_precision] exponent_bits must be 2 to 11, not 1"},
    {"reduce_precision(%x) {exponent_bits = 4, mantissa_bits = 53}",
     "[reduce_precision] mantissa_bits must be 1 to 52, not 53"},
    {"is_finite(%i)", "[is_finite] operand 0 is i32[3]"},
    {"compare(%x, %x) {direction = \"<\"}", "[compare] direction '<' is none of eq ne lt le gt ge"},
    {"compare(%z, %z) {direction = \"lt\"}", "[compare] c64[3] has no order for 'lt'"},
    {"select(%x, %x, %x)", "[select] the predicate must be bool, not f32[3]"},
    {"select(%b, %x, %i)", "[select] dtypes differ: f32[3] and i32[3]"},
    {"select(%p, %x, %x)", "[select] shapes differ: () and (3)"},
    {"clamp(%x, %f, %x)", "[clamp] shapes differ"},
    {"constant() {value = f32[4611686018427387904] ()}", "is too large"},
    {"constant() {value = bool[1] hex \"02\"}", "[constant] a bool is stored as 0 or 1"},
    {"iota() {shape = (2), axis = 1, dtype = f32}", "[iota] axis 1 is out of range for (2)"},
    {"iota() {shape = (2), axis = 0, dtype = bool}", "[iota] dtype bool is not a number"},
    {"iota() {shape = (2,-1), axis = 0, dtype = f32}", "[iota] shape has a negative size: (2,-1)"},
    {"iota() {shape = (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), axis = 0, dtype = f32}",
     "[iota] shape has 17 axes; the limit is 16"},
    {"iota() {shape = (0,4294967296,4294967296), axis = 0, dtype = f32}", "too large"},
    {"broadcast(%x) {shape = (4), axes = (0)}", "[broadcast] (3) does not stretch to (4)"},
    {"broadcast(%x) {shape = (3), axes = ()}", "[broadcast] axes () must have 1 entries"},
    {"broadcast(%x) {shape = (3), axes = (1)}", "[broadcast] axes (1) are out of range for (3)"},
    {"broadcast(%m) {shape = (3,2), axes = (1,0)}", "[broadcast] axes (1,0) must increase"},
    {"broadcast(%m) {shape = (3,2), axes = (1,1)}", "[broadcast] axes (1,1) name an axis twice"},
    {"reshape(%m) {shape = (7)}", "[reshape] element counts differ: (2,3) to (7)"},
    {"transpose(%m) {permutation = (0)}", "[transpose] permutation (0) must have 2 entries"},
    {"transpose(%m) {permutation = (0,0)}", "[transpose] permutation (0,0) name an axis twice"},
    {"slice(%x) {start = (1), limit = (4), stride = (1)}",
     "[slice] (1) to (4) does not lie inside (3)"},
    {"slice(%x) {start = (2), limit = (1), stride = (1)}",
     "[slice] (2) to (1) does not lie inside"},
    {"slice(%x) {start = (0), limit = (1), stride = (0)}",
     "[slice] strides (0) must be at least 1"},
    {"slice(%x) {start = (), limit = (1), stride = (1)}", "[slice] start () must have 1 entries"},
    {"pad(%x, %j) {low = (0), high = (0), interior = (0)}", "[pad] the value for f32[3] must be"},
    {"pad(%x, %f) {low = (-4), high = (0), interior = (0)}", "has an impossible size"},
    {"pad(%x, %f) {low = (0), high = (0), interior = (-1)}", "[pad] interior (-1) must not be"},
    {"pad(%x, %f) {low = (9223372036854775807), high = (0), interior = (0)}", "impossible size"},
    {"pad(%x, %f) {low = (0,0), high = (0), interior = (0)}", "[pad] low (0,0) must have 1"},
    {"concat() {axis = 0}", "[concat] takes at least 1 operand"},
    {"concat(%f, %f) {axis = 0}", "[concat] axis 0 is out of range for ()"},
    {"concat(%m, %n) {axis = 0}",
     "[concat] operands do not fit along axis 0: f32[2,3] and f32[3,4]"},
    {"concat(%x, %i) {axis = 0}", "[concat] operands do not fit"},
    {"concat(%big, %big, %big) {axis = 0}", "too large"},
    {"reverse(%x) {axes = (0,0)}", "[reverse] axes (0,0) name an axis twice"},
    {"reverse(%x) {axes = (-1)}", "[reverse] axes (-1) are out of range for (3)"},
    {"dynamic_slice(%m, %i) {sizes = (1,1)}",
     "[dynamic_slice] the start must be 2 integers, not i32[3]"},
    {"dynamic_slice(%m, %s2) {sizes = (1,4)}", "[dynamic_slice] sizes (1,4) do not fit in (2,3)"},
    {"dynamic_slice(%m, %s2) {sizes = (1)}", "[dynamic_slice] sizes (1) must have 2 entries"},
    {"dynamic_update_slice(%m, %n, %s2)",
     "[dynamic_update_slice] f32[3,4] does not fit in f32[2,3]"},
    {"dynamic_update_slice(%m, %m, %x)", "[dynamic_update_slice] the start must be 2 integers"},
    {GATHER("%m, %x", "(1)", "(0)", "()", "()", "(0)", "1", "(1,3)", "clip"),
     "[gather] the indices must be integers, not f32[3]"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "1", "(1,3)", "wrap"),
     "[gather] mode 'wrap' is neither clip nor fill"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "2", "(1,3)", "clip"),
     "[gather] index_vector_dim 2 is out of range for (3)"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "0", "(1,3)", "clip"),
     "[gather] start_map (0) must have 3 entries, as the vectors of indices (3) do"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(2)", "1", "(1,3)", "clip"),
     "[gather] start_map (2) are out of range for (2,3)"},
    {GATHER("%m, %i", "(1)", "()", "()", "()", "(0)", "1", "(1,3)", "clip"),
     "[gather] offset_dims (1), collapsed_dims () and operand_batch_dims () must be 2 axes in all"},
    {GATHER("%m, %i", "(2)", "(0)", "()", "()", "(0)", "1", "(1,3)", "clip"),
     "[gather] offset_dims (2) must increase and lie below 2"},
    {GATHER("%m, %i", "(2,1)", "()", "()", "()", "(0)", "1", "(1,3)", "clip"),
     "[gather] offset_dims (2,1) must increase and lie below 3"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "1", "(2,3)", "clip"),
     "[gather] windows of (2,3) must be 1 along axis 0, which their array lacks"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "1", "(1,4)", "clip"),
     "[gather] windows of (1,4) do not fit in (2,3)"},
    {GATHER("%m, %i", "(1)", "(0)", "()", "()", "(0)", "1", "(1)", "clip"),
     "[gather] slice_sizes (1) must have 2 entries"},
    {GATHER("%m, %i", "(1)", "()", "(0)", "(0)", "(1)", "1", "(1,3)", "clip"),
     "[gather] operand_batch_dims (0) of (2,3) and indices_batch_dims (0) of (3) do not go in"},
    {GATHER("%m, %s2", "(1)", "()", "(0)", "(0)", "(0)", "1", "(1,3)", "clip"),
     "[gather] axis 0 is a batch axis, and in collapsed_dims or start_map as well"},
    {SCATTER("%m, %i, %n", "add", "(1)", "(0)", "()", "()", "(0)", "1", "clip"),
     "[scatter] windows of (1,4) do not fit in (2,3)"},
    {SCATTER("%n, %i, %m", "add", "(1)", "(0)", "()", "()", "(0)", "1", "clip"),
     "[scatter] updates f32[2,3] do not fit indices (3) and f32[3,4]"},
    {SCATTER("%x, %i, %i", "set", "()", "(0)", "()", "()", "(0)", "1", "clip"),
     "[scatter] updates i32[3] do not fit indices (3) and f32[3]"},
    {SCATTER("%b, %i, %b", "add", "()", "(0)", "()", "()", "(0)", "1", "clip"),
     "[scatter] add takes numbers, not bool"},
    {SCATTER("%x, %i, %x", "sub", "()", "(0)", "()", "()", "(0)", "1", "clip"),
     "[scatter] kind 'sub' is none of set add mul min max"},
    {SCATTER("%e, %i, %n", "set", "(1)", "(0)", "()", "()", "(0)", "1", "clip"),
     "[scatter] windows of (1,4) do not fit in (0,3)"},
    {"cumulative(%m) {kind = \"and\", axis = 1, reverse = 0, exclusive = 1}",
     "[cumulative] kind 'and' is none of sum prod max min"},
    {"cumulative(%m) {kind = \"sum\", axis = 2, reverse = 0, exclusive = 1}",
     "[cumulative] axis 2 is out of range for (2,3)"},
    {"cumulative(%m) {kind = \"sum\", axis = 0, reverse = 2, exclusive = 1}",
     "[cumulative] reverse must be 0 or 1, not 2"},
    {WINDOW("%x", "or", "(2)", "(2)", "(1)", "(2)", "(3)", "(2)"),
     "[reduce_window] kind 'or' is none of sum prod max min"},
    {WINDOW("%m", "sum", "(2)", "(1,1)", "(1,1)", "(1,1)", "(1,1)", "(1,1)"),
     "[reduce_window] window (2) must have 2 entries"},
    {WINDOW("%x", "sum", "(2)", "(0)", "(1)", "(2)", "(3)", "(2)"),
     "[reduce_window] windows, strides and dilations must be 1 to 2147483647, not 0"},
    {WINDOW("%x", "sum", "(2)", "(1)", "(9223372036854775807)", "(2)", "(3)", "(2)"),
     "[reduce_window] a padding of 9223372036854775807 or 2 is too large"},
    {SELECT("%m, %m", "sum", "(1,2)", "(1,1)", "(0,0)", "(0,1)"),
     "[select_and_scatter] select 'sum' is neither max nor min"},
    {SELECT("%m, %x", "max", "(1,2)", "(1,1)", "(0,0)", "(0,1)"),
     "[select_and_scatter] the source f32[3] does not go with f32[2,3]"},
    {SELECT("%m, %m", "max", "(2,2)", "(1,1)", "(0,0)", "(0,1)"),
     "[select_and_scatter] the source f32[2,3] must be one number per window of f32[2,3]: "
     "f32[1,3]"},
    {"dot(%m, %m) {lhs_contract = (1), rhs_contract = (0), lhs_batch = (), rhs_batch = ()}",
     "[dot] inner dimensions differ: (2,3) x (2,3)"},
    {"dot(%m, %n) {lhs_contract = (1), rhs_contract = (), lhs_batch = (), rhs_batch = ()}",
     "[dot] inner axes do not pair up: (1) and ()"},
    {"dot(%m, %m) {lhs_contract = (0), rhs_contract = (0), lhs_batch = (0), rhs_batch = (0)}",
     "[dot] an axis is both contracted and batched"},
    {"dot(%m, %n) {lhs_contract = (), rhs_contract = (), lhs_batch = (0), rhs_batch = (0)}",
     "[dot] batch dimensions differ: (2,3) x (3,4)"},
    {"dot(%m, %n) {lhs_contract = (2), rhs_contract = (0), lhs_batch = (), rhs_batch = ()}",
     "[dot] lhs_contract (2) are out of range for (2,3)"},
    {"dot(%x, %i) {lhs_contract = (0), rhs_contract = (0), lhs_batch = (), rhs_batch = ()}",
     "[dot] dtypes differ: f32[3] and i32[3]"},
    {"dot(%big, %big) {lhs_contract = (), rhs_contract = (), lhs_batch = (), rhs_batch = ()}",
     "[dot] f32[2000000000,1000000000,2000000000,1000000000] is too large"},
    {"conv(%img, %ker) {layout = \"NHWC,01IO,N01C\", strides = (1,1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 1, batch_groups = 1}",
     "[conv] layout 'NHWC,01IO,N01C' is not like 'N01C,01IO,N01C'"},
    {"conv(%img, %ker) {layout = \"N0C,0IO,N0C\", strides = (1), low = (0), high = (0), "
     "lhs_dilation = (1), rhs_dilation = (1), groups = 1, batch_groups = 1}",
     "[conv] layout 'N0C,0IO,N0C' does not fit (2,8,9,4) * (3,3,4,6)"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 1, batch_groups = 1}",
     "[conv] strides (1) must have 2 entries"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,0), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 1, batch_groups = 1}",
     "[conv] strides and dilations must be at least 1"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 2, batch_groups = 1}",
     "[conv] input channels differ: (2,8,9,4) with 4 in 2 groups, kernel (3,3,4,6) with 4"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 2, batch_groups = 2}",
     "[conv] groups 2 and batch_groups 2"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 1, batch_groups = 3}",
     "[conv] a batch of 2 does not divide into 3 groups"},
    {"conv(%img, %ker) {layout = \"N01C,01IO,N01C\", strides = (1,1), low = (0,0), high = (0,0), "
     "lhs_dilation = (1,1), rhs_dilation = (1,9223372036854775807), groups = 1, batch_groups = 1}",
     "[conv] spatial axis 1 is too large"},
    {"reduce(%x) {kind = \"mean\", axes = (0)}", "[reduce] kind 'mean' is none of"},
    {"reduce(%x) {kind = \"and\", axes = (0)}", "[reduce] kind 'and' does not take f32[3]"},
    {"reduce(%b) {kind = \"sum\", axes = (0)}", "[reduce] kind 'sum' does not take bool[3]"},
    {"reduce(%x) {kind = \"sum\", axes = (1)}", "[reduce] axes (1) are out of range for (3)"},
    {"argmax(%m) {axis = 2, dtype = i32}", "[argmax] axis 2 is out of range for (2,3)"},
    {"argmax(%m) {axis = 0, dtype = f32}", "[argmax] an index is an integer, not f32"},
    {"argmax(%e) {axis = 0, dtype = i32}", "[argmax] axis 0 of (0,3) is empty"},
    {"argmin(%w) {axis = 0, dtype = u8}", "[argmin] indices along axis 0 of (300) do not fit u8"},
    {"rng_bits(%ctr, %key) {shape = (3), dtype = u32}",
     "[rng_bits] key and counter must be u32[2] and u32[4], not u32[4] and u32[2]"},
    {"rng_bits(%key, %ctr) {shape = (3), dtype = i32}", "[rng_bits] dtype must be u32 or u64"},
    {"cond(%p, %x) @sin", "[cond] takes 2 regions, not 1"},
    {"cond(%j, %x) @sin @sin", "[cond] the predicate must be bool[], not i32[]"},
    {"cond(%b, %x) @sin @sin", "[cond] the predicate must be bool[], not bool[3]"},
    {"cond() @sin @sin", "[cond] the predicate is missing"},
    {"cond(%p, %x) @sin @sum", "[cond] output 0 of region 'sum' is f32[]; it must be f32[3]"},
    {"cond(%p, %m) @sin @sin", "[cond] parameter 0 of region 'sin' is f32[3] and gets f32[2,3]"},
    {"cond(%p) @sin @sin", "[cond] region 'sin' has 1 parameters and gets 0 operands"},
    {"case(%p, %x) @sin", "[case] the index must be i32[], not bool[]"},
    {"case(%j, %x)", "[case] takes at least 1 regions, not 0"},
    {"while(%f, %x) @keep @keep {consts = 1, bookkeeping = 0}",
     "[while] output 0 of region 'keep' is f32[3]; it must be bool[]"},
    {"while(%f, %x) @true @true {consts = 1, bookkeeping = 0}",
     "[while] output 0 of region 'true' is bool[]; it must be f32[3]"},
    {"while(%f, %x) @true @keep {consts = 3, bookkeeping = 0}",
     "[while] consts is 3; it must lie between 0 and 2"},
    {"while(%f, %x) @true @keep {consts = 1, bookkeeping = 2}", "[while] bookkeeping is 2"},
    {"while(%f, %x) @true @keep {consts = 0, bookkeeping = 0}",
     "[while] region 'keep' has 1 outputs; it must have 2"},
    {"scan(%f, %x) @step {consts = 0, carry = 1, length = 4, reverse = 0}",
     "[scan] operand 1 is f32[3]; its leading axis must be 4 long"},
    {"scan(%f, %x) @step {consts = 2, carry = 1, length = 3, reverse = 0}", "[scan] carry is 1"},
    {"scan(%f, %x) @step {consts = 0, carry = 1, length = 3, reverse = 2}", "[scan] reverse is 2"},
    {"scan(%f, %x) @step {consts = 0, carry = 1, length = -1, reverse = 0}", "[scan] length is -1"},
    {"scan(%x, %x) @step {consts = 0, carry = 1, length = 3, reverse = 0}",
     "[scan] parameter 0 of region 'step' is f32[] and gets f32[3]"},
    {"scan(%l, %x) @lists {consts = 0, carry = 1, length = 3, reverse = 0}",
     "[scan] a list(f32[3]) cannot be stacked"},
    {"call(%x) {name = \"s\", vjp = \"\", linear = 0, config = \"\"}", "[call] takes at least 1"},
    {"call(%x) @sin @sin {name = \"s\", vjp = \"\", linear = 0, config = \"\"}",
     "[call] region 'sin' has 1 parameters and gets 3 operands"},
    {"call(%x) @sin @vjp {name = \"s\", vjp = \"\", linear = 1, config = \"\"}",
     "[call] region 'vjp' has 3 parameters and gets 1 operands"},
    {"call(%x) @count {name = \"s\", vjp = \"\", linear = 1, config = \"\"}",
     "[call] result 0 is i32[] and cannot be linear"},
    {"call(%x) @sin {name = \"s\", vjp = \"\", linear = 2, config = \"\"}", "[call] linear is 2"},
    {"custom_gradient(%x) @sin", "[custom_gradient] takes 2 regions, not 1"},
    {"custom_gradient(%x) @count @vjp",
     "[custom_gradient] region 'vjp' has 3 parameters and gets 2 operands"},
    {"remat(%m) @sin", "[remat] parameter 0 of region 'sin' is f32[3] and gets f32[2,3]"},
    {"barrier(%x) @sin", "[barrier] takes 0 regions, not 1"},
    {"list_push(%x, %x)", "[list_push] operand 0 must be a list, not f32[3]"},
    {"list_push(%l, %m)", "[list_push] list(f32[3]) takes no f32[2,3]"},
    {"list_push(%l, %l)", "[list_push] list(f32[3]) takes no list(f32[3])"},
    {"list_pop(%t)", "[list_pop] operand 0 must be a list, not token"},
    {"axis_index() {axis = \"\"}", "[axis_index] the axis has no name"},
    {"triangular_solve(%sq, %rhs) {left = 0, lower = 0, transpose = 1, unit = 0}",
     "[triangular_solve] sizes differ: (2,3,3) solves no (2,3,4) from the right"},
    {"triangular_solve(%sq, %rhs) {left = 1, lower = 2, transpose = 1, unit = 0}",
     "[triangular_solve] lower is 0 or 1, not 2"},
    {"triangular_solve(%sq, %n) {left = 1, lower = 1, transpose = 1, unit = 0}",
     "[triangular_solve] leading axes differ: (2,3,3) and (3,4)"},
    {"triangular_solve(%x, %n) {left = 1, lower = 1, transpose = 1, unit = 0}",
     "[triangular_solve] operand 0 has no matrices: (3)"},
    {"cholesky(%rhs)", "[cholesky] operand 0 is not square: (2,3,4)"},
    {"sort() {axis = 0, keys = 1, descending = 0}", "[sort] needs at least 1 operand"},
    {"sort(%f) {axis = 0, keys = 1, descending = 0}", "[sort] axis 0 is out of range for ()"},
    {"sort(%x) {axis = -1, keys = 1, descending = 0}", "[sort] axis -1 is out of range for (3)"},
    {"sort(%x, %m) {axis = 0, keys = 1, descending = 0}",
     "[sort] operands 0 and 1 have shapes (3) and (2,3)"},
    {"sort(%x, %i) {axis = 0, keys = 0, descending = 0}", "[sort] keys is 0 with 2 operands"},
    {"sort(%x, %i) {axis = 0, keys = 3, descending = 0}", "[sort] keys is 3 with 2 operands"},
    {"sort(%x) {axis = 0, keys = 1, descending = 2}", "[sort] descending must be 0 or 1, not 2"},
    {"top_k(%f) {k = 0}", "[top_k] f32[] has no last axis"},
    {"top_k(%m) {k = 4}", "[top_k] k is 4; the last axis of (2,3) has 3 elements"},
    {"top_k(%m) {k = -1}", "[top_k] k is -1; the last axis of (2,3) has 3 elements"},
    {"top_k(%b) {k = 1}", "[top_k] operand 0 is bool[3]"},
    {"lu(%x)", "[lu] operand 0 has no matrices: (3)"},
    {"qr(%rhs) {full = -1}", "[qr] full is 0 or 1, not -1"},
    {"qr(%hh) {full = 0}", "[qr] operand 0 is f16[3,3]; the op takes F32_F64"},
    {"eigh(%rhs)", "[eigh] operand 0 is not square: (2,3,4)"},
    {"svd(%x) {full = 0}", "[svd] operand 0 has no matrices: (3)"},
    {"svd(%rhs) {full = 2}", "[svd] full is 0 or 1, not 2"},
    {"eig(%rhs)", "[eig] operand 0 is not square: (2,3,4)"},
    {"eig(%hh)", "[eig] operand 0 is f16[3,3]; the op takes F32_F64_COMPLEX"},
    {"fft(%x) {kind = \"fft\", lengths = (3)}", "[fft] fft takes complex numbers, not f32[3]"},
    {"fft(%z) {kind = \"rfft\", lengths = (3)}", "[fft] rfft takes real numbers, not c64[3]"},
    {"fft(%z) {kind = \"dct\", lengths = (3)}",
     "[fft] kind is fft, ifft, rfft or irfft, not 'dct'"},
    {"fft(%z) {kind = \"fft\", lengths = ()}",
     "[fft] transforms the last 1 to 3 axes, not 0 of (3)"},
    {"fft(%z) {kind = \"fft\", lengths = (1,3)}",
     "[fft] transforms the last 1 to 3 axes, not 2 of (3)"},
    {"fft(%z) {kind = \"ifft\", lengths = (4)}", "[fft] axis 0 of (3) is not 4"},
    {"fft(%z) {kind = \"irfft\", lengths = (3)}", "[fft] axis 0 of (3) is not 2"},
    {"fft(%e) {kind = \"rfft\", lengths = (0,3)}", "[fft] lengths are at least 1, not 0"},
    {"cholesky(%hh)", "[cholesky] operand 0 is f16[3,3]; the op takes F32_F64"},
    {"all_reduce(%x) {kind = \"prod\", axis = \"a\"}",
     "[all_reduce] kind 'prod' is none of sum max min"},
    {"all_reduce(%b) {kind = \"sum\", axis = \"a\"}", "[all_reduce] operand 0 is bool[3]"},
    {"all_gather(%x) {axis = \"\", size = 2, dim = 0}", "[all_gather] the axis has no name"},
    {"all_gather(%x) {axis = \"a\", size = 0, dim = 0}", "[all_gather] an axis of 0 participants"},
    {"all_gather(%x) {axis = \"a\", size = 2, dim = 1}",
     "[all_gather] axis 1 is out of range for (3)"},
    {"all_gather(%x) {axis = \"a\", size = 9223372036854775807, dim = 0}",
     "[all_gather] 9223372036854775807 participants with (3) give too large an array"},
    {"reduce_scatter(%x) {kind = \"and\", axis = \"a\", size = 3, dim = 0}",
     "[reduce_scatter] kind 'and' is none of sum max min"},
    {"reduce_scatter(%x) {kind = \"sum\", axis = \"a\", size = 2, dim = 0}",
     "[reduce_scatter] axis 0 of (3) cannot be cut into 2 equal parts"},
    {"permute(%x) {axis = \"a\", size = 3, sources = (0,1), targets = (1)}",
     "[permute] 2 sources for 1 targets"},
    {"permute(%x) {axis = \"a\", size = 3, sources = (0,3), targets = (1,0)}",
     "[permute] sources (0,3) with 3 participants"},
    {"permute(%x) {axis = \"a\", size = 3, sources = (0,1), targets = (1,1)}",
     "[permute] targets (1,1) name a participant twice"},
    {"broadcast_from(%x) {axis = \"a\", size = 3, source = 3}",
     "[broadcast_from] source 3 with 3 participants"},
    {"callback(%x) {name = \"f\", function = 1, results = ()}",
     "[callback] operand 0 must be a token"},
    {"callback(%t) {name = \"f\", function = 0, results = ()}",
     "[callback] there is no host function 0"},
    {"callback(%t, %l) {name = \"f\", function = 1, results = ()}",
     "[callback] operand 1 must be a tensor, not list(f32[3])"},
    {"callback(%t) {name = \"f\", function = 1, results = (token)}",
     "[callback] result 1 must be a tensor, not token"},
};

static mica_status infer(const shape_case *c, bool with_types, mica_graph **out_graph) {
    char text[4000];
    snprintf(text, sizeof text, "%s    %%r = %s%s%s\n    return\n}\n", preamble, c->line,
             with_types ? " : " : "", with_types ? c->expected : "");
    return mica_graph_parse(text, out_graph);
}

static mica_op op_of(const shape_case *c) {
    char name[40];
    mica_op op = MICA_OP_COUNT;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(c->line, "("), c->line);
    if (!mica_op_parse(name, &op)) printf("    no op '%s'\n", name);
    return op;
}

TEST(shape_rules_infer_the_types_of_results) {
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        mica_graph *g = NULL;
        if (!test_ok(infer(&right[i], true, &g), __FILE__, __LINE__, right[i].line)) continue;
        CHECK_OK(mica_graph_verify(g));
        mica_graph_release(g);
    }
}

TEST(shape_rules_refuse_with_the_op_and_the_shapes) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mica_graph *g = NULL;
        CHECK_FAILS(infer(&wrong[i], false, &g), MICA_INVALID_ARGUMENT, wrong[i].expected);
        if (g) printf("    accepted: %s\n", wrong[i].line);
        mica_graph_release(g);
    }
}

/* Rows of class MAP share one rule; every other row has cases of its own. */
TEST(every_row_has_cases_that_are_right_and_wrong) {
    bool has_right[MICA_OP_COUNT + 1] = {0}, has_wrong[MICA_OP_COUNT + 1] = {0};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) has_right[op_of(&right[i])] = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) has_wrong[op_of(&wrong[i])] = true;
    CHECK(!has_right[MICA_OP_COUNT] && !has_wrong[MICA_OP_COUNT]);
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        if (mica_op_class_of((mica_op)op) == MICA_CLASS_MAP) continue;
        CHECK(has_right[op] && has_wrong[op]);
        if (!has_right[op] || !has_wrong[op])
            printf("    '%s' needs cases\n", mica_op_name((mica_op)op));
    }
}

/* Every row of class MAP, on every dtype: accepted exactly when its set holds the dtype. */
TEST(map_ops_take_exactly_the_dtypes_of_their_row) {
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        if (mica_op_class_of((mica_op)op) != MICA_CLASS_MAP) continue;
        for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++) {
            mica_graph *g = NULL;
            REQUIRE_OK(mica_graph_create("f", &g));
            mica_type type = mica_type_make((mica_dtype)dtype, MICA_INTS(2, 5));
            mica_value x = mica_parameter(g, &type), operands[] = {x, x, x};
            mica_node *n = mica_node_create(g, (mica_op)op, operands,
                                            mica_op_describe((mica_op)op)->arity, NULL, NULL, 0);
            bool fits = mica_dtype_in_set((mica_dtype)dtype, mica_op_dtype_set((mica_op)op));
            CHECK((n != NULL) == fits);
            if (op == MICA_OP_abs) type.dtype = mica_number_part(type.dtype);
            CHECK(!n || mica_type_equal(&n->results[0], &type));
            mica_graph_release(g);
        }
    }
}
