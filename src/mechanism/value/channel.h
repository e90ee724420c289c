// What a value mechanism does to one weight: a channel from [c - r, c + r] to integers.
//
// A channel draws a fixed number of 32-bit words for a weight at once and further bits only where
// those leave the result open, from a stream that belongs to the weight alone (base/streams.h). So
// thresholds of 64 bits cost 32 bits of randomness almost always, and draw(), which treats one
// weight, is the definition that every faster kernel must agree with to the bit.
#pragma once

#include <span>
#include <vector>

#include "base/random/streams.h"
#include "mechanism/value/channel_kernels.h"
#include "sotto/mechanism.h"

namespace sotto {

/// The words that belong to one weight: a block keeps first all first words, then all second ones.
struct Words {
  const std::uint32_t* first;
  std::size_t stride;
  std::uint32_t operator[](std::size_t k) const { return first[k * stride]; }
};

/// A block's weights and their words, for kernels.
struct BlockDraw {
  std::span<const float> weights;
  const std::uint32_t* words;  // words() planes of weights.size()
  BlockStream* stream;         // for more(position + i)
  std::size_t position;        // of the first weight within its block

  Words words_of(std::size_t i) const { return {words + i, weights.size()}; }
  MoreBits more(std::size_t i) const { return stream->more(position + i); }
};

/// A decoded value is offset + scale * symbol.
struct Decoding {
  double offset = 0.0;
  double scale = 1.0;
};

class Channel {
 public:
  virtual ~Channel() = default;

  virtual Symbol smallest() const noexcept = 0;
  virtual Symbol largest() const noexcept = 0;
  virtual Decoding decoding() const noexcept = 0;
  /// Where ln P(y|x) / P(y|x') is largest over all x, x', y; its epsilon is exact, rounded up.
  virtual WorstCase worst_case() const = 0;

  /// How many words a weight draws at once.
  virtual unsigned words() const noexcept = 0;
  /// The symbol for one weight. The weight is inside the range.
  virtual Symbol draw(float weight, Words words, MoreBits& more) const = 0;
  /// The same for a block; the default calls draw(). Channels whose symbols need more than 32 bits
  /// implement the wide form, all others the narrow one.
  virtual void draw_block(const BlockDraw& block, std::int32_t* out) const;
  virtual void draw_block_wide(const BlockDraw& block, std::int64_t* out) const;
  /// The fast way of draw(), for a kernel elsewhere; nothing from a channel that has none.
  virtual ChannelKernel kernel() const { return {}; }

  /// ln P(symbol | weight); -infinity for what cannot be drawn.
  virtual double log_prob(Symbol symbol, float weight) const = 0;
  virtual Moments moments(float weight) const = 0;
  /// Counts the probabilities for this input anew, in integers.
  virtual bool sums_to_one(float weight) const = 0;
  /// All symbols that some input can yield, ascending; the default is smallest() .. largest().
  /// Empty when they are more than Mechanism::kMostListed.
  virtual std::vector<Symbol> alphabet() const;

  /// What the distributions of all inputs have in common; the default knows the epsilon alone.
  virtual Background background() const;
  /// The numbers that decide the distribution, integers first.
  virtual std::vector<Constant> constants() const = 0;

  bool wide() const noexcept;
  double decoded(Symbol symbol) const noexcept {
    const Decoding d = decoding();
    return d.offset + d.scale * static_cast<double>(symbol);
  }
};

}  // namespace sotto
