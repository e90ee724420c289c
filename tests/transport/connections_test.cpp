// Which connections go when there are too many: strangers before members, the oldest first.
#include "transport/grpc/connections.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "transport/grpc/door.h"

namespace sotto::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Sockets are numbers, and who is there is the number in words.
class ConnectionsTest : public testing::Test {
 protected:
  static Connections::Limits small() {
    Connections::Limits limits;
    limits.all = 6;
    limits.strangers = 3;
    limits.of_one = 2;
    return limits;
  }

  void enter(int socket) {
    open_.insert(socket);
    connections_.enter(socket, std::to_string(socket), now_);
  }
  void admit(int socket, const std::string& certificate) {
    connections_.admit(std::to_string(socket), certificate, now_);
  }
  bool make_room(bool no_descriptors = false) {
    return connections_.make_room(no_descriptors, now_);
  }
  /// Those that were ended since the last time; the library closes them.
  std::set<int> ended() {
    for (const int socket : ended_) open_.erase(socket);
    return std::exchange(ended_, {});
  }

  std::set<int> open_;
  std::set<int> ended_;
  Connections::Clock::time_point now_{std::chrono::hours(1)};
  Connections connections_{
      small(),
      {[this](int socket) { return open_.contains(socket) ? std::to_string(socket) : ""; },
       [this](int socket) { ended_.insert(socket); }}};
};

using Ended = std::set<int>;

TEST_F(ConnectionsTest, AStrangerHasSoLongForItsFirstCall) {
  enter(1);
  enter(2);
  admit(2, "ada");
  now_ += seconds(29);
  EXPECT_TRUE(make_room());
  EXPECT_EQ(ended(), Ended());
  now_ += seconds(2);
  EXPECT_TRUE(make_room());
  EXPECT_EQ(ended(), Ended{1});
}

TEST_F(ConnectionsTest, TheOldestStrangerGoesForTheNextOneOnceItHadTimeForAHandshake) {
  enter(1);
  admit(1, "ada");
  for (const int socket : {2, 3}) {
    EXPECT_TRUE(make_room());
    now_ += milliseconds(10);
    enter(socket);
  }
  now_ += milliseconds(10);
  enter(4);
  EXPECT_FALSE(make_room());
  EXPECT_EQ(ended(), Ended());
  now_ += milliseconds(495);
  EXPECT_FALSE(make_room());
  EXPECT_FALSE(make_room());  // one at a time
  EXPECT_EQ(ended(), Ended{2});
  EXPECT_TRUE(make_room());
}

TEST_F(ConnectionsTest, WhenThereAreTooManyMembersStayAndOthersWait) {
  for (int socket = 1; socket <= 6; ++socket) {
    enter(socket);
    admit(socket, std::to_string(socket));
  }
  now_ += seconds(3600);
  EXPECT_FALSE(make_room());
  EXPECT_EQ(ended(), Ended());
  open_.erase(3);
  EXPECT_TRUE(make_room());
}

TEST_F(ConnectionsTest, WithoutDescriptorsStrangersGo) {
  enter(1);
  now_ += seconds(1);
  EXPECT_FALSE(make_room(true));
  EXPECT_EQ(ended(), Ended{1});
}

TEST_F(ConnectionsTest, AMemberHasSoManyAndTheLeastRecentlyUsedGoes) {
  for (const int socket : {1, 2}) {
    enter(socket);
    now_ += seconds(1);
    admit(socket, "ada");
  }
  now_ += seconds(1);
  admit(1, "ada");
  enter(3);
  admit(3, "bob");
  EXPECT_EQ(ended(), Ended());
  now_ += seconds(1);
  enter(4);
  admit(4, "ada");
  EXPECT_EQ(ended(), Ended{2});
}

TEST_F(ConnectionsTest, WithoutCertificatesNobodyHasTooMany) {
  for (int socket = 1; socket <= 5; ++socket) {
    enter(socket);
    admit(socket, "");
  }
  EXPECT_EQ(ended(), Ended());
}

TEST_F(ConnectionsTest, WhoIsRefusedHasTimeToReadWhy) {
  enter(1);
  connections_.refuse("1", "revoked", now_);
  now_ += milliseconds(1900);
  EXPECT_TRUE(make_room());
  EXPECT_EQ(ended(), Ended());
  now_ += milliseconds(1200);
  EXPECT_TRUE(make_room());
  EXPECT_EQ(ended(), Ended{1});
}

TEST_F(ConnectionsTest, AllOfOneCertificateEndRefusedOrAdmitted) {
  for (int socket = 1; socket <= 4; ++socket) enter(socket);
  admit(1, "ada");
  connections_.refuse("2", "ada", now_);
  admit(3, "bob");
  connections_.end_all_of("ada");
  EXPECT_EQ(ended(), (Ended{1, 2}));
}

/// Somebody comes and goes on connections of its own: none of them is ended, least of all by the
/// number that it had, which is another's by now.
TEST_F(ConnectionsTest, ConnectionsThatAreGoneDoNotCount) {
  constexpr int kNumber = 1;
  std::string peer;
  Connections connections{small(),
                          {[&](int) { return peer; }, [&](int socket) { ended_.insert(socket); }}};
  for (int i = 0; i < 10; ++i) {
    // The one before is closed, and this one has its number.
    peer = "peer " + std::to_string(i);
    connections.enter(kNumber, peer, now_);
    connections.admit(peer, "ada", now_);
    EXPECT_EQ(ended_, Ended()) << i;
  }
  peer = "gone";
  connections.end_all_of("ada");
  EXPECT_EQ(ended_, Ended());
}

TEST_F(ConnectionsTest, ANumberThatIsUsedAgainIsAnotherConnection) {
  enter(1);
  open_.erase(1);
  now_ += seconds(2);
  EXPECT_TRUE(make_room());
  now_ += seconds(40);
  EXPECT_TRUE(make_room());
  EXPECT_EQ(ended(), Ended());
}

/// Dials a port of this machine, over IPv4 or IPv6; -1 where there is none.
int dial(int family, int port) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  sockaddr_storage address{};
  socklen_t length = sizeof(sockaddr_in);
  if (family == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&address, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&address, &v6, sizeof v6);
    length = sizeof v6;
  }
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
  ::close(socket);
  return -1;
}

/// What the door says of who comes in.
std::string peer_at_door(const std::string& address, int family) {
  auto door = Door::open(address);
  if (!door) return door.error().message;
  std::atomic<int> came{-1};
  (*door)->accept_all(std::make_shared<Connections>(Connections::Limits{}),
                      [&](int socket) { came = socket; });
  const int own = dial(family, (*door)->port());
  if (own < 0) return "cannot dial";
  while (came < 0) std::this_thread::sleep_for(milliseconds(1));
  const std::string peer = peer_of(came);
  ::close(own);
  ::close(came);
  return peer.substr(0, peer.rfind(':'));
}

TEST(Door, TellsWhoComesInTheWordsOfTheLibrary) {
  EXPECT_EQ(peer_at_door("127.0.0.1:0", AF_INET), "ipv4:127.0.0.1");
  EXPECT_EQ(peer_at_door("localhost:0", AF_INET), "ipv4:127.0.0.1");
  EXPECT_EQ(peer_at_door("0.0.0.0:0", AF_INET), "ipv4:127.0.0.1");
  EXPECT_EQ(peer_at_door("[::]:0", AF_INET), "ipv4:127.0.0.1");
  const std::string six = peer_at_door("[::1]:0", AF_INET6);
  if (six.starts_with("cannot listen")) GTEST_SKIP() << "no IPv6 here";
  EXPECT_EQ(six, "ipv6:%5B::1%5D");
  EXPECT_EQ(peer_at_door("0.0.0.0:0", AF_INET6), "ipv6:%5B::1%5D");
}

TEST(Door, AnAddressInUseIsAnError) {
  const auto first = Door::open("127.0.0.1:0");
  ASSERT_TRUE(first);
  const auto second = Door::open("127.0.0.1:" + std::to_string((*first)->port()));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("is it in use?"), std::string::npos);
  EXPECT_FALSE(Door::open("nowhere"));
  EXPECT_FALSE(Door::open("127.0.0.1:port"));
}

}  // namespace
}  // namespace sotto::rpc
