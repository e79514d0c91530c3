/* Frames: lengths that are checked before anything is taken, one deadline for all of a frame. */
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "io/door.h"
#include "io/wire.h"

enum { HEAD = 16, FIRST_PIECE = 1 << 16 };

/* ---- the header's text ------------------------------------------------------------------------*/

/* How deep a text of JSON nests and how many items it has, without understanding it: brackets and
 * commas outside of strings. */
static mica_status measure(const mica_door_bounds *limits, const uint8_t *text, size_t n) {
    int64_t depth = 0, values = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = text[i];
        if (is_quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                is_quoted = false;
            continue;
        }
        if (c == '"') is_quoted = true;
        if (c == '[' || c == '{') depth++, values++;
        if (c == ']' || c == '}') depth--;
        if (c == ',' || c == ':') values++;
        if (depth > limits->depth || values > limits->values)
            return MICA_ERROR(MICA_DATA_LOSS, "[peer] a header of more than %d values or %d levels",
                              limits->values, limits->depth);
    }
    return NULL;
}

/* ---- receiving --------------------------------------------------------------------------------*/

static mica_status ended(void) {
    return MICA_ERROR(MICA_DATA_LOSS, "[peer] the connection ended within a frame");
}

/* Memory is taken as the bytes come: a length alone takes none. */
static mica_status take(const mica_socket *s, uint64_t n, double deadline, uint8_t **out_bytes) {
    size_t size = 0, capacity = 0;
    *out_bytes = NULL;
    while (size < n) {
        capacity = capacity ? 2 * capacity : FIRST_PIECE;
        if (capacity > n) capacity = (size_t)n;
        uint8_t *grown = mica_realloc(*out_bytes, capacity);
        if (!grown)
            return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                              "[peer] there is no memory for a frame of %llu bytes",
                              (unsigned long long)n);
        *out_bytes = grown;
        size_t got;
        MICA_TRY(mica_socket_read(s, grown + size, capacity - size, deadline, &got));
        size += got;
        if (size < capacity) return ended();
    }
    return NULL;
}

static double deadline_of(const mica_door_bounds *limits, double start, uint64_t bytes) {
    return start + limits->frame_seconds + (double)bytes / (double)limits->rate;
}

static mica_status receive(const mica_peer *peer, double seconds, uint64_t most_body,
                           mica_frame *frame) {
    const mica_door_bounds *limits = &peer->door->limits;
    mica_socket s = io_socket_of(peer);
    uint8_t head[HEAD];
    size_t got;
    if (most_body > limits->body) most_body = limits->body;
    MICA_TRY(mica_socket_await(&s, seconds < 0 ? -1 : mica_clock_seconds() + seconds));
    double start = mica_clock_seconds();
    MICA_TRY(mica_socket_read(&s, head, HEAD, deadline_of(limits, start, 0), &got));
    if (got == 0) return MICA_ERROR(MICA_OUT_OF_RANGE, "[peer] it ended the connection");
    if (memcmp(head, "MICA", got < 4 ? got : 4) != 0)
        return MICA_ERROR(MICA_DATA_LOSS, "[peer] it does not begin like a frame");
    if (got < HEAD) return ended();
    uint64_t n_header = io_read_u32(head + 4);
    uint64_t n_body = io_read_u32(head + 8) | (uint64_t)io_read_u32(head + 12) << 32;
    if (n_header > limits->header || n_body > most_body)
        return MICA_ERROR(MICA_DATA_LOSS,
                          "[peer] a frame of %llu and %llu bytes is too long: at most %llu and "
                          "%llu",
                          (unsigned long long)n_header, (unsigned long long)n_body,
                          (unsigned long long)limits->header, (unsigned long long)most_body);
    double deadline = deadline_of(limits, start, n_header + n_body);
    MICA_TRY(take(&s, n_header, deadline, &frame->header));
    MICA_TRY(measure(limits, frame->header, (size_t)n_header));
    MICA_TRY(take(&s, n_body, deadline, &frame->body));
    frame->n_header = (size_t)n_header;
    frame->n_body = (size_t)n_body;
    return NULL;
}

mica_status mica_peer_receive(const mica_peer *peer, double seconds, uint64_t most_body,
                              mica_frame *out_frame) {
    MICA_GIVEN(peer, out_frame);
    MICA_GIVEN(peer->door);
    *out_frame = (mica_frame){0};
    mica_status status = receive(peer, seconds, most_body, out_frame);
    if (!status) return NULL;
    mica_free(out_frame->header);
    mica_free(out_frame->body);
    *out_frame = (mica_frame){0};
    return status;
}

/* ---- sending ----------------------------------------------------------------------------------*/

static void put_number(uint8_t *bytes, uint64_t value, int n) {
    for (int i = 0; i < n; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

mica_status mica_peer_send(const mica_peer *peer, const void *header, size_t n_header,
                           const void *const *parts, const size_t *sizes, int32_t n_parts) {
    MICA_GIVEN(peer, MICA_MANY(header, n_header), MICA_MANY(parts, n_parts),
               MICA_MANY(sizes, n_parts));
    MICA_GIVEN(peer->door);
    const mica_door_bounds *limits = &peer->door->limits;
    mica_socket s = io_socket_of(peer);
    uint8_t head[HEAD] = "MICA";
    uint64_t n_body = 0;
    bool is_long = n_header > limits->header;
    for (int32_t i = 0; i < n_parts && !is_long; i++) {
        is_long = sizes[i] > limits->body - n_body;
        n_body += sizes[i];
    }
    if (is_long)
        return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                          "[peer] a message of %zu and more than %llu bytes is too long to be sent",
                          n_header, (unsigned long long)limits->body);
    put_number(head + 4, n_header, 4);
    put_number(head + 8, n_body, 8);
    double deadline = deadline_of(limits, mica_clock_seconds(), n_header + n_body);
    MICA_TRY(mica_socket_write(&s, head, HEAD, deadline));
    MICA_TRY(mica_socket_write(&s, header, n_header, deadline));
    for (int32_t i = 0; i < n_parts; i++)
        MICA_TRY(mica_socket_write(&s, parts[i], sizes[i], deadline));
    return NULL;
}
