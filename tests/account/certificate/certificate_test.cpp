// A certificate is checked from nothing but its text: every changed digit is found, and whatever
// follows from the content is found even when the change is signed anew.
#include <fstream>
#include <set>

#include "base/text.h"
#include "certificate_fixture.h"
#include "mechanism/mechanism_samples.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

using testing::TestWithParam;

TEST(Certificate, HoldsAndTellsWhatWasPutIn) {
  for (const CertificateContent& content :
       {small_content(), shuffled_content(), several_content()}) {
    const std::string text = made_text(content);
    const auto checked = check_certificate(text, test_key().public_key());
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_TRUE(checked->holds());
    EXPECT_TRUE(checked->signer_known);
    EXPECT_EQ(checked->public_key, test_key().public_key());
    EXPECT_EQ(checked->content.exposure.rounds(), content.exposure.rounds());
    EXPECT_EQ(checked->content.exposure.batches(), content.exposure.batches());
    EXPECT_EQ(checked->content.exposure.shuffle, content.exposure.shuffle);
    EXPECT_EQ(checked->content.exposure.sampling, content.exposure.sampling);
    EXPECT_EQ(checked->content.exposure.population, content.exposure.population);
    EXPECT_EQ(checked->content.exposure.honest, content.exposure.honest);
    EXPECT_EQ(checked->content.coins, content.coins);
    EXPECT_EQ(checked->content.exposure.audited_epsilon, content.exposure.audited_epsilon);
    EXPECT_EQ(checked->content.exposure.delta, content.exposure.delta);
    ASSERT_EQ(checked->content.ledger.has_value(), content.ledger.has_value());
    if (content.ledger) {
      EXPECT_EQ(checked->content.ledger->hash, content.ledger->hash);
    }
    EXPECT_EQ(checked->content.accounts, content.accounts);
    EXPECT_EQ(checked->content.recipe, content.recipe);
    ASSERT_EQ(checked->content.mechanisms.size(), content.mechanisms.size());
    for (std::size_t i = 0; i < content.mechanisms.size(); ++i) {
      for (const auto& [name, value] : content.mechanisms[i].parameters) {
        EXPECT_EQ(checked->content.mechanisms[i].parameters.at(name), value);
      }
      EXPECT_EQ(checked->mechanism_ids[i], built(content.mechanisms[i])->id());
    }
    ASSERT_EQ(checked->content.exposure.turns.size(), content.exposure.turns.size());
    for (std::size_t i = 0; i < content.exposure.turns.size(); ++i) {
      const Turn &read = checked->content.exposure.turns[i], &sent = content.exposure.turns[i];
      EXPECT_EQ(read.rounds, sent.rounds);
      EXPECT_EQ(read.batches, sent.batches);
      EXPECT_EQ(read.held, sent.held);
      ASSERT_EQ(read.variants.size(), sent.variants.size());
      for (std::size_t v = 0; v < sent.variants.size(); ++v) {
        ASSERT_EQ(read.variants[v].size(), sent.variants[v].size());
        for (std::size_t m = 0; m < sent.variants[v].size(); ++m) {
          EXPECT_EQ(read.variants[v][m]->id(), sent.variants[v][m]->id());
        }
      }
    }
    const auto claims = claims_of(content.exposure);
    ASSERT_EQ(checked->claims.size(), claims.size());
    for (std::size_t i = 0; i < claims.size(); ++i) {
      EXPECT_EQ(checked->claims[i].epsilon, claims[i].epsilon);
    }
    EXPECT_EQ(made_text(content), text) << "signing is deterministic";
  }
}

class OfMechanism : public TestWithParam<Sample> {};

TEST_P(OfMechanism, IsRebuiltFromItsText) {
  CertificateContent content;
  content.mechanisms = {
      {GetParam().mechanism, GetParam().parameters, Domain{flat_layout(7), {GetParam().range}}}};
  content.exposure.turns = {turn_of(built(content.mechanisms[0]), 2)};
  const auto checked = check_certificate(made_text(content));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_FALSE(checked->signer_known);
  EXPECT_EQ(checked->guarantees.at(0).epsilon, (*GetParam().make(7))->guarantee().epsilon);
}

std::string case_name(const testing::TestParamInfo<Sample>& param) {
  std::string name = param.param.label;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, OfMechanism, testing::ValuesIn(samples()), case_name);

TEST(Certificate, AnyChangedDigitIsFound) {
  const std::string text = made_text(small_content());
  int changed = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    std::string other = text;
    other[i] = text[i] == '9' ? '8' : static_cast<char>(text[i] + 1);
    ASSERT_FALSE(check_certificate(other)) << "at " << i << ": " << text.substr(i - 20, 40);
    ++changed;
  }
  EXPECT_GT(changed, 500);
}

/// All leaves that are numbers or texts with a digit, by their JSON pointer.
std::vector<std::string> leaves(const Json& certificate) {
  std::vector<std::string> all;
  const Json flat = certificate.flatten();
  for (const auto& [path, value] : flat.items()) {
    const bool text = value.is_string() &&
                      value.get<std::string>().find_first_of("0123456789") != std::string::npos;
    if (value.is_number() || text) all.push_back(path);
  }
  return all;
}

/// The leaf with another digit; a number and its hexadecimal form change together.
Json changed(Json certificate, const std::string& path) {
  Json& leaf = certificate[Json::json_pointer(path)];
  if (leaf.is_number_unsigned() || leaf.is_number_integer()) {
    leaf = leaf.get<std::uint64_t>() + 1;
  } else if (leaf.is_number()) {
    leaf = leaf == 0.0 ? 0x1p-40 : leaf.get<double>() * (1.0 + 0x1p-50);
    certificate[Json::json_pointer(path + "_hex")] = hex_number(leaf.get<double>());
  } else {
    std::string text = leaf.get<std::string>();
    char& digit = text[text.find_last_of("0123456789")];
    digit = digit == '9' ? '8' : static_cast<char>(digit + 1);
    leaf = text;
  }
  return certificate;
}

/// Paths below `part` of which a change that is signed anew goes unnoticed.
std::set<std::string> unnoticed(const CertificateContent& content, const std::string& part) {
  const Json certificate = Json::parse(made_text(content));
  std::set<std::string> missed;
  for (const std::string& path : leaves(certificate)) {
    if (!path.starts_with(part)) continue;
    if (path == "/signature" || path == "/public_key") continue;  // signing anew replaces them
    const auto checked =
        examine_certificate(forged(changed(certificate, path)), test_key().public_key());
    if (!checked) continue;
    const std::vector<std::string> names = broken(*checked);
    EXPECT_EQ(names.front(), "signer") << path;  // whoever expects another key finds everything
    if (names.size() == 1) missed.insert(path);
  }
  return missed;
}

TEST(Certificate, WhatFollowsFromTheContentIsFoundWhoeverSigns) {
  // Nothing follows from these: they are the signer's word. Without a shuffler the split is idle.
  EXPECT_EQ(unnoticed(small_content(), ""),
            (std::set<std::string>{"/exposure/population", "/exposure/split",
                                   "/exposure/turns/0/held", "/ledger/accounts", "/ledger/entries",
                                   "/ledger/hash", "/recipe", "/sotto"}));
  EXPECT_EQ(unnoticed(shuffled_content(), "/claims"), std::set<std::string>{});
  // A fourth round that no client took part in twice, and the last digit of a percentage.
  EXPECT_EQ(
      unnoticed(shuffled_content(), "/exposure"),
      (std::set<std::string>{"/exposure/audit/confidence", "/exposure/population",
                             "/exposure/turns/0/batches/1/rounds", "/exposure/turns/0/held"}));
}

TEST(Certificate, SaysWhoseCoinsTheyWere) {
  for (const Coins coins : {Coins::kClients, Coins::kSimulation, Coins::kRehearsal}) {
    CertificateContent content = small_content();
    content.coins = coins;
    const auto checked = check_certificate(made_text(content));
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->content.coins, coins);
    EXPECT_EQ(protects(checked->content.coins), coins == Coins::kClients);
  }
  // It is signed: nobody else can make a rehearsal real.
  CertificateContent rehearsal = small_content();
  rehearsal.coins = Coins::kRehearsal;
  Json certificate = Json::parse(made_text(rehearsal));
  EXPECT_EQ(certificate["coins"], "public seed (rehearsal)");
  certificate["coins"] = name_of(Coins::kClients);
  const auto changed = examine_certificate(certificate.dump(2) + '\n');
  ASSERT_TRUE(changed);
  EXPECT_EQ(broken(*changed), std::vector<std::string>{"signature"});
  for (const char* other : {"not said", "clients", ""}) {
    certificate["coins"] = other;
    EXPECT_FALSE(examine_certificate(forged(certificate))) << other;
  }
  certificate.erase("coins");
  EXPECT_FALSE(examine_certificate(forged(certificate)));
  // What nobody says cannot be certified.
  rehearsal.coins = Coins::kUnsaid;
  EXPECT_FALSE(make_certificate(rehearsal, test_key()));
}

/// As an earlier version wrote it, of a run with a shuffler.
std::string older_text() {
  std::ifstream file(std::string(SOTTO_CERTIFICATES) + "/v2.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Certificate, OfTheFormatBeforeIsReadAndSaysNothingOfCoins) {
  const auto checked = check_certificate(older_text());
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->format, "sotto.certificate.v2");
  EXPECT_EQ(checked->content.coins, Coins::kUnsaid);
  EXPECT_FALSE(protects(checked->content.coins));
  EXPECT_EQ(checked->content.exposure.honest, 1.0);
  // Its numbers must follow as ever.
  Json certificate = Json::parse(older_text());
  for (std::size_t i = 0; i < certificate["claims"].size(); ++i) {
    Json lower = certificate;
    lower["claims"][i]["epsilon"] = 0.5;
    lower["claims"][i]["epsilon_hex"] = "0x1p-1";
    EXPECT_EQ(broken(*examine_certificate(forged(lower))), std::vector<std::string>{"claims"}) << i;
  }
  Json fewer = certificate;
  fewer["claims"].erase(1);
  EXPECT_EQ(broken(*examine_certificate(forged(fewer))), std::vector<std::string>{"claims"});
  Json mixed = certificate;  // of both formats
  mixed["coins"] = name_of(Coins::kClients);
  EXPECT_EQ(broken(*examine_certificate(forged(mixed))), std::vector<std::string>{"fields"});
  // Clients that were picked in secret were accounted for wrongly: refused by name.
  certificate["exposure"]["sampling"] = 0.5;
  certificate["exposure"]["sampling_hex"] = "0x1p-1";
  const auto sampled = examine_certificate(forged(certificate));
  ASSERT_TRUE(sampled);
  ASSERT_EQ(broken(*sampled), std::vector<std::string>{"claims"});
  EXPECT_NE(sampled->findings.back().detail.find("promises too much"), std::string::npos);
}

TEST(Certificate, AConsistentLieNeedsTheKeyToBeFound) {
  CertificateContent lie = small_content();
  lie.exposure.turns[0].rounds = 1;
  const SigningKey other = *SigningKey::generate();
  const auto text = make_certificate(lie, other);
  ASSERT_TRUE(text);
  EXPECT_TRUE(check_certificate(*text));
  const auto checked = examine_certificate(*text, test_key().public_key());
  ASSERT_TRUE(checked);
  EXPECT_EQ(broken(*checked), std::vector<std::string>{"signer"});
}

TEST(Certificate, SaysWhatIsExpectedAndWhatWasFound) {
  Json certificate = Json::parse(made_text(small_content()));
  certificate["claims"][1]["epsilon"] = 0.5;
  certificate["claims"][1]["epsilon_hex"] = "0x1p-1";
  const auto checked = examine_certificate(forged(certificate));
  ASSERT_TRUE(checked);
  EXPECT_EQ(broken(*checked), std::vector<std::string>{"claims"});
  const std::string detail = checked->findings.back().detail;
  EXPECT_NE(detail.find("claims[1].epsilon: expected "), std::string::npos) << detail;
  EXPECT_NE(detail.find("found 0.5"), std::string::npos) << detail;
  const auto error = check_certificate(forged(certificate));
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(error.error().message.find("found 0.5"), std::string::npos);

  certificate = Json::parse(made_text(small_content()));
  std::string threshold = certificate["mechanisms"][0]["constants"][7]["value"];
  threshold.back() = threshold.back() == '0' ? '1' : '0';
  certificate["mechanisms"][0]["constants"][7]["value"] = threshold;
  EXPECT_EQ(broken(*examine_certificate(forged(certificate))),
            std::vector<std::string>{"thresholds"});
  certificate = Json::parse(made_text(small_content()));
  certificate["mechanisms"][0]["guarantee"]["units"] = 10;
  EXPECT_EQ(broken(*examine_certificate(forged(certificate))),
            std::vector<std::string>{"guarantee"});
}

TEST(Certificate, EveryMechanismThatWasUsedIsSpecified) {
  CertificateContent content = several_content();
  content.mechanisms.pop_back();
  const auto missing = make_certificate(content, test_key());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  EXPECT_NE(missing.error().message.find("privunit.v1"), std::string::npos);
  // The same parameters for another range are another mechanism.
  content = several_content();
  content.mechanisms[1].domain.ranges[0].radius = 0.125;
  EXPECT_FALSE(make_certificate(content, test_key()));
}

TEST(Certificate, WhatFollowsFromSeveralMechanismsIsFoundToo) {
  EXPECT_EQ(unnoticed(several_content(), "/claims/0"), std::set<std::string>{});
  EXPECT_EQ(unnoticed(several_content(), "/mechanisms/3/parameters"), std::set<std::string>{});
  // Where nobody sees who was picked, a batch may have any size: only then nothing follows from it.
  CertificateContent seen = several_content();
  seen.exposure.sampling = 1.0;
  for (const char* turn : {"/exposure/turns/0", "/exposure/turns/1"}) {
    for (const char* part : {"/rounds", "/batches/0/clients"}) {
      EXPECT_EQ(unnoticed(seen, std::string(turn) + part), std::set<std::string>{});
    }
    EXPECT_EQ(unnoticed(several_content(), std::string(turn) + "/rounds"), std::set<std::string>{});
  }
  EXPECT_EQ(unnoticed(several_content(), "/exposure/turns/0/held"), std::set<std::string>{});
  EXPECT_EQ(unnoticed(several_content(), "/exposure/population"), std::set<std::string>{});
}

TEST(Certificate, UnknownAndMissingFieldsAreFound) {
  const Json certificate = Json::parse(made_text(shuffled_content()));
  const std::string objects[] = {"",
                                 "/mechanisms/0",
                                 "/mechanisms/0/domain",
                                 "/mechanisms/0/domain/tensors/0",
                                 "/mechanisms/0/parameters/0",
                                 "/mechanisms/0/constants/0",
                                 "/mechanisms/0/guarantee",
                                 "/exposure",
                                 "/exposure/turns/0",
                                 "/exposure/turns/0/batches/0",
                                 "/exposure/audit",
                                 "/ledger",
                                 "/claims/0"};
  for (const std::string& object : objects) {
    Json more = certificate;
    more[Json::json_pointer(object + "/unknown")] = 1;
    const auto checked = examine_certificate(forged(more));
    ASSERT_TRUE(checked) << object;
    EXPECT_FALSE(checked->holds()) << object;
    for (const auto& [key, value] : certificate[Json::json_pointer(object)].items()) {
      if (key == "signature" || key == "public_key") continue;
      Json less = certificate;
      less[Json::json_pointer(object)].erase(key);
      EXPECT_FALSE(check_certificate(forged(less))) << object << '/' << key;
    }
  }
}

TEST(Certificate, KeysComeFromOpenSslFiles) {
  const TemporaryFolder folder;
  const std::string key = (folder.path() / "key.pem").string();
  const std::string pub = (folder.path() / "public.pem").string();
  const std::string rsa = (folder.path() / "rsa.pem").string();
  ASSERT_EQ(std::system(("openssl genpkey -algorithm ed25519 -out " + key +
                         " && openssl pkey -in " + key + " -pubout -out " + pub +
                         " && openssl genpkey -algorithm ed25519 -aes256 -pass pass:x -out " + rsa)
                            .c_str()),
            0);
  const auto signing = SigningKey::read(key);
  ASSERT_TRUE(signing) << signing.error().message;
  const auto read = read_public_key(pub);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, signing->public_key());
  const auto text = make_certificate(small_content(), *signing);
  EXPECT_TRUE(check_certificate(*text, *read));
  EXPECT_FALSE(check_certificate(*text, test_key().public_key()));
  // A public key does not sign, a locked one asks nobody, and anything else is refused.
  for (const std::string& bad : {pub, rsa, (folder.path() / "none.pem").string()}) {
    EXPECT_FALSE(SigningKey::read(bad)) << bad;
  }
  EXPECT_FALSE(read_public_key(key));
}

TEST(Certificate, IsWrittenWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "certificate.json";
  ASSERT_TRUE(write_certificate(path, small_content(), test_key()));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(check_certificate(text, test_key().public_key()));
  CertificateContent bad = small_content();
  bad.mechanisms[0].parameters["epsilon"] = -1.0;
  EXPECT_FALSE(write_certificate(folder.path() / "bad.json", bad, test_key()));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "bad.json"));
  bad = small_content();
  bad.recipe = "\xff";
  const auto error = write_certificate(folder.path() / "bad.json", bad, test_key());
  ASSERT_FALSE(error);
  EXPECT_NE(error.error().message.find("UTF-8"), std::string::npos);
  bad = small_content();
  bad.exposure.sampling = 1.5;
  EXPECT_FALSE(make_certificate(bad, test_key()));
}

}  // namespace
}  // namespace sotto
