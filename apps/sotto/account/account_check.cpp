// `sotto account check FILE`: derives a certificate a second time and says what holds.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "account_commands.h"
#include "base/file.h"
#include "base/utf8.h"
#include "claims_shown.h"
#include "sotto/certificate.h"
#include "sotto/federation.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string file;
  std::string key;
  bool json = false;
  bool real = false;
};

nlohmann::json to_json(const CheckedCertificate& checked, const std::string& file) {
  nlohmann::json findings = nlohmann::json::array();
  for (const CertificateFinding& finding : checked.findings) {
    findings.push_back(
        {{"what", finding.what}, {"holds", finding.holds}, {"detail", finding.detail}});
  }
  nlohmann::json claims = nlohmann::json::array();
  for (const Claim& claim : checked.claims) claims.push_back(sotto::to_json(claim));
  nlohmann::json ledger = nullptr;
  if (checked.content.ledger) {
    ledger = {{"entries", checked.content.ledger->entries}, {"hash", checked.content.ledger->hash}};
  }
  const std::vector<std::string>& ids = checked.mechanism_ids;
  return {{"file", file},
          {"format", checked.format},
          {"holds", checked.holds()},
          {"coins", name_of(checked.content.coins)},
          {"protects", checked.holds() && protects(checked.content.coins)},
          {"signer_known", checked.signer_known},
          {"public_key", checked.public_key},
          {"sotto", checked.sotto_version},
          {"mechanism_id", ids.empty() ? nlohmann::json(nullptr) : nlohmann::json(ids.front())},
          {"mechanism_ids", ids},
          {"rounds", checked.content.exposure.rounds()},
          {"ledger", std::move(ledger)},
          {"findings", std::move(findings)},
          {"claims", std::move(claims)}};
}

std::string batches_text(const Exposure& exposure) {
  const auto batches = exposure.batches();
  if (batches.empty()) return "";
  const std::uint64_t least = batches.begin()->first;
  const std::uint64_t most = batches.rbegin()->first;
  return ", batches of " + with_commas(least) + (least == most ? "" : " to " + with_commas(most)) +
         " clients";
}

void print_text(const CheckedCertificate& checked, const std::string& file) {
  const CertificateContent& content = checked.content;
  Table table({"checked", "", "what"});
  for (const CertificateFinding& finding : checked.findings) {
    const bool compared = finding.what != "signer" || checked.signer_known;
    table.add({finding.what,
               !finding.holds ? "WRONG"
               : compared     ? "holds"
                              : "-",
               finding.holds ? finding.detail : "see below"});
  }
  fmt::print("{}\n", table.text());
  if (!checked.holds()) return;
  fmt::print("Taken from the signer: {} round{} of a client{}{}{}.\n\n",
             with_commas(content.exposure.rounds()), content.exposure.rounds() == 1 ? "" : "s",
             batches_text(content.exposure),
             content.ledger ? fmt::format(", a ledger of {} entries that ends with {}",
                                          with_commas(content.ledger->entries),
                                          one_line(content.ledger->hash.substr(0, 16)))
                            : ", no ledger",
             content.recipe.empty() ? "" : ", recipe " + one_line(content.recipe.substr(0, 16)));
  fmt::print("{}\n{}\n", claims_table(checked.claims), promise(checked.claims, content.coins));
  fmt::print("{}{}: the certificate holds{}.\n", coins_line(content.coins), file,
             checked.signer_known ? "" : "; who signed it was not compared (--key)");
}

Result<int> check(const Arguments& arguments) {
  SOTTO_TRY(const std::string text, read_text(arguments.file, std::size_t{128} << 20));
  std::optional<std::string> expected;
  if (!arguments.key.empty()) {
    SOTTO_TRY(expected, read_public_key(arguments.key));
  }
  const auto checked = examine_certificate(text, expected);
  if (!checked) return at(arguments.file, checked.error());
  if (arguments.json) {
    fmt::print("{}\n", to_json(*checked, arguments.file).dump(2));
  } else {
    print_text(*checked, arguments.file);
  }
  const Coins coins = checked->content.coins;
  if (checked->holds() && arguments.real && !protects(coins)) {
    return fail(ErrorKind::kRefused,
                arguments.file + ": --real: its coins are not the clients' own (" +
                    std::string(name_of(coins)) + "): it describes a plan, protects nobody");
  }
  if (checked->holds()) return 0;
  std::string wrong;
  for (const CertificateFinding& finding : checked->findings) {
    if (!finding.holds) wrong += "\n  " + finding.what + ": " + finding.detail;
  }
  return fail(ErrorKind::kCorrupt, arguments.file + ": the certificate does not hold:" + wrong);
}

}  // namespace

void add_account_check(CLI::App& account, Action& action) {
  CLI::App& command =
      *account.add_subcommand("check", "derives a run's privacy certificate a second time");
  auto arguments = std::make_shared<Arguments>();
  command.add_option("file", arguments->file, "a certificate.json")->required()->type_name("FILE");
  command
      .add_option("--key", arguments->key, "the public key of whom you expect to have signed it")
      ->type_name("PUBLIC.pem");
  command.add_flag("--real", arguments->real,
                   "refuse a certificate whose coins were not the clients' own");
  command.add_flag("--json", arguments->json, "machine-readable output");
  command.footer(
      "The mechanism is built anew from the parameters in the file; its thresholds, guarantee\n"
      "and all claims must be those of the file to the last digit, and the signature must be\n"
      "over all of it. Exit code 1 where anything differs. A simulation's or a rehearsal's\n"
      "certificate holds, but describes a plan and protects nobody (\"protects\": false): with\n"
      "--real it is exit code 1 as well.\n\n"
      "Examples:\n"
      "  sotto account check runs/srr-mnist/certificate.json\n"
      "  sotto account check certificate.json --key public.pem --real\n"
      "  sotto account check certificate.json --json | jq '.claims[].epsilon'");
  command.callback([&action, arguments] { action = [arguments] { return check(*arguments); }; });
}

}  // namespace sotto::cli
