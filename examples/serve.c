/* Runs a SavedModel on one row of numbers: serve MODEL 1 -1 2 */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

static mica_status serve(mica_device *device, const char *folder, const float *row, int64_t n) {
    mica_saved_model *model = NULL;
    mica_tensor *x = NULL;
    mica_tf_value y = {0};
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(1, n));
    mica_status status = mica_saved_model_load(folder, device, NULL, &model);
    if (!status) status = mica_tensor_from_host(device, &type, row, &x);
    mica_tf_value input = x ? mica_tf_value_of(x) : (mica_tf_value){0};
    if (!status) status = mica_saved_model_run(model, "serving_default", &input, 1, &y, 1);
    void *results = NULL;
    if (!status) status = mica_tensor_open_view(y.object, MICA_READ, &results);
    for (int64_t i = 0; results && i < mica_type_elements(mica_tensor_type(y.object)); i++)
        printf("%g\n", ((float *)results)[i]);
    if (results) status = mica_tensor_close_view(y.object);
    mica_tf_value_release(y);
    mica_tf_value_release(input);
    mica_saved_model_release(model);
    return status;
}

int main(int argc, char **argv) {
    float row[1000];
    int n = argc < 1000 ? argc - 2 : 0;
    for (int i = 0; i < n; i++) row[i] = strtof(argv[i + 2], NULL);
    mica_device *device = NULL;
    mica_status status = mica_device_open("any", &device);
    if (!status) status = serve(device, argc > 1 ? argv[1] : ".", row, n < 0 ? 0 : n);
    if (status) fprintf(stderr, "serve: %s\n", mica_status_message(status));
    int code = status != NULL;
    mica_status_release(status);
    mica_device_release(device);
    mica_shutdown();
    return code;
}
