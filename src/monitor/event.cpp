#include "monitor/event.h"

#include <nlohmann/json.hpp>

#include "base/json_number.h"

namespace sotto::monitor {

std::string_view name_of(What what) {
  switch (what) {
    case What::kStarted:
      return "started";
    case What::kResumed:
      return "resumed";
    case What::kClientJoined:
      return "client-joined";
    case What::kRoundBegan:
      return "round-began";
    case What::kClockStarted:
      return "clock-started";
    case What::kReportAccepted:
      return "report-accepted";
    case What::kReportRefused:
      return "report-refused";
    case What::kRoundDeclined:
      return "round-declined";
    case What::kReportsHeld:
      return "reports-held";
    case What::kBatchPassed:
      return "batch-passed";
    case What::kBatchWithheld:
      return "batch-withheld";
    case What::kRoundEnded:
      return "round-ended";
    case What::kBudgetSpent:
      return "budget-spent";
    case What::kAskedOtherwise:
      return "asked-otherwise";
    case What::kProblem:
      return "problem";
    case What::kStopping:
      return "stopping";
    case What::kFinished:
      return "finished";
  }
  return "unknown";
}

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kNotFound:
      return "not-found";
    case ErrorKind::kCorrupt:
      return "corrupt";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kBusy:
      return "busy";
    case ErrorKind::kRefused:
      return "refused";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

nlohmann::ordered_json to_json(const Event& event) {
  using Json = nlohmann::ordered_json;
  Json json = {{"event", name_of(event.what)}};
  if (event.round > 0) json["round"] = event.round;
  const auto count = [&](const char* key, const std::optional<std::uint64_t>& value) {
    if (value) json[key] = *value;
  };
  const auto number = [&](const char* key, const std::optional<double>& value) {
    if (value) json[key] = number_or_null<Json>(*value);
  };
  count("clients", event.clients);
  count("reports", event.reports);
  count("released", event.released);
  count("chunks", event.chunks);
  number("accuracy", event.accuracy);
  number("loss", event.loss);
  number("epsilon", event.epsilon);
  number("delta", event.delta);
  number("seconds", event.seconds);
  if (event.kind) json["kind"] = name_of(*event.kind);
  if (!event.text.empty()) json["text"] = event.text;
  return json;
}

Event refusal(const Error& error, std::uint64_t round) {
  Event event{What::kReportRefused, round};
  event.kind = error.kind;
  event.text = error.message;
  return event;
}

std::string refusal_name(const Event& event) {
  constexpr std::size_t kLongest = 24;
  const std::size_t end = event.text.find(": ");
  if (end != std::string::npos && end > 0 && end <= kLongest) {
    std::string word = event.text.substr(0, end);
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos) return word;
  }
  return std::string(name_of(event.kind.value_or(ErrorKind::kRefused)));
}

}  // namespace sotto::monitor
