// A mechanism and its privacy are one class: sampler, decoder and guarantee read the same numbers.
//
// A mechanism is immutable and thread-safe. perturb() is the only door from Bounded to Report and
// cannot fail on data. Symbols are integers and decoding is affine in them, so an aggregator adds
// symbols of many clients exactly, in any order, and decodes the sum once.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/bits.h"
#include "sotto/stages.h"

namespace sotto {

/// What one whole report guarantees. The default is "nothing at all".
struct Guarantee {
  double epsilon = std::numeric_limits<double>::infinity();  // exact, rounded up
  double delta = 0.0;
  std::string statement;  // in words, for people
};

class Mechanism {
 public:
  virtual ~Mechanism() = default;

  /// "none.v1": changes when the encoding does.
  virtual std::string_view id() const noexcept = 0;
  virtual const Domain& domain() const noexcept = 0;
  virtual Guarantee guarantee() const = 0;

  /// Bytes that carry one symbol on the wire, whatever its value.
  virtual unsigned symbol_bytes() const noexcept = 0;
  /// No symbol is larger than this in absolute value: it bounds how many reports a sum can take.
  virtual Symbol largest_symbol() const noexcept = 0;

  Report perturb(const Bounded& input, BitSource& bits) const;

  /// Writes mean_i = decode(sums_i / reports) for the coordinates first, first + 1, ...
  virtual void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
                      std::span<double> mean) const = 0;

 protected:
  virtual void sample(std::span<const float> input, BitSource& bits,
                      std::span<Symbol> out) const = 0;
};

struct MechanismInfo {
  std::string_view name;
  std::string_view summary;
};

/// Every registered mechanism, in the order of src/mechanism/mechanisms.def.
std::span<const MechanismInfo> mechanisms();

/// The mechanism called `name` for this domain, or an error that lists the valid names.
Result<std::unique_ptr<Mechanism>> make_mechanism(std::string_view name, Domain domain);

}  // namespace sotto
