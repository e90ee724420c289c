// What happens in a federation, as people who run one may see it.
//
// An event has room for public things only: rounds, numbers of reports, the accuracy on the public
// test set, what a round costs by its recipe. There is no field for a weight, a label, a number of
// samples or anything that a client measured, so that no log, metric or page can show one.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/result.h"

namespace sotto::monitor {

enum class What {
  kStarted,
  kResumed,  // after `round`
  kClientJoined,
  kRoundBegan,
  kClockStarted,  // the round ends in `seconds`, with those who came
  kReportAccepted,
  kReportRefused,
  kRoundDeclined,
  kReportsHeld,  // by the shuffler, so many: a count and no more
  kBatchPassed,
  kBatchWithheld,
  kRoundEnded,
  kBudgetSpent,
  kAskedOtherwise,  // others of the group came with another contract: a warning
  kProblem,         // something that may pass by itself: the other side is away, a disk is full
  kStopping,
  kFinished,
};

std::string_view name_of(What what);
/// "usage", "not-found", "corrupt", "io", "busy", "refused", "internal".
std::string_view name_of(ErrorKind kind);

struct Event {
  What what = What::kStarted;
  std::uint64_t round = 0;  // 0: of none
  std::optional<std::uint64_t> clients = {};
  std::optional<std::uint64_t> reports = {};
  std::optional<std::uint64_t> released = {};
  std::optional<std::uint64_t> chunks = {};
  std::optional<double> accuracy = {};  // on the public test set
  std::optional<double> loss = {};
  std::optional<double> epsilon = {};
  std::optional<double> delta = {};
  std::optional<double> seconds = {};
  std::optional<ErrorKind> kind = {};
  std::string text = {};  // a reason; of messages and files, never of data
};

/// Takes events, from any thread. An empty one takes none.
using Sink = std::function<void(const Event&)>;

/// "event" and the fields that are there, in the order above.
nlohmann::ordered_json to_json(const Event& event);

/// A report or message that was not taken.
Event refusal(const Error& error, std::uint64_t round = 0);
/// What refusals are counted by: the word that its reason begins with ("stale: ..."), else its
/// kind.
std::string refusal_name(const Event& event);

}  // namespace sotto::monitor
