/* A contraction with what is done to its result (ir/contraction.h): the product, then one nest over
 * it. The product goes to the result that asks for it, or to scratch memory. */
#include "ir/contraction.h"

#include <string.h>

#include "device/cuda/steps.h"

typedef struct contraction_kernel {
    cuda_kernel base;
    cuda_kernel *product, *rest; /* rest: NULL when the product is all */
    int32_t product_operands[2];
    int32_t raw;                        /* the result that is the product; -1: none */
    size_t product_offset, rest_offset; /* in scratch memory */
    int32_t n_operands, n_results, n_rest;
    int32_t rest_results[MICA_CONTRACTION_RESULTS]; /* of the call */
} contraction_kernel;

enum { MOST_OPERANDS = 96 };

static mica_status launch_contraction(const cuda_kernel *kernel, cuda_stream *stream,
                                      const mica_address *operands, const mica_address *results,
                                      mica_address scratch) {
    const contraction_kernel *k = (const contraction_kernel *)kernel;
    mica_address x[MOST_OPERANDS + 1], y[MICA_CONTRACTION_RESULTS];
    mica_address product = k->raw >= 0 ? results[k->raw] : scratch + k->product_offset;
    x[0] = operands[k->product_operands[0]];
    x[1] = operands[k->product_operands[1]];
    MICA_TRY(k->product->launch(k->product, stream, x, &product, scratch));
    if (!k->rest) return NULL;
    memcpy(x, operands, (size_t)k->n_operands * sizeof *x);
    x[k->n_operands] = product;
    for (int32_t i = 0; i < k->n_rest; i++) y[i] = results[k->rest_results[i]];
    return k->rest->launch(k->rest, stream, x, y, scratch + k->rest_offset);
}

static void destroy_contraction(cuda_device *device, cuda_kernel *kernel) {
    contraction_kernel *k = (contraction_kernel *)kernel;
    if (k->product) cuda_kernel_destroy(&device->base, &k->product->base);
    if (k->rest) cuda_kernel_destroy(&device->base, &k->rest->base);
    mica_free(k);
}

static int32_t parameter_number(const mica_graph *body, mica_value value) {
    int32_t i = 0;
    while (i < body->n_parameters && !mica_value_same(body->parameters[i], value)) i++;
    return i;
}

/* The body without the product, which is one more parameter. */
static mica_status make_rest(const mica_graph *body, const mica_node *product, mica_graph **out) {
    mica_graph *rest = NULL;
    mica_value *values = mica_calloc((size_t)body->n_nodes, sizeof *values);
    mica_value operands[MICA_CONTRACTION_NODES];
    *out = NULL;
    if (!values) return MICA_NO_MEMORY();
    mica_status status = mica_graph_create("contraction", &rest);
    for (int32_t i = 0; !status && i < body->n_parameters; i++)
        values[body->parameters[i].node->id] =
            mica_parameter(rest, mica_value_type(body->parameters[i]));
    if (!status) values[product->id] = mica_parameter(rest, &product->results[0]);
    for (int32_t i = 0; !status && i < body->n_nodes; i++) {
        const mica_node *n = body->nodes[i];
        if (n->op == MICA_OP_PARAMETER || n == product) continue;
        for (int32_t k = 0; k < n->n_operands; k++) operands[k] = values[n->operands[k].node->id];
        mica_node *made = mica_node_clone(rest, n, operands);
        if (made) values[n->id] = mica_node_result(made, 0);
    }
    for (int32_t i = 0; !status && i < body->n_outputs; i++)
        if (body->outputs[i].node != product) mica_output(rest, values[body->outputs[i].node->id]);
    mica_free(values);
    if (!status) status = mica_graph_check(rest);
    if (status)
        mica_graph_release(rest);
    else
        *out = rest;
    return status;
}

static mica_status create_rest(cuda_device *device, contraction_kernel *k, const mica_graph *body,
                               const mica_node *product) {
    mica_graph *rest = NULL;
    for (int32_t i = 0; i < body->n_outputs; i++) {
        if (body->outputs[i].node == product)
            k->raw = i;
        else
            k->rest_results[k->n_rest++] = i;
    }
    if (k->n_rest == 0) return NULL;
    MICA_TRY(make_rest(body, product, &rest));
    mica_status status = cuda_nest_create(device, rest, &k->rest);
    mica_graph_release(rest);
    return status;
}

static size_t round_up(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static mica_status plan(cuda_device *device, contraction_kernel *k, const mica_node *call) {
    const mica_graph *body = call->regions[0];
    const mica_node *product = NULL;
    MICA_TRY(mica_contraction_check(body, &product));
    k->product_operands[0] = parameter_number(body, product->operands[0]);
    k->product_operands[1] = parameter_number(body, product->operands[1]);
    MICA_TRY(cuda_contract_create(device, product, &k->product));
    MICA_TRY(create_rest(device, k, body, product));
    k->product_offset = round_up(k->product->base.scratch_bytes);
    k->rest_offset =
        k->product_offset + (k->raw < 0 ? round_up(mica_type_bytes(&product->results[0])) : 0);
    k->base.base.scratch_bytes = k->rest_offset + (k->rest ? k->rest->base.scratch_bytes : 0);
    return NULL;
}

bool cuda_contraction_takes(const mica_node *node) {
    const mica_node *product = NULL;
    if (!mica_node_is_contraction(node) || node->n_operands > MOST_OPERANDS) return false;
    mica_status status = mica_contraction_check(node->regions[0], &product);
    bool fits = !status && cuda_contract_takes(product);
    mica_status_release(status);
    return fits;
}

mica_status cuda_contraction_create(cuda_device *device, const mica_node *node,
                                    cuda_kernel **out_kernel) {
    contraction_kernel *k;
    MICA_TRY(cuda_kernel_new(sizeof *k, &k));
    k->base.launch = launch_contraction;
    k->base.destroy = destroy_contraction;
    k->raw = -1;
    k->n_operands = node->n_operands;
    k->n_results = node->n_results;
    mica_status status = plan(device, k, node);
    if (status) {
        destroy_contraction(device, &k->base);
        return status;
    }
    *out_kernel = &k->base;
    return NULL;
}
