// kill -9 at any moment: no report is ever sent uncharged, no round is charged twice, and all
// copies of a round's report that were ever sent are the same one.
//
// ledger_client is killed at each step of a round, at each change of a file, and
// at random moments; after every kill the ledger and the outbox are compared. SOTTO_KILLS says how
// many of the latter there are (150, for more than 300 kills in all); with 5,000 a window of a
// thousandth of the client's life is hit at least once with probability 0.99.
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "base/file.h"
#include "child_process.h"
#include "ledger_fixture.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr RoundId kRounds = 4;

int kills_wanted() {
  const char* const text = std::getenv("SOTTO_KILLS");
  return text == nullptr ? 150 : std::atoi(text);
}

/// One client's life, from its first round to its last.
class Life {
 public:
  explicit Life(std::string fault = "") : fault_(std::move(fault)) {}

  std::vector<std::string> words(const std::string& die_at = "") const {
    std::vector<std::string> words = {LEDGER_CLIENT, ledger().string(), outbox().string(),
                                      std::to_string(kRounds)};
    if (!fault_.empty()) words.insert(words.end(), {"--fault", fault_});
    if (!die_at.empty()) words.insert(words.end(), {"--die-at", die_at});
    return words;
  }

  /// What is wrong with what is on the disk now; empty where nothing is.
  std::string problem() const {
    std::map<std::uint64_t, std::string> bound;  // hash by round
    std::set<std::uint64_t> charged;
    if (std::filesystem::exists(ledger()) && std::filesystem::file_size(ledger()) > 0) {
      // A client that died while it made the file leaves one without tables: it has sent nothing.
      std::string lines;
      const auto exported = export_ledger(ledger(), lines);
      if (exported) {
        const auto verified = verify_ledger(ledger());
        if (!verified) return message(verified);
        if (auto why = read_entries(lines, charged, bound); !why.empty()) return why;
        if (auto why = compare_sums(*verified, charged.size()); !why.empty()) return why;
      } else if (std::filesystem::exists(ledger().string() + ".head")) {
        return message(exported);
      }
    }
    std::istringstream sent(read_text(outbox()).value_or(""));
    std::uint64_t round = 0;
    std::string hash;
    while (sent >> round >> hash) {
      if (!charged.contains(round)) return "a report was sent uncharged";
      if (!bound.contains(round)) return "a report was sent unbound";
      if (bound[round] != hash) return "another report was sent than the bound one";
    }
    return {};
  }

  /// How many rounds' reports were sent.
  std::size_t sent() const {
    std::set<std::string> rounds;
    std::istringstream lines(read_text(outbox()).value_or(""));
    std::string line;
    while (std::getline(lines, line)) rounds.insert(line.substr(0, line.find(' ')));
    return rounds.size();
  }

 private:
  std::filesystem::path ledger() const { return folder_ / "ledger.db"; }
  std::filesystem::path outbox() const { return folder_ / "outbox"; }

  static std::string read_entries(const std::string& lines, std::set<std::uint64_t>& charged,
                                  std::map<std::uint64_t, std::string>& bound) {
    std::map<std::uint64_t, std::uint64_t> round_of;  // by charge
    std::istringstream stream(lines);
    std::string line;
    while (std::getline(stream, line)) {
      const json entry = json::parse(line);
      if (entry["kind"] == "charge") {
        if (!charged.insert(entry["round"].get<std::uint64_t>()).second)
          return "a round was charged twice";
        round_of[entry["entry"]] = entry["round"];
      } else if (entry["kind"] == "bind") {
        bound[round_of.at(entry["charge"])] = entry["report"];
      }
    }
    return {};
  }

  static std::string compare_sums(const LedgerReport& report, std::size_t charged) {
    if (report.accounts.empty()) return charged == 0 ? "" : "a charge without an account";
    const Spent& spent = report.accounts.front().spent;
    if (spent.rounds != charged) return "the number of rounds is not that of the charges";
    const auto guarantee = 128.0;  // 256 weights, epsilon 0.5 each, or a little less
    const double whole = guarantee * static_cast<double>(charged);
    if (spent.epsilon_sum > whole || spent.epsilon_sum < 0.999 * whole) {
      return "the sum is not the number of charges times their cost";
    }
    return {};
  }

  const TemporaryFolder folder_;
  std::string fault_;
};

/// Runs a client to its end, killed again and again as `next_death` says (empty: by no step, but
/// at a random moment). Returns the first problem.
class Killer {
 public:
  int kills() const { return kills_; }

  std::string live(const Life& life, const std::vector<std::string>& deaths) {
    for (const std::string& death : deaths) {
      Child child(life.words(death));
      if (death.empty()) {
        std::this_thread::sleep_for(std::chrono::microseconds(random_() % longest_));
        child.kill();
      }
      const bool killed = child.wait();
      if (!killed && child.exit_code() != 0) return "the client failed";
      if (auto why = life.problem(); !why.empty()) {
        return why + " (killed at " + (death.empty() ? "a random moment" : death) + ")";
      }
      if (!killed) break;  // it is done
      ++kills_;
    }
    const auto start = std::chrono::steady_clock::now();
    Child last(life.words());
    last.wait();
    if (last.exit_code() != 0) return "the client failed at last";
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    longest_ = std::max<unsigned>(longest_, static_cast<unsigned>(took.count()));
    if (auto why = life.problem(); !why.empty()) return why;
    return life.sent() == kRounds ? "" : "a round was never sent";
  }

 private:
  std::mt19937 random_{1};
  unsigned longest_ = 60'000;
  int kills_ = 0;
};

/// Folders in memory while this lives. A killed process leaves there what it would leave on a disk,
/// and where the moment is a step and not a time, nothing else matters.
class InMemory {
 public:
  InMemory() {
    if (const char* const text = std::getenv("TMPDIR")) before_ = text;
    if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
  }
  ~InMemory() { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(Kill, AtEveryStepOfARound) {
  const InMemory in_memory;
  Killer killer;
  for (const char* step : {"opened", "limited", "charged", "read", "perturbed", "bound", "unsynced",
                           "sent", "delivered"}) {
    std::vector<std::string> deaths;
    for (const int count : {1, 1, 2, 1, 2}) deaths.push_back(step + (":" + std::to_string(count)));
    const Life life;
    EXPECT_EQ(killer.live(life, deaths), "") << step;
  }
  EXPECT_GT(killer.kills(), 30);
}

TEST(Kill, AtEveryChangeOfAFile) {
  const InMemory in_memory;
  Killer killer;
  const int most = kills_wanted() / 3;
  for (const char* step : {"locked", "head-written", "rename", "renamed", "write", "half-write",
                           "sync", "shared", "truncate", "delete"}) {
    for (int count = 1; count <= most; ++count) {
      const int before = killer.kills();
      const Life life;
      ASSERT_EQ(killer.live(life, {step + (":" + std::to_string(count))}), "") << step << count;
      if (killer.kills() == before) break;  // there are fewer of them
    }
  }
  EXPECT_GT(killer.kills(), 50);
  RecordProperty("kills", killer.kills());
}

TEST(Kill, AtRandomMoments) {
  Killer killer;
  while (killer.kills() < kills_wanted()) {
    const Life life;
    ASSERT_EQ(killer.live(life, std::vector<std::string>(8)), "") << killer.kills();
  }
  RecordProperty("kills", killer.kills());
}

// The test of the test: a client that breaks a rule is noticed.
TEST(Kill, PlantedFaultsAreNoticed) {
  const std::pair<const char*, const char*> faults[] = {
      {"send-uncharged", "a report was sent uncharged"},
      {"send-unbound", "a report was sent unbound"},
      {"draw-again", "another report was sent than the bound one"},
      {"charge-each-try", "a round was charged twice"}};
  for (const auto& [fault, noticed] : faults) {
    Killer killer;
    const Life life(fault);
    const std::string why = killer.live(life, {"unsynced:1", "sent:1", "charged:1", "bound:1"});
    EXPECT_EQ(why.substr(0, why.find(" (")), noticed) << fault;
  }
}

}  // namespace
}  // namespace sotto
