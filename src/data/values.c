/* Datasets as values of graphs. */
#include "data/data.h"

static const char dataset_kind[] = "dataset";

static void release_dataset(void *object) {
    mica_dataset_release(object);
}

mica_status mica_dataset_value(mica_dataset *dataset, mica_tf_value *out_value) {
    MICA_GIVEN(dataset, out_value);
    MICA_TRY(
        mica_tf_object_value(MICA_TF_variant, dataset_kind, dataset, release_dataset, out_value));
    mica_dataset_retain(dataset);
    return NULL;
}

mica_dataset *mica_dataset_of(mica_tf_value value) {
    return mica_tf_object_of(value, dataset_kind);
}
