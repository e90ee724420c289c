// Privacy on the page: first in plain words what a client was promised, then every claim with its
// theorem and its assumption. A run without privacy says so in red, and so does one without claims.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_parts.h"
#include "report/markup.h"

namespace sotto {
namespace {

constexpr std::string_view css_class(PrivacyLevel level) {
  return level == PrivacyLevel::kNone ? "bad" : level == PrivacyLevel::kVacuous ? "warn" : "good";
}

std::string epsilon_text(double epsilon) {
  return std::isinf(epsilon) ? "infinite" : number_up(epsilon);
}

std::string banner(PrivacyLevel level, std::string_view head, const std::string& text) {
  return fmt::format("<div class=\"banner {}\"><b>{}</b><span>{}</span></div>\n", css_class(level),
                     escape(head), escape(text));
}

/// What epsilon means for one client.
std::string in_words(const Claim& claim) {
  constexpr double kReadable = 14.0;  // e^14 is above a million
  std::string text =
      claim.epsilon <= kReadable
          ? fmt::format(
                "Whatever one client's data are, the probability of anything that an "
                "observer sees changes by a factor of at most {}",
                number_up(std::exp(claim.epsilon)))
          : fmt::format(
                "One client's data can change the probability of what an observer sees by "
                "a factor of e to the {}",
                number_up(claim.epsilon));
  if (claim.delta > 0.0)
    text += fmt::format(", except with probability {}", number_up(claim.delta));
  text += '.';
  if (!claim.assumption.empty()) {
    text += " This assumes: " + claim.assumption + '.';
  }
  return text;
}

/// One weight's epsilon, what others claim and what an attack found are no promises to a client,
/// however small they are.
std::string_view verdict(const Claim& claim) {
  if (claim.measured()) return "measured";
  if (claim.status == Status::kPublished) return "not proven";
  if (claim.scope.unit == Unit::kWeight) return "not a client's";
  return claim.vacuous() ? "vacuous" : "meaningful";
}

std::string banner_of(const RunRecord& run) {
  const Claim* const claim = run.client_claim();
  const PrivacyLevel level = privacy_level(run);
  if (run.mechanism == "none") {
    return banner(level, "No privacy.",
                  "The clients' weights were sent as they are: whoever receives a report can read "
                  "everything that the weights tell about the client's data. This is a baseline.");
  }
  if (claim == nullptr) {
    return banner(level, "No privacy is claimed for a client over the whole training.",
                  "The mechanism '" + run.mechanism +
                      "' ran, but nobody stated what its reports together guarantee.");
  }
  if (std::isinf(claim->epsilon)) {
    return banner(level, "No privacy: epsilon is infinite.",
                  "The mechanism '" + run.mechanism +
                      "' changed the reports, but what it guarantees a client over the whole "
                      "training has no bound.");
  }
  if (level == PrivacyLevel::kVacuous) {
    return banner(level, "Vacuous: epsilon " + epsilon_text(claim->epsilon) + " protects nobody.",
                  "The claim is true and says next to nothing. " + in_words(*claim));
  }
  return banner(level, "Each client has epsilon " + client_epsilon(run) + ".", in_words(*claim));
}

}  // namespace

PrivacyLevel privacy_level(const RunRecord& run) {
  const Claim* const claim = run.client_claim();
  if (run.mechanism == "none" || claim == nullptr || std::isinf(claim->epsilon)) {
    return PrivacyLevel::kNone;
  }
  return claim->vacuous() ? PrivacyLevel::kVacuous : PrivacyLevel::kClaimed;
}

std::string client_epsilon(const RunRecord& run) {
  const Claim* const claim = run.client_claim();
  if (claim == nullptr) return run.mechanism == "none" ? "infinite (no privacy)" : "not claimed";
  if (std::isinf(claim->epsilon)) return "infinite (no privacy)";
  std::string text = number_up(claim->epsilon);
  if (claim->delta > 0.0) text += ", delta " + number_up(claim->delta);
  return text + (claim->vacuous() ? " (vacuous)" : "");
}

std::string epsilon_chip(const RunRecord& run) {
  return fmt::format("<span class=\"chip {}\">{}</span>", css_class(privacy_level(run)),
                     escape(client_epsilon(run)));
}

std::string privacy_section(const RunRecord& run) {
  std::string out = "<section class=\"card\"><h3>Privacy</h3>\n" + banner_of(run);
  if (run.planned_claims) {
    out +=
        "<p>The run has not finished: these claims are the plan's. What really happened "
        "replaces them at its end.</p>\n";
  }
  if (!run.coins.empty()) {
    out +=
        "<p>Coins: " + escape(run.coins) +
        (run.protects ? ", by the word of who ran it.</p>\n"
                      : ". This describes a plan and protects nobody: what a public seed decides "
                        "hides nothing.</p>\n");
  }
  if (!run.claims.empty()) {
    out +=
        "<div class=\"scroll\"><table><thead><tr><th>Claim about</th><th class=\"n\">Epsilon</th>"
        "<th class=\"n\">Delta</th><th>Theorem</th><th>Assumption</th><th>Source</th>"
        "<th>Verdict</th></tr></thead><tbody>\n";
    for (const Claim& claim : run.claims) {
      out += fmt::format(
          "<tr><th>{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td>"
          "<td>{}</td><td>{}</td></tr>\n",
          escape(scope_text(claim)), epsilon_text(claim.epsilon), number_up(claim.delta),
          escape(claim.theorem), escape(assumption_text(claim)), escape(source_text(claim)),
          escape(verdict(claim)));
    }
    out += "</tbody></table></div>\n";
  }
  return out + "</section>\n";
}

}  // namespace sotto
