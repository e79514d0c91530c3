/* tests/support/figures.h: the figures of tests/nn/figures.txt.gz, and graphs for their cases.
 *
 * The format is told in tests/oracle/figures_format.py. */
#ifndef MICA_TESTS_FIGURES_H
#define MICA_TESTS_FIGURES_H

#include <stdbool.h>

#include "mica/nn.h"

enum { FIGURE_NAME = 40, FIGURE_VALUES = 8, FIGURE_SETTINGS = 24, FIGURE_RESULTS = 4 };

typedef struct figure_tensor {
    char name[FIGURE_NAME]; /* "in.x" */
    mica_type type;         /* f32, i32 or bool */
    int64_t n;
    double *data;
} figure_tensor;

typedef struct figure_setting {
    char name[FIGURE_NAME];
    int32_t n;
    double values[FIGURE_VALUES];
} figure_setting;

typedef struct figure_case {
    char name[2 * FIGURE_NAME], kind[FIGURE_NAME];
    int32_t n_settings, n_tensors;
    figure_setting settings[FIGURE_SETTINGS];
    figure_tensor *tensors;
} figure_case;

typedef struct figures {
    figure_case *cases;
    int32_t n;
} figures;

/* false when the file cannot be read or is not of this form. */
bool figures_read(const char *path, figures *out);
void figures_free(figures *f);

/* The tensor "group.name"; NULL when there is none. */
const figure_tensor *figure_find(const figure_case *c, const char *group, const char *name);
/* Whether the tensor is called "group.something"; then *out_name is the something. */
bool figure_is_in(const figure_tensor *t, const char *group, const char **out_name);
double figure_number(const figure_case *c, const char *name, double otherwise);
/* Fills n entries, when the setting is there. */
void figure_ints(const figure_case *c, const char *name, int64_t *values, int32_t n);

/* A case's operands in a graph. */
typedef struct figure_operands {
    const figure_case *c;
    mica_value *values; /* by place in c->tensors; null for what is no operand */
} figure_operands;

mica_value figure_operand(const figure_operands *o, const char *name);
/* Builds the case's function on its operands; returns the number of results, or 0 when the kind is
 * not known. */
int32_t figure_build(mica_graph *g, const figure_operands *o, mica_value out[FIGURE_RESULTS]);
/* The optimizer of a case of kind "optimizer". */
mica_nn_optimizer figure_optimizer(const figure_case *c);

#endif
