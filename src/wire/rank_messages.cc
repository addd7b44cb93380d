#include "wire/rank_messages.h"

#include <fmt/format.h>
#include <photonrail/control/v1/control.pb.h>

#include "wire/limits.h"

namespace photonrail::wire {
namespace {

namespace pb = control::v1;

tl::unexpected<Error> refused(std::string_view field, std::string_view why) {
  return fail(ErrorCode::invalid_input, fmt::format("{}: {}", field, why));
}

Status check_text(std::string_view field, const std::string& text, std::size_t most) {
  if (text.size() <= most) return {};
  return refused(field, fmt::format("{} bytes; {} is the limit", text.size(), most));
}

Status check_count(std::string_view field, int count, int most) {
  if (count <= most) return {};
  return refused(field, fmt::format("{} elements; {} is the limit", count, most));
}

Result<control::Path> read_path(std::string_view field, pb::Path path) {
  switch (path) {
    case pb::PATH_RAIL: return control::Path::rail;
    case pb::PATH_MANAGEMENT: return control::Path::management;
    default: return refused(field, "unknown path");
  }
}

pb::Path write_path(control::Path path) { return path == control::Path::rail ? pb::PATH_RAIL : pb::PATH_MANAGEMENT; }

Result<Duration> read_duration(std::string_view field, const google::protobuf::Duration& in) {
  const bool sane =
      in.seconds() >= 0 && in.seconds() <= kDurationSeconds && in.nanos() >= 0 && in.nanos() < 1'000'000'000;
  if (!sane) return refused(field, "no duration between 0 and a year");
  return std::chrono::seconds(in.seconds()) + std::chrono::nanoseconds(in.nanos());
}

void write_duration(Duration value, google::protobuf::Duration& out) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(value);
  out.set_seconds(seconds.count());
  out.set_nanos(static_cast<std::int32_t>((value - seconds).count()));
}

// ---- from ranks

Result<control::RankMessage> read(const pb::Hello& in, control::Rank rank) {
  PR_TRY(check_text("hello.job", in.job(), kNameBytes));
  PR_TRY(check_text("hello.shim_version", in.shim_version(), kNameBytes));
  PR_TRY(check_count("hello.groups", in.groups_size(), kGroups));
  control::Hello out;
  out.job = in.job();
  out.job_epoch = in.job_epoch();
  out.rank = rank;
  out.incarnation = in.incarnation();
  out.shim_version = in.shim_version();
  out.groups.reserve(static_cast<std::size_t>(in.groups_size()));
  for (const pb::ResumedGroup& group : in.groups()) {
    PR_ASSIGN(const control::Path path, read_path("hello.groups.granted_path", group.granted_path()));
    out.groups.push_back(
        {group.group(), group.completed(), group.granted(), group.granted_first(), path, group.announced()});
  }
  return out;
}

Result<control::RankMessage> read(const pb::RegisterGroup& in) {
  PR_TRY(check_text("register_group.key", in.key(), kKeyBytes));
  PR_TRY(check_count("register_group.members", in.members_size(), kMembers));
  control::RegisterGroup out;
  out.key = in.key();
  out.members.assign(in.members().begin(), in.members().end());
  switch (in.shape()) {
    case pb::RegisterGroup::SHAPE_PAIR: out.shape = control::RegisterGroup::Shape::pair; break;
    case pb::RegisterGroup::SHAPE_RING: out.shape = control::RegisterGroup::Shape::ring; break;
    case pb::RegisterGroup::SHAPE_ANY: out.shape = control::RegisterGroup::Shape::any; break;
    default: return refused("register_group.shape", "unknown shape");
  }
  return out;
}

pb::RegisterGroup::Shape write_shape(control::RegisterGroup::Shape shape) {
  switch (shape) {
    case control::RegisterGroup::Shape::pair: return pb::RegisterGroup::SHAPE_PAIR;
    case control::RegisterGroup::Shape::ring: return pb::RegisterGroup::SHAPE_RING;
    case control::RegisterGroup::Shape::any: return pb::RegisterGroup::SHAPE_ANY;
  }
  return pb::RegisterGroup::SHAPE_UNSPECIFIED;
}

struct RankWriter {
  pb::RankMessage& out;

  void operator()(const control::Hello& in) const {
    pb::Hello& to = *out.mutable_hello();
    to.set_job(in.job);
    to.set_job_epoch(in.job_epoch);
    to.set_incarnation(in.incarnation);
    to.set_shim_version(in.shim_version);
    for (const control::ResumedGroup& group : in.groups) {
      pb::ResumedGroup& g = *to.add_groups();
      g.set_group(group.group);
      g.set_completed(group.completed);
      g.set_granted(group.granted);
      g.set_granted_first(group.granted_first);
      g.set_granted_path(write_path(group.granted_path));
      g.set_announced(group.announced);
    }
  }
  void operator()(const control::RegisterGroup& in) const {
    pb::RegisterGroup& to = *out.mutable_register_group();
    to.set_key(in.key);
    to.mutable_members()->Add(in.members.begin(), in.members.end());
    to.set_shape(write_shape(in.shape));
  }
  void operator()(const control::Announce& in) const {
    pb::Announce& to = *out.mutable_announce();
    to.set_group(in.group);
    to.set_sequence(in.sequence);
    to.set_alone(in.alone);
  }
  void operator()(const control::Complete& in) const {
    pb::Complete& to = *out.mutable_complete();
    to.set_group(in.group);
    to.set_through(in.through);
  }
  void operator()(const control::Blocked& in) const {
    pb::Blocked& to = *out.mutable_blocked();
    to.set_group(in.group);
    to.set_sequence(in.sequence);
  }
  void operator()(const control::Stopped& in) const {
    pb::Stopped& to = *out.mutable_stopped();
    to.set_group(in.group);
    to.set_granted_last(in.granted_last);
    to.set_highest_started(in.highest_started);
  }
  void operator()(const control::Renew&) const { out.mutable_renew(); }
  void operator()(const control::Goodbye&) const { out.mutable_goodbye(); }
};

// ---- from the daemon

Result<FromDaemon> read(const pb::Welcome& in) {
  PR_ASSIGN(const Duration lease, read_duration("welcome.lease", in.lease()));
  PR_ASSIGN(const Duration margin, read_duration("welcome.margin", in.margin()));
  return control::Welcome{in.epoch(), lease, margin};
}

Result<FromDaemon> read(const pb::GroupReady& in) {
  PR_TRY(check_text("group_ready.key", in.key(), kKeyBytes));
  PR_TRY(check_text("group_ready.why", in.why(), kTextBytes));
  return control::GroupReady{in.key(), in.group(), in.rail(), in.why()};
}

Result<FromDaemon> read(const pb::Granted& in) {
  PR_ASSIGN(const control::Path path, read_path("granted.path", in.path()));
  return control::Granted{in.group(), in.first(), in.last(), path};
}

Result<FromDaemon> read(const pb::Failed& in) {
  PR_TRY(check_text("failed.reason", in.reason(), kTextBytes));
  return control::Failed{in.group(), in.sequence(), in.reason()};
}

using Code = control::Refused::Code;

struct CodePair {
  pb::Refused::Code wire;
  Code code;
};
constexpr CodePair kCodes[] = {
    {pb::Refused::CODE_UNKNOWN_JOB, Code::unknown_job}, {pb::Refused::CODE_STALE_EPOCH, Code::stale_epoch},
    {pb::Refused::CODE_NOT_YOURS, Code::not_yours},     {pb::Refused::CODE_BAD_REQUEST, Code::bad_request},
    {pb::Refused::CODE_OVERLOADED, Code::overloaded},   {pb::Refused::CODE_NOT_LEADER, Code::not_leader},
    {pb::Refused::CODE_RECOVERING, Code::recovering},
};

Result<FromDaemon> read(const pb::Refused& in) {
  PR_TRY(check_text("refused.text", in.text(), kTextBytes));
  PR_ASSIGN(const Duration retry_after, read_duration("refused.retry_after", in.retry_after()));
  for (const CodePair& pair : kCodes) {
    if (pair.wire == in.code()) return control::Refused{pair.code, in.text(), retry_after};
  }
  return refused("refused.code", "unknown code");
}

std::string cut(const std::string& text, std::size_t most) { return text.substr(0, most); }

struct DaemonWriter {
  pb::DaemonMessage& out;

  void operator()(const control::Welcome& in) const {
    pb::Welcome& to = *out.mutable_welcome();
    to.set_epoch(in.epoch);
    write_duration(in.lease, *to.mutable_lease());
    write_duration(in.margin, *to.mutable_margin());
  }
  void operator()(const control::GroupReady& in) const {
    pb::GroupReady& to = *out.mutable_group_ready();
    to.set_key(in.key);
    to.set_group(in.group);
    to.set_rail(in.rail);
    to.set_why(cut(in.why, kTextBytes));
  }
  void operator()(const control::Granted& in) const {
    pb::Granted& to = *out.mutable_granted();
    to.set_group(in.group);
    to.set_first(in.first);
    to.set_last(in.last);
    to.set_path(write_path(in.path));
  }
  void operator()(const control::Stop& in) const {
    pb::Stop& to = *out.mutable_stop();
    to.set_group(in.group);
    to.set_granted_last(in.granted_last);
  }
  void operator()(const control::Limit& in) const {
    pb::Limit& to = *out.mutable_limit();
    to.set_group(in.group);
    to.set_granted_last(in.granted_last);
    to.set_last(in.last);
  }
  void operator()(const control::Failed& in) const {
    pb::Failed& to = *out.mutable_failed();
    to.set_group(in.group);
    to.set_sequence(in.sequence);
    to.set_reason(cut(in.reason, kTextBytes));
  }
  void operator()(const control::Renewed& in) const {
    write_duration(in.lease, *out.mutable_renewed()->mutable_lease());
  }
  void operator()(const control::Refused& in) const {
    pb::Refused& to = *out.mutable_refused();
    for (const CodePair& pair : kCodes) {
      if (pair.code == in.code) to.set_code(pair.wire);
    }
    to.set_text(cut(in.text, kTextBytes));
    write_duration(in.retry_after, *to.mutable_retry_after());
  }
  void operator()(const control::DaemonMessage& in) const { std::visit(*this, in); }
  void operator()(const Closed& in) const { out.mutable_closed()->set_reason(cut(in.reason, kTextBytes)); }
};

}  // namespace

Result<control::RankMessage> read(const pb::RankMessage& in) {
  switch (in.kind_case()) {
    case pb::RankMessage::kHello: return read(in.hello(), in.rank());
    case pb::RankMessage::kRegisterGroup: return read(in.register_group());
    case pb::RankMessage::kAnnounce:
      return control::Announce{in.announce().group(), in.announce().sequence(), in.announce().alone()};
    case pb::RankMessage::kComplete: return control::Complete{in.complete().group(), in.complete().through()};
    case pb::RankMessage::kBlocked: return control::Blocked{in.blocked().group(), in.blocked().sequence()};
    case pb::RankMessage::kStopped:
      return control::Stopped{in.stopped().group(), in.stopped().granted_last(), in.stopped().highest_started()};
    case pb::RankMessage::kRenew: return control::Renew{};
    case pb::RankMessage::kGoodbye: return control::Goodbye{};
    case pb::RankMessage::KIND_NOT_SET: break;
  }
  return refused("message", "unknown kind");
}

void write(control::Rank rank, const control::RankMessage& message, pb::RankMessage& out) {
  out.set_rank(rank);
  std::visit(RankWriter{out}, message);
}

Result<FromDaemon> read(const pb::DaemonMessage& in) {
  switch (in.kind_case()) {
    case pb::DaemonMessage::kWelcome: return read(in.welcome());
    case pb::DaemonMessage::kGroupReady: return read(in.group_ready());
    case pb::DaemonMessage::kGranted: return read(in.granted());
    case pb::DaemonMessage::kStop: return control::Stop{in.stop().group(), in.stop().granted_last()};
    case pb::DaemonMessage::kLimit:
      return control::Limit{in.limit().group(), in.limit().granted_last(), in.limit().last()};
    case pb::DaemonMessage::kFailed: return read(in.failed());
    case pb::DaemonMessage::kRenewed: {
      PR_ASSIGN(const Duration lease, read_duration("renewed.lease", in.renewed().lease()));
      return control::Renewed{lease};
    }
    case pb::DaemonMessage::kRefused: return read(in.refused());
    case pb::DaemonMessage::kClosed: {
      PR_TRY(check_text("closed.reason", in.closed().reason(), kTextBytes));
      return Closed{in.closed().reason()};
    }
    case pb::DaemonMessage::KIND_NOT_SET: break;
  }
  return refused("message", "unknown kind");
}

void write(control::Rank rank, const FromDaemon& message, pb::DaemonMessage& out) {
  out.set_rank(rank);
  std::visit(DaemonWriter{out}, message);
}

}  // namespace photonrail::wire
