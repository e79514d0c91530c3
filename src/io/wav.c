/* WAV: RIFF files of chunks, of which "fmt " says how the numbers of "data" are stored. Samples of
 * 16 bits are read and written; other chunks are passed over. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/pictures.h"

enum { PLAIN = 1, EXTENSIBLE = 0xfffe, HEADER = 44, MOST_SAMPLES = 1 << 28 };

typedef struct wav {
    io_bytes file;
    size_t at;
    int64_t channels, rate;
    const uint8_t *data; /* NULL: not found yet */
    int64_t samples;
} wav;

static mica_status take(wav *w, size_t n, const char *what, const uint8_t **out) {
    if (w->file.size - w->at < n)
        return MICA_INVALID("[wav] Data too short when trying to read %s: %zu bytes at offset %zu "
                            "of %zu",
                            what, n, w->at, w->file.size);
    *out = w->file.data + w->at;
    w->at += n;
    return NULL;
}

static mica_status expect(wav *w, const char *text) {
    const uint8_t *bytes = NULL;
    MICA_TRY(take(w, strlen(text), text, &bytes));
    if (!memcmp(bytes, text, strlen(text))) return NULL;
    return MICA_INVALID("[wav] Header mismatch: Expected %s but found %.4s", text,
                        (const char *)bytes);
}

static mica_status read_format(wav *w) {
    const uint8_t *f = NULL;
    MICA_TRY(expect(w, "fmt "));
    MICA_TRY(take(w, 20, "the format", &f));
    uint32_t size = io_little_u32(f), kind = io_little_u16(f + 4), bytes = io_little_u16(f + 16);
    uint32_t bits = io_little_u16(f + 18), rate = io_little_u32(f + 8);
    if (size != 16 && size != 18 && size != 40)
        return MICA_INVALID(
            "[wav] Bad format chunk size for WAV: Expected 16, 18 or 40, but got %u", size);
    if (kind != PLAIN && kind != EXTENSIBLE)
        return MICA_INVALID("[wav] Bad audio format for WAV: Expected 1 (PCM), but got %u", kind);
    w->channels = io_little_u16(f + 6);
    w->rate = rate;
    if (w->channels < 1) return MICA_INVALID("[wav] Bad number of channels for WAV: 0");
    if (bits != 16)
        return MICA_INVALID("[wav] Can only read 16-bit WAV files, but received %u", bits);
    if (bytes != 2 * w->channels)
        return MICA_INVALID("[wav] Bad bytes per sample in WAV header: Expected %lld but got %u",
                            (long long)(2 * w->channels), bytes);
    if (io_little_u32(f + 12) != (uint32_t)(bytes * (uint64_t)rate))
        return MICA_INVALID("[wav] Bad bytes per second in WAV header: Expected %llu but got %u",
                            (unsigned long long)(bytes * (uint64_t)rate), io_little_u32(f + 12));
    return take(w, size - 16, "the rest of the format", &f);
}

static mica_status read_chunk(wav *w) {
    const uint8_t *name = NULL, *body = NULL;
    MICA_TRY(take(w, 8, "a chunk", &name));
    uint32_t size = io_little_u32(name + 4);
    if (size > INT32_MAX) return MICA_INVALID("[wav] a chunk of %u bytes is too large", size);
    bool is_data = !memcmp(name, "data", 4);
    if (is_data && w->data) return MICA_INVALID("[wav] More than one data chunk found in WAV");
    if (!is_data) return take(w, size, "a chunk", &body);
    w->samples = size / (2 * w->channels);
    MICA_TRY(take(w, (size_t)(w->samples * 2 * w->channels), "the samples", &body));
    w->data = body;
    return NULL;
}

static mica_status read_chunks(wav *w) {
    const uint8_t *size = NULL;
    MICA_TRY(expect(w, "RIFF"));
    MICA_TRY(take(w, 4, "the size", &size));
    MICA_TRY(expect(w, "WAVE"));
    MICA_TRY(read_format(w));
    while (w->at < w->file.size) MICA_TRY(read_chunk(w));
    return w->data ? NULL : MICA_INVALID("[wav] No data chunk found in WAV");
}

static float sample_at(const wav *w, int64_t i, int64_t channel) {
    if (channel >= w->channels) channel = w->channels - 1;
    const uint8_t *bytes = w->data + 2 * (i * w->channels + channel);
    return (float)(int16_t)io_little_u16(bytes) / 32768.0f;
}

mica_status mica_sound_read(const void *bytes, size_t size, int64_t channels, int64_t samples,
                            mica_sound *out) {
    MICA_GIVEN(MICA_MANY(bytes, size), out);
    wav w = {.file = {bytes, size}};
    *out = (mica_sound){.size = sizeof *out};
    MICA_TRY(read_chunks(&w));
    if (channels < 0) channels = w.channels;
    if (samples < 0) samples = w.samples;
    if (channels > MOST_SAMPLES || (channels > 0 && samples > MOST_SAMPLES / channels))
        return MICA_INVALID("[wav] %lld samples of %lld channels are too many", (long long)samples,
                            (long long)channels);
    out->samples = samples;
    out->channels = (int32_t)channels;
    out->rate = w.rate;
    out->values = mica_calloc((size_t)(samples * channels) + 1, sizeof *out->values);
    if (!out->values) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < samples && i < w.samples; i++)
        for (int64_t c = 0; c < channels; c++) out->values[i * channels + c] = sample_at(&w, i, c);
    return NULL;
}

/* Halves away from zero; NaN is 0. */
static int32_t number_of(float value) {
    if (isnan(value)) return 0;
    return (int32_t)fminf(fmaxf(roundf(value * 32768.0f), -32768.0f), 32767.0f);
}

static void put(uint8_t *to, uint32_t value, int n) {
    for (int i = 0; i < n; i++) to[i] = (uint8_t)(value >> 8 * i);
}

mica_status mica_sound_write(const mica_sound *sound, uint8_t **out_bytes, size_t *out_size) {
    MICA_GIVEN(sound, out_bytes, out_size);
    *out_bytes = NULL;
    *out_size = 0;
    if (sound->size < sizeof *sound) return MICA_INVALID("[wav] the size of the sound is not set");
    if (sound->channels < 1 || sound->channels > UINT16_MAX / 2)
        return MICA_INVALID("[wav] channels must be from 1 to 32767, not %d", sound->channels);
    if (sound->rate < 1 || sound->rate > UINT32_MAX / (2 * sound->channels))
        return MICA_INVALID("[wav] a sample rate of %lld does not fit", (long long)sound->rate);
    if (sound->samples < 0 || sound->samples > MOST_SAMPLES / sound->channels ||
        (sound->samples > 0 && !sound->values))
        return MICA_INVALID("[wav] %lld samples are not there, or too many",
                            (long long)sound->samples);
    uint32_t frame = (uint32_t)sound->channels * 2, rate = (uint32_t)sound->rate;
    uint32_t n = (uint32_t)sound->samples * frame;
    uint8_t *bytes = mica_alloc(HEADER + (size_t)n);
    if (!bytes) return MICA_NO_MEMORY();
    memcpy(bytes, "RIFF....WAVEfmt ", 16);
    put(bytes + 4, HEADER - 8 + n, 4);
    put(bytes + 16, 16, 4);
    put(bytes + 20, PLAIN, 2);
    put(bytes + 22, (uint32_t)sound->channels, 2);
    put(bytes + 24, rate, 4);
    put(bytes + 28, rate * frame, 4);
    put(bytes + 32, frame, 2);
    put(bytes + 34, 16, 2);
    memcpy(bytes + 36, "data", 4);
    put(bytes + 40, n, 4);
    for (uint32_t i = 0; i < n / 2; i++) {
        put(bytes + HEADER + 2 * (size_t)i, (uint32_t)number_of(sound->values[i]), 2);
    }
    *out_bytes = bytes;
    *out_size = HEADER + (size_t)n;
    return NULL;
}
