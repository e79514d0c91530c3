/* TensorProto messages: what is read is a tensor of its shape, and is written as one. */
#include <string.h>

#include "fuzz/reader.h"
#include "mica/mica.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    mica_device *device = NULL;
    mica_tf_value tensor = {0}, again = {0};
    if (!read_done(mica_device_open("cpu", &device))) return 0;
    mica_status status = mica_tensor_proto_read(device, bytes, size, &tensor);
    read_check(!status == (tensor.object != NULL));
    mica_status_release(status);
    uint8_t *written = NULL;
    size_t n;
    if (tensor.object && read_done(mica_tensor_proto_write(tensor, &written, &n)) &&
        read_done(mica_tensor_proto_read(device, written, n, &again))) {
        mica_tf_shape shape, other;
        mica_tf_value_shape(tensor, &shape);
        mica_tf_value_shape(again, &other);
        read_check(shape.rank == other.rank && tensor.dtype == again.dtype);
    }
    mica_bytes_free(written);
    mica_tf_value_release(tensor);
    mica_tf_value_release(again);
    mica_device_release(device);
    return 0;
}
