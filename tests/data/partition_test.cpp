// Partitions: every rule covers the data exactly once and gives each client something; each keeps
// its own promise; errors name what is valid.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/toy_data.h"

namespace sotto {
namespace {

std::vector<std::size_t> class_counts(const Dataset& data, const Partition& parts, std::size_t c) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(data.classes), 0);
  for (const std::uint32_t i : parts.client(c)) {
    ++counts.at(static_cast<std::size_t>(data.labels.at(i)));
  }
  return counts;
}

Dataset with_users(std::vector<std::uint32_t> users) {
  Dataset data = toy_labels({users.size()});
  data.users = std::move(users);
  return data;
}

Partition cut(const Dataset& data, std::string_view rule, std::size_t clients,
              std::uint64_t seed = 0) {
  auto parts = make_partition(data, rule, clients, seed);
  if (!parts) ADD_FAILURE() << rule << ": " << parts.error().message;
  return *parts;
}

std::string refusal(const Dataset& data, std::string_view rule, std::size_t clients) {
  const auto parts = make_partition(data, rule, clients, 0);
  return parts ? "accepted" : parts.error().message;
}

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

struct Case {
  const char* rule;
  std::size_t clients;
};

class EveryRule : public testing::TestWithParam<Case> {};

TEST_P(EveryRule, CoversTheDataExactlyOnceWithNobodyEmpty) {
  const Dataset data = toy_labels({97, 3, 250, 0, 41, 1});
  const auto [rule, clients] = GetParam();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Partition parts = cut(data, rule, clients, seed);
    ASSERT_EQ(parts.clients(), clients);
    std::vector<int> seen(data.size(), 0);
    for (std::size_t c = 0; c < clients; ++c) {
      EXPECT_FALSE(parts.client(c).empty()) << "client " << c << ", seed " << seed;
      for (const std::uint32_t i : parts.client(c)) ++seen.at(i);
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int n) { return n == 1; })) << "seed " << seed;
  }
}

TEST_P(EveryRule, DependsOnTheSeedAlone) {
  const Dataset data = toy_labels({97, 3, 250, 0, 41, 1});
  const auto flat = [&](std::uint64_t seed) {
    const auto [rule, clients] = GetParam();
    const Partition parts = cut(data, rule, clients, seed);
    std::vector<std::uint32_t> all;
    for (std::size_t c = 0; c < clients; ++c) {
      all.push_back(static_cast<std::uint32_t>(parts.client(c).size()));
      all.insert(all.end(), parts.client(c).begin(), parts.client(c).end());
    }
    return all;
  };
  EXPECT_EQ(flat(1), flat(1));
  EXPECT_NE(flat(1), flat(2));
}

INSTANTIATE_TEST_SUITE_P(Partition, EveryRule,
                         testing::Values(Case{"iid", 1}, Case{"iid", 7}, Case{"iid", 392},
                                         Case{"stratified", 1}, Case{"stratified", 7},
                                         Case{"stratified", 392}, Case{"dirichlet(0.001)", 9},
                                         Case{"dirichlet(0.1)", 40}, Case{"dirichlet(0.5)", 392},
                                         Case{"dirichlet(1e6)", 7}, Case{"shards(1)", 392},
                                         Case{"shards(2)", 10}, Case{"shards(39)", 10}),
                         [](const auto& chosen) {
                           std::string name = std::string(chosen.param.rule) + "_" +
                                              std::to_string(chosen.param.clients);
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Partition, IidSizesDifferByAtMostOne) {
  const Dataset data = toy_labels({100, 3});
  const Partition parts = cut(data, "iid", 10);
  for (std::size_t c = 0; c < 10; ++c) {
    EXPECT_GE(parts.client(c).size(), 10U);
    EXPECT_LE(parts.client(c).size(), 11U);
  }
}

TEST(Partition, StratifiedCountsAndSizesDifferByAtMostOne) {
  const Dataset data = toy_labels({101, 55, 7, 260});
  const Partition parts = cut(data, "stratified", 12);
  for (std::size_t a = 0; a < 12; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto left = class_counts(data, parts, a);
      const auto right = class_counts(data, parts, b);
      for (std::size_t k = 0; k < left.size(); ++k) {
        EXPECT_LE(std::max(left[k], right[k]) - std::min(left[k], right[k]), 1U);
      }
      const auto [low, high] = std::minmax({parts.client(a).size(), parts.client(b).size()});
      EXPECT_LE(high - low, 1U);
    }
  }
}

TEST(Partition, ShardsGiveEachClientFewClasses) {
  const Dataset data = toy_labels(std::vector<std::size_t>(10, 100));
  const Partition parts = cut(data, "shards(2)", 10);
  bool mixed = false;
  for (std::size_t c = 0; c < 10; ++c) {
    const auto counts = class_counts(data, parts, c);
    const auto held = 10 - std::ranges::count(counts, std::size_t{0});
    EXPECT_LE(held, 2);
    mixed |= held == 2;
    EXPECT_EQ(parts.client(c).size(), 100U);
  }
  EXPECT_TRUE(mixed) << "shards were dealt in order";
}

TEST(Partition, SmallAlphaSkewsAndLargeAlphaEvens) {
  const Dataset data = toy_labels(std::vector<std::size_t>(10, 1000));
  const auto largest_share = [&](const char* rule) {
    const Partition parts = cut(data, rule, 10);
    double sum = 0.0;
    for (std::size_t c = 0; c < 10; ++c) {
      const auto counts = class_counts(data, parts, c);
      sum += static_cast<double>(*std::ranges::max_element(counts)) /
             static_cast<double>(parts.client(c).size());
    }
    return sum / 10.0;
  };
  EXPECT_GT(largest_share("dirichlet(0.05)"), 0.6);
  EXPECT_LT(largest_share("dirichlet(1000)"), 0.13);
}

TEST(Partition, UsersBecomeClients) {
  const Dataset data = with_users({2, 0, 1, 2, 2, 0});
  for (const std::size_t clients : {0U, 3U}) {
    const Partition parts = cut(data, "users", clients);
    ASSERT_EQ(parts.clients(), 3U);
    const auto ids = [&](std::size_t c) {
      return std::set<std::uint32_t>(parts.client(c).begin(), parts.client(c).end());
    };
    EXPECT_EQ(ids(0), (std::set<std::uint32_t>{1, 5}));
    EXPECT_EQ(ids(1), (std::set<std::uint32_t>{2}));
    EXPECT_EQ(ids(2), (std::set<std::uint32_t>{0, 3, 4}));
  }
}

TEST(PartitionErrors, NameTheValid) {
  const Dataset data = toy_labels({50, 50});
  EXPECT_TRUE(contains(refusal(data, "dirichlett(1)", 5), "did you mean 'dirichlet'"));
  EXPECT_TRUE(contains(refusal(data, "stratifed", 5), "did you mean 'stratified'"));
  EXPECT_TRUE(contains(refusal(data, "", 5),
                       "iid, stratified, dirichlet(ALPHA), shards(K), repeat(K), users"));
  EXPECT_TRUE(contains(refusal(data, "dirichlet", 5), "must have the form dirichlet(ALPHA)"));
  EXPECT_TRUE(contains(refusal(data, "dirichlet(0.5", 5), "must have the form dirichlet(ALPHA)"));
  EXPECT_TRUE(contains(refusal(data, "iid(3)", 5), "must have the form iid"));
  for (const char* rule : {"dirichlet()", "dirichlet(0)", "dirichlet(-1)", "dirichlet(nan)",
                           "dirichlet(inf)", "dirichlet(1x)", "dirichlet(1e7)"}) {
    EXPECT_TRUE(contains(refusal(data, rule, 5), "[0.001, 1000000]")) << rule;
  }
  for (const char* rule : {"shards(0)", "shards(21)", "shards(1.5)", "shards(-1)"}) {
    EXPECT_TRUE(contains(refusal(data, rule, 5), "[1, 20]")) << rule;
  }
  for (const char* rule : {"iid", "stratified", "dirichlet(1)", "shards(1)"}) {
    EXPECT_TRUE(contains(refusal(data, rule, 101), "valid is [1, 100]")) << rule;
    EXPECT_TRUE(contains(refusal(data, rule, 0), "valid is [1, 100]")) << rule;
  }
  EXPECT_TRUE(contains(refusal(data, "users", 0), "names no users"));
  EXPECT_TRUE(contains(refusal(with_users({0, 1, 1}), "users", 3), "has 2 users"));
  EXPECT_TRUE(contains(refusal(with_users({0, 2, 2}), "users", 0), "user 1 has no sample"));
}

TEST(Repeat, AnyNumberOfClientsHoldAsManyOfEachSampleAsOfAnother) {
  const Dataset data = toy_labels({70, 33});
  for (const std::size_t each : {1U, 5U}) {
    const std::size_t clients = 103 * 40;
    const Partition parts = cut(data, "repeat(" + std::to_string(each) + ")", clients);
    ASSERT_EQ(parts.clients(), clients);
    std::vector<std::size_t> held(data.size(), 0);
    std::set<std::vector<std::uint32_t>> different;
    for (std::size_t c = 0; c < clients; ++c) {
      const auto own = parts.client(c);
      ASSERT_EQ(own.size(), each);
      EXPECT_EQ(std::set(own.begin(), own.end()).size(), each);
      different.emplace(own.begin(), own.end());
      for (const std::uint32_t i : own) ++held.at(i);
    }
    EXPECT_EQ(different.size(), 103U);
    const auto [fewest, most] = std::ranges::minmax(held);
    EXPECT_LE(most - fewest, each * each);
    EXPECT_EQ(std::accumulate(held.begin(), held.end(), std::size_t{0}), clients * each);
  }
  // A billion clients cost no more than one.
  EXPECT_EQ(cut(data, "repeat(2)", 1'000'000'000).client(999'999'999).size(), 2U);
}

TEST(Repeat, NeedsSamplesAndClients) {
  const Dataset data = toy_labels({3});
  EXPECT_TRUE(contains(refusal(data, "repeat(4)", 10), "K is '4'"));
  EXPECT_TRUE(contains(refusal(data, "repeat(0)", 10), "K is '0'"));
  EXPECT_TRUE(contains(refusal(data, "repeat", 10), "must have the form repeat(K)"));
  EXPECT_TRUE(contains(refusal(data, "repeat(1)", 0), "one client at least"));
  EXPECT_EQ(repeated_samples("repeat(7)"), 7U);
  EXPECT_FALSE(repeated_samples("iid"));
}

}  // namespace
}  // namespace sotto
