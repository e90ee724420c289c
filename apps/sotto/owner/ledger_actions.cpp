#include "ledger_actions.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "account/ledger/ledger_entry.h"
#include "account/ledger/ledger_spending.h"
#include "base/file.h"
#include "base/json_number.h"
#include "base/nearest.h"
#include "sotto/ledger.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

Json count(std::uint64_t value) { return value == kAnyNumber ? Json(nullptr) : Json(value); }

std::string head_text(const LedgerHead& head) {
  return fmt::format("{}:{}", head.entries, head.hash);
}

std::uint64_t rounds_left(const Spent& spent) {
  if (spent.limits.rounds == kAnyNumber) return kAnyNumber;
  return spent.limits.rounds - std::min(spent.limits.rounds, spent.rounds);
}

Json limits_json(const Limits& limits) {
  const double order = limits.renyi_order();
  return {{"epsilon_per_round", number_or_null<Json>(limits.epsilon_per_round)},
          {"epsilon", number_or_null<Json>(limits.epsilon)},
          {"delta", limits.delta},
          {"rounds", count(limits.rounds)},
          {"renyi_order", order > 1.0 ? Json(order) : Json(nullptr)}};
}

/// What later reports may add: nothing where the whole delta stands for their composition.
double delta_left(const Spent& spent) {
  const bool composed =
      spent.rounds > 0 && spent.delta_sum == 0.0 && spent.limits.renyi_order() > 1.0;
  return composed ? 0.0 : remaining(spent.limits.delta, spent.delta_sum);
}

/// Adds what was spent and what remains.
Json spent_json(Json all, const Spent& spent) {
  all["rounds"] = spent.rounds;
  all["epsilon"] = number_or_null<Json>(spent.epsilon);
  all["epsilon_sum"] = number_or_null<Json>(spent.epsilon_sum);
  all["delta_sum"] = spent.delta_sum;
  all["renyi_sum"] = number_or_null<Json>(spent.renyi_sum);
  all["limits"] = limits_json(spent.limits);
  all["remaining"] = {
      {"epsilon", number_or_null<Json>(remaining(spent.limits.epsilon, spent.epsilon))},
      {"delta", delta_left(spent)},
      {"rounds", count(rounds_left(spent))}};
  return all;
}

Json account_json(const LedgerReport::Account& account) {
  return spent_json({{"client", account.client}, {"dataset", account.dataset}}, account.spent);
}

/// The owner's accounts; the name of the whole file is null, and limits that were never set are.
Json own_json(const LedgerReport::Own& own) {
  Json all =
      spent_json({{"account", own.name.empty() ? Json(nullptr) : Json(own.name)}}, own.spent);
  if (!own.limited) all["limits"] = all["remaining"] = nullptr;
  return all;
}

std::string rounds_text(std::uint64_t rounds) {
  return rounds == kAnyNumber ? "any" : with_commas(rounds);
}

std::string own_text(const LedgerReport::Own& own) {
  const std::string name = own.name.empty() ? "whole file" : "account '" + own.name + "'";
  const Spent& spent = own.spent;
  if (!own.limited) {
    return fmt::format("{}: {} rounds, epsilon {}; no limits were set for it\n", name,
                       with_commas(spent.rounds), epsilon_text(spent.epsilon));
  }
  return fmt::format(
      "{}: {} rounds of {}, epsilon {} of {}, remains {}, per round {}; delta of reports {} of "
      "{}\n",
      name, with_commas(spent.rounds), rounds_text(spent.limits.rounds),
      epsilon_text(spent.epsilon), epsilon_text(spent.limits.epsilon),
      epsilon_text(remaining(spent.limits.epsilon, spent.epsilon)),
      epsilon_text(spent.limits.epsilon_per_round), epsilon_text(spent.delta_sum),
      epsilon_text(spent.limits.delta));
}

Table account_table(const std::vector<LedgerReport::Account>& accounts) {
  Table table({"client", "data set", "rounds", "of", "epsilon spent", "of", "remains", "per round",
               "delta of reports", "of"});
  for (const auto& [client, dataset, spent] : accounts) {
    table.add({client, dataset.empty() ? "(whole file)" : dataset, with_commas(spent.rounds),
               rounds_text(spent.limits.rounds), epsilon_text(spent.epsilon),
               epsilon_text(spent.limits.epsilon),
               epsilon_text(remaining(spent.limits.epsilon, spent.epsilon)),
               epsilon_text(spent.limits.epsilon_per_round), epsilon_text(spent.delta_sum),
               epsilon_text(spent.limits.delta)});
  }
  return table;
}

/// "30:9f86...": where the chain is said to have ended.
Result<LedgerHead> parse_head(const std::string& text) {
  LedgerHead head;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, head.entries);
  if (error == std::errc() && after != end && *after == ':') head.hash.assign(after + 1, end);
  if (is_hash(head.hash)) return head;
  return fail(ErrorKind::kUsage, "--head " + text +
                                     ": valid: ENTRIES:HASH as 'sotto ledger show' prints it, "
                                     "with 64 hexadecimal digits");
}

}  // namespace

Result<int> ledger_show(const LedgerShowOptions& options) {
  SOTTO_TRY(LedgerReport report, read_ledger(options.file));
  if (!options.client.empty()) {
    std::vector<std::string> names;
    for (const auto& account : report.accounts) names.push_back(account.client);
    std::erase_if(report.accounts, [&](const auto& a) { return a.client != options.client; });
    if (report.accounts.empty()) {
      return fail(ErrorKind::kNotFound,
                  fmt::format("{}: no account of client '{}'{}", options.file.string(),
                              options.client, did_you_mean(options.client, names)));
    }
  }
  if (options.json) {
    Json accounts = Json::array();
    for (const auto& account : report.accounts) accounts.push_back(account_json(account));
    Json declared = Json::array();
    for (const auto& own : report.declared) declared.push_back(own_json(own));
    const Json all = {{"file", options.file.string()},   {"entries", report.head.entries},
                      {"head", head_text(report.head)},  {"accounts", accounts},
                      {"whole", own_json(report.whole)}, {"declared", declared}};
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  if (report.accounts.empty()) {
    fmt::print("No account yet; 'sotto ledger limit' opens one.\n");
  } else {
    fmt::print("{}", account_table(report.accounts).text());
  }
  fmt::print("\n{}", own_text(report.whole));
  for (const auto& own : report.declared) fmt::print("{}", own_text(own));
  fmt::print("{} entries, head {}\n", with_commas(report.head.entries), head_text(report.head));
  return 0;
}

Result<int> ledger_export(const LedgerExportOptions& options) {
  std::string lines;
  SOTTO_CHECK(export_ledger(options.file, lines));
  if (options.out.empty()) {
    fmt::print("{}", lines);
  } else {
    SOTTO_CHECK(write_file_atomically(options.out, lines));
  }
  return 0;
}

Result<int> ledger_verify(const LedgerVerifyOptions& options) {
  std::optional<LedgerHead> anchor;
  if (!options.head.empty()) {
    SOTTO_TRY(anchor, parse_head(options.head));
  }
  const auto report = verify_ledger(options.file, anchor);
  if (!report && (!options.json || report.error().kind != ErrorKind::kCorrupt)) {
    return tl::unexpected<Error>(report.error());
  }
  if (options.json) {
    Json all = {{"file", options.file.string()}, {"sound", report.has_value()}};
    all["reason"] = report ? Json(nullptr) : Json(report.error().message);
    all["entries"] = report ? Json(report->head.entries) : Json(nullptr);
    all["accounts"] = report ? Json(report->accounts.size()) : Json(nullptr);
    all["head"] = report ? Json(head_text(report->head)) : Json(nullptr);
    fmt::print("{}\n", all.dump(2));
    return report ? 0 : 1;
  }
  fmt::print(
      "sound: entries: {}, accounts: {}; every hash, sum and report is as it was entered{}\n"
      "head {}\n",
      with_commas(report->head.entries), with_commas(report->accounts.size()),
      anchor ? fmt::format("; it contains entry {}", with_commas(anchor->entries)) : "",
      head_text(report->head));
  return 0;
}

Result<int> ledger_account_add(const LedgerAccountOptions& options) {
  SOTTO_CHECK(declare_account(options.file, options.name));
  if (options.json) {
    fmt::print("{}\n", Json{{"file", options.file.string()}, {"account", options.name}}.dump(2));
    return 0;
  }
  fmt::print(
      "{}: account '{}' is declared: what is charged to it does not count for the whole file.\n"
      "It is used with: sotto client --account {} --ledger {} ...\n",
      options.file.string(), options.name, options.name, options.file.string());
  return 0;
}

Result<int> ledger_limit(const LedgerLimitOptions& options) {
  const auto changed = [&](Limits limits) {
    limits.epsilon_per_round = options.epsilon_per_round.value_or(limits.epsilon_per_round);
    limits.epsilon = options.epsilon.value_or(limits.epsilon);
    limits.delta = options.delta.value_or(limits.delta);
    limits.rounds = options.rounds.value_or(limits.rounds);
    return limits;
  };
  const bool complete = options.epsilon_per_round && options.epsilon;
  const auto incomplete = [](const std::string& why) {
    return fail(ErrorKind::kUsage,
                why +
                    "; new limits need --epsilon-per-round and --epsilon (of the whole file, or "
                    "with --account, or with --client and --dataset)");
  };
  const bool own = options.client.empty();
  // Wrong usage makes no file.
  SOTTO_CHECK(check(Ledger::AccountLimits{options.client, own ? options.account : options.dataset,
                                          changed(Limits())}));
  std::error_code code;
  if (!complete && !std::filesystem::exists(options.file, code)) {
    return incomplete(options.file.string() + ": there is no such ledger");
  }
  SOTTO_TRY(const auto ledger,
            own ? open_own_ledger(options.file, {options.account, {}}) : open_ledger(options.file));
  const auto before = ledger->spent(options.client, options.dataset);
  if (!before && before.error().kind != ErrorKind::kNotFound) {
    return tl::unexpected<Error>(before.error());
  }
  if (!before && !complete) return incomplete(before.error().message);
  const Limits limits = changed(before ? before->limits : Limits());
  SOTTO_CHECK(ledger->set_limits(options.client, options.dataset, limits));
  SOTTO_TRY(const Spent spent, ledger->spent(options.client, options.dataset));
  const LedgerReport::Own all{options.account, spent, true};
  const LedgerReport::Account account{options.client, options.dataset, spent};
  if (options.json) {
    fmt::print("{}\n", (own ? own_json(all) : account_json(account)).dump(2));
    return 0;
  }
  fmt::print("{}", own ? own_text(all) : account_table({account}).text());
  if (before && before->rounds > 0 &&
      (limits.epsilon > before->limits.epsilon || limits.delta > before->limits.delta)) {
    fmt::print(
        "\nThe limit was raised after {} rounds: only the client can decide that, and not because "
        "of what\nthe server made of its reports.\n",
        with_commas(before->rounds));
  }
  return 0;
}

}  // namespace sotto::cli
