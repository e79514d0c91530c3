/* Graphs as text, through the passes of the compiler: what comes out verifies. */
#include <string.h>

#include "compile/passes.h"
#include "fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    char *text = malloc(size + 1);
    read_check(text != NULL);
    memcpy(text, bytes, size);
    text[size] = 0;
    mica_graph *g = NULL, *made = NULL;
    mica_status_release(mica_graph_parse(text, &g));
    if (g && g->n_inside < 5000) mica_status_release(mica_passes_run(g, "", true, &made));
    if (made) (void)read_done(mica_graph_verify(made));
    mica_graph_release(g);
    mica_graph_release(made);
    free(text);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
