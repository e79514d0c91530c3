/* WAV files. The first byte says how many channels and samples are asked for; 15: those of the
 * file. */
#include "fuzz/reader.h"
#include "mica/media.h"

static int64_t count(int bits) {
    return bits == 15 ? -1 : bits;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    if (size < 1) return 0;
    mica_sound sound;
    mica_status status =
        mica_sound_read(bytes + 1, size - 1, count(bytes[0] & 15), count(bytes[0] >> 4), &sound);
    float sum = 0;
    if (!status) {
        for (int64_t i = 0; i < sound.samples * sound.channels; i++) sum += sound.values[i];
        read_check(sum == sum);
        mica_bytes_free((uint8_t *)sound.values);
    }
    mica_status_release(status);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
