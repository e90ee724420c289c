// A mechanism and its privacy are one class: sampler, exact probability, guarantee, bias and
// variance read the same stored integers.
//
// A mechanism is immutable and thread-safe. perturb() is the only door from Bounded to Report and
// cannot fail on data. Symbols are integers and decoding is affine in them, so an aggregator adds
// symbols of many clients exactly, in any order, and decodes the sum once.
//
// There are three kinds. A *value* mechanism treats every weight alone (one symbol a weight), a
// *vector* mechanism the whole vector at once (one symbol a coordinate), a *bit* mechanism the bits
// of encoded features or of a one-hot vector (one symbol of one bit for each).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/bits.h"
#include "sotto/stages.h"

namespace sotto {

/// What a mechanism's claimed epsilon speaks of.
enum class GuaranteeUnit { kWeight, kVector, kReport };
/// "weight", "vector" or "report".
std::string_view name_of(GuaranteeUnit unit) noexcept;

/// What one whole report guarantees. The default is "nothing at all".
struct Guarantee {
  double epsilon = std::numeric_limits<double>::infinity();  // exact, rounded up
  double delta = 0.0;
  std::string statement;  // in words, for people

  /// What the claimed epsilon speaks of, and the exact and claimed values for one of them. Only a
  /// published claim that does not hold lies below the exact one.
  GuaranteeUnit unit = GuaranteeUnit::kReport;
  double unit_epsilon = std::numeric_limits<double>::infinity();
  double claimed_epsilon = std::numeric_limits<double>::infinity();

  /// How many units a report has: their losses compose to the report's.
  std::uint64_t units = 1;
  double gaussian_ratio = 0.0;  // of Gaussian noise: sensitivity / sigma, rounded up; else 0
  double alpha = 0.0;  // of condensed local privacy: the loss of a unit for one grid step; else 0
};

/// What all distributions of a mechanism have in common: with respect to one fixed distribution,
/// the distribution of every input has a density between `floor` and `floor` e^`epsilon`. The more
/// they have in common, the better a report hides among those of other clients.
struct Background {
  double epsilon = std::numeric_limits<double>::infinity();  // rounded up
  double floor = 0.0;  // rounded down; 0: nothing is known beyond epsilon
  /// Probability that the sampler's arithmetic ends in another report than the exact distribution's
  /// (vectors).
  double coupling = 0.0;
};

/// A number that the sampler compares with or computes from, as text without loss: an integer in
/// decimal, or a double as printf's %a writes it.
struct Constant {
  std::string name;
  std::string value;
};

/// Of the decoded value of one report, over the mechanism's randomness.
struct Moments {
  double mean = 0.0;
  double bias = 0.0;  // mean minus the input (rounded to the grid where there is one)
  double variance = 0.0;
};

/// Where the largest log-ratio is attained.
struct WorstCase {
  double epsilon = std::numeric_limits<double>::infinity();  // rounded up
  std::string input;                                         // the likelier one
  std::string other_input;
  std::string output;
  /// The two inputs as numbers: one weight of a value mechanism, all values of a bit mechanism.
  /// Empty where a pair is as bad as any other: opposite vectors of full norm, `none`.
  std::vector<float> values;
  std::vector<float> other_values;
};

class Mechanism {
 public:
  virtual ~Mechanism() = default;

  /// "srr.v1:9f86d081884c7d65": name, version of the encoding, and a digest of domain and
  /// parameters, so that reports with another epsilon are never added to these.
  virtual std::string_view id() const noexcept = 0;
  virtual const Domain& domain() const noexcept = 0;
  virtual Guarantee guarantee() const = 0;
  virtual WorstCase worst_case() const = 0;

  /// How many symbols a report has.
  virtual std::size_t outputs() const noexcept = 0;
  /// The width of a symbol, in memory and on the wire, whatever its value.
  virtual unsigned symbol_bits() const noexcept = 0;
  virtual Symbol smallest_symbol() const noexcept = 0;
  virtual Symbol largest_symbol() const noexcept = 0;
  /// Every symbol that output `output` can take, ascending; empty when they are more than
  /// kMostListed.
  virtual std::vector<Symbol> alphabet(std::size_t output) const = 0;
  static constexpr std::size_t kMostListed = std::size_t{1} << 22;

  /// `input` must come from bound() with this mechanism's domain; any other is a fault of the
  /// program and throws. The report does not depend on the number of threads.
  Report perturb(const Bounded& input, BitSource& bits, unsigned threads = 1) const;

  /// Writes mean_i = decode(sums_i / reports) for the outputs first, first + 1, ...
  virtual void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
                      std::span<double> mean) const = 0;

  /// ln P(report | x), from the integers that the sampler compares with; -infinity for what cannot
  /// be drawn. For vector mechanisms: up to a term that does not depend on x.
  virtual double log_prob(std::span<const Symbol> report, std::span<const float> x) const = 0;
  /// The same, up to a term that does not depend on x, from the sum of symbol_i x_i and |x| alone;
  /// nothing from a mechanism whose distribution depends on more. An audit need not look at a
  /// report again for every input that it may have come from.
  virtual std::optional<double> log_prob_along(double product, double norm) const;
  /// Of the decoded output `output`.
  virtual Moments moments(std::span<const float> x, std::size_t output) const = 0;
  /// Whether the probabilities of output `output` sum to one in integers, counted anew.
  virtual bool sums_to_one(std::span<const float> x, std::size_t output) const = 0;

  /// What the distributions of the outputs first .. first + count - 1, sent together, have in
  /// common. Pieces of a report whose distributions are not independent of each other have no
  /// floor.
  virtual Background background(std::size_t first, std::size_t count) const;
  /// Every number that decides the distribution of a report, for a certificate: integer thresholds
  /// first.
  virtual std::vector<Constant> constants() const = 0;

  /// How many random bytes an output costs, ties and rejections aside: what a benchmark compares
  /// the mechanism's own work with. 0 where the mechanism does not tell.
  virtual double random_bytes_per_output() const noexcept { return 0.0; }

 protected:
  /// Draws a report into `out`, which has outputs() symbols of symbol_bits().
  virtual void sample(std::span<const float> input, BitSource& bits, unsigned threads,
                      PackedSymbols& out) const = 0;
};

/// A number that a mechanism is made with.
struct ParameterInfo {
  std::string_view name;  // "epsilon"; on the command line --epsilon
  double low = 0.0;
  double high = 0.0;
  bool low_open = false;  // whether `low` itself is not valid
  bool integer = false;
  bool required = true;                 // must be given, unless there is a default
  std::optional<double> default_value;  // what stands for it when it is not given
  std::string_view meaning;

  std::string valid() const;  // "a number in (0, 1000]"
  bool accepts(double value) const;
};

enum class MechanismKind { kValue, kVector, kBits };
/// "value", "vector" or "bits".
std::string_view name_of(MechanismKind kind) noexcept;

struct MechanismInfo {
  std::string_view name;
  MechanismKind kind;
  std::string_view summary;
  std::string_view input;
  std::string_view output;
  std::string_view guarantee;
  bool unbiased;               // for the rounded weight where there is a grid, and by default
  std::string_view bias;       // the same in words, with what it depends on
  std::string_view reference;  // where it was published
  /// Why its authors hold the claimed epsilon for a whole client's; empty where they do not.
  std::string_view published_client_claim;
  std::span<const ParameterInfo> parameters;
};

/// Parameter values by name.
using Parameters = std::map<std::string, double, std::less<>>;

/// Every registered mechanism, in the order of src/mechanism/mechanisms.def.
std::span<const MechanismInfo> mechanisms();

/// The one called `name`, or an error that lists the valid names.
Result<const MechanismInfo*> find_mechanism(std::string_view name);

/// The mechanism called `name` for this domain. An unknown name or parameter, a missing parameter
/// and a value outside its interval are errors that say what is valid. Vector and bit mechanisms
/// replace the shape and ranges of the domain by their own.
Result<std::unique_ptr<Mechanism>> make_mechanism(std::string_view name, Domain domain,
                                                  const Parameters& parameters = {});

}  // namespace sotto
