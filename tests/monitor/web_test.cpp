// The pages over real sockets, with a client of our own that can be rude.
#include "monitor/web.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace sotto::monitor {
namespace {

class Connection {
 public:
  explicit Connection(const std::string& address) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval patience{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(parse_address(address)->port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void send(const std::string& text) {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// Until `mark` has come, or the end.
  std::string read(const std::string& mark = "") {
    std::string text;
    char piece[4096];
    while (mark.empty() || text.find(mark) == std::string::npos) {
      const ssize_t got = ::recv(socket_, piece, sizeof piece, 0);
      if (got <= 0) break;
      text.append(piece, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int socket_;
};

std::string ask(const std::string& address, const std::string& path,
                const std::string& method = "GET") {
  Connection connection(address);
  connection.send(method + ' ' + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return connection.read();
}

class WebTest : public testing::Test {
 protected:
  Board board_{{"server", "A <b>title</b>", 5, 3}};
  std::unique_ptr<Web> live_ = Web::start("0", Pages::kLive, board_).value();
  std::unique_ptr<Web> metrics_ = Web::start("127.0.0.1:0", Pages::kMetrics, board_).value();
};

TEST(Address, Forms) {
  EXPECT_EQ(parse_address("8080")->host, "127.0.0.1");
  EXPECT_EQ(parse_address(":8080")->host, "127.0.0.1");
  EXPECT_EQ(parse_address("0.0.0.0:8080")->port, 8080);
  EXPECT_EQ(parse_address("[::1]:8080")->host, "::1");
  for (const char* bad : {"", "x", "host:", "1.2.3.4:65536", "h:-1", "h:80x", "99999999999"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

TEST_F(WebTest, EachPageIsOnItsPort) {
  EXPECT_TRUE(live_->address().starts_with("127.0.0.1:"));
  EXPECT_TRUE(ask(metrics_->address(), "/metrics").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask(metrics_->address(), "/healthz").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask(metrics_->address(), "/").starts_with("HTTP/1.1 404"));
  EXPECT_TRUE(ask(live_->address(), "/").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask(live_->address(), "/state.json").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask(live_->address(), "/metrics").starts_with("HTTP/1.1 404"));
  EXPECT_TRUE(ask(live_->address(), "/../../etc/passwd").starts_with("HTTP/1.1 404"));
}

TEST_F(WebTest, HealthSaysWhenItIsToStop) {
  board_.note({What::kStopping});
  const std::string answer = ask(metrics_->address(), "/healthz");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
  EXPECT_NE(answer.find("\"stopping\""), std::string::npos);
}

TEST_F(WebTest, BadRequestsGetFourHundreds) {
  EXPECT_TRUE(ask(live_->address(), "/", "POST").starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(ask(live_->address(), "/", "DELETE").starts_with("HTTP/1.1 405"));
  for (const std::string& garbage :
       {std::string("garbage\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string(200, '\x01') + "\r\n\r\n",
        "GET /" + std::string(20000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20000, 'a') + "\r\n\r\n",
        std::string("GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=5-1,zz\r\n\r\n")}) {
    Connection connection(live_->address());
    connection.send(garbage);
    const std::string answer = connection.read("\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << garbage.substr(0, 30) << "\n" << answer;
  }
  EXPECT_TRUE(ask(live_->address(), "/").starts_with("HTTP/1.1 200")) << "and it still works";
}

TEST_F(WebTest, ThePageIsWholeAndAsksNobodyElse) {
  const std::string page = ask(live_->address(), "/");
  EXPECT_NE(page.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  std::string rest = page;
  // The name space of SVG is a name, not an address.
  for (std::size_t at = 0; (at = rest.find("http://www.w3.org/2000/svg")) != std::string::npos;) {
    rest.erase(at, 26);
  }
  EXPECT_EQ(rest.find("http://"), std::string::npos);
  EXPECT_EQ(rest.find("https://"), std::string::npos);
  EXPECT_NE(page.find("A \\u003cb>title"), std::string::npos) << "names are data, not markup";
}

TEST_F(WebTest, EventsComeAsTheyHappen) {
  Connection connection(live_->address());
  connection.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string first = connection.read("\n\n");
  EXPECT_NE(first.find("text/event-stream"), std::string::npos);
  EXPECT_NE(first.find("event: state\ndata: {"), std::string::npos) << first;
  Event event{What::kRoundEnded, 4};
  event.accuracy = 0.625;
  board_.note(event);
  EXPECT_NE(connection.read("\n\n").find("0.625"), std::string::npos);
}

TEST_F(WebTest, StreamsAreLimitedAndComeFree) {
  std::vector<std::unique_ptr<Connection>> all;
  for (int i = 0; i < Web::kStreams; ++i) {
    all.push_back(std::make_unique<Connection>(live_->address()));
    all.back()->send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(all.back()->read("\n\n").find("event: state"), std::string::npos) << i;
  }
  EXPECT_TRUE(ask(live_->address(), "/events").starts_with("HTTP/1.1 503"));
  EXPECT_TRUE(ask(live_->address(), "/").starts_with("HTTP/1.1 200")) << "the page has room";
  all.clear();
  // Noticed when something is written to them.
  bool free = false;
  for (int turn = 0; turn < 100 && !free; ++turn) {
    board_.note({What::kStarted});
    Connection again(live_->address());
    again.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    free = again.read("\r\n").starts_with("HTTP/1.1 200");
    ::usleep(100000);
  }
  EXPECT_TRUE(free);
}

TEST(Web, APortInUseIsAnError) {
  Board board({"server", "t", 5, 3});
  const auto first = Web::start("0", Pages::kLive, board).value();
  const auto second = Web::start(first->address(), Pages::kMetrics, board);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(first->address()), std::string::npos);
}

}  // namespace
}  // namespace sotto::monitor
