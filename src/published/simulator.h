// The published simulator's processing units on the published network.
//
// Processing unit (data/opus/README.md, rule 1). Three slots: compute, communication, and receives, which need none.
// On every completion, and on nothing else, all ready nodes of the rank are tried in ascending id. A send holds the
// communication slot until its message has arrived at the other end. Everything that one rank registers for one tick
// runs as one event, placed where the first was registered.
//
// Collective: see ring_plan.h for the ring. A rank posts the receive of a step when it sends that step's message.
//
// Requests (rules 5 to 7, for on_demand and provisioned). A send sets the flags of its own and its peer's stage, a
// collective that is not always up clears that of its own stage once all members have voted; then the topology of the
// flags is asked for. Flags stay changed when the request is refused, and the node goes back to the ready ones. Votes:
// a member votes when it tries; the member whose try completes the vote asks and, when that succeeds, leads: it starts
// at once, and the collective is in flight until its last member has finished. The others start when something else
// makes them try again. A member that is a whole round ahead of the slowest is refused.
//
// Thread rule: one object per run, used by one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "published/event_queue.h"
#include "published/machine.h"
#include "published/network.h"
#include "published/published.h"
#include "published/ring_plan.h"

namespace photonrail::published {

class Simulator {
 public:
  Simulator(const Machine& machine, const PublishedConfig& config, const ClassRates& rates,
            const std::vector<ProvisionEntry>& provision);
  Result<PublishedResult> run();

 private:
  enum class Job : std::uint8_t { compute, message_ready };
  struct Registered {
    Nanoseconds at = 0;
    Job job = Job::compute;
    std::uint32_t node = 0;
  };
  // The collective that a rank is in.
  struct Ring {
    bool active = false;
    bool computed = false;        // taken over by a RingPlan
    bool reduced = false;         // the reduction before the coming message is done or not needed
    bool awaits_message = false;  // its receive is posted
    bool first_sent = false;
    bool was_computed = false;  // taken over, and never unfolded
    std::uint32_t member = 0;
    std::uint32_t node = 0;
    std::uint32_t chunk = 0;
    std::uint32_t step = 0;    // receipts in this chunk = messages that may be sent after this one
    Nanoseconds ready_at = 0;  // of the message to come
    RingShape shape;
  };
  struct Rank {
    std::vector<std::uint32_t> needs;          // per node: dependencies to come
    std::vector<std::uint32_t> ready_compute;  // ascending
    std::vector<std::uint32_t> ready_communication;
    std::vector<Registered> registered;                            // in the order of registration
    std::vector<std::pair<std::int32_t, std::int32_t>> provision;  // (index, target), ascending
    std::size_t next_provision = 0;
    std::size_t unfinished = 0;
    Ring ring;
    Nanoseconds computed_ns = 0;
    Nanoseconds finish = -1;
    std::int32_t communications = 0;
    bool computing = false;
    bool communicating = false;
    bool in_batch = false;
    bool ending_collective = false;  // inside the completion of a collective: the next one starts after it
  };
  struct Member {
    std::uint32_t next = 0;
    LinkId link = 0;
    std::uint32_t started = 0;  // collectives
    std::uint32_t arrived = 0;  // messages from the predecessor
    std::uint32_t received = 0;
    std::uint32_t votes = 0;
    std::uint32_t finishes = 0;
    bool resumed = false;
  };
  struct Group {
    std::uint32_t vote_rounds = 0;
    std::uint32_t finish_rounds = 0;
    bool exclusive = false;  // no other group and no send uses its links, and their rate never changes
    bool computed = false;   // the collective under way is computed, see take_over()
    std::uint32_t stage = 0;
    std::uint32_t decided = 0;  // number of the collective that was decided on
    std::uint32_t epoch = 0;
    std::uint32_t resumed = 0;
    Nanoseconds first_sent = 0;
    const RingPlan* plan = nullptr;
    RingShape shape;
    std::size_t last_send = 0;  // while unfolding: the latest send before now, plan->sent.size() when none
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order;  // (join, member) in the order of first messages
  };
  struct Transfer {
    std::uint32_t from = 0, to = 0;
    std::uint32_t send_node = 0, receive_node = 0;
    bool posted = false;
    bool arrived = false;
  };
  struct Channel {
    std::vector<std::uint32_t> transfers;
    std::size_t sends = 0, receives = 0;
  };
  using ChannelKey = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int64_t>;  // from, to, tag, bytes

  // simulator.cc: set-up, event loop, result
  void make_links();
  void mark_exclusive_groups();
  void dispatch(const Event& event);
  bool has_events() const { return queue_.size() > void_resumes_; }
  void run_events();
  bool all_finished() const;
  tl::unexpected<Error> deadlock() const;
  std::string describe_wait(std::uint32_t rank) const;
  std::optional<std::uint32_t> awaited_rank(std::uint32_t rank) const;
  std::vector<std::uint32_t> waiting_circle() const;
  PublishedResult collect();

  // simulator_rank.cc: ready nodes, compute, sends and receives, requests
  void try_ready(std::uint32_t rank);
  void start_compute(std::uint32_t rank);
  bool start_communication(std::uint32_t rank, std::uint32_t node);
  bool start_send(std::uint32_t rank, std::uint32_t node);
  void start_receive(std::uint32_t rank, std::uint32_t node);
  void on_peer_arrival(std::uint32_t transfer);
  void end_peer(std::uint32_t rank, std::uint32_t node, std::uint32_t peer);
  void complete(std::uint32_t rank, std::uint32_t node);
  void register_job(std::uint32_t rank, Nanoseconds delay, Job job, std::uint32_t node);
  void run_batch(std::uint32_t rank);
  bool ask_pipeline(std::uint32_t rank, std::uint32_t peer);
  bool ask_data(std::uint32_t rank);
  bool ask();
  void after_communication(std::uint32_t rank, std::int32_t kind);
  void note(LogEntry::Kind kind, std::uint32_t rank, std::int32_t index, std::int32_t what);
  void note_start(std::uint32_t rank, std::uint32_t node);
  std::uint32_t transfer_of(const ChannelKey& key, bool is_send);

  // simulator_ring.cc: collectives, votes
  bool start_collective(std::uint32_t rank, std::uint32_t node);
  bool vote(std::uint32_t rank, std::uint32_t member);
  bool votes_complete(const MachineGroup& group, std::uint32_t round) const;
  void end_round(std::uint32_t member);
  void start_chunk(std::uint32_t rank);
  void on_message_ready(std::uint32_t rank);
  void send_step(std::uint32_t rank);
  void end_chunk(std::uint32_t rank);
  void end_collective(std::uint32_t rank);
  void on_ring_arrival(std::uint32_t member);
  void receive_step(std::uint32_t member);

  // simulator_plan.cc: collectives that are computed instead of stepped
  bool take_over(const Message& message);
  bool starts_together(std::uint32_t group, std::uint32_t started) const;
  Nanoseconds first_send_of(std::uint32_t member) const;
  void join(std::uint32_t member);
  void on_ring_resume(std::uint32_t member, std::uint32_t epoch);
  void step_together(std::uint32_t group);
  void unfold_all();
  void unfold_stage(std::uint32_t stage);
  void unfold(const std::vector<std::uint32_t>& groups);
  void find_last_send(Group& group) const;
  void unfold_first_send(std::uint32_t member);
  void unfold_sender(const Group& group, std::uint32_t member);
  void unfold_receiver(const Group& group, std::uint32_t member);
  void unfold_next_step(const Group& group, std::uint32_t member);
  std::uint32_t turned(std::uint32_t member, std::uint32_t turns) const;
  const RingPlan& plan_for(double rate, const RingShape& shape);

  const Machine& machine_;
  const PublishedConfig& config_;
  ClassRates rates_;
  bool reconfigurable_ = false;
  EventQueue queue_;
  Network network_;
  std::vector<Rank> ranks_;
  std::vector<Member> members_;
  std::vector<Group> groups_;
  std::vector<std::vector<LinkId>> peer_links_;  // per rank and slot
  std::vector<Transfer> transfers_;
  std::map<ChannelKey, Channel> channels_;
  std::vector<std::uint8_t> pipeline_flags_;  // per stage
  std::int64_t in_flight_ = 0;
  std::vector<std::uint32_t> computed_groups_;
  std::vector<std::uint64_t> stepping_;  // per stage: members in, or about to enter, a stepped collective
  std::uint64_t joins_ = 0;
  std::size_t void_resumes_ = 0;  // ring_resume events of unfolded collectives, still in the queue
  std::vector<std::tuple<double, RingShape, std::unique_ptr<RingPlan>>> plans_;
  std::vector<std::vector<Nanoseconds>> node_starts_;
  std::size_t unfinished_ranks_ = 0;
  std::uint32_t last_rank_ = 0;
  PublishedResult result_;
};

}  // namespace photonrail::published
