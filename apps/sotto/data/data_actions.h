// What the subcommands of `sotto data` share: their options, and one function for each.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sotto/data.h"
#include "sotto/result.h"

namespace sotto::cli {

struct DataListOptions {
  std::filesystem::path folder;
  bool json = false;
};
Result<int> data_list(const DataListOptions& options);

struct DataCheckOptions {
  DataRequest request;
  bool json = false;
};
Result<int> data_check(const DataCheckOptions& options);

struct DataFetchOptions {
  std::string name;
  std::filesystem::path to;
  std::string mirror;
};
Result<int> data_fetch(const DataFetchOptions& options);

struct DataShowOptions {
  DataRequest request;
  std::size_t clients = 10;
  std::string partition = "iid";
  std::filesystem::path out;
  bool json = false;
};
Result<int> data_show(const DataShowOptions& options);

/// load_data with something to see while it takes long.
Result<DataSplit> load_visibly(const DataRequest& request);

/// One name for each class; its number where the data has no names.
std::vector<std::string> class_labels(const Dataset& data);

/// [3, 32, 32]
nlohmann::ordered_json shape_json(const SampleShape& shape);

}  // namespace sotto::cli
