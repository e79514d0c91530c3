/* Graphs as text: one that is read verifies, and prints as text that is read as an equal one. */
#include <string.h>

#include "fuzz/reader.h"
#include "ir/equal.h"
#include "ir/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    char *text = malloc(size + 1), *printed = NULL;
    read_check(text != NULL);
    memcpy(text, bytes, size);
    text[size] = 0;
    mica_graph *g = NULL, *again = NULL;
    mica_status status = mica_graph_parse(text, &g);
    read_check((g == NULL) == (status != NULL));
    mica_status_release(status);
    if (g && read_done(mica_graph_verify(g)) && read_done(mica_graph_print(g, &printed)) &&
        read_done(mica_graph_parse(printed, &again)))
        read_check(mica_graph_equal(g, again));
    mica_string_free(printed);
    mica_graph_release(g);
    mica_graph_release(again);
    free(text);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
