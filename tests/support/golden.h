/* tests/support/golden.h: the golden values of tests/nn/golden.txt.gz, and graphs for their cases.
 *
 * The format is told in tests/oracle/golden_format.py. */
#ifndef MICA_TESTS_GOLDEN_H
#define MICA_TESTS_GOLDEN_H

#include <stdbool.h>

#include "mica/nn.h"

enum { GOLDEN_NAME = 40, GOLDEN_VALUES = 8, GOLDEN_SETTINGS = 24, GOLDEN_RESULTS = 4 };

typedef struct golden_tensor {
    char name[GOLDEN_NAME]; /* "in.x" */
    mica_type type;         /* f32, i32 or bool */
    int64_t n;
    double *data;
} golden_tensor;

typedef struct golden_setting {
    char name[GOLDEN_NAME];
    int32_t n;
    double values[GOLDEN_VALUES];
} golden_setting;

typedef struct golden_case {
    char name[2 * GOLDEN_NAME], kind[GOLDEN_NAME];
    int32_t n_settings, n_tensors;
    golden_setting settings[GOLDEN_SETTINGS];
    golden_tensor *tensors;
} golden_case;

typedef struct golden_values {
    golden_case *cases;
    int32_t n;
} golden_values;

/* false when the file cannot be read or is not of this form. */
bool golden_read(const char *path, golden_values *out);
void golden_free(golden_values *f);

/* The tensor "group.name"; NULL when there is none. */
const golden_tensor *golden_find(const golden_case *c, const char *group, const char *name);
/* Whether the tensor is called "group.something"; then *out_name is the something. */
bool golden_is_in(const golden_tensor *t, const char *group, const char **out_name);
double golden_number(const golden_case *c, const char *name, double otherwise);
/* Fills n entries, when the setting is there. */
void golden_ints(const golden_case *c, const char *name, int64_t *values, int32_t n);

/* A case's operands in a graph. */
typedef struct golden_operands {
    const golden_case *c;
    mica_value *values; /* by place in c->tensors; null for what is no operand */
} golden_operands;

mica_value golden_operand(const golden_operands *o, const char *name);
/* Builds the case's function on its operands; returns the number of results, or 0 when the kind is
 * not known. */
int32_t golden_build(mica_graph *g, const golden_operands *o, mica_value out[GOLDEN_RESULTS]);
/* The optimizer of a case of kind "optimizer". */
mica_nn_optimizer golden_optimizer(const golden_case *c);

#endif
