#include "shuffle/spool_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"

namespace sotto::rpc::spool_files {
namespace {

constexpr const char* kMemory = "state.json";
constexpr const char* kMemoryFormat = "sotto.spool.v2";
constexpr const char* kBatch = "batch.json";
constexpr const char* kBegun = "begun";
constexpr const char* kOthers = "others";
/// The last line of a report's file: how long the text before it is.
constexpr std::string_view kLastLine = "facts ";
constexpr std::size_t kLastLineBytes = kLastLine.size() + 11;
constexpr std::size_t kLongestFacts = kLongestContract + 1024;

/// The object with a SHA-256 of itself.
std::string sealed_text(nlohmann::json json) {
  json["sha256"] = sha256_hex(json.dump());
  return json.dump() + '\n';
}

/// Throws nlohmann's exceptions.
nlohmann::json parse_sealed(const std::string& text, const std::string& place) {
  nlohmann::json json = nlohmann::json::parse(text);
  const auto digest = json.at("sha256").get<std::string>();
  json.erase("sha256");
  if (sha256_hex(json.dump()) != digest) {
    throw nlohmann::json::other_error::create(501, place + ": damaged", nullptr);
  }
  return json;
}

/// `read` makes something of the object; every way in which it is not one is kCorrupt.
template <class Read>
auto read_sealed(const std::filesystem::path& file, Read&& read)
    -> Result<decltype(read(nlohmann::json()))> {
  SOTTO_TRY(const std::string text, read_text(file));
  try {
    return read(parse_sealed(text, file.string()));
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::kCorrupt, file.string() + ": " + error.what());
  }
}

/// Throws like the library where the text is no tag.
Tag tag_of(const std::string& hex) {
  const auto tag = tag_from_hex(hex);
  if (!tag) throw nlohmann::json::other_error::create(501, tag.error().message, nullptr);
  return *tag;
}

nlohmann::json to_json(const RoundName& name) {
  return {{"run", tag_hex(name.run)}, {"round", name.round}};
}

RoundName name_from(const nlohmann::json& json) {
  return {tag_of(json.at("run").get<std::string>()), json.at("round").get<RoundId>()};
}

/// Names of files and nothing else, each once: a sender that counted twice would make the batch
/// look larger than it is.
bool are_senders(std::vector<std::string> names) {
  const bool hashes = std::ranges::all_of(names, is_sha256);
  std::ranges::sort(names);
  return hashes && std::ranges::adjacent_find(names) == names.end();
}

std::string facts_text(const ReportFacts& facts) {
  return facts.contract.text() + "sender " + facts.sender + "\nminimum " +
         std::to_string(facts.minimum) + '\n';
}

std::string last_line(std::size_t bytes) {
  std::string digits = std::to_string(bytes);
  digits.insert(0, 10 - digits.size(), '0');
  return std::string(kLastLine) + digits + '\n';
}

}  // namespace

Result<Memory> read_memory(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / kMemory)) {
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
      if (!entry.path().filename().string().starts_with("round-")) continue;
      return fail(ErrorKind::kCorrupt, (folder / kMemory).string() +
                                           ": missing, although there are reports; it says which "
                                           "rounds are over: put it back, or use a new --state "
                                           "folder with a new training");
    }
    return Memory{};
  }
  auto memory = read_sealed(folder / kMemory, [](const nlohmann::json& json) {
    Memory read;
    if (json.at("format").get<std::string>() != kMemoryFormat) {
      throw nlohmann::json::other_error::create(501, "of another format", nullptr);
    }
    if (!json.at("current").is_null()) read.current = name_from(json.at("current"));
    for (const auto& [run, floor] : json.at("floors").items()) {
      read.floors[tag_of(run)] = floor.get<std::uint64_t>();
    }
    if (json.contains("closed")) read.closed = json.at("closed").get<std::set<std::string>>();
    for (const nlohmann::json& past : json.at("past")) {
      Memory::Past round{name_from(past), {}};
      for (const nlohmann::json& asked : past.at("asked")) {
        round.asked.push_back({asked.at("contract").get<std::string>(),
                               asked.at("group").get<std::uint32_t>(),
                               asked.at("reports").get<std::uint64_t>()});
      }
      read.past.push_back(std::move(round));
    }
    return read;
  });
  if (memory) return memory;
  return fail(ErrorKind::kCorrupt,
              memory.error().message +
                  "; it says which rounds are over, and without it a batch could be passed on "
                  "twice: use a new --state folder only with a new training");
}

Result<void> write_memory(const std::filesystem::path& folder, const Memory& memory) {
  nlohmann::json json = {{"format", kMemoryFormat},
                         {"current", nullptr},
                         {"floors", nlohmann::json::object()},
                         {"closed", memory.closed},
                         {"past", nlohmann::json::array()}};
  if (memory.current) json["current"] = to_json(*memory.current);
  for (const auto& [run, floor] : memory.floors) json["floors"][tag_hex(run)] = floor;
  for (const Memory::Past& past : memory.past) {
    nlohmann::json round = to_json(past.name);
    round["asked"] = nlohmann::json::array();
    for (const Asked& asked : past.asked) {
      round["asked"].push_back(
          {{"contract", asked.contract}, {"group", asked.group}, {"reports", asked.reports}});
    }
    json["past"].push_back(std::move(round));
  }
  return write_file_atomically(folder / kMemory, sealed_text(std::move(json)), Readers::kOwner);
}

std::filesystem::path round_folder(const std::filesystem::path& folder, const RoundName& name) {
  return folder / ("round-" + std::to_string(name.round) + '-' + tag_hex(name.run));
}

std::filesystem::path report_file(const std::filesystem::path& folder, const std::string& sender) {
  return folder / (sender + ".report");
}

Result<void> write_report(const std::filesystem::path& folder, const ReportFacts& facts,
                          std::vector<std::byte> report) {
  std::string text = facts_text(facts);
  Sha256 hash;
  hash.add(report);
  hash.add(std::as_bytes(std::span(text)));
  text += "sha256 " + hash.hex() + '\n';
  text += last_line(text.size());
  const auto bytes = std::as_bytes(std::span(text));
  report.insert(report.end(), bytes.begin(), bytes.end());
  SOTTO_CHECK(make_private_folder(folder.parent_path()));
  SOTTO_CHECK(make_private_folder(folder));
  return write_file_atomically(report_file(folder, facts.sender), report, Readers::kOwner);
}

Result<ReportFacts> check_report(const std::filesystem::path& file) {
  const auto damaged = [&](const char* what) {
    return fail(ErrorKind::kCorrupt, file.string() + ": " + what);
  };
  std::ifstream stream(file, std::ios::binary);
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(file, code);
  if (!stream || code || size < kLastLineBytes) return damaged("cannot be read");
  const auto read = [&](std::uintmax_t from, std::size_t bytes) {
    std::string text(bytes, '\0');
    stream.seekg(static_cast<std::streamoff>(from));
    if (!stream.read(text.data(), static_cast<std::streamsize>(bytes))) text.clear();
    return text;
  };
  const std::string last = read(size - kLastLineBytes, kLastLineBytes);
  std::size_t length = 0;
  if (last.starts_with(kLastLine)) {
    for (std::size_t i = kLastLine.size(); i + 1 < last.size(); ++i) {
      length = 10 * length + static_cast<unsigned char>(last[i] - '0');
    }
  }
  if (length == 0 || length > kLongestFacts || length > size - kLastLineBytes ||
      last_line(length) != last) {
    return damaged("does not end as a report does");
  }
  const std::uintmax_t content = size - kLastLineBytes - length;
  const std::string text = read(content, length);
  // "sender " 64 digits, "minimum ", "sha256 " 64 digits.
  const std::size_t sender = text.rfind("sender ");
  const std::size_t minimum = text.rfind("minimum ");
  const std::size_t digest = text.rfind("sha256 ");
  if (digest == std::string::npos || minimum == std::string::npos || sender == std::string::npos ||
      sender > minimum || minimum > digest) {
    return damaged("what is behind its chunks is damaged");
  }
  ReportFacts facts;
  facts.sender = text.substr(sender + 7, minimum - sender - 8);
  facts.minimum = static_cast<std::uint32_t>(std::strtoul(&text[minimum + 8], nullptr, 10));
  const auto contract = Contract::parse(std::string_view(text).substr(0, sender));
  if (!contract) return damaged(contract.error().message.c_str());
  facts.contract = *contract;
  Sha256 hash;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::uintmax_t from = 0; from < content; from += kPiece) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uintmax_t>(kPiece, content - from));
    const std::string piece = read(from, bytes);
    if (piece.size() != bytes) return damaged("cannot be read");
    hash.add(std::as_bytes(std::span(piece)));
  }
  const std::string known = facts_text(facts);
  hash.add(std::as_bytes(std::span(known)));
  if (known + "sha256 " + hash.hex() + '\n' != text ||
      content != contract->chunks * contract->chunk_bytes ||
      report_file(file.parent_path(), facts.sender) != file) {
    return damaged("is not what was written");
  }
  return facts;
}

bool has_begun(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kBegun);
}

Result<void> note_begun(const std::filesystem::path& folder) {
  if (has_begun(folder)) return {};
  return write_file_atomically(folder / kBegun, std::string("begun\n"), Readers::kOwner);
}

bool has_batch(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kBatch);
}

Result<BatchFacts> read_batch(const std::filesystem::path& folder) {
  SOTTO_TRY(const BatchFacts batch, read_sealed(folder / kBatch, [](const nlohmann::json& json) {
              return BatchFacts{json.at("senders").get<std::vector<std::string>>(),
                                json.at("minimum").get<std::uint64_t>(),
                                json.at("key").get<std::array<std::uint64_t, 4>>()};
            }));
  if (are_senders(batch.senders)) return batch;
  return fail(ErrorKind::kCorrupt,
              (folder / kBatch).string() + ": its senders are not different hashes of names");
}

Result<void> write_batch(const std::filesystem::path& folder, const BatchFacts& batch) {
  const nlohmann::json json = {
      {"senders", batch.senders}, {"minimum", batch.minimum}, {"key", batch.key}};
  return write_file_atomically(folder / kBatch, sealed_text(json), Readers::kOwner);
}

Result<void> write_other(const std::filesystem::path& round, const std::string& sender,
                         const std::string& contract, std::uint32_t group) {
  SOTTO_CHECK(make_private_folder(round));
  SOTTO_CHECK(make_private_folder(round / kOthers));
  return write_file_atomically(round / kOthers / sender,
                               contract + ' ' + std::to_string(group) + '\n', Readers::kOwner);
}

std::map<std::string, Asked> read_others(const std::filesystem::path& round) {
  std::map<std::string, Asked> others;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(round / kOthers, code)) {
    const auto text = read_text(entry.path(), 1024);
    const std::string sender = entry.path().filename().string();
    if (!text || text->size() < 66 || !is_sha256(sender)) continue;
    const std::string digest = text->substr(0, 64);
    if (!is_sha256(digest)) continue;
    others[sender] = {digest, static_cast<std::uint32_t>(std::strtoul(&(*text)[65], nullptr, 10)),
                      1};
  }
  return others;
}

}  // namespace sotto::rpc::spool_files
