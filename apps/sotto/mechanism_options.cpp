#include "mechanism_options.h"

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "base/text.h"
#include "mechanism/verification.h"

namespace sotto::cli {
namespace {

constexpr std::size_t kMostSize = 100'000'000;

/// One parameter's name with everything that mechanisms say about it.
struct Flag {
  std::string name;
  std::string meaning;
  std::vector<std::string> valid;
  std::vector<std::string> mechanisms;
};

std::vector<Flag> all_flags() {
  std::vector<Flag> flags;
  for (const MechanismInfo& info : mechanisms()) {
    for (const ParameterInfo& parameter : info.parameters) {
      auto flag = std::find_if(flags.begin(), flags.end(),
                               [&](const Flag& f) { return f.name == parameter.name; });
      if (flag == flags.end()) {
        flags.push_back({std::string(parameter.name), std::string(parameter.meaning), {}, {}});
        flag = std::prev(flags.end());
      }
      const std::string valid = parameter.valid();
      if (std::find(flag->valid.begin(), flag->valid.end(), valid) == flag->valid.end()) {
        flag->valid.push_back(valid);
      }
      flag->mechanisms.emplace_back(info.name);
    }
  }
  return flags;
}

/// "epsilon: ..., a number in (0, 1000]", with its mechanisms where they are few.
std::string help_of(const Flag& flag) {
  std::string text = flag.meaning;
  if (flag.valid.size() == 1) text += "; " + flag.valid.front();
  if (flag.mechanisms.size() <= 3) text += " (" + join(flag.mechanisms) + ')';
  return text;
}

}  // namespace

Result<std::size_t> MechanismOptions::input_size(MechanismKind kind) const {
  if (kind == MechanismKind::kVector) return dimension.value_or(1000);
  if (kind == MechanismKind::kValue) return 1;
  const std::size_t label = classes() > 0 ? 1 : 0;
  const std::size_t each = bits_of_feature();
  if (each == 0) return bits.value_or(10) + label;
  if (bits && *bits % each != 0) {
    return fail(ErrorKind::kUsage, "--bits " + std::to_string(*bits) + ": must be a multiple of " +
                                       std::to_string(each) + ", the bits of a feature");
  }
  return bits.value_or(each) / each + label;
}

std::size_t MechanismOptions::bits_of_feature() const {
  return sotto::bits_of_feature(Parameters(set.begin(), set.end()));
}

std::size_t MechanismOptions::classes() const {
  return classes_of(Parameters(set.begin(), set.end()));
}

Result<std::unique_ptr<Mechanism>> MechanismOptions::make(std::size_t size) const {
  SOTTO_TRY(const Range asked, parse_range(range));
  return make_mechanism(name, domain_of(size, asked), Parameters(set.begin(), set.end()));
}

Parameters MechanismOptions::parameters(const MechanismInfo& info) const {
  Parameters all;
  for (const ParameterInfo& parameter : info.parameters) {
    const std::string key(parameter.name);
    if (const auto it = set.find(key); it != set.end()) {
      all[key] = it->second;
    } else if (parameter.default_value) {
      all[key] = *parameter.default_value;
    }
  }
  return all;
}

void add_parameter_options(CLI::App& command, MechanismOptions& options) {
  for (const Flag& flag : all_flags()) {
    if (command.get_option_no_throw("--" + flag.name) != nullptr) continue;
    command
        .add_option_function<double>(
            "--" + flag.name,
            [&options, name = flag.name](double value) { options.set[name] = value; },
            help_of(flag))
        ->type_name("NUMBER");
  }
  command
      .add_option("--range", options.range,
                  "centre and radius: values are clipped to [C - R, C + R]")
      ->capture_default_str()
      ->type_name("C,R");
}

void add_size_options(CLI::App& command, MechanismOptions& options) {
  command.add_option("--dimension", options.dimension, "coordinates of a vector; default 1000")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMostSize));
  command.add_option("--bits", options.bits, "bits of a report of a bit mechanism; default 10")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMostSize));
}

std::string with_parameters(const Parameters& parameters) {
  std::string with;
  for (const auto& [name, value] : parameters) {
    with += (with.empty() ? " with " : ", ") + name + ' ' + short_number(value);
  }
  return with;
}

Result<Range> parse_range(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma != std::string::npos) {
    const auto centre = parse_number(std::string_view(text).substr(0, comma));
    const auto radius = parse_number(std::string_view(text).substr(comma + 1));
    if (centre && radius) return Range{*centre, *radius};
  }
  return fail(ErrorKind::kUsage, "--range '" + text +
                                     "': must be two numbers, centre and radius, with a comma "
                                     "between them, such as --range 0,0.075");
}

std::optional<double> parse_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool takes(const MechanismInfo& info, std::string_view parameter) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [&](const ParameterInfo& p) { return p.name == parameter; });
}

Domain domain_of(std::size_t size, const Range& range) {
  auto layout = std::make_shared<Layout>();
  layout->add("input", {static_cast<std::int64_t>(size)}, TensorRole::kParameter);
  return Domain{std::move(layout), {range}};
}

}  // namespace sotto::cli
