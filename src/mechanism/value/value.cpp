#include "mechanism/value/value.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/exact/exact.h"
#include "base/parallel.h"

namespace sotto {

void Channel::draw_block(const BlockDraw& block, std::int32_t* out) const {
  for (std::size_t i = 0; i < block.weights.size(); ++i) {
    MoreBits more = block.more(i);
    out[i] = static_cast<std::int32_t>(draw(block.weights[i], block.words_of(i), more));
  }
}

void Channel::draw_block_wide(const BlockDraw& block, std::int64_t* out) const {
  for (std::size_t i = 0; i < block.weights.size(); ++i) {
    MoreBits more = block.more(i);
    out[i] = draw(block.weights[i], block.words_of(i), more);
  }
}

std::vector<Symbol> Channel::alphabet() const {
  // Unsigned: the difference of two symbols may not fit a signed word.
  const auto count = static_cast<std::uint64_t>(largest()) - static_cast<std::uint64_t>(smallest());
  if (count >= Mechanism::kMostListed) return {};
  std::vector<Symbol> all;
  for (Symbol symbol = smallest(); symbol <= largest(); ++symbol) all.push_back(symbol);
  return all;
}

Background Channel::background() const {
  Background background;
  background.epsilon = worst_case().epsilon;
  return background;
}

bool Channel::wide() const noexcept {
  return smallest() < std::numeric_limits<std::int32_t>::min() ||
         largest() > std::numeric_limits<std::int32_t>::max();
}

Result<std::unique_ptr<Mechanism>> ValueMechanism::make(std::string_view version, Domain domain,
                                                        const Parameters& parameters,
                                                        double claimed, std::string statement,
                                                        const MakeChannel& make, double alpha) {
  std::unique_ptr<ValueMechanism> self(new ValueMechanism);
  domain.shape = Shape::kBox;
  domain.norm = 0.0;
  for (std::size_t t = 0; t < domain.ranges.size(); ++t) {
    const Range& range = domain.ranges[t];
    std::shared_ptr<const Channel> channel;
    for (std::size_t u = 0; u < t && !channel; ++u) {
      const Range& other = domain.ranges[u];
      if (other.centre == range.centre && other.radius == range.radius) {
        channel = self->channels_[u];
      }
    }
    if (!channel) {
      auto made = make(range, parameters);
      if (!made) return at(domain.layout->tensors()[t].name, made.error());
      channel = std::move(*made);
      self->smallest_ =
          t == 0 ? channel->smallest() : std::min(self->smallest_, channel->smallest());
      self->largest_ = t == 0 ? channel->largest() : std::max(self->largest_, channel->largest());
      self->words_ = std::max(self->words_, channel->words());
      self->wide_ = self->wide_ || channel->wide();
    }
    self->channels_.push_back(std::move(channel));
  }
  self->bits_ = PackedSymbols::width_for(self->smallest_, self->largest_);

  Guarantee& guarantee = self->guarantee_;
  guarantee.epsilon = 0.0;
  guarantee.unit = GuaranteeUnit::kWeight;
  guarantee.unit_epsilon = 0.0;
  guarantee.units = domain.layout->size();
  guarantee.claimed_epsilon = claimed;
  guarantee.alpha = alpha;
  guarantee.statement = std::move(statement);
  for (std::size_t t = 0; t < self->channels_.size(); ++t) {
    const double epsilon = self->channels_[t]->worst_case().epsilon;
    const auto weights = static_cast<double>(domain.layout->tensors()[t].size);
    guarantee.unit_epsilon = std::max(guarantee.unit_epsilon, epsilon);
    guarantee.epsilon = exact::add_up(guarantee.epsilon, exact::multiply_up(epsilon, weights));
  }
  self->id_ = mechanism_id(version, domain, parameters);
  self->domain_ = std::move(domain);
  return std::unique_ptr<Mechanism>(std::move(self));
}

std::size_t ValueMechanism::tensor_of(std::size_t output) const {
  const auto& tensors = domain_.layout->tensors();
  const auto after = std::upper_bound(
      tensors.begin(), tensors.end(), output,
      [](std::size_t at, const TensorSpec& tensor) { return at < tensor.offset + tensor.size; });
  return static_cast<std::size_t>(after - tensors.begin());
}

const Channel& ValueMechanism::channel_of(std::size_t output) const {
  return *channels_[tensor_of(output)];
}

WorstCase ValueMechanism::worst_case() const {
  WorstCase worst;
  worst.epsilon = -1.0;
  for (const auto& channel : channels_) {
    WorstCase of_channel = channel->worst_case();
    if (of_channel.epsilon > worst.epsilon) worst = std::move(of_channel);
  }
  return worst;
}

std::vector<Symbol> ValueMechanism::alphabet(std::size_t output) const {
  return channel_of(output).alphabet();
}

void ValueMechanism::decode(std::span<const std::int64_t> sums, std::uint64_t reports,
                            std::size_t first, std::span<double> mean) const {
  const auto& tensors = domain_.layout->tensors();
  for (std::size_t i = 0; i < sums.size();) {
    const std::size_t t = tensor_of(first + i);
    const std::size_t end = std::min(sums.size(), tensors[t].offset + tensors[t].size - first);
    const Decoding decoding = channels_[t]->decoding();
    const double scale = decoding.scale / static_cast<double>(reports);
    for (; i < end; ++i) mean[i] = decoding.offset + scale * static_cast<double>(sums[i]);
  }
}

double ValueMechanism::log_prob(std::span<const Symbol> report, std::span<const float> x) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < report.size(); ++i) sum += channel_of(i).log_prob(report[i], x[i]);
  return sum;
}

Moments ValueMechanism::moments(std::span<const float> x, std::size_t output) const {
  return channel_of(output).moments(x[output]);
}

bool ValueMechanism::sums_to_one(std::span<const float> x, std::size_t output) const {
  return channel_of(output).sums_to_one(x[output]);
}

double ValueMechanism::random_bytes_per_output() const noexcept {
  double words = 0.0;
  for (std::size_t t = 0; t < channels_.size(); ++t) {
    words += static_cast<double>(channels_[t]->words()) *
             static_cast<double>(domain_.layout->tensors()[t].size);
  }
  return outputs() == 0 ? 0.0 : 4.0 * words / static_cast<double>(outputs());
}

Background ValueMechanism::background(std::size_t first, std::size_t count) const {
  Background all;
  all.epsilon = 0.0;
  all.floor = 1.0;
  const std::size_t end = first + count;
  const auto& tensors = domain_.layout->tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::size_t from = std::max(first, tensors[t].offset);
    const std::size_t to = std::min(end, tensors[t].offset + tensors[t].size);
    if (from >= to) continue;
    const Background one = channels_[t]->background();
    const std::uint64_t weights = to - from;
    all.epsilon =
        exact::add_up(all.epsilon, exact::multiply_up(one.epsilon, static_cast<double>(weights)));
    all.floor = exact::multiply_down(all.floor, exact::power_down(one.floor, weights));
  }
  return all;
}

std::vector<Constant> ValueMechanism::constants() const {
  std::vector<Constant> all;
  for (std::size_t t = 0; t < channels_.size(); ++t) {
    // Tensors of equal range share a channel: the first one tells it.
    if (std::find(channels_.begin(), channels_.begin() + static_cast<std::ptrdiff_t>(t),
                  channels_[t]) != channels_.begin() + static_cast<std::ptrdiff_t>(t)) {
      continue;
    }
    for (Constant& constant : channels_[t]->constants()) {
      all.push_back({"tensor " + std::to_string(t) + ": " + constant.name, constant.value});
    }
  }
  return all;
}

template <class Integer>
void ValueMechanism::sample_block(std::span<const float> input, std::size_t block,
                                  BlockStream& stream, std::span<std::uint32_t> words,
                                  std::span<Integer> symbols, PackedSymbols& out) const {
  const std::size_t begin = block * kBlock;
  const std::size_t end = std::min(input.size(), begin + kBlock);
  stream.seek(block);
  const auto& tensors = domain_.layout->tensors();
  std::size_t t = tensor_of(begin);
  for (std::size_t at = begin; at < end; ++t) {
    const std::size_t until = std::min(end, tensors[t].offset + tensors[t].size);
    if (until <= at) continue;  // a tensor without elements
    const Channel& channel = *channels_[t];
    const std::size_t count = until - at;
    const auto drawn = words.first(count * channel.words());
    stream.fill(drawn);
    const BlockDraw draw{input.subspan(at, count), drawn.data(), &stream, at - begin};
    if constexpr (sizeof(Integer) == 4) {
      channel.draw_block(draw, symbols.data() + (at - begin));
    } else if (channel.wide()) {
      channel.draw_block_wide(draw, symbols.data() + (at - begin));
    } else {
      std::array<std::int32_t, kBlock> narrow;
      channel.draw_block(draw, narrow.data());
      std::copy_n(narrow.begin(), count, symbols.begin() + static_cast<std::ptrdiff_t>(at - begin));
    }
    at = until;
  }
  out.write(begin, std::span<const Integer>(symbols.first(end - begin)));
}

void ValueMechanism::sample(std::span<const float> input, BitSource& bits, unsigned threads,
                            PackedSymbols& out) const {
  struct Lane {
    Lane(const StreamKey& key, std::size_t words_a_weight, bool is_wide)
        : stream(key),
          words(words_a_weight * kBlock),
          narrow(is_wide ? 0 : kBlock),
          wide(is_wide ? kBlock : 0) {}
    BlockStream stream;
    std::vector<std::uint32_t> words;
    std::vector<std::int32_t> narrow;
    std::vector<std::int64_t> wide;
  };
  const StreamKey key(bits);
  const std::size_t blocks = (input.size() + kBlock - 1) / kBlock;
  const unsigned lanes = std::max(1U, std::min<unsigned>(threads, static_cast<unsigned>(blocks)));
  std::vector<std::unique_ptr<Lane>> work(lanes);
  for (auto& lane : work) lane = std::make_unique<Lane>(key, words_, wide_);
  const auto done = parallel_for(lanes, blocks, [&](unsigned l, std::size_t block) -> Result<void> {
    Lane& lane = *work[l];
    if (wide_) {
      sample_block<std::int64_t>(input, block, lane.stream, lane.words, lane.wide, out);
    } else {
      sample_block<std::int32_t>(input, block, lane.stream, lane.words, lane.narrow, out);
    }
    return {};
  });
  static_cast<void>(done);  // no block can fail
}

}  // namespace sotto
