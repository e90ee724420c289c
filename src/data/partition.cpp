// Cuts a data set over clients: each rule names an owner for every sample, one routine turns owners
// into a Partition. So every sample belongs to exactly one client, whatever the rule; only
// "repeat", for more clients than there are samples, gives a sample to several.
//
// The Dirichlet rule is the usual one: for each class, the shares of the clients are one draw from
// a symmetric Dirichlet distribution. Shares are kept as logarithms, because for a small alpha the
// gamma variates they come from underflow.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <queue>

#include "base/nearest.h"
#include "sotto/data.h"

namespace sotto {
namespace {

using Owners = std::vector<std::uint32_t>;  // the client of each sample

constexpr double kSmallestAlpha = 1e-3;
constexpr double kLargestAlpha = 1e6;
constexpr std::size_t kMostRepeated = 1U << 31U;

std::vector<std::uint32_t> shuffled_range(std::size_t size, BitSource& bits) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(std::span(order), bits);
  return order;
}

/// All samples, class after class, in random order within a class.
std::vector<std::uint32_t> by_class(const Dataset& data, BitSource& bits) {
  std::vector<std::uint32_t> order = shuffled_range(data.size(), bits);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return data.labels[a] < data.labels[b];
  });
  return order;
}

/// Clients in ascending order, each one's samples in random order.
Partition collect(const Owners& owners, std::size_t clients, BitSource& bits) {
  std::vector<std::uint64_t> starts(clients + 1, 0);
  for (const std::uint32_t owner : owners) ++starts[owner + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::uint64_t> next(starts.begin(), starts.end() - 1);
  std::vector<std::uint32_t> order(owners.size());
  for (const std::uint32_t sample : shuffled_range(owners.size(), bits)) {
    order[next[owners[sample]]++] = sample;
  }
  return {std::move(order), std::move(starts)};
}

Owners iid(const Dataset& data, std::size_t clients, BitSource& bits) {
  Owners owners = shuffled_range(data.size(), bits);
  for (std::uint32_t& owner : owners) owner = static_cast<std::uint32_t>(owner % clients);
  return owners;
}

/// Deals class after class round the table without ever going back to its head: neither the class
/// counts nor the sizes of two clients differ by more than one.
Owners stratified(const Dataset& data, std::size_t clients, BitSource& bits) {
  const std::vector<std::uint32_t> seats = shuffled_range(clients, bits);
  const std::vector<std::uint32_t> order = by_class(data, bits);
  Owners owners(data.size());
  for (std::size_t i = 0; i < order.size(); ++i) owners[order[i]] = seats[i % clients];
  return owners;
}

/// Marsaglia and Tsang (2000), "A simple method for generating gamma variables"; for a shape below
/// one, Gamma(shape) = Gamma(shape + 1) * U^(1/shape).
double log_gamma_variate(double shape, BitSource& bits) {
  if (shape < 1.0) {
    return log_gamma_variate(shape + 1.0, bits) + std::log(1.0 - bits.unit()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double z = bits.normal();
    const double root = 1.0 + c * z;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (std::log(1.0 - bits.unit()) < 0.5 * z * z + d - d * v + d * std::log(v)) {
      return std::log(d) + std::log(v);
    }
  }
}

/// Moves one sample from the largest client to each that has none.
void fill_empty_clients(Owners& owners, std::size_t clients, BitSource& bits) {
  const Partition parts = collect(owners, clients, bits);
  std::priority_queue<std::pair<std::size_t, std::size_t>> largest;  // samples left, client
  for (std::size_t c = 0; c < clients; ++c) largest.emplace(parts.client(c).size(), c);
  for (std::size_t c = 0; c < clients; ++c) {
    if (!parts.client(c).empty()) continue;
    const auto [left, donor] = largest.top();
    largest.pop();
    owners[parts.client(donor)[left - 1]] = static_cast<std::uint32_t>(c);
    largest.emplace(left - 1, donor);
  }
}

Owners dirichlet(const Dataset& data, double alpha, std::size_t clients, BitSource& bits) {
  const std::vector<std::uint32_t> order = by_class(data, bits);
  Owners owners(data.size());
  std::vector<double> shares(clients);
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    while (to < order.size() && data.labels[order[to]] == data.labels[order[from]]) ++to;
    for (double& share : shares) share = log_gamma_variate(alpha, bits);
    const double most = *std::max_element(shares.begin(), shares.end());
    double sum = 0.0;
    for (double& share : shares) sum += share = std::exp(share - most);
    // Client c gets the samples between the rounded partial sums c and c + 1.
    double before = 0.0;
    std::size_t next = from;
    for (std::size_t c = 0; c < clients; ++c) {
      before += shares[c];
      const double cut = before / sum * static_cast<double>(to - from);
      const std::size_t end =
          c + 1 == clients ? to : std::min(to, from + static_cast<std::size_t>(cut + 0.5));
      for (; next < end; ++next) owners[order[next]] = static_cast<std::uint32_t>(c);
    }
    from = to;
  }
  fill_empty_clients(owners, clients, bits);
  return owners;
}

Owners shards(const Dataset& data, std::size_t per_client, std::size_t clients, BitSource& bits) {
  const std::vector<std::uint32_t> order = by_class(data, bits);
  const std::size_t count = clients * per_client;
  const std::vector<std::uint32_t> deal = shuffled_range(count, bits);
  Owners owners(data.size());
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t end = order.size() * (s + 1) / count;
    for (std::size_t i = order.size() * s / count; i < end; ++i) {
      owners[order[i]] = static_cast<std::uint32_t>(deal[s] / per_client);
    }
  }
  return owners;
}

struct Rule {
  std::string name;
  std::string parameter;  // what stands between the brackets, or empty
};

Result<Rule> parse_rule(std::string_view text) {
  static const std::vector<std::string> kForms = {"iid",       "stratified", "dirichlet(ALPHA)",
                                                  "shards(K)", "repeat(K)",  "users"};
  static const std::vector<std::string> kNames = {"iid",    "stratified", "dirichlet",
                                                  "shards", "repeat",     "users"};
  const std::size_t open = text.find('(');
  Rule rule{std::string(text.substr(0, open)), ""};
  if (open != std::string_view::npos) {
    rule.parameter = text.substr(open + 1);
    if (rule.parameter.ends_with(')')) rule.parameter.pop_back();
  }
  const auto known = std::find(kNames.begin(), kNames.end(), rule.name);
  if (known == kNames.end()) {
    return fail(ErrorKind::kUsage, "partition '" + std::string(text) + "' is unknown" +
                                       did_you_mean(rule.name, kNames) +
                                       " (valid: " + join(kForms) + ")");
  }
  const std::string& form = kForms[static_cast<std::size_t>(known - kNames.begin())];
  const bool wants_parameter = form.ends_with(')');
  const bool well_formed = wants_parameter ? open != std::string_view::npos && text.ends_with(')')
                                           : open == std::string_view::npos;
  if (!well_formed) {
    return fail(ErrorKind::kUsage,
                "partition '" + std::string(text) + "' must have the form " + form);
  }
  return rule;
}

template <class T>
Result<T> parse_parameter(const Rule& rule, const char* name, T low, T high,
                          const std::string& valid) {
  T value{};
  const char* end = rule.parameter.data() + rule.parameter.size();
  const auto [stop, code] = std::from_chars(rule.parameter.data(), end, value);
  if (code != std::errc{} || stop != end || !(value >= low && value <= high)) {
    return fail(ErrorKind::kUsage, "partition " + rule.name + ": " + name + " is '" +
                                       rule.parameter + "', valid is " + valid);
  }
  return value;
}

Result<Partition> by_user(const Dataset& data, std::size_t clients, BitSource& bits) {
  if (data.users.empty()) {
    return fail(ErrorKind::kUsage,
                "partition users: this data set names no users; only LEAF data does");
  }
  const std::size_t users =
      *std::max_element(data.users.begin(), data.users.end()) + std::size_t{1};
  if (clients != 0 && clients != users) {
    return fail(ErrorKind::kUsage, "partition users: the data set has " + std::to_string(users) +
                                       " users, so the number of clients must be " +
                                       std::to_string(users) + " or 0 (not " +
                                       std::to_string(clients) + ")");
  }
  Partition parts = collect(data.users, users, bits);
  for (std::size_t user = 0; user < users; ++user) {
    if (parts.client(user).empty()) {
      return fail(ErrorKind::kCorrupt,
                  "partition users: user " + std::to_string(user) + " has no sample");
    }
  }
  return parts;
}

}  // namespace

Partition Partition::repeated(std::vector<std::uint32_t> order, std::size_t clients,
                              std::size_t each) {
  const std::size_t ring = order.size();
  order.reserve(ring + each);
  for (std::size_t i = 0; i + 1 < each; ++i) order.push_back(order[i]);
  return {std::move(order), clients, ring, each};
}

std::optional<std::size_t> repeated_samples(std::string_view rule_text) {
  const Result<Rule> rule = parse_rule(rule_text);
  if (!rule || rule->name != "repeat") return std::nullopt;
  const auto each = parse_parameter<std::size_t>(*rule, "K", 1, kMostRepeated, "");
  return each ? std::optional(*each) : std::nullopt;
}

Result<Partition> make_partition(const Dataset& data, std::string_view rule_text,
                                 std::size_t clients, std::uint64_t seed) {
  SOTTO_TRY(const Rule rule, parse_rule(rule_text));
  BitSource bits = BitSource::from_seed(seed, "data.partition");
  if (rule.name == "users") return by_user(data, clients, bits);

  if (rule.name == "repeat") {
    SOTTO_TRY(const std::size_t each,
              parse_parameter<std::size_t>(rule, "K", 1, std::min(kMostRepeated, data.size()),
                                           "a whole number of samples that the set has"));
    if (clients > 0) return Partition::repeated(shuffled_range(data.size(), bits), clients, each);
    return fail(ErrorKind::kUsage, "partition repeat: there must be one client at least");
  }
  if (clients == 0 || clients > data.size()) {
    return fail(ErrorKind::kUsage, std::to_string(clients) + " clients for " +
                                       std::to_string(data.size()) +
                                       " samples: every client needs one, so valid is [1, " +
                                       std::to_string(data.size()) + "]");
  }
  if (rule.name == "iid") return collect(iid(data, clients, bits), clients, bits);
  if (rule.name == "stratified") return collect(stratified(data, clients, bits), clients, bits);
  if (rule.name == "dirichlet") {
    SOTTO_TRY(const double alpha, parse_parameter(rule, "ALPHA", kSmallestAlpha, kLargestAlpha,
                                                  "a number in [0.001, 1000000]"));
    return collect(dirichlet(data, alpha, clients, bits), clients, bits);
  }
  const std::size_t most = data.size() / clients;
  SOTTO_TRY(const std::size_t per_client,
            parse_parameter<std::size_t>(rule, "K", 1, most,
                                         "a whole number in [1, " + std::to_string(most) +
                                             "] for " + std::to_string(clients) + " clients and " +
                                             std::to_string(data.size()) + " samples"));
  return collect(shards(data, per_client, clients, bits), clients, bits);
}

}  // namespace sotto
