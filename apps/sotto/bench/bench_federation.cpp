#include "bench_federation.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/machine.h"
#include "bench_ingest.h"
#include "load_child.h"
#include "monitor/metrics.h"
#include "server/round.h"
#include "sotto/mechanism.h"
#include "terminal.h"
#include "transport/grpc/grpc_server.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::uint32_t clients = 10000;
  std::uint32_t reports = 400;
  std::size_t weights = 1'000'000;
  std::size_t split = 0;
  unsigned streams = 4;
  unsigned turns = 5;
  bool brief = false;
  bool json = false;
};

struct Measured {
  double join_seconds = 0.0;
  std::uint64_t held_bytes = 0;    // memory that the connected clients added
  std::uint64_t ingest_bytes = 0;  // and the rounds of reports, at their peak
  std::uint64_t report_bytes = 0;
  double server_mb_per_second = 0.0;
  double bare_mb_per_second = 0.0;
  double server_processor_seconds = 0.0;  // of a report, at both ends
  double bare_processor_seconds = 0.0;
  double permute_gb_per_second = 0.0;
  double copy_gb_per_second = 0.0;
  IngestFloor floor;  // of a report
  double ratio() const { return server_mb_per_second / bare_mb_per_second; }
  double processor_ratio() const { return bare_processor_seconds / server_processor_seconds; }
  /// The processor ratio of a server that did nothing but open and add.
  double best_ratio() const {
    return bare_processor_seconds /
           (bare_processor_seconds + floor.open_seconds + floor.add_seconds);
  }
  double permute_ratio() const { return permute_gb_per_second / copy_gb_per_second; }
};

/// A descriptor for each client, and some.
Result<void> raise_descriptors(std::uint32_t clients) {
  const rlim_t needed = clients + 200;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return {};
  limit.rlim_cur = std::max(needed, limit.rlim_cur);
  limit.rlim_max = std::max(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return fail(ErrorKind::kUsage,
              fmt::format("--clients {}: needs {} open files and the system allows {}; raise it "
                          "(ulimit -Hn, LimitNOFILE=) or ask for {} clients at most",
                          clients, needed, limit.rlim_max, limit.rlim_max - 200));
}

Result<RoundPlan> plan_for(const Arguments& arguments, RoundId round, std::uint32_t clients) {
  auto layout = std::make_shared<Layout>();
  layout->add("w", {static_cast<std::int64_t>(arguments.weights)}, TensorRole::kParameter);
  const Domain domain{layout, {{0.0, 1.0}}};
  const Parameters parameters{{"epsilon", 1.0}};
  Part part{nullptr, {0}, {"two-point", parameters, domain}};
  SOTTO_TRY(part.mechanism, make_mechanism("two-point", domain, parameters));
  RoundPlan plan;
  plan.round = round;
  plan.split = arguments.split;
  plan.groups.push_back({std::vector<std::uint32_t>(clients), {std::move(part)}});
  std::iota(plan.groups[0].clients.begin(), plan.groups[0].clients.end(), 0U);
  return plan;
}

/// The server's own code on a port, with a round that it collects.
class Federation {
 public:
  explicit Federation(const Arguments& arguments) : arguments_(arguments) {}

  Result<Measured> measure(Progress& progress);

 private:
  Result<LoadTime> ingest(LoadChild& child);
  Result<void> permute(Measured& measured) const;

  const Arguments& arguments_;
  std::unique_ptr<rpc::Coordinator> coordinator_;
  std::unique_ptr<rpc::Server> server_;
  RoundPlan plan_;
};

Result<LoadTime> Federation::ingest(LoadChild& child) {
  const std::vector<float> model(arguments_.weights);
  auto collected =
      std::async(std::launch::async, [&] { return collect_round(*coordinator_, plan_, model); });
  // The round is open when it can be joined; a report that comes too early would be refused.
  while (coordinator_->open().round == 0) std::this_thread::yield();
  auto sent = child.send(server_->address(), rpc::LoadTarget::kServer, arguments_.reports,
                         arguments_.streams);
  if (!sent) coordinator_->interrupt();
  const auto round = collected.get();
  if (!sent) return sent;
  if (!round) return tl::unexpected(round.error());
  if (round->released() != arguments_.reports) {
    return fail(ErrorKind::kInternal, "bench federation: not every report was counted");
  }
  return sent;
}

/// What the shuffler does to a position: R chunks in a uniform order, gathered into a batch.
Result<void> Federation::permute(Measured& measured) const {
  const std::size_t size = measured.report_bytes;
  const std::size_t count = std::max<std::size_t>(16, (std::size_t{256} << 20) / size);
  std::vector<std::vector<std::byte>> chunks(count, std::vector<std::byte>(size));
  std::vector<std::byte> from(size * count);
  std::vector<std::byte> to(size * count);
  BitSource bits = BitSource::from_system();
  double permuted = 1e9;
  double copied = 1e9;
  for (unsigned turn = 0; turn < arguments_.turns + 1; ++turn) {
    const Stopwatch shuffling;
    shuffle(std::span(chunks), bits);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(to.data() + i * size, chunks[i].data(), size);
    }
    asm volatile("" : : "r"(to.data()) : "memory");
    if (turn > 0) permuted = std::min(permuted, shuffling.seconds());
    const Stopwatch copying;
    std::memcpy(to.data(), from.data(), to.size());
    asm volatile("" : : "r"(to.data()) : "memory");
    if (turn > 0) copied = std::min(copied, copying.seconds());
  }
  const double gigabytes = static_cast<double>(size * count) / 1e9;
  measured.permute_gb_per_second = gigabytes / permuted;
  measured.copy_gb_per_second = gigabytes / copied;
  return {};
}

Result<Measured> Federation::measure(Progress& progress) {
  SOTTO_CHECK(raise_descriptors(arguments_.clients));
  rpc::Coordinator::Settings settings;
  settings.invitation.recipe_hash = std::string(64, '0');
  settings.invitation.run = rpc::fresh_tag();
  settings.invitation.clients = std::max(arguments_.clients, arguments_.reports);
  const identity::SealKey key = identity::SealKey::generate();
  SOTTO_TRY(rpc::Roster roster, rpc::Roster::open({}, settings.invitation.clients));
  coordinator_ = std::make_unique<rpc::Coordinator>(settings, key, std::move(roster));
  SOTTO_TRY(plan_, plan_for(arguments_, 1, arguments_.reports));
  SOTTO_TRY(const rpc::LoadReport report, rpc::make_load(plan_, coordinator_->settings().invitation,
                                                         std::vector<float>(arguments_.weights)));
  // Before the first thread of the network.
  SOTTO_TRY(LoadChild child, LoadChild::start(report));
  SOTTO_TRY(server_, rpc::Server::start("127.0.0.1:0", {}, {}, *coordinator_));
  SOTTO_TRY(const auto drain, rpc::Drain::start("127.0.0.1:0"));
  Measured measured;
  measured.report_bytes = report.bytes();
  const std::uint64_t before = resident_bytes();
  const unsigned steps = arguments_.turns + 2;
  progress.update(0, steps, "clients connect");
  const std::uint32_t joined = std::max(arguments_.clients, arguments_.reports);
  SOTTO_TRY(const LoadTime joining, child.hold(server_->address(), joined));
  measured.join_seconds = joining.seconds;
  const std::uint64_t held = resident_bytes();
  measured.held_bytes = held - std::min(before, held);
  restart_peak();
  const double megabytes = static_cast<double>(measured.report_bytes) * arguments_.reports / 1e6;
  std::vector<std::array<double, 3>> turns;      // ratio, server, bare
  std::vector<std::array<double, 3>> processor;  // the same in processor seconds of a report
  for (unsigned turn = 0; turn < arguments_.turns; ++turn) {
    progress.update(turn + 1, steps, "reports");
    SOTTO_TRY(const LoadTime bare, child.send(drain->address(), rpc::LoadTarget::kDrain,
                                              arguments_.reports, arguments_.streams));
    SOTTO_TRY(const LoadTime served, ingest(child));
    turns.push_back(
        {bare.seconds / served.seconds, megabytes / served.seconds, megabytes / bare.seconds});
    processor.push_back({bare.processor_seconds / served.processor_seconds,
                         served.processor_seconds / arguments_.reports,
                         bare.processor_seconds / arguments_.reports});
  }
  // The turn with the median ratio: both sides of it saw the same machine.
  std::ranges::sort(turns);
  const auto& median = turns[turns.size() / 2];
  measured.server_mb_per_second = median[1];
  measured.bare_mb_per_second = median[2];
  std::ranges::sort(processor);
  measured.server_processor_seconds = processor[processor.size() / 2][1];
  measured.bare_processor_seconds = processor[processor.size() / 2][2];
  const std::uint64_t peak = peak_resident_bytes();
  measured.ingest_bytes = peak - std::min(held, peak);
  SOTTO_TRY(measured.floor, measure_ingest_floor(plan_, report, key));
  progress.update(steps - 1, steps, "permutation");
  SOTTO_CHECK(permute(measured));
  return measured;
}

void print_table(const Arguments& arguments, const Measured& measured) {
  const std::uint32_t joined = std::max(arguments.clients, arguments.reports);
  Table table({"what", "measured", "against", "ratio"});
  table.add({fmt::format("{} clients connected", with_commas(joined)),
             fmt::format("{} in all, {} a client", byte_size(measured.held_bytes),
                         byte_size(measured.held_bytes / joined)),
             fmt::format("in {}", duration(measured.join_seconds)), ""});
  table.add({fmt::format("{} reports of {}", with_commas(arguments.reports),
                         byte_size(measured.report_bytes)),
             fmt::format("{:.0f} MB/s opened, checked, added", measured.server_mb_per_second),
             fmt::format("{:.0f} MB/s bare gRPC", measured.bare_mb_per_second),
             fmt::format("{:.2f}", measured.ratio())});
  table.add({"the same in processor time",
             fmt::format("{:.0f} us a report", 1e6 * measured.server_processor_seconds),
             fmt::format("{:.0f} us bare gRPC", 1e6 * measured.bare_processor_seconds),
             fmt::format("{:.2f}", measured.processor_ratio())});
  table.add({"what cannot be left out",
             fmt::format("{:.0f} us opened, {:.0f} us added", 1e6 * measured.floor.open_seconds,
                         1e6 * measured.floor.add_seconds),
             "bare gRPC and these", fmt::format("{:.2f}", measured.best_ratio())});
  const double model = static_cast<double>(arguments.weights * sizeof(float));
  table.add({"memory of these rounds, at most", byte_size(measured.ingest_bytes),
             fmt::format("model {}", byte_size(arguments.weights * sizeof(float))),
             fmt::format("{:.1f}", static_cast<double>(measured.ingest_bytes) / model)});
  table.add({"a batch permuted", fmt::format("{:.1f} GB/s", measured.permute_gb_per_second),
             fmt::format("{:.1f} GB/s memcpy", measured.copy_gb_per_second),
             fmt::format("{:.2f}", measured.permute_ratio())});
  fmt::print("{}", table.text());
}

Result<int> bench_federation(const Arguments& given) {
  Arguments arguments = given;
  if (arguments.brief) {
    arguments.clients = std::min(arguments.clients, 200U);
    arguments.reports = std::min(arguments.reports, 50U);
    arguments.weights = std::min<std::size_t>(arguments.weights, 100'000);
    arguments.turns = 1;
  }
  share_memory_pool();  // as a server does
  Progress progress("bench");
  SOTTO_TRY(const Measured measured, Federation(arguments).measure(progress));
  progress.clear();
  if (!arguments.json) {
    print_table(arguments, measured);
    return 0;
  }
  const nlohmann::json json = {
      {"clients", std::max(arguments.clients, arguments.reports)},
      {"join_seconds", measured.join_seconds},
      {"bytes_per_client", measured.held_bytes / std::max(arguments.clients, arguments.reports)},
      {"bytes_of_clients", measured.held_bytes},
      {"bytes_of_rounds", measured.ingest_bytes},
      {"weights", arguments.weights},
      {"reports", arguments.reports},
      {"report_bytes", measured.report_bytes},
      {"server_mb_per_second", measured.server_mb_per_second},
      {"bare_mb_per_second", measured.bare_mb_per_second},
      {"ratio", measured.ratio()},
      {"server_processor_seconds", measured.server_processor_seconds},
      {"bare_processor_seconds", measured.bare_processor_seconds},
      {"processor_ratio", measured.processor_ratio()},
      {"open_seconds", measured.floor.open_seconds},
      {"add_seconds", measured.floor.add_seconds},
      {"best_ratio", measured.best_ratio()},
      {"permute_gb_per_second", measured.permute_gb_per_second},
      {"copy_gb_per_second", measured.copy_gb_per_second},
      {"permute_ratio", measured.permute_ratio()}};
  fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace

void add_bench_federation(CLI::App& bench, Action& action) {
  CLI::App& sub = *bench.add_subcommand("federation",
                                        "A server with many clients, against bare gRPC and memcpy");
  const auto arguments = choose<Arguments>(sub, action, bench_federation);
  sub.add_option("--clients", arguments->clients, "clients that are connected at once")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000000U))
      ->capture_default_str();
  sub.add_option("--reports", arguments->reports, "reports of a round")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000000U))
      ->capture_default_str();
  sub.add_option("--weights", arguments->weights, "of the model; a report has one bit for each")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{400'000'000}))
      ->capture_default_str();
  sub.add_option("--split", arguments->split, "weights in a sealed chunk; 0: the whole report")
      ->type_name("N")
      ->capture_default_str();
  sub.add_option("--streams", arguments->streams, "reports that are sent at once")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  sub.add_option("--turns", arguments->turns, "rounds; the one with the median ratio counts")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  sub.add_flag("--brief", arguments->brief, "200 clients and one small round, for a quick check");
  sub.add_flag("--json", arguments->json, "print JSON");
  sub.footer(
      "The clients are a process of their own on the loopback: real connections and messages, no\n"
      "training. Needs an open file for each client (ulimit -n); the limit is raised where the "
      "system\nallows it.\n\n"
      "Examples:\n"
      "  sotto bench federation\n"
      "  sotto bench federation --clients 1000 --weights 20490 --reports 1000\n"
      "  sotto bench federation --brief --json | jq .ratio");
}

}  // namespace sotto::cli
