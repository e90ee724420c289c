// Where the runs of a study are started: as children of this process, or, in a job of several
// ranks, one on each rank. A rank starts the run as a child of its own (process.h says why), so a
// run that dies takes neither its rank nor the study with it.
#pragma once

#include <memory>
#include <set>

#include "experiment/process.h"
#include "sotto/ranks.h"

namespace sotto {

class Starter {
 public:
  virtual ~Starter() = default;
  /// Starts this program with these words; the number is Ended::child when it has ended.
  virtual Result<pid_t> start(const std::vector<std::string>& words,
                              const std::filesystem::path& log) = 0;
  virtual std::optional<Ended> next_ended() = 0;
  /// How many runs there is room for, and the threads of each; 0: whoever starts them decides.
  virtual std::size_t places() const { return 0; }
  virtual unsigned threads() const { return 0; }
};

/// Children of this process; those that are left when it goes are ended.
class LocalStarter final : public Starter {
 public:
  LocalStarter() = default;
  ~LocalStarter() override;
  LocalStarter(const LocalStarter&) = delete;
  LocalStarter& operator=(const LocalStarter&) = delete;
  Result<pid_t> start(const std::vector<std::string>& words,
                      const std::filesystem::path& log) override;
  std::optional<Ended> next_ended() override;

 private:
  std::vector<pid_t> children_;
};

/// For rank 0: a run on each rank, this one among them. Files must be where all ranks see them.
std::shared_ptr<Starter> rank_starter(std::shared_ptr<Ranks> ranks, unsigned threads);

/// For the other ranks: starts what rank 0 sends, until that has left.
void serve_runs(Ranks& ranks);

}  // namespace sotto
