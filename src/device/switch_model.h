// SwitchModel: an optical circuit switch in software, behind every front end of the emulator. Sans-IO and seeded: the
// same seed and the same calls give the same answers; time is handed in.
//
// A write is accepted, processed in order after others (`command_time`), goes dark on its outputs, and light comes back
// after a drawn settling time: blocked -> tuning -> tuned, or failed. Power is input power minus the pair's loss plus
// noise, and -60 dBm in the dark. Invariant, checked always: an input and an output are in one cross-connect at most.
// Misbehaviour is drawn per command from `Faults`, or forced by name for tests; each fault that struck is counted, so
// that a test can prove that it was reached.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "device/types.h"

namespace photonrail::device {

// Probability of each misbehaviour per command (or per tick for the last ones). All zero: a device that only obeys.
struct Faults {
  double applied_but_error = 0;    // does it, reports failure
  double ok_but_not_applied = 0;   // reports success, does nothing
  double partial = 0;              // of a batch only some pairs are applied; reported as `partial_reported` says
  bool partial_reported = true;
  double reverts = 0;              // applied, undone after 5 s
  double wrong_output = 0;         // light goes to another free output
  double fails_to_tune = 0;        // ends in `failed`
  double no_reply = 0;             // front end: the reply is lost
  double late_reply = 0;           // front end: the reply comes after `late_by`
  double garbage = 0;              // front end: bytes that are no reply come before it
  double split = 0;                // front end: the reply comes in pieces
  double disconnects = 0;          // front end: the connection breaks instead of replying (before or after applying)
  double half_open = 0;            // front end: the connection goes silent and stays so
  double busy = 0;                 // refuses because something else runs
  double mirror_stuck = 0;         // an output of the command stays dark, whatever it says, until it is repaired
  double stale_entry = 0;          // a removed pair stays in the reported matrix until it is added again, then removed
  double foreign_change = 0;       // per second: another user changes a cross-connect
  double port_fails = 0;           // per second: an output fails and stays so
  double retunes = 0;              // per second: a settled output drifts away, goes dark and settles again
  Duration late_by = std::chrono::seconds(3);
};

// Names of the members of Faults that are probabilities, in their order.
const std::vector<std::string>& fault_names();
// False where there is no fault of that name.
bool set_fault(Faults& faults, std::string_view name, double probability);

enum class ColdBoot : std::uint8_t { remove, restore, maintain };  // what a power cycle leaves

struct SwitchModelSpec {
  Position inputs = 16;
  Position outputs = 16;
  std::string maker = "Photonrail";
  std::string model = "EMU-16x16";
  std::string serial = "0001";
  std::string firmware = "1.0";
  bool has_power = true;
  OnConflict on_conflict = OnConflict::rejects;
  Duration command_time = std::chrono::milliseconds(2);
  Duration settle_median = std::chrono::milliseconds(20);
  double settle_sigma = 0.2;                         // of the logarithm
  Duration min_gap{};                                // commands sooner than this wedge it for a second; 0: never
  ColdBoot cold_boot = ColdBoot::remove;
  bool settles_in_turn = false;                      // pairs of a batch one after the other, else all at once
  Duration conflict_time{};                          // more settling where an add steals a busy port
  double loss_db = 1.5, loss_sigma = 0.3, input_dbm = 0.0;
  double noise_db = 0.05;                            // of one reading
  double drift_db_per_day = 0;                       // more loss, the longer a pair stands
  std::uint64_t seed = 1;
  Faults faults;
};

// One write as a front end understood it. `writer` names who asked (session, user), for the writer log.
struct WriteRequest {
  enum class Conflict : std::uint8_t { device_default, steal, reject };
  std::string writer;
  std::vector<CrossConnect> remove;
  std::vector<CrossConnect> add;
  Conflict conflict = Conflict::device_default;
  bool replace_all = false;          // remove everything else first
};

struct WriteReply {
  Outcome outcome = Outcome::applied;       // as reported, which need not be the truth
  std::vector<Outcome> remove, add;         // per pair, as reported; a remove of what is not there is `rejected`,
                                            // which makes no failure of the whole
  Instant accepted{};                       // when the reply may leave the box
  std::string text;                         // reason for a refusal
};

// What really happened, for history checkers; the front ends never show it. What the box did by itself has the writers
// "device:revert" and "device:power"; other users are "foreign".
struct WriterLogEntry {
  Instant at{};
  std::string writer;
  std::vector<CrossConnect> removed, added;
};

class SwitchModel {
 public:
  explicit SwitchModel(SwitchModelSpec spec);

  const SwitchModelSpec& spec() const;
  void advance(Instant now);                          // time never goes back
  Instant next_change() const;                        // when advance would change something, or kNever

  // The matrix changes and goes dark at `now`; the reply may leave, and settling starts, at WriteReply::accepted.
  WriteReply write(const WriteRequest& request, Instant now);
  // A command that writes nothing takes its place in the queue: when its reply may leave. Too soon after the one before
  // it, it wedges the box as a write does.
  Instant take_turn(Instant now);
  std::vector<CrossConnect> connections(Instant now); // as reported
  OutputReading reading(Position output, Instant now);
  void set_port(Position output, bool enabled, Instant now);

  // Faults on demand, and acts of God.
  void force(const std::string& fault, unsigned times = 1);       // name of a member of Faults; next `times` commands
  void set_faults(const Faults& faults, Instant now);             // from now on
  bool draw(const std::string& fault);                            // for front ends: does it strike now? counts it
  void fail_port(Position output, Instant now);
  void repair_port(Position output, Instant now);                 // also of a stuck mirror; settles anew
  void foreign_write(const WriteRequest& request, Instant now);
  void power_cycle(Instant now, Duration off);                    // what is left: spec().cold_boot
  void restart_management(Instant now, Duration off);             // warm: light stays
  bool up(Instant now) const;                                     // management answers

  // The truth.
  bool lit(const CrossConnect& pair, Instant now);                // light of `pair.in` arrives at `pair.out`
  const std::vector<WriterLogEntry>& writer_log() const;
  void clear_writer_log();
  const std::map<std::string, std::uint64_t>& faults_struck() const;
  std::vector<Position> changed_outputs();                        // since the last call, for event streams
  std::vector<Position> changed_outputs(std::uint64_t& cursor);   // the same for several readers; a cursor starts at 0

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // copied by nobody but tests that want the same box behind several front ends
};

}  // namespace photonrail::device
