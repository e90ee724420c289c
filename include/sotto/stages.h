// The path of a client's data, as types: Update -> Bounded -> Report -> Envelope -> Released.
//
//   Update    what training produced; private. It has no way to bytes.
//   Bounded   every value inside the range that the mechanism is made for. Only bound() makes one.
//   Report    what the mechanism drew. Only a Mechanism makes one, or a device that draws for it.
//   Envelope  a piece of a report, addressed to a round. The only thing that can be serialized,
//             and the only thing that a Transport carries. Only pack() makes one from a report.
//   Released  what the aggregator publishes. Only an Aggregator makes one.
//
// The constructors are private and befriend exactly the one maker, so "raw weights on the wire" is
// not a bug that a review must catch: it does not compile (tests/compile_fail).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sotto/layout.h"
#include "sotto/result.h"
#include "sotto/symbols.h"

namespace sotto::secure {
class UnmaskingServer;
}

namespace sotto {

using RoundId = std::uint32_t;

/// The interval [centre - radius, centre + radius] of one tensor.
struct Range {
  double centre = 0.0;
  double radius = 0.0;
};

/// What bound() makes of the values besides clipping each into its tensor's range.
enum class Shape {
  kBox,     // nothing
  kBall,    // the whole vector is scaled down to the norm of the domain (no range applies)
  kOneHot,  // the largest value becomes 1 and all others 0; the first one of equals
};

/// The set of vectors that a mechanism is made for.
struct Domain {
  std::shared_ptr<const Layout> layout;
  std::vector<Range> ranges;  // one for each tensor of the layout
  Shape shape = Shape::kBox;
  double norm = 0.0;  // of kBall: the largest l2 norm

  /// Of layout, ranges, shape and norm: tells a Bounded of one domain from that of another.
  std::uint64_t fingerprint() const;
};

class Update {
 public:
  /// `values` has layout->size() elements.
  Update(std::shared_ptr<const Layout> layout, std::vector<float> values);
  const std::shared_ptr<const Layout>& layout() const noexcept { return layout_; }
  std::span<const float> values() const noexcept { return values_; }
  /// Gives the memory back for the next update of the same thread.
  std::vector<float> take() && { return std::move(values_); }

 private:
  std::shared_ptr<const Layout> layout_;
  std::vector<float> values_;
};

class Bounded {
 public:
  std::span<const float> values() const noexcept { return values_; }
  std::vector<float> take() && { return std::move(values_); }

 private:
  friend Bounded bound(Update update, const Domain& domain);
  friend Bounded bound(std::span<const float> values, const Domain& domain,
                       std::vector<float> memory);
  friend class Mechanism;
  Bounded(std::vector<float> values, std::uint64_t domain)
      : values_(std::move(values)), domain_(domain) {}
  std::vector<float> values_;
  std::uint64_t domain_ = 0;  // the fingerprint
};

/// Brings every value into the domain. Total: what is NaN or infinite becomes the centre of its
/// range, and nothing that the caller can observe tells that it happened.
Bounded bound(Update update, const Domain& domain);
/// The same for values that belong to someone else, an array of another language: they are read
/// once, where they lie, and arrive bounded in `memory`, whose content does not matter.
Bounded bound(std::span<const float> values, const Domain& domain, std::vector<float> memory = {});

class Report {
 public:
  const std::string& mechanism_id() const noexcept { return mechanism_id_; }
  const PackedSymbols& symbols() const noexcept { return symbols_; }

 private:
  friend class Mechanism;
  friend class DeviceMechanism;
  friend std::vector<class Envelope> pack(Report report, RoundId round, std::size_t split);
  Report(std::string mechanism_id, PackedSymbols symbols)
      : mechanism_id_(std::move(mechanism_id)), symbols_(std::move(symbols)) {}
  std::string mechanism_id_;
  PackedSymbols symbols_;
};

class Envelope {
 public:
  RoundId round() const noexcept { return round_; }
  const std::string& mechanism_id() const noexcept { return mechanism_id_; }
  /// Where in the flat vector the first symbol belongs.
  std::uint64_t position() const noexcept { return position_; }
  const PackedSymbols& symbols() const noexcept { return symbols_; }

  /// Fixed width per symbol, so the size of a message tells nothing about its content.
  std::size_t serialized_size() const noexcept;
  std::vector<std::byte> serialize() const;
  /// Rejects anything that serialize() would not have written, byte for byte.
  static Result<Envelope> parse(std::span<const std::byte> bytes);

 private:
  friend std::vector<Envelope> pack(Report report, RoundId round, std::size_t split);
  Envelope() = default;
  RoundId round_ = 0;
  std::string mechanism_id_;
  std::uint64_t position_ = 0;
  PackedSymbols symbols_;
};

/// Cuts a report into envelopes of `split` symbols each (0: one envelope for the whole report).
std::vector<Envelope> pack(Report report, RoundId round, std::size_t split = 0);

/// What envelopes of several clients with one place add up to: made by secure aggregation, which
/// shows the server nothing else, by an aggregator, for one of another process of the server, and
/// by a device that perturbs and adds without an envelope in between.
class SummedEnvelope {
 public:
  RoundId round() const noexcept { return round_; }
  const std::string& mechanism_id() const noexcept { return mechanism_id_; }
  std::uint64_t position() const noexcept { return position_; }
  std::span<const std::int64_t> sums() const noexcept { return sums_; }
  std::uint64_t reports() const noexcept { return reports_; }

 private:
  friend class secure::UnmaskingServer;
  friend class Aggregator;
  friend class DeviceMechanism;
  SummedEnvelope() = default;
  RoundId round_ = 0;
  std::string mechanism_id_;
  std::uint64_t position_ = 0;
  std::vector<std::int64_t> sums_;
  std::uint64_t reports_ = 0;
};

/// The mean of what a round's clients reported: public from here on.
class Released {
 public:
  std::span<const double> values() const noexcept { return values_; }
  std::uint64_t reports() const noexcept { return reports_; }

 private:
  friend class Aggregator;
  Released(std::vector<double> values, std::uint64_t reports)
      : values_(std::move(values)), reports_(reports) {}
  std::vector<double> values_;
  std::uint64_t reports_ = 0;
};

}  // namespace sotto
