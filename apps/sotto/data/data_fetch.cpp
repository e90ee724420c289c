// `sotto data fetch`: downloads a known set into the data folder.
#include <fmt/format.h>

#include <memory>

#include "data/known.h"
#include "data_actions.h"
#include "terminal.h"
#ifdef SOTTO_WITH_FETCH
#include "data/fetch.h"
#endif

namespace sotto::cli {
namespace {

#ifdef SOTTO_WITH_FETCH

Result<void> download(const KnownSet& set, const std::filesystem::path& folder,
                      const std::string& mirror) {
  // A bar for each file: how many bytes all have together is not known beforehand.
  std::unique_ptr<Progress> bar;
  std::string current;
  return fetch_set(
      set, folder,
      [&](const DataFile& file, std::uint64_t done, std::uint64_t total) {
        if (current != file.path) {
          current = file.path;
          bar.reset();
          bar = std::make_unique<Progress>(file.path);
        }
        bar->update(done, total, fmt::format("{:.1f} MB", static_cast<double>(done) / 1e6));
      },
      mirror);
}

#else

Result<void> download(const KnownSet& set, const std::filesystem::path& folder,
                      const std::string&) {
  std::string text = "this sotto was built without downloads (SOTTO_FETCH=OFF); put into " +
                     folder.string() + " yourself:";
  for (const DataFile& file : variant_to_fetch(set).files) {
    text += "\n  " + file.path + (file.url.empty() ? "" : "  from " + file.url);
  }
  return fail(ErrorKind::kRefused, text);
}

#endif

}  // namespace

Result<int> data_fetch(const DataFetchOptions& options) {
  const KnownSet* set = find_known_set(options.name);
  if (set == nullptr) return tl::unexpected(unknown_set(options.name));
  if (set->variants.empty()) {
    fmt::print("{} is built in: nothing to download\n", set->name);
    return 0;
  }
  const std::filesystem::path folder = options.to.empty() ? data_cache() : options.to;
  SOTTO_CHECK(download(*set, folder, options.mirror));
  fmt::print("{} is complete and verified in {}\n", set->name, folder.string());
  return 0;
}

}  // namespace sotto::cli
