#include "audit/distribution_pair.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/mechanisms.h"
#include "base/text.h"

namespace sotto {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Ratios that differ by no more than this are the same number, computed twice.
constexpr double kSame = 1e-9;

double probability(const Mechanism& mechanism, std::span<const Symbol> report,
                   std::span<const float> input) {
  return std::exp(mechanism.log_prob(report, input));
}

/// Every bit pattern of `count` bits.
std::vector<std::vector<Symbol>> all_bits(std::size_t count) {
  std::vector<std::vector<Symbol>> reports(std::size_t{1} << count, std::vector<Symbol>(count));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (std::size_t bit = 0; bit < count; ++bit) {
      reports[i][bit] = static_cast<Symbol>(i >> bit & 1U);
    }
  }
  return reports;
}

}  // namespace

double DistributionPair::Class::ratio() const { return zero > 0.0 ? one / zero : kInfinite; }

double DistributionPair::speaks_zero() const {
  double sum = 0.0;
  for (const Class& c : classes) sum += c.ratio() > 1.0 ? c.zero : 0.0;
  return sum;
}

double DistributionPair::speaks_one() const {
  double sum = 0.0;
  for (const Class& c : classes) sum += c.ratio() > 1.0 ? c.one : 0.0;
  return sum;
}

double DistributionPair::epsilon() const {
  double most = 0.0;
  for (const Class& c : classes) most = std::max(most, std::abs(std::log(c.ratio())));
  return most;
}

Result<ReportPair> ReportPair::make(const Mechanism& mechanism, MechanismKind kind) {
  ReportPair pair;
  pair.mechanism_ = &mechanism;
  InputPair inputs = worst_pair(mechanism);
  pair.zero_ = std::move(inputs.zero);
  pair.one_ = std::move(inputs.one);
  if (kind == MechanismKind::kVector) {
    // Relative to a fixed distribution, densities are at least g and reach g e^E on a share q of it
    // around the input (account/shuffled/shuffle.cpp): opposite inputs of full norm have three
    // regions.
    const Background common = mechanism.background(0, mechanism.outputs());
    if (!(common.floor > 0.0) || !std::isfinite(common.epsilon)) {
      return fail(
          ErrorKind::kUsage,
          "a shuffled audit needs a distribution of finite epsilon; valid vector mechanisms: "
          "ldp-sgd, privunit");
    }
    const double share = (1.0 - common.floor) / (common.floor * std::expm1(common.epsilon));
    const double high = share * common.floor * std::exp(common.epsilon);
    const double low = share * common.floor;
    const double rest = std::max(0.0, 1.0 - high - low);
    pair.distributions_.classes = {{high, low}, {rest, rest}, {low, high}};
    if (rest < kSame) pair.distributions_.classes.erase(pair.distributions_.classes.begin() + 1);
    for (const DistributionPair::Class& c : pair.distributions_.classes) {
      pair.upper_.push_back(c.ratio() * std::exp(common.epsilon / 2.0));
    }
    return pair;
  }
  std::vector<std::vector<Symbol>> reports;
  if (kind == MechanismKind::kValue) {
    for (const Symbol symbol : mechanism.alphabet(0)) reports.push_back({symbol});
    if (reports.empty()) {
      return fail(ErrorKind::kUsage,
                  "a shuffled audit lists the outputs of a weight, and here "
                  "they are more than 4,194,304; use a coarser grid "
                  "(--precision)");
    }
  } else if (mechanism.outputs() <= kMostBits) {
    reports = all_bits(mechanism.outputs());
  } else {
    return fail(ErrorKind::kUsage,
                "a shuffled audit lists all reports of a bit mechanism: at most " +
                    std::to_string(kMostBits) + " bits, here " +
                    std::to_string(mechanism.outputs()) + " (--bits)");
  }
  SOTTO_CHECK(pair.list_outputs(reports));
  return pair;
}

/// A value's place in the alphabet, or the bits of a report as one number.
std::size_t ReportPair::place_of(std::span<const Symbol> report) const {
  if (mechanism_->outputs() == 1 && mechanism_->symbol_bits() > 1) {
    return static_cast<std::size_t>(report[0] - mechanism_->smallest_symbol());
  }
  std::size_t place = 0;
  for (std::size_t bit = 0; bit < report.size(); ++bit) {
    place |= static_cast<std::size_t>(report[bit]) << bit;
  }
  return place;
}

Result<void> ReportPair::list_outputs(const std::vector<std::vector<Symbol>>& reports) {
  std::vector<DistributionPair::Class> outputs;
  std::vector<std::size_t> places;
  for (const std::vector<Symbol>& report : reports) {
    const DistributionPair::Class output{probability(*mechanism_, report, zero_),
                                         probability(*mechanism_, report, one_)};
    if (output.zero > 0.0 || output.one > 0.0) {
      outputs.push_back(output);
      places.push_back(place_of(report));
    }
  }
  const auto less = [](const DistributionPair::Class& a, const DistributionPair::Class& b) {
    return a.ratio() < b.ratio();
  };
  const std::vector<DistributionPair::Class> by_place = outputs;
  std::sort(outputs.begin(), outputs.end(), less);
  for (const DistributionPair::Class& output : outputs) {
    const double ratio = output.ratio();
    const bool same = !upper_.empty() &&
                      (ratio == upper_.back() || ratio - upper_.back() <= kSame * upper_.back());
    if (same) {
      distributions_.classes.back().zero += output.zero;
      distributions_.classes.back().one += output.one;
      upper_.back() = ratio;
    } else {
      distributions_.classes.push_back(output);
      upper_.push_back(ratio);
    }
  }
  if (distributions_.classes.size() < 2) {
    return fail(ErrorKind::kUsage,
                "the two inputs have the same distribution: there is nothing to audit");
  }
  lump();
  listed_.assign(*std::max_element(places.begin(), places.end()) + 1, 0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    listed_[places[i]] = static_cast<std::uint8_t>(class_of_ratio(by_place[i].ratio()));
  }
  return {};
}

/// Neighbours together, so that every class has about the same probability; impossible ones stay
/// apart.
void ReportPair::lump() {
  if (distributions_.classes.size() <= DistributionPair::kMostClasses) return;
  const double part = 2.0 / static_cast<double>(DistributionPair::kMostClasses - 2);
  std::vector<DistributionPair::Class> classes;
  std::vector<double> upper;
  double open = 0.0;
  for (std::size_t i = 0; i < distributions_.classes.size(); ++i) {
    const DistributionPair::Class& c = distributions_.classes[i];
    const bool apart = c.zero <= 0.0 || (!classes.empty() && classes.back().one <= 0.0);
    if (classes.empty() || apart || open >= part) {
      classes.push_back(c);
      upper.push_back(upper_[i]);
      open = c.zero + c.one;
    } else {
      classes.back().zero += c.zero;
      classes.back().one += c.one;
      upper.back() = upper_[i];
      open += c.zero + c.one;
    }
  }
  distributions_.classes = std::move(classes);
  upper_ = std::move(upper);
}

std::size_t ReportPair::class_of_ratio(double ratio) const {
  const auto at = std::lower_bound(upper_.begin(), upper_.end(), ratio * (1.0 - kSame));
  return std::min(static_cast<std::size_t>(at - upper_.begin()), distributions_.classes.size() - 1);
}

std::size_t ReportPair::class_of(std::span<const Symbol> report) const {
  if (!listed_.empty()) return listed_.at(place_of(report));
  return class_of_ratio(
      std::exp(mechanism_->log_prob(report, one_) - mechanism_->log_prob(report, zero_)));
}

std::string ReportPair::words() const {
  const auto text = [](const std::vector<float>& values) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 3); ++i) {
      all += (i > 0 ? ", " : "") + short_number(static_cast<double>(values[i]));
    }
    return values.size() > 3 ? '(' + all + ", ...)" : values.size() > 1 ? '(' + all + ')' : all;
  };
  return text(zero_) + " and " + text(one_);
}

}  // namespace sotto
