/* A numeric self-check: the same graphs and inputs on a device and on the reference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct self_check {
    const char *name, *text;
    double tolerance; /* relative to the larger of 1 and the reference */
} self_check;

static const self_check checks[] = {
    {"elementwise mathematics",
     "mica graph 1\n"
     "graph @elementwise(%0: f32[33,65], %1: f32[33,65]) {\n"
     "    %2 = add(%0, %1) : f32[33,65]\n"
     "    %3 = exp(%2) : f32[33,65]\n"
     "    %4 = log1p(%3) : f32[33,65]\n"
     "    %5 = tanh(%2) : f32[33,65]\n"
     "    %6 = erf(%5) : f32[33,65]\n"
     "    %7 = sin(%4) : f32[33,65]\n"
     "    %8 = mul(%6, %7) : f32[33,65]\n"
     "    return %8\n"
     "}\n",
     2e-6},
    {"matrix product and softmax",
     "mica graph 1\n"
     "graph @softmax(%0: f32[37,70], %1: f32[70,19]) {\n"
     "    %2 = dot(%0, %1) {lhs_contract = (1), rhs_contract = (0), lhs_batch = (), rhs_batch = ()}"
     " : f32[37,19]\n"
     "    %3 = reduce(%2) {kind = \"max\", axes = (1)} : f32[37]\n"
     "    %4 = broadcast(%3) {shape = (37,19), axes = (0)} : f32[37,19]\n"
     "    %5 = sub(%2, %4) : f32[37,19]\n"
     "    %6 = exp(%5) : f32[37,19]\n"
     "    %7 = reduce(%6) {kind = \"sum\", axes = (1)} : f32[37]\n"
     "    %8 = broadcast(%7) {shape = (37,19), axes = (0)} : f32[37,19]\n"
     "    %9 = div(%6, %8) : f32[37,19]\n"
     "    %10 = argmax(%2) {axis = 1, dtype = i32} : i32[37]\n"
     "    return %9, %10\n"
     "}\n",
     1e-5},
    {"convolution",
     "mica graph 1\n"
     "graph @convolution(%0: f32[2,13,11,3], %1: f32[3,3,3,8]) {\n"
     "    %2 = conv(%0, %1) {layout = \"N01C,01IO,N01C\", strides = (2,1), low = (1,1), high = "
     "(1,0)"
     ", lhs_dilation = (1,1), rhs_dilation = (1,1), groups = 1, batch_groups = 1}"
     " : f32[2,7,10,8]\n"
     "    return %2\n"
     "}\n",
     1e-5},
    {"moving data",
     "mica graph 1\n"
     "graph @moving(%0: i32[5,6,7]) {\n"
     "    %1 = transpose(%0) {permutation = (2,0,1)} : i32[7,5,6]\n"
     "    %2 = reverse(%1) {axes = (1)} : i32[7,5,6]\n"
     "    %3 = slice(%2) {start = (1,0,2), limit = (7,5,6), stride = (2,1,3)} : i32[3,5,2]\n"
     "    %4 = constant() {value = i32[] (7)} : i32[]\n"
     "    %5 = pad(%3, %4) {low = (1,0,-1), high = (0,2,1), interior = (0,1,0)} : i32[4,11,2]\n"
     "    %6 = concat(%5, %5) {axis = 2} : i32[4,11,4]\n"
     "    return %6\n"
     "}\n",
     0},
    {"loops",
     "mica graph 1\n"
     "graph @condition(%0: i32[], %1: f32[9]) {\n"
     "    %2 = constant() {value = i32[] (5)} : i32[]\n"
     "    %3 = compare(%0, %2) {direction = \"lt\"} : bool[]\n"
     "    return %3\n"
     "}\n"
     "graph @body(%0: i32[], %1: f32[9]) {\n"
     "    %2 = constant() {value = i32[] (1)} : i32[]\n"
     "    %3 = add(%0, %2) : i32[]\n"
     "    %4 = cos(%1) : f32[9]\n"
     "    return %3, %4\n"
     "}\n"
     "graph @step(%0: f32[9], %1: f32[9]) {\n"
     "    %2 = mul(%0, %1) : f32[9]\n"
     "    %3 = tanh(%2) : f32[9]\n"
     "    return %2, %3\n"
     "}\n"
     "graph @loops(%0: f32[9], %1: f32[4,9]) {\n"
     "    %2 = constant() {value = i32[] (0)} : i32[]\n"
     "    %3:2 = while(%2, %0) @condition @body {consts = 0, bookkeeping = 0} : (i32[], f32[9])\n"
     "    %4:2 = scan(%3.1, %1) @step {consts = 0, carry = 1, length = 4, reverse = 1}"
     " : (f32[9], f32[4,9])\n"
     "    return %4.0, %4.1\n"
     "}\n",
     2e-6},
    {"random bits",
     "mica graph 1\n"
     "graph @random(%0: u32[2], %1: u32[4]) {\n"
     "    %2 = rng_bits(%0, %1) {shape = (5,7), dtype = u32} : u32[5,7]\n"
     "    return %2\n"
     "}\n",
     0},
};

enum { MOST_OUTPUTS = 4, MOST_INPUTS = 4 };

static mica_status run_on(const mica_graph *g, mica_device *device, mica_tensor **outputs) {
    mica_tensor *inputs[MOST_INPUTS] = {NULL};
    mica_executable *executable = NULL;
    int32_t n = mica_graph_parameter_count(g);
    mica_status status = NULL;
    for (int32_t i = 0; i < n && !status; i++)
        status =
            cli_make_tensor(1, i, mica_value_type(mica_graph_parameter(g, i)), device, &inputs[i]);
    if (!status) status = mica_executable_create(device, g, NULL, &executable);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = n,
                          .outputs = outputs,
                          .n_outputs = mica_graph_output_count(g)};
    if (!status) status = mica_executable_run(executable, &args, NULL);
    mica_executable_release(executable);
    for (int32_t i = 0; i < n; i++) mica_tensor_release(inputs[i]);
    return status;
}

/* The largest difference, relative to the larger of 1 and the reference; NaN counts as infinite. */
static mica_status difference(mica_tensor *a, mica_tensor *reference, double *out_worst) {
    const mica_type *type = mica_tensor_type(a);
    void *x = NULL, *y = NULL;
    mica_status status = mica_tensor_open_view(a, MICA_READ, &x);
    if (status) return status;
    status = mica_tensor_open_view(reference, MICA_READ, &y);
    for (int64_t i = 0; !status && i < mica_type_elements(type); i++) {
        double p = cli_element(x, i, type->dtype), q = cli_element(y, i, type->dtype);
        double d = fabs(p - q) / fmax(1, fabs(q));
        if (!(d <= *out_worst)) *out_worst = isnan(d) ? INFINITY : d;
    }
    if (!status) status = mica_tensor_close_view(reference);
    mica_status closed = mica_tensor_close_view(a);
    if (!status) return closed;
    mica_status_release(closed);
    return status;
}

static mica_status check_one(const self_check *check, mica_device *device, mica_device *reference,
                             double *out_worst) {
    mica_graph *g = NULL;
    mica_tensor *own[MOST_OUTPUTS] = {NULL}, *expected[MOST_OUTPUTS] = {NULL};
    *out_worst = 0;
    mica_status status = mica_graph_parse(check->text, &g);
    if (!status) status = run_on(g, device, own);
    if (!status) status = run_on(g, reference, expected);
    for (int32_t i = 0; !status && i < mica_graph_output_count(g); i++)
        status = difference(own[i], expected[i], out_worst);
    for (int32_t i = 0; i < MOST_OUTPUTS; i++) {
        mica_tensor_release(own[i]);
        mica_tensor_release(expected[i]);
    }
    mica_graph_release(g);
    return status;
}

int cli_self_check(mica_device *device) {
    mica_device *reference = NULL;
    int disagreements = 0;
    mica_status status = mica_device_open("ref", &reference);
    if (status) return cli_fail(status);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        double worst = 0;
        status = check_one(&checks[i], device, reference, &worst);
        bool unsupported = mica_status_code(status) == MICA_UNSUPPORTED;
        bool agrees = !status && worst <= checks[i].tolerance;
        if (!agrees && !unsupported) disagreements++;
        printf("  %-11s %-7s %-27s ",
               agrees        ? "ok"
               : unsupported ? "unsupported"
                             : "DISAGREES",
               mica_device_name(device), checks[i].name);
        if (status)
            printf("%s\n", mica_status_message(status));
        else
            printf("largest difference %.2g, allowed %.2g\n", worst, checks[i].tolerance);
        mica_status_release(status);
    }
    mica_device_release(reference);
    return disagreements;
}
