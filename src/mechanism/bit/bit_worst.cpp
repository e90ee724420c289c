// Where a bit mechanism gives most away: two inputs that differ in every bit that they can, and the
// report that speaks most clearly for the first.
#include <algorithm>

#include "mechanism/bit/bit.h"

namespace sotto {
namespace {

/// The input bit and output bit at positions of one parity for which the ratio to the other input
/// bit is largest.
struct WorstBit {
  bool input = true;
  bool output = true;
  exact::Rational ratio = 1;
};

WorstBit worst_bit(const BitThresholds& thresholds, std::size_t parity) {
  WorstBit worst;
  for (const bool input : {true, false}) {
    for (const bool output : {true, false}) {
      const exact::Rational ratio(thresholds.words(parity, input, output),
                                  thresholds.words(parity, !input, output));
      if (ratio > worst.ratio) worst = {input, output, ratio};
    }
  }
  return worst;
}

std::string pattern(bool even, bool odd, std::size_t bits) {
  const auto digit = [](bool one) { return one ? "1" : "0"; };
  if (bits == 0) return "no bits";
  if (bits == 1 || even == odd) return std::string("every bit ") + digit(even);
  return std::string("even bits ") + digit(even) + ", odd bits " + digit(odd);
}

}  // namespace

double BitMechanism::epsilon_of_bits(std::size_t even, std::size_t odd) const {
  const double of_even = exact::log_ratio_up(worst_bit(design_.thresholds, 0).ratio, 1);
  const double of_odd = exact::log_ratio_up(worst_bit(design_.thresholds, 1).ratio, 1);
  const auto times = [](double epsilon, std::size_t n) {
    return exact::multiply_up(epsilon, static_cast<double>(n));
  };
  // Rounded up once where it can be, so that a bound of the sum holds for what is printed.
  if (of_even == of_odd) return times(of_even, even + odd);
  return exact::add_up(times(of_even, even), times(of_odd, odd));
}

double BitMechanism::epsilon_of_label() const {
  return exact::log_ratio_up(exact::Rational(design_.label.own), design_.label.other);
}

void BitMechanism::find_worst_case() {
  const BitThresholds& thresholds = design_.thresholds;
  const std::size_t bits = design_.code.bits();
  const WorstBit even = worst_bit(thresholds, 0);
  const WorstBit odd = worst_bit(thresholds, 1);
  if (design_.code.input == BitInput::kOneHot) {
    // One position falls from 1 to 0 and another rises, here 0 and 1; thresholds are the same at
    // all positions. A single position is always 1 and tells nothing.
    const auto ratio = [&](bool from) {
      exact::Rational best = 0;
      for (const bool output : {false, true}) {
        const exact::Rational of_output(thresholds.words(0, from, output),
                                        thresholds.words(0, !from, output));
        best = std::max(best, of_output);
      }
      return best;
    };
    worst_.epsilon = bits < 2 ? 0.0 : exact::log_ratio_up(ratio(true) * ratio(false), 1);
    worst_.input = "1 at position 0";
    worst_.other_input = bits < 2 ? "1 at position 0" : "1 at position 1";
    worst_.output = bits < 2 ? "any" : "bit 0 set, bit 1 not, all others equal";
    return;
  }
  worst_.epsilon = epsilon_of_bits((bits + 1) / 2, bits / 2);
  worst_.input = pattern(even.input, odd.input, bits);
  worst_.other_input = pattern(!even.input, !odd.input, bits);
  worst_.output = pattern(even.output, odd.output, bits);
  if (design_.label.classes == 0) return;
  worst_.epsilon = exact::add_up(worst_.epsilon, epsilon_of_label());
  worst_.input += ", label 0";
  worst_.other_input += ", label 1";
  worst_.output += ", label 0";
}

std::vector<float> BitMechanism::input_with(bool even, bool odd, std::uint64_t label) const {
  const BitCode& code = design_.code;
  std::vector<float> x(domain_.layout->size(), 0.0F);
  const unsigned width = code.bits_a_value();
  for (std::size_t value = 0; value < code.values; ++value) {
    std::uint32_t pattern = 0;
    for (std::size_t bit = 0; bit < width; ++bit) {
      const bool one = (value * width + bit) % 2 == 0 ? even : odd;
      pattern = pattern << 1 | (one ? 1U : 0U);
    }
    x[value] = code.input == BitInput::kFeatures ? code.feature.decode(pattern)
                                                 : static_cast<float>(pattern);
  }
  if (design_.label.classes > 0) x.back() = static_cast<float>(label);
  return x;
}

WorstCase BitMechanism::worst_case() const {
  WorstCase worst = worst_;
  if (design_.code.input == BitInput::kOneHot) {
    worst.values.assign(domain_.layout->size(), 0.0F);
    worst.other_values = worst.values;
    worst.values.front() = 1.0F;
    worst.other_values[std::min<std::size_t>(1, worst.values.size() - 1)] = 1.0F;
    return worst;
  }
  const bool even = worst_bit(design_.thresholds, 0).input;
  const bool odd = worst_bit(design_.thresholds, 1).input;
  worst.values = input_with(even, odd, 0);
  worst.other_values = input_with(!even, !odd, 1);
  return worst;
}

}  // namespace sotto
