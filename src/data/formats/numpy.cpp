// Data sets saved by NumPy: two NPY files, or one NPZ (a zip of NPY files).
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/bytes.h"
#include "data/formats/gzip.h"
#include "data/formats/npy.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/formats/zip.h"
#include "data/readers.h"

namespace sotto {
namespace {

struct Features {
  SampleShape shape;
  bool channels_last = false;
};

bool is_channels(std::uint64_t dimension) { return dimension == 1 || dimension == 3; }

Result<Features> features_of(const NpyArray& x) {
  const auto& d = x.shape;
  for (const std::uint64_t dimension : d) {
    if (dimension == 0) return corrupt("holds nothing: shape " + shape_text(d));
    if (dimension > std::numeric_limits<std::uint32_t>::max()) {
      return corrupt("dimension of " + std::to_string(dimension));
    }
  }
  const auto side = [&](std::size_t i) { return static_cast<std::uint32_t>(d[i]); };
  if (d.size() == 2) return Features{{1, 1, side(1)}};
  if (d.size() == 3) return Features{{1, side(1), side(2)}};
  if (d.size() == 4 && is_channels(d[3])) return Features{{side(3), side(1), side(2)}, true};
  if (d.size() == 4 && is_channels(d[1])) return Features{{side(1), side(2), side(3)}};
  return corrupt("shape " + shape_text(d) +
                 ", expected (n, features), (n, h, w), (n, h, w, c) or (n, c, h, w) with c 1 or 3");
}

template <class T>
void store(std::vector<T> values, const Features& features, Dataset& data) {
  if (!features.channels_last || features.shape.channels == 1) {
    data.values = std::move(values);
    return;
  }
  std::vector<T> ordered(values.size());
  channels_first(std::span<const T>(values), features.shape, std::span(ordered));
  data.values = std::move(ordered);
}

// Stores the features and returns the number of samples.
Result<std::uint64_t> take_features(ByteSpan npy, Dataset& data) {
  SOTTO_TRY(const NpyArray x, parse_npy_array(npy));
  SOTTO_TRY(const Features features, features_of(x));
  data.shape = features.shape;
  if (x.kind == 'u' && x.width == 1) {
    const auto bytes = as_numbers(x.elements);
    store(std::vector<std::uint8_t>(bytes.begin(), bytes.end()), features, data);
    return x.shape[0];
  }
  if (x.kind != 'f') return corrupt("features are integers, expected uint8, float32 or float64");
  std::vector<float> values(x.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = x.value(i);
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      return corrupt("sample " + std::to_string(i / data.shape.size()) +
                     ": a feature is not a finite number");
    }
    values[i] = static_cast<float>(value);
  }
  store(std::move(values), features, data);
  return x.shape[0];
}

Result<void> take_labels(ByteSpan npy, std::uint64_t samples, Dataset& data) {
  SOTTO_TRY(const NpyArray y, parse_npy_array(npy));
  if (y.shape.empty() || y.shape.size() > 2 || (y.shape.size() == 2 && y.shape[1] != 1)) {
    return corrupt("labels of shape " + shape_text(y.shape) + ", expected (n) or (n, 1)");
  }
  if (y.size() != samples) {
    return corrupt(std::to_string(y.size()) + " labels, but " + std::to_string(samples) +
                   " samples");
  }
  data.labels.reserve(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto label = to_label(y.value(i));
    if (!label) return at("element " + std::to_string(i), label.error());
    data.labels.push_back(*label);
  }
  data.classes = count_classes(data.labels);
  return {};
}

// The first of `names` (with "_PART" behind it) that the archive has.
Result<const ZipEntry*> find_array(const ZipArchive& archive, const std::vector<std::string>& names,
                                   const std::string& part) {
  std::string wanted;
  for (const std::string& name : names) {
    const std::string full = part.empty() ? name : name + "_" + part;
    if (const ZipEntry* const entry = archive.find(full + ".npy")) return entry;
    wanted += (wanted.empty() ? "" : " or ") + full;
  }
  std::string found;
  for (const ZipEntry& entry : archive.entries()) {
    found += (found.empty() ? "" : ", ") + printable(entry.name);
  }
  return fail(ErrorKind::kNotFound,
              "no array " + wanted + "; found: " + (found.empty() ? "none" : printable(found)));
}

}  // namespace

Result<Dataset> parse_npz(ByteSpan bytes, const std::string& part) {
  SOTTO_TRY(const ZipArchive archive, ZipArchive::open(bytes));
  SOTTO_TRY(const ZipEntry* const x_entry, find_array(archive, {"x", "images", "data"}, part));
  SOTTO_TRY(const ZipEntry* const y_entry, find_array(archive, {"y", "labels"}, part));
  SOTTO_TRY(auto content, archive.unpack(*x_entry));
  Dataset data;
  const auto samples = take_features(content, data);
  if (!samples) return at(printable(x_entry->name), samples.error());
  SOTTO_TRY(content, archive.unpack(*y_entry));
  const auto taken = take_labels(content, *samples, data);
  if (!taken) return at(printable(y_entry->name), taken.error());
  return data;
}

Result<Dataset> read_npy(const std::filesystem::path& features,
                         const std::filesystem::path& labels) {
  Dataset data;
  SOTTO_TRY(const std::uint64_t samples,
            parse_file(features, [&](ByteSpan bytes) { return take_features(bytes, data); }));
  SOTTO_CHECK(
      parse_file(labels, [&](ByteSpan bytes) { return take_labels(bytes, samples, data); }));
  return data;
}

Result<Dataset> read_npz(const std::filesystem::path& file, const std::string& part) {
  return parse_packed_file(file, [&](ByteSpan bytes) { return parse_npz(bytes, part); });
}

Result<bool> npz_is_split(const std::filesystem::path& file) {
  return parse_packed_file(file, [](ByteSpan bytes) -> Result<bool> {
    SOTTO_TRY(const ZipArchive archive, ZipArchive::open(bytes));
    return archive.find("x_train.npy") != nullptr && archive.find("x_test.npy") != nullptr;
  });
}

}  // namespace sotto
