// The whole path by the installed headers alone: many clients, two weights, one mean.
#include <sotto/aggregate.h>
#include <sotto/ledger.h>
#include <sotto/policy.h>
#include <sotto/sealed.h>
#include <sotto/secure.h>

#include <cmath>
#include <cstdio>

namespace {

/// A client pays for what it sends.
sotto::Result<void> pay(const sotto::Mechanism& mechanism) {
#ifdef WITH_LEDGER
  SOTTO_TRY(const auto ledger, sotto::open_ledger("consumer-ledger.db"));
  SOTTO_CHECK(ledger->set_limits("client", "data", {.epsilon_per_round = 4.0, .epsilon = 4.0}));
  SOTTO_CHECK(ledger->charge({"client", "data", "task", 1, std::string(mechanism.id()),
                              sotto::Cost::of(mechanism.guarantee())}));
#else
  static_cast<void>(sotto::Cost::of(mechanism.guarantee()));
#endif
  return {};
}

sotto::Result<void> run() {
  auto layout = std::make_shared<sotto::Layout>();
  layout->add("w", {2}, sotto::TensorRole::kParameter);
  SOTTO_TRY(
      std::shared_ptr<const sotto::Mechanism> mechanism,
      sotto::make_mechanism("two-point", {layout, {sotto::Range{0.0, 1.0}}}, {{"epsilon", 2.0}}));
  SOTTO_CHECK(pay(*mechanism));
  sotto::Aggregator aggregator(mechanism, 1);
  sotto::BitSource bits = sotto::BitSource::from_system();
  for (int client = 0; client < 10'000; ++client) {
    const float shift = client % 2 == 0 ? -0.25F : 0.25F;
    sotto::Update update(layout, {0.5F + shift, -0.25F});
    const auto bounded = sotto::bound(std::move(update), mechanism->domain());
    for (const auto& envelope : sotto::pack(mechanism->perturb(bounded, bits), 1, 1)) {
      SOTTO_TRY(const auto received, sotto::Envelope::parse(envelope.serialize()));
      SOTTO_CHECK(aggregator.accept(received));
    }
  }
#ifdef WITH_IDENTITY
  const sotto::identity::SealKey server = sotto::identity::SealKey::generate();
  for (const auto& envelope : sotto::pack(
           mechanism->perturb(sotto::bound({layout, {0.0F, 0.0F}}, mechanism->domain()), bits),
           1)) {
    const sotto::identity::ChunkPlan plan{"task", 1, envelope.serialized_size()};
    SOTTO_TRY(const auto chunk, sotto::identity::seal(envelope, plan, server.public_key));
    SOTTO_CHECK(sotto::identity::open_sealed(chunk, plan, server));
  }
  const sotto::identity::PlanFacts plan;
  if (sotto::identity::check({}, plan)) {
    return sotto::fail(sotto::ErrorKind::kInternal, "an empty policy allows something");
  }
#endif
#ifdef WITH_SECURE
  sotto::secure::RosterServer roster({1, 2, 2});
  for (const sotto::secure::Member member : {0U, 1U}) {
    const sotto::secure::AdvertisingClient client({1, 2, 2}, member, bits);
    SOTTO_CHECK(roster.accept(client.advertisement()));
  }
  SOTTO_CHECK(roster.roster().map([](const auto&) {}));
#endif
  SOTTO_TRY(const auto mean, aggregator.release());
  std::printf("mean of %d reports: %g %g\n", static_cast<int>(mean.reports()), mean.values()[0],
              mean.values()[1]);
  // The deviation of the mean is 0.013: ten of them never happen.
  if (std::abs(mean.values()[0] - 0.5) > 0.13 || std::abs(mean.values()[1] + 0.25) > 0.13) {
    return sotto::fail(sotto::ErrorKind::kInternal, "the mean is not that of the clients");
  }
  return {};
}

}  // namespace

int main() {
  const auto result = run();
  if (!result) std::fprintf(stderr, "%s\n", result.error().message.c_str());
  return result ? 0 : 1;
}
