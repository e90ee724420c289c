// Randomizers inside the test program, for the audit that knows nothing of what it audits: sound
// ones, and parts of broken ones.
#pragma once

#include <cmath>
#include <functional>

#include "audit/randomizers.h"
#include "sotto/bits.h"

namespace sotto {

using Draw = std::function<double(double x, BitSource& bits)>;
using DrawVector =
    std::function<std::vector<double>(const std::vector<double>& x, BitSource& bits)>;

/// Stands where a program stands: a stream of its own for every batch.
class FakeRandomizer final : public Randomizer {
 public:
  FakeRandomizer(NumberPair inputs, DrawVector draw, std::uint64_t seed = 1)
      : inputs_(std::move(inputs)), draw_(std::move(draw)), seed_(seed) {}
  FakeRandomizer(double zero, double one, const Draw& draw, std::uint64_t seed = 1)
      : FakeRandomizer(
            {{zero}, {one}},
            [draw](const std::vector<double>& x, BitSource& bits) {
              return std::vector<double>{draw(x.front(), bits)};
            },
            seed) {}

  const NumberPair& inputs() const { return inputs_; }

  Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t batch) override {
    BitSource bits = BitSource::from_seed(seed_, "fake", {batch});
    Outputs outputs;
    for (const bool one : inputs) {
      const std::vector<double> y = draw_(one ? inputs_.one : inputs_.zero, bits);
      outputs.width = y.size();
      outputs.values.insert(outputs.values.end(), y.begin(), y.end());
    }
    return outputs;
  }

  Result<RandomizerFinding> audit(double claim, std::uint64_t trials, double confidence = 0.95,
                                  double delta = 0.0) {
    AuditPlan plan;
    plan.claim = claim;
    plan.trials = trials;
    plan.confidence = confidence;
    plan.delta = delta;
    plan.threads = 2;
    plan.seed = seed_;
    return audit_randomizer(*this, inputs_, plan, 50'000);
  }

 private:
  NumberPair inputs_;
  DrawVector draw_;
  std::uint64_t seed_;
};

/// Two values; x in [-1, 1] is not clipped.
inline Draw two_point(double epsilon) {
  const double e = std::exp(epsilon);
  return [=](double x, BitSource& bits) {
    const double plus = 0.5 + x * (e - 1) / (2 * (e + 1));
    return (bits.unit() < plus ? 1 : -1) * (e + 1) / (e - 1);
  };
}

inline double laplace_noise(double scale, BitSource& bits) {
  const double u = bits.unit() - 0.5;
  return (u < 0 ? 1 : -1) * scale * std::log1p(-2 * std::abs(u));
}

/// In doubles, and so that the sum is rounded to 2^-20: what the double says beyond is the same for
/// all inputs that are multiples of it.
inline Draw laplace(double scale) {
  return [=](double x, BitSource& bits) {
    return std::nearbyint((x + laplace_noise(scale, bits)) * 0x1p20) * 0x1p-20;
  };
}

/// Generalized randomized response over 0 .. size - 1.
inline Draw grr(double epsilon, std::uint64_t size) {
  const double stay = std::exp(epsilon) / (std::exp(epsilon) + static_cast<double>(size) - 1);
  return [=](double x, BitSource& bits) {
    if (bits.unit() < stay) return x;
    const auto other = static_cast<double>(bits.below(size - 1));
    return other < x ? other : other + 1;
  };
}

/// Every bit flipped on its own, epsilon for all bits together.
inline DrawVector random_bits(double epsilon, std::size_t size) {
  const double flip = 1 / (1 + std::exp(epsilon / static_cast<double>(size)));
  return [=](const std::vector<double>& x, BitSource& bits) {
    std::vector<double> y = x;
    for (double& bit : y) bit = bits.unit() < flip ? 1 - bit : bit;
    return y;
  };
}

}  // namespace sotto
