// A client as small as it can be: it takes part in rounds, keeps its ledger, and is killed.
//
//   ledger_client LEDGER OUTBOX ROUNDS [--die-at STEP:COUNT] [--fault NAME]
//
// Each round: charge, read the data, perturb, bind, send, note the delivery. Sending is a line
// "ROUND HASH" that is appended to the outbox and synced. --die-at kills the process when it
// reaches the step for the COUNT-th time: a step of the round by its name, "locked",
// "head-written", "rename", "renamed": the steps of the head file, or "write", "half-write",
// "sync", "truncate", "delete", "shared": what SQLite asks of the system. --fault breaks one rule,
// so that the test of this program can show that it would notice.
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/sha256.h"
#include "flat_layout.h"
#include "sotto/ledger.h"

namespace sotto {
namespace {

std::string g_die_at;
int g_die_count = 0;

void step(std::string_view name) {
  if (g_die_at == name && --g_die_count == 0) ::kill(::getpid(), SIGKILL);
}

// SQLite's way to the system, with a step before and after each change of a file.
sqlite3_vfs* g_system = nullptr;

/// One kind of file: the counted methods, and those that do the work.
struct Methods {
  sqlite3_io_methods counted;  // first: what a file points at
  const sqlite3_io_methods* real;
};

const sqlite3_io_methods& real(const sqlite3_file* file) {
  return *reinterpret_cast<const Methods*>(file->pMethods)->real;
}

int counted_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  step("write");
  if (g_die_at == "half-write" && --g_die_count == 0) {
    real(file).xWrite(file, data, size / 2, at);
    ::kill(::getpid(), SIGKILL);
  }
  return real(file).xWrite(file, data, size, at);
}
int counted_sync(sqlite3_file* file, int flags) {
  step("sync");
  return real(file).xSync(file, flags);
}
int counted_truncate(sqlite3_file* file, sqlite3_int64 size) {
  step("truncate");
  return real(file).xTruncate(file, size);
}
int counted_lock(sqlite3_file* file, int offset, int n, int flags) {
  step("shared");
  return real(file).xShmLock(file, offset, n, flags);
}
int counted_delete(sqlite3_vfs* /*vfs*/, const char* name, int sync) {
  step("delete");
  return g_system->xDelete(g_system, name, sync);
}
int counted_open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out) {
  static std::map<const sqlite3_io_methods*, Methods> known;
  const int code = g_system->xOpen(g_system, name, file, flags, out);
  if (file->pMethods == nullptr) return code;
  const auto [at, is_new] = known.try_emplace(file->pMethods);
  if (is_new) {
    at->second = {*file->pMethods, file->pMethods};
    at->second.counted.xWrite = counted_write;
    at->second.counted.xSync = counted_sync;
    at->second.counted.xTruncate = counted_truncate;
    at->second.counted.xShmLock = counted_lock;
  }
  file->pMethods = &at->second.counted;
  return code;
}

void count_what_sqlite_does() {
  static sqlite3_vfs counted;
  g_system = sqlite3_vfs_find(nullptr);
  counted = *g_system;
  counted.zName = "counted";
  counted.xOpen = counted_open;
  counted.xDelete = counted_delete;
  sqlite3_vfs_register(&counted, 1);
}

Result<void> append(const char* file, const std::string& line) {
  const int fd = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written =
      fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  step("unsynced");
  const bool done = written && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (!done) return fail(ErrorKind::kIo, std::string(file) + ": cannot be written");
  return {};
}

std::vector<std::byte> make_report(const Mechanism& mechanism, RoundId round) {
  BitSource bits = BitSource::from_system();
  step("read");
  std::vector<float> data(mechanism.domain().layout->size(), 0.25F);
  Update update(mechanism.domain().layout, std::move(data));
  auto report = mechanism.perturb(bound(std::move(update), mechanism.domain()), bits);
  std::vector<std::byte> bytes;
  for (const Envelope& envelope : pack(std::move(report), round, 100)) {
    const auto piece = envelope.serialize();
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  step("perturbed");
  return bytes;
}

Result<void> take_part(Ledger& ledger, const Mechanism& mechanism, RoundId round,
                       const char* outbox, const std::string& fault) {
  ChargeRequest request{"client",
                        "data",
                        "task",
                        round,
                        std::string(mechanism.id()),
                        Cost::of(mechanism.guarantee())};
  if (fault == "charge-each-try") request.task += std::to_string(::getpid());
  const auto send = [&](std::span<const std::byte> report) {
    return append(outbox, std::to_string(round) + ' ' + sha256_hex(report) + '\n');
  };
  if (fault == "send-uncharged") {
    SOTTO_CHECK(send(make_report(mechanism, round)));
  }
  SOTTO_TRY(const Charge charge, ledger.charge(request));
  step("charged");
  if (charge.state == ChargeState::kDelivered) return {};
  std::vector<std::byte> report;
  if (charge.state == ChargeState::kBound && fault != "draw-again") {
    SOTTO_TRY(report, ledger.report(charge));
  } else {
    report = make_report(mechanism, round);
    if (fault == "send-unbound") SOTTO_CHECK(send(report));
    if (charge.state == ChargeState::kCharged) SOTTO_CHECK(ledger.bind(charge, report));
  }
  step("bound");
  SOTTO_CHECK(send(report));
  step("sent");
  SOTTO_CHECK(ledger.delivered(charge));
  step("delivered");
  return {};
}

Result<void> run(const char* file, const char* outbox, RoundId rounds, const std::string& fault) {
  const auto layout = flat_layout(256);
  SOTTO_TRY(const auto mechanism,
            make_mechanism("two-point", {layout, {Range{0.0, 1.0}}}, {{"epsilon", 0.5}}));
  SOTTO_TRY(const auto ledger, open_ledger(file));
  step("opened");
  SOTTO_CHECK(ledger->set_limits("client", "data", {.epsilon_per_round = 128.0, .epsilon = 1e9}));
  step("limited");
  for (RoundId round = 1; round <= rounds; ++round) {
    SOTTO_CHECK(take_part(*ledger, *mechanism, round, outbox, fault));
  }
  return {};
}

}  // namespace
}  // namespace sotto

// What the head file is written with: the program's own definitions go before the library's.
extern "C" int rename(const char* from, const char* to) noexcept {
  sotto::step("rename");
  const int code = ::renameat(AT_FDCWD, from, AT_FDCWD, to);
  sotto::step("renamed");
  return code;
}
extern "C" int flock(int fd, int operation) noexcept {
  const auto code = ::syscall(SYS_flock, fd, operation);
  sotto::step("locked");
  return static_cast<int>(code);
}
extern "C" ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  const auto written = ::syscall(SYS_pwrite64, fd, data, size, at);
  sotto::step("head-written");
  return written;
}

int main(int argc, char** argv) {
  std::string fault;
  for (int i = 4; i + 1 < argc; i += 2) {
    const std::string value = argv[i + 1];
    if (std::strcmp(argv[i], "--fault") == 0) fault = value;
    if (std::strcmp(argv[i], "--die-at") == 0) {
      sotto::g_die_at = value.substr(0, value.find(':'));
      sotto::g_die_count = std::atoi(value.c_str() + sotto::g_die_at.size() + 1);
    }
  }
  if (argc < 4) return 2;
  if (!sotto::g_die_at.empty()) sotto::count_what_sqlite_does();
  const auto done =
      sotto::run(argv[1], argv[2], static_cast<sotto::RoundId>(std::atoi(argv[3])), fault);
  if (!done) std::fprintf(stderr, "ledger_client: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
