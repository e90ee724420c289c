// One door to all data: a known name is looked up, a path is recognised by its form, and what comes
// out has a train and a test part of one kind.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/machine.h"
#include "base/nearest.h"
#include "data/holdout.h"
#include "data/known.h"
#include "data/readers.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

/// What a source holds: one set of samples, or train and test apart.
struct Parts {
  Dataset train;  // empty where only the test part was wanted and lies apart
  std::optional<Dataset> test;
};

/// Parts that lie apart are read only where they are wanted.
enum class Wanted { kBoth, kTest };

constexpr std::array<std::string_view, 2> kIdxEndings = {"", ".gz"};
constexpr const char* kTrainImages = "train-images-idx3-ubyte";
constexpr const char* kTrainLabels = "train-labels-idx1-ubyte";
constexpr const char* kTestImages = "t10k-images-idx3-ubyte";
constexpr const char* kTestLabels = "t10k-labels-idx1-ubyte";
constexpr const char* kValidForms =
    "valid: IDX (*-ubyte, *.idx, each also .gz), .csv, .npy with labels, .npz, .mat (SVHN), .json "
    "(LEAF), .bin (CIFAR-10), .tar, .tar.gz or .tgz of images, or a folder of any of IDX, "
    "CIFAR-10, "
    "LEAF or image files";

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_tar(const std::string& name) { return ends_with_any(name, {".tar", ".tar.gz", ".tgz"}); }
bool is_idx(const std::string& name) {
  return ends_with_any(name, {"-ubyte", "-ubyte.gz", ".idx", ".idx.gz"});
}
bool is_official_cifar_tar(const std::string& name) { return name == "cifar-10-binary.tar.gz"; }

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

bool is_folder(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_directory(path, unreadable);
}

Result<Parts> one_part(Result<Dataset> data) {
  SOTTO_TRY(Dataset all, std::move(data));
  return Parts{std::move(all), std::nullopt};
}

/// Reads train and test with one reader, which takes "is it the test part?".
template <class Reader>
Result<Parts> read_both(Wanted wanted, const Reader& read) {
  Dataset train;
  if (wanted == Wanted::kBoth) {
    SOTTO_TRY(train, read(false));
  }
  SOTTO_TRY(Dataset test, read(true));
  return Parts{std::move(train), std::move(test)};
}

/// train/ and test/ inside, or classes at the top.
Result<Parts> read_image_source(const fs::path& path, Wanted wanted) {
  SOTTO_TRY(const bool split, images_are_split(path));
  if (!split) return one_part(read_images(path));
  return read_both(wanted, [&](bool test) { return read_images(path, test ? "test" : "train"); });
}

/// True when `folder` has a file whose name starts and ends so.
bool has_file(const fs::path& folder, std::string_view start, std::string_view end) {
  std::error_code code;
  for (fs::directory_iterator it(folder, code), last; !code && it != last; it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(start) && name.ends_with(end)) return true;
  }
  return false;
}

Result<Parts> read_folder(const fs::path& folder, Wanted wanted) {
  for (const std::string_view ending : kIdxEndings) {
    const auto at = [&](const char* name) { return folder / (name + std::string(ending)); };
    if (!is_there(at(kTrainImages))) continue;
    if (!is_there(at(kTestImages))) return one_part(read_idx(at(kTrainImages), at(kTrainLabels)));
    return read_both(wanted, [&](bool test) {
      return read_idx(at(test ? kTestImages : kTrainImages), at(test ? kTestLabels : kTrainLabels));
    });
  }
  if (has_file(folder, "data_batch_", ".bin")) {
    SOTTO_TRY(const CifarBatches batches, find_cifar_batches(folder));
    if (batches.test.empty()) return one_part(read_cifar(batches.train));
    return read_both(wanted,
                     [&](bool test) { return read_cifar(test ? batches.test : batches.train); });
  }
  if (has_file(folder, "", ".json")) return one_part(read_leaf(folder));
  if (has_file(folder / "train", "", ".json")) {
    // LEAF numbers users within a folder, so users of train/ and test/ need not agree; only those
    // of the train part become clients.
    if (!has_file(folder / "test", "", ".json")) {
      return one_part(read_leaf(folder / "train"));
    }
    return read_both(wanted,
                     [&](bool test) { return read_leaf(folder / (test ? "test" : "train")); });
  }
  return read_image_source(folder, wanted);
}

/// Labels of an IDX image file that were not named: the file beside it, as MNIST names them.
Result<fs::path> idx_labels(const fs::path& images) {
  std::string name = images.filename().string();
  if (const std::size_t at = name.find("images-idx3"); at != std::string::npos) {
    name.replace(at, 11, "labels-idx1");
    return images.parent_path() / name;
  }
  return fail(ErrorKind::kUsage, images.string() + ": IDX images need a second file with labels");
}

/// Whether read_source knows what to do with these names, and may open the files.
Result<void> check_form(const fs::path& path, const fs::path& labels) {
  const std::string name = path.filename().string();
  const bool has_labels_apart = is_idx(name) || name.ends_with(".npy");
  fs::path beside = labels;
  if (is_idx(name) && labels.empty()) {
    SOTTO_TRY(beside, idx_labels(path));
  }
  if (has_labels_apart && beside.empty()) {
    return fail(ErrorKind::kUsage, path.string() + ": NPY features need a second file with labels");
  }
  if (!has_labels_apart && !labels.empty()) {
    return fail(ErrorKind::kUsage, labels.string() + ": " + path.string() +
                                       " keeps its labels inside; only IDX and NPY have a file of "
                                       "labels");
  }
  if (!has_labels_apart && !is_folder(path) && !is_tar(name) &&
      !ends_with_any(name, {".csv", ".mat", ".json", ".bin", ".npz"})) {
    return fail(ErrorKind::kUsage, path.string() + ": form not recognised; " + kValidForms);
  }
  for (const fs::path& file : {path, beside}) {
    if (!file.empty() && ::access(file.c_str(), R_OK) != 0) {
      return fail(ErrorKind::kNotFound, file.string() + ": no such file, or it may not be read");
    }
  }
  return {};
}

Result<Parts> read_source(const fs::path& path, const fs::path& labels, Wanted wanted) {
  SOTTO_CHECK(check_form(path, labels));
  const std::string name = path.filename().string();
  if (is_idx(name)) {
    if (!labels.empty()) return one_part(read_idx(path, labels));
    SOTTO_TRY(const fs::path beside, idx_labels(path));
    return one_part(read_idx(path, beside));
  }
  if (name.ends_with(".npy")) {
    return one_part(read_npy(path, labels));
  }
  if (is_folder(path)) return read_folder(path, wanted);
  if (name.ends_with(".csv")) return one_part(read_csv(path));
  if (name.ends_with(".mat")) return one_part(read_svhn(path));
  if (name.ends_with(".json")) return one_part(read_leaf(path));
  if (name.ends_with(".bin")) return one_part(read_cifar({path}));
  if (name.ends_with(".npz")) {
    SOTTO_TRY(const bool split, npz_is_split(path));
    if (!split) return one_part(read_npz(path));
    return read_both(wanted, [&](bool test) { return read_npz(path, test ? "test" : "train"); });
  }
  if (is_official_cifar_tar(name)) {
    return read_both(wanted, [&](bool test) { return read_cifar_tar(path, test); });
  }
  if (is_tar(name)) return read_image_source(path, wanted);
  return fail(ErrorKind::kUsage, path.string() + ": form not recognised; " + kValidForms);
}

/// The test data that a path came with.
Result<Dataset> read_test(const DataRequest& request) {
  if (!is_there(request.test)) {
    return fail(ErrorKind::kNotFound, request.test + ": no such file or folder");
  }
  SOTTO_TRY(Parts parts, read_source(request.test, request.test_labels, Wanted::kBoth));
  return std::move(parts.train);
}

std::string describe(const SampleShape& shape) {
  return std::to_string(shape.channels) + "x" + std::to_string(shape.height) + "x" +
         std::to_string(shape.width);
}

/// Train and test must be of one kind; a class may be absent from either.
Result<void> reconcile(DataSplit& split) {
  if (split.train.shape != split.test.shape) {
    return fail(ErrorKind::kCorrupt, split.name + ": train samples are " +
                                         describe(split.train.shape) + ", test samples " +
                                         describe(split.test.shape));
  }
  if (split.train.class_names != split.test.class_names) {
    return fail(ErrorKind::kCorrupt, split.name + ": train classes are " +
                                         join(split.train.class_names) + "; test classes are " +
                                         join(split.test.class_names));
  }
  split.train.classes = split.test.classes = std::max(split.train.classes, split.test.classes);
  for (const Dataset* part : {&split.train, &split.test}) {
    if (part->size() == 0) {
      return fail(ErrorKind::kCorrupt, split.name + ": no samples in the " +
                                           (part == &split.train ? "train" : "test") + " part");
    }
  }
  return {};
}

Result<DataSplit> finish(const DataRequest& request, Parts parts) {
  DataSplit split;
  if (parts.test) {
    split = {request.source, std::move(parts.train), std::move(*parts.test)};
  } else {
    if (!(request.test_fraction > 0.0 && request.test_fraction < 1.0)) {
      return fail(ErrorKind::kUsage, "test fraction " + std::to_string(request.test_fraction) +
                                         ": valid is a number between 0 and 1");
    }
    split = hold_out(request.source, std::move(parts.train), request.test_fraction, request.seed);
  }
  SOTTO_CHECK(reconcile(split));
  return split;
}

/// The known set's files, of which the test part may be read alone; not yet cut, not yet checked.
Result<Parts> read_known(const KnownSet& set, const DataRequest& request, Wanted wanted,
                         fs::path& first) {
  const auto found = find_files(set, request.folder);
  if (!found) return tl::unexpected(missing_set(set, request.folder));
  first = found->folder / found->variant->files.front().path;
  return is_tar(first.filename().string()) ? read_source(first, {}, wanted)
                                           : read_folder(first.parent_path(), wanted);
}

Error not_the_set(const KnownSet& set, const fs::path& first, std::size_t size, const Dataset& part,
                  std::size_t expected) {
  return Error{ErrorKind::kCorrupt,
               first.string() + ": " + std::to_string(size) + " samples of " +
                   describe(part.shape) + " in " + std::to_string(part.classes) + " classes; " +
                   std::string(set.name) + " has " + std::to_string(expected) + " of " +
                   describe(set.shape) + " in " + std::to_string(set.classes)};
}

/// Cuts what was read of a known set, and checks that it is that set.
Result<DataSplit> finish_known(const KnownSet& set, const DataRequest& request,
                               const fs::path& first, Parts parts) {
  SOTTO_TRY(DataSplit split, finish(request, std::move(parts)));
  if (!set.class_names.empty()) {
    split.train.class_names = split.test.class_names = set.class_names;
  }
  const std::size_t size = split.train.size() + split.test.size();
  if (split.train.shape != set.shape || split.train.classes != set.classes ||
      size != set.train_size + set.test_size) {
    return tl::unexpected(
        not_the_set(set, first, size, split.train, set.train_size + set.test_size));
  }
  return split;
}

Result<DataSplit> load_known(const KnownSet& set, const DataRequest& request) {
  if (set.variants.empty()) return make_embedded(request.seed);
  fs::path first;
  SOTTO_TRY(Parts parts, read_known(set, request, Wanted::kBoth, first));
  return finish_known(set, request, first, std::move(parts));
}

Result<Dataset> load_known_test(const KnownSet& set, const DataRequest& request) {
  if (set.variants.empty()) return std::move(make_embedded(request.seed).test);
  fs::path first;
  SOTTO_TRY(Parts parts, read_known(set, request, Wanted::kTest, first));
  if (!parts.test) {
    SOTTO_TRY(DataSplit split, finish_known(set, request, first, std::move(parts)));
    return std::move(split.test);
  }
  Dataset test = std::move(*parts.test);
  if (!set.class_names.empty()) test.class_names = set.class_names;
  if (test.shape != set.shape || test.classes > set.classes || test.size() != set.test_size) {
    return tl::unexpected(not_the_set(set, first, test.size(), test, set.test_size));
  }
  test.classes = set.classes;
  return test;
}

}  // namespace

Result<void> check_source(const DataRequest& request) {
  if (const KnownSet* set = find_known_set(request.source)) {
    if (!request.labels.empty() || !request.test.empty() || !request.test_labels.empty()) {
      return fail(ErrorKind::kUsage, request.source +
                                         ": a known set brings its own labels and test part; they "
                                         "can be named for a path only");
    }
    if (set->variants.empty() || find_files(*set, request.folder)) return {};
    return tl::unexpected(missing_set(*set, request.folder));
  }
  if (request.source.empty() || !is_there(request.source)) {
    // A slash or a dot says that a path was meant.
    if (request.source.find_first_of("/.") == std::string::npos) {
      return tl::unexpected(unknown_set(request.source));
    }
    return fail(ErrorKind::kNotFound, request.source + ": no such file or folder");
  }
  return check_form(request.source, request.labels);
}

Result<Dataset> load_samples(const DataRequest& request) {
  SOTTO_CHECK(check_source(request));
  if (const KnownSet* set = find_known_set(request.source)) {
    SOTTO_TRY(DataSplit data, load_known(*set, request));
    return std::move(data.train);
  }
  SOTTO_TRY(Parts parts, read_source(request.source, request.labels, Wanted::kBoth));
  return std::move(parts.train);
}

Result<Dataset> load_test(const DataRequest& request) {
  SOTTO_CHECK(check_source(request));
  if (const KnownSet* set = find_known_set(request.source)) return load_known_test(*set, request);
  Parts parts;
  if (!request.test.empty()) {
    SOTTO_TRY(parts.test, read_test(request));
  } else {
    SOTTO_TRY(parts, read_source(request.source, request.labels, Wanted::kTest));
  }
  if (!parts.test) {
    SOTTO_TRY(DataSplit split, finish(request, std::move(parts)));
    give_back_memory();
    return std::move(split.test);
  }
  if (parts.test->size() == 0) {
    return fail(ErrorKind::kCorrupt, request.source + ": no samples in the test part");
  }
  return std::move(*parts.test);
}

Result<DataSplit> load_data(const DataRequest& request) {
  SOTTO_CHECK(check_source(request));
  if (const KnownSet* set = find_known_set(request.source)) return load_known(*set, request);
  SOTTO_TRY(Parts parts, read_source(request.source, request.labels, Wanted::kBoth));
  if (!request.test.empty()) {
    SOTTO_TRY(parts.test, read_test(request));
  }
  return finish(request, std::move(parts));
}

}  // namespace sotto
