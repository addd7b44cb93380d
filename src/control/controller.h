// Controller: decides which operation may use which circuits, and when circuits change. Sans-IO: no clock, socket,
// thread or randomness of its own; the simulator and the daemon are two drivers around the same object.
//
// Rules (gang admission)
//   1. An operation is announced by each of its members. An announcement alone holds nothing and switches nothing.
//   2. Fully announced, it takes a ticket: it enters the queue of every port that it demands, in ticket order.
//   3. First in the queues of all its ports, it is granted at once if its circuits are up, whoever else uses them;
//      else the ports are switched as soon as nobody holds them, and it is granted when light is back.
//   4. From grant to completion by all members it holds its ports. A held port is never switched.
// What executes waits for no grant, and tickets are one total order, so no cycle can form and nothing starves.
//
// Ahead of demand (planner `provisioned`): per port, a table of the demands of one step, learnt from the grants of the
// step before. When every port of the next demand is idle and expects it, the circuits are switched without a demand.
// That grants nothing; a demand that was not expected switches them back and counts as a misprediction, and ports that
// were switched for nothing follow demand alone until the next step.
//
// AdmissionRule::naive_lock is the rule that deadlocks (each member takes its ports when it announces and keeps them
// to completion); it exists to show that, and for tests.
//
// Thread rule: one thread. Every call appends its consequences to `outputs()`, which the driver drains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "base/units.h"
#include "control/demand.h"

namespace photonrail::control {

enum class AdmissionRule : std::uint8_t { gang, naive_lock };

struct ControllerSpec {
  std::uint32_t ports = 0;           // of all GPUs
  std::uint32_t ports_per_gpu = 1;
  bool switch_ahead = false;         // use the learnt table
  AdmissionRule rule = AdmissionRule::gang;
  bool whole_commands = false;       // every port of a command, also one that only loses its circuit, waits for its end
};

// The operation may start. `covered` says that the grant before it on the same ports was for the same demand and
// nothing else was waiting, so a batch grant would have covered it and no message is on its path.
struct Grant {
  OperationId operation = 0;
  bool covered = false;
};

// Circuits to change in one device command: first disconnect, then connect. The driver answers with command_done.
struct SwitchCommand {
  CommandId id = 0;
  std::uint32_t rail = 0;
  bool ahead = false;
  DemandId demand = 0;
  std::vector<Circuit> disconnect;
  std::vector<Circuit> connect;
};

struct Outputs {
  std::vector<Grant> grants;
  std::vector<SwitchCommand> commands;
  std::vector<OperationId> unserved;  // fully announced, but a port is out of service: closed, to go another way
};

// Why an operation has not been granted: `blocker` is the operation that holds a port it needs or stands before it.
struct Waiting {
  OperationId operation = 0;
  std::uint32_t announced = 0;       // members that announced
  std::vector<OperationId> blockers;
};

class Controller {
 public:
  explicit Controller(const ControllerSpec& spec);

  DemandId add_demand(Demand demand);

  // Circuits that are up before anything runs (a static plan). Ports must be free.
  void preset(std::span<const Circuit> circuits);

  // Opens an operation. Ids are reused after completion.
  OperationId open(DemandId demand);
  // A member announces; `gpu` names its ports for the naive rule.
  void announce(OperationId operation, std::uint32_t gpu);
  // Closes an operation that has not been granted. A switch that is on its way for it goes on.
  void cancel(OperationId operation);
  // After a restart: an operation that was granted before takes its holds again, whatever the circuits are.
  OperationId adopt(DemandId demand);
  // All members have completed it: the hold ends.
  void complete(OperationId operation);
  // The device reports that the command is done and light is settled.
  void command_done(CommandId command);
  // The device failed to: what the command's ports carry is not known, so they are out of service.
  void command_failed(CommandId command);
  // Operations over a port that is out of service are `unserved`; what is granted stays granted.
  void set_usable(PortId port, bool usable);
  // Switches for a demand that somebody foresees, if its ports are idle; grants nothing. False: nothing was done.
  bool switch_ahead(DemandId demand);

  // A new step begins: the grants of the step before become the learnt table.
  void begin_step();

  Outputs& outputs() { return outputs_; }

  // State for tests, invariants and diagnosis.
  PortId partner(PortId port) const { return ports_[port].partner; }
  std::uint32_t holds(PortId port) const { return ports_[port].holds; }
  bool switching(PortId port) const { return ports_[port].switching; }
  bool usable(PortId port) const { return ports_[port].usable; }
  bool usable(const Demand& demand) const;
  bool waits_for_switch(OperationId operation) const { return operations_[operation].state == State::switching; }
  const std::vector<OperationId>& queue(PortId port) const { return ports_[port].queue; }
  std::uint64_t mispredictions() const { return mispredictions_; }
  std::vector<Waiting> waiting() const;
  const Demand& demand(DemandId id) const { return demands_[id]; }
  DemandId demand_of(OperationId operation) const { return operations_[operation].demand; }
  // Equal for states that behave alike: ids of operations and commands do not enter. Undrained outputs do not either.
  void add_to(Digest& digest) const;

 private:
  enum class State : std::uint8_t { free, announcing, queued, switching, granted };
  struct Expectation {
    DemandId demand = 0;
    std::uint32_t grants = 0;
  };
  struct Port {
    PortId partner = kNoPort;
    std::uint32_t holds = 0;
    bool switching = false;
    bool usable = true;
    DemandId last_demand = kNoDemand;     // of the last grant
    std::vector<OperationId> queue;        // ticket order; naive rule: the front is the owner
    std::vector<Expectation> learning;    // grants of this step
    std::vector<Expectation> table;       // grants of the step before
    std::uint32_t position = 0;           // in table
    std::uint32_t granted = 0;            // grants of table[position] so far
    DemandId ahead_for = kNoDemand;       // switched ahead for this demand, not yet granted
  };
  struct Operation {
    State state = State::free;
    DemandId demand = 0;
    std::uint32_t announced = 0;
    std::uint32_t at_front = 0;           // ports at whose queue's front it stands
  };
  struct Command {
    DemandId demand = 0;
    OperationId operation = 0;            // waiting for it; unused when ahead
    bool ahead = false;                   // nobody waits for it (any more)
    bool active = false;
    std::vector<Circuit> connect;
    std::vector<Circuit> disconnect;
  };

  std::uint32_t port_count(DemandId demand) const;
  bool circuits_up(const Demand& demand) const;
  bool switchable(const Demand& demand) const;
  void enqueue(OperationId operation, PortId port);
  void try_admit(OperationId operation);
  void withdraw(OperationId operation);
  void divert(OperationId operation);
  void divert_queued(PortId port);
  Command end_command(CommandId id);
  void grant(OperationId operation);
  void leave_queue(OperationId operation, PortId port);
  void issue_switch(DemandId demand, OperationId operation, bool ahead);
  void note_grant(Port& port, DemandId demand);
  DemandId expected(const Port& port) const;
  void try_ahead(PortId port);
  void wake(const Demand& demand);
  void wake_partners(const Demand& demand);

  ControllerSpec spec_;
  std::vector<Port> ports_;
  std::vector<Demand> demands_;
  std::vector<Operation> operations_;
  std::vector<OperationId> free_operations_;
  std::vector<Command> commands_;
  std::vector<CommandId> free_commands_;
  std::uint64_t mispredictions_ = 0;
  Outputs outputs_;
};

}  // namespace photonrail::control
