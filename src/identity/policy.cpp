// policy.toml: read strictly, from one table of keys, and compared with what a server plans.
#include "sotto/policy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "base/file.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "base/toml_guard.h"
#include "sotto/mechanism.h"

namespace sotto::identity {
namespace {

constexpr std::size_t kLargestPolicy = std::size_t{1} << 20;
constexpr std::uint64_t kMany = 100'000'000;

/// Every digit, so that no limit and no epsilon looks smaller than it is.
std::string digits(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// Empty: read. Otherwise what would be valid.
using Read = std::function<std::string(const toml::node&, Policy&)>;

struct PolicyKey {
  std::string name;
  bool required;
  std::string comment;
  Read read;
  std::function<std::string(const Policy&)> show;
};

Read number(double Policy::*member, double low, double high, const std::string& valid) {
  return [=](const toml::node& node, Policy& policy) -> std::string {
    const double value = node.is_number() ? node.value_or(std::nan("")) : std::nan("");
    if (!(value >= low && value <= high)) return valid;
    policy.*member = value;
    return "";
  };
}

/// `place` yields the number's place in a policy.
template <class Place>
Read whole(Place place, std::uint64_t most = kMany) {
  return [=](const toml::node& node, Policy& policy) -> std::string {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || static_cast<std::uint64_t>(*value) > most) {
      return "a whole number in [1, " + std::to_string(most) + "]";
    }
    std::invoke(place, policy) = static_cast<std::uint64_t>(*value);
    return "";
  };
}

/// A bound for the work: where the file does not name it, the built-in one holds.
PolicyKey work_key(const std::string& name, const std::string& comment,
                   std::uint64_t WorkLimits::*member) {
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  const auto place = [member](auto& policy) -> auto& { return policy.work.*member; };
  return {"limits." + name, false, comment, whole(place, kMost),
          [place](const Policy& policy) { return std::to_string(place(policy)); }};
}

/// Every bound that the work goes beyond.
void add_breaches(const WorkLimits& limits, const Work& work, std::vector<std::string>& found) {
  const auto at_most = [&](const std::string& what, std::uint64_t planned, std::uint64_t limit) {
    if (planned <= limit) return;
    found.push_back(std::to_string(planned) + ' ' + what + " are more than " +
                    std::to_string(limit));
  };
  at_most("weights", work.weights, limits.weights);
  at_most("MB of memory", work.memory_mb, limits.memory_mb);
  at_most("epochs in a round", work.epochs, limits.epochs);
}

/// `wrong`: empty, or what is wrong with one of the texts.
Read texts(std::vector<std::string> Policy::*member,
           const std::function<std::string(const std::string&)>& wrong) {
  return [=](const toml::node& node, Policy& policy) -> std::string {
    const toml::array* const array = node.as_array();
    if (array == nullptr) return "a list of texts, such as [\"a\", \"b\"]";
    std::vector<std::string> values;
    for (const toml::node& item : *array) {
      const auto value = item.value_exact<std::string>();
      if (!value) return "a list of texts, such as [\"a\", \"b\"]";
      if (std::string why = wrong(*value); !why.empty()) return why;
      values.push_back(*value);
    }
    policy.*member = std::move(values);
    return "";
  };
}

std::string one_of(const std::string& value, const std::vector<std::string>& valid) {
  if (std::find(valid.begin(), valid.end(), value) != valid.end()) return "";
  return "a list of " + join(valid) + " ('" + value + "' is none of them" +
         did_you_mean(value, valid) + ")";
}

/// "\\U0001f600": the way in which TOML takes every character, and check_toml letters of all kinds.
std::string escaped(std::uint32_t point) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\\U";
  for (int shift = 28; shift >= 0; shift -= 4) text += kHex[point >> shift & 15];
  return text;
}

/// The character that begins at `at`, which moves behind it; U+FFFD for bytes that are none.
std::uint32_t next_point(std::string_view text, std::size_t& at) {
  constexpr std::uint32_t kNone = 0xFFFD;
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (lead < 0x80) return lead;
  if (more == 0 || lead >= 0xF8) return kNone;
  std::uint32_t point = lead & (0x3FU >> more);
  for (int i = 0; i < more; ++i) {
    if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) return kNone;
    point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  }
  return point;
}

std::string list_text(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) {
    if (text.size() > 1) text += ", ";
    text += '"';
    for (std::size_t at = 0; at < value.size();) {
      const std::uint32_t point = next_point(value, at);
      if (point < ' ' || point >= 0x7F) {
        text += escaped(point);
      } else {
        if (point == '"' || point == '\\') text += '\\';
        text += static_cast<char>(point);
      }
    }
    text += '"';
  }
  return text + "]";
}

std::vector<std::string> mechanism_names() {
  std::vector<std::string> names;
  for (const MechanismInfo& info : mechanisms()) names.emplace_back(info.name);
  return names;
}

std::vector<PolicyKey> make_keys() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
  const std::string positive = "a number above 0 (inf: no limit)";
  const auto anything = [](const std::string& value) {
    return value.empty() ? std::string("a list of names that are not empty") : std::string();
  };
  const auto mechanism = [](const std::string& value) { return one_of(value, mechanism_names()); };
  const auto mode = [](const std::string& value) {
    return one_of(value, {"shuffler", "latency", "none"});
  };
  const auto fingerprint = [](const std::string& value) {
    return value == "any" || key_from_hex(value)
               ? std::string()
               : std::string("[\"any\"] or a list of fingerprints of 64 hexadecimal digits");
  };
  const auto server_key = [](const toml::node& node, Policy& policy) -> std::string {
    const auto text = node.value_exact<std::string>();
    const auto key = key_from_hex(text.value_or(""));
    if (!key) return "64 hexadecimal digits: the line of server.pub behind the colon";
    policy.server_key = *key;
    return "";
  };
  const auto unit = [positive](const toml::node& node, Policy& policy) -> std::string {
    const double value = node.is_number() ? node.value_or(std::nan("")) : std::nan("");
    if (!(value > 0.0)) return std::string(positive);
    policy.unit_epsilon = value;
    return "";
  };
  return {
      {"allow.mechanisms", true, "what a report may have passed (sotto mechanisms)",
       texts(&Policy::mechanisms, mechanism),
       [](const Policy& policy) { return list_text(policy.mechanisms); }},
      {"allow.shuffle", true,
       "what must stand between this client and the server: shuffler, latency, none",
       texts(&Policy::shuffle, mode),
       [](const Policy& policy) { return list_text(policy.shuffle); }},
      {"allow.models", true, "networks that may be trained (sotto models)",
       texts(&Policy::models, anything),
       [](const Policy& policy) { return list_text(policy.models); }},
      {"allow.recipes", true, "fingerprints of recipes, or \"any\": the limits alone decide",
       texts(&Policy::recipes, fingerprint),
       [](const Policy& policy) { return list_text(policy.recipes); }},
      {"limits.epsilon_per_round", true, "of one whole report of this client",
       number(&Policy::epsilon_per_round, kAboveZero, kInfinity, positive),
       [](const Policy& policy) { return digits(policy.epsilon_per_round); }},
      {"limits.epsilon", true, "of all reports that this client ever sends",
       number(&Policy::epsilon, kAboveZero, kInfinity, positive),
       [](const Policy& policy) { return digits(policy.epsilon); }},
      {"limits.delta", true, "with which the lifetime epsilon may fail",
       number(&Policy::delta, 0.0, 0.5, "a number in [0, 0.5]"),
       [](const Policy& policy) { return digits(policy.delta); }},
      {"limits.rounds", true, "the most rounds that this client takes part in",
       whole(&Policy::rounds), [](const Policy& policy) { return std::to_string(policy.rounds); }},
      {"limits.min_batch", true, "the fewest clients whose reports are released together",
       whole(&Policy::min_batch),
       [](const Policy& policy) { return std::to_string(policy.min_batch); }},
      {"limits.unit_epsilon", false,
       "of one weight (or what the mechanism treats at once); may be left out", unit,
       [](const Policy& policy) {
         return policy.unit_epsilon ? digits(*policy.unit_epsilon) : std::string();
       }},
      work_key("weights", "the most weights of a network", &WorkLimits::weights),
      work_key("memory_mb", "the most memory that a step of training may take, in MB",
               &WorkLimits::memory_mb),
      work_key("epochs", "the most passes over this client's data in a round", &WorkLimits::epochs),
      {"server.key", true, "reports are sealed for this key and no other (server.pub)", server_key,
       [](const Policy& policy) { return '"' + to_hex(policy.server_key) + '"'; }},
  };
}

const std::vector<PolicyKey>& policy_keys() {
  static const std::vector<PolicyKey> kKeys = make_keys();
  return kKeys;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const PolicyKey& key : policy_keys()) names.push_back(key.name);
  return names;
}

tl::unexpected<Error> unknown(const std::string& place, const std::string& key) {
  const std::vector<std::string> names = key_names();
  const std::string last = key.substr(key.find('.') + 1);
  for (const std::string& name : names) {
    if (name.ends_with('.' + last)) {
      return fail(ErrorKind::kUsage,
                  place + ": unknown key '" + key + "'; did you mean '" + name + "'?");
    }
  }
  return fail(ErrorKind::kUsage, place + ": unknown key '" + key + "'" + did_you_mean(key, names) +
                                     "; valid: " + join(names));
}

Result<void> read_key(const std::string& place, const std::string& name, const toml::node& node,
                      Policy& policy) {
  for (const PolicyKey& key : policy_keys()) {
    if (key.name != name) continue;
    const std::string valid = key.read(node, policy);
    if (valid.empty()) return {};
    return fail(ErrorKind::kUsage, place + ": " + name + ": must be " + valid);
  }
  return unknown(place, name);
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, const std::string& place) {
  SOTTO_CHECK(check_toml(text, place));
  const toml::parse_result parsed = toml::parse(text, place);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorKind::kUsage, place + ':' + std::to_string(error.source().begin.line) +
                                       ": not valid TOML: " + std::string(error.description()));
  }
  const std::vector<std::string> sections = {"allow", "limits", "server"};
  Policy policy;
  std::vector<std::string> given;
  for (const auto& [section, node] : parsed.table()) {
    const std::string prefix(section.str());
    const auto line = [&](const toml::node& at) {
      return place + ':' + std::to_string(at.source().begin.line);
    };
    const toml::table* const table = node.as_table();
    if (table == nullptr) return unknown(line(node), prefix);
    if (!contains(sections, prefix)) {
      return fail(ErrorKind::kUsage, line(node) + ": unknown section [" + prefix + "]" +
                                         did_you_mean(prefix, sections) +
                                         "; valid: " + join(sections));
    }
    for (const auto& [key, value] : *table) {
      given.push_back(prefix + '.' + std::string(key.str()));
      SOTTO_CHECK(read_key(line(value), given.back(), value, policy));
    }
  }
  std::vector<std::string> missing;
  for (const PolicyKey& key : policy_keys()) {
    if (key.required && !contains(given, key.name)) missing.push_back(key.name);
  }
  if (!missing.empty()) {
    return fail(ErrorKind::kUsage,
                place + ": nothing is allowed that is not said; missing: " + join(missing));
  }
  return policy;
}

Result<Policy> read_policy(const std::filesystem::path& file) {
  SOTTO_CHECK(check_only_owner_writes(file, "this policy"));
  SOTTO_TRY(const std::string text, read_text(file, kLargestPolicy));
  return parse_policy(text, file.string());
}

std::string policy_text(const Policy& policy) {
  std::string text =
      "# What this client lets a server ask for. Nothing is allowed that is not named here.\n";
  std::string section;
  for (const PolicyKey& key : policy_keys()) {
    const std::size_t dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += "\n[" + section + "]\n";
    }
    const std::string value = key.show(policy);
    text += "# " + key.comment + "\n";
    text += (value.empty() ? "# " : "") + key.name.substr(dot + 1) + " = " +
            (value.empty() ? "1.0" : value) + "\n";
  }
  return text;
}

std::vector<std::string> breaches(const Policy& policy, const PlanFacts& plan) {
  std::vector<std::string> found;
  const auto listed = [&](const std::string& what, const std::vector<std::string>& allowed,
                          const std::string& planned) {
    if (contains(allowed, planned)) return;
    found.push_back(what + " '" + planned +
                    "' is not allowed; allowed: " + (allowed.empty() ? "none" : join(allowed)));
  };
  // Written so that not-a-number is a breach.
  const auto at_most = [&](const std::string& what, double planned, double limit) {
    if (planned >= 0.0 && planned <= limit) return;
    found.push_back(what + " = " + digits(planned) + " is more than " + digits(limit));
  };
  if (plan.mechanisms.empty()) found.emplace_back("the plan names no mechanism");
  for (const std::string& name : plan.mechanisms) listed("mechanism", policy.mechanisms, name);
  listed("shuffle mode", policy.shuffle, plan.shuffle);
  listed("model", policy.models, plan.model);
  if (!contains(policy.recipes, "any")) listed("recipe", policy.recipes, plan.recipe);
  at_most("epsilon of a round", plan.epsilon_per_round, policy.epsilon_per_round);
  at_most("lifetime epsilon", plan.epsilon, policy.epsilon);
  at_most("lifetime delta", plan.delta, policy.delta);
  if (policy.unit_epsilon) at_most("epsilon of a unit", plan.unit_epsilon, *policy.unit_epsilon);
  if (plan.rounds > policy.rounds) {
    found.push_back(std::to_string(plan.rounds) + " rounds are more than " +
                    std::to_string(policy.rounds));
  }
  if (plan.min_batch < policy.min_batch) {
    found.push_back("a batch of " + std::to_string(plan.min_batch) + " is smaller than " +
                    std::to_string(policy.min_batch));
  }
  add_breaches(policy.work, plan.work, found);
  if (plan.server_key != policy.server_key) {
    found.push_back("the server's key is " + to_hex(plan.server_key) + ", not " +
                    to_hex(policy.server_key));
  }
  return found;
}

Result<void> check(const WorkLimits& limits, const Work& work) {
  std::vector<std::string> found;
  add_breaches(limits, work, found);
  if (found.empty()) return {};
  return fail(ErrorKind::kRefused,
              "the training is more work than this client takes on: " + join(found, "; "));
}

Result<void> check(const Policy& policy, const PlanFacts& plan) {
  const std::vector<std::string> found = breaches(policy, plan);
  if (found.empty()) return {};
  return fail(ErrorKind::kRefused,
              "the plan goes beyond this client's policy: " + join(found, "; "));
}

}  // namespace sotto::identity
