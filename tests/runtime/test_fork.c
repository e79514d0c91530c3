/* A child forked after use is told so, and nothing in it hangs. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_test.h"

static int in_child(mica_device *device, mica_executable *exe, mica_tensor *x, mica_event *event) {
    alarm(20); /* a hang is a failure */
    mica_tensor *y = NULL;
    mica_device *again = NULL;
    mica_graph *g = NULL;
    float data[4];
    int wrong = 0;
    mica_status statuses[] = {
        run(exe, &x, 1, NULL, &y, 1),
        mica_device_open("cpu", &again),
        mica_eager(device, MICA_OP_neg, &x, 1, NULL, &y),
        mica_tensor_to_host(x, data, sizeof data),
        mica_device_wait(device),
        mica_set_threads(2),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (mica_status_code(statuses[i]) != MICA_FAILED_PRECONDITION ||
            !strstr(mica_status_message(statuses[i]), "the process was forked after Mica was used"))
            wrong |= 1 << i;
        mica_status_release(statuses[i]);
    }
    mica_status_release(mica_event_wait(event));
    mica_status_release(mica_graph_create("graphs still work", &g));
    mica_graph_release(g);
    mica_event_release(event);
    mica_tensor_release(x);
    mica_executable_release(exe);
    mica_device_release(device);
    mica_shutdown();
    return wrong;
}

TEST(a_forked_child_is_told_and_does_not_hang) {
    static const char *const devices[] = {"cpu", "fake", "ref"};
    for (int d = 0; d < 3; d++) {
        mica_device *device = open_device(devices[d]);
        mica_graph *g = new_graph("large");
        enum { N = 200000 };
        mica_type type = vector(N);
        mica_value v = mica_parameter(g, &type);
        for (int i = 0; i < 10; i++) v = mica_add(g, v, v);
        mica_output(g, v);
        mica_executable *exe = compile(device, g, NULL);
        mica_graph_release(g);
        static float data[N];
        mica_tensor *x = floats(device, data, N), *y = NULL;
        mica_event *done = NULL;
        mica_run_args args = {
            .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
        REQUIRE_OK(mica_executable_run(exe, &args, &done)); /* under way while forking */
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int wrong = in_child(device, exe, x, done);
            /* What threads of the parent held is lost here: a new program is not asked for it. */
            if (!wrong) execlp("true", "true", (char *)NULL);
            _exit(wrong);
        }
        REQUIRE(child > 0);
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
        CHECK_OK(mica_event_wait(done)); /* the parent goes on */
        CHECK_OK(mica_tensor_to_host(y, data, sizeof data));
        mica_event_release(done);
        mica_tensor_release(x);
        mica_tensor_release(y);
        mica_executable_release(exe);
        mica_device_release(device);
    }
}
