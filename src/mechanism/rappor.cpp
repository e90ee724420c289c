// `rappor`: basic one-time RAPPOR on one-hot input. Every bit is told truthfully with probability
// p = e^(eps/2) / (1 + e^(eps/2)) and flipped with q = 1 - p, independently.
//
// Two one-hot vectors differ in two positions. The worst output has a 1 where the first vector has
// it and a 0 where the second one does: ratio p (1 - q) / (q (1 - p)) = (p / q)^2 = e^eps.
// In integers p is the largest T / 2^64 with T <= e^(eps/2) (2^64 - T), so the ratio of what is
// sampled, T^2 / (2^64 - T)^2, is at most e^eps.
#include "mechanism/bit/bit.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  BitDesign design;
  design.code = one_hot_code(domain);
  design.claimed = get(parameters, "epsilon");
  const std::uint64_t truth = largest_threshold(exact::divide_down(design.claimed, 2.0));
  design.thresholds = BitThresholds::everywhere(truth, 0 - truth);
  design.statement = "pure local differential privacy for the whole one-hot vector";
  return BitMechanism::make("rappor.v1", std::move(domain), parameters, std::move(design));
}

}  // namespace

const Registration rappor_registration = {
    .info = {.name = "rappor",
             .kind = MechanismKind::kBits,
             .summary = "a one-hot vector, every bit flipped with the same probability",
             .input = "a one-hot vector of k bits: the largest value counts as the 1",
             .output = "k bits",
             .guarantee = "epsilon-LDP for the whole vector",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Erlingsson, Pihur, Korolova 2014 (RAPPOR), basic one-time form",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
