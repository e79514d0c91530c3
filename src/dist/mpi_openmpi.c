/* Open MPI: handles are pointers to objects of the library. */
typedef void *mpi_handle;
#define MPI_ABI dist_mpi_openmpi
#define MPI_ABI_NAME "Open MPI"
#define NO_STATUS NULL

#include "dist/mpi_calls.h"

static bool find_handles(mica_library *library) {
    world = mica_library_symbol(library, "ompi_mpi_comm_world");
    byte = mica_library_symbol(library, "ompi_mpi_byte");
    errors_return = mica_library_symbol(library, "ompi_mpi_errors_return");
    return world && byte && errors_return;
}
