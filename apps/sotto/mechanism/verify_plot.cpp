// The output distribution of a mechanism as a picture: the probability of each output over its
// decoded value, one curve for each chosen input (as figure 2 of the SRR-FL paper). Where outputs
// are too many to be drawn one by one, the curve is a density. A vector mechanism has no
// probability for one coordinate alone: its first coordinate is drawn many times and counted.
#include "verify_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/chart.h"

namespace sotto::cli {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kStems = 64;       // up to so many outputs each has a stroke of its own
constexpr std::size_t kMostEach = 2001;  // up to so many each has a step
constexpr std::size_t kSampled = 400;    // beyond: so many of each input's are looked at
constexpr std::size_t kDraws = 20'000;   // of a vector
constexpr std::size_t kBins = 100;
constexpr std::size_t kMostBars = 64;

std::string series_name(double input) { return "input " + short_number(input); }

/// Where an input's outputs lie: all but a negligible share, six deviations to either side.
struct Window {
  double low;
  double high;
};

/// The outputs to look at: all in sight, or some of them where they are many.
struct Chosen {
  std::vector<Symbol> symbols;
  bool density = false;
};

/// The symbols whose decoded values lie in a window. Decoding is affine.
std::pair<Symbol, Symbol> symbols_of(const Mechanism& mechanism, const Window& window) {
  const Symbol first = mechanism.smallest_symbol();
  const Symbol last = mechanism.largest_symbol();
  const double at_first = decoded(mechanism, first);
  const double count = static_cast<double>(last) - static_cast<double>(first);
  const double scale = first == last ? 1.0 : (decoded(mechanism, last) - at_first) / count;
  const auto symbol_at = [&](double value) {
    const double steps = std::clamp((value - at_first) / scale, 0.0, count);
    return std::clamp(first + static_cast<Symbol>(std::llround(steps)), first, last);
  };
  const Symbol a = symbol_at(window.low);
  const Symbol b = symbol_at(window.high);
  return {std::min(a, b), std::max(a, b)};
}

Chosen choose_symbols(const Mechanism& mechanism, const std::vector<Window>& windows) {
  Window all = windows.front();
  for (const Window& window : windows) {
    all = {std::min(all.low, window.low), std::max(all.high, window.high)};
  }
  std::vector<Symbol> listed = mechanism.alphabet(0);
  if (!listed.empty()) {
    const auto [from, to] = symbols_of(mechanism, all);
    std::erase_if(listed, [from = from, to = to](Symbol s) { return s < from || s > to; });
    if (listed.size() <= kMostEach) return {std::move(listed), false};
  }
  // Evenly over everything, and evenly over each window, where a narrow peak would be missed.
  Chosen chosen;
  chosen.density = true;
  std::vector<Window> parts = windows;
  parts.push_back(all);
  for (const Window& part : parts) {
    const auto [from, to] = symbols_of(mechanism, part);
    const double width = static_cast<double>(to) - static_cast<double>(from);
    for (std::size_t i = 0; i < kSampled; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(kSampled - 1);
      const Symbol symbol = from + static_cast<Symbol>(std::floor(share * width));
      if (listed.empty()) {
        chosen.symbols.push_back(symbol);
      } else if (const auto it = std::lower_bound(listed.begin(), listed.end(), symbol);
                 it != listed.end()) {
        chosen.symbols.push_back(*it);
      }
    }
  }
  std::sort(chosen.symbols.begin(), chosen.symbols.end());
  const auto end = std::unique(chosen.symbols.begin(), chosen.symbols.end());
  chosen.symbols.erase(end, chosen.symbols.end());
  return chosen;
}

Series strokes(const Mechanism& mechanism, const std::vector<Symbol>& symbols, double input,
               double shift) {
  Series series{series_name(input), {}};
  const auto weight = static_cast<float>(input);
  for (const Symbol symbol : symbols) {
    const double at = decoded(mechanism, symbol) + shift;
    const double p = std::exp(mechanism.log_prob({&symbol, 1}, {&weight, 1}));
    series.points.insert(series.points.end(), {{at, 0.0}, {at, p}, {kGap, kGap}});
  }
  return series;
}

/// Half a step to either side of each output; for a density the step is that of one symbol.
Series steps(const Mechanism& mechanism, const Chosen& chosen, double input) {
  Series series{series_name(input), {}};
  const auto weight = static_cast<float>(input);
  const auto& symbols = chosen.symbols;
  const double unit =
      std::abs(decoded(mechanism, symbols.front() + 1) - decoded(mechanism, symbols.front()));
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const double at = decoded(mechanism, symbols[i]);
    const double p = std::exp(mechanism.log_prob({&symbols[i], 1}, {&weight, 1}));
    if (chosen.density) {
      series.points.emplace_back(at, p / unit);
      continue;
    }
    const std::size_t other = i + 1 < symbols.size() ? i + 1 : i - 1;
    const double half = std::abs(decoded(mechanism, symbols[other]) - at) / 2.0;
    series.points.emplace_back(at - half, p);
    series.points.emplace_back(at + half, p);
  }
  return series;
}

LineChart value_chart(const Verification& v, const std::vector<double>& at) {
  const Mechanism& mechanism = *v.mechanism;
  const auto [input_low, input_high] = input_interval(v);
  std::vector<Window> windows;
  bool certain = true;
  for (const double input : at) {
    const auto weight = static_cast<float>(input);
    const Moments moments = mechanism.moments({&weight, 1}, 0);
    const double reach = 6.0 * std::sqrt(moments.variance);
    windows.push_back({moments.mean - reach, moments.mean + reach});
    certain = certain && moments.variance == 0.0;
  }
  LineChart chart;
  chart.x_label = "output";
  chart.y_label = "probability";
  if (certain) {  // the output is the input
    for (const double input : at) {
      chart.series.push_back({series_name(input), {{input, 0.0}, {input, 1.0}}});
    }
    return chart;
  }
  const Chosen chosen = choose_symbols(mechanism, windows);
  if (chosen.density) chart.y_label = "probability density";
  const double width = input_high - input_low;
  for (std::size_t i = 0; i < at.size(); ++i) {
    // Strokes of different inputs stand side by side.
    const double shift =
        0.02 * width * (static_cast<double>(i) - static_cast<double>(at.size() - 1) / 2.0);
    chart.series.push_back(chosen.symbols.size() <= kStems
                               ? strokes(mechanism, chosen.symbols, at[i], shift)
                               : steps(mechanism, chosen, at[i]));
  }
  return chart;
}

LineChart bits_chart(const Verification& v) {
  const Mechanism& mechanism = *v.mechanism;
  // The bits of a label are not independent: exactly one of them is set.
  const std::size_t positions = std::min(mechanism.outputs() - v.classes, kMostBars);
  LineChart chart;
  chart.x_label = "bit";
  chart.y_label = "probability that a 1 is sent";
  chart.y_range = {0.0, 1.0};
  for (const double bit : {1.0, 0.0}) {
    Series series{bit == 1.0 ? "the bit is 1" : "the bit is 0", {}};
    for (std::size_t position = 0; position < positions; ++position) {
      const std::vector<float> x = input_vector(v, bit, position);
      // Bits are drawn independently, so two reports that differ in one tell its odds.
      std::vector<Symbol> report(mechanism.outputs(), 0);
      const double zero = mechanism.log_prob(report, x);
      report[position] = 1;
      const double one = mechanism.log_prob(report, x);
      const double at = static_cast<double>(position) + (bit == 1.0 ? -0.12 : 0.12);
      const double p = 1.0 / (1.0 + std::exp(zero - one));
      series.points.insert(series.points.end(), {{at, 0.0}, {at, p}, {kGap, kGap}});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

LineChart vector_chart(const Verification& v, const std::vector<double>& at) {
  const Mechanism& mechanism = *v.mechanism;
  const std::size_t most = std::max<std::size_t>(1, std::size_t{400'000'000} / mechanism.outputs());
  const std::size_t draws = std::min(kDraws, most);
  std::vector<std::vector<double>> drawn;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  BitSource bits = BitSource::from_seed(1, "plot");
  for (const double input : at) {
    std::vector<double>& values = drawn.emplace_back();
    const Bounded bounded =
        bound(Update(mechanism.domain().layout, input_vector(v, input)), mechanism.domain());
    for (std::size_t i = 0; i < draws; ++i) {
      const double value = decoded(mechanism, mechanism.perturb(bounded, bits).symbols()[0]);
      values.push_back(value);
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  LineChart chart;
  chart.x_label = "first coordinate of the decoded output";
  chart.y_label = "share of " + with_commas(draws) + " draws";
  // Bins are whole numbers of lattice steps wide, otherwise some would hold more steps than others.
  const double step = std::abs(decoded(mechanism, 1) - decoded(mechanism, 0));
  const double steps_a_bin = std::ceil((high - low) / step / static_cast<double>(kBins - 1));
  const double width = std::max(1.0, steps_a_bin) * step;
  low -= step / 2.0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> shares(kBins, 0.0);
    for (const double value : drawn[i]) {
      const auto bin = static_cast<std::size_t>((value - low) / width);
      shares[std::min(bin, kBins - 1)] += 1.0 / static_cast<double>(draws);
    }
    Series series{"first input coordinate " + short_number(at[i]), {}};
    for (std::size_t b = 0; b < kBins; ++b) {
      const double from = low + static_cast<double>(b) * width;
      series.points.emplace_back(from, shares[b]);
      series.points.emplace_back(from + width, shares[b]);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

Result<std::string> plot_outputs(const Verification& v, std::vector<double> at) {
  const auto [low, high] = input_interval(v);
  if (at.empty()) at = {low, (low + high) / 2.0, low + 0.75 * (high - low)};
  for (const double input : at) {
    if (input >= low && input <= high) continue;
    return fail(ErrorKind::kUsage,
                fmt::format("--at {}: must be inside [{}, {}]", short_number(input),
                            short_number(low), short_number(high)));
  }
  LineChart chart = v.info->kind == MechanismKind::kValue    ? value_chart(v, at)
                    : v.info->kind == MechanismKind::kVector ? vector_chart(v, at)
                                                             : bits_chart(v);
  chart.title = fmt::format(
      "{}, epsilon {}", v.info->name,
      std::isinf(v.guarantee.unit_epsilon) ? "infinite" : short_number(v.guarantee.unit_epsilon));
  return to_svg(chart);
}

}  // namespace sotto::cli
