#include "claims_shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/utf8.h"
#include "report/markup.h"
#include "sotto/records.h"
#include "terminal.h"

namespace sotto::cli {

std::string wrapped(const std::string& text, const std::string& indent) {
  constexpr std::size_t kWidth = 96;
  std::istringstream words(for_terminal(text));
  std::string out;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      out += line + '\n';
      line = indent;
    } else if (!line.empty()) {
      line += ' ';
    }
    line += word;
  }
  return out + line + '\n';
}

namespace {

std::string epsilon_cell(const Claim& claim) {
  return number_up(claim.epsilon) + (claim.vacuous() ? " (vacuous)" : "");
}

}  // namespace

std::string claims_table(const std::vector<Claim>& claims) {
  Table table({"claim", "epsilon", "delta", "note"});
  std::vector<std::string> notes;
  for (const Claim& claim : claims) {
    std::string note = claim.theorem;
    if (!claim.authors.empty()) note += " (" + claim.authors + ')';
    if (!claim.assumption.empty()) note += ". Assumes: " + claim.assumption;
    auto known = std::find(notes.begin(), notes.end(), note);
    if (known == notes.end()) known = notes.insert(notes.end(), note);
    table.add({std::string(scope_text(claim)), epsilon_cell(claim), number_up(claim.delta),
               fmt::format("[{}]", known - notes.begin() + 1)});
  }
  std::string text = table.text();
  for (std::size_t i = 0; i < notes.size(); ++i) {
    text += wrapped(fmt::format("[{}] {}.", i + 1, notes[i]), "    ");
  }
  return text;
}

std::string promise(const std::vector<Claim>& claims, Coins coins) {
  const Claim* const claim = client_claim(claims);
  if (claim == nullptr || std::isinf(claim->epsilon)) {
    return wrapped(
        "A client is promised nothing: its epsilon over the whole training is infinite.");
  }
  const std::string epsilon = number_up(claim->epsilon);
  if (claim->vacuous()) {
    return wrapped(
        "A client is promised nothing of worth: over the whole training its epsilon is " + epsilon +
        ", which is vacuous.");
  }
  std::string text = fmt::format(
      "{} epsilon {} over the whole training: whatever its data are, the "
      "probability of anything that the server sees changes by a factor of at most {}",
      protects(coins) ? "A client is promised"
                      : "A client whose coins were its own would be promised",
      epsilon, number_up(std::exp(claim->epsilon)));
  if (claim->delta > 0.0) text += ", except with probability " + number_up(claim->delta);
  text += '.';
  if (!claim->assumption.empty()) text += " This assumes: " + claim->assumption + '.';
  return wrapped(text);
}

std::string coins_line(Coins coins) {
  switch (coins) {
    case Coins::kClients:
      return "Coins: clients' own system randomness, by the word of who ran it.\n";
    case Coins::kUnsaid:
      return "Coins: the file does not say whose they were; by itself it protects nobody.\n";
    case Coins::kSimulation:
    case Coins::kRehearsal:
      break;
  }
  return fmt::format("Coins: {}. It describes a plan, protects nobody.\n", name_of(coins));
}

std::string record_promise(const std::vector<Claim>& claims) {
  const Claim* const claim = record_claim(claims);
  if (claim == nullptr) return "";
  if (std::isinf(claim->epsilon)) {
    return wrapped("A single record is promised nothing either: its epsilon is infinite.");
  }
  return wrapped(fmt::format("A single record is promised epsilon {} over the whole training{}.",
                             number_up(claim->epsilon),
                             claim->vacuous() ? ", which is vacuous" : ""));
}

}  // namespace sotto::cli
