/* Files of pictures. The first byte says with which options the rest is read, in bits: gray, alpha,
 * 16 bits, recovery of truncated files, a window, the first frame alone. */
#include "fuzz/reader.h"
#include "mica/media.h"

static uint64_t sum_of(const mica_picture *p) {
    size_t size = p->dtype == MICA_DTYPE_u16 ? 2 : 1;
    size_t n = (size_t)(p->frames * p->height * p->width * p->channels);
    uint64_t sum = 0;
    for (size_t i = 0; i < n * size; i++) sum += ((const uint8_t *)p->pixels)[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    if (size < 1) return 0;
    mica_picture_options options = {.size = sizeof options,
                                    .channels = bytes[0] & 1   ? 1
                                                : bytes[0] & 2 ? 4
                                                               : 0,
                                    .dtype = bytes[0] & 4 ? MICA_DTYPE_u16 : MICA_DTYPE_u8,
                                    .recovers = bytes[0] & 8,
                                    .missing = bytes[0] & 16 ? 1 : 0,
                                    .has_window = bytes[0] & 32,
                                    .window = {1, 1, 2, 3},
                                    .only_first = bytes[0] & 64,
                                    .is_accurate = bytes[0] & 64,
                                    .ratio = bytes[0] & 128 ? 2 : 1};
    mica_picture picture;
    mica_status status = mica_picture_read(bytes + 1, size - 1, &options, &picture);
    if (!status) {
        read_check(picture.frames > 0 && picture.height > 0 && picture.width > 0);
        read_check(picture.channels > 0 && sum_of(&picture) < UINT64_MAX);
        mica_bytes_free(picture.pixels);
    }
    mica_status_release(status);
    mica_status_release(mica_picture_measure(bytes + 1, size - 1, &picture));
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
