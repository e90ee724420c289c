// What the tests of the readers have in common: files in a folder of their own, and failures that
// must say what was wrong.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/formats/make.h"
#include "sotto/data.h"
#include "sotto/result.h"
#include "temporary_folder.h"

namespace sotto {

template <class T>
testing::AssertionResult succeeds(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}

/// The result is an error that says `part`.
template <class T>
testing::AssertionResult fails_with(const Result<T>& result, std::string_view part) {
  if (result) return testing::AssertionFailure() << "succeeded, expected: " << part;
  if (result.error().message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "message: " << result.error().message << "\nexpected in it: " << part;
}

/// Every proper prefix of `whole` is an error. Each lies in memory of its own size, so that the
/// address sanitizer sees a read beyond it.
template <class Parse>
void expect_no_prefix_parses(ByteSpan whole, Parse parse) {
  ASSERT_TRUE(succeeds(parse(whole)));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const make::Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto result = parse(ByteSpan(prefix));
    ASSERT_FALSE(result) << "the first " << size << " bytes of " << whole.size() << " parse";
    ASSERT_FALSE(result.error().message.empty());
  }
}

/// No byte of `whole` can be changed into something that crashes the parser.
template <class Parse>
void expect_total_on_changes(ByteSpan whole, Parse parse) {
  make::Bytes changed(whole.begin(), whole.end());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned value : {0x00U, 0x7fU, 0x80U, 0xffU}) {
      changed[i] = static_cast<std::byte>(value);
      const auto result = parse(ByteSpan(changed));
      ASSERT_TRUE(result || !result.error().message.empty());
    }
    changed[i] = whole[i];
  }
}

inline const std::vector<std::uint8_t>& bytes_in(const Dataset& data) {
  return std::get<std::vector<std::uint8_t>>(data.values);
}
inline const std::vector<float>& floats_in(const Dataset& data) {
  return std::get<std::vector<float>>(data.values);
}

}  // namespace sotto
