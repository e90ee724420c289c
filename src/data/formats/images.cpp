// A folder or tar of images, one folder for each class.
//
// Two passes over files in memory: the headers first, to know that all images have one size and
// whether any has colour; then every image straight into its place, on all cores.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "data/formats/bytes.h"
#include "data/formats/gzip.h"
#include "data/formats/image.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/formats/tar.h"
#include "data/readers.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

// The images of each class by name: ordered, whatever the order of archive or folder.
using ClassFiles = std::map<std::string, std::map<std::string, ByteSpan>>;

bool is_hidden(std::string_view name) { return name.starts_with('.') || name == "__MACOSX"; }

bool is_image_name(std::string_view name) {
  std::string ending(name.substr(std::min(name.size(), name.rfind('.'))));
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// Puts one entry, given by its name below the root, where it belongs or passes it over.
Result<void> add_entry(const TarEntry& entry, const std::vector<std::string_view>& below,
                       ClassFiles& classes) {
  std::vector<std::string_view> parts = split_path(entry.name);
  if (parts.size() <= below.size() || !std::equal(below.begin(), below.end(), parts.begin())) {
    return {};
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(below.size()));
  if (std::any_of(parts.begin(), parts.end(), is_hidden)) return {};
  const std::string shown = printable(entry.name);
  if (parts.size() == 1) {
    if (entry.folder) classes[std::string(parts[0])];
    return {};
  }
  if (parts.size() > 2 || entry.folder) {
    return corrupt(shown + ": expected CLASS/IMAGE, found a folder within the class folder '" +
                   printable(parts[0]) + "'");
  }
  if (!is_image_name(parts[1])) {
    return corrupt(shown + ": not an image name (.jpg, .jpeg or .png)");
  }
  auto& files = classes[std::string(parts[0])];
  if (!files.emplace(std::string(parts[1]), entry.content).second) {
    return corrupt(shown + ": occurs twice");
  }
  return {};
}

struct ImageFile {
  std::string name;
  ByteSpan content;
};

Result<SampleShape> common_shape(const std::vector<ImageFile>& files) {
  std::vector<SampleShape> shapes(files.size());
  SOTTO_CHECK(for_each_in_parallel(files.size(), [&](std::size_t i) -> Result<void> {
    auto shape = image_shape(files[i].content);
    if (!shape) return at(printable(files[i].name), shape.error());
    shapes[i] = *shape;
    return {};
  }));
  SampleShape common = shapes.front();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    common.channels = std::max(common.channels, shapes[i].channels);
    if (shapes[i].height == common.height && shapes[i].width == common.width) continue;
    return corrupt(printable(files[i].name) + ": " + std::to_string(shapes[i].width) + "x" +
                   std::to_string(shapes[i].height) + " pixels, but " +
                   printable(files.front().name) + " has " + std::to_string(common.width) + "x" +
                   std::to_string(common.height) + "; all must have one size");
  }
  return common;
}

/// `packed` bytes were read to have the files.
Result<Dataset> decode_all(const ClassFiles& classes, const std::string& below,
                           std::size_t packed) {
  Dataset data;
  std::vector<ImageFile> files;
  for (const auto& [name, images] : classes) {
    if (images.empty()) return corrupt("class folder '" + printable(name) + "' has no images");
    for (const auto& [file, content] : images) {
      std::string shown = name;
      shown += '/';
      shown += file;
      files.push_back({std::move(shown), content});
      data.labels.push_back(data.classes);
    }
    data.class_names.push_back(name);
    ++data.classes;
    if (data.classes > kMostClasses) return corrupt("more than 100000 class folders");
  }
  if (files.empty()) {
    if (!below.empty()) {
      return fail(ErrorKind::kNotFound, "no CLASS/IMAGE files below '" + below + "'");
    }
    return corrupt("no CLASS/IMAGE files");
  }
  SOTTO_TRY(data.shape, common_shape(files));
  const std::size_t each = data.shape.size();
  const auto total = product_within(most_unpacked(packed), {files.size(), each});
  if (!total) return corrupt(refuse_unpacking(packed));
  std::vector<std::uint8_t> pixels(*total);
  SOTTO_CHECK(for_each_in_parallel(files.size(), [&](std::size_t i) -> Result<void> {
    auto done =
        decode_image(files[i].content, data.shape, std::span(pixels).subspan(i * each, each));
    if (!done) return at(printable(files[i].name), done.error());
    return {};
  }));
  data.values = std::move(pixels);
  return data;
}

// Symbolic links are followed: the folder is the user's own.
Result<Dataset> read_image_folder(const fs::path& root, const std::string& below) {
  const fs::path top = below.empty() ? root : root / below;
  ClassFiles classes;
  std::vector<std::vector<std::byte>> contents;  // the spans stay valid when the outer one grows
  std::size_t total = 0;
  std::error_code code;
  fs::recursive_directory_iterator found(top, fs::directory_options::follow_directory_symlink,
                                         code);
  for (; !code && found != fs::recursive_directory_iterator(); found.increment(code)) {
    TarEntry entry;
    entry.name = found->path().lexically_relative(top).generic_string();
    entry.folder = found->is_directory(code);
    if (code) break;
    const bool hidden = is_hidden(found->path().filename().string());
    if (found.depth() > 0 || hidden) found.disable_recursion_pending();
    if (found.depth() > 0 && !hidden && !entry.folder && is_image_name(entry.name)) {
      SOTTO_TRY(auto content, read_file(found->path(), kMostDataBytes - total));
      total += content.size();
      contents.push_back(std::move(content));
      entry.content = contents.back();
    }
    auto added = add_entry(entry, {}, classes);
    if (!added) return at(top.string(), added.error());
  }
  if (code) {
    const bool missing = code == std::errc::no_such_file_or_directory;
    return fail(missing ? ErrorKind::kNotFound : ErrorKind::kIo,
                top.string() + ": " + code.message());
  }
  auto data = decode_all(classes, "", total);
  if (!data) return at(top.string(), data.error());
  return data;
}

}  // namespace

Result<Dataset> parse_image_tar(ByteSpan archive, const std::string& below,
                                std::optional<std::size_t> packed) {
  const auto parts = split_path(below);
  ClassFiles classes;
  TarReader reader(archive);
  for (;;) {
    TarEntry entry;
    SOTTO_TRY(const bool more, reader.next(entry));
    if (!more) break;
    SOTTO_CHECK(add_entry(entry, parts, classes));
  }
  return decode_all(classes, below, packed.value_or(archive.size()));
}

Result<Dataset> read_images(const fs::path& folder_or_tar, const std::string& below) {
  std::error_code code;
  if (fs::is_directory(folder_or_tar, code)) {
    return guarded(folder_or_tar, [&] { return read_image_folder(folder_or_tar, below); });
  }
  return parse_file(folder_or_tar, [&](ByteSpan archive) {
    const std::uintmax_t packed = fs::file_size(folder_or_tar, code);
    return parse_image_tar(archive, below, code ? 0 : packed);
  });
}

Result<bool> images_are_split(const fs::path& folder_or_tar) {
  std::error_code code;
  if (fs::is_directory(folder_or_tar, code)) {
    return fs::is_directory(folder_or_tar / "train", code) &&
           fs::is_directory(folder_or_tar / "test", code);
  }
  return parse_file(folder_or_tar, [](ByteSpan archive) -> Result<bool> {
    bool train = false;
    bool test = false;
    TarReader reader(archive);
    for (;;) {
      TarEntry entry;
      SOTTO_TRY(const bool more, reader.next(entry));
      if (!more) return train && test;
      train = train || entry.name.starts_with("train/");
      test = test || entry.name.starts_with("test/");
    }
  });
}

}  // namespace sotto
