// What every optical circuit switch (OCS) has in common, whatever it speaks.
//
// A switch has `inputs` fibres that light enters by and `outputs` fibres that it leaves by. A cross-connect joins one
// input to one output; an input or output carries at most one. Positions count from 0 on each side; how a dialect
// numbers them (Polatis: 1..N and N+1..N+M in one space, Calient: 1.1.1, SONiC: 1A) is its codec's affair.
// A duplex circuit between the ports p and q of a rail is two cross-connects, {p, q} and {q, p}.
// Plain values; safe to copy between threads.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"

namespace photonrail::device {

using Position = std::uint16_t;

struct CrossConnect {
  Position in = 0;
  Position out = 0;
  friend auto operator<=>(const CrossConnect&, const CrossConnect&) = default;
};

// State of an output's light path. `blocked`: no cross-connect, dark. `tuning`: mirrors move or settle. `tuned`: light
// within tolerance. `failed`: the switch knows that it could not tune. `disabled`: shut by somebody. `unknown`: not
// said.
enum class PortStatus : std::uint8_t { unknown, blocked, tuning, tuned, disabled, failed };

struct OutputReading {
  PortStatus status = PortStatus::unknown;
  std::optional<double> power_dbm;  // absent where the model has no detector
};

// What the device holds, read back. `connections` sorted; `outputs` empty or one per output.
struct Snapshot {
  std::vector<CrossConnect> connections;
  std::vector<OutputReading> outputs;
};

// Checked on every connection: a driver never writes to a box that is not the one of its configuration.
struct Identity {
  std::string maker;
  std::string model;
  std::string serial;
  std::string firmware;
  Position inputs = 0;
  Position outputs = 0;
};

// What an add over a busy input or output does (reference: table of differences between vendors).
enum class OnConflict : std::uint8_t { unknown, steals, rejects };

struct Capabilities {
  bool atomic_batch = false;  // several pairs in one write, all or nothing
  bool events = false;        // pushes changes
  bool power = false;         // reads optical power at outputs
  bool status = false;        // says tuning / tuned / failed per port
  bool port_control = false;  // can disable and enable ports
  bool login = false;
  OnConflict on_conflict = OnConflict::unknown;
  std::uint16_t max_batch = 1;        // pairs in one write
  std::uint16_t max_power_ports = 0;  // outputs in one power query
  Duration min_gap{};                 // between the answer to one command and the next
  Duration settle_typical{};          // from acceptance to light
  Duration settle_max{};
};

// How a write ended. `applied`: the device says so (that is not light: see Reconciler). `rejected`: refused, nothing
// changed. `failed`: the device reports a failure, what changed is not known. `unknown`: no answer, or none that can be
// understood. After `failed` and `unknown` the caller reads before it writes again.
enum class Outcome : std::uint8_t { applied, rejected, failed, unknown };

const char* name(PortStatus status);
const char* name(Outcome outcome);

}  // namespace photonrail::device
