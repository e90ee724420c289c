// What people see: a progress bar on terminals, aligned tables. Numbers come from base/text.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "sotto/data.h"

namespace sotto::cli {

/// A bar with the time left, on stderr, drawn only when stderr is a terminal and the work has
/// already taken half a second. Cleared when it goes out of scope.
class Progress {
 public:
  explicit Progress(std::string label, std::uint64_t total = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `total` may become known late; `note` stands behind the bar.
  void update(std::uint64_t done, std::uint64_t total, const std::string& note = "");
  /// Takes the bar off the screen, before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
  std::optional<std::uint64_t> first_;  // what was done at the first update: a resumed run has some
  bool terminal_;
  bool visible_ = false;
};

/// Columns are as wide as their widest cell; a column whose cells all start with a digit or sign is
/// aligned right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "3x32x32"
std::string shape_text(const SampleShape& shape);

/// All digits of the double, or "infinite": an epsilon must not be rounded down on its way to the
/// reader.
std::string epsilon_text(double epsilon);

}  // namespace sotto::cli
