// Signed requests: every refusal by its own name, and every covered byte.

#include <atomic>
#include <thread>

#include "federation_fixture.h"

namespace sotto::identity {
namespace {

using std::chrono::seconds;

std::vector<std::byte> body_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Requests : public Federation {
 protected:
  Bundle alice_ = bundle("alice");
  Trust trust_ = bundle("server", Role::kServer).trust().value();
  ReplayGuard guard_ = ReplayGuard::in_memory();
  Time at_ = now();
  RequestFacts facts_{"server", "sotto.v2.Server/Report", "alice", 7, std::string(64, 'a')};
  std::vector<std::byte> body_ = body_of("the whole body of a request");
  std::uint64_t number_ = 1;
  Token token_ = sign_request(alice_.sign_key, facts_, body_, number_);

  Admitted<Member> verify(Role sender = Role::kClient) {
    return verify_request(trust_, guard_, sender, alice_.certificate_pem, token_, facts_, body_,
                          at_);
  }
  void expect_fault(Fault fault, const Admitted<Member>& answer) {
    ASSERT_FALSE(answer.has_value()) << "admitted";
    EXPECT_EQ(name_of(answer.error().fault), name_of(fault)) << answer.error().message;
    EXPECT_FALSE(answer.error().message.empty());
  }
};

TEST_F(Requests, AGenuineOneIsAdmitted) {
  const auto member = verify();
  ASSERT_TRUE(member.has_value()) << member.error().message;
  EXPECT_EQ(member->name, "alice");
  EXPECT_EQ(member->role, Role::kClient);
  EXPECT_EQ(member->sign_key, alice_.sign_key.public_key);
}

TEST_F(Requests, ASecondTimeIsADuplicateAndSigningAgainIsNot) {
  ASSERT_TRUE(verify().has_value());
  expect_fault(Fault::kDuplicate, verify());
  at_ += seconds(5);
  expect_fault(Fault::kDuplicate, verify());
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  EXPECT_TRUE(verify().has_value());
}

TEST_F(Requests, EveryBitOfTheTokenIsCovered) {
  for (std::size_t bit = 0; bit < 8 * kTokenBytes; ++bit) {
    const Token genuine = token_;
    token_[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    EXPECT_FALSE(verify().has_value()) << "bit " << bit;
    token_ = genuine;
  }
  EXPECT_TRUE(verify().has_value());  // and nothing of it was remembered
}

TEST_F(Requests, EveryBitOfTheBodyIsCovered) {
  for (std::size_t bit = 0; bit < 8 * body_.size(); ++bit) {
    body_[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    expect_fault(Fault::kBadSignature, verify());
    body_[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  body_.push_back(std::byte{0});
  expect_fault(Fault::kBadSignature, verify());
  body_.resize(body_.size() - 2);
  expect_fault(Fault::kBadSignature, verify());
  body_.clear();
  expect_fault(Fault::kBadSignature, verify());
}

TEST_F(Requests, EveryFactIsCovered) {
  const RequestFacts genuine = facts_;
  const auto change = [&](auto RequestFacts::*member, const auto& value) {
    facts_.*member = value;
    expect_fault(Fault::kBadSignature, verify());
    facts_ = genuine;
  };
  change(&RequestFacts::audience, "shuffler");
  change(&RequestFacts::audience, "");
  change(&RequestFacts::method, "sotto.v2.Server/Join");
  change(&RequestFacts::recipe, std::string(64, 'b'));
  change(&RequestFacts::recipe, "");
  for (unsigned bit = 0; bit < 64; ++bit) {
    change(&RequestFacts::round, genuine.round ^ std::uint64_t{1} << bit);
  }
  // A byte that moves from one text to the next must not give the same encoding.
  facts_.audience += facts_.method.front();
  facts_.method.erase(0, 1);
  expect_fault(Fault::kBadSignature, verify());
  facts_ = genuine;
  EXPECT_TRUE(verify().has_value());
}

TEST_F(Requests, AnotherSenderIsRefused) {
  facts_.client = "bob";
  expect_fault(Fault::kOtherSender, verify());
  // Bob signs what he says is Alice's: her certificate does not go with his key.
  facts_.client = "alice";
  token_ = sign_request(bundle("bob").sign_key, facts_, body_, ++number_);
  expect_fault(Fault::kBadSignature, verify());
  // Bob signs as himself but presents Alice's certificate.
  facts_.client = "bob";
  token_ = sign_request(bundle("bob").sign_key, facts_, body_, ++number_);
  expect_fault(Fault::kOtherSender, verify());
}

TEST_F(Requests, TheRoleIsChecked) { expect_fault(Fault::kWrongRole, verify(Role::kShuffler)); }

TEST_F(Requests, NoClockMakesAGenuineOneStale) {
  // The recipient's clock is thirty days ahead for a while, then right, then a little behind.
  for (const auto shift : {seconds(0), seconds(30 * 86'400), seconds(0), seconds(-100)}) {
    at_ = now() + shift;
    token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
    EXPECT_TRUE(verify().has_value());
    expect_fault(Fault::kDuplicate, verify());
  }
}

TEST_F(Requests, OneThatIsBehindIsRefused) {
  const Token old = token_;
  for (std::size_t i = 0; i <= ReplayGuard::kWindow; ++i) {
    token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
    ASSERT_TRUE(verify().has_value());
  }
  token_ = old;
  expect_fault(Fault::kBehind, verify());
  EXPECT_EQ(guard_.largest("alice"), number_);
  EXPECT_EQ(verify().error().error().kind, ErrorKind::kIo);  // worth another attempt
}

TEST_F(Requests, NumbersAtTheEndsOfTheRangeAreRefused) {
  for (const std::uint64_t number : {std::uint64_t{0}, kMostNumber + 1, ~std::uint64_t{0}}) {
    token_ = sign_request(alice_.sign_key, facts_, body_, number);
    expect_fault(number == 0 ? Fault::kBehind : Fault::kMalformed, verify());
  }
}

TEST_F(Requests, AForeignCertificateIsRefused) {
  const auto other = Authority::create(home_ / "other", small_federation());
  ASSERT_TRUE(other.has_value());
  alice_ = Bundle::read(home_ / "other" / "alice", Role::kClient).value();
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  expect_fault(Fault::kForeign, verify());
}

TEST_F(Requests, ARevokedCertificateIsRefusedWithoutARestart) {
  ASSERT_TRUE(verify().has_value());
  ASSERT_TRUE(authority_.revoke("alice").has_value());
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  expect_fault(Fault::kRevoked, verify());
  facts_.client = "bob";  // the others are not
  alice_ = bundle("bob");
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  EXPECT_TRUE(verify().has_value());
}

TEST_F(Requests, AnUnreadableListRefusesEverybody) {
  ASSERT_TRUE(verify().has_value());
  const auto list = folder_ / "server" / "crl.pem";
  const std::string sound = read_text(list).value();
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  home_.write("fed/server/crl.pem", "garbage");
  expect_fault(Fault::kUnavailable, verify());
  std::filesystem::remove(list);
  expect_fault(Fault::kUnavailable, verify());
  home_.write("fed/server/crl.pem", sound);
  EXPECT_TRUE(verify().has_value());
}

TEST_F(Requests, AnExpiredCertificateIsRefused) {
  at_ += std::chrono::hours(24 * 366);
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  expect_fault(Fault::kExpired, verify());
  at_ = now() - std::chrono::hours(24);
  token_ = sign_request(alice_.sign_key, facts_, body_, ++number_);
  EXPECT_FALSE(verify().has_value());
}

TEST_F(Requests, GarbageIsMalformed) {
  const auto answer = [&](std::span<const unsigned char> token, std::string_view pem) {
    return verify_request(trust_, guard_, Role::kClient, pem, token, facts_, body_, at_);
  };
  const std::string& pem = alice_.certificate_pem;
  expect_fault(Fault::kMalformed, answer({}, pem));
  expect_fault(Fault::kMalformed, answer(std::span(token_).first(kTokenBytes - 1), pem));
  std::vector<unsigned char> longer(token_.begin(), token_.end());
  longer.push_back(0);
  expect_fault(Fault::kMalformed, answer(longer, pem));
  std::vector<unsigned char> version_one(1 + 16 + 8 + 64, 1);
  expect_fault(Fault::kMalformed, answer(version_one, pem));
  expect_fault(Fault::kMalformed, answer(token_, ""));
  expect_fault(Fault::kMalformed, answer(token_, "-----BEGIN CERTIFICATE-----\nAAAA\n"));
  expect_fault(Fault::kMalformed, answer(token_, pem + pem));
  // The authority itself is nobody's sender.
  expect_fault(Fault::kMalformed, answer(token_, alice_.ca_pem));
}

TEST_F(Requests, ManyThreadsAdmitOneOfEach) {
  std::vector<Token> tokens;
  for (int i = 0; i < 20; ++i) {
    tokens.push_back(sign_request(alice_.sign_key, facts_, body_, ++number_));
  }
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const Token& token : tokens) {
        if (verify_request(trust_, guard_, Role::kClient, alice_.certificate_pem, token, facts_,
                           body_, at_)) {
          ++admitted;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 20);
}

}  // namespace
}  // namespace sotto::identity
