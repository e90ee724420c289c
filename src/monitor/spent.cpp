#include "monitor/spent.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/exact/exact.h"
#include "base/file.h"
#include "base/json_number.h"

namespace sotto::monitor {

Result<Spent> Spent::open(std::filesystem::path file, std::uint64_t rounds) {
  Spent spent;
  spent.file_ = std::move(file);
  if (rounds == 0) return spent;  // what lies there is of a training that was replaced
  const double unknown = std::numeric_limits<double>::infinity();
  if (const auto text = read_text(spent.file_, 4096)) {
    const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
    const auto number = [&](const char* key) {
      const auto found = json.find(key);
      if (found == json.end() || !found->is_number()) return unknown;
      const auto value = found->get<double>();
      return value >= 0.0 ? value : unknown;
    };
    const auto round = json.find("round");
    if (json.is_object() && round != json.end() && round->is_number_unsigned() &&
        round->get<std::uint64_t>() >= rounds) {
      spent.round_ = round->get<std::uint64_t>();
      spent.epsilon_ = number("epsilon");
      spent.delta_ = number("delta");
      return spent;
    }
  }
  spent.round_ = rounds;
  spent.epsilon_ = unknown;
  spent.delta_ = unknown;
  return spent;
}

Result<void> Spent::add(std::uint64_t round, double epsilon, double delta) {
  if (round <= round_) return {};
  const auto sum = [](double a, double b) {
    return std::isfinite(a + b) ? exact::add_up(a, b) : std::numeric_limits<double>::infinity();
  };
  round_ = round;
  epsilon_ = sum(epsilon_, epsilon);
  delta_ = sum(delta_, delta);
  const nlohmann::json json = {{"round", round_},
                               {"epsilon", number_or_null<nlohmann::json>(epsilon_)},
                               {"delta", number_or_null<nlohmann::json>(delta_)}};
  return write_file_atomically(file_, json.dump() + '\n');
}

}  // namespace sotto::monitor
