// Strict reading: what a message may not have is refused before anything is made of it.
#include "transport/grpc/messages.h"

#include <gtest/gtest.h>

#include <limits>

#include "server/coordinator/turnstile.h"
#include "shuffle/contract_parts.h"

namespace sotto::rpc {
namespace {

const std::string kHash(64, 'a');
const std::string kTag(16, 't');
const std::string kTicket(32, 'k');

v2::JoinReply good_join() {
  v2::JoinReply reply;
  reply.set_index(1);
  reply.set_clients(3);
  reply.set_recipe("[data]");
  reply.set_recipe_hash(kHash);
  reply.set_seal_key(std::string(32, 'k'));
  reply.set_run(kTag);
  return reply;
}

v2::Task good_task() {
  v2::Task task;
  task.set_round(1);
  task.set_attempt(kTag);
  task.set_recipe_hash(kHash);
  task.set_weights(10);
  v2::TaskPart& part = *task.add_parts();
  part.set_mechanism_id("none.v1");
  part.add_tensors(0);
  part.add_centres(0.0);
  part.add_radii(1.0);
  return task;
}

/// The message with one more field that no version 2 has.
template <class Message>
Message with_unknown_field(const Message& message) {
  std::string bytes = message.SerializeAsString();
  bytes += std::string("\xF8\x07\x01", 3);  // field 127, varint 1
  Message more;
  EXPECT_TRUE(more.ParseFromString(bytes));
  return more;
}

TEST(Messages, JoinReply) {
  ASSERT_TRUE(read_join(good_join()));
  EXPECT_FALSE(read_join(with_unknown_field(good_join())));
  const auto refused = [](auto&& change) {
    v2::JoinReply reply = good_join();
    change(reply);
    return !read_join(reply);
  };
  EXPECT_TRUE(refused([](auto& m) { m.set_recipe_hash("abc"); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_recipe_hash(std::string(64, 'G')); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_seal_key("short"); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_run(std::string(17, 'x')); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_index(3); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_recipe(std::string(kLongestRecipe + 1, ' ')); }));
  EXPECT_TRUE(refused([](auto& m) {
    for (int i = 0; i < 1001; ++i) m.add_settings("a=b");
  }));
  EXPECT_TRUE(refused([](auto& m) {
    for (int i = 0; i < 2; ++i) m.add_settings("a=" + std::string(kLongestRecipe / 2, '1'));
  }));
}

TEST(Messages, Task) {
  ASSERT_TRUE(read_task(good_task()));
  EXPECT_FALSE(read_task(with_unknown_field(good_task())));
  const auto refused = [](auto&& change) {
    v2::Task task = good_task();
    change(task);
    return !read_task(task);
  };
  EXPECT_TRUE(refused([](auto& m) { m.set_round(0); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_attempt(""); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_ticket("short"); }));
  EXPECT_FALSE(refused([](auto& m) { m.set_ticket(kTicket); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_weights(std::uint64_t{1} << 40); }));
  EXPECT_TRUE(refused([](auto& m) { m.mutable_parts(0)->add_tensors(1); }));
  EXPECT_TRUE(refused([](auto& m) { m.mutable_parts(0)->set_radii(0, 0.0); }));
  EXPECT_TRUE(refused([](auto& m) {
    m.mutable_parts(0)->set_centres(0, std::numeric_limits<double>::quiet_NaN());
  }));
  // Inside another message as well.
  v2::Task task = good_task();
  *task.mutable_parts(0) = with_unknown_field(task.parts(0));
  EXPECT_FALSE(read_task(task));
}

TEST(Messages, SubmitHeader) {
  v2::SubmitHeader header;
  header.set_name("ada");
  header.set_contract(test_contract().text());
  header.set_minimum(5);
  header.set_ticket(kTicket);
  header.set_digest(kHash);
  const auto read = read_submission(header);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->contract, test_contract());
  EXPECT_EQ(read->minimum, 5U);
  EXPECT_FALSE(read_submission(with_unknown_field(header)));
  const auto refused = [&](auto&& change) {
    v2::SubmitHeader other = header;
    change(other);
    return !read_submission(other);
  };
  EXPECT_TRUE(refused([](auto& m) { m.set_name("two words"); }));
  EXPECT_TRUE(refused([](auto& m) { m.clear_contract(); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_contract(m.contract() + ' '); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_ticket("short"); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_digest("abc"); }));
  EXPECT_FALSE(refused([](auto& m) { m.clear_ticket(); }));  // the shuffler asks for it
  EXPECT_FALSE(refused([](auto& m) { m.clear_digest(); }));  // the gate asks for it
}

TEST(Messages, OpenReply) {
  v2::OpenReply reply;
  reply.set_run(kTag);
  reply.set_round(1);
  reply.set_attempt(kTag);
  reply.set_ticket_key(kTicket);
  reply.add_groups()->set_contract(kHash);
  reply.mutable_groups(0)->add_declined(kTicket);
  ASSERT_TRUE(read_open(reply));
  EXPECT_EQ(read_open(reply)->open.groups[0].declined.size(), 1U);
  EXPECT_FALSE(read_open(with_unknown_field(reply)));
  const auto refused = [&](auto&& change) {
    v2::OpenReply other = reply;
    change(other);
    return !read_open(other);
  };
  EXPECT_TRUE(refused([](auto& m) { m.mutable_groups(0)->set_contract("abc"); }));
  EXPECT_TRUE(refused([](auto& m) { m.mutable_groups(0)->add_declined("abc"); }));
  EXPECT_TRUE(refused([](auto& m) { m.add_groups()->set_contract(kHash); }));  // for two groups
  EXPECT_TRUE(refused([](auto& m) { m.clear_ticket_key(); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_attempt("x"); }));
}

TEST(Messages, Compare) {
  v2::CompareRequest request;
  request.set_name("ada");
  request.set_run(kTag);
  request.set_round(3);
  ASSERT_TRUE(read_compare(request));
  EXPECT_FALSE(read_compare(with_unknown_field(request)));
  request.set_run("x");
  EXPECT_FALSE(read_compare(request));
  const std::vector<Asked> asked = {{kHash, 1, 7}, {std::string(64, 'b'), 0, 2}};
  v2::CompareReply reply;
  write_asked(asked, reply);
  EXPECT_EQ(read_asked(reply), asked);
  EXPECT_FALSE(read_asked(with_unknown_field(reply)));
  reply.mutable_asked(0)->set_contract("x");
  EXPECT_FALSE(read_asked(reply));
}

TEST(Messages, StatusAndErrorAgreeOnWhatMayBeTriedAgain) {
  for (const ErrorKind kind : {ErrorKind::kIo, ErrorKind::kBusy, ErrorKind::kRefused}) {
    EXPECT_EQ(to_error(to_status({kind, "x"}), "here").kind, kind);
  }
  // A fault of the server's may pass, and a stream that the network resets has the same status.
  EXPECT_EQ(to_error(to_status({ErrorKind::kInternal, "x"}), "here").kind, ErrorKind::kIo);
  EXPECT_EQ(to_error({grpc::StatusCode::ABORTED, "x"}, "here").kind, ErrorKind::kIo);
  EXPECT_EQ(to_error(to_status({ErrorKind::kUsage, "x"}), "here").kind, ErrorKind::kCorrupt);
}

TEST(Messages, TheStatusCodeAloneSaysWhoIsBusy) {
  EXPECT_EQ(to_status(busy("all places taken")).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const grpc::Status library(grpc::StatusCode::RESOURCE_EXHAUSTED, "in other words");
  EXPECT_EQ(to_error(library, "here").kind, ErrorKind::kBusy);
  EXPECT_EQ(to_status({ErrorKind::kIo, "busy: the disk is"}).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(to_error({grpc::StatusCode::UNAVAILABLE, "busy: line"}, "here").kind, ErrorKind::kIo);
}

TEST(Messages, ADigestCoversEveryByteOfEveryChunk) {
  const std::vector<std::vector<std::byte>> chunks{std::vector<std::byte>(90, std::byte{1}),
                                                   std::vector<std::byte>(90, std::byte{2}),
                                                   std::vector<std::byte>(90, std::byte{3})};
  const std::string digest = digest_of(chunks);
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    for (std::size_t i = 0; i < chunks[chunk].size(); ++i) {
      auto changed = chunks;
      changed[chunk][i] ^= std::byte{1};
      EXPECT_NE(digest_of(changed), digest) << chunk << ' ' << i;
    }
  }
  EXPECT_NE(digest_of(std::vector{chunks[1], chunks[0], chunks[2]}), digest);
  EXPECT_NE(digest_of(std::span(chunks).first(2)), digest);
  ReportDigest backwards(3);
  for (const std::size_t i : {2U, 0U, 1U}) backwards.add(i, chunks[i]);
  EXPECT_EQ(backwards.hex(), digest);
}

}  // namespace
}  // namespace sotto::rpc
