// After fork() parent and child draw different bits, unless a seed says which they are.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "sotto/bits.h"

namespace sotto {
namespace {

constexpr std::size_t kWords = 700;  // beyond what is drawn ahead

std::vector<std::uint64_t> draw(BitSource& bits) {
  std::vector<std::uint64_t> words(kWords);
  for (std::uint64_t& word : words) word = bits.next_u64();
  std::vector<std::uint64_t> bulk(8);
  bits.fill(std::as_writable_bytes(std::span(bulk)));
  words.insert(words.end(), bulk.begin(), bulk.end());
  return words;
}

pid_t by_library() { return ::fork(); }
#ifdef SYS_fork
pid_t by_system() { return static_cast<pid_t>(::syscall(SYS_fork)); }
#else
pid_t by_system() { return ::fork(); }
#endif

/// What a child draws from the source, which the parent has used already.
std::vector<std::uint64_t> drawn_in_child(BitSource& bits, pid_t (*fork_now)(), bool bulk_first) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = fork_now();
  if (child == 0) {
    std::uint64_t first = 0;
    if (bulk_first) bits.fill(std::as_writable_bytes(std::span(&first, 1)));
    std::vector<std::uint64_t> words = draw(bits);
    if (bulk_first) words.push_back(first);
    const std::size_t size = words.size() * sizeof(std::uint64_t);
    const bool written = ::write(ends[1], words.data(), size) == static_cast<ssize_t>(size);
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::vector<std::uint64_t> words(kWords + 8 + (bulk_first ? 1 : 0));
  const std::size_t size = words.size() * sizeof(std::uint64_t);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::read(ends[0], reinterpret_cast<char*>(words.data()) + got, size - got);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(got, size);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return words;
}

/// How many words two lists share; two independent ones share none but with probability 2^-44.
std::size_t shared(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both.size();
}

TEST(Fork, ParentAndChildrenDrawDifferentBits) {
  for (auto* const fork_now : {by_library, by_system}) {
    for (const bool bulk_first : {false, true}) {
      for (const int used : {0, 1, 511, 512}) {
        BitSource bits = BitSource::from_system();
        for (int i = 0; i < used; ++i) bits.next_u64();
        const auto one = drawn_in_child(bits, fork_now, bulk_first);
        const auto two = drawn_in_child(bits, fork_now, bulk_first);
        const auto mine = draw(bits);
        EXPECT_EQ(shared(one, two), 0U) << used;
        EXPECT_EQ(shared(one, mine), 0U) << used;
        EXPECT_EQ(shared(two, mine), 0U) << used;
        EXPECT_EQ(std::ranges::count(one, 0U), 0);  // cleared memory is never given out
      }
    }
  }
}

TEST(Fork, ASourceThatMovedIsFollowedToo) {
  std::vector<BitSource> sources;
  for (int i = 0; i < 3; ++i) sources.push_back(BitSource::from_system());
  for (BitSource& bits : sources) bits.next_u64();
  sources[0] = std::move(sources[2]);
  const auto child = drawn_in_child(sources[0], by_library, false);
  EXPECT_EQ(shared(child, draw(sources[0])), 0U);
}

TEST(Fork, ASeededSourceGoesOnInBoth) {
  BitSource bits = BitSource::from_seed(7, "fork");
  for (int i = 0; i < 5; ++i) bits.next_u64();
  const auto child = drawn_in_child(bits, by_library, false);
  EXPECT_EQ(child, draw(bits));
}

}  // namespace
}  // namespace sotto
