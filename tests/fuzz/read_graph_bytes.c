/* Graphs as bytes: one that is read verifies, and is written as bytes that are read as an equal
 * one. The checksum is made right, so that what stands behind it is reached. */
#include <string.h>

#include "fuzz/reader.h"
#include "ir/bytes.h"
#include "ir/equal.h"
#include "ir/graph.h"

static uint8_t *mended(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size + 1);
    read_check(copy != NULL);
    memcpy(copy, bytes, size);
    if (size >= MICA_GRAPH_HEADER)
        mica_put_u64(copy + MICA_GRAPH_CHECKSUM_AT,
                     mica_checksum(copy + MICA_GRAPH_HEADER, size - MICA_GRAPH_HEADER));
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    uint8_t *written = NULL;
    size_t n = 0;
    mica_graph *g = NULL, *again = NULL;
    uint8_t *file = mended(bytes, size);
    mica_status status = mica_graph_deserialize(file, size, &g);
    read_check((g == NULL) == (status != NULL));
    mica_status_release(status);
    if (g && read_done(mica_graph_verify(g)) && read_done(mica_graph_serialize(g, &written, &n)) &&
        read_done(mica_graph_deserialize(written, n, &again)))
        read_check(mica_graph_equal(g, again));
    free(file);
    mica_bytes_free(written);
    mica_graph_release(g);
    mica_graph_release(again);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
