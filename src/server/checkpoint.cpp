#include "server/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"

namespace sotto {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr char kMagic[8] = {'S', 'O', 'T', 'T', 'O', 'C', 'K', '1'};
constexpr std::size_t kHashBytes = 64;
constexpr std::size_t kFixedBytes = sizeof kMagic + sizeof(std::uint64_t) + kHashBytes;

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::optional<double> optional_number(const nlohmann::json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

/// Makes room for all floats that the header announces, if exactly so many are there.
Result<void> size_floats(const nlohmann::json& header, std::size_t bytes, const std::string& place,
                         Checkpoint& checkpoint) {
  const auto bad = [&](const std::string& what) {
    return fail(ErrorKind::kCorrupt, place + ": " + what);
  };
  std::size_t left = bytes / sizeof(float);
  bool fits = bytes % sizeof(float) == 0;
  const auto take = [&](std::uint64_t size) {
    fits &= size <= left;
    left -= fits ? size : 0;
    return fits ? static_cast<std::size_t>(size) : 0;
  };
  checkpoint.weights.resize(take(header.at("weights").get<std::uint64_t>()));
  checkpoint.velocity.resize(take(header.at("velocity").get<std::uint64_t>()));
  for (const nlohmann::json& entry : header.at("states")) {
    const auto client = entry.at("client").get<std::uint32_t>();
    const auto [state, fresh] = checkpoint.states.try_emplace(client);
    if (!fresh) return bad("keeps two states of client " + std::to_string(client));
    state->second.resize(take(entry.at("size").get<std::uint64_t>()));
  }
  if (!fits || left > 0) {
    return bad("has " + std::to_string(bytes) + " bytes of weights, not what its header says");
  }
  if (!checkpoint.velocity.empty() && checkpoint.velocity.size() != checkpoint.weights.size()) {
    return bad("its velocity is not the weights'");
  }
  return {};
}

}  // namespace

nlohmann::json RoundMetrics::to_json() const {
  nlohmann::json json = {{"round", round},
                         {"clients", clients},
                         {"refused", refused},
                         {"reports", reports},
                         {"released", released},
                         {"bytes_up", bytes_up},
                         {"accuracy", nullptr},
                         {"loss", nullptr},
                         {"delay_seconds", delay_seconds},
                         {"round_seconds", round_seconds},
                         {"train_seconds", train_seconds},
                         {"evaluate_seconds", evaluate_seconds},
                         {"train_cpu_seconds", train_cpu_seconds},
                         {"engine_cpu_seconds", engine_cpu_seconds}};
  if (accuracy) json["accuracy"] = *accuracy;
  if (loss && std::isfinite(*loss)) json["loss"] = *loss;
  if (lowest_accuracy) json["lowest_accuracy"] = *lowest_accuracy;
  if (highest_accuracy) json["highest_accuracy"] = *highest_accuracy;
  return json;
}

RoundMetrics metrics_from_json(const nlohmann::json& json) {
  RoundMetrics metrics;
  metrics.round = json.at("round").get<RoundId>();
  metrics.clients = json.at("clients").get<std::uint64_t>();
  metrics.refused = json.at("refused").get<std::uint64_t>();
  metrics.reports = json.at("reports").get<std::uint64_t>();
  metrics.released = json.at("released").get<std::uint64_t>();
  metrics.bytes_up = json.at("bytes_up").get<std::uint64_t>();
  metrics.accuracy = optional_number(json.at("accuracy"));
  metrics.loss = optional_number(json.at("loss"));
  metrics.lowest_accuracy = optional_number(json.value("lowest_accuracy", nlohmann::json()));
  metrics.highest_accuracy = optional_number(json.value("highest_accuracy", nlohmann::json()));
  metrics.delay_seconds = json.at("delay_seconds").get<double>();
  metrics.round_seconds = json.at("round_seconds").get<double>();
  metrics.train_seconds = json.at("train_seconds").get<double>();
  metrics.evaluate_seconds = json.at("evaluate_seconds").get<double>();
  metrics.train_cpu_seconds = json.at("train_cpu_seconds").get<double>();
  metrics.engine_cpu_seconds = json.at("engine_cpu_seconds").get<double>();
  return metrics;
}

namespace {

/// All but the numbers.
nlohmann::json header_of(const Checkpoint& checkpoint) {
  nlohmann::json header = {
      {"recipe", checkpoint.recipe},          {"layout", checkpoint.layout},
      {"weights", checkpoint.weights.size()}, {"velocity", checkpoint.velocity.size()},
      {"rounds", nlohmann::json::array()},    {"refused", nlohmann::json::array()},
      {"ranges", nlohmann::json::array()},    {"states", nlohmann::json::array()}};
  for (const RoundMetrics& metrics : checkpoint.rounds)
    header["rounds"].push_back(metrics.to_json());
  for (const auto& [round, clients] : checkpoint.refused) {
    header["refused"].push_back({{"round", round}, {"clients", clients}});
  }
  if (!checkpoint.coins.empty()) header["coins"] = checkpoint.coins;
  // Absent where there is none: a simulation's file is what it always was.
  for (const auto& [round, counts] : checkpoint.attendance) {
    nlohmann::json pairs = nlohmann::json::array();
    for (const GroupCount& count : counts) {
      pairs.push_back({count.reports, count.released, count.opened});
    }
    header["attendance"].push_back({{"round", round}, {"groups", std::move(pairs)}});
  }
  for (const auto& [round, ranges] : checkpoint.ranges) {
    nlohmann::json pairs = nlohmann::json::array();
    for (const Range& range : ranges) pairs.push_back({range.centre, range.radius});
    header["ranges"].push_back({{"round", round}, {"ranges", std::move(pairs)}});
  }
  for (const auto& [client, state] : checkpoint.states) {
    header["states"].push_back({{"client", client}, {"size", state.size()}});
  }
  return header;
}

}  // namespace

Result<void> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  std::size_t kept = 0;
  for (const auto& [client, state] : checkpoint.states) kept += state.size();
  const std::string text = header_of(checkpoint).dump();
  const std::uint64_t length = text.size();

  std::vector<std::byte> bytes;
  bytes.reserve(kFixedBytes + text.size() +
                (checkpoint.weights.size() + checkpoint.velocity.size() + kept) * sizeof(float));
  append(bytes, std::as_bytes(std::span(kMagic)));
  append(bytes, std::as_bytes(std::span(&length, 1)));
  append(bytes, std::as_bytes(std::span(text)));
  append(bytes, std::as_bytes(std::span(checkpoint.weights)));
  append(bytes, std::as_bytes(std::span(checkpoint.velocity)));
  for (const auto& [client, state] : checkpoint.states) {
    append(bytes, std::as_bytes(std::span(state)));
  }
  const std::string hash = sha256_hex(bytes);
  append(bytes, std::as_bytes(std::span(hash)));
  return write_file_atomically(path, bytes);
}

Result<Checkpoint> parse_checkpoint(std::span<const std::byte> bytes, const std::string& place) {
  const auto bad = [&](const std::string& what) {
    return fail(ErrorKind::kCorrupt, place + ": " + what);
  };
  if (bytes.size() < kFixedBytes || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return bad("not a checkpoint of Sotto's");
  }
  const std::size_t hashed = bytes.size() - kHashBytes;
  const std::string_view written(reinterpret_cast<const char*>(bytes.data() + hashed), kHashBytes);
  if (sha256_hex(bytes.first(hashed)) != written) {
    return bad("damaged or truncated: its SHA-256 does not match");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + sizeof kMagic, sizeof length);
  const std::size_t header_start = sizeof kMagic + sizeof length;
  if (length > hashed - header_start) return bad("its header is longer than the file");
  const auto* const text = reinterpret_cast<const char*>(bytes.data() + header_start);
  const nlohmann::json header = nlohmann::json::parse(text, text + length, nullptr, false);

  Checkpoint checkpoint;
  const std::size_t float_bytes = hashed - header_start - length;
  try {
    checkpoint.recipe = header.at("recipe").get<std::string>();
    checkpoint.layout = header.at("layout").get<std::string>();
    checkpoint.coins = header.value("coins", std::string());
    SOTTO_CHECK(size_floats(header, float_bytes, place, checkpoint));
    for (const nlohmann::json& round : header.at("rounds")) {
      checkpoint.rounds.push_back(metrics_from_json(round));
    }
    for (const nlohmann::json& round : header.at("refused")) {
      checkpoint.refused[round.at("round").get<RoundId>()] =
          round.at("clients").get<std::vector<std::uint32_t>>();
    }
    for (const nlohmann::json& entry : header.value("attendance", nlohmann::json::array())) {
      std::vector<GroupCount>& counts = checkpoint.attendance[entry.at("round").get<RoundId>()];
      for (const nlohmann::json& group : entry.at("groups")) {
        GroupCount count{group.at(0).get<std::uint64_t>(), group.at(1).get<std::uint64_t>(), 0};
        // A file of before does not say what was opened: whatever came counts.
        count.opened = group.size() > 2 ? group.at(2).get<std::uint64_t>()
                                        : std::max(count.reports, count.released);
        counts.push_back(count);
      }
    }
    for (const nlohmann::json& entry : header.at("ranges")) {
      std::vector<Range>& ranges = checkpoint.ranges[entry.at("round").get<RoundId>()];
      for (const nlohmann::json& pair : entry.at("ranges")) {
        ranges.push_back({pair.at(0).get<double>(), pair.at(1).get<double>()});
        if (!(ranges.back().radius > 0.0)) return bad("a range without extent");
      }
    }
  } catch (const nlohmann::json::exception& error) {
    return bad(std::string("bad header: ") + error.what());
  }
  for (std::size_t i = 0; i < checkpoint.rounds.size(); ++i) {
    if (checkpoint.rounds[i].round != i + 1) return bad("its rounds are not 1, 2, 3, ...");
  }
  const std::byte* from = bytes.data() + header_start + length;
  std::vector<std::vector<float>*> parts = {&checkpoint.weights, &checkpoint.velocity};
  for (auto& [client, state] : checkpoint.states) parts.push_back(&state);
  for (std::vector<float>* const values : parts) {
    if (values->empty()) continue;
    std::memcpy(values->data(), from, values->size() * sizeof(float));
    from += values->size() * sizeof(float);
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!std::isfinite((*values)[i])) {
        return bad("weight " + std::to_string(i) + " is not a finite number");
      }
    }
  }
  return checkpoint;
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path) {
  SOTTO_TRY(const auto bytes, read_file(path));
  return parse_checkpoint(bytes, path.string());
}

}  // namespace sotto
