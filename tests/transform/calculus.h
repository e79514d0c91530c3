/* What the tests of transform/ share: graphs of f64 values, evaluated by the reference. */
#ifndef MICA_TESTS_CALCULUS_H
#define MICA_TESTS_CALCULUS_H

#include "device/ref/ref.h"
#include "ir/graph.h"
#include "mica/transform.h"
#include "test.h"

static inline mica_graph *new_graph(const char *name) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create(name, &g));
    return g;
}

static inline mica_type f64_type(mica_ints dims) {
    return mica_type_make(MICA_DTYPE_f64, dims);
}

static inline mica_value scalar_parameter(mica_graph *g) {
    mica_type type = mica_type_scalar(MICA_DTYPE_f64);
    return mica_parameter(g, &type);
}

static inline mica_value vector_parameter(mica_graph *g, int64_t n) {
    mica_type type = f64_type(MICA_INTS(n));
    return mica_parameter(g, &type);
}

static inline mica_value number(mica_graph *g, double value) {
    return mica_scalar(g, MICA_DTYPE_f64, value);
}

static inline mica_value gradient(mica_graph *g, mica_value y, mica_value x) {
    mica_value result;
    mica_gradient(g, y, &x, 1, &result);
    return result;
}

static inline mica_value tangent(mica_graph *g, mica_value y, mica_value x, mica_value dx) {
    mica_value result;
    mica_jvp(g, &y, 1, &x, &dx, 1, &result);
    return result;
}

/* Verifies g and runs it; the last argument of f64 outputs is filled. false when it failed. */
static inline bool evaluate_at(const mica_graph *g, const void *const *inputs, void *const *outputs,
                               const char *file, int line) {
    return test_ok(mica_graph_verify(g), file, line, "verify") &&
           test_ok(mica_ref_evaluate(g, inputs, outputs), file, line, "evaluate");
}
#define EVALUATE(g, inputs, outputs) evaluate_at(g, inputs, outputs, __FILE__, __LINE__)

/* The graph's only output, an f64 array, at one f64 input array. */
static inline void evaluate_1(const mica_graph *g, const double *x, double *y, const char *file,
                              int line) {
    const void *inputs[] = {x};
    void *outputs[] = {y};
    evaluate_at(g, inputs, outputs, file, line);
}
#define EVALUATE_1(g, x, y) evaluate_1(g, x, y, __FILE__, __LINE__)

/* g's only output, a scalar, at scalar inputs. */
static inline double value_at(const mica_graph *g, const double *x, int32_t n, const char *file,
                              int line) {
    const void *inputs[8];
    double y = NAN;
    void *outputs[] = {&y};
    for (int32_t i = 0; i < n && i < 8; i++) inputs[i] = &x[i];
    evaluate_at(g, inputs, outputs, file, line);
    return y;
}
#define VALUE_AT(g, ...)                                                                           \
    value_at(g, (const double[]){__VA_ARGS__},                                                     \
             (int32_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), __FILE__,          \
             __LINE__)

#endif
