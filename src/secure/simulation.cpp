#include "secure/simulation.h"

#include "base/parallel.h"

namespace sotto::secure {
namespace {

constexpr std::uint64_t kNumberBytes = sizeof(Member);
constexpr std::uint64_t kShareBytes = kNumberBytes + kShareWords * sizeof(std::uint64_t);

std::uint64_t bytes_of(const Place& place) {
  return place.mechanism_id.size() + sizeof place.position + sizeof place.count;
}

}  // namespace

Result<std::unique_ptr<Simulation>> Simulation::begin(
    const Session& session, const std::function<BitSource(Member)>& bits_of, unsigned threads) {
  SOTTO_CHECK(check(session));
  std::vector<BitSource> bits;
  std::vector<AdvertisingClient> clients;
  RosterServer keys(session);
  for (Member member = 0; member < session.members; ++member) {
    bits.push_back(bits_of(member));
    clients.emplace_back(session, member, bits.back());
    SOTTO_CHECK(keys.accept(clients.back().advertisement()));
  }
  SOTTO_TRY(const std::vector<Advertisement> roster, keys.roster());
  std::unique_ptr<Simulation> all(new Simulation(session, roster));
  all->parties_.resize(session.members);
  std::vector<std::vector<SealedShares>> outgoing(session.members);
  SOTTO_CHECK(parallel_for(threads, session.members, [&](unsigned, std::size_t i) -> Result<void> {
    SOTTO_TRY(AdvertisingClient::Shared shared, std::move(clients[i]).share(roster, bits[i]));
    all->parties_[i].masking = std::move(shared.next);
    outgoing[i] = std::move(shared.outgoing);
    return {};
  }));
  all->bytes_up_ = session.members * (kNumberBytes + sizeof(PublicKey) * 2 + sizeof(Digest));
  for (std::vector<SealedShares>& boxes : outgoing) {
    for (SealedShares& sealed : boxes) {
      all->bytes_up_ += 2 * kNumberBytes + sealed.box.size();
      const Member to = sealed.to;
      all->parties_[to].incoming.push_back(std::move(sealed));
    }
  }
  return all;
}

Result<void> Simulation::submit(Member member, std::span<const Envelope> envelopes) {
  Party& party = parties_.at(member);
  if (!party.masking) {
    return fail(ErrorKind::kInternal, "secure aggregation: a member masks one report");
  }
  SOTTO_TRY(MaskingClient::Masked masked,
            std::move(*party.masking).mask(envelopes, party.incoming));
  party.masking.reset();
  party.unmasking = std::move(masked.next);
  const std::scoped_lock lock(mutex_);
  bytes_up_ += kNumberBytes + masked.report.bytes();
  for (const Place& place : masked.report.places()) bytes_up_ += bytes_of(place);
  return server_.accept(masked.report);
}

Result<std::vector<SummedEnvelope>> Simulation::finish(unsigned threads) {
  SOTTO_TRY(UnmaskingServer server, std::move(server_).close());
  const std::vector<Member> survivors = server.survivors();
  for (const Member member : survivors) {
    SOTTO_TRY(Answer answer, std::move(*parties_[member].unmasking).answer(survivors));
    bytes_up_ += kNumberBytes + session_.members * kShareBytes;
    SOTTO_CHECK(server.accept(std::move(answer)));
  }
  return server.release(threads);
}

}  // namespace sotto::secure
