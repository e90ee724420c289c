// The client's side of secure aggregation.
#include "secure/crypto.h"
#include "secure/shamir.h"
#include "secure/wire.h"

namespace sotto::secure {

Result<void> check(const Session& session) {
  if (session.threshold < 2 || session.threshold > session.members) {
    return fail(ErrorKind::kUsage, "secure aggregation: a threshold of " +
                                       std::to_string(session.threshold) + " with " +
                                       std::to_string(session.members) +
                                       " clients; it must lie between 2 and their number");
  }
  return {};
}

AdvertisingClient::AdvertisingClient(const Session& session, Member member, BitSource& bits)
    : session_(session),
      member_(member),
      seal_secret_(draw_secret(bits)),
      mask_secret_(draw_secret(bits)),
      seed_(draw_secret(bits)) {}

Advertisement AdvertisingClient::advertisement() const {
  return {member_, public_key(seal_secret_), public_key(mask_secret_), digest_of(seed_)};
}

Result<AdvertisingClient::Shared> AdvertisingClient::share(std::span<const Advertisement> roster,
                                                           BitSource& bits) && {
  SOTTO_CHECK(check(session_));
  SOTTO_CHECK(check_roster(session_, roster));
  const Advertisement mine = advertisement();
  const std::vector<Share> seeds = split(seed_, session_.threshold, session_.members, bits);
  const std::vector<Share> keys = split(mask_secret_, session_.threshold, session_.members, bits);
  Shared shared{MaskingClient(), {}};
  for (const Advertisement& other : roster) {
    if (other.member == member_) continue;
    const auto key =
        agree(seal_secret_, mine.seal_key, other.seal_key, kSealPurpose, session_.round);
    if (!key) return refuse_member(other.member, "its key for sealing is not a proper one");
    const auto message = write_shares({seeds[other.member], keys[other.member]});
    shared.outgoing.push_back({member_, other.member, seal(*key, member_, other.member, message)});
  }
  MaskingClient& next = shared.next;
  next.session_ = session_;
  next.member_ = member_;
  next.seal_secret_ = seal_secret_;
  next.mask_secret_ = mask_secret_;
  next.seed_ = seed_;
  next.own_seed_ = seeds[member_];
  next.own_key_ = keys[member_];
  next.roster_.assign(roster.begin(), roster.end());
  return shared;
}

Result<MaskingClient::Masked> MaskingClient::mask(std::span<const Envelope> envelopes,
                                                  std::span<const SealedShares> incoming) && {
  Masked masked{MaskedReport(), UnmaskingClient()};
  UnmaskingClient& next = masked.next;
  next.session_ = session_;
  next.member_ = member_;
  next.seeds_[member_] = own_seed_;
  next.keys_[member_] = own_key_;
  const PublicKey my_seal_key = public_key(seal_secret_);
  for (const SealedShares& sealed : incoming) {
    if (sealed.to != member_ || sealed.from >= session_.members || sealed.from == member_) {
      return refuse_member(sealed.from, "its shares are not meant for this client");
    }
    const auto key = agree(seal_secret_, my_seal_key, roster_[sealed.from].seal_key, kSealPurpose,
                           session_.round);
    if (!key) return refuse_member(sealed.from, "its key for sealing is not a proper one");
    const auto message = open(*key, sealed);
    if (!message) return refuse_member(sealed.from, "its shares cannot be opened");
    SOTTO_TRY(const SharePair shares, read_shares(*message, member_ + 1));
    if (!next.seeds_.emplace(sealed.from, shares.seed).second) {
      return refuse_member(sealed.from, "its shares came twice");
    }
    next.keys_.emplace(sealed.from, shares.key);
  }
  // A member whose shares are missing could not be recovered from: nothing may be masked against
  // it.
  if (next.seeds_.size() != session_.members) {
    return fail(ErrorKind::kRefused,
                "secure aggregation: " + std::to_string(session_.members - next.seeds_.size()) +
                    " members' shares are missing");
  }

  MaskedReport& report = masked.report;
  report.member_ = member_;
  for (const Envelope& envelope : envelopes) {
    const PackedSymbols& symbols = envelope.symbols();
    if (envelope.round() != session_.round) {
      return fail(ErrorKind::kRefused, "secure aggregation: an envelope of another round");
    }
    report.places_.push_back({envelope.mechanism_id(), envelope.position(), symbols.size()});
    for (const Symbol symbol : symbols.unpacked()) {
      report.words_.push_back(static_cast<std::uint64_t>(symbol));
    }
  }
  apply_mask(seed_, Sign::kAdd, report.words_);
  const PublicKey my_mask_key = public_key(mask_secret_);
  for (const Advertisement& other : roster_) {
    if (other.member == member_) continue;
    const auto pair =
        agree(mask_secret_, my_mask_key, other.mask_key, kMaskPurpose, session_.round);
    if (!pair) return refuse_member(other.member, "its key for masks is not a proper one");
    apply_mask(*pair, member_ < other.member ? Sign::kAdd : Sign::kSubtract, report.words_);
  }
  return masked;
}

Result<Answer> UnmaskingClient::answer(std::span<const Member> survivors) && {
  Answer answer;
  answer.member = member_;
  for (const Member survivor : survivors) {
    if (survivor >= session_.members || !answer.seeds.emplace(survivor, seeds_[survivor]).second) {
      return refuse_member(survivor, "it is no member, or named twice");
    }
  }
  if (survivors.size() < session_.threshold) {
    return fail(ErrorKind::kRefused, "secure aggregation: " + std::to_string(survivors.size()) +
                                         " reports are fewer than the threshold of " +
                                         std::to_string(session_.threshold));
  }
  for (const auto& [member, share] : keys_) {
    if (!answer.seeds.contains(member)) answer.keys.emplace(member, share);
  }
  return answer;
}

}  // namespace sotto::secure
