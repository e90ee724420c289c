#include "mechanism/bit/bit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::size_t kWord = 64;
constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Random words of one block in order. How many are fetched at once changes nothing of what is
/// read: the cipher's stream goes on where it stopped.
class WordReader {
 public:
  explicit WordReader(BlockStream& stream) : stream_(&stream), buffer_(kCapacity) {}

  void start(std::uint64_t block) {
    stream_->seek(block);
    next_ = end_ = buffer_.data();
  }
  /// SlicedSampler::kMostRandom words or more. `draws` are yet to come: the rest of the block, for
  /// which we fetch what it will usually need.
  const std::uint64_t* ready(std::size_t draws) {
    if (static_cast<std::size_t>(end_ - next_) < SlicedSampler::kMostRandom) fetch(draws);
    return next_;
  }
  void used_until(const std::uint64_t* next) { next_ = next; }

 private:
  static constexpr std::size_t kCapacity = 2048;
  static constexpr std::size_t kUsual = 9 * SlicedSampler::kTogether;

  void fetch(std::size_t draws) {
    const auto kept = static_cast<std::size_t>(end_ - next_);
    std::copy(next_, end_, buffer_.data());
    const std::size_t end = std::min(kCapacity, SlicedSampler::kMostRandom + kUsual * draws);
    stream_->fill(std::span(buffer_).subspan(kept, end - kept));
    next_ = buffer_.data();
    end_ = buffer_.data() + end;
  }

  BlockStream* stream_;
  std::vector<std::uint64_t> buffer_;
  const std::uint64_t* next_ = nullptr;
  const std::uint64_t* end_ = nullptr;
};

}  // namespace

// --- the label

LabelMasses LabelMasses::with(std::uint64_t classes, double epsilon) {
  // Masses of 2^63 in all leave the ratio a relative error of 1 / other.
  const exact::Integer whole = exact::Integer(1) << 63;
  const exact::Integer power = exact::ceil_times_exp(exact::Rational(1), std::max(epsilon, 0.0));
  const exact::Integer other = std::max<exact::Integer>(1, whole / (power + classes - 1));
  exact::Integer own = exact::floor_times_exp(exact::Rational(other), std::max(epsilon, 0.0));
  own = std::min<exact::Integer>(own, whole - (classes - 1) * other);
  own = std::max(own, other);
  return {classes, own.convert_to<std::uint64_t>(), other.convert_to<std::uint64_t>()};
}

std::uint64_t LabelMasses::class_of(float value) const {
  const auto last = static_cast<double>(classes - 1);
  const double nearest = std::ceil(static_cast<double>(value) - 0.5);
  // Written so that NaN is class 0.
  return nearest > 0.0 ? static_cast<std::uint64_t>(std::min(nearest, last)) : 0;
}

std::uint64_t LabelMasses::draw(std::uint64_t label, MoreBits& bits) const {
  const std::uint64_t at = bits.below(total());
  if (at < own) return label;
  const std::uint64_t among_others = (at - own) / other;
  return among_others < label ? among_others : among_others + 1;
}

// --- what is known of the design

BitMechanism::BitMechanism(BitDesign design, Domain domain)
    : design_(std::move(design)), domain_(std::move(domain)), sampler_(design_.thresholds) {}

std::unique_ptr<Mechanism> BitMechanism::make(std::string_view version, Domain domain,
                                              const Parameters& parameters, BitDesign design) {
  std::unique_ptr<BitMechanism> self(new BitMechanism(std::move(design), std::move(domain)));
  self->id_ = mechanism_id(version, self->domain_, parameters);
  self->find_worst_case();
  self->find_logarithms();
  Guarantee& guarantee = self->guarantee_;
  guarantee.epsilon = self->worst_.epsilon;
  guarantee.unit = GuaranteeUnit::kReport;
  guarantee.unit_epsilon = guarantee.epsilon;
  guarantee.claimed_epsilon = self->design_.claimed;
  guarantee.statement = self->design_.statement;
  return self;
}

void BitMechanism::find_logarithms() {
  const exact::Rational whole(exact::Integer(1) << 64);
  for (std::size_t cell = 0; cell < 8; ++cell) {
    const std::size_t parity = cell / 4, input = cell / 2 % 2, output = cell % 2;
    const exact::Integer words = design_.thresholds.words(parity, input == 1, output == 1);
    log_[parity][input][output] = exact::log_ratio(exact::Rational(words), whole);
  }
  const LabelMasses& label = design_.label;
  if (label.classes == 0) return;
  const exact::Rational total(label.total());
  log_label_[0] = exact::log_ratio(exact::Rational(label.other), total);
  log_label_[1] = exact::log_ratio(exact::Rational(label.own), total);
}

double BitMechanism::Odds::difference() const {
  return if_one > if_zero ? static_cast<double>(if_one - if_zero) / total
                          : -(static_cast<double>(if_zero - if_one) / total);
}

BitMechanism::Odds BitMechanism::odds_of(std::size_t output) const {
  if (output < design_.code.bits()) {
    const auto& of_parity = design_.thresholds.one[output % 2];
    return {of_parity[0], of_parity[1], 0x1p64};
  }
  const LabelMasses& label = design_.label;
  return {label.other, label.own, static_cast<double>(label.total())};
}

bool BitMechanism::input_bit(std::span<const float> x, std::size_t output) const {
  const std::size_t bits = design_.code.bits();
  if (output < bits) return BitView(design_.code, x)[output];
  return design_.label.class_of(x[design_.code.values]) == output - bits;
}

void BitMechanism::decode(std::span<const std::int64_t> sums, std::uint64_t reports,
                          std::size_t first, std::span<double> mean) const {
  const auto count = static_cast<double>(reports);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Odds odds = odds_of(first + i);
    mean[i] = (static_cast<double>(sums[i]) / count - odds.probability(false)) * odds.scale();
  }
}

double BitMechanism::log_prob(std::span<const Symbol> report, std::span<const float> x) const {
  if (report.size() != outputs()) return kNever;
  // How many bits of each parity, input and output there are: equal terms are added as a product.
  std::uint64_t seen[2][2][2] = {};
  const std::size_t bits = design_.code.bits();
  const BitView view(design_.code, x);
  for (std::size_t i = 0; i < bits; ++i) {
    if (report[i] != 0 && report[i] != 1) return kNever;
    ++seen[i % 2][view[i] ? 1 : 0][report[i]];
  }
  double sum = 0.0;
  for (std::size_t cell = 0; cell < 8; ++cell) {
    const std::size_t parity = cell / 4, input = cell / 2 % 2, output = cell % 2;
    sum += static_cast<double>(seen[parity][input][output]) * log_[parity][input][output];
  }
  const LabelMasses& label = design_.label;
  if (label.classes == 0) return sum;
  std::size_t set = bits;
  for (std::size_t i = bits; i < report.size(); ++i) {
    if (report[i] != 0 && report[i] != 1) return kNever;
    if (report[i] == 1) set = i;
  }
  if (std::count(report.begin() + static_cast<std::ptrdiff_t>(bits), report.end(), 1) != 1) {
    return kNever;
  }
  const bool true_one = label.class_of(x[design_.code.values]) == set - bits;
  return sum + log_label_[true_one ? 1 : 0];
}

Moments BitMechanism::moments(std::span<const float> x, std::size_t output) const {
  const Odds odds = odds_of(output);
  const bool bit = input_bit(x, output);
  // (P(1|bit) - P(1|0)) scale: what the two cases give, without the rounding of a difference.
  const double mean = bit && odds.if_one != odds.if_zero ? 1.0 : 0.0;
  const double one = odds.probability(bit);
  // From the integers: 1 - one would lose the low bits of a probability near 1.
  const std::uint64_t ones = bit ? odds.if_one : odds.if_zero;
  const std::uint64_t zeros =
      output < design_.code.bits() ? 0 - ones : design_.label.total() - ones;
  const double zero = static_cast<double>(zeros) / odds.total;
  return {mean, mean - (bit ? 1.0 : 0.0), odds.scale() * odds.scale() * one * zero};
}

bool BitMechanism::sums_to_one(std::span<const float> x, std::size_t output) const {
  const bool bit = input_bit(x, output);
  if (output < design_.code.bits()) {
    const exact::Integer zero = design_.thresholds.words(output, bit, false);
    const exact::Integer one = design_.thresholds.words(output, bit, true);
    return zero > 0 && one > 0 && zero + one == exact::Integer(1) << 64;
  }
  // The classes' numbers, counted one by one, against what below() draws from.
  const LabelMasses& label = design_.label;
  const std::uint64_t true_one = label.class_of(x[design_.code.values]);
  exact::Integer sum = 0;
  for (std::uint64_t k = 0; k < label.classes; ++k) sum += k == true_one ? label.own : label.other;
  return label.other > 0 && sum == exact::Integer(label.total());
}

// --- drawing

struct BitMechanism::Lane {
  explicit Lane(const StreamKey& key) : stream(key), random(stream), words(kBlock / kWord) {}
  BlockStream stream;
  WordReader random;
  std::vector<std::uint64_t> words;
};

void BitMechanism::sample_block(const BitView& view, std::size_t block, Lane& lane,
                                PackedSymbols& out) const {
  constexpr std::size_t kGroup = SlicedSampler::kTogether;
  static_assert(kBlock % (kGroup * kWord) == 0);
  const std::size_t begin = block * kBlock;
  const std::size_t count = std::min(kBlock, design_.code.bits() - begin);
  const std::size_t groups = (count + kGroup * kWord - 1) / (kGroup * kWord);
  const auto words = std::span(lane.words).first(groups * kGroup);
  view.read(begin, words);
  lane.random.start(block);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::uint64_t* const ready = lane.random.ready(groups - g);
    lane.random.used_until(sampler_.draw_fast(words.data() + g * kGroup, ready));
  }
  // What was drawn beyond the last bit must not leave.
  if (count % kWord != 0) words[count / kWord] &= (std::uint64_t{1} << count % kWord) - 1;
  std::memcpy(out.bytes().data() + begin / 8, words.data(), (count + 7) / 8);
}

void BitMechanism::sample_label(float value, BlockStream& stream, PackedSymbols& out) const {
  const std::size_t bits = design_.code.bits();
  const auto bytes = out.bytes().subspan((bits + 7) / 8);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  MoreBits more = stream.more(0);
  const std::uint64_t label = design_.label.draw(design_.label.class_of(value), more);
  const std::size_t at = bits + static_cast<std::size_t>(label);
  out.bytes()[at / 8] |= static_cast<std::byte>(1U << at % 8);
}

void BitMechanism::sample(std::span<const float> input, BitSource& bits, unsigned threads,
                          PackedSymbols& out) const {
  const StreamKey key(bits);
  const BitView view(design_.code, input);
  const std::size_t blocks = (design_.code.bits() + kBlock - 1) / kBlock;
  const unsigned lanes = std::max(1U, std::min<unsigned>(threads, static_cast<unsigned>(blocks)));
  std::vector<std::unique_ptr<Lane>> work(lanes);
  for (auto& lane : work) lane = std::make_unique<Lane>(key);
  const auto done = parallel_for(lanes, blocks, [&](unsigned l, std::size_t block) -> Result<void> {
    sample_block(view, block, *work[l], out);
    return {};
  });
  static_cast<void>(done);  // no block can fail
  if (design_.label.classes == 0) return;
  work[0]->stream.seek(blocks);
  sample_label(input[design_.code.values], work[0]->stream, out);
}

// --- domains

BitCode one_hot_code(Domain& domain) {
  domain.shape = Shape::kOneHot;
  domain.norm = 0.0;
  for (Range& range : domain.ranges) range = Range{0.5, 0.5};
  return {BitInput::kOneHot, {}, domain.layout->size()};
}

Result<BitCode> feature_code(std::string_view mechanism, Domain& domain,
                             const Parameters& parameters, std::uint64_t classes) {
  BitCode code;
  code.values = domain.layout->size();
  if (has(parameters, "whole") != has(parameters, "fraction")) {
    return fail(ErrorKind::kUsage,
                std::string(mechanism) +
                    ": whole and fraction go together; valid: both, for features in "
                    "sign-magnitude, or neither, for inputs that are bits");
  }
  if (has(parameters, "whole")) {
    code.input = BitInput::kFeatures;
    code.feature.whole = static_cast<unsigned>(get(parameters, "whole"));
    code.feature.fraction = static_cast<unsigned>(get(parameters, "fraction"));
    if (code.feature.bits() < 2) {
      return fail(ErrorKind::kUsage, std::string(mechanism) +
                                         ": whole = 0 and fraction = 0 leave a feature no "
                                         "magnitude; valid: whole + fraction at least 1");
    }
  }
  domain.shape = Shape::kBox;
  domain.norm = 0.0;
  for (Range& range : domain.ranges) {
    range = code.input == BitInput::kRaw ? Range{0.5, 0.5} : Range{0.0, code.feature.largest()};
  }
  if (classes == 0) return code;
  if (code.values == 0) {
    return fail(ErrorKind::kUsage, std::string(mechanism) +
                                       ": with classes the last value is the "
                                       "label; valid: at least one value");
  }
  --code.values;
  // A tensor has one range. That of the label's tensor reaches to the last class without moving its
  // centre, and the encoder saturates the features in it.
  const auto& tensors = domain.layout->tensors();
  for (std::size_t t = tensors.size(); t-- > 0;) {
    if (tensors[t].size == 0) continue;
    Range& range = domain.ranges[t];
    range.radius = std::max(range.radius, static_cast<double>(classes - 1) - range.centre);
    break;
  }
  return code;
}

}  // namespace sotto
