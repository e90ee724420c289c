// `oue`: optimized unary encoding. On one-hot input the 1 is told truthfully with probability
// p = 1/2, and a 0 becomes a 1 with q = 1 / (1 + e^eps), independently.
//
// Among all pairs (p, q) with p (1 - q) / (q (1 - p)) = e^eps this one has the least variance for
// the many positions that hold a 0. With p = 1/2 the ratio is (1 - q) / q. In integers q is the
// smallest one with 2^64 (1 - q) <= e^eps 2^64 q, so what is sampled is at most e^eps.
#include "mechanism/bit/bit.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  BitDesign design;
  design.code = one_hot_code(domain);
  design.claimed = get(parameters, "epsilon");
  const std::uint64_t zero_stays = largest_threshold(design.claimed);
  design.thresholds = BitThresholds::everywhere(std::uint64_t{1} << 63, 0 - zero_stays);
  design.statement = "pure local differential privacy for the whole one-hot vector";
  return BitMechanism::make("oue.v1", std::move(domain), parameters, std::move(design));
}

}  // namespace

const Registration oue_registration = {
    .info = {.name = "oue",
             .kind = MechanismKind::kBits,
             .summary = "a one-hot vector, its 1 kept half of the time, its 0s almost always",
             .input = "a one-hot vector of k bits: the largest value counts as the 1",
             .output = "k bits",
             .guarantee = "epsilon-LDP for the whole vector",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Wang, Blocki, Li, Jha 2017 (optimized unary encoding)",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
