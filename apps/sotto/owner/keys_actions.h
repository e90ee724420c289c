// What `sotto keys` does: one function a subcommand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sotto/result.h"

namespace sotto::cli {

/// What a client's policy.toml is written from. Limits that stand in the recipe are taken from it.
struct PolicyOptions {
  std::filesystem::path recipe;  // empty: no policy
  std::vector<std::string> settings;
  std::optional<double> epsilon_per_round;
  std::optional<double> epsilon;
  std::optional<double> unit_epsilon;
};

struct KeysInitOptions {
  std::filesystem::path folder;
  std::uint64_t clients = 0;
  std::uint64_t shufflers = 1;
  std::vector<std::string> server_hosts;
  std::vector<std::string> shuffler_hosts;
  int days = 365;
  int ca_days = 3650;
  PolicyOptions policy;
  bool json = false;
};
Result<int> keys_init(const KeysInitOptions& options);

struct KeysIssueOptions {
  std::filesystem::path folder;
  std::string role;
  std::string name;
  std::vector<std::string> hosts;
  int days = 365;
  PolicyOptions policy;
  bool json = false;
};
Result<int> keys_issue(const KeysIssueOptions& options);

struct KeysRevokeOptions {
  std::filesystem::path folder;
  std::string name;
  bool json = false;
};
Result<int> keys_revoke(const KeysRevokeOptions& options);

struct KeysListOptions {
  std::filesystem::path folder;
  bool json = false;
};
Result<int> keys_list(const KeysListOptions& options);

struct KeysPolicyOptions {
  std::filesystem::path bundle;
  PolicyOptions policy;
  bool json = false;
};
Result<int> keys_policy(const KeysPolicyOptions& options);

}  // namespace sotto::cli
