#include "transport/mpi/launcher.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

extern char** environ;

namespace sotto::cluster {
namespace {

std::optional<unsigned> number(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  unsigned value = 0;
  const auto [end, code] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (code != std::errc{} || end != view.data() + view.size()) return std::nullopt;
  return value;
}

}  // namespace

Launched launched() {
  struct Names {
    const char* rank;
    const char* size;
  };
  // Open MPI, MPICH and Slurm's pmi2, PMIx (which tells the rank alone).
  for (const auto& [rank, size] :
       {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Names{"PMI_RANK", "PMI_SIZE"}}) {
    if (const auto ranks = number(size)) return {true, number(rank).value_or(0), *ranks};
  }
  if (const auto rank = number("PMIX_RANK")) return {true, *rank, 0};
  return {};
}

std::vector<std::string> launcher_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    for (const std::string_view start : {"OMPI_", "PMI_", "PMIX_", "PRTE_", "ORTE_"}) {
      if (name.starts_with(start)) names.emplace_back(name);
    }
  }
  return names;
}

unsigned threads_of_rank() {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) {
    const auto bound = static_cast<unsigned>(CPU_COUNT(&mine));
    if (bound > 0 && bound < cores) return bound;
  }
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const auto here = number(name); here && *here > 0) return std::max(1U, cores / *here);
  }
  return cores;
}

}  // namespace sotto::cluster
