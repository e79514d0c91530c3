/* The example's readers of gzip and of MNIST's format, on good and on hostile files. */
#include <unistd.h>

#include "../../examples/mnist_data.h"
#include "test.h"

/* "hello hello hello hello\n", packed by gzip with a fixed block. */
static const uint8_t hello[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0xb9,
                                0x00, 0x00, 0x88, 0x59, 0x0b, 0x18, 0x00, 0x00, 0x00};

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    CHECK(fwrite(bytes, 1, n, file) == n);
    fclose(file);
}

static void write_pair(const char *directory, const void *images, size_t n_images,
                       const void *labels, size_t n_labels) {
    char path[256];
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", directory);
    write_file(path, images, n_images);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", directory);
    write_file(path, labels, n_labels);
}

static void remove_pair(const char *directory) {
    char path[256];
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", directory);
    remove(path);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", directory);
    remove(path);
    rmdir(directory);
}

static const uint8_t two_images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6};
static const uint8_t two_labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 0, 4};

TEST(gzip_gives_back_what_was_packed) {
    int64_t n = 0;
    uint8_t *unpacked = gzip_unpack(hello, sizeof hello, &n);
    REQUIRE(unpacked != NULL && n == 24);
    CHECK(memcmp(unpacked, "hello hello hello hello\n", 24) == 0);
    free(unpacked);
}

TEST(gzip_with_a_bad_length_at_its_end_is_refused) {
    uint8_t copy[sizeof hello];
    int64_t n = 0;
    memcpy(copy, hello, sizeof hello);
    copy[sizeof copy - 4] ^= 1;
    CHECK(gzip_unpack(copy, sizeof copy, &n) == NULL);
}

TEST(gzip_cut_short_anywhere_is_refused) {
    int64_t n = 0;
    for (int64_t length = 0; length < (int64_t)sizeof hello; length++) {
        uint8_t *cut = malloc((size_t)length + 1);
        REQUIRE(cut != NULL);
        memcpy(cut, hello, (size_t)length);
        uint8_t *unpacked = gzip_unpack(cut, length, &n);
        CHECK(unpacked == NULL);
        free(unpacked);
        free(cut);
    }
}

TEST(gzip_with_any_bit_changed_is_refused_or_gives_the_same) {
    for (size_t at = 0; at < sizeof hello; at++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t copy[sizeof hello];
            int64_t n = 0;
            memcpy(copy, hello, sizeof hello);
            copy[at] ^= (uint8_t)(1 << bit);
            uint8_t *unpacked = gzip_unpack(copy, sizeof copy, &n);
            CHECK(unpacked == NULL ||
                  (n == 24 && memcmp(unpacked, "hello hello hello hello\n", 24) == 0));
            free(unpacked);
        }
}

TEST(a_small_set_is_read_with_its_sizes_and_classes) {
    char directory[] = "/tmp/mica_mnist_XXXXXX", message[300];
    REQUIRE(mkdtemp(directory) != NULL);
    write_pair(directory, two_images, sizeof two_images, two_labels, sizeof two_labels);
    mnist_set set;
    CHECK(mnist_set_load(directory, "train", &set, message, sizeof message));
    CHECK(set.n == 2 && set.rows == 1 && set.columns == 2 && set.classes == 5);
    CHECK(set.images[0] == 9 && set.images[3] == 6 && set.labels[1] == 4);
    mnist_set_free(&set);
    remove_pair(directory);
}

TEST(sets_that_do_not_fit_together_are_refused_with_a_message) {
    char directory[] = "/tmp/mica_mnist_XXXXXX", message[300] = "";
    REQUIRE(mkdtemp(directory) != NULL);
    const uint8_t three_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 0, 4, 1};
    mnist_set set;
    write_pair(directory, two_images, sizeof two_images, three_labels, sizeof three_labels);
    CHECK(!mnist_set_load(directory, "train", &set, message, sizeof message));
    CHECK(strstr(message, "MNIST's format") != NULL);
    for (size_t length = 0; length < sizeof two_images; length++) {
        write_pair(directory, two_images, length, two_labels, sizeof two_labels);
        CHECK(!mnist_set_load(directory, "train", &set, message, sizeof message));
    }
    remove_pair(directory);
    CHECK(!mnist_set_load(directory, "train", &set, message, sizeof message));
    CHECK(strstr(message, "cannot read") != NULL);
}

TEST(the_digits_that_come_with_the_project_are_read) {
    char message[300];
    mnist_set set;
    REQUIRE(mnist_set_load("data/mnist", "t10k", &set, message, sizeof message));
    CHECK(set.n == 10000 && set.rows == 28 && set.columns == 28 && set.classes == 10);
    int64_t sum = 0;
    for (int64_t i = 0; i < set.n * 28 * 28; i++) sum += set.images[i];
    CHECK(sum == 264923200);
    mnist_set_free(&set);
}
