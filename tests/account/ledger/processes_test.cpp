// Several processes on one ledger, and a disk that is full.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "ledger_fixture.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

/// Runs `work` in processes of their own, numbered from 0; how many came back with success.
template <class Work>
int in_processes(int count, const Work& work) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work(i) ? 0 : 1);
    children.push_back(child);
  }
  int good = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++good;
  }
  return good;
}

TEST_F(LedgerTest, ProcessesNeverSpendMoreThanTheLimitTogether) {
  open_with({.epsilon_per_round = 1.0, .epsilon = 30.0}).reset();
  const int good = in_processes(3, [this](int number) {
    auto ledger = open_ledger(file());
    if (!ledger) return false;
    for (RoundId round = 0; round < 20; ++round) {
      const auto charge = (*ledger)->charge(request(round + 100U * static_cast<RoundId>(number)));
      if (!charge) {
        if (charge.error().kind != ErrorKind::kRefused) return false;
      } else if (!(*ledger)->bind(*charge, report_bytes("r" + std::to_string(charge->id)))) {
        return false;
      }
    }
    return true;
  });
  EXPECT_EQ(good, 3);
  const auto report = verify_ledger(file());
  ASSERT_TRUE(report) << message(report);
  EXPECT_EQ(report->accounts[0].spent.epsilon, 30.0);
  EXPECT_EQ(report->head.entries, 61U);
}

TEST_F(LedgerTest, ProcessesNeverChargeARoundTwice) {
  // Also who makes the file is not agreed upon.
  const int good = in_processes(3, [this](int number) {
    auto ledger = open_ledger(file());
    if (!ledger) return false;
    const std::string own = "client " + std::to_string(number);
    const Limits limits{.epsilon_per_round = 1.0, .epsilon = 1e3};
    if (!(*ledger)->set_limits("alice", "mnist", limits)) return false;
    if (!(*ledger)->set_limits(own, "mnist", limits)) return false;
    for (RoundId round = 0; round < 15; ++round) {
      if (!(*ledger)->charge(request(round))) return false;
      if (!(*ledger)->charge(request(round, 1.0, own))) return false;
    }
    return true;
  });
  EXPECT_EQ(good, 3);
  const auto report = verify_ledger(file());
  ASSERT_TRUE(report) << message(report);
  EXPECT_EQ(report->head.entries, 4U + 4U * 15U);
  for (const auto& account : report->accounts) EXPECT_EQ(account.spent.epsilon, 15.0);
}

TEST_F(LedgerTest, ProcessesBindOneReport) {
  auto ledger = open_with({.epsilon_per_round = 1.0, .epsilon = 1e3});
  const auto charge = ledger->charge(request(1));
  ledger.reset();
  const int good = in_processes(4, [this, &charge](int number) {
    auto mine = open_ledger(file());
    return mine && (*mine)->bind(*charge, report_bytes("report " + std::to_string(number)));
  });
  EXPECT_EQ(good, 1);
  EXPECT_TRUE(verify_ledger(file()));
}

/// What all do with a full disk: the step is refused, nothing of it stays, and when there is room
/// again it goes on.
template <class MakeRoom>
void expect_to_survive(Ledger& ledger, const fs::path& file, const MakeRoom& make_room) {
  Result<void> bound;
  RoundId round = 1;
  std::optional<Charge> last;
  for (; round < 1000; ++round) {
    const auto charge = ledger.charge(request(round));
    if (!charge) {
      bound = tl::unexpected<Error>(charge.error());
      break;
    }
    last = *charge;
    bound = ledger.bind(*charge, report_bytes(std::string(20'000, 'x')));
    if (!bound) break;
  }
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().kind, ErrorKind::kIo) << message(bound);
  EXPECT_NE(message(bound).find(file.string()), std::string::npos);
  make_room();
  const auto report = verify_ledger(file);
  ASSERT_TRUE(report) << message(report);
  const auto charge = ledger.charge(request(round));
  ASSERT_TRUE(charge) << message(charge);
  const auto again = ledger.bind(*charge, report_bytes(std::string(20'000, 'x')));
  EXPECT_TRUE(again) << message(again);
  EXPECT_EQ(ledger.spent("alice", "mnist")->rounds, round);
  EXPECT_TRUE(verify_ledger(file));
  EXPECT_TRUE(open_ledger(file));
}

TEST_F(LedgerTest, AFullDiskRefusesAndLaterItGoesOn) {
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=600k") != 0) {
    GTEST_SKIP() << "a disk of its own needs the superuser; see AFileThatCannotGrow for the rest";
  }
  struct Unmount {
    const fs::path& disk;
    ~Unmount() { ::umount2(disk.c_str(), MNT_DETACH); }
  };
  const Unmount at_the_end{disk};
  const fs::path ledger_file = disk / "ledger.db";
  {
    auto ledger = open_ledger(ledger_file);
    ASSERT_TRUE(ledger) << message(ledger);
    ASSERT_TRUE(
        (*ledger)->set_limits("alice", "mnist", {.epsilon_per_round = 1.0, .epsilon = 1e6}));
    expect_to_survive(**ledger, ledger_file,
                      [&] { ::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=8m"); });
  }
}

TEST_F(LedgerTest, AFileThatCannotGrowRefusesAndLaterItGoesOn) {
  auto ledger = open_with({.epsilon_per_round = 1.0, .epsilon = 1e6});
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{200'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  expect_to_survive(*ledger, file(), [&] { ::setrlimit(RLIMIT_FSIZE, &before); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace sotto
