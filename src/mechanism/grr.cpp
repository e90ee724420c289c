// `grr`: generalized randomized response, the baseline of srr-fl. The weight's grid value itself
// with probability p = e^eps / (d - 1 + e^eps), every other one with q = 1 / (d - 1 + e^eps): the
// staircase of two groups, of which the first is the input alone.
//
// All grid values together are symmetric around the centre, so E[y] = c + (p - q) (w - c), and
// decoding divides the offset from the centre by p - q: unbiased on the grid, with the integers
// that are sampled. `debias` = 0 leaves the division out, as srr-fl's baseline does: its means are
// drawn towards the centre by the factor p - q, 0.09 for epsilon 5 and 1,501 values.
#include "mechanism/staircase/staircase_channel.h"
#include "mechanism/value/value.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {
    kEpsilon,
    kPrecision,
    {.name = "debias",
     .low = 0.0,
     .high = 1.0,
     .integer = true,
     .default_value = 1.0,
     .meaning = "0: reports are taken as they are, without dividing by p - q"}};

Result<std::shared_ptr<const Channel>> make_channel(const Range& range,
                                                    const Parameters& parameters) {
  SOTTO_TRY(const DecimalGrid grid, DecimalGrid::make(range, get(parameters, "precision")));
  std::vector<std::int64_t> sizes{1};
  if (grid.size() > 1) sizes.push_back(grid.size() - 1);
  SOTTO_TRY(auto staircase, Staircase::make(std::move(sizes), get(parameters, "epsilon")));
  const double slope = get(parameters, "debias") == 1.0 ? staircase.slope() : 1.0;  // p - q
  return std::make_shared<StaircaseChannel>(grid, std::move(staircase), slope);
}

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  return ValueMechanism::make("grr.v1", std::move(domain), parameters, get(parameters, "epsilon"),
                              "pure local differential privacy for each weight", make_channel);
}

}  // namespace

const Registration grr_registration = {
    .info = {.name = "grr",
             .kind = MechanismKind::kValue,
             .summary = "the weight's grid value, or any other with equal probability",
             .input = "a weight in [c - r, c + r], rounded to 10^-precision",
             .output = "a grid value, decoded to c + (y - c) / (p - q)",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = true,
             .bias = "unbiased on the grid; towards c with debias = 0",
             .reference = "Kairouz, Bonawitz, Ramage 2016 (k-ary randomized response)",
             .published_client_claim = kParameterShuffling,
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
