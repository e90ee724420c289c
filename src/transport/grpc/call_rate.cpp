#include "transport/grpc/call_rate.h"

#include <algorithm>

namespace sotto::rpc {

double CallRate::left(const Bucket& bucket, Clock::time_point now) const {
  const double passed = std::chrono::duration<double>(now - bucket.since).count();
  return std::min(limits_.at_once, bucket.left + passed * limits_.a_second);
}

CallRate::Verdict CallRate::call(const std::string& sender, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (buckets_.size() >= limits_.senders) forget_paused(now);
  Bucket& bucket = buckets_.try_emplace(sender, Bucket{limits_.at_once, now, 0}).first->second;
  bucket.left = left(bucket, now);
  bucket.since = now;
  if (bucket.left >= limits_.at_once) bucket.refused = 0;
  if (bucket.left >= 1.0) {
    bucket.left -= 1.0;
    return Verdict::kLetIn;
  }
  if (++bucket.refused < limits_.refusals) return Verdict::kTurnAway;
  bucket.refused = 0;
  return Verdict::kEndConnections;
}

std::size_t CallRate::senders() const {
  const std::scoped_lock lock(mutex_);
  return buckets_.size();
}

void CallRate::forget_paused(Clock::time_point now) {
  if (now - forgot_ < std::chrono::seconds(1)) return;
  forgot_ = now;
  // A full bucket is like a new one.
  std::erase_if(buckets_,
                [&](const auto& entry) { return left(entry.second, now) >= limits_.at_once; });
}

}  // namespace sotto::rpc
