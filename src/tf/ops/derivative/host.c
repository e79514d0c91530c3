/* The axes along which tensors of two shapes were stretched: sizes of 1, and axes that one lacks,
 * where both were stretched too. */
#include "tf/host_rules.h"

static mica_status incompatible(const mica_tf_host *c) {
    char *texts[2] = {NULL, NULL};
    mica_status status = NULL;
    for (int32_t i = 0; i < 2 && !status; i++)
        status = mica_tf_value_print(c->inputs[i], -1, false, &texts[i]);
    if (!status)
        status =
            MICA_INVALID("[%s] Incompatible shapes: %s vs. %s", c->info->name, texts[0], texts[1]);
    mica_string_free(texts[0]);
    mica_string_free(texts[1]);
    return status;
}

mica_status tf_host_broadcast_gradient_args(mica_tf_host *c) {
    int64_t sizes[2][MICA_MAX_RANK], axes[2][MICA_MAX_RANK];
    int32_t ranks[2], counts[2] = {0, 0};
    for (int32_t i = 0; i < 2; i++) {
        mica_status status =
            mica_tf_tensor_ints(mica_tf_tensor(c->inputs[i]), sizes[i], MICA_MAX_RANK, &ranks[i]);
        if (status) return status;
    }
    int32_t rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
    for (int32_t k = 0; k < rank; k++) {
        int64_t size[2];
        for (int32_t i = 0; i < 2; i++) {
            int32_t at = k - (rank - ranks[i]);
            size[i] = at < 0 ? 1 : sizes[i][at];
        }
        if (size[0] != size[1] && size[0] != 1 && size[1] != 1) return incompatible(c);
        for (int32_t i = 0; i < 2; i++)
            if (size[i] == 1) axes[i][counts[i]++] = k;
    }
    for (int32_t i = 0; i < 2; i++) {
        mica_tensor *tensor = NULL;
        MICA_TRY(mica_tf_ints_tensor(c->device, mica_tf_dtype_core(c->output_dtypes[i]), axes[i],
                                     counts[i], 1, &tensor));
        c->outputs[i] = mica_tf_value_of(tensor);
    }
    return NULL;
}
