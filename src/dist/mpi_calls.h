/* dist/mpi_calls.h: included by one file per shape of MPI's handles, which defines
 *
 *     mpi_handle             the type of all handles
 *     MPI_ABI                the name of the table
 *     MPI_ABI_NAME           "Open MPI"
 *     find_handles(library)  fills in world, byte and errors_return; false: another kind of library
 *     NO_STATUS              MPI_STATUS_IGNORE
 */
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "dist/mpi_abi.h"

static struct {
    int (*initialized)(int *);
    int (*finalized)(int *);
    int (*init_thread)(int *, char ***, int, int *);
    int (*query_thread)(int *);
    int (*comm_dup)(mpi_handle, mpi_handle *);
    int (*comm_set_errhandler)(mpi_handle, mpi_handle);
    int (*comm_rank)(mpi_handle, int *);
    int (*comm_size)(mpi_handle, int *);
    int (*isend)(const void *, int, mpi_handle, int, int, mpi_handle, mpi_handle *);
    int (*irecv)(void *, int, mpi_handle, int, int, mpi_handle, mpi_handle *);
    int (*test)(mpi_handle *, int *, void *);
    int (*abort)(mpi_handle, int);
    int (*finalize)(void);
    int (*error_string)(int, char *, int *);
    int (*get_library_version)(char *, int *);
} mpi;

static const char *const symbols[] = {
    "MPI_Initialized",  "MPI_Finalized",    "MPI_Init_thread",
    "MPI_Query_thread", "MPI_Comm_dup",     "MPI_Comm_set_errhandler",
    "MPI_Comm_rank",    "MPI_Comm_size",    "MPI_Isend",
    "MPI_Irecv",        "MPI_Test",         "MPI_Abort",
    "MPI_Finalize",     "MPI_Error_string", "MPI_Get_library_version",
};

static mpi_handle world, byte, errors_return, own;
static mpi_handle *requests;
static int n_requests;

static bool find_handles(mica_library *library);

static bool load(mica_library *library) {
    enum { COUNT = (int)(sizeof symbols / sizeof *symbols) };
    _Static_assert(sizeof mpi == COUNT * sizeof(void *), "a symbol for each function");
    for (int i = 0; i < COUNT; i++) {
        void *function = mica_library_symbol(library, symbols[i]);
        if (!function) return false;
        memcpy((char *)&mpi + (size_t)i * sizeof function, &function, sizeof function);
    }
    return find_handles(library);
}

static int version(char *text, int *n) {
    return mpi.get_library_version(text, n);
}

static int is_started(int *out_is_started, int *out_is_ended) {
    int error = mpi.initialized(out_is_started);
    return error ? error : mpi.finalized(out_is_ended);
}

static int start(int *out_threads) {
    enum { SERIALIZED = 2 };
    return mpi.init_thread(NULL, NULL, SERIALIZED, out_threads);
}

static int threads(int *out_threads) {
    return mpi.query_thread(out_threads);
}

static int open_own(int *out_rank, int *out_size) {
    int error = mpi.comm_dup(world, &own);
    if (!error) error = mpi.comm_set_errhandler(own, errors_return);
    if (!error) error = mpi.comm_rank(own, out_rank);
    return error ? error : mpi.comm_size(own, out_size);
}

static bool reserve(int n) {
    if (n <= n_requests) return true;
    mpi_handle *grown = mica_realloc(requests, (size_t)n * sizeof *requests);
    if (!grown) return false;
    requests = grown;
    n_requests = n;
    return true;
}

static int post_send(int i, const void *bytes, int n, int to, int tag) {
    return mpi.isend(bytes, n, byte, to, tag, own, &requests[i]);
}

static int post_receive(int i, void *bytes, int n, int from, int tag) {
    return mpi.irecv(bytes, n, byte, from, tag, own, &requests[i]);
}

static int test(int i, int *out_is_done) {
    return mpi.test(&requests[i], out_is_done, NO_STATUS);
}

static void abort_all(int code) {
    mpi.abort(own, code);
}

static int end(void) {
    mica_free(requests);
    requests = NULL;
    n_requests = 0;
    return mpi.finalize();
}

static void explain(int error, char *text, int *n) {
    mpi.error_string(error, text, n);
}

const dist_mpi_abi MPI_ABI = {MPI_ABI_NAME, load,      version, is_started, start,
                              threads,      open_own,  reserve, post_send,  post_receive,
                              test,         abort_all, end,     explain};
