// `srr`: staircase randomized response, the mechanism of srr-fl (eq. 3-8). A weight goes to the
// decimal grid, the grid's values are ranked by their distance from it and cut into m groups whose
// sizes grow by a step, and the probability of an output falls from group to group in equal steps,
// by e^eps from the nearest to the farthest.
//
// It is biased towards the centre of the range. `debias` divides the decoded offset from the centre
// by the least-squares slope of E[y | w], which takes the linear part of the bias away. Without
// groups and step the mechanism uses the two groups that have the least error at the worst input.
#include "base/text.h"
#include "mechanism/staircase/srr_groups.h"
#include "mechanism/staircase/srr_tune.h"
#include "mechanism/staircase/staircase_channel.h"
#include "mechanism/value/value.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {
    kEpsilon,
    kPrecision,
    {.name = "groups",
     .low = 1.0,
     .high = 65536.0,
     .integer = true,
     .required = false,
     .meaning = "number of groups m; with step or not at all"},
    {.name = "step",
     .low = -0x1p31,
     .high = 0x1p31,
     .required = false,
     .meaning = "by how many grid values a group is larger than the one nearer to the input"},
    {.name = "debias",
     .low = 0.0,
     .high = 1.0,
     .integer = true,
     .default_value = 0.0,
     .meaning = "1: decoding divides by the least-squares slope of E[y | w]"}};

Result<std::vector<std::int64_t>> sizes_for(const DecimalGrid& grid, const SrrSetting& setting) {
  const std::int64_t outputs = grid.size();
  const std::string grid_text =
      with_commas(static_cast<std::uint64_t>(outputs)) + (outputs == 1 ? " value" : " values");
  if (setting.groups > outputs) {
    return fail(ErrorKind::kUsage, "srr: groups = " + std::to_string(setting.groups) +
                                       " on a grid of " + grid_text + "; valid: [1, " +
                                       std::to_string(outputs) + "]");
  }
  if (auto sizes = group_sizes(outputs, setting.groups, setting.step)) return *std::move(sizes);
  // Ten digits, rounded towards zero so that what the message names is valid.
  const auto inward = [](double end) {
    const double rounded = std::stod(short_number(end));
    return short_number(std::abs(rounded) > std::abs(end) ? end * (1.0 - 1e-9) : rounded);
  };
  const StepInterval valid = step_interval(outputs, setting.groups);
  return fail(ErrorKind::kUsage, "srr: step = " + short_number(setting.step) + " leaves one of " +
                                     std::to_string(setting.groups) + " groups on a grid of " +
                                     grid_text + " empty; valid: [" + inward(valid.low) + ", " +
                                     inward(valid.high) + "]");
}

Result<std::shared_ptr<const Channel>> make_channel(const Range& range,
                                                    const Parameters& parameters) {
  SOTTO_TRY(const DecimalGrid grid, DecimalGrid::make(range, get(parameters, "precision")));
  const double epsilon = get(parameters, "epsilon");
  SrrSetting setting = best_two_groups(grid.size(), epsilon);
  if (has(parameters, "groups")) {
    setting = {static_cast<std::int64_t>(get(parameters, "groups")), get(parameters, "step")};
  }
  SOTTO_TRY(auto sizes, sizes_for(grid, setting));
  SOTTO_TRY(auto staircase, Staircase::make(std::move(sizes), epsilon));
  double slope = 1.0;
  if (get(parameters, "debias") == 1.0) {
    slope = staircase.slope();
    if (!(slope > 0.0)) {
      return fail(ErrorKind::kUsage,
                  "srr: debias = 1 with one group, whose output does not depend on the input; "
                  "valid: debias = 0, or 2 groups and more");
    }
  }
  return std::make_shared<StaircaseChannel>(grid, std::move(staircase), slope);
}

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  if (has(parameters, "groups") != has(parameters, "step")) {
    return fail(ErrorKind::kUsage,
                "srr takes groups and step together, or neither: then it uses the two groups with "
                "the least error at the worst input");
  }
  return ValueMechanism::make("srr.v1", std::move(domain), parameters, get(parameters, "epsilon"),
                              "pure local differential privacy for each weight", make_channel);
}

}  // namespace

const Registration srr_registration = {
    .info = {.name = "srr",
             .kind = MechanismKind::kValue,
             .summary = "a grid value, likelier the nearer it is, in m steps",
             .input = "a weight in [c - r, c + r], rounded to 10^-precision",
             .output = "a grid value in [c - r, c + r]",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = false,
             .bias = "biased towards c; debias takes the linear part away",
             .reference = "Varun, Feng, Wang, Sural, Hong 2024 (SRR-FL), eq. 3-8",
             .published_client_claim = kParameterShuffling,
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
