// Composition of privacy losses: convolution of positive numbers, directly.
//
// An FFT would be faster for long arrays, but its error is absolute: about 10^-16 a point, times
// the number of compositions, which at 10^9 of them is more than delta. Sums of positive products
// err relatively, so tails stay right however small they are. Arrays stay short instead: whenever
// one has grown beyond kPoints, the step doubles, and the spread that this adds stays a hundred
// thousandth of the spread of the loss. So 10^10 compositions are 33 squarings of short arrays.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "account/loss_builder.h"
#include "base/exact/exact.h"

namespace sotto {
namespace {

constexpr std::size_t kPoints = 4096;
constexpr double kRounding = 0x1p-53;
/// What is cut off at an end, at each composition. It is added to delta.
constexpr double kTail = 1e-22;
/// Of exponentials and logarithms, relatively: far more than any library's.
constexpr double kFunction = 1e-13;

double power_of_two_below(double value) { return std::exp2(std::floor(std::log2(value))); }

}  // namespace

LossBuilder::LossBuilder(double step, double reach) {
  step = power_of_two_below(step);
  while (2.0 * reach / step > static_cast<double>(kMost)) step *= 2.0;
  side_.step = step;
  side_.first = -static_cast<std::int64_t>(std::ceil(reach / step)) - 1;
  side_.probabilities.assign(static_cast<std::size_t>(-2 * side_.first + 2), 0.0);
  small_ = step <= 0x1p-7;
  scale_ = 1.0 / (small_ ? std::expm1(step) : std::expm1(-step));
}

PrivacyLoss::Side LossBuilder::finish(double error) && {
  auto& probabilities = side_.probabilities;
  // What is no number must not pass for nothing: it may hide any loss.
  const auto broken = [](double probability) { return !(probability >= 0.0); };
  if (std::any_of(probabilities.begin(), probabilities.end(), broken)) {
    probabilities.clear();
    side_.infinite = 1.0;
  }
  const auto used = [](double probability) { return probability > 0.0; };
  const auto last = std::find_if(probabilities.rbegin(), probabilities.rend(), used).base();
  probabilities.erase(last, probabilities.end());
  const auto first = std::find_if(probabilities.begin(), probabilities.end(), used);
  side_.first += first - probabilities.begin();
  probabilities.erase(probabilities.begin(), first);
  if (probabilities.empty()) probabilities.push_back(0.0);  // all of it is infinite
  side_.slack = error + kFunction;
  return std::move(side_);
}

PrivacyLoss LossBuilder::symmetric(PrivacyLoss::Side side) {
  PrivacyLoss loss;
  loss.forward_ = std::move(side);
  return loss;
}

PrivacyLoss LossBuilder::directed(PrivacyLoss::Side forward, PrivacyLoss::Side backward) {
  PrivacyLoss loss = symmetric(std::move(forward));
  loss.backward_ = std::move(backward);
  return loss;
}

void PrivacyLoss::coarsen(Side& side) {
  // A point between two of the new grid is split as LossBuilder splits: e^s parts of 1 + e^s go up.
  const double down = 1.0 / (1.0 + std::exp(side.step)) * (1.0 - 1e-15);
  const bool odd = side.first % 2 != 0;
  const std::int64_t first = (side.first - (odd ? 1 : 0)) / 2;
  const std::size_t offset = odd ? 1 : 0;
  std::vector<double> coarse((side.probabilities.size() + offset) / 2 + 1, 0.0);
  for (std::size_t i = 0; i < side.probabilities.size(); ++i) {
    const double probability = side.probabilities[i];
    const std::size_t at = i + offset;
    if (at % 2 == 0) {
      coarse[at / 2] += probability;
    } else {
      coarse[at / 2] += probability * down;
      coarse[at / 2 + 1] += probability - probability * down;
    }
  }
  side.probabilities = std::move(coarse);
  side.first = first;
  side.step *= 2.0;
  side.slack += 4.0 * kRounding;
}

void PrivacyLoss::trim(Side& side) {
  auto& probabilities = side.probabilities;
  // The highest losses become infinite; the lowest are raised to the first that is kept.
  double cut = 0.0;
  while (probabilities.size() > 1 && cut + probabilities.back() <= kTail) {
    cut += probabilities.back();
    probabilities.pop_back();
  }
  side.infinite += cut;
  cut = 0.0;
  std::size_t low = 0;
  while (low + 1 < probabilities.size() && cut + probabilities[low] <= kTail)
    cut += probabilities[low++];
  probabilities.erase(probabilities.begin(),
                      probabilities.begin() + static_cast<std::ptrdiff_t>(low));
  probabilities.front() += cut;
  side.first += static_cast<std::int64_t>(low);
  while (probabilities.size() > kPoints) coarsen(side);
}

PrivacyLoss::Side PrivacyLoss::convolve(Side a, Side b) {
  if (a.step == 0.0) std::swap(a, b);
  Side sum;
  sum.slack = a.slack + b.slack;
  sum.infinite = a.infinite + b.infinite;  // no less than 1 - (1 - a)(1 - b)
  if (b.step == 0.0) {                     // the loss 0 alone
    sum.step = a.step;
    sum.first = a.first;
    sum.probabilities = std::move(a.probabilities);
    return sum;
  }
  trim(a);
  trim(b);
  while (a.step < b.step) coarsen(a);
  while (b.step < a.step) coarsen(b);
  sum.step = a.step;
  sum.first = a.first + b.first;
  sum.probabilities.assign(a.probabilities.size() + b.probabilities.size() - 1, 0.0);
  const std::size_t width = b.probabilities.size();
  const double* const right = b.probabilities.data();
  for (std::size_t i = 0; i < a.probabilities.size(); ++i) {
    const double probability = a.probabilities[i];
    if (probability == 0.0) continue;
    double* const out = sum.probabilities.data() + i;
    for (std::size_t j = 0; j < width; ++j) out[j] += probability * right[j];
  }
  sum.slack += static_cast<double>(std::min(a.probabilities.size(), width) + 2) * kRounding *
               (1.0 + sum.slack);
  trim(sum);
  return sum;
}

PrivacyLoss::Side PrivacyLoss::power(Side side, std::uint64_t count) {
  Side result;
  while (true) {
    if ((count & 1U) != 0) result = convolve(std::move(result), side);
    count >>= 1U;
    if (count == 0) return result;
    side = convolve(side, side);
  }
}

PrivacyLoss PrivacyLoss::times(std::uint64_t count) const {
  PrivacyLoss result;
  if (count == 0) return result;
  result.forward_ = power(forward_, count);
  if (backward_) result.backward_ = power(*backward_, count);
  return result;
}

PrivacyLoss PrivacyLoss::with(const PrivacyLoss& other) const {
  PrivacyLoss result;
  result.forward_ = convolve(forward_, other.forward_);
  if (backward_ || other.backward_) {
    result.backward_ =
        convolve(backward_.value_or(forward_), other.backward_.value_or(other.forward_));
  }
  return result;
}

// Zhu, Dong, Wang 2022: where (P, Q) dominates, the client is picked with probability g and the set
// of the others says nothing about it, (g P + (1 - g) Q, Q) dominates for epsilon >= 0 and
// (P, (1 - g) P + g Q) for epsilon < 0. Joined at 0, where the two curves meet, they are one pair.
PrivacyLoss::Side PrivacyLoss::sampled(const Side& side, double rate) {
  const auto last =
      static_cast<double>(side.first) + static_cast<double>(side.probabilities.size()) - 1.0;
  const double reach =
      std::max(std::abs(static_cast<double>(side.first)), std::abs(last)) * side.step;
  // ln(1 + g (e^l - 1)): close to g l for small losses, so the grid becomes finer by as much.
  const auto shrunk = [rate](double loss) {
    return loss > 30.0 ? loss + std::log(rate + (1.0 - rate) * std::exp(-loss))
                       : std::log1p(rate * std::expm1(loss));
  };
  LossBuilder builder(side.step * rate, shrunk(reach) + side.step);
  double zero = (1.0 - rate) * side.infinite;
  for (std::size_t i = 0; i < side.probabilities.size(); ++i) {
    const double loss = (static_cast<double>(side.first) + static_cast<double>(i)) * side.step;
    const double probability = side.probabilities[i];
    if (loss > 0.0) {
      const double other = probability * std::exp(-loss);
      builder.add(shrunk(loss), rate * probability + (1.0 - rate) * other);
      zero += (1.0 - rate) * (probability - other);
    } else if (loss < 0.0) {
      builder.add(-shrunk(-loss), probability);
    } else {
      zero += probability;
    }
  }
  builder.add(0.0, zero);
  builder.add_infinite(rate * side.infinite);
  return std::move(builder).finish(side.slack + kFunction);
}

PrivacyLoss PrivacyLoss::sampled(double rate) const {
  if (rate >= 1.0 || forward_.step == 0.0) return *this;
  // Both orders of a pair of neighbours enter the proof: the worse one counts for both.
  PrivacyLoss result;
  result.forward_ = sampled(forward_, rate);
  if (backward_) result.backward_ = sampled(*backward_, rate);
  return result;
}

// Poisson sampling, neighbours with and without a record (Zhu, Dong, Wang 2022, Theorem 11): the
// pair is (g P + (1 - g) Q, Q), and in the other direction the same pair reversed. An output that
// only Q has tells, with loss ln(1 - g), that the record was not drawn; one that only P has gives
// it away.
PrivacyLoss PrivacyLoss::poisson(double rate) const {
  if (rate >= 1.0 || forward_.step == 0.0) return *this;
  const Side& side = forward_;
  const auto loss_at = [&](std::size_t i) {
    return (static_cast<double>(side.first) + static_cast<double>(i)) * side.step;
  };
  const auto mixed = [rate](double loss) {
    return loss > 30.0 ? loss + std::log(rate + (1.0 - rate) * std::exp(-loss))
                       : std::log1p(rate * std::expm1(loss));
  };
  const double reach =
      std::max(-std::log1p(-rate), std::abs(mixed(loss_at(side.probabilities.size())))) + side.step;
  LossBuilder forward(side.step * rate, reach), backward(side.step * rate, reach);
  double only_without = 1.0;
  for (std::size_t i = 0; i < side.probabilities.size(); ++i) {
    const double loss = loss_at(i), with = side.probabilities[i], without = with * std::exp(-loss);
    forward.add(mixed(loss), rate * with + (1.0 - rate) * without);
    backward.add(-mixed(loss), without);
    only_without -= without;
  }
  // A difference of rounded numbers: what it may be too small by is added.
  only_without = std::max(0.0, only_without) + side.slack + kFunction;
  forward.add(std::log1p(-rate), (1.0 - rate) * only_without);
  backward.add(-std::log1p(-rate), only_without);
  forward.add_infinite(rate * side.infinite);
  return LossBuilder::directed(std::move(forward).finish(side.slack + kFunction),
                               std::move(backward).finish(side.slack + kFunction));
}

double PrivacyLoss::delta_of(const Side& side, double epsilon) {
  double sum = 0.0;
  const auto size = static_cast<std::int64_t>(side.probabilities.size());
  for (std::int64_t i = size - 1; i >= 0; --i) {
    const double above = static_cast<double>(side.first + i) * side.step - epsilon;
    if (above <= 0.0) break;
    sum -= side.probabilities[static_cast<std::size_t>(i)] * std::expm1(-above);
  }
  return std::min(1.0, (side.infinite + sum) * (1.0 + 2.0 * side.slack + 1e-12));
}

double PrivacyLoss::delta(double epsilon) const {
  const double forward = delta_of(forward_, epsilon);
  return backward_ ? std::max(forward, delta_of(*backward_, epsilon)) : forward;
}

double PrivacyLoss::epsilon(double delta) const {
  if (this->delta(0.0) <= delta) return 0.0;
  const auto reach = [](const Side& side) {
    return (static_cast<double>(side.first) + static_cast<double>(side.probabilities.size())) *
           side.step;
  };
  double low = 0.0;
  double high = std::max(reach(forward_), backward_ ? reach(*backward_) : 0.0);
  if (this->delta(high) > delta) return std::numeric_limits<double>::infinity();
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2.0;
    if (middle <= low || middle >= high) break;
    (this->delta(middle) <= delta ? high : low) = middle;
  }
  return high;
}

double PrivacyLoss::renyi(double order) const {
  const auto of = [order](const Side& side) {
    if (side.infinite > 0.0) return std::numeric_limits<double>::infinity();
    const auto last =
        static_cast<double>(side.first) + static_cast<double>(side.probabilities.size());
    double sum = 0.0;  // of probability e^((order - 1)(loss - last)), so that nothing overflows
    for (std::size_t i = 0; i < side.probabilities.size(); ++i) {
      const double behind =
          (static_cast<double>(side.first) + static_cast<double>(i) - last) * side.step;
      sum += side.probabilities[i] * std::exp((order - 1.0) * behind);
    }
    const double value =
        last * side.step +
        (std::log(sum) + side.slack + kFunction * std::abs(std::log(sum))) / (order - 1.0);
    return std::max(0.0, value + kFunction * std::abs(value));
  };
  return backward_ ? std::max(of(forward_), of(*backward_)) : of(forward_);
}

PrivacyLoss PrivacyLoss::approximate(double epsilon, double delta) {
  if (epsilon <= 0.0 || !std::isfinite(epsilon)) {
    Side side;
    side.infinite = epsilon <= 0.0 ? std::max(delta, 0.0) : 1.0;
    return LossBuilder::symmetric(std::move(side));
  }
  LossBuilder builder(epsilon / 1024.0, epsilon);
  const double truth = 1.0 / (1.0 + std::exp(-epsilon));
  builder.add(epsilon, (1.0 - delta) * truth);
  builder.add(-epsilon, (1.0 - delta) * std::exp(-epsilon) * truth);
  builder.add_infinite(delta);
  return LossBuilder::symmetric(std::move(builder).finish(kFunction));
}

PrivacyLoss PrivacyLoss::pure(double epsilon) { return approximate(epsilon, 0.0); }

// The loss is N(m^2/2, m^2) under P and N(-m^2/2, m^2) under Q. What lies between two grid points
// is split as LossBuilder splits single outputs; only its probabilities under P and Q are needed.
PrivacyLoss PrivacyLoss::gaussian(double ratio) {
  if (ratio <= 0.0) return {};
  constexpr double kReach = 9.5;  // deviations; beyond lies 10^-21
  const auto upper = [](double z) { return 0.5 * std::erfc(z * std::numbers::sqrt2 / 2.0); };
  const auto between = [&upper](double from, double to) {
    return from >= 0.0 ? upper(from) - upper(to) : upper(-to) - upper(-from);
  };
  Side side;
  side.step = power_of_two_below(ratio / 128.0);
  const double middle = ratio * ratio / 2.0;
  side.first = static_cast<std::int64_t>(std::floor((middle - kReach * ratio) / side.step));
  const auto end = static_cast<std::int64_t>(std::ceil((middle + kReach * ratio) / side.step));
  side.probabilities.assign(static_cast<std::size_t>(end - side.first) + 1, 0.0);
  const double shrink = -std::expm1(-side.step);
  for (std::int64_t i = side.first; i < end; ++i) {
    const double low = static_cast<double>(i) * side.step, high = low + side.step;
    const double p = between((low - middle) / ratio, (high - middle) / ratio);
    const double q = between((low + middle) / ratio, (high + middle) / ratio);
    const double lower = (q * std::exp(low) - p * std::exp(-side.step)) / shrink;
    // Differences of nearby tails are right to 10^-12 of themselves: what that leaves open goes to
    // the higher point, and all of it where e^low overflows.
    const double sure = lower - 1e-12 * p / shrink;
    const double kept = sure > 0.0 && sure <= p ? sure : 0.0;
    side.probabilities[static_cast<std::size_t>(i - side.first)] += kept;
    side.probabilities[static_cast<std::size_t>(i - side.first) + 1] += p - kept;
  }
  side.infinite = upper(kReach) * 1.01;
  side.probabilities.front() += side.infinite;  // below the grid: raised to its first point
  side.slack = 2e-12;
  return LossBuilder::symmetric(std::move(side));
}

PrivacyLoss loss_of(const Mechanism& mechanism) {
  const Guarantee guarantee = mechanism.guarantee();
  if (guarantee.gaussian_ratio > 0.0) return PrivacyLoss::gaussian(guarantee.gaussian_ratio);
  if (guarantee.delta > 0.0) return PrivacyLoss::approximate(guarantee.epsilon, guarantee.delta);
  return PrivacyLoss::pure(guarantee.unit_epsilon).times(guarantee.units);
}

}  // namespace sotto
