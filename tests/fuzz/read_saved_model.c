/* SavedModels: the bytes are saved_model.pb of a folder that has the variables and the asset of
 * corpus/read_saved_model/version1 and custom; they are also the lines of a table. What loads has
 * signatures that become graphs, or say why not, and can be saved, or not. */
#include <string.h>
#include <sys/stat.h>

#include "fuzz/files.h"
#include "fuzz/reader.h"
#include "io/text_table.h"
#include "mica/mica.h"

static mica_device *device;

/* Tables of ops are made when they are first asked for: what is lost shows at the end. */
static void close_device(void) {
    mica_device_release(device);
    mica_shutdown();
    read_check(mica_memory_live_blocks() == 0);
}

static void write_variables(void) {
    static const float zeros[6];
    mica_bundle_writer *writer;
    read_check(!mica_bundle_writer_create(read_path("/variables/variables"), &writer));
    read_check(!mica_bundle_writer_add(writer, "b", MICA_TF_float32, MICA_INTS(2), zeros, 8));
    read_check(!mica_bundle_writer_add(writer, "calls", MICA_TF_int32, MICA_NO_INTS, zeros, 4));
    read_check(!mica_bundle_writer_add(writer, "w", MICA_TF_float32, MICA_INTS(3, 2), zeros, 24));
    read_check(!mica_bundle_writer_add(writer, "w/.ATTRIBUTES/VARIABLE_VALUE", MICA_TF_float32,
                                       MICA_INTS(2), zeros, 8));
    read_check(!mica_bundle_writer_finish(writer));
    mica_bundle_writer_release(writer);
}

static void read_lines(const uint8_t *bytes, size_t size) {
    mica_tf_value keys, values;
    io_text_table table = {(int64_t)(size % 4) - 2,        (int64_t)(size % 3) - 1, 0, 100, ' ',
                           {MICA_TF_string, MICA_TF_int64}};
    read_write_file(read_path("/text"), bytes, size);
    mica_status status = io_read_text_table(device, read_path("/text"), &table, &keys, &values);
    read_check((keys.object == NULL) == (status != NULL));
    mica_status_release(status);
    mica_tf_value_release(keys);
    mica_tf_value_release(values);
}

static void open_device(void) {
    read_check(!mica_device_open("ref", &device));
    (void)mkdir(read_path(""), 0700);
    (void)mkdir(read_path("/assets"), 0700);
    (void)mkdir(read_path("/variables"), 0700);
    read_write_file(read_path("/assets/numbers.txt"), "cat,1.5\n", 8);
    write_variables();
    atexit(close_device);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (!device) open_device();
    mica_saved_model *model = NULL;
    read_lines(bytes, size);
    read_write_file(read_path("/saved_model.pb"), bytes, size);
    mica_status status = mica_saved_model_load(read_path(""), device, NULL, &model);
    read_check((model == NULL) == (status != NULL));
    mica_status_release(status);
    int32_t n = model ? mica_saved_model_signature_count(model) : 0;
    for (int32_t i = 0; i < n && i < 10; i++) {
        mica_tf_graph *graph = NULL;
        const char *name = mica_saved_model_signature(model, i)->name;
        status = mica_saved_model_graph(model, name, &graph, NULL, NULL);
        read_check((graph == NULL) == (status != NULL));
        mica_status_release(status);
        mica_tf_graph_release(graph);
    }
    if (model) mica_status_release(mica_saved_model_save(model, read_path("-saved"), NULL));
    mica_saved_model_release(model);
    return 0;
}
