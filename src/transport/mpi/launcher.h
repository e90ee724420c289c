// Whether this process is one of several that a launcher (mpirun, srun) started, read from the
// variables that launchers set. A program that nobody launched so never starts MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotto/ranks.h"
#include "sotto/result.h"

namespace sotto::cluster {

struct Launched {
  bool by_launcher = false;
  unsigned rank = 0;
  unsigned size = 1;  // 0: the launcher does not say
};
Launched launched();

/// Whether there are, or may be, other processes of this job.
inline bool under_mpi() {
  const Launched found = launched();
  return found.by_launcher && found.size != 1;
}

/// The job's ranks; none where this process is alone. An error for a program that was built without
/// MPI: as many lonely processes as ranks would write the same files.
Result<std::shared_ptr<Ranks>> join();

/// Ends the whole job at once, if it was joined; for what must not happen.
void abandon(int exit_code);

/// Of the launcher's variables, those that make a program take itself for a rank: a child process
/// must not inherit them.
std::vector<std::string> launcher_variables();

/// Threads for this rank: as many as it may use cores, where the launcher bound it to some; its
/// share of the machine's where it did not.
unsigned threads_of_rank();

}  // namespace sotto::cluster
