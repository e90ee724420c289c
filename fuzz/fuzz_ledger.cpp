// What a ledger is made of: the first byte chooses between the text of an entry, the head file and
// the whole file. An entry that is read has one spelling; a file that is none is an error.
#include "account/ledger/ledger_entry.h"
#include "account/ledger/ledger_head.h"
#include "scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const std::uint8_t kind = *data++;
  const ByteSpan bytes = fuzz::input(data, --size);
  switch (kind % 3) {
    case 0:
      if (const auto entry = decode(as_text(bytes))) {
        fuzz::require(check(*entry).has_value());
        fuzz::require(encode(*entry) == as_text(bytes));
      }
      break;
    case 1: {
      const auto head = read_head_file(scratch.write("a.ledger.head", bytes).replace_extension());
      fuzz::require(head ? head->has_value() && is_hash((*head)->hash)
                         : !head.error().message.empty());
      break;
    }
    default: {
      const auto ledger = read_ledger(scratch.write("whole.ledger", bytes));
      fuzz::require(ledger || !ledger.error().message.empty());
    }
  }
  return 0;
}
