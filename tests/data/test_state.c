/* States of iterators: taken, given back, and refused where they are no state of such a dataset. */
#include "base/hash.h"
#include "mica/data.h"

#include "test.h"

static mica_dataset *range(int64_t stop) {
    mica_dataset *dataset = NULL;
    CHECK_OK(mica_dataset_range(0, stop, 1, MICA_TF_int64, &dataset));
    return dataset;
}

/* Takes the input. */
static mica_dataset *then(mica_dataset *input, mica_status status, mica_dataset **made) {
    CHECK_OK(status);
    mica_dataset_release(input);
    return *made;
}

/* Every class that has a state of its own and needs no function. */
static mica_dataset *pipeline(void) {
    mica_dataset *d = range(40), *made = NULL;
    d = then(d, mica_dataset_skip(d, 2, &made), &made);
    d = then(d, mica_dataset_shard(d, 2, 1, &made), &made);
    d = then(d, mica_dataset_shuffle(d, 5, 7, 8, true, &made), &made);
    d = then(d, mica_dataset_repeat(d, 3, &made), &made);
    d = then(d, mica_dataset_batch(d, 4, false, &made), &made);
    d = then(d, mica_dataset_unbatch(d, &made), &made);
    d = then(d, mica_dataset_unique(d, &made), &made);
    d = then(d, mica_dataset_cache(d, &made), &made);
    mica_dataset *both[2] = {d, range(30)};
    CHECK_OK(mica_dataset_zip(both, 2, &made));
    mica_dataset_release(both[0]);
    mica_dataset_release(both[1]);
    d = made;
    d = then(d, mica_dataset_prefetch(d, 3, &made), &made);
    return then(d, mica_dataset_take(d, 25, &made), &made);
}

/* The sum of first components of what is left, and how many there are. */
static int64_t drain(mica_iterator *it, int64_t *out_n) {
    int64_t sum = 0;
    *out_n = 0;
    for (bool end = false; !end && *out_n < 100;) {
        mica_tf_value values[2] = {{0}, {0}};
        int64_t number = 0;
        mica_status status = mica_iterator_next(it, values, 2, &end);
        if (!test_ok(status, __FILE__, __LINE__, "next") || end) break;
        CHECK_OK(mica_tensor_to_host(values[0].object, &number, sizeof number));
        mica_tf_value_release(values[0]);
        mica_tf_value_release(values[1]);
        sum += number * ++*out_n;
    }
    return sum;
}

static mica_tf_value state_after(mica_dataset *dataset, int64_t n, int64_t *out_sum,
                                 int64_t *out_left) {
    mica_iterator *it = NULL;
    mica_tf_value state = {0};
    bool end = false;
    CHECK_OK(mica_iterator_create(dataset, NULL, &it));
    for (int64_t i = 0; i < n && !end; i++) {
        mica_tf_value values[2] = {{0}, {0}};
        CHECK_OK(mica_iterator_next(it, values, 2, &end));
        for (int k = 0; k < 2; k++)
            if (values[k].object) mica_tf_value_release(values[k]);
    }
    CHECK_OK(mica_iterator_save(it, &state));
    *out_sum = drain(it, out_left);
    mica_iterator_release(it);
    return state;
}

TEST(an_iterator_goes_on_where_its_state_was_taken) {
    for (int64_t n = 0; n < 27; n += 3) {
        mica_dataset *dataset = pipeline(), *again = pipeline();
        mica_iterator *it = NULL;
        int64_t sum, left, given;
        mica_tf_value state = state_after(dataset, n, &sum, &left);
        CHECK_OK(mica_iterator_restore(again, NULL, state, &it));
        if (it) CHECK(drain(it, &given) == sum && given == left);
        mica_iterator_release(it);
        mica_tf_value_release(state);
        mica_dataset_release(dataset);
        mica_dataset_release(again);
    }
}

/* The sum at the end of a state is that of the bytes before it. */
static void set_sum(uint8_t *bytes, size_t n) {
    uint64_t sum = mica_hash_bytes(MICA_HASH_SEED, bytes, n - 8);
    for (int i = 0; i < 8; i++) bytes[n - 8 + (size_t)i] = (uint8_t)(sum >> 8 * i);
}

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Such a state is refused, or is one of another place: it never does any harm. */
static void try_state(mica_dataset *dataset, const uint8_t *bytes, size_t n) {
    const char *text = (const char *)bytes;
    mica_tf_value state = {0};
    mica_iterator *it = NULL;
    CHECK_OK(mica_tf_strings_create(MICA_NO_INTS, &text, &n, &state));
    mica_status status = mica_iterator_restore(dataset, NULL, state, &it);
    CHECK((it == NULL) == (status != NULL));
    for (int i = 0; it && !status && i < 60; i++) {
        mica_tf_value values[2] = {{0}, {0}};
        bool end = false;
        status = mica_iterator_next(it, values, 2, &end);
        for (int k = 0; k < 2; k++)
            if (values[k].object) mica_tf_value_release(values[k]);
        if (end) break;
    }
    mica_status_release(status);
    mica_iterator_release(it);
    mica_tf_value_release(state);
}

TEST(a_hostile_state_with_the_right_sum_does_no_harm) {
    static const uint64_t words[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 255, 65536};
    mica_dataset *dataset = pipeline();
    int64_t sum, left;
    uint64_t seed = 11;
    mica_tf_value state = state_after(dataset, 9, &sum, &left);
    size_t n;
    const char *text = mica_tf_strings_get(state, 0, &n);
    uint8_t *bytes = malloc(n + 8);
    REQUIRE(bytes != NULL);
    for (size_t at = 16; at + 16 < n; at += 8) {
        memcpy(bytes, text, n);
        uint64_t word = words[draw(&seed) % 7];
        memcpy(bytes + at, &word, sizeof word);
        set_sum(bytes, n);
        try_state(dataset, bytes, n);
    }
    for (int i = 0; i < 300; i++) {
        memcpy(bytes, text, n);
        for (uint64_t k = 0; k < 1 + draw(&seed) % 4; k++)
            bytes[16 + draw(&seed) % (n - 24)] = (uint8_t)draw(&seed);
        size_t cut = draw(&seed) % 4 ? n : 24 + draw(&seed) % (n - 24);
        set_sum(bytes, cut);
        try_state(dataset, bytes, cut);
    }
    free(bytes);
    mica_tf_value_release(state);
    mica_dataset_release(dataset);
}

TEST(what_is_no_state_is_refused) {
    mica_dataset *dataset = range(3);
    mica_iterator *it = NULL;
    int64_t sum, left;
    mica_dataset *other = pipeline();
    mica_tf_value state = state_after(other, 1, &sum, &left), text = {0};
    CHECK_FAILS(mica_iterator_restore(dataset, NULL, state, &it), MICA_DATA_LOSS,
                "TakeDataset where the pipeline has a RangeDataset");
    const char *nothing = "";
    size_t length = 0;
    CHECK_OK(mica_tf_strings_create(MICA_NO_INTS, &nothing, &length, &text));
    CHECK_FAILS(mica_iterator_restore(dataset, NULL, text, &it), MICA_DATA_LOSS, "not the state");
    CHECK(it == NULL);
    mica_tf_value_release(text);
    mica_tf_value_release(state);
    mica_dataset_release(other);
    mica_dataset_release(dataset);
}
