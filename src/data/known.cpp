// The catalogue of known sets: their files, what those must hash to, and the usual normalisation.
#include "data/known.h"

#include <algorithm>
#include <cstdlib>

#include "base/nearest.h"

namespace sotto {
namespace {

DataFile file(const std::string& folder, const std::string& name, std::string sha256,
              const std::string& address) {
  return {folder + "/" + name, std::move(sha256), address.empty() ? "" : address + name};
}

KnownSet embedded() {
  return {.name = "embedded",
          .summary = "digit-like glyphs, generated on the spot; no download",
          .shape = {1, 28, 28},
          .classes = 10,
          .train_size = 12'000,
          .test_size = 2'000,
          .mean = {0.1124F},
          .deviation = {0.2368F},
          .class_names = {},
          .variants = {}};
}

KnownSet mnist() {
  const std::string at = "https://ossci-datasets.s3.amazonaws.com/mnist/";
  const auto part = [&](const char* name, const char* sha256) {
    return file("mnist", name, sha256, at);
  };
  return {
      .name = "mnist",
      .summary = "handwritten digits",
      .shape = {1, 28, 28},
      .classes = 10,
      .train_size = 60'000,
      .test_size = 10'000,
      .mean = {0.1307F},
      .deviation = {0.3081F},
      .class_names = {},
      .variants = {
          {.name = "official files",
           .files = {part("train-images-idx3-ubyte.gz",
                          "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
                     part("train-labels-idx1-ubyte.gz",
                          "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
                     part("t10k-images-idx3-ubyte.gz",
                          "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
                     part("t10k-labels-idx1-ubyte.gz",
                          "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6")}}}};
}

KnownSet fashion_mnist() {
  const std::string at = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
  const auto part = [&](const char* name, const char* sha256) {
    return file("fashion-mnist", name, sha256, at);
  };
  return {
      .name = "fashion-mnist",
      .summary = "clothes, in the form of MNIST",
      .shape = {1, 28, 28},
      .classes = 10,
      .train_size = 60'000,
      .test_size = 10'000,
      .mean = {0.2860F},
      .deviation = {0.3530F},
      .class_names = {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
                      "sneaker", "bag", "ankle boot"},
      .variants = {
          {.name = "official files",
           .files = {part("train-images-idx3-ubyte.gz",
                          "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
                     part("train-labels-idx1-ubyte.gz",
                          "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
                     part("t10k-images-idx3-ubyte.gz",
                          "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
                     part("t10k-labels-idx1-ubyte.gz",
                          "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5")}}}};
}

KnownSet cifar10() {
  return {.name = "cifar10",
          .summary = "small colour photographs",
          .shape = {3, 32, 32},
          .classes = 10,
          .train_size = 50'000,
          .test_size = 10'000,
          .mean = {0.4914F, 0.4822F, 0.4465F},
          .deviation = {0.2470F, 0.2435F, 0.2616F},
          .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                          "ship", "truck"},
          .variants = {
              {.name = "official binary batches",
               .files = {file("cifar10", "cifar-10-binary.tar.gz",
                              "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                              "https://www.cs.toronto.edu/~kriz/")}},
              {.name = "JPEG copies",
               .caution = "lossy JPEG copies, not the official pixels: accuracies are not exactly "
                          "comparable with published ones",
               .files = {file("cifar10", "cifar10-jpeg.tar.gz",
                              "c44c445ebd124fc7f4dc3fe502fd73cc824acd61d13e0dad9a52de085226c30d",
                              "")}}}};
}

KnownSet medical_mnist() {
  // No official split: a tenth of each class is held out.
  return {
      .name = "medical-mnist",
      .summary = "X-ray, CT and MRI images of six kinds (also MedNIST)",
      .shape = {1, 64, 64},
      .classes = 6,
      .train_size = 53'059,
      .test_size = 5'895,
      .mean = {0.5F},
      .deviation = {0.5F},
      .class_names = {},
      .variants = {{.name = "image archive",
                    .files = {file(
                        "medical-mnist", "medical-mnist.tar.gz",
                        "07bd4e08d7bdd848bd892d8d01b8e2626816d986b14d169a5f66c5c178e4749b", "")}}}};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool all_present(const DataVariant& variant, const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::all_of(variant.files.begin(), variant.files.end(), [&](const DataFile& one) {
    return std::filesystem::is_regular_file(folder / one.path, ignored);
  });
}

}  // namespace

std::span<const KnownSet> known_sets() {
  static const std::vector<KnownSet> kSets = {embedded(), mnist(), fashion_mnist(), cifar10(),
                                              medical_mnist()};
  return kSets;
}

const KnownSet* find_known_set(std::string_view name) {
  for (const KnownSet& set : known_sets()) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

std::filesystem::path data_cache() {
  const std::filesystem::path below = std::filesystem::path("sotto") / "data";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache / below;
  return std::filesystem::path(environment("HOME")) / ".cache" / below;
}

std::vector<std::filesystem::path> data_folders(const std::filesystem::path& folder) {
  if (!folder.empty()) return {folder};
  const std::string named = environment("SOTTO_DATA");
  if (named.empty()) return {data_cache()};
  return {named, data_cache()};
}

std::optional<FoundSet> find_files(const KnownSet& set, const std::filesystem::path& folder) {
  for (const std::filesystem::path& place : data_folders(folder)) {
    for (const DataVariant& variant : set.variants) {
      if (all_present(variant, place)) return FoundSet{place, &variant};
    }
  }
  return std::nullopt;
}

bool has_address(const DataVariant& variant) {
  return std::none_of(variant.files.begin(), variant.files.end(),
                      [](const DataFile& one) { return one.url.empty(); });
}

const DataVariant& variant_to_fetch(const KnownSet& set) { return set.variants.front(); }

Error missing_set(const KnownSet& set, const std::filesystem::path& folder) {
  const std::string name(set.name);
  std::vector<std::string> files;
  for (const DataVariant& variant : set.variants) {
    files.push_back(variant.files.front().path);
    if (const std::size_t more = variant.files.size() - 1; more > 0) {
      files.back() += " and " + std::to_string(more) + " more files";
    }
  }
  std::vector<std::string> places;
  for (const auto& place : data_folders(folder)) places.push_back(place.string());
  std::string text = name + ": not found. Looked for " + join(files, ", or ") + " in " +
                     join(places, ", then ") + ".\n";
  if (has_address(variant_to_fetch(set))) {
    text += "  sotto data fetch " + name + "    downloads it, or\n";
  } else {
    text += "  It has no official address; get " + variant_to_fetch(set).files.front().path +
            " yourself (or: sotto data fetch " + name + " --mirror URL), then\n";
  }
  text += "  --data DIR    names the folder that has it (as does SOTTO_DATA in the environment)";
  return {ErrorKind::kNotFound, text};
}

Error unknown_set(std::string_view name) {
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) names.emplace_back(set.name);
  std::string text(name);
  text += ": neither a known data set nor a path" + did_you_mean(name, names) +
          " (known: " + join(names) + ")";
  return {ErrorKind::kUsage, text};
}

}  // namespace sotto
