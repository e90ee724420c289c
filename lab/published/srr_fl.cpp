#include "published/srr_fl.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "mechanism/value/distance_ranks.h"

namespace sotto {
namespace {

/// An interval of half steps around an input that grows group by group.
struct Span {
  std::int64_t left, right, end;  // the grid is [-end, end]
  bool at_left = false, at_right = false;

  void grow(std::int64_t size) {
    if (at_right) {
      left -= 2 * size;
    } else if (at_left) {
      right += 2 * size;
    } else {
      left -= size;
      right += size;
    }
    if (left <= -end) {
      right += -end - left;
      left = -end;
      at_left = true;
    }
    if (right >= end) {
      left -= right - end;
      right = end;
      at_right = true;
    }
  }
};

}  // namespace

PublishedSrr::PublishedSrr(std::int64_t radius, std::int64_t groups, std::int64_t step,
                           double epsilon, Sampler sampler)
    : radius_(radius), sampler_(sampler) {
  if (radius < 1 || groups < 2) throw std::invalid_argument("seed srr: radius or groups too small");
  const std::int64_t d = 2 * radius + 1;
  // Twice the real size of group 1, times m: 2 d - m (m - 1) Delta.
  const std::int64_t twice = 2 * d - groups * (groups - 1) * step;
  std::int64_t weighted = 0;
  for (std::int64_t j = 0; j < groups; ++j) {
    const std::int64_t whole = (twice + 2 * groups * j * step) / (2 * groups);
    sizes_.push_back(whole + (j == 0 ? 1 : 0));
    if (sizes_.back() < 1) throw std::invalid_argument("seed srr: a group is empty");
    weighted += j * sizes_.back();
  }
  missing_ = d - std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
  if (missing_ < 0) throw std::invalid_argument("seed srr: the last group leaves the grid");
  const double grown = std::exp(epsilon);
  const auto m = static_cast<double>(groups);
  const double least = (m - 1.0) / ((m - 1.0) * static_cast<double>(d) * grown -
                                    (grown - 1.0) * static_cast<double>(weighted));
  double sum = 0.0;
  for (std::size_t j = 0; j < sizes_.size(); ++j) {
    const double fall = static_cast<double>(j) * (grown - 1.0) / (m - 1.0);
    masses_.push_back(static_cast<double>(sizes_[j]) * least * (grown - fall));
    sum += masses_.back();
  }
  masses_.front() += 1.0 - sum;
}

std::int64_t PublishedSrr::by_halves(std::int64_t input, std::size_t group,
                                     std::int64_t place) const {
  Span before{2 * input, 2 * input, 2 * radius_};
  for (std::size_t j = 0; j < group; ++j) before.grow(sizes_[j]);
  Span with = before;
  with.grow(sizes_[group]);
  const std::int64_t on_the_left = (before.left - with.left) / 2;
  return place > on_the_left ? before.right + 2 * (place - on_the_left) : with.left + 2 * place;
}

std::int64_t PublishedSrr::output(std::int64_t input, std::size_t group, std::int64_t place) const {
  if (sampler_ == Sampler::kHalves) return by_halves(input, group, place);
  const auto at = sizes_.begin() + static_cast<std::ptrdiff_t>(group);
  const std::int64_t rank = std::accumulate(sizes_.begin(), at, place);
  return 2 * DistanceRanks{radius_, input}.output(rank);
}

std::int64_t PublishedSrr::draw(std::int64_t input, BitSource& bits) const {
  const double at = bits.unit();
  double sum = masses_.front();
  std::size_t group = 0;
  while (at >= sum && group + 1 < masses_.size()) sum += masses_[++group];
  const std::uint64_t place = bits.below(static_cast<std::uint64_t>(sizes_[group]));
  return output(input, group, static_cast<std::int64_t>(place));
}

std::map<std::int64_t, double> PublishedSrr::distribution(std::int64_t input) const {
  std::map<std::int64_t, double> probabilities;
  for (std::size_t j = 0; j < sizes_.size(); ++j) {
    for (std::int64_t place = 0; place < sizes_[j]; ++place) {
      probabilities[output(input, j, place)] += masses_[j] / static_cast<double>(sizes_[j]);
    }
  }
  return probabilities;
}

double PublishedSrr::epsilon(const std::vector<std::int64_t>& inputs) const {
  std::map<std::int64_t, std::pair<double, double>> extremes;  // least and largest probability
  std::map<std::int64_t, std::size_t> seen;
  for (const std::int64_t input : inputs) {
    for (const auto& [value, probability] : distribution(input)) {
      const auto at = extremes.emplace(value, std::pair(probability, probability)).first;
      at->second.first = std::min(at->second.first, probability);
      at->second.second = std::max(at->second.second, probability);
      ++seen[value];
    }
  }
  double most = 0.0;
  for (const auto& [value, range] : extremes) {
    if (seen[value] < inputs.size()) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::log(range.second / range.first));
  }
  return most;
}

}  // namespace sotto
