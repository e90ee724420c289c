#include "client_ledger.h"

#include <unistd.h>

namespace sotto::cli {

Result<ClientLedger> open_client_ledger(const std::filesystem::path& file,
                                        const std::string& account, const rpc::Security& security) {
  OwnLedgerOptions options{account, {}};
  std::optional<UseLock> identity;
  std::string note;
  if (!security.plain()) {
    const std::filesystem::path& folder = security.bundle->folder;
    SOTTO_TRY(identity, UseLock::take_folder(folder, "this identity"));
    std::error_code code;
    const std::filesystem::path witness = folder / "ledger.head";
    if (::access(folder.c_str(), W_OK) == 0) {
      options.witness = witness;
    } else if (!std::filesystem::exists(witness, code)) {
      note = folder.string() +
             ": may not be written, so that this identity does not remember its ledger; another "
             "ledger or an older copy would not be noticed";
    } else {
      return fail(ErrorKind::kIo, witness.string() +
                                      ": may not be written, and this identity would forget what "
                                      "it spends from now on");
    }
  }
  // Whatever link leads to the ledger, it is one ledger.
  std::error_code code;
  const std::filesystem::path real = std::filesystem::weakly_canonical(file, code);
  SOTTO_TRY(UseLock lock,
            UseLock::take((code ? file : real).string() + ".lock", "the ledger of this client"));
  SOTTO_TRY(std::unique_ptr<Ledger> ledger, open_own_ledger(file, options));
  return ClientLedger{std::move(identity), std::move(lock), std::move(ledger), std::move(note)};
}

}  // namespace sotto::cli
