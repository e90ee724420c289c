// The log as JSON lines. Each line has the text that was hashed, so that anyone can check the chain
// with nothing but SHA-256: hash = SHA-256(previous + body).
#include <cmath>
#include <nlohmann/json.hpp>

#include "account/ledger/ledger_file.h"
#include "base/json_number.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

Json rounds(std::uint64_t count) { return count == Limits().rounds ? Json(nullptr) : Json(count); }

struct Writer {
  Json& line;
  void operator()(const AccountEntry& e) const {
    line["kind"] = "account";
    line["account"] = e.name;
  }
  void operator()(const LimitsEntry& e) const {
    line["kind"] = "limits";
    line["client"] = e.client;
    line["dataset"] = e.dataset;
    line["epsilon_per_round"] = number_or_null<Json>(e.limits.epsilon_per_round);
    line["epsilon"] = number_or_null<Json>(e.limits.epsilon);
    line["delta"] = e.limits.delta;
    line["rounds"] = rounds(e.limits.rounds);
  }
  void operator()(const ChargeEntry& e) const {
    line["kind"] = "charge";
    line["client"] = e.client;
    line["dataset"] = e.dataset;
    line["task"] = e.task;
    line["round"] = e.round;
    line["mechanism"] = e.mechanism_id;
    line["epsilon"] = number_or_null<Json>(e.cost.epsilon);
    line["delta"] = e.cost.delta;
    line["unit_epsilon"] = number_or_null<Json>(e.cost.unit_epsilon);
    line["units"] = e.cost.units;
  }
  void operator()(const BindEntry& e) const {
    line["kind"] = "bind";
    line["charge"] = e.charge;
    line["report"] = e.hash;
    line["bytes"] = e.size ? Json(*e.size) : Json(nullptr);
  }
  void operator()(const DeliveredEntry& e) const {
    line["kind"] = "delivered";
    line["charge"] = e.charge;
  }
};

}  // namespace

Result<void> export_ledger(const std::filesystem::path& file, std::string& lines) {
  SOTTO_TRY(const auto database, open_for_reading(file));
  SOTTO_TRY(auto transaction, Transaction::begin(*database, Transaction::Kind::kRead));
  Book book;
  SOTTO_CHECK(catch_up(*database, book));
  SOTTO_TRY(auto rows, database->prepare("SELECT body, hash FROM log ORDER BY entry"));
  std::string previous = first_hash();
  for (std::uint64_t number = 1; true; ++number) {
    SOTTO_TRY(const bool row, rows.next());
    if (!row) return {};
    const auto entry = decode(rows.text(0));
    if (!entry) return fail(ErrorKind::kInternal, file.string() + ": an entry has changed");
    Json line = {{"entry", number}};
    std::visit(Writer{line}, *entry);
    line["body"] = rows.text(0);
    line["previous"] = previous;
    line["hash"] = previous = rows.text(1);
    lines += line.dump() + '\n';
  }
}

}  // namespace sotto
