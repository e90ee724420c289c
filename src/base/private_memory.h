// Roles that hold keys, coins or a ledger leave no picture of their memory behind.
#pragma once

namespace sotto {

/// No core file for this process, whatever limits it was started with, and no debugger of the same
/// user. Best effort on systems that lack either.
void keep_memory_private();

}  // namespace sotto
