#include "monitor/metrics.h"

#include <cmath>
#include <sstream>

#include "base/machine.h"
#include "sotto/version.h"

namespace sotto::monitor {
namespace {

/// The value of a label, escaped as the format asks.
std::string label(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

class Writer {
 public:
  void gauge(const char* name, const char* help, double value) { one(name, "gauge", help, value); }
  void counter(const char* name, const char* help, std::uint64_t value) {
    one(name, "counter", help, static_cast<double>(value));
  }
  void head(const char* name, const char* type, const char* help) {
    out_ << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
  }
  void sample(const std::string& series, double value) {
    out_ << series << ' ';
    if (std::isinf(value)) {
      out_ << (value > 0 ? "+Inf" : "-Inf");
    } else {
      out_ << value;
    }
    out_ << '\n';
  }
  std::string text() const { return out_.str(); }
  Writer() { out_.precision(17); }

 private:
  void one(const char* name, const char* type, const char* help, double value) {
    head(name, type, help);
    sample(name, value);
  }
  std::ostringstream out_;
};

void write_training(const State& state, Writer& out) {
  out.gauge("sotto_round", "Round that is collected, or was last.",
            static_cast<double>(state.round));
  if (state.facts.rounds > 0) {
    out.gauge("sotto_rounds_planned", "Rounds of the recipe.",
              static_cast<double>(state.facts.rounds));
  }
  if (state.facts.role == "server") {
    out.gauge("sotto_clients_joined", "Clients that have joined.",
              static_cast<double>(state.joined));
    out.gauge("sotto_clients_expected", "Clients of the recipe.",
              static_cast<double>(state.facts.clients));
    out.gauge("sotto_round_clients", "Clients that the round asks.",
              static_cast<double>(state.asked));
    out.gauge("sotto_reports_held", "Reports of the round that the shuffler says it has.",
              static_cast<double>(state.held));
    out.counter("sotto_rounds_total", "Rounds that have ended since the start.",
                state.rounds_ended);
    out.counter("sotto_rounds_withheld_total", "Rounds that released nothing.",
                state.rounds_withheld);
    for (auto last = state.curve.rbegin(); last != state.curve.rend(); ++last) {
      if (!last->accuracy) continue;
      out.gauge("sotto_accuracy", "Accuracy on the public test set, from 0 to 1.", *last->accuracy);
      if (last->loss) out.gauge("sotto_loss", "Loss on the public test set.", *last->loss);
      break;
    }
  }
  if (state.epsilon) {
    out.gauge("sotto_epsilon_spent",
              state.facts.role == "client"
                  ? "Epsilon that this client's ledger has charged."
                  : "Epsilon of a client that took part in every round so far, at most.",
              *state.epsilon);
    out.gauge("sotto_delta_spent", "Delta that goes with it.", state.delta);
  }
}

}  // namespace

std::string metrics_text(const State& state) {
  Writer out;
  out.head("sotto_info", "gauge", "Always 1; what runs is in the labels.");
  out.sample("sotto_info{role=\"" + label(state.facts.role) + "\",version=\"" SOTTO_VERSION "\"}",
             1.0);
  out.gauge("sotto_start_time_seconds", "When the process started, in Unix time.", state.started);
  out.gauge("sotto_last_event_seconds", "When something happened last, in Unix time.",
            state.changed);
  out.gauge("sotto_stopping", "1 once the process was asked to stop.", state.stopping ? 1.0 : 0.0);
  out.gauge("sotto_finished", "1 once the training has ended.", state.finished ? 1.0 : 0.0);
  out.gauge("sotto_resumed_round", "Round after which an earlier process was taken over; 0: none.",
            static_cast<double>(state.resumed));
  write_training(state, out);
  out.counter("sotto_reports_accepted_total",
              state.facts.role == "client" ? "Reports that were handed in." : "Reports taken.",
              state.accepted);
  out.head("sotto_reports_refused_total", "counter", "Reports and batches that were not taken.");
  for (const ErrorKind kind :
       {ErrorKind::kCorrupt, ErrorKind::kRefused, ErrorKind::kIo, ErrorKind::kBusy}) {
    const auto found = state.refused.find(kind);
    out.sample("sotto_reports_refused_total{kind=\"" + std::string(name_of(kind)) + "\"}",
               found == state.refused.end() ? 0.0 : static_cast<double>(found->second));
  }
  out.counter("sotto_rounds_declined_total", "Rounds that clients would not pay for.",
              state.declined);
  if (state.facts.role != "client") {
    out.counter("sotto_batches_total", "Permuted batches passed from shuffler to server.",
                state.batches);
    out.counter("sotto_batches_withheld_total", "Batches that stayed too small.",
                state.batches_withheld);
    out.counter("sotto_chunks_total", "Sealed chunks in these batches.", state.chunks);
  }
  out.counter("sotto_problems_total", "Problems that may pass by themselves.", state.problems);
  out.counter("sotto_log_lines_lost_total", "Lines that the log could not take.", state.lost_lines);
  out.gauge("process_resident_memory_bytes", "Memory that the process holds.",
            static_cast<double>(resident_bytes()));
  return out.text();
}

}  // namespace sotto::monitor
