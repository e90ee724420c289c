// The cases, one function each, and what they are made of.
#pragma once

#include <memory>
#include <optional>

#include "refutation/refutations.h"
#include "sotto/mechanism.h"

namespace sotto::refutation {

/// A trial as a function: the score of one report.
using Draw = std::function<double(bool input, BitSource& bits)>;

/// Guesses "input 1" where the score is above the threshold.
RunAudit by_event(Draw draw, double threshold);
/// The strongest test that is known: the likelihood ratio, its threshold learned on other trials.
RunAudit by_likelihood(std::shared_ptr<const Mechanism> mechanism);
/// A mechanism for `size` values in the range. The cases' parameters are valid by construction; an
/// error is one of the program and throws.
std::shared_ptr<const Mechanism> made(std::string_view name, std::size_t size, const Range& range,
                                      const Parameters& parameters);
/// The symbols of a report, bounded first.
std::vector<Symbol> report_of(const Mechanism& mechanism, std::vector<float> values,
                              BitSource& bits);

// Of theorems and claims (refutation_theory.cpp).
RefutationCase ldpfl_2();
RefutationCase ldpfl_1();
RefutationCase alpha();
RefutationCase k_of_n();
RefutationCase shuffle_bound();
RefutationCase parameter_shuffling();
// Of public code (refutation_code.cpp).
RefutationCase srr_remainder();
RefutationCase srr_half_grid();
RefutationCase two_point_unclipped();
RefutationCase grr_raw();
RefutationCase batch_norm();

}  // namespace sotto::refutation
