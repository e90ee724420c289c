// The server's side of secure aggregation.
#include <algorithm>

#include "base/parallel.h"
#include "secure/crypto.h"
#include "secure/shamir.h"
#include "secure/wire.h"

namespace sotto::secure {

Result<void> RosterServer::accept(const Advertisement& advertisement) {
  if (advertisement.member >= session_.members) {
    return refuse_member(advertisement.member, "there is no such member");
  }
  if (!all_.emplace(advertisement.member, advertisement).second) {
    return refuse_member(advertisement.member, "its keys came twice");
  }
  return {};
}

Result<std::vector<Advertisement>> RosterServer::roster() const {
  std::vector<Advertisement> roster;
  for (const auto& [member, advertisement] : all_) roster.push_back(advertisement);
  SOTTO_CHECK(check(session_));
  SOTTO_CHECK(check_roster(session_, roster));
  return roster;
}

Result<void> SummingServer::accept(const MaskedReport& report) {
  if (report.member() >= session_.members) {
    return refuse_member(report.member(), "there is no such member");
  }
  if (reported_.contains(report.member())) {
    return refuse_member(report.member(), "its report came twice");
  }
  if (reported_.empty()) {
    places_ = report.places();
    sums_.assign(report.words().size(), 0);
  } else if (places_ != report.places() || sums_.size() != report.words().size()) {
    return refuse_member(report.member(), "its report has other places than the first one");
  }
  reported_[report.member()] = true;
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += report.words()[i];
  return {};
}

Result<UnmaskingServer> SummingServer::close() && {
  if (reported_.size() < session_.threshold) {
    return fail(ErrorKind::kRefused, "secure aggregation: " + std::to_string(reported_.size()) +
                                         " reports are fewer than the threshold of " +
                                         std::to_string(session_.threshold) +
                                         "; nothing is unmasked");
  }
  UnmaskingServer next;
  next.session_ = session_;
  next.roster_ = std::move(roster_);
  next.places_ = std::move(places_);
  next.sums_ = std::move(sums_);
  for (const auto& [member, sent] : reported_) next.survivors_.push_back(member);
  return next;
}

Result<void> UnmaskingServer::accept(Answer answer) {
  const Member member = answer.member;
  if (!std::ranges::binary_search(survivors_, member)) {
    return refuse_member(member, "an answer of one who sent no report");
  }
  for (Member other = 0; other < session_.members; ++other) {
    const bool survived = std::ranges::binary_search(survivors_, other);
    const bool has_seed = answer.seeds.contains(other);
    if (has_seed == answer.keys.contains(other) || has_seed != survived) {
      return refuse_member(member, "its answer is not about the clients it was asked about");
    }
    const Share& share = survived ? answer.seeds.at(other) : answer.keys.at(other);
    if (share.x != member + 1) return refuse_member(member, "a share that is not its own");
  }
  if (!answers_.emplace(member, std::move(answer)).second) {
    return refuse_member(member, "its answer came twice");
  }
  return {};
}

Result<void> UnmaskingServer::unmask_survivor(Member survivor,
                                              std::span<std::uint64_t> sums) const {
  std::vector<Share> shares;
  for (const auto& [member, answer] : answers_) shares.push_back(answer.seeds.at(survivor));
  const auto seed = recover(shares, session_.threshold);
  if (!seed || digest_of(*seed) != roster_[survivor].seed_digest) {
    return refuse_member(survivor, "the shares do not give the seed that it announced");
  }
  apply_mask(*seed, Sign::kSubtract, sums);
  return {};
}

Result<void> UnmaskingServer::unmask_dropped(Member dropped, std::span<std::uint64_t> sums) const {
  std::vector<Share> shares;
  for (const auto& [member, answer] : answers_) shares.push_back(answer.keys.at(dropped));
  const auto secret = recover(shares, session_.threshold);
  const PublicKey& key = roster_[dropped].mask_key;
  if (!secret || public_key(*secret) != key) {
    return refuse_member(dropped, "the shares do not give the key that it announced");
  }
  for (const Member survivor : survivors_) {
    const auto pair = agree(*secret, key, roster_[survivor].mask_key, kMaskPurpose, session_.round);
    if (!pair) return refuse_member(survivor, "its key for masks is not a proper one");
    // The survivor's own sign, turned around.
    apply_mask(*pair, survivor < dropped ? Sign::kSubtract : Sign::kAdd, sums);
  }
  return {};
}

Result<std::vector<SummedEnvelope>> UnmaskingServer::release(unsigned threads) const {
  if (answers_.size() < session_.threshold) {
    return fail(ErrorKind::kRefused, "secure aggregation: " + std::to_string(answers_.size()) +
                                         " answers are fewer than the threshold of " +
                                         std::to_string(session_.threshold) +
                                         "; nothing is unmasked");
  }
  const unsigned lanes = std::clamp(threads, 1U, session_.members);
  std::vector<std::vector<std::uint64_t>> parts(lanes, std::vector<std::uint64_t>(sums_.size(), 0));
  SOTTO_CHECK(parallel_for(lanes, session_.members, [&](unsigned lane, std::size_t i) {
    const auto member = static_cast<Member>(i);
    return std::ranges::binary_search(survivors_, member) ? unmask_survivor(member, parts[lane])
                                                          : unmask_dropped(member, parts[lane]);
  }));
  std::vector<SummedEnvelope> released;
  std::size_t next = 0;
  for (const Place& place : places_) {
    SummedEnvelope sum;
    sum.round_ = session_.round;
    sum.mechanism_id_ = place.mechanism_id;
    sum.position_ = place.position;
    sum.reports_ = survivors_.size();
    sum.sums_.resize(place.count);
    for (std::int64_t& value : sum.sums_) {
      std::uint64_t word = sums_[next];
      for (const auto& part : parts) word += part[next];
      value = static_cast<std::int64_t>(word);
      ++next;
    }
    released.push_back(std::move(sum));
  }
  return released;
}

}  // namespace sotto::secure
