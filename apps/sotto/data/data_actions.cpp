#include "data_actions.h"

#include <chrono>
#include <future>

#include "terminal.h"

namespace sotto::cli {

Result<DataSplit> load_visibly(const DataRequest& request) {
  // Readers do not know how far they are; the time that has passed shows that they are alive.
  Progress progress("reading " + request.source);
  const auto start = std::chrono::steady_clock::now();
  auto loading = std::async(std::launch::async, [&] { return load_data(request); });
  while (loading.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    progress.update(0, 0, duration(passed.count()));
  }
  return loading.get();
}

std::vector<std::string> class_labels(const Dataset& data) {
  if (!data.class_names.empty()) return data.class_names;
  std::vector<std::string> names;
  for (std::int32_t c = 0; c < data.classes; ++c) names.push_back(std::to_string(c));
  return names;
}

nlohmann::ordered_json shape_json(const SampleShape& shape) {
  return {shape.channels, shape.height, shape.width};
}

}  // namespace sotto::cli
