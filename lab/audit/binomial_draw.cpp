#include "audit/binomial_draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/exact/binomial.h"

namespace sotto {
namespace {

constexpr double kTail = 1e-18;
constexpr std::uint64_t kLastWord = std::numeric_limits<std::uint64_t>::max();

}  // namespace

CountTable::CountTable(std::uint64_t first, std::span<const double> probabilities, double error)
    : first_(first), last_(probabilities.size()), error_(error) {
  const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  double sum = 0.0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    sum += probabilities[i];
    const double part = std::ldexp(sum / total, 64);
    last_[i] = part >= 0x1p64 ? kLastWord : static_cast<std::uint64_t>(part);
  }
  last_.back() = kLastWord;
  // Sums of doubles near one are multiples of 2^-53, and each step adds a rounding.
  error_ += static_cast<double>(probabilities.size()) * 0x1p-51;
  const unsigned width = std::max(1U, static_cast<unsigned>(std::bit_width(last_.size())));
  shift_ = 64U - width;
  guide_.resize(std::size_t{1} << width);
  std::size_t at = 0;
  for (std::size_t i = 0; i < guide_.size(); ++i) {
    while ((std::uint64_t{i} << shift_) > last_[at]) ++at;
    guide_[i] = static_cast<std::uint32_t>(at);
  }
}

CountTable CountTable::binomial(std::uint64_t trials, double p, double q) {
  return binomial_and_one(trials, p, q, 0.0);
}

CountTable CountTable::binomial_and_one(std::uint64_t trials, double p, double q, double extra) {
  if (p <= 0.0 || q <= 0.0) {
    const std::vector<double> probabilities = {1.0 - extra, extra};
    return {p <= 0.0 ? 0 : trials, probabilities, 0.0};
  }
  const BinomialWindow window = binomial_window(trials, p, q, kTail);
  std::vector<double> probabilities(window.probabilities.size() + (extra > 0.0 ? 1 : 0), 0.0);
  for (std::size_t i = 0; i < window.probabilities.size(); ++i) {
    probabilities[i] += window.probabilities[i] * (1.0 - extra);
    if (extra > 0.0) probabilities[i + 1] += window.probabilities[i] * extra;
  }
  return {window.first, probabilities, kBinomialError + window.below + window.above};
}

BinomialLadder::BinomialLadder(std::uint64_t most, double p, double q) {
  for (std::uint64_t trials = 1; trials <= most && trials != 0; trials <<= 1) {
    steps_.push_back(CountTable::binomial(trials, p, q));
    error_ += steps_.back().error();
  }
}

std::uint64_t BinomialLadder::draw(std::uint64_t trials, BitSource& bits) const {
  std::uint64_t sum = 0;
  for (; trials != 0; trials &= trials - 1) {
    sum += steps_[static_cast<std::size_t>(std::countr_zero(trials))].draw(bits);
  }
  return sum;
}

MultinomialDraw::MultinomialDraw(std::uint64_t trials, std::vector<double> probabilities)
    : trials_(trials), outcomes_(probabilities.size()) {
  const auto mass = [&](std::size_t from, std::size_t to) {
    return std::accumulate(probabilities.begin() + static_cast<std::ptrdiff_t>(from),
                           probabilities.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
  };
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, probabilities.size()}};
  while (!open.empty()) {
    const auto [begin, end] = open.back();
    open.pop_back();
    if (end - begin < 2) continue;
    const std::size_t middle = begin + (end - begin) / 2;
    const double left = mass(begin, middle);
    const double right = mass(middle, end);
    const double all = left + right;
    const bool never = all <= 0.0;
    splits_.push_back(
        {begin, middle, end,
         BinomialLadder(trials, never ? 1.0 : left / all, never ? 0.0 : right / all)});
    error_ += splits_.back().left.error();
    open.emplace_back(begin, middle);
    open.emplace_back(middle, end);
  }
}

void MultinomialDraw::draw(BitSource& bits, std::span<std::uint64_t> counts) const {
  std::fill(counts.begin(), counts.end(), 0);
  counts[0] = trials_;  // the count of a range stands at its beginning until it is split
  for (const Split& split : splits_) {
    const std::uint64_t all = counts[split.begin];
    const std::uint64_t left = split.left.draw(all, bits);
    counts[split.begin] = left;
    counts[split.middle] = all - left;
  }
}

}  // namespace sotto
