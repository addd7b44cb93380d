#include "world_impl.h"

namespace photonrail::dst {

// ---- setting up

void World::make_switches() {
  using device::Dialect;
  const Dialect dialects[] = {Dialect::polatis_scpi,     Dialect::polatis_tl1,     Dialect::calient_tl1,
                              Dialect::glimmerglass_tl1, Dialect::polatis_netconf, Dialect::polatis_restconf,
                              Dialect::ocp_gnmi,         Dialect::sonic_gnmi};
  for (std::size_t i = 0; i < switch_count(spec_); ++i) {
    device::SwitchModelSpec spec;
    spec.inputs = spec.outputs = size();
    spec.model = fmt::format("EMU-{0}x{0}", size());
    spec.serial = fmt::format("S{}", i);
    spec.seed = spec_.seed * 1000 + i;
    spec.settle_median = std::chrono::milliseconds(2 + static_cast<std::int64_t>(random_.below(20)));
    spec.command_time = std::chrono::microseconds(200 + static_cast<std::int64_t>(random_.below(2000)));
    spec.on_conflict = random_.below(2) == 0 ? device::OnConflict::steals : device::OnConflict::rejects;
    spec.has_power = random_.below(4) > 0;
    if (spec_.faults) spec.faults = plan_.switches[i];
    // A box that shows neither power nor status cannot be caught when it lies about light.
    const bool dark_faults = spec.faults.fails_to_tune > 0 || spec.faults.wrong_output > 0;
    spec.has_power = spec.has_power || dark_faults;
    auto box = std::make_unique<Box>(spec);
    while (box->front == nullptr) {
      box->dialect = dialects[random_.below(std::size(dialects))];
      box->light_may_fail = spec.faults.reverts > 0 ||
                            (spec.faults.wrong_output > 0 && box->dialect == Dialect::sonic_gnmi) ||
                            (dark_faults && box->dialect == Dialect::glimmerglass_tl1);
      box->front = device::make_front_end(box->dialect, box->model, {{"admin", "secret"}, 5, ""});
    }
    say(fmt::format("switch {} speaks {}{}", i, device::name(box->dialect), spec.has_power ? ", shows power" : ""));
    boxes_.push_back(std::move(box));
  }
}

void World::make_job(unsigned index, unsigned life) {
  auto job = std::make_unique<Job>();
  const bool rings = spec_.ranks >= 8 && random_.below(3) == 0;
  job->plan = dst::make_job(fmt::format("job{}", index), life, spec_.ranks, rings, spec_.steps, random_);
  job->ocs = static_cast<SwitchId>(index % boxes_.size());
  job->lives = life;
  const auto slots = static_cast<device::Position>(index / boxes_.size());  // jobs that share a switch
  const auto first = static_cast<device::Position>(slots * slot());
  for (std::uint32_t i = 0; i < spec_.ranks * job->plan.ports_per_rank; ++i) {
    job->ports.push_back({job->ocs, static_cast<device::Position>(first + i)});
  }
  job->runs.resize(job->plan.groups.size());
  for (std::size_t g = 0; g < job->plan.groups.size(); ++g) job->runs[g].resize(job->plan.durations[g].size());
  for (Rank rank = 0; rank < spec_.ranks; ++rank) {
    auto process =
        std::make_unique<RankProcess>(client::RankSessionSpec{job->plan.name, life, rank, random_.next(), "dst"});
    process->job = job.get();
    process->rank = rank;
    if (plan_.clock_ppm > 0) {
      process->clock.ppm =
          static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.clock_ppm))) - plan_.clock_ppm / 2;
    }
    job->ranks.push_back(std::move(process));
  }
  if (index < jobs_.size()) {
    former_.push_back(std::move(jobs_[index]));
    jobs_[index] = std::move(job);
  } else {
    jobs_.push_back(std::move(job));
  }
  submit(*jobs_[index]);
}

daemon::CoreSpec World::core_spec() const {
  daemon::CoreSpec spec;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    daemon::SwitchSpec ocs;
    ocs.name = fmt::format("rail{}", i);
    ocs.dialect = boxes_[i]->dialect;
    ocs.credentials = {"admin", "secret"};
    ocs.reconciler.inputs = ocs.reconciler.outputs = size();
    ocs.reconciler.command_timeout = 1s;
    ocs.reconciler.seed = spec_.seed;
    spec.switches.push_back(ocs);
  }
  spec.lease = kLease;
  spec.margin = kMargin;
  spec.seed = spec_.seed;
  return spec;
}

// ---- operators

// Asks until there is an answer: the daemon may die over the question.
void World::call(const daemon::OperatorCall& call_, daemon::Identity::Role role,
                 std::function<void(const daemon::Reply&)> then) {
  if (!core_) {
    events_.after(100ms, [this, call_, role, then] { call(call_, role, then); });
    return;
  }
  const daemon::RequestId request = next_request_++;
  auto answered = std::make_shared<bool>(false);
  requests_[request] = [answered, then](const daemon::Reply& reply) {
    if (*answered) return;
    *answered = true;
    then(reply);
  };
  on_daemon([this, request, call_, role] {
    core_->operator_call(request, {role, "operator", "", std::nullopt}, call_, daemon_now());
  });
  events_.after(2s, [this, answered, request, call_, role, then] {
    if (*answered) return;
    requests_.erase(request);
    *answered = true;
    call(call_, role, then);
  });
}

void World::submit(Job& job) {
  std::vector<std::uint32_t> domains(job.plan.ranks);
  for (Rank rank = 0; rank < job.plan.ranks; ++rank) domains[rank] = rank;
  const daemon::SubmitJob request{job.plan.name, job.plan.epoch, job.plan.ports_per_rank, job.ports, domains};
  call(request, daemon::Identity::Role::scheduler, [this, &job](const daemon::Reply& reply) {
    if (!reply.outcome) {
      say("submit " + job.plan.name + " refused: " + reply.outcome.error().message);
      events_.after(500ms, [this, &job] { submit(job); });
      return;
    }
    say("submitted " + job.plan.name);
    job.submitted = true;
    for (const auto& process : job.ranks) {
      for (std::uint32_t g = 0; g < job.plan.groups.size(); ++g) {
        const GroupPlan& group = job.plan.groups[g];
        if (std::find(group.members.begin(), group.members.end(), process->rank) == group.members.end()) continue;
        process->handles[g] = process->session.add_group(group.key, group.members, group.shape);
        process->groups.push_back(g);
      }
    }
    for (const auto& process : job.ranks) reopen_later(*process, latency());
  });
}

void World::end(Job& job) {
  call(daemon::EndJob{job.plan.name, job.plan.epoch}, daemon::Identity::Role::scheduler,
       [this, &job](const daemon::Reply&) {
         if (job.ended) return;
         job.ended = true;
         say("ended " + job.plan.name);
         if (job.over) return;
         job.over = true;
         ++outcome_.jobs_ended_by_faults;
         const auto index = static_cast<unsigned>(
             std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j.get() == &job; }) - jobs_.begin());
         if (job.lives < 3) make_job(index, job.lives + 1);
       });
}

// ---- faults

RankProcess* World::pick_rank(std::uint64_t pick) {
  Job& job = *jobs_[pick % jobs_.size()];
  if (!job.submitted || job.aborted || job.over) return nullptr;
  return job.ranks[(pick >> 8) % job.ranks.size()].get();
}

void World::strike(const TimedFault& fault) {
  const Instant until = events_.now() + fault.length;
  const auto ocs = static_cast<SwitchId>(fault.pick % boxes_.size());
  Box& box = *boxes_[ocs];
  RankProcess* rank = pick_rank(fault.pick);
  const daemon::Attachment port{ocs, static_cast<device::Position>((fault.pick >> 16) % size())};
  if (fault.name == "daemon-crash") return crash_daemon("daemon-crash");
  if (fault.name == "daemon-pause") {
    struck(fault.name);
    daemon_paused_until_ = until;
  } else if (fault.name == "rank-crash" && rank != nullptr) {
    kill_rank(*rank);
  } else if (fault.name == "rank-pause" && rank != nullptr) {
    struck(fault.name);
    rank->paused_until = until;
  } else if (fault.name == "stream-break" && rank != nullptr && rank->connection != 0) {
    struck(fault.name);
    break_stream(*rank);
  } else if (fault.name == "rank-partition" && rank != nullptr) {
    struck(fault.name);
    rank->cut_until = until;
  } else if (fault.name == "switch-disconnect" && box.connection != 0) {
    struck(fault.name);
    disconnect_switch(ocs);
    on_daemon([this, ocs] { core_->switch_disconnected(ocs, daemon_now()); });
  } else if (fault.name == "switch-partition") {
    struck(fault.name);
    box.cut_until = until;
  } else if (fault.name == "power-cycle") {
    struck(fault.name);
    box.light_may_fail = true;
    box.model.power_cycle(events_.now(), std::max<Duration>(fault.length, 100ms));
    disconnect_switch(ocs);
    on_daemon([this, ocs] { core_->switch_disconnected(ocs, daemon_now()); });
    pump(ocs);
  } else if (fault.name == "port-fails") {
    struck(fault.name);
    box.light_may_fail = true;
    box.model.fail_port(port.position, events_.now());
  } else if (fault.name == "foreign-change") {
    struck(fault.name);
    box.light_may_fail = true;
    const auto connections = box.model.connections(events_.now());
    if (connections.empty()) return;
    box.model.foreign_write({"foreign", {connections[(fault.pick >> 24) % connections.size()]}, {}, {}, false},
                            events_.now());
    look_at_writes(ocs);
    pump(ocs);
  } else if (fault.name == "operator-drain" || fault.name == "operator-quarantine") {
    struck(fault.name);
    const auto state =
        fault.name == "operator-drain" ? daemon::SetPort::State::drained : daemon::SetPort::State::quarantined;
    call(daemon::SetPort{port, state, "test"}, daemon::Identity::Role::operator_,
         [this, port, name = fault.name](const daemon::Reply& reply) {
           if (reply.outcome) promised_ports_[port] = name;
         });
  } else if (fault.name == "operator-maintenance") {
    struck(fault.name);
    call(daemon::SetSwitch{ocs, daemon::SetSwitch::State::maintenance, "test"}, daemon::Identity::Role::operator_,
         [this, ocs, until](const daemon::Reply&) {
           events_.at(until, [this, ocs] {
             call(daemon::SetSwitch{ocs, daemon::SetSwitch::State::in_service, "test"},
                  daemon::Identity::Role::operator_, [](const daemon::Reply&) {});
           });
         });
  }
}

// ---- the run

Outcome World::run() {
  quiet_ = Instant(std::chrono::milliseconds(300 + static_cast<std::int64_t>(random_.below(1500))));
  if (spec_.faults) plan_ = plan_faults(switch_count(spec_), quiet_, random_);
  if (plan_.clock_ppm > 0) {
    daemon_clock_.ppm =
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.clock_ppm))) - plan_.clock_ppm / 2;
    daemon_clock_.offset = std::chrono::seconds(random_.below(1000));
  }
  make_switches();
  start_daemon();
  for (unsigned i = 0; i < spec_.jobs; ++i) make_job(i, 1);
  for (const TimedFault& fault : plan_.timed) events_.at(fault.at, [this, fault] { strike(fault); });

  const Instant end = quiet_ + 400s;
  const auto over = [&] {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& j) { return j->over && j->ended; });
  };
  constexpr std::uint64_t kMaxEvents = 20'000'000;
  while (!over() && events_.count() < kMaxEvents && events_.step(end)) {
    if (checker_.violations().size() > 20) break;
  }
  for (const auto& job : jobs_) {
    if (job->over) continue;
    std::string where;
    for (const auto& rank : job->ranks) {
      if (rank->done || rank->next >= job->plan.programs[rank->rank].size()) continue;
      const Instruction& at = job->plan.programs[rank->rank][rank->next];
      where += fmt::format(" {}: {}{}#{}", rank->rank,
                           at.kind == Instruction::Kind::wait    ? "waits "
                           : at.kind == Instruction::Kind::issue ? "issues "
                           : rank->session.attached()            ? "computes "
                                                                 : "detached ",
                           job->plan.groups[at.group].key, at.number);
    }
    checker_.violate("liveness", fmt::format("{} neither finished nor ended;{}", job->plan.name, where));
  }
  for (const auto& box : boxes_) {
    for (const auto& [fault, count] : box->model.faults_struck()) outcome_.faults["switch-" + fault] += count;
  }
  outcome_.events = events_.count();
  outcome_.virtual_time = events_.now().time_since_epoch();
  outcome_.violations = checker_.violations();
  outcome_.digest = history_.value();
  --outcome_.restarts;  // the first start is none
  return outcome_;
}

Outcome run(const WorldSpec& spec) { return World(spec).run(); }

}  // namespace photonrail::dst
