/* Functions of a file by name. */
#include "base/platform.h"
#include "mica/mica.h"
#include "mica/saved_model.h"
#include "test.h"

#define DENSE "tests/tf/saved_models/dense/saved_model.pb"

static const char *find_function(const uint8_t *bytes, size_t n) {
    static char name[64];
    static const char begin[] = "__inference___call__";
    for (size_t i = 0; i + sizeof name < n; i++) {
        if (memcmp(bytes + i, begin, sizeof begin - 1) != 0) continue;
        size_t length = sizeof begin - 1;
        while (bytes[i + length] == '_' || (bytes[i + length] >= '0' && bytes[i + length] <= '9'))
            length++;
        memcpy(name, bytes + i, length);
        name[length] = 0;
        return name;
    }
    return NULL;
}

TEST(a_function_becomes_a_graph_for_the_variables_it_is_given) {
    mica_device *device = NULL;
    uint8_t *bytes;
    size_t n;
    mica_function_library *library = NULL;
    mica_tf_graph *graph = NULL, *again = NULL;
    REQUIRE_OK(mica_device_open("cpu", &device));
    REQUIRE_OK(mica_file_read(DENSE, &bytes, &n));
    REQUIRE_OK(mica_function_library_create(bytes, n, DENSE, device, &library));
    const char *name = find_function(bytes, n);
    REQUIRE(name != NULL);
    const mica_tf_dtype dtypes[3] = {MICA_TF_no_dtype, MICA_TF_float32, MICA_TF_float32};
    const mica_tf_shape shapes[3] = {{0}, {.rank = 2, .dims = {3, 2}}, {.rank = 1, .dims = {2}}};
    REQUIRE_OK(mica_function_library_graph(library, name, dtypes, shapes, 3, &graph));
    CHECK(mica_tf_graph_parameter_count(graph) == 3);
    CHECK_OK(mica_function_library_graph(library, name, dtypes, shapes, 3, &again));
    CHECK(graph == again);
    mica_tf_graph_release(again);
    CHECK_FAILS(mica_function_library_graph(library, name, dtypes, shapes, 2, &again),
                MICA_INVALID_ARGUMENT, "has 3 arguments, 2 given");
    CHECK_FAILS(mica_function_library_graph(library, "nothing", dtypes, shapes, 0, &again),
                MICA_DATA_LOSS, "has no function 'nothing'");
    CHECK(again == NULL);
    mica_function_library_release(library);
    CHECK(mica_tf_graph_parameter_count(graph) == 3); /* it outlives its library */
    mica_tf_graph_release(graph);
    CHECK_FAILS(mica_function_library_create("x", 1, "x", device, &library), MICA_DATA_LOSS,
                "it is no SavedModel");
    mica_free(bytes);
    mica_device_release(device);
}
