/* SavedModels: the bytes are saved_model.pb of a folder without variables. What loads has
 * signatures that become graphs, or say why not. */
#include <string.h>
#include <sys/stat.h>

#include "fuzz/files.h"
#include "fuzz/reader.h"
#include "mica/mica.h"

static mica_device *device;

/* Tables of ops are made when they are first asked for: what is lost shows at the end. */
static void close_device(void) {
    mica_device_release(device);
    mica_shutdown();
    read_check(mica_memory_live_blocks() == 0);
}

static void open_device(void) {
    read_check(!mica_device_open("ref", &device));
    (void)mkdir(read_path(""), 0700);
    atexit(close_device);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (!device) open_device();
    mica_saved_model *model = NULL;
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
    mica_saved_model_release(model);
    return 0;
}
