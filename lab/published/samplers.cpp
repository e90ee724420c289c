#include "published/samplers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace sotto {

double PublishedTwoPoint::probability_up(double weight) const {
  const double lean = (weight - range.centre) / (2.0 * range.radius) * std::tanh(epsilon / 2.0);
  return std::clamp(0.5 + lean, 0.0,
                    1.0);  // a random number in [0, 1) knows no other probabilities
}

double PublishedTwoPoint::loss(double weight, double other) const {
  const double up = probability_up(weight), down = probability_up(other);
  const auto ratio = [](double a, double b) {
    if (a <= 0.0) return 0.0;
    return b > 0.0 ? std::log(a / b) : std::numeric_limits<double>::infinity();
  };
  return std::max(
      {ratio(up, down), ratio(down, up), ratio(1.0 - up, 1.0 - down), ratio(1.0 - down, 1.0 - up)});
}

double PublishedGrr::step() const { return std::pow(10.0, -precision); }

std::int64_t PublishedGrr::radius_steps() const { return std::llround(range.radius / step()); }

double PublishedGrr::probability_kept() const {
  const double grown = std::exp(epsilon);
  return grown / (2.0 * static_cast<double>(radius_steps()) + grown);
}

double PublishedGrr::draw(double weight, BitSource& bits) const {
  if (bits.unit() < probability_kept()) return weight;
  const std::int64_t radius = radius_steps();
  const auto own =
      std::clamp<std::int64_t>(std::llround((weight - range.centre) / step()), -radius, radius);
  auto other = static_cast<std::int64_t>(bits.below(static_cast<std::uint64_t>(2 * radius)));
  other -= radius;
  if (other >= own) ++other;
  return range.centre + static_cast<double>(other) * step();
}

bool PublishedGrr::on_grid(double value) const {
  const double steps = (value - range.centre) / step();
  return std::abs(steps - std::round(steps)) < 1e-6;
}

double PublishedRunningMean::mean_in(const std::vector<double>& order) const {
  double mean = 0.0;
  for (std::size_t from = 0; from < order.size(); from += batch) {
    const std::size_t to = std::min(from + batch, order.size());
    double sum = 0.0;
    for (std::size_t i = from; i < to; ++i) sum += order[i];
    mean += momentum * (sum / static_cast<double>(to - from) - mean);
  }
  return mean;
}

double PublishedRunningMean::draw(BitSource& bits) const {
  std::vector<double> order = records;
  shuffle(std::span(order), bits);
  return mean_in(order);
}

// Later batches weigh more where all have one size, so sorted orders are the extremes; with a short
// last batch, whose records weigh more still, too.
double PublishedRunningMean::largest() const {
  std::vector<double> order = records;
  std::sort(order.begin(), order.end());
  return mean_in(order);
}

double PublishedRunningMean::least() const {
  std::vector<double> order = records;
  std::sort(order.begin(), order.end(), std::greater<>());
  return mean_in(order);
}

}  // namespace sotto
