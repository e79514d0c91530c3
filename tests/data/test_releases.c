/* Iterators that are released, or asked for an element, by a function of their own pipeline. */
#include "base/platform.h"
#include "mica/data.h"
#include "test.h"

/* A function of the host language that calls back, as PyFunc calls Python. */
typedef struct callback {
    mica_mutex lock;
    mica_condition changed;
    mica_iterator *released; /* by the next call, once there is one */
    mica_iterator *asked;    /* for an element, by the next call */
    mica_code answer;        /* that the asked one gave */
    int waits_at;            /* this call waits until there is something to do */
    bool finished;           /* it was done */
    int calls;
} callback;

static mica_status call_back(void *context, int64_t function, const mica_tf_value *inputs,
                             int32_t n_inputs, mica_tf_value *outputs, int32_t n_outputs) {
    callback *c = context;
    (void)function, (void)n_inputs, (void)n_outputs;
    mica_mutex_lock(&c->lock);
    c->calls++;
    mica_condition_broadcast(&c->changed);
    while (c->calls == c->waits_at && !c->released && !c->asked)
        mica_condition_wait(&c->changed, &c->lock);
    mica_iterator *released = c->released, *asked = c->asked;
    c->released = c->asked = NULL;
    mica_mutex_unlock(&c->lock);
    mica_iterator_release(released);
    if (asked) {
        mica_tf_value value = {0};
        bool end = false;
        mica_status status = mica_iterator_next(asked, &value, 1, &end);
        c->answer = status ? mica_status_code(status) : MICA_OK;
        mica_status_release(status);
        if (value.object) mica_tf_value_release(value);
    }
    if (released || asked) {
        mica_mutex_lock(&c->lock);
        c->finished = true;
        mica_condition_broadcast(&c->changed);
        mica_mutex_unlock(&c->lock);
    }
    outputs[0] = inputs[0];
    mica_tf_value_retain(inputs[0]);
    return NULL;
}

/* 0, 1, 2, ... for ever, each through the callback. */
static mica_dataset *called_back(void) {
    mica_dataset *numbers = NULL, *mapped = NULL;
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref x, y;
    int64_t dtype = MICA_TF_int64;
    mica_tf_attr attrs[3] = {
        {.as.integer = 1}, {.n = 1, .as.ints = &dtype}, {.n = 1, .as.ints = &dtype}};
    CHECK_OK(mica_dataset_range(0, INT64_MAX, 1, MICA_TF_int64, &numbers));
    CHECK_OK(mica_tf_graph_create("called", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_PyFunc, attrs, &x, 1, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    CHECK_OK(mica_dataset_map(numbers, &(mica_dataset_function){.graph = g}, &mapped));
    mica_tf_graph_release(g);
    mica_dataset_release(numbers);
    return mapped;
}

static mica_dataset *ahead_of(mica_dataset *input) {
    mica_dataset *ahead = NULL;
    CHECK_OK(mica_dataset_prefetch(input, 2, &ahead));
    mica_dataset_release(input);
    return ahead;
}

static void pull_one(mica_iterator *it) {
    mica_tf_value value = {0};
    bool end = false;
    CHECK_OK(mica_iterator_next(it, &value, 1, &end));
    if (value.object) mica_tf_value_release(value);
}

/* An iterator after its first element, whose pipeline waits in the third call of the function:
 * a queue of two has room for it then. */
static mica_iterator *stopped_inside(mica_dataset *dataset, callback *c) {
    mica_iterator *it = NULL;
    c->waits_at = 3;
    mica_tf_set_host_call(call_back, c);
    CHECK_OK(mica_iterator_create(dataset, NULL, &it));
    pull_one(it);
    mica_mutex_lock(&c->lock);
    while (c->calls < 3) mica_condition_wait(&c->changed, &c->lock);
    mica_mutex_unlock(&c->lock);
    return it;
}

/* The waiting call releases the iterator. */
static void release_inside(mica_iterator *it, callback *c) {
    mica_mutex_lock(&c->lock);
    c->released = it;
    mica_condition_broadcast(&c->changed);
    while (!c->finished) mica_condition_wait(&c->changed, &c->lock);
    mica_mutex_unlock(&c->lock);
    mica_shutdown(); /* waits for what was left */
    mica_tf_set_host_call(NULL, NULL);
}

/* The iterator is released by the thread that makes its elements, while it makes one. */
static void check_released_inside(mica_dataset *dataset) {
    callback c = {0};
    mica_iterator *it = stopped_inside(dataset, &c);
    mica_dataset_release(dataset);
    release_inside(it, &c);
    CHECK(c.finished);
}

TEST(a_thread_that_releases_the_iterator_it_works_for_goes_on_and_ends) {
    check_released_inside(ahead_of(called_back()));
}

TEST(a_thread_behind_another_may_release_the_iterator_of_both) {
    check_released_inside(ahead_of(ahead_of(called_back())));
}

static void check_asked_inside(mica_dataset *dataset) {
    callback c = {0};
    mica_iterator *it = NULL;
    mica_tf_set_host_call(call_back, &c);
    CHECK_OK(mica_iterator_create(dataset, NULL, &it));
    c.asked = it;
    pull_one(it);
    mica_iterator_release(it);
    mica_dataset_release(dataset);
    mica_shutdown();
    CHECK(c.calls > 0);
    CHECK(c.answer == MICA_FAILED_PRECONDITION);
    mica_tf_set_host_call(NULL, NULL);
}

TEST(an_iterator_that_is_asked_by_its_own_pipeline_says_so) {
    check_asked_inside(called_back());
    check_asked_inside(ahead_of(called_back()));
}

TEST(a_release_does_not_wait_for_a_function_that_does_not_return) {
    callback c = {0};
    mica_iterator *other = NULL;
    mica_dataset *dataset = ahead_of(called_back());
    mica_iterator *it = stopped_inside(dataset, &c);
    CHECK_OK(mica_iterator_create(dataset, NULL, &other));
    mica_dataset_release(dataset);
    mica_iterator_release(it); /* while its thread waits in the callback */
    CHECK(!c.finished);
    release_inside(other, &c);
}
