// The authority's folder and the bundles that it makes.
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "federation_fixture.h"
#include "identity/key_files.h"

namespace sotto::identity {
namespace {

unsigned mode_of(const std::filesystem::path& file) {
  struct stat info {};
  EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
  return info.st_mode & 0777U;
}

TEST_F(Federation, BundlesAreCompleteAndPrivate) {
  const Bundle server = bundle("server", Role::kServer);
  const Bundle alice = bundle("alice");
  EXPECT_EQ(server.self.hosts, (std::vector<std::string>{"localhost", "127.0.0.1", "::1"}));
  EXPECT_TRUE(alice.self.hosts.empty());
  EXPECT_EQ(alice.server_key, server.seal_key->public_key);
  EXPECT_EQ(bundle("shuffler", Role::kShuffler).server_key, server.seal_key->public_key);
  EXPECT_FALSE(alice.seal_key.has_value());
  EXPECT_NE(alice.sign_key.public_key, server.sign_key.public_key);
  EXPECT_FALSE(std::filesystem::exists(alice.policy_file()));
  EXPECT_EQ(mode_of(folder_), 0700U);
  EXPECT_EQ(mode_of(folder_ / "alice"), 0700U);
  for (const auto* const name : {"ca/ca.key", "alice/key.pem", "alice/sign.key", "server/key.pem",
                                 "server/sign.key", "server/seal.key"}) {
    EXPECT_EQ(mode_of(folder_ / name), 0600U) << name;
  }
  EXPECT_EQ(TemporaryFolder::entries(home_.path()), 1);  // nothing else is left
  EXPECT_EQ(TemporaryFolder::entries(folder_), 5);
}

TEST_F(Federation, KeysAreNeverOverwritten) {
  const std::string key = read_text(folder_ / "ca" / "ca.key").value();
  expect_error(Authority::create(folder_, {}), {"is there already", "never overwritten"});
  NodeOptions again;
  again.name = "alice";
  expect_error(authority_.issue(again), {"'alice' has a valid certificate", "revoke"});
  again.name = "carol";
  home_.write("fed/carol/precious", "x");
  expect_error(authority_.issue(again), {"carol", "never overwritten"});
  again.role = Role::kServer;
  again.name = "server-2";
  expect_error(authority_.issue(again), {"the server is 'server'"});
  EXPECT_EQ(read_text(folder_ / "ca" / "ca.key").value(), key);
  EXPECT_EQ(authority_.list().value().size(), 4U);
}

TEST_F(Federation, BadNamesHostsAndDaysAreErrors) {
  const std::vector<std::string> names = {"",   "Alice", "a/b", "..",  "ca",
                                          "-a", "a-",    "a b", "a\n", std::string(65, 'a')};
  for (const std::string& name : names) {
    NodeOptions node;
    node.name = name;
    expect_error(authority_.issue(node), {"lower-case"});
  }
  NodeOptions node;
  node.role = Role::kShuffler;
  node.name = "shuffler-2";
  for (const std::string host : {"", "a,URI:urn:sotto:role:server", "host:1/x", "a b"}) {
    node.hosts = {host};
    expect_error(authority_.issue(node), {"host"});
  }
  node.hosts = {"shuffler.example.org", "192.0.2.1", "2001:db8::1"};
  for (const int days : {0, -1, 40000}) {
    node.days = days;
    expect_error(authority_.issue(node), {"days"});
  }
  node.days = 30;
  const auto issued = authority_.issue(node);
  ASSERT_TRUE(issued.has_value()) << issued.error().message;
  EXPECT_EQ(issued->member.hosts, node.hosts);
  EXPECT_LT(issued->member.not_after, now() + std::chrono::hours(24 * 31));
}

TEST_F(Federation, NobodyOutlivesTheAuthority) {
  std::vector<NodeOptions> nodes = small_federation();
  nodes[2].days = 400;
  const auto brief = Authority::create(home_ / "brief", nodes, 10);
  ASSERT_TRUE(brief.has_value());
  const auto all = brief->list().value();
  for (const NodeRecord& record : all) {
    EXPECT_LT(record.member.not_after, now() + std::chrono::hours(24 * 11));
  }
}

TEST_F(Federation, ARevokedNodeIsListedAndItsNameGivenAgain) {
  expect_error(authority_.revoke("alcie"), {"did you mean 'alice'"});
  const auto revoked = authority_.revoke("alice");
  ASSERT_TRUE(revoked.has_value()) << revoked.error().message;
  EXPECT_EQ(revoked->status, NodeRecord::Status::kRevoked);
  const std::string list = read_text(authority_.crl_file()).value();
  for (const auto* const name : {"server", "shuffler", "alice", "bob"}) {
    EXPECT_EQ(read_text(folder_ / name / "crl.pem").value(), list) << name;
  }
  expect_error(Bundle::read(folder_ / "alice", Role::kClient), {"cert.pem", "revoked"});
  NodeOptions again;
  again.name = "alice";
  expect_error(authority_.issue(again), {"move it away"});
  std::filesystem::rename(folder_ / "alice", home_ / "old-alice");
  const auto renewed = authority_.issue(again);
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_NE(renewed->member.serial, revoked->member.serial);
  EXPECT_TRUE(Bundle::read(folder_ / "alice", Role::kClient).has_value());
  ASSERT_TRUE(authority_.revoke("bob").has_value());  // the list grows, and keeps what it had
  const auto all = authority_.list().value();
  ASSERT_EQ(all.size(), 5U);
  const auto count = [&](NodeRecord::Status status) {
    return std::count_if(all.begin(), all.end(),
                         [&](const NodeRecord& record) { return record.status == status; });
  };
  EXPECT_EQ(count(NodeRecord::Status::kRevoked), 2);
  EXPECT_EQ(count(NodeRecord::Status::kActive), 3);
}

TEST_F(Federation, RevokingAgainRepairsWhatWasInterrupted) {
  const std::string before = read_text(folder_ / "server" / "crl.pem").value();
  ASSERT_TRUE(authority_.revoke("alice").has_value());
  home_.write("fed/server/crl.pem", before);  // as if killed before the copy
  ASSERT_TRUE(authority_.revoke("alice").has_value());
  EXPECT_EQ(read_text(folder_ / "server" / "crl.pem").value(),
            read_text(authority_.crl_file()).value());
}

TEST_F(Federation, WithoutAServerNobodyElseIsIssued) {
  NodeOptions client;
  client.name = "alice";
  expect_error(Authority::create(home_ / "other", {client}), {"no valid server"});
  EXPECT_FALSE(std::filesystem::exists(home_ / "other"));
  EXPECT_EQ(TemporaryFolder::entries(home_.path()), 1);  // what was begun is gone
}

TEST_F(Federation, MixedAndOpenBundlesAreRefused) {
  const auto copy = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(folder_ / from, folder_ / to,
                               std::filesystem::copy_options::overwrite_existing);
  };
  const auto alice = [&] { return Bundle::read(folder_ / "alice", Role::kClient); };
  expect_error(Bundle::read(folder_ / "alice", Role::kServer), {"bundle of a client"});
  expect_error(Bundle::read(folder_ / "nobody", Role::kClient), {"no such folder"});
  const std::string key = read_text(folder_ / "alice/key.pem").value();
  copy("bob/key.pem", "alice/key.pem");
  expect_error(alice(), {"key.pem is not the key of cert.pem"});
  ASSERT_TRUE(write_file_atomically(folder_ / "alice/key.pem", key, Readers::kOwner).has_value());
  const std::string sign = read_text(folder_ / "alice/sign.key").value();
  copy("bob/sign.key", "alice/sign.key");
  expect_error(alice(), {"sign.key is not"});
  home_.write("fed/alice/sign.key", "ed25519-seed:00");
  expect_error(alice(), {"sign.key", "64 hexadecimal"});
  ASSERT_TRUE(write_file_atomically(folder_ / "alice/sign.key", sign, Readers::kOwner).has_value());
  ASSERT_TRUE(alice().has_value());
  std::filesystem::permissions(folder_ / "alice/sign.key", std::filesystem::perms(0640));
  expect_error(alice(), {"sign.key", "others may read", "chmod 600"});
  std::filesystem::permissions(folder_ / "alice/sign.key", std::filesystem::perms(0600));
  copy("bob/cert.pem", "alice/cert.pem");
  EXPECT_FALSE(alice().has_value());
  std::filesystem::remove(folder_ / "alice/cert.pem");
  expect_error(alice(), {"cert.pem", "cannot be opened"});
}

TEST_F(Federation, AnExpiredBundleSaysSo) {
  const Time later = now() + std::chrono::hours(24 * 400);
  expect_error(Bundle::read(folder_ / "alice", Role::kClient, later), {"expired", "keys issue"});
  const auto all = authority_.list(later).value();
  EXPECT_EQ(all.front().status, NodeRecord::Status::kExpired);
}

TEST(Keys, TextsAreReadBackAndNothingElse) {
  const SignKey sign = SignKey::generate();
  const SealKey seal = SealKey::generate();
  EXPECT_EQ(parse_sign_key(sign_key_text(sign), "f")->public_key, sign.public_key);
  EXPECT_EQ(parse_seal_key(seal_key_text(seal), "f")->public_key, seal.public_key);
  EXPECT_EQ(parse_server_key(server_key_text(seal.public_key), "f").value(), seal.public_key);
  expect_error(parse_sign_key(seal_key_text(seal), "sign.key"), {"sign.key", "ed25519-seed"});
  expect_error(parse_server_key(server_key_text(seal.public_key) + "x", "f"), {"one line"});
  EXPECT_EQ(key_from_hex(to_hex(seal.public_key)).value(), seal.public_key);
  for (const std::string& text : {std::string(), std::string(63, '0'), std::string(65, '0'),
                                  std::string(64, 'A'), std::string(64, 'g')}) {
    EXPECT_FALSE(key_from_hex(text).has_value()) << text;
  }
}

/// The PEM files of two bundles, in one TLS 1.3 handshake in memory that checks both ends.
TEST_F(Federation, BundlesSpeakMutualTls) {
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  const auto context = [&](const std::string& name, bool server) {
    std::unique_ptr<SSL_CTX, Free> made(
        SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
    const auto folder = folder_ / name;
    EXPECT_EQ(
        SSL_CTX_use_certificate_file(made.get(), (folder / "cert.pem").c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(
        SSL_CTX_use_PrivateKey_file(made.get(), (folder / "key.pem").c_str(), SSL_FILETYPE_PEM), 1);
    EXPECT_EQ(SSL_CTX_load_verify_file(made.get(), (folder / "ca.pem").c_str()), 1);
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    return made;
  };
  const auto shake = [&](const std::string& client_name, const std::string& server_name,
                         const std::string& host) {
    const auto server_context = context(server_name, true);
    const auto client_context = context(client_name, false);
    const std::unique_ptr<SSL, Free> server(SSL_new(server_context.get()));
    const std::unique_ptr<SSL, Free> client(SSL_new(client_context.get()));
    BIO* one = nullptr;
    BIO* two = nullptr;
    BIO_new_bio_pair(&one, 0, &two, 0);
    SSL_set_bio(server.get(), one, one);
    SSL_set_bio(client.get(), two, two);
    SSL_set1_host(client.get(), host.c_str());
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    for (int i = 0; i < 20; ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    return SSL_is_init_finished(server.get()) == 1 && SSL_is_init_finished(client.get()) == 1;
  };
  EXPECT_TRUE(shake("alice", "server", "localhost"));
  EXPECT_TRUE(shake("shuffler", "server", "localhost"));
  EXPECT_FALSE(shake("alice", "server", "elsewhere.example.org"));
  EXPECT_FALSE(shake("alice", "bob", "localhost"));  // a client cannot play the server
}

}  // namespace
}  // namespace sotto::identity
