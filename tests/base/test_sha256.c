#include "base/sha256.h"

#include "base/hmac.h"
#include "test.h"

static void check_digest(const void *bytes, size_t n, size_t piece, const char *expected) {
    mica_sha256 sum;
    uint8_t digest[MICA_SHA256_BYTES];
    char text[2 * MICA_SHA256_BYTES + 1];
    mica_sha256_init(&sum);
    for (size_t at = 0; at < n; at += piece)
        mica_sha256_add(&sum, (const char *)bytes + at, n - at < piece ? n - at : piece);
    mica_sha256_finish(&sum, digest);
    for (int i = 0; i < MICA_SHA256_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    CHECK(!strcmp(text, expected));
}

static void check_proof(const void *key, size_t n_key, const void *bytes, size_t n,
                        const char *expected) {
    mica_hmac mac;
    uint8_t digest[MICA_SHA256_BYTES];
    char text[2 * MICA_SHA256_BYTES + 1];
    mica_hmac_init(&mac, key, n_key);
    mica_hmac_add(&mac, bytes, n / 2);
    mica_hmac_add(&mac, (const char *)bytes + n / 2, n - n / 2);
    mica_hmac_finish(&mac, digest);
    for (int i = 0; i < MICA_SHA256_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    CHECK(!strcmp(text, expected));
}

/* The standard's own examples, and lengths around a block's end. */
TEST(digests_are_those_of_the_standard) {
    static char many[1000000];
    memset(many, 'a', sizeof many);
    check_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 56,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    for (size_t piece = 1; piece < 200; piece += 66)
        check_digest(many, sizeof many, piece,
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_digest(many, 55, 7, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    check_digest(many, 56, 7, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    check_digest(many, 63, 7, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
    check_digest(many, 64, 7, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    check_digest(many, 65, 7, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
    check_digest(many, 119, 7, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
    check_digest(many, 120, 7, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c");
}

/* RFC 4231, test cases 1, 2, 3 and 6. */
TEST(proofs_are_those_of_the_standard) {
    uint8_t ones[131], fives[50];
    memset(ones, 0x0b, 20);
    check_proof(ones, 20, "Hi There", 8,
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_proof("Jefe", 4, "what do ya want for nothing?", 28,
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(ones, 0xaa, sizeof ones);
    memset(fives, 0xdd, sizeof fives);
    check_proof(ones, 20, fives, 50,
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    check_proof(ones, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(secrets_are_compared_whole) {
    const uint8_t a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 5}, c[4] = {0, 2, 3, 4};
    CHECK(mica_secret_equal(a, a, 4) && mica_secret_equal(a, b, 3) && mica_secret_equal(a, b, 0));
    CHECK(!mica_secret_equal(a, b, 4) && !mica_secret_equal(a, c, 4));
}

TEST(strings_keep_their_boundaries) {
    uint8_t digests[2][MICA_SHA256_BYTES];
    static const char *const parts[2][2] = {{"ab", "c"}, {"a", "bc"}};
    for (int i = 0; i < 2; i++) {
        mica_sha256 sum;
        mica_sha256_init(&sum);
        for (int k = 0; k < 2; k++) mica_sha256_add_string(&sum, parts[i][k]);
        mica_sha256_finish(&sum, digests[i]);
    }
    CHECK(memcmp(digests[0], digests[1], sizeof digests[0]) != 0);
}
