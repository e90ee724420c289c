// make_certificate KEY.pem FILE [real]: writes the certificate of an invented run, for the
// end-to-end tests of `sotto account check`, which need no training then.
#include <cstdio>

#include "flat_layout.h"
#include "sotto/certificate.h"

int main(int count, char** arguments) {
  if (count != 3 && count != 4) {
    std::fprintf(stderr, "usage: make_certificate KEY.pem FILE [real]\n");
    return 2;
  }
  using namespace sotto;
  CertificateContent content;
  content.mechanisms = {{"privunit", {{"epsilon", 4.0}}, Domain{flat_layout(1000), {{0.0, 1.0}}}}};
  const MechanismSpec& spec = content.mechanisms[0];
  auto mechanism = make_mechanism(spec.name, spec.domain, spec.parameters);
  if (!mechanism) return 1;
  content.exposure.turns = {turn_of(std::move(*mechanism), 10, 5000)};
  content.exposure.shuffle = ShuffleMode::kShuffler;
  content.ledger = LedgerHead{50'000, std::string(64, 'a')};
  content.accounts = 5000;
  if (count == 4) content.coins = Coins::kClients;
  const auto key = SigningKey::read(arguments[1]);
  if (key && write_certificate(arguments[2], content, *key)) return 0;
  return 1;
}
