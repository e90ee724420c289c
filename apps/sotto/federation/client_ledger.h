// The ledger of `sotto client`: its owner's, used by one process at a time, and remembered beside
// the identity that spends from it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/lock.h"
#include "sotto/ledger.h"
#include "transport/grpc/security.h"

namespace sotto::cli {

struct ClientLedger {
  std::optional<UseLock> identity;  // a client without one has none
  UseLock lock;
  std::shared_ptr<Ledger> ledger;
  std::string note;  // what a person should know; empty: nothing
};

/// Refuses a ledger or an identity that another client uses now, and another ledger than the one
/// that the identity has spent from. `account` is one that the owner declared, or empty.
Result<ClientLedger> open_client_ledger(const std::filesystem::path& file,
                                        const std::string& account, const rpc::Security& security);

}  // namespace sotto::cli
