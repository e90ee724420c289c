#include "keys_actions.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_number.h"
#include "sotto/policy.h"
#include "sotto/recipe.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;
using identity::Authority;
using identity::Bundle;
using identity::NodeRecord;
using identity::Policy;
using identity::Role;

std::string moment(identity::Time time, const char* form) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch());
  return fmt::format(fmt::runtime(form), fmt::gmtime(static_cast<std::time_t>(seconds.count())));
}

Json node_json(const NodeRecord& node) {
  const identity::Member& member = node.member;
  constexpr const char* kForm = "{:%Y-%m-%dT%H:%M:%SZ}";
  return {{"name", member.name},
          {"role", identity::name_of(member.role)},
          {"status", identity::name_of(node.status)},
          {"serial", member.serial},
          {"not_before", moment(member.not_before, kForm)},
          {"not_after", moment(member.not_after, kForm)},
          {"hosts", member.hosts},
          {"sign_key", identity::to_hex(member.sign_key)},
          {"seal_key", member.seal_key ? Json(identity::to_hex(*member.seal_key)) : Json(nullptr)},
          {"bundle", node.bundle.empty() ? Json(nullptr) : Json(node.bundle.string())}};
}

std::string node_table(const std::vector<NodeRecord>& nodes) {
  Table table({"name", "role", "status", "valid until", "hosts", "bundle"});
  for (const NodeRecord& node : nodes) {
    std::string hosts;
    for (const std::string& host : node.member.hosts) hosts += (hosts.empty() ? "" : " ") + host;
    table.add({node.member.name, std::string(identity::name_of(node.member.role)),
               std::string(identity::name_of(node.status)),
               moment(node.member.not_after, "{:%Y-%m-%d}"), hosts.empty() ? "-" : hosts,
               node.bundle.empty() ? "elsewhere" : node.bundle.string() + "/"});
  }
  return table.text();
}

int show(const std::filesystem::path& folder, const std::vector<NodeRecord>& nodes, bool json) {
  if (json) {
    Json all = Json::array();
    for (const NodeRecord& node : nodes) all.push_back(node_json(node));
    fmt::print("{}\n", Json{{"folder", folder.string()}, {"nodes", all}}.dump(2));
  } else {
    fmt::print("{}", node_table(nodes));
  }
  return 0;
}

Result<std::optional<Policy>> policy_of(const PolicyOptions& options) {
  const bool limits = options.epsilon_per_round || options.epsilon || options.unit_epsilon;
  if (options.recipe.empty()) {
    if (!limits && options.settings.empty()) return std::nullopt;
    return fail(ErrorKind::kUsage,
                "a policy needs --recipe FILE.toml, whose mechanism, model and fingerprint it "
                "allows");
  }
  if (!options.epsilon_per_round || !options.epsilon) {
    return fail(ErrorKind::kUsage,
                "a policy needs --epsilon-per-round E and --epsilon E, of whole reports and of a "
                "client's whole life; 'sotto account " +
                    options.recipe.string() + "' prints what the recipe costs");
  }
  SOTTO_TRY(const Recipe recipe, load_recipe(options.recipe, options.settings));
  Policy policy;
  policy.mechanisms = {recipe.encode.on() ? recipe.encode.mechanism : recipe.privacy.mechanism};
  policy.shuffle = {std::string(name_of(recipe.shuffle.mode))};
  policy.models = {recipe.model.file.empty() ? recipe.model.name : recipe.model.file};
  policy.recipes = {recipe.fingerprint()};
  policy.epsilon_per_round = *options.epsilon_per_round;
  policy.epsilon = *options.epsilon;
  policy.unit_epsilon = options.unit_epsilon;
  policy.delta = recipe.account.delta;
  policy.rounds = static_cast<std::uint64_t>(recipe.federation.rounds);
  policy.min_batch = static_cast<std::uint64_t>(recipe.shuffle.min_batch);
  // What is written must be readable: the reader knows which numbers are valid.
  SOTTO_TRY(policy, identity::parse_policy(identity::policy_text(policy), "the policy"));
  return policy;
}

/// With the key of the server that the bundle belongs to.
Result<void> write_policy(const std::filesystem::path& folder, Policy policy) {
  SOTTO_TRY(const Bundle bundle, Bundle::read(folder, Role::kClient));
  std::error_code code;
  if (std::filesystem::exists(bundle.policy_file(), code)) {
    return fail(ErrorKind::kRefused, bundle.policy_file().string() +
                                         ": is there already, and a client's own file is never "
                                         "overwritten");
  }
  policy.server_key = bundle.server_key;
  return write_file_atomically(bundle.policy_file(), identity::policy_text(policy),
                               Readers::kOwner);
}

std::vector<identity::NodeOptions> nodes_of(const KeysInitOptions& options) {
  std::vector<identity::NodeOptions> nodes;
  nodes.push_back({Role::kServer, "server", options.server_hosts, options.days});
  const auto add = [&](Role role, std::uint64_t count, const std::string& name,
                       const std::vector<std::string>& hosts) {
    for (std::uint64_t i = 1; i <= count; ++i) {
      nodes.push_back({role,
                       name + (role == Role::kShuffler && count == 1 ? "" : fmt::format("-{}", i)),
                       hosts, options.days});
    }
  };
  add(Role::kShuffler, options.shufflers, "shuffler", options.shuffler_hosts);
  add(Role::kClient, options.clients, "client", {});
  return nodes;
}

}  // namespace

Result<int> keys_init(const KeysInitOptions& options) {
  SOTTO_TRY(const auto policy, policy_of(options.policy));
  SOTTO_TRY(const Authority authority,
            Authority::create(options.folder, nodes_of(options), options.ca_days));
  SOTTO_TRY(const auto nodes, authority.list());
  for (const NodeRecord& node : nodes) {
    if (policy && node.member.role == Role::kClient) {
      SOTTO_CHECK(write_policy(node.bundle, *policy));
    }
  }
  show(options.folder, nodes, options.json);
  if (!options.json) {
    fmt::print(
        "\nMove each bundle to the machine of its node and keep {} where nobody else can read it:\n"
        "whoever has ca.key can admit anybody.\n",
        (options.folder / "ca/").string());
  }
  return 0;
}

Result<int> keys_issue(const KeysIssueOptions& options) {
  SOTTO_TRY(const Role role, identity::role_called(options.role));
  SOTTO_TRY(const auto policy, policy_of(options.policy));
  if (policy && role != Role::kClient) {
    return fail(ErrorKind::kUsage,
                "--recipe: only a client has a policy, and this is a " + options.role);
  }
  if (role == Role::kClient && !options.hosts.empty()) {
    return fail(ErrorKind::kUsage, "--host: a client is not reached by anybody: it only dials out");
  }
  SOTTO_TRY(const Authority authority, Authority::open(options.folder));
  SOTTO_TRY(const NodeRecord node,
            authority.issue({role, options.name, options.hosts, options.days}));
  if (policy) SOTTO_CHECK(write_policy(node.bundle, *policy));
  return show(options.folder, {node}, options.json);
}

Result<int> keys_revoke(const KeysRevokeOptions& options) {
  SOTTO_TRY(const Authority authority, Authority::open(options.folder));
  SOTTO_TRY(const NodeRecord node, authority.revoke(options.name));
  show(options.folder, {node}, options.json);
  if (!options.json) {
    fmt::print(
        "\nBundles in {} have the new list. Copy {} over crl.pem of the nodes that run\n"
        "elsewhere; they read it without a restart.\n",
        (options.folder / "").string(), authority.crl_file().string());
  }
  return 0;
}

Result<int> keys_list(const KeysListOptions& options) {
  SOTTO_TRY(const Authority authority, Authority::open(options.folder));
  SOTTO_TRY(const auto nodes, authority.list());
  return show(options.folder, nodes, options.json);
}

Result<int> keys_policy(const KeysPolicyOptions& options) {
  SOTTO_TRY(const auto policy, policy_of(options.policy));
  const auto file = options.bundle / "policy.toml";
  if (policy) SOTTO_CHECK(write_policy(options.bundle, *policy));
  SOTTO_TRY(const Policy read, identity::read_policy(file));
  if (options.json) {
    const auto optional = [](const std::optional<double>& value) {
      return value ? number_or_null<Json>(*value) : Json(nullptr);
    };
    const Json all = {{"file", file.string()},
                      {"mechanisms", read.mechanisms},
                      {"shuffle", read.shuffle},
                      {"models", read.models},
                      {"recipes", read.recipes},
                      {"epsilon_per_round", number_or_null<Json>(read.epsilon_per_round)},
                      {"epsilon", number_or_null<Json>(read.epsilon)},
                      {"delta", read.delta},
                      {"rounds", read.rounds},
                      {"min_batch", read.min_batch},
                      {"unit_epsilon", optional(read.unit_epsilon)},
                      {"weights", read.work.weights},
                      {"memory_mb", read.work.memory_mb},
                      {"epochs", read.work.epochs},
                      {"server_key", identity::to_hex(read.server_key)}};
    fmt::print("{}\n", all.dump(2));
  } else {
    fmt::print("{}", identity::policy_text(read));
  }
  return 0;
}

}  // namespace sotto::cli
