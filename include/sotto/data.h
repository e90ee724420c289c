// Data sets and how they are cut over clients. No torch here: a batch is plain floats.
//
// Images stay as the bytes they were read as (a quarter of the memory of floats); normalising,
// enlarging and augmenting happen when a batch is filled. Everything random takes a BitSource, so a
// batch depends on the seed alone.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sotto/bits.h"
#include "sotto/image_view.h"
#include "sotto/result.h"

namespace sotto {

struct SampleShape {
  std::uint32_t channels = 1;
  std::uint32_t height = 1;
  std::uint32_t width = 1;
  std::size_t size() const noexcept { return std::size_t{channels} * height * width; }
  bool operator==(const SampleShape&) const = default;
};

/// Samples with labels. Samples lie one after the other, each channel by channel, row by row.
struct Dataset {
  SampleShape shape;
  std::variant<std::vector<std::uint8_t>, std::vector<float>> values;
  /// Whether the bytes hold eight values each, which are bits, the first one lowest. A sample then
  /// starts at a byte of its own.
  bool packed = false;
  std::vector<std::int32_t> labels;  // in [0, classes)
  std::int32_t classes = 0;
  std::vector<std::string> class_names;  // empty, or one for each class
  /// The user that each sample belongs to (LEAF), or empty. In [0, users).
  std::vector<std::uint32_t> users;
  /// Rows of values that each sample has, one after the other: itself, then its views. Row r
  /// belongs to sample r / views.
  std::uint32_t views = 1;

  std::size_t size() const noexcept { return labels.size(); }
  /// Bytes of a sample whose values are bits.
  std::size_t packed_size() const noexcept { return (shape.size() + 7) / 8; }
};

/// The samples `indices` of `data`, in this order.
Dataset select(const Dataset& data, std::span<const std::uint32_t> indices);

struct DataSplit {
  std::string name;
  Dataset train;
  Dataset test;
};

/// What happens to a sample between storage and network. Bytes are scaled to [0, 1] first. Bits can
/// be normalised only: they are no images.
struct Preprocess {
  /// One number for each channel, or one for all. Empty: no normalisation.
  std::vector<float> mean;
  std::vector<float> deviation;
  /// Shape that the network wants: the image is enlarged or reduced (bilinear) and a grey channel
  /// repeated. Unset: the data set's own shape.
  std::optional<SampleShape> resize;
  ImageView view;  // what is done to every image first
  // Augmentation, applied to training batches only.
  std::uint32_t crop_padding = 0;  // pixels of zero padding before a random crop to the old size
  bool flip = false;               // left-right with probability 1/2
  float rotation_degrees = 0.0F;   // uniform in +- this angle, bilinear, zero outside
  bool augments() const noexcept { return crop_padding > 0 || flip || rotation_degrees > 0.0F; }
};

/// The shape of a sample after `preprocess`.
SampleShape output_shape(const Dataset& data, const Preprocess& preprocess);

/// Whether fill_batch can do what `preprocess` asks of this data; ask once, before the loop.
Result<void> check_preprocess(const Dataset& data, const Preprocess& preprocess);

/// Writes the rows `rows` of values, which are the samples of these numbers where samples have no
/// views, into `x` (rows.size() * output_shape().size() floats) and their labels into `y`. Augments
/// when `augment` is given, instead of `preprocess.view`. `preprocess` must pass check_preprocess.
void fill_batch(const Dataset& data, std::span<const std::uint32_t> rows,
                const Preprocess& preprocess, BitSource* augment, std::span<float> x,
                std::span<std::int64_t> y);

// ---- sets by name ---------------------------------------------------------------------------

struct DataFile {
  std::string path;    // below the data folder: "mnist/train-images-idx3-ubyte.gz"
  std::string sha256;  // of the file
  std::string url;     // official address; empty where there is none
};

/// One way in which a known set lies on disk. All its files are there, or it is not.
struct DataVariant {
  std::string_view name;  // "official files"
  /// How its content differs from the official release; empty where it does not.
  std::string_view caution;
  std::vector<DataFile> files;
};

struct KnownSet {
  std::string_view name;
  std::string_view summary;
  SampleShape shape;
  std::int32_t classes;
  std::size_t train_size;
  std::size_t test_size;
  std::vector<float> mean;  // usual normalisation
  std::vector<float> deviation;
  std::vector<std::string> class_names;  // empty: those that the files give, if any
  /// The first that is present is read. None: the set is generated.
  std::vector<DataVariant> variants;
};

/// mnist, fashion-mnist, cifar10, medical-mnist, embedded.
std::span<const KnownSet> known_sets();
const KnownSet* find_known_set(std::string_view name);

struct DataRequest {
  /// A known name, or a path: an IDX, CSV, NPY/NPZ, .mat, LEAF .json, CIFAR binary file, or a
  /// folder or tar of images. A path to train data may come with `test`; otherwise, where the
  /// source has no test part of its own, `test_fraction` of each class (LEAF: of each user) is held
  /// out.
  std::string source;
  std::string labels;  // a second file, where the format keeps labels apart
  std::string test;    // path of the test data
  std::string test_labels;
  double test_fraction = 0.1;
  std::uint64_t seed = 0;  // of the embedded set and of held-out splits
  /// The one folder where known sets lie; empty: $SOTTO_DATA, then the cache folder.
  std::filesystem::path folder;
};

/// Reads a set completely and checks it; an error names file and position.
Result<DataSplit> load_data(const DataRequest& request);

/// The test part alone. Where train and test lie apart, the train part is not read. Its classes are
/// those that it has itself, unless the set is a known one.
Result<Dataset> load_test(const DataRequest& request);

/// The train part alone, all of it: nothing is held out, and a source without one sample is no
/// error.
Result<Dataset> load_samples(const DataRequest& request);

/// Whether there is something of a form that load_data reads, by names alone: what it holds decides
/// nothing.
Result<void> check_source(const DataRequest& request);

/// The generated set of digit-like glyphs: 28x28, 10 classes, 12,000 + 2,000.
DataSplit make_embedded(std::uint64_t seed, unsigned threads = 1);

/// ${XDG_CACHE_HOME:-~/.cache}/sotto/data
std::filesystem::path data_cache();

// ---- partitions -----------------------------------------------------------------------------

/// Which samples each client holds. O(samples) memory; where samples are repeated, none for a
/// client: who holds what is worked out when it is asked for.
class Partition {
 public:
  /// Client i holds what lies between starts[i] and starts[i + 1].
  Partition(std::vector<std::uint32_t> order, std::vector<std::uint64_t> starts)
      : order_(std::move(order)), starts_(std::move(starts)), clients_(starts_.size() - 1) {}
  /// Client i holds the next `each` samples of the ring that `order` is, after those of client
  /// i - 1; each lap begins one sample later. So no sample is held by two clients more than
  /// another.
  static Partition repeated(std::vector<std::uint32_t> order, std::size_t clients,
                            std::size_t each);

  std::size_t clients() const noexcept { return clients_; }
  std::span<const std::uint32_t> client(std::size_t i) const {
    if (each_ == 0) return std::span(order_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
    const std::uint64_t place = std::uint64_t{i} * each_;
    return std::span(order_).subspan((place + place / ring_) % ring_, each_);
  }

 private:
  Partition(std::vector<std::uint32_t> order, std::size_t clients, std::size_t ring,
            std::size_t each)
      : order_(std::move(order)), clients_(clients), ring_(ring), each_(each) {}
  std::vector<std::uint32_t> order_;   // of a ring, with its beginning once more at the end
  std::vector<std::uint64_t> starts_;  // clients + 1 of them; none of a ring
  std::size_t clients_;
  std::size_t ring_ = 1;
  std::size_t each_ = 0;  // samples of a client of a ring
};

/// K of "repeat(K)"; nothing for any other rule.
std::optional<std::size_t> repeated_samples(std::string_view rule);

/// `rule` is "iid", "stratified", "dirichlet(ALPHA)", "shards(K)", "repeat(K)" or "users". With
/// "repeat(K)" every client holds K samples, and there may be more clients than samples.
/// Every client gets at least one sample; an error says why where that cannot be.
Result<Partition> make_partition(const Dataset& data, std::string_view rule, std::size_t clients,
                                 std::uint64_t seed);

}  // namespace sotto
