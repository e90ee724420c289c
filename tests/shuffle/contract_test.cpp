// Contracts have one text each, every part of which the digest covers; tickets are for one client.
#include "shuffle/contract.h"

#include <gtest/gtest.h>

#include <functional>

#include "contract_parts.h"
#include "server/exchange_parts.h"

namespace sotto::rpc {
namespace {

const std::function<void(Contract&)> kChanges[] = {
    [](Contract& c) { c.run[15] = std::byte{2}; },
    [](Contract& c) { c.recipe.back() = 'b'; },
    [](Contract& c) { ++c.round; },
    [](Contract& c) { ++c.group; },
    [](Contract& c) { c.mechanisms[1] = "none.v2"; },
    [](Contract& c) { c.mechanisms.pop_back(); },
    [](Contract& c) { std::swap(c.mechanisms[0], c.mechanisms[1]); },
    [](Contract& c) { ++c.chunks; },
    [](Contract& c) { ++c.chunk_bytes; },
    [](Contract& c) { c.shuffled = false; },
    [](Contract& c) { c.seal_key[31] = 1; },
    [](Contract& c) { c.model.front() = 'c'; },
    [](Contract& c) { c.authority.clear(); },
};

TEST(Contract, HasOneTextThatIsReadBack) {
  const Contract contract = test_contract();
  EXPECT_EQ(Contract::parse(contract.text()), contract);
  for (const auto& change : kChanges) {
    Contract other = contract;
    change(other);
    EXPECT_NE(other.digest(), contract.digest());
    EXPECT_EQ(Contract::parse(other.text()), other) << other.text();
  }
}

TEST(Contract, EveryOtherTextIsRefused) {
  const std::string text = test_contract().text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(Contract::parse(text.substr(0, i))) << i;
    std::string changed = text;
    changed[i] = '\n' == changed[i] ? ' ' : '\n';
    EXPECT_FALSE(Contract::parse(changed)) << i;
    // A bit more or less is refused, or another contract with another digest.
    changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto read = Contract::parse(changed);
    EXPECT_TRUE(!read || read->text() == changed) << i;
  }
  EXPECT_FALSE(Contract::parse(text + '\n'));
  EXPECT_FALSE(Contract::parse(text + "authority none\n"));
  EXPECT_FALSE(Contract::parse(std::string(kLongestContract + 1, 'x')));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return !Contract::parse(changed);
  };
  EXPECT_FALSE(refused("round 1\n", "round 4294967295\n"));
  EXPECT_TRUE(refused("round 1\n", "round 4294967296\n"));
  EXPECT_TRUE(refused("round 1\n", "round 01\n"));
  EXPECT_TRUE(refused("round 1\n", "round +1\n"));
  EXPECT_TRUE(refused("round 1\n", "round -1\n"));
  EXPECT_TRUE(refused("round 1\n", "round 0\n"));
  EXPECT_TRUE(refused("chunks 2\n", "chunks 0\n"));
  EXPECT_TRUE(refused("chunks 2\n", "chunks 16777217\n"));
  EXPECT_TRUE(refused("chunk-bytes 200\n", "chunk-bytes 81\n"));
  EXPECT_TRUE(refused("chunk-bytes 200\n", "chunk-bytes 67108865\n"));
  EXPECT_TRUE(refused("to shuffler\n", "to nobody\n"));
}

TEST(Contract, IsMadeOfWhatAReportDependsOn) {
  const RoundPlan plan = small_plan(3);
  const ReportForm form = ReportForm::make(plan.groups[0].parts, plan.split).value();
  const Terms terms{{}, kTestRecipe, true, {}, ""};
  const auto contract_for = [&](std::span<const Part> parts) {
    return make_contract(terms, 3, 0, parts, ReportForm::make(parts, plan.split).value(),
                         model_digest(std::vector<float>(13)));
  };
  const Contract contract = contract_for(plan.groups[0].parts);
  EXPECT_EQ(contract.chunks, form.chunks());
  EXPECT_EQ(contract.chunk_bytes, form.sealed_bytes());
  EXPECT_EQ(contract.round, 3U);
  EXPECT_TRUE(Contract::parse(contract.text()));
  // Another range is another mechanism.
  std::vector<Part> moved = plan.groups[0].parts;
  Domain domain = moved[0].spec.domain;
  domain.ranges[0].radius = 1.5;
  moved[0].mechanism = make_mechanism("two-point", domain, moved[0].spec.parameters).value();
  EXPECT_NE(contract_for(moved).digest(), contract.digest());
  // Also where the ids were equal.
  const std::vector<Range> here = {{0.0, 1.0}};
  const std::vector<Range> there = {{0.0, 1.0000001}};
  EXPECT_NE(contract_mechanism("same.v1:0123", here), contract_mechanism("same.v1:0123", there));
  EXPECT_NE(model_digest(std::vector<float>(13)), model_digest(std::vector<float>(12)));
}

TEST(Ticket, IsForOneClientInOneRoundOfOneServer) {
  const Contract c = test_contract();
  const identity::SealKey server = identity::SealKey::generate();
  const TicketKey key = make_ticket_key(server, c.run, 1);
  EXPECT_EQ(make_ticket_key(server, c.run, 1), key);  // also when the round is begun anew
  EXPECT_NE(make_ticket_key(server, c.run, 2), key);
  EXPECT_NE(make_ticket_key(server, Tag{}, 1), key);
  const TicketKey other = make_ticket_key(identity::SealKey::generate(), c.run, 1);
  const Ticket ticket = make_ticket(key, c.run, 1, 0, sender_of("ada"));
  EXPECT_TRUE(same_ticket(ticket, make_ticket(key, c.run, 1, 0, sender_of("ada"))));
  EXPECT_FALSE(same_ticket(ticket, make_ticket(other, c.run, 1, 0, sender_of("ada"))));
  EXPECT_FALSE(same_ticket(ticket, make_ticket(key, Tag{}, 1, 0, sender_of("ada"))));
  EXPECT_FALSE(same_ticket(ticket, make_ticket(key, c.run, 2, 0, sender_of("ada"))));
  EXPECT_FALSE(same_ticket(ticket, make_ticket(key, c.run, 1, 1, sender_of("ada"))));
  EXPECT_FALSE(same_ticket(ticket, make_ticket(key, c.run, 1, 0, sender_of("bob"))));
}

}  // namespace
}  // namespace sotto::rpc
