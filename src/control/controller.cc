#include "control/controller.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::control {
namespace {

template <class Visit>
void for_each_port(const Demand& demand, Visit visit) {
  for (const Circuit& circuit : demand.circuits) {
    visit(circuit.a);
    visit(circuit.b);
  }
}

}  // namespace

Controller::Controller(const ControllerSpec& spec) : spec_(spec), ports_(spec.ports) {
  PR_CHECK(spec.ports_per_gpu > 0, "a GPU without ports has no controller");
}

DemandId Controller::add_demand(Demand demand) {
  PR_CHECK(!demand.circuits.empty() && demand.members > 0, "a demand without circuits or members");
  std::vector<PortId> used;
  for_each_port(demand, [&](PortId port) {
    PR_CHECK(port < ports_.size(), "a demand for a port that does not exist");
    used.push_back(port);
  });
  std::sort(used.begin(), used.end());
  PR_CHECK(std::adjacent_find(used.begin(), used.end()) == used.end(), "a demand that uses one port twice");
  demands_.push_back(std::move(demand));
  return static_cast<DemandId>(demands_.size() - 1);
}

void Controller::preset(std::span<const Circuit> circuits) {
  for (const Circuit& circuit : circuits) {
    PR_CHECK(ports_[circuit.a].partner == kNoPort && ports_[circuit.b].partner == kNoPort, "a port with two circuits");
    ports_[circuit.a].partner = circuit.b;
    ports_[circuit.b].partner = circuit.a;
  }
}

std::uint32_t Controller::port_count(DemandId demand) const {
  return static_cast<std::uint32_t>(demands_[demand].circuits.size() * 2);
}

OperationId Controller::open(DemandId demand) {
  OperationId id = static_cast<OperationId>(operations_.size());
  if (free_operations_.empty()) {
    operations_.emplace_back();
  } else {
    id = free_operations_.back();
    free_operations_.pop_back();
  }
  operations_[id] = {State::announcing, demand, 0, 0};
  return id;
}

void Controller::announce(OperationId operation, std::uint32_t gpu) {
  Operation& op = operations_[operation];
  const Demand& wanted = demands_[op.demand];
  PR_CHECK(op.state == State::announcing, "an announcement for an operation that is not open");
  PR_CHECK(op.announced < wanted.members, "more announcements than members");
  ++op.announced;
  if (spec_.rule == AdmissionRule::naive_lock) {
    for_each_port(wanted, [&](PortId port) {
      if (port / spec_.ports_per_gpu == gpu) enqueue(operation, port);
    });
  }
  if (op.announced < wanted.members) return;
  op.state = State::queued;
  if (spec_.rule == AdmissionRule::gang) {
    for_each_port(wanted, [&](PortId port) { enqueue(operation, port); });
  }
  try_admit(operation);
}

void Controller::enqueue(OperationId operation, PortId port) {
  ports_[port].queue.push_back(operation);
  if (ports_[port].queue.size() == 1) ++operations_[operation].at_front;
}

void Controller::leave_queue(OperationId operation, PortId port) {
  auto& queue = ports_[port].queue;
  PR_CHECK(!queue.empty() && queue.front() == operation, "an operation leaves a queue that it does not lead");
  queue.erase(queue.begin());
  if (!queue.empty()) ++operations_[queue.front()].at_front;
}

bool Controller::circuits_up(const Demand& demand) const {
  return std::all_of(demand.circuits.begin(), demand.circuits.end(), [&](const Circuit& circuit) {
    return ports_[circuit.a].partner == circuit.b && !ports_[circuit.a].switching;
  });
}

bool Controller::switchable(const Demand& demand) const {
  return std::all_of(demand.circuits.begin(), demand.circuits.end(), [&](const Circuit& circuit) {
    const Port& a = ports_[circuit.a];
    const Port& b = ports_[circuit.b];
    if (a.switching || b.switching) return false;
    const auto free = [&](const Port& port) {
      return port.holds == 0 && (port.partner == kNoPort || ports_[port.partner].holds == 0);
    };
    return a.partner == circuit.b || (free(a) && free(b));
  });
}

bool Controller::usable(const Demand& demand) const {
  return std::all_of(demand.circuits.begin(), demand.circuits.end(), [&](const Circuit& circuit) {
    return ports_[circuit.a].usable && ports_[circuit.b].usable;
  });
}

void Controller::try_admit(OperationId operation) {
  const Operation& op = operations_[operation];
  if (op.state != State::queued || op.at_front != port_count(op.demand)) return;
  const Demand& wanted = demands_[op.demand];
  if (!usable(wanted)) {
    divert(operation);
  } else if (circuits_up(wanted)) {
    grant(operation);
  } else if (switchable(wanted)) {
    issue_switch(op.demand, operation, false);
  }
}

void Controller::grant(OperationId operation) {
  Operation& op = operations_[operation];
  op.state = State::granted;
  const Demand& wanted = demands_[op.demand];
  bool covered = true;
  for_each_port(wanted, [&](PortId id) {
    Port& port = ports_[id];
    covered = covered && port.last_demand == op.demand;
    note_grant(port, op.demand);
    ++port.holds;
  });
  outputs_.grants.push_back({operation, covered});
  if (spec_.rule == AdmissionRule::naive_lock) return;
  for_each_port(wanted, [&](PortId id) { leave_queue(operation, id); });
  wake(wanted);
}

// Keeps what this step grants, and follows the table of the step before.
void Controller::note_grant(Port& port, DemandId demand) {
  port.last_demand = demand;
  port.ahead_for = kNoDemand;
  if (!spec_.switch_ahead) return;
  if (port.learning.empty() || port.learning.back().demand != demand) port.learning.push_back({demand, 0});
  ++port.learning.back().grants;
  if (port.table.empty()) return;
  if (port.table[port.position].demand == demand) {
    ++port.granted;
    return;
  }
  for (std::size_t i = port.position + 1; i < port.table.size(); ++i) {
    if (port.table[i].demand != demand) continue;
    port.position = static_cast<std::uint32_t>(i);
    port.granted = 1;
    return;
  }
  port.table.clear();  // the step went another way: on demand until the next step teaches a new table
}

// The demand that this port serves next by its table, or kNoDemand while the present entry is not used up.
DemandId Controller::expected(const Port& port) const {
  if (port.table.empty()) return kNoDemand;
  const Expectation& present = port.table[port.position];
  if (port.granted == 0) return present.demand;
  if (port.granted < present.grants) return kNoDemand;
  return port.table[(port.position + 1) % port.table.size()].demand;
}

void Controller::try_ahead(PortId id) {
  const DemandId next = expected(ports_[id]);
  if (next == kNoDemand) return;
  const Demand& wanted = demands_[next];
  bool ready = true;
  bool up = true;
  for (const Circuit& circuit : wanted.circuits) {
    for (const PortId port_id : {circuit.a, circuit.b}) {
      const Port& port = ports_[port_id];
      ready = ready && port.holds == 0 && !port.switching && port.queue.empty() && expected(port) == next;
    }
    if (!ready) return;
    up = up && ports_[circuit.a].partner == circuit.b;
  }
  if (!up) issue_switch(next, 0, true);
}

void Controller::issue_switch(DemandId demand, OperationId operation, bool ahead) {
  CommandId id = static_cast<CommandId>(commands_.size());
  if (free_commands_.empty()) {
    commands_.emplace_back();
  } else {
    id = free_commands_.back();
    free_commands_.pop_back();
  }
  if (!ahead) operations_[operation].state = State::switching;
  SwitchCommand command{id, demands_[demand].rail, ahead, demand, {}, {}};
  std::vector<PortId> mispredicted;
  for (const Circuit& circuit : demands_[demand].circuits) {
    if (ports_[circuit.a].partner == circuit.b) continue;
    for (const PortId port : {circuit.a, circuit.b}) {
      const PortId old = ports_[port].partner;
      if (ports_[port].ahead_for != kNoDemand && ports_[port].ahead_for != demand) mispredicted.push_back(port);
      if (old == kNoPort) continue;
      PR_CHECK(ports_[port].holds == 0 && ports_[old].holds == 0, "a held circuit is switched");
      command.disconnect.push_back({port, old});
      ports_[port].partner = kNoPort;
      ports_[old].partner = kNoPort;
      ports_[old].ahead_for = kNoDemand;
    }
    command.connect.push_back(circuit);
  }
  for (const Circuit& circuit : command.connect) {
    for (const PortId port : {circuit.a, circuit.b}) {
      ports_[port].switching = true;
      ports_[port].ahead_for = ahead ? demand : kNoDemand;
    }
    ports_[circuit.a].partner = circuit.b;
    ports_[circuit.b].partner = circuit.a;
  }
  if (!mispredicted.empty()) ++mispredictions_;
  for (const PortId port : mispredicted) ports_[port].table.clear();  // as in note_grant: it went another way
  if (spec_.whole_commands) {
    for (const Circuit& circuit : command.disconnect) ports_[circuit.b].switching = true;
  }
  commands_[id] = {demand, operation, ahead, true, command.connect, command.disconnect};
  outputs_.commands.push_back(std::move(command));
}

Controller::Command Controller::end_command(CommandId id) {
  PR_CHECK(id < commands_.size() && commands_[id].active, "an answer to a command that was not given");
  Command command = std::move(commands_[id]);
  commands_[id].active = false;
  free_commands_.push_back(id);
  for (const auto* circuits : {&command.connect, &command.disconnect}) {
    for (const Circuit& circuit : *circuits) {
      if (circuits == &command.disconnect && !spec_.whole_commands) continue;
      ports_[circuit.a].switching = false;
      ports_[circuit.b].switching = false;
    }
  }
  return command;
}

void Controller::command_done(CommandId id) {
  const Command command = end_command(id);
  if (!command.ahead) {
    operations_[command.operation].state = State::queued;
    try_admit(command.operation);
  }
  wake(demands_[command.demand]);
  if (spec_.whole_commands) wake({command.disconnect, 0, 0});
}

void Controller::command_failed(CommandId id) {
  const Command command = end_command(id);
  std::vector<PortId> lost;
  for (const auto* circuits : {&command.connect, &command.disconnect}) {
    for (const Circuit& circuit : *circuits) lost.insert(lost.end(), {circuit.a, circuit.b});
  }
  for (const PortId port : lost) {
    ports_[port].usable = false;
    ports_[port].partner = kNoPort;
    ports_[port].ahead_for = kNoDemand;
  }
  if (!command.ahead) divert(command.operation);
  for (const PortId port : lost) divert_queued(port);
}

void Controller::set_usable(PortId id, bool usable) {
  PR_CHECK(id < ports_.size(), "a port that does not exist");
  ports_[id].usable = usable;
  if (!usable) divert_queued(id);
}

void Controller::divert_queued(PortId port) {
  const std::vector<OperationId> queue = ports_[port].queue;
  for (const OperationId operation : queue) {
    if (operations_[operation].state == State::queued) divert(operation);
  }
}

// Takes an operation that is fully announced, or about to be, out of all queues.
void Controller::withdraw(OperationId operation) {
  Operation& op = operations_[operation];
  const DemandId demand = op.demand;
  if (op.state == State::switching) {
    for (Command& command : commands_) {
      if (command.active && !command.ahead && command.operation == operation) command.ahead = true;
    }
  }
  for_each_port(demands_[demand], [&](PortId port) {
    auto& queue = ports_[port].queue;
    const auto found = std::find(queue.begin(), queue.end(), operation);
    if (found == queue.end()) return;
    const bool led = found == queue.begin();
    queue.erase(found);
    if (led && !queue.empty()) ++operations_[queue.front()].at_front;
  });
  op.state = State::free;
  free_operations_.push_back(operation);
}

void Controller::divert(OperationId operation) {
  const DemandId demand = operations_[operation].demand;
  withdraw(operation);
  outputs_.unserved.push_back(operation);
  wake(demands_[demand]);
}

void Controller::cancel(OperationId operation) {
  const State state = operations_[operation].state;
  PR_CHECK(state != State::free && state != State::granted, "only what waits can be cancelled");
  const DemandId demand = operations_[operation].demand;
  withdraw(operation);
  wake(demands_[demand]);
}

OperationId Controller::adopt(DemandId demand) {
  const OperationId id = open(demand);
  operations_[id].state = State::granted;
  operations_[id].announced = demands_[demand].members;
  for_each_port(demands_[demand], [&](PortId port) { ++ports_[port].holds; });
  return id;
}

bool Controller::switch_ahead(DemandId demand) {
  const Demand& wanted = demands_[demand];
  bool idle = usable(wanted);
  for_each_port(wanted, [&](PortId id) { idle = idle && ports_[id].holds == 0 && ports_[id].queue.empty(); });
  if (!idle || circuits_up(wanted) || !switchable(wanted)) return false;
  issue_switch(demand, 0, true);
  return true;
}

void Controller::complete(OperationId operation) {
  Operation& op = operations_[operation];
  PR_CHECK(op.state == State::granted, "completion of an operation that was not granted");
  const Demand& wanted = demands_[op.demand];
  for_each_port(wanted, [&](PortId port) {
    PR_CHECK(ports_[port].holds > 0, "a hold that nobody took is released");
    --ports_[port].holds;
    if (spec_.rule == AdmissionRule::naive_lock) leave_queue(operation, port);
  });
  op.state = State::free;
  free_operations_.push_back(operation);
  wake(wanted);
  if (spec_.whole_commands) wake_partners(wanted);
  if (!spec_.switch_ahead) return;
  DemandId tried = kNoDemand;
  for_each_port(wanted, [&](PortId port) {
    if (ports_[port].holds > 0 || expected(ports_[port]) == tried) return;
    tried = expected(ports_[port]);
    try_ahead(port);
  });
}

// Gives the operations that lead the queues of a demand's ports another chance.
void Controller::wake(const Demand& demand) {
  OperationId tried = 0xffffffff;
  for (std::size_t i = 0; i < demand.circuits.size(); ++i) {
    for (const PortId port : {demand.circuits[i].a, demand.circuits[i].b}) {
      if (ports_[port].queue.empty() || ports_[port].queue.front() == tried) continue;
      tried = ports_[port].queue.front();
      try_admit(tried);
    }
  }
}

// An adopted hold may lie on ports that other circuits use: those wait at the other end.
void Controller::wake_partners(const Demand& demand) {
  for_each_port(demand, [&](PortId id) {
    const PortId partner = ports_[id].partner;
    if (partner != kNoPort && !ports_[partner].queue.empty()) try_admit(ports_[partner].queue.front());
  });
}

void Controller::begin_step() {
  for (Port& port : ports_) {
    port.table = std::move(port.learning);
    port.learning.clear();
    port.position = 0;
    port.granted = 0;
  }
  if (!spec_.switch_ahead) return;
  for (PortId port = 0; port < ports_.size(); ++port) try_ahead(port);
}

void Controller::add_to(Digest& digest) const {
  for (const Port& port : ports_) {
    digest.add(port.partner);
    digest.add(port.holds * 4 + (port.switching ? 2U : 0U) + (port.usable ? 1U : 0U));
    digest.add(port.ahead_for);
    digest.add(port.queue.size());
    for (const OperationId id : port.queue) {
      digest.add(operations_[id].demand * 8ULL + static_cast<unsigned>(operations_[id].state));
      digest.add(operations_[id].announced);
    }
    for (const auto* expectations : {&port.learning, &port.table}) {
      digest.add(expectations->size());
      for (const Expectation& e : *expectations) digest.add(e.demand * (1ULL << 32) + e.grants);
    }
    digest.add(port.position * (1ULL << 32) + port.granted);
  }
  // Commands on the way: no two of them share a port, so a sum keeps the order of ids out.
  std::uint64_t sum = 0;
  for (const Command& command : commands_) {
    if (!command.active) continue;
    Digest one;
    one.add(command.demand * 2ULL + (command.ahead ? 1U : 0U));
    for (const auto* circuits : {&command.connect, &command.disconnect}) {
      one.add(circuits->size());
      for (const Circuit& circuit : *circuits) one.add(circuit.a * (1ULL << 32) + circuit.b);
    }
    sum += one.value();
  }
  digest.add(sum);
}

std::vector<Waiting> Controller::waiting() const {
  // Who holds each port, for there is no such list in the running state.
  std::vector<std::vector<OperationId>> holders(ports_.size());
  for (OperationId id = 0; id < operations_.size(); ++id) {
    if (operations_[id].state != State::granted) continue;
    for_each_port(demands_[operations_[id].demand], [&](PortId port) { holders[port].push_back(id); });
  }
  std::vector<Waiting> result;
  for (OperationId id = 0; id < operations_.size(); ++id) {
    const Operation& op = operations_[id];
    if (op.state == State::free || op.state == State::granted || op.announced == 0) continue;
    Waiting waiting{id, op.announced, {}};
    for_each_port(demands_[op.demand], [&](PortId port) {
      const auto& queue = ports_[port].queue;
      const bool queued = std::find(queue.begin(), queue.end(), id) != queue.end();
      if (queued && queue.front() != id) waiting.blockers.push_back(queue.front());
      if (!queued) return;
      for (const OperationId holder : holders[port]) {
        if (holder != id) waiting.blockers.push_back(holder);
      }
    });
    std::sort(waiting.blockers.begin(), waiting.blockers.end());
    waiting.blockers.erase(std::unique(waiting.blockers.begin(), waiting.blockers.end()), waiting.blockers.end());
    result.push_back(std::move(waiting));
  }
  return result;
}

}  // namespace photonrail::control
