#include "base/private_memory.h"

#include <sys/resource.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace sotto {

void keep_memory_private() {
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
  // Also where the system pipes core files to a program, which ignores the limit.
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

}  // namespace sotto
