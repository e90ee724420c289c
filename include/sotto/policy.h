// What a client lets a server ask for: its policy.toml, and the check of a plan against it.
//
// The policy is the client's own file. A server that plans less privacy than it allows is refused
// before any data is read. Nothing is allowed that the policy does not name: every limit has to be
// there, and an empty list allows nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/identity.h"

namespace sotto::identity {

/// How much work a training may be. The defaults are the bounds of a client whose policy does not
/// name its own, or that has none: no server gets a client to take more without its owner's word.
struct WorkLimits {
  std::uint64_t weights = 200'000'000;  // of the network
  std::uint64_t memory_mb = 8'192;      // that a step of training takes, about
  std::uint64_t epochs = 1'000;         // over the client's data in a round
};

/// What a recipe asks for, known before any data is read or weight is made.
struct Work {
  std::uint64_t weights = 0;
  std::uint64_t memory_mb = 0;
  std::uint64_t epochs = 0;
};

struct Policy {
  std::vector<std::string> mechanisms;
  std::vector<std::string> shuffle;  // "shuffler", "latency", "none"
  std::vector<std::string> models;
  std::vector<std::string> recipes;    // fingerprints; "any" alone: the other limits decide
  double epsilon_per_round = 0.0;      // of a whole report, as the ledger counts it
  double epsilon = 0.0;                // lifetime
  double delta = 0.0;                  // lifetime
  std::uint64_t rounds = 0;            // in which the client takes part
  std::uint64_t min_batch = 0;         // that a round must wait for at least
  std::optional<double> unit_epsilon;  // of one weight, vector or bit group; missing: no limit
  WorkLimits work;
  PublicKey server_key{};  // what chunks are sealed to
};

/// What a server plans. Epsilons are those that the client computed itself, from the mechanism that
/// it made from the plan, never numbers that the server sent.
struct PlanFacts {
  std::vector<std::string> mechanisms;  // every name that the plan uses: "srr"
  std::string shuffle;
  std::string model;
  std::string recipe;              // fingerprint of the recipe that the client parsed itself
  double epsilon_per_round = 0.0;  // Guarantee::epsilon of the whole report
  double epsilon = 0.0;            // of the whole training together with what was spent before
  double delta = 0.0;
  double unit_epsilon = 0.0;  // Guarantee::unit_epsilon
  std::uint64_t rounds = 0;
  std::uint64_t min_batch = 0;
  Work work;
  PublicKey server_key{};
};

Result<Policy> read_policy(const std::filesystem::path& file);
/// `place` stands for the file name in errors.
Result<Policy> parse_policy(std::string_view text, const std::string& place);
/// The policy as a commented file that parse_policy() reads back.
std::string policy_text(const Policy& policy);

/// Every way in which the plan goes beyond the policy, in words; empty: none.
std::vector<std::string> breaches(const Policy& policy, const PlanFacts& plan);
/// kRefused with all of them.
Result<void> check(const Policy& policy, const PlanFacts& plan);
/// The same of the work alone, which is known before the rest can be computed.
Result<void> check(const WorkLimits& limits, const Work& work);

}  // namespace sotto::identity
