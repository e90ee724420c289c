// One reader per file format. Each takes a path, checks everything against the file's real size
// before it allocates, and returns a complete Dataset or an Error that names file and place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sotto/data.h"
#include "sotto/result.h"

namespace sotto {

/// No data set may unpack to more than this: a bomb is refused, not tried.
inline constexpr std::size_t kMostDataBytes = std::size_t{1} << 33;
/// Labels must lie below this.
inline constexpr std::int64_t kMostClasses = 100'000;

/// IDX images (magic 2051, or 2052 with channels last dimension) with an IDX label file (2049);
/// each plain or .gz.
Result<Dataset> read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

/// CIFAR-10 binary batches, one after the other: one label byte and 3,072 pixel bytes a record.
Result<Dataset> read_cifar(const std::vector<std::filesystem::path>& batches);
/// The batches in a folder: data_batch_*.bin in the order of their names, and test_batch.bin.
struct CifarBatches {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;  // empty where the folder has none
};
Result<CifarBatches> find_cifar_batches(const std::filesystem::path& folder);
/// The batches out of the official cifar-10-binary.tar.gz: cifar-10-batches-bin/data_batch_1.bin to
/// data_batch_5.bin in this order, or test_batch.bin.
Result<Dataset> read_cifar_tar(const std::filesystem::path& tar, bool test);

/// SVHN "cropped digits" .mat (MATLAB 5, compressed or not): X is 32x32x3xN, y is Nx1 with 10 for
/// 0.
Result<Dataset> read_svhn(const std::filesystem::path& file);

/// A folder, .tar or .tar.gz with one folder for each class, JPEG and PNG files inside. Class order
/// is the alphabetical order of the folder names, sample order that of the names within the class.
/// `below` selects a subfolder ("train"), or "". All images must have one size; grey stays one
/// channel when every image is grey. Hidden files and files beside the class folders are passed
/// over.
Result<Dataset> read_images(const std::filesystem::path& folder_or_tar,
                            const std::string& below = "");
/// True when the folder or archive has train/ and test/ at its top.
Result<bool> images_are_split(const std::filesystem::path& folder_or_tar);

/// CSV: a header line or none; the column called label, class, target or y holds the class, else
/// the last one (numbers from 0, or names, sorted). All other columns are numeric features.
Result<Dataset> read_csv(const std::filesystem::path& file);

/// NPY: features in one file, labels in another. NPZ: arrays x (or images, data) and y (or labels)
/// in one; x_train, y_train, x_test, y_test too (`part` is "", "train" or "test").
/// x is uint8 or float32/64 of shape (n, features), (n, h, w), (n, h, w, c) or (n, c, h, w), where
/// c is 1 or 3 and is taken to be last when both ends could be it. y is (n) or (n, 1).
Result<Dataset> read_npy(const std::filesystem::path& features,
                         const std::filesystem::path& labels);
Result<Dataset> read_npz(const std::filesystem::path& file, const std::string& part = "");
/// True when the NPZ has x_train and x_test.
Result<bool> npz_is_split(const std::filesystem::path& file);

/// LEAF JSON: a file or a folder of them; users, num_samples, user_data[u].{x, y}. Users become
/// clients through Dataset::users.
Result<Dataset> read_leaf(const std::filesystem::path& file_or_folder);

}  // namespace sotto
