/* Pictures and sound: what was written is read, and each allocation may fail. The files are those
 * of the fuzzer's corpus, behind a byte of options. */
#include "base/platform.h"
#include "mica/mica.h"
#include "test.h"

static const char *const files[] = {"png_palette", "png_wide",       "jpeg",     "jpeg_printed",
                                    "gif_frames",  "gif_interlaced", "bmp_alpha"};
enum { FILES = sizeof files / sizeof *files, MOST = 200 };

static bool is_unsupported(mica_status status) {
    return status && mica_status_code(status) == MICA_UNSUPPORTED;
}

static mica_status read_and_free(const uint8_t *bytes, size_t size) {
    mica_picture picture;
    MICA_TRY(mica_picture_read(bytes, size, NULL, &picture));
    CHECK(picture.frames > 0 && picture.height > 0 && picture.width > 0 && picture.channels > 0);
    mica_bytes_free(picture.pixels);
    return NULL;
}

TEST(reading_a_picture_survives_each_allocation_that_fails) {
    for (int i = 0; i < FILES; i++) {
        char path[300];
        uint8_t *bytes;
        size_t size;
        snprintf(path, sizeof path, "tests/fuzz/corpus/read_pictures/%s", files[i]);
        CHECK_OK(mica_file_read(path, &bytes, &size));
        mica_status status = read_and_free(bytes + 1, size - 1); /* the library is there from now */
        bool is_missing = is_unsupported(status);
        mica_status_release(status);
        int64_t blocks = mica_memory_live_blocks();
        for (int n = 1; n < MOST && !is_missing; n++) {
            mica_memory_fail_nth(n, false);
            status = read_and_free(bytes + 1, size - 1);
            mica_memory_fail_nth(0, false);
            bool is_done = !status;
            mica_status_release(status);
            CHECK(mica_memory_live_blocks() == blocks);
            if (is_done) break;
            CHECK(n + 1 < MOST);
        }
        mica_free(bytes);
    }
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

typedef mica_status (*writer)(uint8_t **out_bytes, size_t *out_size);

static uint8_t pixels[4 * 5 * 3];

static mica_picture the_picture(void) {
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
    return (mica_picture){sizeof(mica_picture), 1, 4, 5, 3, MICA_DTYPE_u8, pixels};
}

static mica_status write_png(uint8_t **out_bytes, size_t *out_size) {
    mica_picture picture = the_picture();
    return mica_picture_write_png(&picture, 6, out_bytes, out_size);
}

static mica_status write_jpeg(uint8_t **out_bytes, size_t *out_size) {
    mica_picture picture = the_picture();
    mica_jpeg_options options = {.size = sizeof options,
                                 .quality = 90,
                                 .is_progressive = true,
                                 .metadata = "<x/>",
                                 .metadata_size = 4};
    return mica_picture_write_jpeg(&picture, &options, out_bytes, out_size);
}

static mica_status write_wav(uint8_t **out_bytes, size_t *out_size) {
    float values[6] = {0, 0.5f, -0.5f, 1, -1, 0.25f};
    mica_sound sound = {sizeof sound, 3, 2, 8000, values};
    return mica_sound_write(&sound, out_bytes, out_size);
}

TEST(writing_survives_each_allocation_that_fails) {
    static const writer writers[] = {write_png, write_jpeg, write_wav};
    for (int i = 0; i < 3; i++) {
        uint8_t *bytes = NULL;
        size_t size;
        mica_status status = writers[i](&bytes, &size);
        bool is_missing = is_unsupported(status);
        mica_status_release(status);
        mica_bytes_free(bytes);
        int64_t blocks = mica_memory_live_blocks();
        for (int n = 1; n < MOST && !is_missing; n++) {
            mica_memory_fail_nth(n, false);
            status = writers[i](&bytes, &size);
            mica_memory_fail_nth(0, false);
            bool is_done = !status;
            if (is_done) mica_bytes_free(bytes);
            mica_status_release(status);
            CHECK(mica_memory_live_blocks() == blocks);
            if (is_done) break;
            CHECK(n + 1 < MOST);
        }
    }
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(a_png_comes_back_as_it_was) {
    uint8_t *bytes = NULL;
    size_t size;
    mica_picture copy;
    mica_status status = write_png(&bytes, &size);
    if (!is_unsupported(status)) {
        CHECK(!status);
        CHECK_OK(mica_picture_read(bytes, size, NULL, &copy));
        CHECK(copy.height == 4 && copy.width == 5 && copy.channels == 3);
        CHECK(!memcmp(copy.pixels, pixels, sizeof pixels));
        mica_bytes_free(copy.pixels);
        mica_bytes_free(bytes);
    }
    mica_status_release(status);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(sound_comes_back_as_it_was) {
    uint8_t *bytes;
    size_t size;
    mica_sound sound;
    CHECK_OK(write_wav(&bytes, &size));
    CHECK_OK(mica_sound_read(bytes, size, 1, 5, &sound));
    CHECK(sound.samples == 5 && sound.channels == 1 && sound.rate == 8000);
    CHECK(sound.values[1] == -0.5f && sound.values[2] == -1 && sound.values[3] == 0);
    mica_bytes_free((uint8_t *)sound.values);
    mica_bytes_free(bytes);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}
