// Tables of the names that the values of an enum have in files.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace sotto {

template <class T>
struct Name {
  T value;
  std::string_view name;
};

template <class T>
std::string_view name_in(std::span<const Name<T>> names, T value) {
  for (const Name<T>& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "";
}

template <class T>
std::optional<T> value_in(std::span<const Name<T>> names, std::string_view name) {
  for (const Name<T>& entry : names) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

}  // namespace sotto
