#include "mechanism/verification.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

/// Inputs of the finer grid: every grid value where they are no more than kMostGrid, else this many
/// spread evenly.
constexpr std::size_t kFine = 1001;
constexpr double kMostGrid = 5001.0;
/// The sum over all outputs is taken where they are no more than this.
constexpr std::size_t kMostSummed = 20'001;
/// A vector's squared error is summed over all coordinates up to this many.
constexpr std::size_t kMostCoordinates = 2000;
/// Bits of a report that are looked at one by one.
constexpr std::size_t kMostBits = 65'536;

std::vector<double> spread(double low, double high, std::size_t count) {
  std::vector<double> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
    inputs.push_back(share == 0.5 ? (low + high) / 2.0 : low + share * (high - low));
  }
  return inputs;
}

/// Every value of the grid of 10^-precision between the ends, or kFine evenly spread ones.
std::vector<double> fine_inputs(const Verification& v, const Parameters& parameters) {
  const auto [low, high] = input_interval(v);
  if (const auto it = parameters.find("precision"); it != parameters.end()) {
    const double scale = std::pow(10.0, it->second);
    const double centre = std::round((low + high) / 2.0 * scale);
    const double radius = std::round((high - low) / 2.0 * scale);
    if (2.0 * radius + 1.0 <= kMostGrid) {
      std::vector<double> inputs;
      const auto count = static_cast<int>(2.0 * radius) + 1;
      for (int i = 0; i < count; ++i) inputs.push_back((centre - radius + i) / scale);
      return inputs;
    }
  }
  return spread(low, high, kFine);
}

InputFinding find(const Verification& v, double input, std::size_t position) {
  InputFinding finding;
  const std::vector<float> x = input_vector(v, input, position);
  finding.input = input;
  finding.position = position;
  finding.moments = v.mechanism->moments(x, position);
  finding.sums_to_one = v.mechanism->sums_to_one(x, position);
  return finding;
}

void take_in(Verification& v, const InputFinding& finding) {
  v.worst_variance = std::max(v.worst_variance, finding.moments.variance);
  v.max_bias = std::max(v.max_bias, std::abs(finding.moments.bias));
  v.sums_to_one = v.sums_to_one && finding.sums_to_one;
}

double expected_l1(const Verification& v, const std::vector<Symbol>& alphabet,
                   const InputFinding& finding) {
  const Mechanism& mechanism = *v.mechanism;
  const std::vector<float> x = input_vector(v, finding.input);
  // The input as the mechanism rounds it.
  const double exact = finding.moments.mean - finding.moments.bias;
  double sum = 0.0;
  for (const Symbol symbol : alphabet) {
    const double log_prob = mechanism.log_prob({&symbol, 1}, x);
    sum += std::exp(log_prob) * std::abs(decoded(mechanism, symbol) - exact);
  }
  return sum;
}

void find_values(Verification& v, const Parameters& parameters, std::size_t shown,
                 const VerifyProgress& progress) {
  const auto [low, high] = input_interval(v);
  for (const double input : spread(low, high, shown)) {
    v.inputs.push_back(find(v, input, 0));
  }
  const auto tell = [&](std::size_t done, std::size_t total, const char* stage) {
    if (progress) progress(done, total, stage);
  };
  if (v.info->kind == MechanismKind::kValue) {
    const std::vector<Symbol> alphabet = v.mechanism->alphabet(0);
    const bool listed = !alphabet.empty() && alphabet.size() <= kMostSummed;
    for (std::size_t i = 0; listed && i < v.inputs.size(); ++i) {
      v.inputs[i].l1 = expected_l1(v, alphabet, v.inputs[i]);
      v.worst_l1 = std::max(v.worst_l1.value_or(0.0), *v.inputs[i].l1);
      tell(i + 1, v.inputs.size(), "expected error");
    }
  }
  const std::vector<double> fine = fine_inputs(v, parameters);
  const auto take_moments = [&](double input) {
    const std::vector<float> x = input_vector(v, input);
    const Moments moments = v.mechanism->moments(x, 0);
    v.worst_variance = std::max(v.worst_variance, moments.variance);
    v.max_bias = std::max(v.max_bias, std::abs(moments.bias));
  };
  for (std::size_t i = 0; i < fine.size(); ++i) {
    take_moments(fine[i]);
    tell(i + 1, fine.size(), "bias and variance");
  }
  v.checked_inputs = fine.size();
  for (const InputFinding& finding : v.inputs) take_in(v, finding);
}

void find_squared_error(Verification& v) {
  const std::size_t size = v.mechanism->outputs();
  if (size > kMostCoordinates) return;
  const std::vector<float> x = input_vector(v, input_interval(v).second);
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    const Moments moments = v.mechanism->moments(x, i);
    sum += moments.variance + moments.bias * moments.bias;
  }
  v.squared_error = sum;
}

void find_bits(Verification& v, std::size_t shown) {
  const std::size_t positions = std::min(v.mechanism->outputs(), kMostBits);
  for (std::size_t position = 0; position < positions; ++position) {
    for (const double bit : {0.0, 1.0}) {
      const InputFinding finding = find(v, bit, position);
      take_in(v, finding);
      if (v.inputs.size() < 2 * shown) v.inputs.push_back(finding);
    }
  }
  v.checked_inputs = 2 * positions;
}

}  // namespace

std::vector<float> input_vector(const Verification& v, double input, std::size_t position) {
  const Domain& domain = v.mechanism->domain();
  const std::size_t size = domain.layout->size();
  std::vector<float> x(size, 0.0F);
  const Range& range = domain.ranges.front();
  if (domain.shape == Shape::kOneHot) {
    // The bit at `position` is 1 when it is the hot one, and 0 when its neighbour is.
    x[input == 1.0 ? position : (position + 1) % size] = 1.0F;
  } else if (v.info->kind == MechanismKind::kBits) {
    // All bits alike. In sign and magnitude the most negative value has nothing but ones.
    const double one = v.encoded ? range.centre - range.radius : 1.0;
    std::fill(x.begin(), x.end(), static_cast<float>(input == 1.0 ? one : 0.0));
    const std::size_t labels = v.mechanism->outputs() - v.classes;
    if (v.classes > 0) {
      const std::size_t label = position >= labels ? position - labels : 0;
      x.back() = static_cast<float>(input == 1.0 ? label : (label + 1) % v.classes);
    }
  } else {
    x[position] = static_cast<float>(input);
    // The nearest float to an end of the range may lie beyond it.
    const double offset = static_cast<double>(x[position]) - range.centre;
    if (domain.shape == Shape::kBox && std::abs(offset) > range.radius) {
      x[position] = std::nextafter(x[position], static_cast<float>(range.centre));
    }
  }
  return x;
}

std::pair<double, double> input_interval(const Verification& v) {
  const Domain& domain = v.mechanism->domain();
  if (v.info->kind == MechanismKind::kBits) return {0.0, 1.0};
  if (domain.shape == Shape::kBall) return {-domain.norm, domain.norm};
  const Range& range = domain.ranges.front();
  return {range.centre - range.radius, range.centre + range.radius};
}

double decoded(const Mechanism& mechanism, Symbol symbol, std::size_t output) {
  double value = 0.0;
  mechanism.decode({&symbol, 1}, 1, output, {&value, 1});
  return value;
}

std::size_t bits_of_feature(const Parameters& parameters) {
  const auto whole = parameters.find("whole");
  const auto fraction = parameters.find("fraction");
  if (whole == parameters.end() || fraction == parameters.end()) return 0;
  // What is no valid number of bits is for the mechanism to complain about.
  const double sum = whole->second + fraction->second;
  return sum >= 0.0 && sum <= 64.0 ? 1 + static_cast<std::size_t>(sum) : 0;
}

std::size_t classes_of(const Parameters& parameters) {
  const auto it = parameters.find("classes");
  return it != parameters.end() && it->second >= 2.0 && it->second <= 1e6
             ? static_cast<std::size_t>(it->second)
             : 0;
}

Verification verify(const MechanismInfo& info, std::unique_ptr<Mechanism> mechanism,
                    const Parameters& parameters, std::size_t shown,
                    const VerifyProgress& progress) {
  Verification v;
  v.info = &info;
  v.mechanism = std::move(mechanism);
  v.encoded = bits_of_feature(parameters) > 0;
  v.classes = classes_of(parameters);
  v.guarantee = v.mechanism->guarantee();
  v.worst = v.mechanism->worst_case();
  if (v.info->kind == MechanismKind::kBits) {
    find_bits(v, shown);
  } else {
    find_values(v, parameters, shown, progress);
    if (v.info->kind == MechanismKind::kVector) find_squared_error(v);
  }
  return v;
}

}  // namespace sotto
