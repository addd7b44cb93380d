// A core among switches that are modelled, and ranks and operators that are scripted: time goes on only in run().
// Everything reaches everybody at once; records are durable at once unless `hold_records`.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/core.h"
#include "device/front_end.h"

namespace photonrail::daemon {

inline Identity rank_identity(std::string job, control::Rank rank) {
  return {Identity::Role::rank, job + "/" + std::to_string(rank), job, rank};
}

class TestWorld {
 public:
  struct Box {
    device::SwitchModel model;
    std::unique_ptr<device::FrontEnd> front;
    device::ConnectionId connection = 0;
    bool open = false, reachable = true;
    std::deque<device::FrontEndReply> replies;
    unsigned writes = 0;
  };

  explicit TestWorld(std::size_t switches = 1, device::Position ports = 16) {
    for (std::size_t i = 0; i < switches; ++i) {
      device::SwitchModelSpec model;
      model.inputs = model.outputs = ports;
      model.serial = "S" + std::to_string(i);
      model.seed = i + 1;
      boxes.push_back(std::make_unique<Box>(Box{device::SwitchModel(model), nullptr, 0, false, true, {}, 0}));
      boxes.back()->front = device::make_front_end(device::Dialect::polatis_scpi, boxes.back()->model, {});
      SwitchSpec ocs;
      ocs.name = "ocs" + std::to_string(i);
      ocs.reconciler.serial = model.serial;
      ocs.reconciler.inputs = ocs.reconciler.outputs = ports;
      spec.switches.push_back(ocs);
    }
    spec.batches = false;
    spec.switch_ahead = false;
  }

  // ---- the daemon
  void start(std::vector<std::string> from = {}, Instant until = kNever) {
    auto recovered = Core::recover(spec, from, now);
    ASSERT_TRUE(recovered.has_value()) << recovered.error().message;
    core = std::make_unique<Core>(std::move(*recovered));
    records = std::move(from);
    recovered_records = records.size();
    synced = 0;
    core->lead(++epoch, until, now);
    drain();
  }
  // The process is gone; what was appended and not durable is lost.
  void kill() {
    records.resize(recovered_records + synced);
    core.reset();
    streams.clear();
    for (auto& box : boxes) hang_up(*box);
  }
  void sync() {
    while (recovered_records + synced < records.size()) {
      synced = records.size() - recovered_records;
      core->durable(synced, now);
      perform();
    }
  }
  void drain() {
    perform();
    if (!hold_records) sync();
  }

  // ---- time
  void run(Duration duration) {
    const Instant end = now + duration;
    while (true) {
      Instant next = core ? core->next_deadline() : kNever;
      std::size_t box = boxes.size();
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i]->replies.empty() || boxes[i]->replies.front().at > next) continue;
        next = boxes[i]->replies.front().at;
        box = i;
      }
      if (next > end) break;
      now = std::max(now, next);
      if (box < boxes.size())
        deliver(box);
      else if (core)
        core->tick(now);
      if (core) drain();
    }
    now = end;
  }

  // ---- ranks; connection numbers are the caller's
  void open(ConnectionId connection, const Identity& identity) {
    core->rank_opened(connection, identity, now);
    drain();
  }
  void say(ConnectionId connection, const control::RankMessage& message) {
    core->rank_message(connection, message, now);
    drain();
  }
  void hello(ConnectionId connection, const std::string& job, control::Rank rank, std::uint64_t incarnation = 1,
             std::vector<control::ResumedGroup> groups = {}, std::uint64_t job_epoch = 1) {
    open(connection, rank_identity(job, rank));
    say(connection, control::Hello{job, job_epoch, rank, incarnation, std::move(groups), "test"});
  }
  void hang_up_rank(ConnectionId connection) {
    core->rank_closed(connection, now);
    drain();
  }
  template <class M>
  std::vector<M> heard(ConnectionId connection) const {
    std::vector<M> out;
    const auto stream = streams.find(connection);
    if (stream == streams.end()) return out;
    for (const control::DaemonMessage& message : stream->second) {
      if (const M* m = std::get_if<M>(&message)) out.push_back(*m);
    }
    return out;
  }
  bool closed(ConnectionId connection) const { return closed_streams.contains(connection); }

  // ---- operators
  Reply ask(const OperatorCall& call, Identity::Role role = Identity::Role::operator_) {
    const RequestId request = ++requests;
    core->operator_call(request, {role, "someone", {}, {}}, call, now);
    drain();
    const auto answer = replies.find(request);
    if (answer == replies.end()) {
      ADD_FAILURE() << "no reply";
      return {};
    }
    return answer->second;
  }
  StatusReport status() { return ask(GetStatus{}).status; }
  JobStatus job(const std::string& name) {
    for (const JobStatus& job : status().jobs) {
      if (job.job == name) return job;
    }
    return {};
  }
  SubmitJob job_of(const std::string& name, std::uint32_t ranks, std::uint32_t ports_per_rank = 1, SwitchId ocs = 0,
                   device::Position first = 0, std::uint64_t job_epoch = 1) const {
    SubmitJob job{name, job_epoch, ports_per_rank, {}, {}};
    for (std::uint32_t i = 0; i < ranks * ports_per_rank; ++i) {
      job.ports.push_back({ocs, static_cast<device::Position>(first + i)});
    }
    for (std::uint32_t i = 0; i < ranks; ++i) job.domain.push_back(i);
    return job;
  }

  std::vector<device::CrossConnect> matrix(SwitchId ocs = 0) { return boxes[ocs]->model.connections(now); }
  bool joined(device::Position a, device::Position b, SwitchId ocs = 0) {
    const auto pairs = matrix(ocs);
    const auto there = [&](device::CrossConnect p) { return std::find(pairs.begin(), pairs.end(), p) != pairs.end(); };
    return there({a, b}) && there({b, a});
  }
  std::size_t audited(const std::string& action) const {
    return static_cast<std::size_t>(
        std::count_if(audit.begin(), audit.end(), [&](const auto& r) { return r.action == action; }));
  }

  // ---- switches
  void hang_up(Box& box) {
    if (box.open) box.front->closed(box.connection, now);
    box.open = false;
    box.replies.clear();
  }
  void cut(SwitchId ocs) {
    boxes[ocs]->reachable = false;
    hang_up(*boxes[ocs]);
    core->switch_disconnected(ocs, now);
    drain();
  }
  void mend(SwitchId ocs) { boxes[ocs]->reachable = true; }

  CoreSpec spec;
  Instant now{std::chrono::seconds(1000)};
  control::Epoch epoch = 0;
  std::unique_ptr<Core> core;
  std::vector<std::unique_ptr<Box>> boxes;
  std::vector<std::string> records;  // the journal, durable and not
  std::size_t recovered_records = 0, synced = 0;
  bool hold_records = false;
  std::map<ConnectionId, std::vector<control::DaemonMessage>> streams;
  std::map<ConnectionId, std::string> closed_streams;
  std::map<RequestId, Reply> replies;
  RequestId requests = 0;
  std::vector<AuditRecord> audit;
  std::vector<Notice> notices;
  std::function<void(const Action&)> watch;  // sees every action as it is let out

 private:
  void perform() {
    while (true) {
      std::vector<Action> actions = core->take_actions();
      if (actions.empty()) return;
      for (Action& action : actions) {
        if (watch) watch(action);
        std::visit([this](auto& a) { on(a); }, action);
      }
    }
  }
  void on(ToRank& a) { streams[a.connection].push_back(std::move(a.message)); }
  void on(CloseRank& a) {
    closed_streams[a.connection] = a.reason;
    core->rank_closed(a.connection, now);
  }
  void on(ToOperator& a) { replies[a.request] = std::move(a.reply); }
  void on(ToSwitch& a) {
    Box& box = *boxes[a.ocs];
    if (!box.open) return;
    if (a.frame.body.find("conn:add") != std::string::npos || a.frame.body.find("conn:sub") != std::string::npos) {
      ++box.writes;
    }
    box.front->receive(box.connection, a.frame, now);
    take_replies(box);
  }
  void on(ConnectSwitch& a) {
    Box& box = *boxes[a.ocs];
    hang_up(box);
    if (!box.reachable) return core->switch_disconnected(a.ocs, now);
    ++box.connection;
    box.open = true;
    box.front->opened(box.connection, now);
    core->switch_connected(a.ocs, now);
    take_replies(box);
  }
  void on(AppendRecord& a) {
    records.push_back(std::move(a.payload));
    EXPECT_EQ(a.number, records.size() - recovered_records);
  }
  void on(Audit& a) { audit.push_back(std::move(a.record)); }
  void on(Notice& a) { notices.push_back(std::move(a)); }
  void on(IntentMeasured&) {}

  void take_replies(Box& box) {
    for (device::FrontEndReply& reply : box.front->take_replies()) box.replies.push_back(std::move(reply));
    std::stable_sort(box.replies.begin(), box.replies.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  }
  void deliver(std::size_t index) {
    Box& box = *boxes[index];
    const device::FrontEndReply reply = std::move(box.replies.front());
    box.replies.pop_front();
    if (!box.open || reply.connection != box.connection || !core) return;
    if (!reply.frame.body.empty()) core->switch_frame(static_cast<SwitchId>(index), reply.frame, now);
    if (!reply.close) return;
    hang_up(box);
    core->switch_disconnected(static_cast<SwitchId>(index), now);
  }
};

}  // namespace photonrail::daemon
