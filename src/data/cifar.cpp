// CIFAR-10 binary batches: records of one label byte and 32x32 red, green and blue bytes, which is
// already the order that a Dataset keeps.
#include <algorithm>
#include <string>
#include <system_error>

#include "data/bytes.h"
#include "data/parsers.h"
#include "data/readers.h"
#include "data/reading.h"

namespace sotto {
namespace {

constexpr SampleShape kShape{3, 32, 32};
constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;
constexpr std::int32_t kClasses = 10;

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
  Dataset data;
  data.shape = kShape;
  data.classes = kClasses;
  data.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                      "dog",      "frog",       "horse", "ship", "truck"};
  for (const auto& batch : batches) {
    SOTTO_CHECK(parse_file(batch, [&](ByteSpan bytes) { return parse_cifar(bytes, data); }));
  }
  return data;
}

Result<CifarBatches> find_cifar_batches(const std::filesystem::path& folder) {
  CifarBatches found;
  std::error_code code;
  std::filesystem::directory_iterator files(folder, code);
  for (; !code && files != std::filesystem::directory_iterator(); files.increment(code)) {
    const std::string name = files->path().filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) {
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
