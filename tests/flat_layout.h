// A layout of one tensor, for tests that need no more.
#pragma once

#include <memory>

#include "sotto/layout.h"

namespace sotto {

inline std::shared_ptr<const Layout> flat_layout(std::size_t size) {
  auto layout = std::make_shared<Layout>();
  layout->add("w", {static_cast<std::int64_t>(size)}, TensorRole::kParameter);
  return layout;
}

}  // namespace sotto
