// The options by which commands name a mechanism: --epsilon and every other parameter that some
// registered mechanism takes, --range, and how large the input is.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "command.h"
#include "sotto/mechanism.h"

namespace sotto::cli {

struct MechanismOptions {
  std::string name;
  std::string range = "0,1";          // "centre,radius"
  std::map<std::string, double> set;  // what the command line gave, parameters of any mechanism
  std::optional<std::size_t> dimension;
  std::optional<std::size_t> bits;

  /// One value for a value mechanism, --dimension (1,000) coordinates, or as many values as make
  /// --bits (10) bits: bits themselves, or features that are encoded in several bits each.
  Result<std::size_t> input_size(MechanismKind kind) const;
  /// Bits that a feature is encoded in, with its sign; 0 where inputs are bits.
  std::size_t bits_of_feature() const;
  /// Classes of the label that is the last input value; 0 where there is none.
  std::size_t classes() const;
  /// For one tensor of `size` values. A parameter that the mechanism does not take is an error.
  Result<std::unique_ptr<Mechanism>> make(std::size_t size) const;
  /// What the mechanism is made with: the given parameters and the defaults of the others.
  Parameters parameters(const MechanismInfo& info) const;
};

/// Adds --range and one option for each parameter of any registered mechanism. Options that the
/// command has already mean what they mean there.
void add_parameter_options(CLI::App& command, MechanismOptions& options);
/// Adds --dimension and --bits.
void add_size_options(CLI::App& command, MechanismOptions& options);

/// " with epsilon 5, precision 4"; empty where there is none.
std::string with_parameters(const Parameters& parameters);

/// "0,0.075" -> centre and radius.
Result<Range> parse_range(const std::string& text);

/// A decimal number and nothing else, blanks around it aside.
std::optional<double> parse_number(std::string_view text);

bool takes(const MechanismInfo& info, std::string_view parameter);

/// A domain of one tensor.
Domain domain_of(std::size_t size, const Range& range);

}  // namespace sotto::cli
