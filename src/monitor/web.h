// The board over HTTP: metrics and health for machines, the live page for people.
//
// It only answers questions: nothing that comes in changes a training. Whoever reaches the port may
// read, so it is on the loopback unless another address is named.
#pragma once

#include <memory>
#include <string>

#include "monitor/board.h"

namespace sotto::monitor {

enum class Pages {
  kMetrics,  // /metrics, /healthz
  kLive,     // /, /events, /state.json, /healthz
};

struct Address {
  std::string host;
  int port = 0;
};
/// "HOST:PORT", "[::1]:PORT" or "PORT", which is 127.0.0.1's.
Result<Address> parse_address(const std::string& text);

class Web {
 public:
  /// Streams of events that may be open at once; the next one gets 503.
  static constexpr int kStreams = 16;

  /// `board` must outlive it.
  static Result<std::unique_ptr<Web>> start(const std::string& address, Pages pages, Board& board);
  ~Web();
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;
  /// "127.0.0.1:9100", with the port that port 0 became.
  const std::string& address() const noexcept { return address_; }

 private:
  struct Parts;
  Web();
  std::unique_ptr<Parts> parts_;
  std::string address_;
};

/// The live page, with the state that it shows before the first event comes.
std::string live_page(const State& state);

}  // namespace sotto::monitor
