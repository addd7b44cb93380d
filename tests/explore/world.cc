#include "world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace photonrail::explore {
namespace {

using control::Sequence;

constexpr std::uint8_t kNoOtherGroup = 0xff;

std::vector<std::vector<bool>> alone_of(const Program& program) {
  std::vector<std::vector<bool>> result(kRanks, std::vector<bool>(program.groups.size(), false));
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    std::vector<std::uint8_t> outstanding;
    for (const Step& step : program.ranks[rank]) {
      const std::uint8_t group = program.groups[step.operation];
      if (step.wait) {
        std::erase(outstanding, step.operation);
      } else {
        result[rank][step.operation] = std::all_of(outstanding.begin(), outstanding.end(), [&](std::uint8_t other) {
          return program.groups[other] == group;
        });
        outstanding.push_back(step.operation);
      }
    }
  }
  return result;
}

}  // namespace

Setting::Setting(Fabric f, Program p, Options o)
    : fabric(std::move(f)), program(std::move(p)), options(std::move(o)), operations(fabric.groups.size()),
      base(fabric.groups.size(), 0), alone(alone_of(program)) {
  options.spec.ranks = kRanks;
  options.spec.ports_per_rank = fabric.ports_per_rank;
  options.spec.ports = kRanks * fabric.ports_per_rank;
  for (std::uint8_t i = 0; i < program.groups.size(); ++i) operations[program.groups[i]].push_back(i);
}

control::Coordinator World::make_coordinator() const {
  control::Coordinator coordinator(setting_->options.spec);
  for (const Group& group : setting_->fabric.groups) {
    control::GroupSpec spec{group.members, std::nullopt};
    if (!group.circuits.empty()) spec.demand = control::Demand{group.circuits, 0, 0};
    coordinator.add_group(std::move(spec));
  }
  return coordinator;
}

World::World(std::shared_ptr<const Setting> setting)
    : setting_(std::move(setting)), coordinator_(make_coordinator()), shims_(kRanks),
      partner_(setting_->options.spec.ports, control::kNoPort), losses_(setting_->options.losses),
      repetitions_(setting_->options.repetitions), crashes_(setting_->options.crashes),
      failures_(setting_->options.failures), restarts_(setting_->options.restarts),
      announced_(setting_->fabric.groups.size()), granted_(setting_->program.groups.size(), 0) {
  for (Shim& shim : shims_) {
    shim.life.assign(setting_->program.groups.size(), Life::unborn);
    shim.rail.assign(setting_->program.groups.size(), 0);
    shim.groups.resize(setting_->fabric.groups.size());
  }
}

World::World(std::shared_ptr<const Setting> setting, const World& before) : World(std::move(setting)) {
  coordinator_ = before.coordinator_;
  partner_ = before.partner_;
  PR_CHECK(before.commands_.empty(), "a world goes on from one at rest");
}

void World::violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

bool World::is_member(std::uint8_t rank, std::uint8_t group) const {
  const auto& members = setting_->fabric.groups[group].members;
  return std::find(members.begin(), members.end(), rank) != members.end();
}

// ---- shims

Sequence World::issued(std::uint8_t rank, std::uint8_t group) const {
  Sequence through = 0;
  for (const std::uint8_t op : setting_->operations[group]) through += shims_[rank].life[op] != Life::unborn ? 1U : 0U;
  return through;
}

// Operations of a group start in order.
Sequence World::started(std::uint8_t rank, std::uint8_t group) const {
  Sequence through = 0;
  for (const std::uint8_t op : setting_->operations[group]) {
    if (shims_[rank].life[op] < Life::started || shims_[rank].life[op] == Life::failed) break;
    ++through;
  }
  return through;
}

HeldGrant* World::covering(std::uint8_t rank, std::uint8_t group, Sequence sequence) {
  for (HeldGrant& grant : shims_[rank].groups[group].grants) {
    if (grant.first <= sequence && sequence <= grant.last) return &grant;
  }
  return nullptr;
}

bool World::stopped(std::uint8_t rank, std::uint8_t group) const {
  const auto& grants = shims_[rank].groups[group].grants;
  return std::any_of(grants.begin(), grants.end(), [](const HeldGrant& grant) { return grant.stopped; });
}

void World::say(std::uint8_t rank, Kind kind, std::uint8_t group, Sequence a, Sequence b, bool flag) {
  shims_[rank].up.push_back({kind, group, flag, a, b, nullptr});
}

bool World::issue_enabled(const Shim& shim, std::uint8_t rank) const {
  const auto& steps = setting_->program.ranks[rank];
  if (shim.crashed || shim.at >= steps.size() || steps[shim.at].wait) return false;
  if (!setting_->options.blocking_issue) return true;
  return std::none_of(shim.life.begin(), shim.life.end(), [](Life life) { return life == Life::issued; });
}

// The program issues an operation of `group`: batches of others that are not started through end here.
void World::leave_batches(std::uint8_t rank, std::uint8_t group) {
  for (std::uint8_t other = 0; other < shims_[rank].groups.size(); ++other) {
    if (other == group) continue;
    for (HeldGrant& grant : shims_[rank].groups[other].grants) {
      if (grant.limited || grant.said_stopped || grant.last <= issued(rank, other)) continue;
      grant.stopped = grant.said_stopped = true;
      say(rank, Kind::stopped, other, grant.last, started(rank, other), false);
    }
  }
}

// A grant that comes when something else has been issued, or announced again, since its first operation, and not all
// that it covers.
void World::leave_if_elsewhere(std::uint8_t rank, std::uint8_t group, HeldGrant& grant) {
  const Shim& shim = shims_[rank];
  if (grant.last <= issued(rank, group)) return;
  bool elsewhere = shim.at >= setting_->program.ranks[rank].size();
  for (auto op = shim.said.rbegin(); op != shim.said.rend(); ++op) {
    if (setting_->program.groups[*op] != group) {
      elsewhere = true;
    } else if (setting_->program.sequence(*op) <= grant.first) {
      break;
    }
  }
  if (!elsewhere) return;
  grant.stopped = grant.said_stopped = true;
  say(rank, Kind::stopped, group, grant.last, started(rank, group), false);
}

void World::note_said(std::uint8_t rank, std::uint8_t operation) {
  std::erase(shims_[rank].said, operation);
  shims_[rank].said.push_back(operation);
}

void World::announce(std::uint8_t rank, std::uint8_t operation) {
  const std::uint8_t group = setting_->program.groups[operation];
  const Sequence sequence = setting_->program.sequence(operation);
  shims_[rank].groups[group].announced = std::max(shims_[rank].groups[group].announced, sequence);
  say(rank, Kind::announce, group, sequence, 0, setting_->alone[rank][operation]);
}

void World::issue(std::uint8_t rank) {
  Shim& shim = shims_[rank];
  const std::uint8_t operation = setting_->program.ranks[rank][shim.at++].operation;
  const std::uint8_t group = setting_->program.groups[operation];
  leave_batches(rank, group);
  shim.life[operation] = Life::issued;
  note_said(rank, operation);
  if (covering(rank, group, setting_->program.sequence(operation)) != nullptr) {
    start_covered(rank, group);
  } else if (!stopped(rank, group)) {
    announce(rank, operation);  // else when the limit comes
  }
  come_to_wait(rank);
}

// Passes waits that are over; says so where one begins.
void World::come_to_wait(std::uint8_t rank) {
  Shim& shim = shims_[rank];
  const auto& steps = setting_->program.ranks[rank];
  while (shim.at < steps.size() && steps[shim.at].wait && shim.life[steps[shim.at].operation] >= Life::done) {
    ++shim.at;
    shim.waits_reported = false;
  }
  if (shim.at >= steps.size()) leave_batches(rank, kNoOtherGroup);  // as if it went on with something unannounced
  if (shim.at >= steps.size() || !steps[shim.at].wait || shim.waits_reported) return;
  const std::uint8_t operation = steps[shim.at].operation;
  const std::uint8_t group = setting_->program.groups[operation];
  const Sequence sequence = setting_->program.sequence(operation);
  if (shim.life[operation] != Life::issued || covering(rank, group, sequence) != nullptr) return;
  if (shim.groups[group].announced < sequence) return;
  shim.waits_reported = true;
  say(rank, Kind::blocked, group, sequence, 0, false);
}

void World::start_covered(std::uint8_t rank, std::uint8_t group) {
  Shim& shim = shims_[rank];
  for (const std::uint8_t op : setting_->operations[group]) {
    if (shim.life[op] >= Life::started) continue;
    if (shim.life[op] == Life::unborn) break;
    const HeldGrant* grant = covering(rank, group, setting_->program.sequence(op));
    if (grant == nullptr || grant->stopped) break;
    shim.life[op] = Life::started;
    shim.rail[op] = grant->rail ? 1 : 2;
    const Sequence absolute = setting_->base[group] + setting_->program.sequence(op);
    if (restarts_ == setting_->options.restarts && !coordinator_.granted(group, absolute)) {
      violate("an operation starts that was not granted");
    }
    for (const Shim& other : shims_) {
      if (other.rail[op] != 0 && other.rail[op] != shim.rail[op]) violate("members start on different paths");
    }
  }
}

bool World::may_end(std::uint8_t rank, std::uint8_t operation) const {
  const Shim& shim = shims_[rank];
  if (shim.crashed || shim.life[operation] != Life::started) return false;
  const auto& members = setting_->fabric.groups[setting_->program.groups[operation]].members;
  const bool all = std::all_of(members.begin(), members.end(),
                               [&](control::Rank r) { return shims_[r].life[operation] >= Life::started; });
  const bool dead = std::any_of(members.begin(), members.end(), [&](control::Rank r) { return shims_[r].crashed; });
  return all || dead;
}

void World::finish(std::uint8_t rank, std::uint8_t operation, Life life) {
  shims_[rank].life[operation] = life;
  report_completed(rank, setting_->program.groups[operation]);
  start_covered(rank, setting_->program.groups[operation]);
  come_to_wait(rank);
}

void World::report_completed(std::uint8_t rank, std::uint8_t group) {
  ShimGroup& state = shims_[rank].groups[group];
  Sequence through = 0;
  for (const std::uint8_t op : setting_->operations[group]) {
    if (shims_[rank].life[op] != Life::done) break;
    ++through;
  }
  if (through <= state.completed) return;
  state.completed = through;
  while (state.grants.size() > 1 && state.grants.front().last <= through) state.grants.erase(state.grants.begin());
  say(rank, Kind::complete, group, through, 0, false);
}

void World::hear(std::uint8_t rank, const Message& m) {
  Shim& shim = shims_[rank];
  ShimGroup& group = shim.groups[m.group];
  if (m.kind == Kind::grant) {
    if (m.a <= group.newest) return;  // seen before
    group.newest = m.a;
    group.grants.push_back({m.a, m.b, m.flag, false, false, false});
    start_covered(rank, m.group);
    if (m.b > m.a) leave_if_elsewhere(rank, m.group, group.grants.back());
  } else if (m.kind == Kind::stop) {
    for (HeldGrant& grant : group.grants) {
      if (grant.last != m.a) continue;
      grant.stopped = grant.stopped || started(rank, m.group) < grant.last;
      say(rank, Kind::stopped, m.group, m.a, started(rank, m.group), false);
    }
  } else if (m.kind == Kind::limit) {
    for (HeldGrant& grant : group.grants) {
      if (grant.last != m.a || m.b < grant.first) continue;
      if (m.b < grant.last && started(rank, m.group) > m.b) violate("a limit below what a member has started");
      grant.last = m.b;
      grant.limited = true;
      grant.stopped = grant.said_stopped = false;
      start_covered(rank, m.group);
      for (const std::uint8_t op : setting_->operations[m.group]) {
        if (shim.life[op] != Life::issued || setting_->program.sequence(op) <= m.b) continue;
        leave_batches(rank, m.group);  // announcing again counts as issuing
        note_said(rank, op);
        announce(rank, op);
        shim.waits_reported = false;
      }
      break;
    }
  } else {
    for (const std::uint8_t op : setting_->operations[m.group]) {
      if (setting_->program.sequence(op) != m.a || shim.life[op] == Life::done) continue;
      if (shim.life[op] == Life::started) violate("an operation fails that was granted");
      if (shim.life[op] == Life::issued) finish(rank, op, Life::failed);
    }
  }
  come_to_wait(rank);
}

void World::resume(std::uint8_t rank) {
  Shim& shim = shims_[rank];
  shim.up.clear();
  shim.down.clear();
  std::vector<control::ResumedGroup> reports;
  std::vector<Message> after;
  for (std::uint8_t id = 0; id < shim.groups.size(); ++id) {
    const ShimGroup& group = shim.groups[id];
    const Sequence base = setting_->base[id];
    control::ResumedGroup report;
    report.group = id;
    report.completed = base + group.completed;
    report.announced = base + group.announced;
    if (group.grants.empty() && base + issued(rank, id) > 0 && is_member(rank, id)) reports.push_back(report);
    for (const HeldGrant& grant : group.grants) {
      report.granted_first = base + grant.first;
      report.granted = base + grant.last;
      report.granted_path = grant.rail ? control::Path::rail : control::Path::management;
      reports.push_back(report);
      if (!grant.said_stopped) continue;
      after.push_back({Kind::stopped, id, false, grant.last, started(rank, id), nullptr});
    }
  }
  Message message;
  message.kind = Kind::resume;
  message.resumed = std::make_shared<const std::vector<control::ResumedGroup>>(std::move(reports));
  shim.up.push_back(message);
  for (const Message& m : after) shim.up.push_back(m);
  shim.waits_reported = false;
  come_to_wait(rank);
}

// ---- coordinator

void World::note_announced(std::uint8_t rank, std::uint8_t group, Sequence through) {
  Sequence& known = announced_[group][rank];
  if (through <= known) return;
  known = through;
  for (const std::uint8_t op : setting_->operations[group]) {
    const auto& members = setting_->fabric.groups[group].members;
    const bool full = std::all_of(members.begin(), members.end(), [&](control::Rank r) {
      return announced_[group][r] >= setting_->program.sequence(op);
    });
    if (full && std::find(order_.begin(), order_.end(), op) == order_.end()) order_.push_back(op);
  }
}

void World::tell(std::uint8_t rank, const Message& m) {
  const Sequence base = setting_->base[m.group];
  bool sense = true;
  if (m.kind == Kind::announce) {
    note_announced(rank, m.group, m.a);
    sense = coordinator_.announce(rank, m.group, base + m.a, m.flag);
  } else if (m.kind == Kind::complete) {
    sense = coordinator_.complete(rank, m.group, base + m.a);
  } else if (m.kind == Kind::blocked) {
    sense = coordinator_.blocked(rank, m.group, base + m.a);
  } else if (m.kind == Kind::stopped) {
    sense = coordinator_.stopped(rank, m.group, base + m.a, base + m.b);
  } else {
    for (const control::ResumedGroup& r : *m.resumed) {
      note_announced(rank, static_cast<std::uint8_t>(r.group), r.announced - setting_->base[r.group]);
    }
    sense = coordinator_.resume(rank, *m.resumed);
  }
  if (!sense && (lost_ >> rank & 1) == 0) violate("the coordinator refuses a message that makes sense");
  drain();
}

void World::check_grant(const control::GrantMessage& grant) {
  const auto group = static_cast<std::uint8_t>(grant.group);
  const auto& circuits = setting_->fabric.groups[group].circuits;
  if (grant.path == control::Path::rail) {
    for (const control::Circuit& c : circuits) {
      if (partner_[c.a] != c.b && !dark_) violate("a grant over circuits that are not up");
    }
  }
  const auto shares = [&](std::uint8_t other) {
    if (other == group) return false;
    for (const control::Circuit& a : circuits) {
      for (const control::Circuit& b : setting_->fabric.groups[other].circuits) {
        if (a.a == b.a || a.a == b.b || a.b == b.a || a.b == b.b) return true;
      }
    }
    return false;
  };
  const bool careful = restarts_ == setting_->options.restarts && !setting_->options.spec.cached_grants &&
                       setting_->options.spec.rule == control::AdmissionRule::gang;
  for (const std::uint8_t op : setting_->operations[group]) {
    const Sequence absolute = setting_->base[group] + setting_->program.sequence(op);
    if (absolute < grant.first || absolute > grant.last) continue;
    const std::uint8_t path = grant.path == control::Path::rail ? 1 : 2;
    if (granted_[op] != 0 && granted_[op] != path && careful) violate("a grant changes its path");
    if (granted_[op] != 0 || !careful) continue;
    // Tickets: nobody who was fully announced before, and shares a port, still waits.
    for (const std::uint8_t earlier : order_) {
      if (earlier == op) break;
      if (path == 1 && granted_[earlier] == 0 && shares(setting_->program.groups[earlier])) {
        violate("a grant overtakes an older ticket");
      }
    }
    const bool full = std::find(order_.begin(), order_.end(), op) != order_.end();
    if (absolute == grant.first && !full) violate("a grant before all members have announced");
  }
  for (const std::uint8_t op : setting_->operations[group]) {
    const Sequence absolute = setting_->base[group] + setting_->program.sequence(op);
    if (absolute < grant.first || absolute > grant.last) continue;
    granted_[op] = grant.path == control::Path::rail ? 1 : 2;
  }
}

void World::carry_out(const control::SwitchCommand& command) {
  std::vector<control::PortId> busy;
  for (const Command& other : commands_) {
    for (const auto* circuits : {&other.connect, &other.disconnect}) {
      for (const control::Circuit& c : *circuits) busy.insert(busy.end(), {c.a, c.b});
    }
  }
  const auto in_use = [&](control::PortId port) {
    for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
      if (shims_[rank].crashed) continue;
      for (std::uint8_t op = 0; op < setting_->program.groups.size(); ++op) {
        if (shims_[rank].life[op] != Life::started || shims_[rank].rail[op] != 1) continue;
        for (const control::Circuit& c : setting_->fabric.groups[setting_->program.groups[op]].circuits) {
          if (c.a == port || c.b == port) return true;
        }
      }
    }
    return false;
  };
  for (const auto* circuits : {&command.disconnect, &command.connect}) {
    for (const control::Circuit& c : *circuits) {
      for (const control::PortId port : {c.a, c.b}) {
        if (std::find(busy.begin(), busy.end(), port) != busy.end()) violate("two commands for one port at one time");
        if (coordinator_.holds(port) > 0) violate("a held port is switched");
        if (in_use(port)) violate("a port is switched under a running operation");
      }
    }
  }
  for (const control::Circuit& c : command.disconnect) {
    if (partner_[c.a] != c.b && !dark_) violate("a circuit is removed that is not there");
    partner_[c.a] = partner_[c.b] = control::kNoPort;
  }
  for (const control::Circuit& c : command.connect) {
    if (!dark_ && (partner_[c.a] != control::kNoPort || partner_[c.b] != control::kNoPort)) {
      violate("a port would carry two circuits");
    }
  }
  commands_.push_back({command.id, command.connect, command.disconnect});
}

void World::note_failed(std::uint8_t group, Sequence sequence) {
  for (const std::uint8_t op : setting_->operations[group]) {
    if (setting_->base[group] + setting_->program.sequence(op) == sequence && granted_[op] == 0) granted_[op] = 3;
  }
}

// What lies beyond is to be announced again, and takes a new ticket. A limit that is told again changes nothing.
void World::note_limit(std::uint8_t group, Sequence last) {
  const Sequence base = setting_->base[group];
  const auto& operations = setting_->operations[group];
  const bool news = std::any_of(operations.begin(), operations.end(), [&](std::uint8_t op) {
    const Sequence absolute = base + setting_->program.sequence(op);
    return absolute > last && !coordinator_.granted(group, absolute) && (granted_[op] == 1 || granted_[op] == 2);
  });
  if (!news) return;
  for (const std::uint8_t op : setting_->operations[group]) {
    if (setting_->base[group] + setting_->program.sequence(op) <= last) continue;
    granted_[op] = 0;
    std::erase(order_, op);
  }
  for (Sequence& through : announced_[group]) through = std::min(through, last - setting_->base[group]);
}

void World::drain() {
  control::CoordinatorOutputs out = std::exchange(coordinator_.outputs(), {});
  for (const control::SwitchCommand& command : out.commands) carry_out(command);
  for (const auto& m : out.failures) note_failed(static_cast<std::uint8_t>(m.group), m.sequence);
  for (const auto& m : out.limits) note_limit(static_cast<std::uint8_t>(m.group), m.last);
  const auto send = [&](control::Rank rank, Kind kind, control::GroupId group, Sequence a, Sequence b, bool flag) {
    if (shims_[rank].crashed) return;
    // While a break is not yet known to the coordinator, what it says goes nowhere.
    const auto& up = shims_[rank].up;
    if (std::any_of(up.begin(), up.end(), [](const Message& m) { return m.kind == Kind::resume; })) return;
    const Sequence base = setting_->base[group];
    const auto id = static_cast<std::uint8_t>(group);
    shims_[rank].down.push_back({kind, id, flag, a - base, b == 0 ? 0 : b - base, nullptr});
  };
  for (const auto& m : out.grants) {
    check_grant(m);
    send(m.rank, Kind::grant, m.group, m.first, m.last, m.path == control::Path::rail);
  }
  for (const auto& m : out.limits) send(m.rank, Kind::limit, m.group, m.granted_last, m.last, false);
  for (const auto& m : out.stops) send(m.rank, Kind::stop, m.group, m.granted_last, 0, false);
  for (const auto& m : out.failures) send(m.rank, Kind::fail, m.group, m.sequence, 0, false);
}

// ---- transitions

bool World::ended() const {
  for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
    if (!shims_[rank].crashed && shims_[rank].at < setting_->program.ranks[rank].size()) return false;
  }
  return true;
}

// Nothing but a message can move this rank, and what it does then depends on nobody else's doing: so the message may be
// delivered now, without looking at the other orders (a persistent set of one).
bool World::only_listens(std::uint8_t rank) const {
  const Shim& shim = shims_[rank];
  if (losses_ + repetitions_ + crashes_ + restarts_ > 0) return false;
  if (shim.crashed || shim.down.empty() || issue_enabled(shim, rank)) return false;
  if (copy_ && copy_->first == rank + kRanks) return false;
  return std::none_of(shim.life.begin(), shim.life.end(), [](Life life) { return life == Life::started; });
}

std::vector<Transition> World::transitions(bool& progress) const {
  using What = Transition::What;
  std::vector<Transition> result;
  for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
    if (!only_listens(rank)) continue;
    progress = true;
    return {{What::to_shim, rank, 0, 0}};
  }
  for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
    const Shim& shim = shims_[rank];
    if (issue_enabled(shim, rank)) result.push_back({What::issue, rank, 0, 0});
    if (!shim.up.empty() && (lost_ >> rank & 1) == 0) result.push_back({What::to_coordinator, rank, 0, 0});
    if (!shim.crashed && !shim.down.empty()) result.push_back({What::to_shim, rank, 0, 0});
    for (std::uint8_t op = 0; op < shim.life.size(); ++op) {
      if (may_end(rank, op)) result.push_back({What::end, rank, op, 0});
    }
    if (shim.crashed && (lost_ >> rank & 1) == 0) result.push_back({What::lost, rank, 0, 0});
  }
  for (const Command& command : commands_) result.push_back({What::answer, 0, 0, command.id});
  progress = !result.empty();
  if (copy_) result.push_back({What::repeated, copy_->first, 0, 0});
  if (setting_->options.guard_timer) result.push_back({What::timer, 0, 0, 0});
  for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
    const Shim& shim = shims_[rank];
    if (shim.crashed) continue;
    if (losses_ > 0) result.push_back({What::loss, rank, 0, 0});
    if (repetitions_ > 0 && !shim.up.empty()) result.push_back({What::repeat_up, rank, 0, 0});
    if (repetitions_ > 0 && !shim.down.empty()) result.push_back({What::repeat_down, rank, 0, 0});
    if (crashes_ > 0) result.push_back({What::crash, rank, 0, 0});
  }
  for (const Command& command : commands_) {
    if (failures_ > 0) result.push_back({What::device_fails, 0, 0, command.id});
  }
  if (restarts_ > 0) result.push_back({What::restart, 0, 0, 0});
  return result;
}

void World::apply(const Transition& t) {
  using What = Transition::What;
  Shim& shim = shims_[t.rank % kRanks];
  switch (t.what) {
    case What::issue: issue(t.rank); break;
    case What::to_coordinator: {
      const Message m = shim.up.front();
      shim.up.erase(shim.up.begin());
      tell(t.rank, m);
      break;
    }
    case What::to_shim: {
      const Message m = shim.down.front();
      shim.down.erase(shim.down.begin());
      hear(t.rank, m);
      break;
    }
    case What::end: finish(t.rank, t.operation, Life::done); break;
    case What::answer:
    case What::device_fails: {
      const auto found =
          std::find_if(commands_.begin(), commands_.end(), [&](const Command& c) { return c.id == t.command; });
      const Command command = *found;
      commands_.erase(found);
      if (t.what == What::answer) {
        for (const control::Circuit& c : command.connect) {
          partner_[c.a] = c.b;
          partner_[c.b] = c.a;
        }
        coordinator_.command_done(t.command);
      } else {
        --failures_;
        dark_ = true;
        coordinator_.command_failed(t.command);
      }
      drain();
      break;
    }
    case What::timer:
      coordinator_.guard_timer();
      drain();
      break;
    case What::loss:
      --losses_;
      resume(t.rank);
      break;
    case What::repeat_up:
    case What::repeat_down:
      --repetitions_;
      copy_ = t.what == What::repeat_up ? std::make_pair(t.rank, shim.up.front())
                                        : std::make_pair(static_cast<std::uint8_t>(t.rank + kRanks), shim.down.front());
      break;
    case What::repeated: {
      const Message m = copy_->second;
      copy_.reset();
      if (t.rank < kRanks) {
        tell(t.rank, m);
      } else if (!shim.crashed) {
        hear(static_cast<std::uint8_t>(t.rank - kRanks), m);
      }
      break;
    }
    case What::crash:
      --crashes_;
      shim.crashed = true;
      shim.down.clear();
      break;
    case What::lost:
      lost_ |= static_cast<std::uint8_t>(1U << t.rank);
      shim.up.clear();
      coordinator_.lost(t.rank);
      drain();
      break;
    case What::restart: restart(); break;
  }
}

// The controller forgets everything but the groups; it has read the switches, and commands on their way are over.
void World::restart() {
  --restarts_;
  for (const Command& command : commands_) {
    for (const control::Circuit& c : command.connect) {
      partner_[c.a] = c.b;
      partner_[c.b] = c.a;
    }
  }
  commands_.clear();
  copy_.reset();
  coordinator_ = make_coordinator();
  std::vector<control::Circuit> up;
  for (control::PortId port = 0; port < partner_.size(); ++port) {
    if (partner_[port] != control::kNoPort && port < partner_[port]) up.push_back({port, partner_[port]});
  }
  coordinator_.preset(up);
  coordinator_.begin_recovery();
  for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
    if ((lost_ >> rank & 1) != 0) {
      coordinator_.lost(rank);
    } else if (!shims_[rank].crashed) {
      resume(rank);
    } else {
      shims_[rank].up.clear();
    }
  }
  drain();
}

// ---- digest

namespace {

void add(Digest& digest, const Message& m) {
  digest.add(static_cast<unsigned>(m.kind) * 512U + m.group * 2U + (m.flag ? 1U : 0U));
  digest.add(m.a);
  digest.add(m.b);
  if (!m.resumed) return;
  digest.add(m.resumed->size());
  for (const control::ResumedGroup& r : *m.resumed) {
    digest.add(r.group * 2ULL + static_cast<unsigned>(r.granted_path));
    for (const Sequence s : {r.completed, r.granted, r.granted_first, r.announced}) digest.add(s);
  }
}

void add(Digest& digest, const Shim& shim) {
  digest.add(shim.at * 4ULL + (shim.crashed ? 2U : 0U) + (shim.waits_reported ? 1U : 0U));
  for (std::size_t op = 0; op < shim.life.size(); ++op) {
    digest.add(static_cast<unsigned>(shim.life[op]) * 4U + shim.rail[op]);
  }
  for (const std::uint8_t op : shim.said) digest.add(op);
  for (const ShimGroup& group : shim.groups) {
    digest.add(group.newest * (1ULL << 40) + group.announced * (1ULL << 20) + group.completed);
    digest.add(group.grants.size());
    for (const HeldGrant& grant : group.grants) {
      digest.add(grant.first * (1ULL << 32) + grant.last);
      digest.add((grant.rail ? 8U : 0U) + (grant.stopped ? 4U : 0U) + (grant.limited ? 2U : 0U) +
                 (grant.said_stopped ? 1U : 0U));
    }
  }
  for (const auto* stream : {&shim.up, &shim.down}) {
    digest.add(stream->size());
    for (const Message& m : *stream) add(digest, m);
  }
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> World::digest() const {
  std::uint64_t halves[2];
  for (std::uint64_t salt = 0; salt < 2; ++salt) {
    Digest digest;
    digest.add(salt);
    digest.add(coordinator_.digest(salt));
    for (const Shim& shim : shims_) add(digest, shim);
    digest.add(commands_.size());
    std::uint64_t on_their_way = 0;  // their ports are disjoint: no order
    for (const Command& command : commands_) {
      Digest one;
      for (const auto* circuits : {&command.connect, &command.disconnect}) {
        one.add(circuits->size() + salt);
        for (const control::Circuit& c : *circuits) one.add(c.a * (1ULL << 32) + c.b);
      }
      on_their_way += one.value();
    }
    digest.add(on_their_way);
    for (const control::PortId port : partner_) digest.add(port);
    digest.add(lost_ * 2U + (dark_ ? 1U : 0U));
    for (const std::uint8_t left : {losses_, repetitions_, crashes_, failures_, restarts_}) digest.add(left);
    digest.add(copy_ ? copy_->first + 1U : 0U);
    if (copy_) add(digest, copy_->second);
    // Tickets matter only among what still waits.
    for (const std::uint8_t op : order_) {
      if (granted_[op] == 0) digest.add(op);
    }
    for (const std::uint8_t granted : granted_) digest.add(granted);
    for (const auto& group : announced_) {
      for (const Sequence through : group) digest.add(through);
    }
    halves[salt] = digest.value();
  }
  return {halves[0], halves[1]};
}

std::string World::text() const {
  std::string out;
  for (std::uint8_t rank = 0; rank < kRanks; ++rank) {
    const Shim& shim = shims_[rank];
    out += fmt::format("  rank {}{} at step {}:", rank, shim.crashed ? " (crashed)" : "", shim.at);
    for (std::size_t op = 0; op < shim.life.size(); ++op) {
      static constexpr const char* kNames[] = {"unborn", "issued", "started", "done", "failed"};
      out += fmt::format(" {}={}", op, kNames[static_cast<std::size_t>(shim.life[op])]);
    }
    out += fmt::format("; {} up, {} down\n", shim.up.size(), shim.down.size());
  }
  return out;
}

std::string World::text(const Transition& t) const {
  static constexpr const char* kNames[] = {"issues",   "->",         "<-",          "ends",  "answer",
                                           "command fails", "timer", "stream breaks", "repeats", "repeats",
                                           "repeated", "crashes",    "is lost",     "controller restarts"};
  static constexpr const char* kKinds[] = {"announce", "complete", "blocked", "stopped", "resume",
                                           "grant",    "stop",     "limit",   "fail"};
  using What = Transition::What;
  const Shim& shim = shims_[t.rank % kRanks];
  std::string out = fmt::format("rank {} {}", t.rank % kRanks, kNames[static_cast<std::size_t>(t.what)]);
  if (t.what == What::answer || t.what == What::device_fails) out = "switch: " + out;
  if (t.what == What::end) out += fmt::format(" operation {}", t.operation);
  if (t.what == What::issue) {
    out += fmt::format(" operation {}", setting_->program.ranks[t.rank][shim.at].operation);
  }
  const Message* m = nullptr;
  if (t.what == What::to_coordinator || t.what == What::repeat_up) m = &shim.up.front();
  if (t.what == What::to_shim || t.what == What::repeat_down) m = &shim.down.front();
  if (t.what == What::repeated) m = &copy_->second;
  if (m == nullptr) return out;
  return out + fmt::format(" {} group {}: {} {}{}", kKinds[static_cast<std::size_t>(m->kind)], m->group, m->a, m->b,
                           m->flag ? (m->kind == Kind::announce ? " alone" : " rail") : "");
}

}  // namespace photonrail::explore
