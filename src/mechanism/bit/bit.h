// A mechanism on bits: every bit of an encoded input becomes a random bit of its own, and the class
// label of the input, where there is one, a random class.
//
// What a mechanism's file decides are four integers, how many of 2^64 words give a 1 for an input
// bit 0 or 1 at an even or odd position (bit_sampler.h). Everything else follows from them here:
// bits are independent, so the largest log-ratio of a report is the sum over the bits in which two
// inputs differ of max(|ln P(1|1)/P(1|0)|, |ln P(0|1)/P(0|0)|). Features can differ in every bit,
// one-hot vectors in two. The decoded value of an output is an unbiased estimate of its input bit,
// (y - P(1|0)) / (P(1|1) - P(1|0)).
#pragma once

#include "base/random/streams.h"
#include "mechanism/bit/bit_code.h"
#include "mechanism/bit/bit_sampler.h"
#include "mechanism/registration.h"

namespace sotto {

/// Generalized randomized response over the classes: the true one has `own` numbers and every
/// other one `other`, of total() in all, among which we choose by rejection. It is sent as
/// `classes` bits of which exactly one is set.
struct LabelMasses {
  std::uint64_t classes = 0;  // 0: there is no label
  std::uint64_t own = 1;
  std::uint64_t other = 1;

  /// With own / other <= e^epsilon, in integers.
  static LabelMasses with(std::uint64_t classes, double epsilon);
  std::uint64_t total() const { return own + (classes - 1) * other; }
  /// The class that a value stands for: the nearest one, whatever the float; a tie goes down.
  std::uint64_t class_of(float value) const;
  std::uint64_t draw(std::uint64_t label, MoreBits& bits) const;
};

/// What a mechanism's file decides.
struct BitDesign {
  BitCode code;
  BitThresholds thresholds;
  LabelMasses label;  // of the last input value, which `code` leaves out then
  double claimed = 0.0;
  std::string statement;
};

class BitMechanism final : public Mechanism {
 public:
  /// Bits are cut into blocks of so many, each with a random stream of its own.
  static constexpr std::size_t kBlock = std::size_t{64} * 512;

  static std::unique_ptr<Mechanism> make(std::string_view version, Domain domain,
                                         const Parameters& parameters, BitDesign design);

  std::string_view id() const noexcept override { return id_; }
  const Domain& domain() const noexcept override { return domain_; }
  Guarantee guarantee() const override { return guarantee_; }
  WorstCase worst_case() const override;
  std::size_t outputs() const noexcept override {
    return design_.code.bits() + static_cast<std::size_t>(design_.label.classes);
  }
  unsigned symbol_bits() const noexcept override { return 1; }
  /// 9.3 levels on average until none of 256 bits is open, each of one random bit.
  double random_bytes_per_output() const noexcept override { return 9.3 / 8.0; }
  Symbol smallest_symbol() const noexcept override { return 0; }
  Symbol largest_symbol() const noexcept override { return 1; }
  std::vector<Symbol> alphabet(std::size_t /*output*/) const override { return {0, 1}; }
  void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
              std::span<double> mean) const override;
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override;
  Moments moments(std::span<const float> x, std::size_t output) const override;
  bool sums_to_one(std::span<const float> x, std::size_t output) const override;
  Background background(std::size_t first, std::size_t count) const override;
  std::vector<Constant> constants() const override;

  const BitDesign& design() const noexcept { return design_; }

 private:
  struct Lane;
  /// P(1) of an output as a share of `total`, for either value of its input bit.
  struct Odds {
    std::uint64_t if_zero;
    std::uint64_t if_one;
    double total;
    double probability(bool input) const {
      return static_cast<double>(input ? if_one : if_zero) / total;
    }
    double difference() const;  // P(1|1) - P(1|0), without cancellation
    double scale() const { return if_one == if_zero ? 1.0 : 1.0 / difference(); }
  };

  BitMechanism(BitDesign design, Domain domain);
  void find_worst_case();
  /// An input with these bits at even and odd positions, and with this label where there is one.
  std::vector<float> input_with(bool even, bool odd, std::uint64_t label) const;
  /// The most that so many bits at even and odd positions differ by, and the label.
  double epsilon_of_bits(std::size_t even, std::size_t odd) const;
  double epsilon_of_label() const;
  void find_logarithms();
  Odds odds_of(std::size_t output) const;
  bool input_bit(std::span<const float> x, std::size_t output) const;
  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override;
  void sample_block(const BitView& view, std::size_t block, Lane& lane, PackedSymbols& out) const;
  void sample_label(float value, BlockStream& stream, PackedSymbols& out) const;

  BitDesign design_;
  Domain domain_;
  SlicedSampler sampler_;
  std::string id_;
  Guarantee guarantee_;
  WorstCase worst_;           // in words; the inputs may be long
  double log_[2][2][2] = {};  // ln P(output | input), by parity, input and output
  double log_label_[2] = {};  // of another class and of the true one
};

/// For one-hot input: all values of the domain, of which bound() leaves one.
BitCode one_hot_code(Domain& domain);

/// For features, by the parameters `whole` and `fraction`, or raw bits without them: sets the
/// ranges of the domain. With `classes`, the last value is a label and no part of the code.
Result<BitCode> feature_code(std::string_view mechanism, Domain& domain,
                             const Parameters& parameters, std::uint64_t classes = 0);

inline constexpr ParameterInfo kWhole{
    .name = "whole",
    .low = 0.0,
    .high = FeatureCode::kMostWhole,
    .integer = true,
    .required = false,
    .meaning = "bits of a feature's whole number; without whole and fraction inputs are bits"};
inline constexpr ParameterInfo kFraction{.name = "fraction",
                                         .low = 0.0,
                                         .high = FeatureCode::kMostFraction,
                                         .integer = true,
                                         .required = false,
                                         .meaning = "bits of a feature's fraction"};

}  // namespace sotto
