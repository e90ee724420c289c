#include "command.h"
namespace sotto::cli {
void add_data(CLI::App& app, Action& action) {
  (void)app;
  (void)action;
}
}  // namespace sotto::cli
