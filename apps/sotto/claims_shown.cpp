#include "claims_shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "report/markup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

/// Lines of at most 96 characters, the later ones indented by four.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 96;
  std::istringstream words(text);
  std::string out;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      out += line + '\n';
      line = "   ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + '\n';
}

std::string epsilon_cell(const Claim& claim) {
  return number_up(claim.epsilon) + (claim.vacuous() ? " (vacuous)" : "");
}

}  // namespace

std::string claims_table(const std::vector<Claim>& claims) {
  Table table({"claim", "epsilon", "delta", "needs", "theorem"});
  std::vector<std::string> assumptions;
  for (const Claim& claim : claims) {
    std::string needs = "-";
    if (claim.assumption != "-") {
      auto known = std::find(assumptions.begin(), assumptions.end(), claim.assumption);
      if (known == assumptions.end()) {
        known = assumptions.insert(assumptions.end(), claim.assumption);
      }
      needs = fmt::format("[{}]", known - assumptions.begin() + 1);
    }
    const std::string theorem =
        claim.source == "sotto" ? claim.theorem : claim.theorem + "; " + claim.source;
    table.add({claim.scope, epsilon_cell(claim), number_up(claim.delta), needs, theorem});
  }
  std::string text = table.text();
  for (std::size_t i = 0; i < assumptions.size(); ++i) {
    text += wrapped(fmt::format("[{}] {}", i + 1, assumptions[i]));
  }
  return text;
}

std::string promise(const std::vector<Claim>& claims) {
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
      "A client is promised epsilon {} over the whole training: whatever its data are, the "
      "probability of anything that the server sees changes by a factor of at most {}",
      epsilon, number_up(std::exp(claim->epsilon)));
  if (claim->delta > 0.0) text += ", except with probability " + number_up(claim->delta);
  text += '.';
  if (claim->assumption != "-") text += " This needs: " + claim->assumption + '.';
  return wrapped(text);
}

}  // namespace sotto::cli
