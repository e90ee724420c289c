#include "transport/mpi/mpi_protocol.h"

#include "base/sha256.h"
#include "sotto/version.h"

namespace sotto::mpi {
namespace {

/// Every list begins with its length.
constexpr std::size_t kListBytes = sizeof(std::uint64_t);

void put_states(MessageWriter& out, const ClientStates& states) {
  out.put<std::uint64_t>(states.size());
  for (const auto& [client, state] : states) {
    out.put(client).put_list(std::span<const float>(state));
  }
}

ClientStates get_states(MessageReader& in) {
  ClientStates states;
  for (auto left = in.get_count(kListBytes); left > 0; --left) {
    const auto client = in.get<std::uint32_t>();
    states[client] = in.get_list<float>();
  }
  return states;
}

/// Labels, and values here and there: enough to notice another set or another version of it.
void add_data(Sha256& hash, const Dataset& data) {
  constexpr std::size_t kLooks = 1 << 14;
  hash.add(std::as_bytes(std::span(data.labels)));
  std::visit(
      [&](const auto& values) {
        const std::size_t step = values.size() / kLooks + 1;
        for (std::size_t i = 0; i < values.size(); i += step) {
          hash.add(std::as_bytes(std::span(&values[i], 1)));
        }
      },
      data.values);
}

}  // namespace

std::string common_digest(const Recipe& recipe, const Setup& setup) {
  Sha256 hash;
  const std::string texts = std::string(SOTTO_VERSION) + '\n' + recipe.fingerprint() + '\n' +
                            setup.factory->layout().fingerprint() + '\n' + setup.factory->version();
  hash.add(std::as_bytes(std::span(texts)));
  add_data(hash, setup.data->train);
  add_data(hash, setup.data->test);
  return hash.hex();
}

void put(MessageWriter& out, const Task& task) {
  out.put(task.round).put(task.hashes).put_list(std::span(task.ranges));
  out.put<std::uint64_t>(task.clients.size());
  for (const auto& group : task.clients) out.put_list(std::span(group));
  put_states(out, task.states);
}

Task get_task(MessageReader& in) {
  Task task;
  task.round = in.get<RoundId>();
  task.hashes = in.get<std::uint8_t>() != 0;
  task.ranges = in.get_list<Range>();
  task.clients.resize(in.get_count(kListBytes));
  for (auto& group : task.clients) group = in.get_list<std::uint32_t>();
  task.states = get_states(in);
  return task;
}

void put(MessageWriter& out, const Done& done) {
  out.put_text(done.error).put(done.bytes).put(done.times);
  out.put<std::uint64_t>(done.hashes.size());
  for (const ReportHash& one : done.hashes) out.put(one.client).put_text(one.hash);
  put_states(out, done.states);
}

Done get_done(MessageReader& in) {
  Done done;
  done.error = in.get_text();
  done.bytes = in.get<std::uint64_t>();
  done.times = in.get<ClientPool::Times>();
  done.hashes.resize(in.get_count(kListBytes));
  for (ReportHash& one : done.hashes) {
    one.client = in.get<std::uint32_t>();
    one.hash = in.get_text();
  }
  done.states = get_states(in);
  return done;
}

}  // namespace sotto::mpi
