/* Creating and running built-in kernels, and the choice of the instruction set. */
#include "device/cpu/kernels.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/platform.h"
#include "compile/passes.h"
#include "device/cpu/kernel.h"
#include "ir/contraction.h"

/* ---- instruction sets -------------------------------------------------------------------------*/

#define ISA_TABLE(isa, int_isa)                                                                    \
    {                                                                                              \
#isa, mica_cpu_map_f32_##isa, mica_cpu_map_f64_##isa, mica_cpu_map_int_##int_isa,          \
            mica_cpu_map_complex_##int_isa, mica_cpu_bounded_##isa,                                \
            &mica_cpu_elementwise_##int_isa, mica_cpu_reduce_float_##isa,                          \
            mica_cpu_reduce_int_##int_isa, mica_cpu_reduce_complex_##int_isa,                      \
            mica_cpu_gemm_float_##isa, mica_cpu_gemm_int_##int_isa, mica_cpu_gemv_##isa,           \
            mica_cpu_pack_complex_##int_isa, mica_cpu_philox_##isa, mica_cpu_window_##isa,         \
            mica_cpu_order_##isa, &mica_cpu_networks_##isa, mica_cpu_fft_##isa,                    \
            &mica_cpu_lstm_##isa, &mica_cpu_attention_##isa, &mica_cpu_winograd_##isa,             \
            mica_cpu_transposes_##isa                                                              \
    }

#define ISA_TABLE_OF(isa) ISA_TABLE(isa, isa)

/* The best last. */
static const mica_cpu_isa variants[] = {
#ifdef MICA_ISA_ONLY
    ISA_TABLE_OF(MICA_ISA_ONLY),
#else
    ISA_TABLE(baseline, baseline),
#endif
#if MICA_ISA_HAS_X86 && !defined(MICA_ISA_ONLY)
    ISA_TABLE(avx2, avx2),
    ISA_TABLE(avx512, avx2),
#endif
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static const mica_cpu_isa *forced; /* atomic */

static bool machine_has(const mica_cpu_isa *isa) {
    if (!strcmp(isa->name, "avx2")) return mica_machine_has_avx2_fma();
    if (!strcmp(isa->name, "avx512"))
        return mica_machine_has_avx512() && mica_machine_has_avx2_fma();
    return true;
}

static const mica_cpu_isa *find_isa(const char *name) {
    for (int i = 0; name && i < VARIANTS; i++)
        if (!strcmp(variants[i].name, name) && machine_has(&variants[i])) return &variants[i];
    return NULL;
}

/* MICA_ISA when it names one that can run here, else the best; looked up once. */
static const mica_cpu_isa *default_isa(void) {
    static const mica_cpu_isa *found; /* atomic; every thread finds the same */
    const mica_cpu_isa *isa = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (isa) return isa;
    isa = find_isa(mica_environment("MICA_ISA"));
    for (int i = VARIANTS - 1; !isa; i--)
        if (i == 0 || machine_has(&variants[i])) isa = &variants[i];
    __atomic_store_n(&found, isa, __ATOMIC_RELAXED);
    return isa;
}

const mica_cpu_isa *mica_cpu_isa_current(void) {
    const mica_cpu_isa *isa = __atomic_load_n(&forced, __ATOMIC_RELAXED);
    return isa ? isa : default_isa();
}

const char *mica_cpu_isa_name(void) {
    return mica_cpu_isa_current()->name;
}

bool mica_cpu_isa_force(const char *name) {
    const mica_cpu_isa *isa = find_isa(name);
    if (name && !isa) return false;
    __atomic_store_n(&forced, isa, __ATOMIC_RELAXED);
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------*/

mica_status mica_cpu_kernel_new(size_t bytes,
                                void (*run)(const cpu_kernel *, const void *const *, void *const *,
                                            void *),
                                void *out_kernel) {
    cpu_kernel *kernel = mica_calloc(1, bytes);
    memcpy(out_kernel, &kernel, sizeof kernel);
    if (!kernel) return MICA_NO_MEMORY();
    kernel->run = run;
    kernel->head.cannot_fail = true;
    return NULL;
}

mica_status mica_cpu_unsupported(const mica_node *node, mica_dtype dtype) {
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] the cpu has no kernel for %s",
                      mica_op_describe(node->op)->name, mica_dtype_name(dtype));
}

typedef mica_status (*creator)(const mica_node *node, cpu_kernel **out);

/* Who makes a row's kernel, by its class; rows of two classes are told apart by name. */
#define CREATE_MAP(op) mica_cpu_create_elementwise
#define CREATE_ELEMENTWISE(op) mica_cpu_create_elementwise
#define CREATE_SHAPE(op) MICA_OP_##op == MICA_OP_iota ? mica_cpu_create_iota : mica_cpu_create_shape
#define CREATE_CONTRACTION(op) mica_cpu_create_##op
#define CREATE_REDUCTION(op) mica_cpu_create_##op
#define CREATE_RANDOM(op) mica_cpu_create_##op
#define CREATE_SEVERAL(op) mica_cpu_create_##op
#define CREATE_CONTROL(op) NULL
#define CREATE_COLLECTIVE(op) NULL
#define CREATE_HOST(op) NULL
static const creator creators[MICA_OP_COUNT] = {
#define MICA_OP(op, arity, class, ...) [MICA_OP_##op] = CREATE_##class(op),
#include "mica/ops.def"
#undef MICA_OP
};

/* Whose jobs may be left half way: those that move or compute elements, and no places. */
#define LEFT_MAP(op) true
#define LEFT_ELEMENTWISE(op) true
#define LEFT_SHAPE(op) true
#define LEFT_RANDOM(op) true
#define LEFT_CONTRACTION(op)                                                                       \
    MICA_OP_##op == MICA_OP_dot || MICA_OP_##op == MICA_OP_conv || MICA_OP_##op == MICA_OP_fft
#define LEFT_REDUCTION(op) MICA_OP_##op != MICA_OP_select_and_scatter
#define LEFT_SEVERAL(op) false
#define LEFT_CONTROL(op) false
#define LEFT_COLLECTIVE(op) false
#define LEFT_HOST(op) false
static const bool may_be_left[MICA_OP_COUNT] = {
#define MICA_OP(op, arity, class, ...) [MICA_OP_##op] = LEFT_##class(op),
#include "mica/ops.def"
#undef MICA_OP
};

/* ---- composites -------------------------------------------------------------------------------*/

typedef struct composite {
    const char *name;
    bool (*fits)(const mica_node *node);
    creator create;
} composite;

static const composite composites[] = {
    {"mica.lstm_steps", mica_cpu_fits_lstm_steps, mica_cpu_create_lstm_steps},
    {"mica.lstm_steps.back", mica_cpu_fits_lstm_steps_back, mica_cpu_create_lstm_steps_back},
    {"mica.gru_steps", mica_cpu_fits_gru_steps, mica_cpu_create_gru_steps},
    {"mica.gru_steps.back", mica_cpu_fits_gru_steps_back, mica_cpu_create_gru_steps_back},
    {"mica.attention", mica_cpu_fits_attention, mica_cpu_create_attention},
    {"mica.attention.back", mica_cpu_fits_attention_back, mica_cpu_create_attention_back},
};

static const composite *find_composite(const char *name) {
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++)
        if (!strcmp(composites[i].name, name)) return &composites[i];
    return NULL;
}

bool mica_cpu_claims(const mica_node *call) {
    const composite *found = find_composite(mica_node_string(call, "name"));
    return found && found->fits(call);
}

static creator creator_of(const mica_node *node) {
    if (node->op >= MICA_OP_COUNT) return NULL;
    if (mica_node_is_contraction(node)) return mica_cpu_create_contraction;
    if (!mica_node_is_claimed(node)) return creators[node->op];
    const composite *found =
        find_composite(mica_node_string(node, "name") + sizeof MICA_CLAIMED - 1);
    return found ? found->create : NULL;
}

mica_status mica_cpu_kernel_create(const mica_node *node, mica_kernel **out_kernel) {
    *out_kernel = NULL;
    creator create = creator_of(node);
    if (!create) {
        const mica_op_info *info = mica_op_describe(node->op);
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] is not computed by a kernel",
                          info ? info->name : "parameter");
    }
    for (int32_t i = 0; i < node->n_operands; i++)
        if (mica_operand_type(node, i)->kind != MICA_TENSOR)
            return MICA_ERROR(MICA_UNSUPPORTED, "[%s] operand %d is not a tensor",
                              mica_op_describe(node->op)->name, i);
    if (node->results[0].kind != MICA_TENSOR)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] the result is not a tensor",
                          mica_op_describe(node->op)->name);
    cpu_kernel *kernel = NULL;
    mica_status status = create(node, &kernel);
    if (status) return mica_status_pass(status, __FILE__, __LINE__);
    kernel->may_be_left = mica_node_is_contraction(node) || may_be_left[node->op];
    *out_kernel = &kernel->head;
    return NULL;
}

void mica_cpu_kernel_destroy(mica_kernel *kernel) {
    cpu_kernel *self = (cpu_kernel *)kernel;
    if (self && self->destroy)
        self->destroy(self);
    else
        mica_free(self);
}

void mica_cpu_kernel_run(const mica_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch) {
    const cpu_kernel *self = (const cpu_kernel *)kernel;
    if (self->may_be_left) {
        self->run(self, operands, results, scratch);
        return;
    }
    mica_interrupt_scope whole;
    mica_interrupt_enter(&whole, NULL, true);
    self->run(self, operands, results, scratch);
    (void)mica_interrupt_leave(&whole);
}
