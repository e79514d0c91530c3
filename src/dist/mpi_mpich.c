/* MPICH and what has its ABI (Intel MPI, MVAPICH): handles are ints. */
typedef int mpi_handle;
#define MPI_ABI dist_mpi_mpich
#define MPI_ABI_NAME "MPICH"
#define NO_STATUS ((void *)1)

#include "dist/mpi_calls.h"

/* The values are those of the ABI that MPICH's libmpi.so.12 keeps. */
static bool find_handles(mica_library *library) {
    world = 0x44000000;
    byte = 0x4c00010d;
    errors_return = 0x54000001;
    return !mica_library_symbol(library, "ompi_mpi_comm_world") &&
           mica_library_symbol(library, "MPIR_Err_create_code") != NULL;
}
