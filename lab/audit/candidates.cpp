#include "audit/candidates.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>

namespace sotto {
namespace {

constexpr std::size_t kSpread = 64;  // evenly spread ranks
constexpr double kDoubt = 2.0;

/// Wilson's upper limit of a rate, at z standard deviations.
double wilson_upper(double rate, double trials, double z) {
  const double square = z * z;
  const double middle = rate + square / (2.0 * trials);
  const double width =
      z * std::sqrt(rate * (1.0 - rate) / trials + square / (4.0 * trials * trials));
  return std::min(1.0, (middle + width) / (1.0 + square / trials));
}

double doubted(std::uint64_t hits, std::uint64_t trials, double doubt) {
  const double rate = (static_cast<double>(hits) + 0.5) / (static_cast<double>(trials) + 1.0);
  return wilson_upper(rate, static_cast<double>(trials), doubt);
}

}  // namespace

Promise::Promise(std::uint64_t tested, double error, double delta)
    : tested_(static_cast<double>(tested)),
      z_(std::sqrt(2.0) * boost::math::erfc_inv(error)),  // half the error a side
      delta_(delta) {}

double Promise::operator()(const EventRates& rates, double doubt) const {
  const double fpr = wilson_upper(doubted(rates.hits_zero, rates.zeros, doubt), tested_, z_);
  const double fnr =
      wilson_upper(doubted(rates.ones - rates.hits_one, rates.ones, doubt), tested_, z_);
  const double ratio = std::max((1.0 - delta_ - fnr) / fpr, (1.0 - delta_ - fpr) / fnr);
  return ratio > 0.0 ? std::log(ratio) : -std::numeric_limits<double>::infinity();
}

std::vector<double> thresholds_of(std::vector<double>& zeros, std::vector<double>& ones) {
  std::sort(zeros.begin(), zeros.end());
  std::sort(ones.begin(), ones.end());
  std::vector<double> thresholds;
  for (const std::vector<double>* sample : {&zeros, &ones}) {
    const std::size_t size = sample->size();
    const auto between = [&](std::size_t rank) {
      if (rank == 0 || rank >= size) return;
      const double low = (*sample)[rank - 1];
      // Halfway to the next larger value; infinite scores have no middle.
      const auto next = std::upper_bound(sample->begin(), sample->end(), low);
      if (next == sample->end()) return;
      const double middle = low / 2.0 + *next / 2.0;
      thresholds.push_back(middle > low && middle < *next ? middle : low);
    };
    for (std::size_t rank = 1; rank < size; rank *= 2) {
      between(rank);
      between(size - rank);
    }
    for (std::size_t i = 1; i < kSpread; ++i) between(size * i / kSpread);
    if (size > 0 && sample->back() < std::numeric_limits<double>::infinity()) {
      thresholds.push_back(sample->back());
    }
    if (size > 0) {
      thresholds.push_back(
          std::nextafter(sample->front(), -std::numeric_limits<double>::infinity()));
    }
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

double best_threshold(std::vector<double>& zeros, std::vector<double>& ones,
                      const Promise& promise) {
  if (zeros.empty() || ones.empty()) return 0.0;
  double best = 0.0;
  double most = -1.0;
  for (const double threshold : thresholds_of(zeros, ones)) {
    const EventRates rates{zeros.size(), ones.size(), above(zeros, threshold),
                           above(ones, threshold)};
    const double promised = promise(rates, kDoubt);
    if (promised > most) {
      most = promised;
      best = threshold;
    }
  }
  return best;
}

std::uint64_t above(std::span<const double> sorted, double threshold) {
  return static_cast<std::uint64_t>(sorted.end() -
                                    std::upper_bound(sorted.begin(), sorted.end(), threshold));
}

}  // namespace sotto
