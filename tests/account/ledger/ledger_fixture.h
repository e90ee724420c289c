// Shared by the ledger's tests: a ledger in a folder of its own, requests with costs that are exact
// in binary, and the words of an error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sotto/ledger.h"
#include "temporary_folder.h"

namespace sotto {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

inline Cost pure_cost(double epsilon) { return {epsilon, 0.0, epsilon, 1}; }

inline ChargeRequest request(RoundId round, const Cost& cost, const std::string& client = "alice",
                             const std::string& task = "train") {
  return {client, "mnist", task, round, "two-point.v1:0123456789abcdef", cost};
}

inline ChargeRequest request(RoundId round, double epsilon = 1.0,
                             const std::string& client = "alice") {
  return request(round, pure_cost(epsilon), client);
}

inline std::vector<std::byte> report_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

template <class T>
void expect_refused(const Result<T>& result, ErrorKind kind,
                    const std::vector<std::string>& parts) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, kind) << message(result);
  for (const std::string& part : parts) {
    EXPECT_NE(message(result).find(part), std::string::npos)
        << message(result) << "\nlacks " << part;
  }
}

class LedgerTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "ledger.db"; }
  std::unique_ptr<Ledger> open() const {
    auto ledger = open_ledger(file());
    EXPECT_TRUE(ledger) << message(ledger);
    return ledger ? std::move(*ledger) : nullptr;
  }
  /// With limits for alice.
  std::unique_ptr<Ledger> open_with(const Limits& limits) const {
    auto ledger = open();
    const auto set = ledger->set_limits("alice", "mnist", limits);
    EXPECT_TRUE(set) << message(set);
    return ledger;
  }
  const TemporaryFolder folder_;
};

}  // namespace sotto
