#include "sent_shown.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "plan/feature_statistics.h"
#include "report/markup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Sent {
  std::string tensor;
  std::size_t weights = 0;
  std::uint64_t rounds = 0;
  std::optional<Range> range;  // none where the whole vector has a norm
  double epsilon = 0.0;
  double noise = 0.0;
  std::uint64_t messages = 1;  // of it in a round
};

/// A vector in the middle of the domain; for a ball, on its edge along the first axis.
std::vector<float> typical_input(const Domain& domain) {
  std::vector<float> input(domain.layout->size(), 0.0F);
  if (domain.shape == Shape::kBall) {
    input.front() = static_cast<float>(domain.norm);
    return input;
  }
  const auto& tensors = domain.layout->tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto first = input.begin() + static_cast<std::ptrdiff_t>(tensors[i].offset);
    std::fill_n(first, tensors[i].size, static_cast<float>(domain.ranges[i].centre));
  }
  return input;
}

std::vector<Sent> sent_of(const Exposure& exposure) {
  std::vector<Sent> rows;
  for (const Turn& turn : exposure.turns) {
    for (const auto& mechanism : turn.variants.front()) {
      const Domain& domain = mechanism->domain();
      if (domain.layout == nullptr || domain.layout->size() == 0) continue;
      const double epsilon = mechanism->guarantee().unit_epsilon;
      if (!std::isfinite(epsilon)) continue;
      const std::vector<float> input = typical_input(domain);
      const auto noise_at = [&](std::size_t output) {
        return std::sqrt(mechanism->moments(input, output).variance);
      };
      if (domain.shape == Shape::kBall) {
        // The last coordinate is as far from the input's direction as most are.
        const std::size_t last = mechanism->outputs() - 1;
        Sent sent{"all, as one vector", mechanism->outputs(), turn.rounds, std::nullopt, epsilon,
                  noise_at(last)};
        if (holds_statistics(domain)) sent.tensor = "mean of its features";
        if (mechanism != turn.variants.front().front() && !rows.empty() &&
            rows.back().noise == sent.noise && rows.back().weights == sent.weights &&
            rows.back().epsilon == sent.epsilon) {
          ++rows.back().messages;
        } else {
          rows.push_back(std::move(sent));
        }
        continue;
      }
      const auto& tensors = domain.layout->tensors();
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        rows.push_back({tensors[i].name, tensors[i].size, turn.rounds, domain.ranges[i], epsilon,
                        noise_at(tensors[i].offset)});
      }
    }
  }
  return rows;
}

double of_mean(const Sent& sent, std::size_t clients_per_round) {
  const std::uint64_t reports = sent.messages * clients_per_round;
  return sent.noise / std::sqrt(static_cast<double>(reports));
}

}  // namespace

std::string sent_table(const Exposure& exposure, std::size_t clients_per_round) {
  const std::vector<Sent> rows = sent_of(exposure);
  if (rows.empty()) return "";
  Table table({"what a client sends", "weights", "rounds", "range", "epsilon", "noise of a weight",
               "of a round's mean"});
  for (const Sent& sent : rows) {
    table.add(
        {sent.messages == 1 ? sent.tensor
                            : sent.tensor + fmt::format(", {} messages", sent.messages),
         with_commas(sent.weights), with_commas(sent.rounds),
         sent.range ? fmt::format("{:.3g} +- {:.3g}", sent.range->centre, sent.range->radius) : "-",
         number_up(sent.epsilon), fmt::format("{:.3g}", sent.noise),
         fmt::format("{:.3g}", of_mean(sent, clients_per_round))});
  }
  return table.text();
}

nlohmann::json sent_json(const Exposure& exposure, std::size_t clients_per_round) {
  nlohmann::json list = nlohmann::json::array();
  for (const Sent& sent : sent_of(exposure)) {
    nlohmann::json row = {
        {"tensor", sent.tensor},    {"weights", sent.weights},
        {"rounds", sent.rounds},    {"centre", nullptr},
        {"radius", nullptr},        {"epsilon", sent.epsilon},
        {"noise", sent.noise},      {"noise_of_mean", of_mean(sent, clients_per_round)},
        {"messages", sent.messages}};
    if (sent.range) {
      row["centre"] = sent.range->centre;
      row["radius"] = sent.range->radius;
    }
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace sotto::cli
