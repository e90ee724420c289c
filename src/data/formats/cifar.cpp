// CIFAR-10 binary batches: records of one label byte and 32x32 red, green and blue bytes, which is
// already the order that a Dataset keeps.
#include <algorithm>
#include <map>
#include <string>
#include <system_error>

#include "data/formats/bytes.h"
#include "data/formats/gzip.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/formats/tar.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr SampleShape kShape{3, 32, 32};
constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;
constexpr std::int32_t kClasses = 10;

bool is_train_batch(const std::string& name) {
  return name.starts_with("data_batch_") && name.ends_with(".bin");
}

Dataset empty_set() {
  Dataset data;
  data.shape = kShape;
  data.classes = kClasses;
  data.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                      "dog",      "frog",       "horse", "ship", "truck"};
  return data;
}

}  // namespace

Result<void> parse_cifar(ByteSpan bytes, Dataset& data) {
  if (bytes.empty() || bytes.size() % kRecord != 0) {
    return corrupt(std::to_string(bytes.size()) + " bytes, expected a multiple of " +
                   std::to_string(kRecord) + " (CIFAR-10 records)");
  }
  auto& pixels = std::get<std::vector<std::uint8_t>>(data.values);
  const std::size_t records = bytes.size() / kRecord;
  pixels.reserve(pixels.size() + records * kPixels);
  data.labels.reserve(data.labels.size() + records);
  for (std::size_t i = 0; i < records; ++i) {
    const auto record = as_numbers(bytes.subspan(i * kRecord, kRecord));
    if (record[0] >= kClasses) {
      return corrupt("record " + std::to_string(i) + ": label " + std::to_string(record[0]) +
                     ", expected 0 to " + std::to_string(kClasses - 1));
    }
    data.labels.push_back(record[0]);
    pixels.insert(pixels.end(), record.begin() + 1, record.end());
  }
  return {};
}

Result<Dataset> read_cifar(const std::vector<std::filesystem::path>& batches) {
  if (batches.empty()) return fail(ErrorKind::kUsage, "no CIFAR-10 batches to read");
  Dataset data = empty_set();
  for (const auto& batch : batches) {
    SOTTO_CHECK(parse_file(batch, [&](ByteSpan bytes) { return parse_cifar(bytes, data); }));
  }
  return data;
}

Result<Dataset> read_cifar_tar(const std::filesystem::path& tar, bool test) {
  SOTTO_TRY(const auto archive, read_unpacked(tar, kMostDataBytes));
  std::map<std::string, ByteSpan> batches;  // by name: the order of the archive does not matter
  TarReader entries(archive);
  for (TarEntry entry;;) {
    const auto more = entries.next(entry);
    if (!more) return at(tar.string(), more.error());
    if (!*more) break;
    const std::string name = std::filesystem::path(entry.name).filename().string();
    if (test ? name == "test_batch.bin" : is_train_batch(name))
      batches.emplace(name, entry.content);
  }
  if (batches.empty()) {
    return fail(ErrorKind::kCorrupt,
                tar.string() + ": has no " + (test ? "test_batch.bin" : "data_batch_*.bin"));
  }
  Dataset data = empty_set();
  for (const auto& [name, content] : batches) {
    if (const auto parsed = parse_cifar(content, data); !parsed) {
      return at(tar.string() + ": " + name, parsed.error());
    }
  }
  return data;
}

Result<CifarBatches> find_cifar_batches(const std::filesystem::path& folder) {
  CifarBatches found;
  std::error_code code;
  std::filesystem::directory_iterator files(folder, code);
  for (; !code && files != std::filesystem::directory_iterator(); files.increment(code)) {
    const std::string name = files->path().filename().string();
    if (is_train_batch(name)) {
      found.train.push_back(files->path());
    } else if (name == "test_batch.bin") {
      found.test.push_back(files->path());
    }
  }
  if (code) return fail(ErrorKind::kNotFound, folder.string() + ": " + code.message());
  if (found.train.empty()) {
    return fail(ErrorKind::kNotFound, folder.string() + ": has no data_batch_*.bin");
  }
  std::sort(found.train.begin(), found.train.end());
  return found;
}

}  // namespace sotto
