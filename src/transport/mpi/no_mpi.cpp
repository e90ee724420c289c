// A program without MPI: it says so where a launcher started it more than once.
#include "transport/mpi/launcher.h"

namespace sotto::cluster {

Result<std::shared_ptr<Ranks>> join() {
  if (!under_mpi()) return std::shared_ptr<Ranks>();
  return fail(ErrorKind::kUsage,
              "a launcher started this program as one of several ranks, and it was built without "
              "MPI (SOTTO_MPI=ON; Debian: libopenmpi-dev)");
}

void abandon(int /*exit_code*/) {}

}  // namespace sotto::cluster
