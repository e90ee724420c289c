// Sealing and opening a chunk and signing a request, against copying the same bytes and against
// libsodium's own sealed box of them.
#include "bench_sealed.h"

#include <fmt/format.h>
#include <sodium.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sotto/mechanism.h"
#include "sotto/sealed.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct SealedArguments {
  double seconds = 0.3;
  bool json = false;
};

/// Nanoseconds of one call: the fastest of several turns that share the time.
template <class Work>
double nanoseconds(double seconds, const Work& work) {
  constexpr int kTurns = 5;
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < kTurns; ++turn) {
    const Stopwatch clock;
    std::uint64_t calls = 0;
    do {
      work();
      ++calls;
    } while (clock.seconds() < seconds / kTurns);
    best = std::min(best, clock.seconds() * 1e9 / static_cast<double>(calls));
  }
  return best;
}

struct Measured {
  std::size_t weights = 0;
  std::size_t envelope_bytes = 0;
  std::size_t sealed_bytes = 0;
  double seal_ns = 0.0;
  double open_ns = 0.0;
  double sodium_seal_ns = 0.0;
  double sodium_open_ns = 0.0;
  double copy_ns = 0.0;
};

/// libsodium's sealed box of as many bytes; what else a chunk needs (header, padding, parsing) is
/// not in it.
Result<void> measure_sodium(const identity::SealKey& key, double seconds, Measured& measured) {
  std::vector<unsigned char> box(measured.sealed_bytes);
  std::vector<unsigned char> plain(box.size() - crypto_box_curve25519xchacha20poly1305_SEALBYTES);
  bool works = true;
  measured.sodium_seal_ns = nanoseconds(seconds, [&] {
    works &= crypto_box_curve25519xchacha20poly1305_seal(box.data(), plain.data(), plain.size(),
                                                         key.public_key.data()) == 0;
  });
  measured.sodium_open_ns = nanoseconds(seconds, [&] {
    works &=
        crypto_box_curve25519xchacha20poly1305_seal_open(
            plain.data(), box.data(), box.size(), key.public_key.data(), key.secret.data()) == 0;
  });
  if (!works) return fail(ErrorKind::kIo, "libsodium does not open what it sealed");
  return {};
}

Result<Measured> measure(std::size_t weights, double seconds) {
  auto layout = std::make_shared<Layout>();
  layout->add("w", {static_cast<std::int64_t>(weights)}, TensorRole::kParameter);
  const Domain domain{layout, {{0.0, 1.0}}};
  SOTTO_TRY(const auto mechanism, make_mechanism("two-point", domain, {{"epsilon", 1.0}}));
  BitSource bits = BitSource::from_seed(1, "bench sealed");
  const auto envelopes =
      pack(mechanism->perturb(bound(Update(layout, std::vector<float>(weights)), domain), bits), 1);
  const identity::SealKey key = identity::SealKey::generate();
  const identity::ChunkPlan plan{"bench", 1, identity::largest_envelope(envelopes)};
  SOTTO_TRY(const auto chunk, identity::seal(envelopes.front(), plan, key.public_key));
  SOTTO_CHECK(identity::open_sealed(chunk, plan, key));
  Measured measured{weights, plan.largest_envelope, plan.sealed_bytes()};
  measured.seal_ns = nanoseconds(
      seconds, [&] { static_cast<void>(identity::seal(envelopes.front(), plan, key.public_key)); });
  measured.open_ns =
      nanoseconds(seconds, [&] { static_cast<void>(identity::open_sealed(chunk, plan, key)); });
  SOTTO_CHECK(measure_sodium(key, seconds, measured));
  std::vector<std::byte> copy(chunk.size());
  measured.copy_ns = nanoseconds(seconds, [&] {
    std::memcpy(copy.data(), chunk.data(), chunk.size());
    asm volatile("" : : "r"(copy.data()) : "memory");
  });
  return measured;
}

Result<int> bench_sealed(const SealedArguments& arguments) {
  Table table({"weights", "sealed bytes", "ns a seal", "libsodium's", "ns an opening",
               "libsodium's", "ratio", "ns a copy"});
  nlohmann::json results = nlohmann::json::array();
  const auto shown = [](double ns) { return with_commas(static_cast<std::uint64_t>(ns)); };
  for (const std::size_t weights :
       {std::size_t{1}, std::size_t{1000}, std::size_t{20'490}, std::size_t{1'000'000}}) {
    SOTTO_TRY(const Measured one, measure(weights, arguments.seconds));
    table.add({with_commas(weights), with_commas(one.sealed_bytes), shown(one.seal_ns),
               shown(one.sodium_seal_ns), shown(one.open_ns), shown(one.sodium_open_ns),
               fmt::format("{:.2f}", one.open_ns / one.sodium_open_ns), shown(one.copy_ns)});
    results.push_back({{"weights", weights},
                       {"envelope_bytes", one.envelope_bytes},
                       {"sealed_bytes", one.sealed_bytes},
                       {"seal_ns", one.seal_ns},
                       {"open_ns", one.open_ns},
                       {"libsodium_seal_ns", one.sodium_seal_ns},
                       {"libsodium_open_ns", one.sodium_open_ns},
                       {"copy_ns", one.copy_ns}});
  }
  const identity::SignKey key = identity::SignKey::generate();
  const std::vector<std::byte> body(1000);
  const double sign_ns = nanoseconds(arguments.seconds, [&] {
    identity::sign_request(key, {"server", "method", "client", 1, ""}, body, 1);
  });
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"sealed", results}, {"sign_ns", sign_ns}}.dump(2));
  } else {
    fmt::print(
        "One core, chunks of two-point reports (one bit a weight), padded to the largest.\n"
        "libsodium's: its own sealed box of as many bytes, which either side can open. Ratio: of "
        "the openings.\n\n{}\n"
        "Signing a request of 1,000 bytes: {} ns.\n",
        table.text(), shown(sign_ns));
  }
  return 0;
}

}  // namespace

void add_bench_sealed(CLI::App& bench, Action& action) {
  CLI::App& sealed = *bench.add_subcommand(
      "sealed", "Sealing chunks for the server, against libsodium's box and copying them");
  const auto arguments = choose(sealed, action, bench_sealed);
  sealed.add_option("--seconds", arguments->seconds, "time for each measurement, about")
      ->capture_default_str()
      ->type_name("S")
      ->check(CLI::Range(0.0, 3600.0));
  sealed.add_flag("--json", arguments->json, "print JSON");
  sealed.footer(
      "Examples:\n"
      "  sotto bench sealed\n"
      "  sotto bench sealed --json | jq '.sealed[0].seal_ns'");
}

}  // namespace sotto::cli
