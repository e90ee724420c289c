// sotto mechanisms: what randomizers there are, and what they take.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mechanism_options.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string name;
  bool json = false;
};

nlohmann::json to_json(const MechanismInfo& info) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const ParameterInfo& parameter : info.parameters) {
    parameters.push_back(
        {{"name", parameter.name},
         {"valid", parameter.valid()},
         {"low", parameter.low},
         {"low_open", parameter.low_open},
         {"high", parameter.high},
         {"integer", parameter.integer},
         {"required", parameter.required && !parameter.default_value},
         {"preset", parameter.default_value ? nlohmann::json(*parameter.default_value)
                                            : nlohmann::json(nullptr)},
         {"meaning", parameter.meaning}});
  }
  return {{"name", info.name},           {"kind", name_of(info.kind)},
          {"summary", info.summary},     {"input", info.input},
          {"output", info.output},       {"guarantee", info.guarantee},
          {"unbiased", info.unbiased},   {"bias", info.bias},
          {"reference", info.reference}, {"published_client_claim", info.published_client_claim},
          {"parameters", parameters}};
}

/// What a mechanism is, in lines that fit a terminal where a table of all would not.
void print_lines(const MechanismInfo& info, std::string_view indent) {
  const std::pair<std::string_view, std::string_view> lines[] = {{"input", info.input},
                                                                 {"output", info.output},
                                                                 {"guarantee", info.guarantee},
                                                                 {"bias", info.bias},
                                                                 {"reference", info.reference}};
  for (const auto& [head, text] : lines) fmt::print("{}{:<11}{}\n", indent, head, text);
  if (info.published_client_claim.empty()) return;
  fmt::print("{}{:<11}{} (not ours)\n", indent, "published", info.published_client_claim);
}

int list_all(bool json) {
  if (json) {
    nlohmann::json all = nlohmann::json::array();
    for (const MechanismInfo& info : mechanisms()) all.push_back(to_json(info));
    fmt::print("{}\n", nlohmann::json{{"mechanisms", all}}.dump(2));
    return 0;
  }
  const std::pair<MechanismKind, std::string_view> kinds[] = {
      {MechanismKind::kValue, "VALUE: every weight alone, one symbol each"},
      {MechanismKind::kVector, "VECTOR: the whole vector at once"},
      {MechanismKind::kBits, "BITS: encoded features, or a one-hot category"}};
  for (const auto& [kind, heading] : kinds) {
    fmt::print("{}\n\n", heading);
    for (const MechanismInfo& info : mechanisms()) {
      if (info.kind != kind) continue;
      fmt::print("  {}: {}\n", info.name, info.summary);
      print_lines(info, "    ");
      fmt::print("\n");
    }
  }
  fmt::print(
      "'sotto mechanisms NAME' shows one with its parameters, 'sotto verify NAME' checks what it "
      "claims.\n");
  return 0;
}

Result<int> show_one(const Arguments& arguments) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(arguments.name));
  if (arguments.json) {
    fmt::print("{}\n", to_json(*info).dump(2));
    return 0;
  }
  fmt::print("{}: {}\n\n", info->name, info->summary);
  fmt::print("{:<11}{}\n", "kind", name_of(info->kind));
  print_lines(*info, "");
  if (info->parameters.empty()) {
    fmt::print("\nIt takes no parameter.\n");
    return 0;
  }
  Table table({"parameter", "valid", "default", "meaning"});
  for (const ParameterInfo& parameter : info->parameters) {
    table.add({"--" + std::string(parameter.name), parameter.valid(),
               parameter.default_value ? short_number(*parameter.default_value)
               : parameter.required    ? "(required)"
                                       : "(none)",
               std::string(parameter.meaning)});
  }
  fmt::print("\n{}", table.text());
  return 0;
}

}  // namespace

void add_mechanisms(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("mechanisms", "List the randomizers, or show one with its parameters");
  auto arguments = std::make_shared<Arguments>();
  sub->add_option("name", arguments->name, "show this one with its parameters")->type_name("NAME");
  sub->add_flag("--json", arguments->json, "print JSON");
  sub->footer(
      "Examples:\n"
      "  sotto mechanisms\n"
      "  sotto mechanisms two-point\n"
      "  sotto mechanisms --json | jq -r '.mechanisms[].name'");
  sub->callback([&action, arguments] {
    action = [arguments]() -> Result<int> {
      return arguments->name.empty() ? list_all(arguments->json) : show_one(*arguments);
    };
  });
}

}  // namespace sotto::cli
