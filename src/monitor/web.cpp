#include "monitor/web.h"

#include <httplib.h>

#include <atomic>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>

#include "monitor/metrics.h"

namespace sotto::monitor {
namespace {

constexpr std::size_t kWorkers = Web::kStreams + 8;  // a stream keeps one busy
constexpr double kKeepAliveSeconds = 10.0;
constexpr auto kStreamPause = std::chrono::milliseconds(250);

std::string state_text(const Board& board) {
  return to_json(board.state())
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// One browser that watches: the state at once and after every change, but not more often than
/// people can read.
class Stream {
 public:
  Stream(const Board& board, std::atomic<int>& open) : board_(board), open_(open) {}
  ~Stream() { --open_; }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool write_next(httplib::DataSink& sink) {
    if (seen_ > 0) std::this_thread::sleep_for(kStreamPause);
    const std::uint64_t version = board_.wait(seen_, kKeepAliveSeconds);
    std::string text = ": still here\n\n";  // so that a browser that left is noticed
    if (version > seen_) text = "event: state\ndata: " + state_text(board_) + "\n\n";
    seen_ = version;
    if (!sink.write(text.data(), text.size())) return false;
    if (board_.closed()) sink.done();
    return true;
  }

 private:
  const Board& board_;
  std::atomic<int>& open_;
  std::uint64_t seen_ = 0;
};

class Site {
 public:
  Site(Pages pages, Board& board) : pages_(pages), board_(board) {}

  void answer(const httplib::Request& request, httplib::Response& response) {
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return error(response, 405, "only GET and HEAD are answered");
    }
    if (request.path == "/healthz") return health(response);
    if (pages_ == Pages::kMetrics) {
      if (request.path != "/metrics") return error(response, 404, "valid: /metrics, /healthz");
      response.set_content(metrics_text(board_.state()), "text/plain; version=0.0.4");
    } else if (request.path == "/") {
      response.set_content(live_page(board_.state()), "text/html; charset=utf-8");
    } else if (request.path == "/state.json") {
      response.set_content(state_text(board_), "application/json");
    } else if (request.path == "/events") {
      stream(response);
    } else {
      error(response, 404, "valid: /, /events, /state.json, /healthz");
    }
  }

 private:
  static void error(httplib::Response& response, int status, const char* text) {
    response.status = status;
    response.set_content(std::string(text) + '\n', "text/plain");
  }

  void health(httplib::Response& response) {
    const State state = board_.state();
    const char* const status = state.stopping ? "stopping" : state.finished ? "finished" : "ok";
    response.status = state.stopping ? 503 : 200;
    const nlohmann::ordered_json json = {
        {"status", status}, {"role", state.facts.role}, {"round", state.round}};
    response.set_content(json.dump() + '\n', "application/json");
  }

  void stream(httplib::Response& response) {
    if (++open_ > Web::kStreams) {
      --open_;
      response.set_header("Retry-After", "10");
      return error(response, 503, "too many pages are open");
    }
    auto one = std::make_shared<Stream>(board_, open_);
    response.set_chunked_content_provider(
        "text/event-stream",
        [one](std::size_t, httplib::DataSink& sink) { return one->write_next(sink); });
  }

  Pages pages_;
  Board& board_;
  std::atomic<int> open_{0};
};

/// Two programs on one port would share its visitors.
void own_port(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace

Result<Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  address.host = colon == std::string::npos || colon == 0 ? "127.0.0.1" : text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (code != std::errc() || end != port.data() + port.size() || port.empty() || address.port < 0 ||
      address.port > 65535) {
    return fail(
        ErrorKind::kUsage,
        "'" + text + "' is no address; valid: HOST:PORT, [IPv6]:PORT, or PORT for 127.0.0.1");
  }
  return address;
}

struct Web::Parts {
  Parts(Pages pages, Board& own) : site(pages, own), board(own) {}
  Site site;
  Board& board;
  httplib::Server server;
  std::thread thread;
};

Web::Web() = default;

Web::~Web() {
  if (!parts_ || !parts_->thread.joinable()) return;
  parts_->board.close();
  parts_->server.stop();
  parts_->thread.join();
}

Result<std::unique_ptr<Web>> Web::start(const std::string& text, Pages pages, Board& board) {
  SOTTO_TRY(const Address address, parse_address(text));
  std::unique_ptr<Web> web(new Web());
  web->parts_ = std::make_unique<Parts>(pages, board);
  httplib::Server& server = web->parts_->server;
  Site& site = web->parts_->site;
  server.new_task_queue = [] { return new httplib::ThreadPool(kWorkers); };
  server.set_socket_options(own_port);
  server.set_read_timeout(5).set_write_timeout(5).set_keep_alive_timeout(2);
  server.set_payload_max_length(1024);
  server.set_default_headers(
      {{"Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Referrer-Policy", "no-referrer"},
       {"Cache-Control", "no-store"}});
  server.set_pre_routing_handler(
      [&site](const httplib::Request& request, httplib::Response& response) {
        site.answer(request, response);
        return httplib::Server::HandlerResponse::Handled;
      });
  int port = address.port;
  const bool bound = port == 0 ? (port = server.bind_to_any_port(address.host)) > 0
                               : server.bind_to_port(address.host, port);
  if (!bound) {
    return fail(ErrorKind::kIo,
                "cannot listen on " + text + ": is it in use, or no address of this machine?");
  }
  const bool v6 = address.host.find(':') != std::string::npos;
  web->address_ = (v6 ? '[' + address.host + ']' : address.host) + ':' + std::to_string(port);
  web->parts_->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return web;
}

}  // namespace sotto::monitor
