// Membership inference: was this sample among those that a model was trained on?
//
// The game. Of a data set's training part a population is drawn, and runs of the recipe are trained
// on random halves of it, in pairs: a half and its complement. Every run is the target once; the
// runs of all other pairs are its shadow models, so that each sample was in exactly half of them
// whatever the target. All runs start from the same weights, which the server knows, and differ in
// their data and in every random bit, the mechanism's included.
//
// Three targets: the model that the run released last; the models that several of its rounds
// released, by the mean of their confidences; and single reports, each decoded to the model that
// the server would have if it had that report alone. Of a single report the members are the samples
// of the client that sent it, and the others those that were in no client of the run.
//
// Attacks: the loss against one threshold for all samples, and the likelihood ratio (lira.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attack/roc.h"
#include "sotto/federation.h"

namespace sotto {

struct MembershipAttack {
  Recipe recipe;
  std::shared_ptr<const DataSplit> data;
  std::size_t population = 1000;
  std::size_t runs = 16;     // even, at least 6
  std::size_t reports = 4;   // clients of each run whose reports are attacked; 0: none
  RoundId report_round = 1;  // the reports of which round
  std::size_t models = 8;    // of each run that are looked at together, the last one included
  std::uint64_t seed = 1;
  unsigned threads = 1;
  RocOptions roc;
  /// A model that exists already, trained on all training samples: it is the target instead, half
  /// of the population are test samples, and all runs are shadows.
  std::vector<float> model;
};

struct MembershipFinding {
  std::string target;  // "model", "models", "report"
  std::string attack;  // "loss", "likelihood-ratio", "likelihood-ratio-offline"
  Roc roc;
  std::uint64_t undecided = 0;  // too few shadow models knew the sample; not in the curve
};

struct MembershipResult {
  std::vector<MembershipFinding> findings;
  double member_accuracy = 0.0;  // mean over targets, of released models
  double other_accuracy = 0.0;
  double client_epsilon = 0.0;  // what a client of the runs is promised; infinite: nothing
  double weight_epsilon = 0.0;  // exact, of one report's unit
};

/// After so many of all runs. Called by one thread at a time.
using RunProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

Result<MembershipResult> infer_membership(const MembershipAttack& attack,
                                          const MakeFactory& make_factory,
                                          const RunProgress& progress = {});

}  // namespace sotto
