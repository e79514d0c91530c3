/* dist/mpi_abi.h: the few calls of MPI that are needed, over either shape of its handles.
 *
 * MPI is an interface of C sources: what an MPI_Comm is, each implementation says by itself. In
 * Open MPI handles are pointers to objects that the library exports, in MPICH (and what descends
 * from it) they are ints with fixed values. mpi_calls.h is the same text for both: mpi_openmpi.c
 * and mpi_mpich.c say what a handle is and give it a name. Ranks, tags and counts are ints. All
 * calls answer MPI's error code, 0 for success, and come from one thread at a time. */
#ifndef MICA_DIST_MPI_ABI_H
#define MICA_DIST_MPI_ABI_H

#include "base/platform.h"

typedef struct dist_mpi_abi {
    const char *name;
    /* Finds the functions; false when the library is not of this kind. */
    bool (*load)(mica_library *library);
    int (*version)(char *text, int *n); /* text has room for 8,192 */
    int (*is_started)(int *out_is_started, int *out_is_ended);
    int (*start)(int *out_threads);            /* MPI_Init_thread, serialized */
    int (*threads)(int *out_threads);          /* what it was started with */
    int (*open)(int *out_rank, int *out_size); /* a communicator of our own */
    /* A request goes to requests[i], of which there are as many as was reserved. */
    bool (*reserve)(int n);
    int (*send)(int i, const void *bytes, int n, int to, int tag);
    int (*receive)(int i, void *bytes, int n, int from, int tag);
    int (*test)(int i, int *out_is_done);
    void (*abort)(int code);
    int (*end)(void);
    void (*explain)(int error, char *text, int *n); /* text has room for 8,192 */
} dist_mpi_abi;

extern const dist_mpi_abi dist_mpi_openmpi, dist_mpi_mpich;

#endif
