#include "rpc/spool.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"

namespace sotto::rpc {
namespace {

constexpr const char* kBatch = "batch.json";
constexpr const char* kReport = ".report";

/// Names of files in the group's folder and nothing else, each once: a sender that counted twice
/// would make the batch look larger than it is.
bool are_senders(std::vector<std::string> names) {
  const bool hashes = std::ranges::all_of(names, [](const std::string& name) {
    return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
  });
  std::ranges::sort(names);
  return hashes && std::ranges::adjacent_find(names) == names.end();
}

}  // namespace

Result<Spool> Spool::open(std::filesystem::path folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  return Spool(std::move(folder));
}

std::filesystem::path Spool::round_folder() const {
  const std::string run = sha256_hex(std::span<const std::byte>(round_.run)).substr(0, 16);
  return folder_ / ("round-" + std::to_string(round_.round) + '-' + run);
}

std::filesystem::path Spool::group_folder(std::size_t group) const {
  return round_folder() / ("group-" + std::to_string(group));
}

Result<void> Spool::begin(const SpoolRound& round) {
  if (round == round_) return {};
  round_ = round;
  groups_.assign(round.groups.size(), {});
  const std::filesystem::path mine = round_folder();
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, code)) {
    const std::string name = entry.path().filename().string();
    if (entry.path() == mine || !name.starts_with("round-")) continue;
    std::error_code ignored;
    std::filesystem::remove_all(entry.path(), ignored);
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) SOTTO_CHECK(load(group));
  return {};
}

/// What a process before this one has left of the group.
Result<void> Spool::load(std::size_t index) {
  Group& group = groups_[index];
  const SpoolRound::Group& form = round_.groups[index];
  const std::filesystem::path folder = group_folder(index);
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  if (std::filesystem::exists(folder / kBatch)) {
    SOTTO_TRY(const std::string text, read_text(folder / kBatch));
    try {
      const nlohmann::json json = nlohmann::json::parse(text);
      group.senders = json.at("senders").get<std::vector<std::string>>();
      group.key = json.at("key").get<std::array<std::uint64_t, 4>>();
    } catch (const nlohmann::json::exception& error) {
      return fail(ErrorKind::kCorrupt, (folder / kBatch).string() + ": " + error.what());
    }
    if (!are_senders(group.senders)) {
      return fail(ErrorKind::kCorrupt,
                  (folder / kBatch).string() + ": its senders are not different hashes of names");
    }
    group.closed = true;
    return {};
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().extension() != kReport) continue;
    if (entry.file_size(code) != form.chunks * form.chunk_bytes) continue;
    group.senders.push_back(entry.path().stem().string());
  }
  return {};
}

Result<bool> Spool::add(const std::string& sender, std::size_t index,
                        std::span<const std::byte> report) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorKind::kRefused, "report refused: " + what);
  };
  if (index >= groups_.size()) return refuse("there is no group " + std::to_string(index));
  Group& group = groups_[index];
  const std::string file = sha256_hex(sender);
  for (const Group& any : groups_) {
    if (std::ranges::find(any.senders, file) != any.senders.end()) return false;
  }
  if (group.closed) return refuse("the batch is closed");
  const SpoolRound::Group& form = round_.groups[index];
  if (report.size() != form.chunks * form.chunk_bytes) {
    return refuse("its chunks are not as many or not as long as the round's");
  }
  SOTTO_CHECK(write_file_atomically(group_folder(index) / (file + kReport), report));
  group.senders.push_back(file);
  return true;
}

Result<void> Spool::close(std::size_t index) {
  Group& group = groups_[index];
  if (group.closed) return {};
  BitSource bits = BitSource::from_system();
  for (std::uint64_t& word : group.key) word = bits.next_u64();
  const nlohmann::json json = {{"senders", group.senders}, {"key", group.key}};
  SOTTO_CHECK(write_file_atomically(group_folder(index) / kBatch, json.dump() + '\n'));
  group.closed = true;
  return {};
}

Result<std::vector<std::vector<std::byte>>> Spool::batch(std::size_t index,
                                                         std::size_t position) const {
  const Group& group = groups_[index];
  const std::uint32_t size = round_.groups[index].chunk_bytes;
  std::vector<std::vector<std::byte>> chunks;
  for (const std::string& sender : group.senders) {
    const std::filesystem::path path = group_folder(index) / (sender + kReport);
    std::ifstream file(path, std::ios::binary);
    std::vector<std::byte> chunk(size);
    file.seekg(static_cast<std::streamoff>(position * size));
    if (!file.read(reinterpret_cast<char*>(chunk.data()), size)) {
      return fail(ErrorKind::kIo, path.string() + ": cannot be read");
    }
    chunks.push_back(std::move(chunk));
  }
  BitSource bits = BitSource::from_seed(
      group.key[0], "shuffle",
      {group.key[1], group.key[2], group.key[3], static_cast<std::uint64_t>(position)});
  shuffle(std::span(chunks), bits);
  return chunks;
}

}  // namespace sotto::rpc
