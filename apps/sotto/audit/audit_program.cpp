// sotto audit --program CMD: attacks somebody else's randomizer, in whatever language it is
// written.
//
// The command is started anew for every batch of inputs, gets them on its standard input (one
// number or vector a line, or one .npy array) and prints one output for each, in order.
#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "audit/outputs_text.h"
#include "audit/randomizers.h"
#include "audit_command.h"
#include "base/nearest.h"
#include "child_program.h"
#include "data/formats/npy.h"
#include "report/markup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

constexpr std::size_t kMostShown = 5;  // events

// --- inputs

Result<std::vector<double>> numbers(std::string_view text) {
  std::vector<double> values;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(',', first), text.size());
    const std::optional<double> value = parse_number(text.substr(first, end - first));
    if (!value || !std::isfinite(*value)) {
      return fail(ErrorKind::kUsage,
                  "audit: --inputs: '" + std::string(text.substr(first, end - first)) +
                      "' is not a number; valid: two numbers, as in --inputs=-1,1, or two vectors, "
                      "as in --inputs '1,0;0,1'");
    }
    values.push_back(*value);
    first = end + 1;
  }
  return values;
}

Result<NumberPair> parse_inputs(const std::string& text) {
  if (text.empty()) {
    return fail(ErrorKind::kUsage, "audit: --program needs the two --inputs, as in --inputs=-1,1");
  }
  NumberPair pair;
  if (const std::size_t middle = text.find(';'); middle != std::string::npos) {
    SOTTO_TRY(pair.zero, numbers(std::string_view(text).substr(0, middle)));
    SOTTO_TRY(pair.one, numbers(std::string_view(text).substr(middle + 1)));
    return pair;
  }
  SOTTO_TRY(const std::vector<double> both, numbers(text));
  if (both.size() != 2) {
    return fail(ErrorKind::kUsage,
                "audit: --inputs has " + std::to_string(both.size()) +
                    " numbers; valid: two, or two vectors with ';' between them");
  }
  pair.zero = {both[0]};
  pair.one = {both[1]};
  return pair;
}

// --- how numbers travel

Result<Outputs> parse_npy(std::string_view text, std::size_t rows) {
  const auto parsed = parse_npy_array_any_order(std::as_bytes(std::span(text)));
  if (!parsed) return at("the program's output", parsed.error());
  if (parsed->shape.empty() || parsed->shape.front() != rows || parsed->size() == 0) {
    return fail(ErrorKind::kCorrupt,
                "the program's output: the array has " +
                    with_commas(parsed->shape.empty() ? 1 : parsed->shape.front()) + " rows for " +
                    with_commas(rows) + " inputs; valid: one row for each");
  }
  return Outputs{parsed->size() / rows, values_row_by_row(*parsed)};
}

class ProgramRandomizer final : public Randomizer {
 public:
  ProgramRandomizer(ChildProgram program, const NumberPair& inputs, bool npy)
      : program_(std::move(program)), inputs_(inputs), npy_(npy) {
    for (const bool one : {false, true}) {
      std::string& line = lines_[one ? 1 : 0];
      for (const double value : one ? inputs.one : inputs.zero) {
        line += fmt::format("{}{}", line.empty() ? "" : " ", value);
      }
      line += '\n';
    }
  }

  Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t /*batch*/) override {
    std::size_t lines = 0;
    const auto enough = [&](std::string_view piece) {
      if (npy_) return false;
      lines += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
      return lines > inputs.size();
    };
    SOTTO_TRY(const std::string output, program_.run(npy_ ? array(inputs) : text(inputs), enough));
    return npy_ ? parse_npy(output, inputs.size()) : parse_outputs(output, inputs.size());
  }

 private:
  std::string text(const std::vector<bool>& inputs) const {
    std::string all;
    for (const bool one : inputs) all += lines_[one ? 1 : 0];
    return all;
  }

  std::string array(const std::vector<bool>& inputs) const {
    std::vector<double> values;
    for (const bool one : inputs) {
      const std::vector<double>& x = one ? inputs_.one : inputs_.zero;
      values.insert(values.end(), x.begin(), x.end());
    }
    std::vector<std::uint64_t> shape = {inputs.size()};
    if (inputs_.zero.size() > 1) shape.push_back(inputs_.zero.size());
    const auto bytes = npy_file('f', sizeof(double), shape, std::as_bytes(std::span(values)));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  ChildProgram program_;
  const NumberPair& inputs_;
  bool npy_;
  std::string lines_[2];
};

// --- what is shown

nlohmann::json events_json(const RandomizerFinding& finding) {
  nlohmann::json events = nlohmann::json::array();
  for (const EventFinding& found : finding.events) {
    events.push_back({{"event", found.event.text},
                      {"rate_first", found.rate_zero()},
                      {"rate_second", found.rate_one()},
                      {"epsilon_lower", found.epsilon_lower}});
  }
  return events;
}

void print_events(const RandomizerFinding& finding) {
  Table table({"epsilon", "first input", "second input", "event"});
  for (std::size_t i = 0; i < std::min(kMostShown, finding.events.size()); ++i) {
    const EventFinding& found = finding.events[i];
    table.add({number_down(found.epsilon_lower, 3), fmt::format("{:.4g}", found.rate_zero()),
               fmt::format("{:.4g}", found.rate_one()), found.event.text});
  }
  const std::size_t shown = std::min(kMostShown, finding.events.size());
  const std::string which =
      finding.events.size() == 1 ? "the event that was tested, and how often it"
      : shown == finding.events.size()
          ? fmt::format("the {} events tested, and how often they", shown)
          : fmt::format("the {} of {} events that told most, and how often they", shown,
                        finding.events.size());
  fmt::print("\n{} happened:\n{}", which, table.text());
}

Result<void> check_options(const AuditOptions& options) {
  const std::vector<std::string> formats = {"text", "npy"};
  if (options.format != "text" && options.format != "npy") {
    return fail(ErrorKind::kUsage, "audit: --format '" + options.format + "'" +
                                       did_you_mean(options.format, formats) +
                                       "; valid: " + join(formats));
  }
  if (!(options.timeout_seconds > 0.0 && options.timeout_seconds <= 1e6)) {
    return fail(ErrorKind::kUsage, "audit: --timeout = " + short_number(options.timeout_seconds) +
                                       "; valid: a number in (0, 1000000]");
  }
  return {};
}

}  // namespace

Result<int> audit_foreign(const AuditOptions& options) {
  SOTTO_CHECK(check_options(options));
  SOTTO_TRY(const NumberPair inputs, parse_inputs(options.inputs));
  AuditPlan plan = options.plan();
  if (const auto delta = options.mechanism.set.find("delta");
      delta != options.mechanism.set.end()) {
    plan.delta = delta->second;
  }
  Progress progress("audit", plan.trials);
  plan.progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  // A program that stops reading must not end us.
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  ProgramRandomizer randomizer({options.program, options.timeout_seconds}, inputs,
                               options.format == "npy");
  const auto found = audit_randomizer(randomizer, inputs, plan, options.batch);
  std::signal(SIGPIPE, old);
  progress.clear();
  if (!found) {
    if (found.error().kind == ErrorKind::kUsage) return tl::unexpected(found.error());
    return at("audit: " + options.program, found.error());
  }

  nlohmann::json json = audit_json(*found, plan);
  json["program"] = options.program;
  json["inputs"] = {inputs.zero, inputs.one};
  json["output_values"] = found->width;
  json["events"] = events_json(*found);
  SOTTO_CHECK(write_audit(options, options.program, json));
  if (options.json) {
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_code(*found);
  }
  fmt::print("{}\n\n", options.program);
  print_line("inputs", output_text(inputs.zero) + " or " + output_text(inputs.one));
  print_finding(*found, plan);
  print_events(*found);
  return exit_code(*found);
}

}  // namespace sotto::cli
