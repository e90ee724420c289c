// A contract for tests, and what its digests look like.
#pragma once

#include "shuffle/contract.h"
#include "shuffle/ticket.h"

namespace sotto::rpc {

inline Contract test_contract() {
  Contract contract;
  contract.run.fill(std::byte{0x1f});
  contract.recipe = std::string(64, 'a');
  contract.round = 1;
  contract.group = 0;
  contract.mechanisms = {"two-point.v1.0123abcd", "none.v1"};
  contract.chunks = 2;
  contract.chunk_bytes = 200;
  contract.shuffled = true;
  contract.seal_key.fill(7);
  contract.model = std::string(64, 'b');
  contract.authority = std::string(64, 'c');
  return contract;
}

}  // namespace sotto::rpc
