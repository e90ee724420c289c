// What a study found: for every configuration the mean and the deviation over its seeds, and the
// claims that its runs made. Epsilons are the largest over the seeds: never better than the truth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/study.h"

namespace sotto {

struct Statistic {
  std::size_t count = 0;
  double mean = 0.0;
  double deviation = 0.0;  // of a sample; 0 for a single value
};
Statistic statistic_of(const std::vector<double>& values);

/// An accuracy or time; with several seeds "97.31 +- 0.12 %".
std::string accuracy_text(const Statistic& statistic);

struct Finding {
  const Configuration* configuration = nullptr;
  std::optional<Statistic> accuracy;                        // unset where no run finished
  std::vector<RunRecord> runs;                              // that finished, in the order of seeds
  std::vector<std::pair<std::string, std::string>> failed;  // name of the run, why
  std::size_t absent = 0;                                   // runs that were not started
  double seconds = 0.0;                                     // of all runs
  std::string mechanism;
  std::optional<Claim> unit;       // one weight, one round: exact
  std::optional<Claim> record;     // one record over the whole training, where that is claimed
  std::optional<Claim> features;   // of it, without its label
  std::optional<Claim> published;  // what the authors claim
  std::optional<Claim> local;      // client, whole training, no trust in a shuffler
  std::optional<Claim> client;     // the strongest that a client may be told
};

struct Summary {
  const Study* study = nullptr;
  std::vector<Finding> findings;
  std::vector<Vary> axes;  // keys that differ between configurations, with their values in order
  double seconds = 0.0;    // of all runs together
  std::string machine;     // that trained: "2 cores, Intel(R) Xeon(R) ..."; several: by "; "
  std::string date;        // UTC day
  bool complete() const;   // every run finished
};

Result<Summary> summarize(const Study& study, const std::vector<StudyRun>& runs,
                          const std::vector<RunOutcome>& outcomes);

std::string today();

}  // namespace sotto
