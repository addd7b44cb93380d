// The most that a message may hold. Beyond: refused, not cut. Bytes for texts, elements for lists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace photonrail::wire {

inline constexpr std::size_t kMessageBytes = std::size_t{4} << 20;  // of one gRPC message
inline constexpr int kFrameMessages = 1024;                         // in a RankFrame or DaemonFrame
inline constexpr std::size_t kNameBytes = 128;                      // of a job or switch
inline constexpr std::size_t kKeyBytes = 512;                       // of a group
inline constexpr std::size_t kTextBytes = 4096;                     // reasons, versions, for people
inline constexpr int kMembers = 65536;                              // of a group
inline constexpr int kGroups = 65536;                               // in a Hello
inline constexpr int kPorts = 1 << 18;                              // of a job
inline constexpr std::uint32_t kPortsPerRank = 64;
inline constexpr std::uint32_t kHistory = 10'000;  // records in one answer
inline constexpr std::int64_t kDurationSeconds = 86'400 * 365;

}  // namespace photonrail::wire
