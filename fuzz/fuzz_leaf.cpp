// LEAF JSON.
#include <map>
#include <string>

#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  Dataset set;
  set.values = std::vector<float>();
  std::map<std::string, std::uint32_t> users;
  if (parse_leaf(as_text(fuzz::input(data, size)), set, users)) {
    set.classes = count_classes(set.labels);
    fuzz::require_consistent(set);
    for (const std::uint32_t user : set.users) fuzz::require(user < users.size());
  }
  return 0;
}
