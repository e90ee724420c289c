// What a client that took part in every round has spent so far, kept beside a training so that a
// server that starts again still knows it.
//
// Basic composition, rounded up: the sum of what the rounds cost by their plans. A round that is
// begun anew, after a restart, counts once: clients send the same report again.
#pragma once

#include <filesystem>

#include "sotto/result.h"

namespace sotto::monitor {

class Spent {
 public:
  /// What `file` remembers of a training whose first `rounds` rounds are done. Where it does not
  /// know them, the sum is infinite: nothing that is shown may be below the truth.
  static Result<Spent> open(std::filesystem::path file, std::uint64_t rounds);

  /// A round begins whose report costs so much. Kept before clients are asked.
  Result<void> add(std::uint64_t round, double epsilon, double delta);
  double epsilon() const { return epsilon_; }
  double delta() const { return delta_; }

 private:
  std::filesystem::path file_;
  std::uint64_t round_ = 0;  // the last that is in the sums
  double epsilon_ = 0.0;
  double delta_ = 0.0;
};

}  // namespace sotto::monitor
