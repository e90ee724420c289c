// Which machine this is, for records of what was measured, and what it is asked to take back.
#pragma once

#include <cstdint>
#include <string>

namespace sotto {

/// "2 cores, AMD EPYC 9R14": cores, and the model of the processor where the system tells it.
std::string machine_text();

/// Memory that the machine has, in bytes; 0 where the system does not tell.
std::uint64_t memory_bytes();
/// Memory that the process holds, in bytes; 0 where the system does not tell.
std::uint64_t resident_bytes();
/// The most that it held since the last restart_peak().
std::uint64_t peak_resident_bytes();
void restart_peak();

/// All threads that start later take memory from one pool. A thread that serves one call after the
/// other would otherwise leave what a report took in a pool of its own, and the next one would fill
/// another: a server's memory would grow with the number of pools, and its pages be new each time.
void share_memory_pool();

/// Hands freed memory back to the system, after something large that was needed once.
void give_back_memory();

}  // namespace sotto
