#include "daemon/records.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

namespace photonrail::daemon {
namespace {

using device::CrossConnect;

// Fields are named once, in `fields` below; Writer and Reader walk over them alike.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <class T>
  void number(const T& value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) out_.push_back(static_cast<char>(bits & 0xff));
  }
  template <class E>
  void choice(const E& value, E) {
    out_.push_back(static_cast<char>(value));
  }
  void flag(const bool& value) { out_.push_back(value ? 1 : 0); }
  void duration(const Duration& value) { number(value.count()); }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  template <class T, class Each>
  void list(const std::vector<T>& values, std::size_t, Each each) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) each(value);
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void number(T& value) {
    if (!need(sizeof(T), "a number")) return;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bits |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    }
    at_ += sizeof(T);
    value = static_cast<T>(bits);
  }
  template <class E>
  void choice(E& value, E last) {
    std::uint8_t byte = 0;
    number(byte);
    if (byte > static_cast<std::uint8_t>(last)) return wrong("an unknown choice");
    value = static_cast<E>(byte);
  }
  void flag(bool& value) {
    std::uint8_t byte = 0;
    number(byte);
    if (byte > 1) return wrong("a flag that is neither 0 nor 1");
    value = byte == 1;
  }
  void duration(Duration& value) {
    Duration::rep count = 0;
    number(count);
    value = Duration(count);
  }
  void text(std::string& value) {
    std::uint32_t size = 0;
    number(size);
    if (!need(size, "a text")) return;
    value.assign(bytes_.substr(at_, size));
    at_ += size;
  }
  // `smallest` is the least number of bytes of one element: a length that cannot be true allocates nothing.
  template <class T, class Each>
  void list(std::vector<T>& values, std::size_t smallest, Each each) {
    std::uint32_t size = 0;
    number(size);
    if (!need(std::size_t{size} * smallest, "a list")) return;
    values.resize(size);
    for (T& value : values) {
      if (failed()) return;
      each(value);
    }
  }

  bool failed() const { return !error_.empty(); }
  void wrong(std::string_view what) {
    if (!failed()) error_ = fmt::format("journal record, byte {}: {}", at_, what);
  }
  void finish() {
    if (at_ != bytes_.size()) wrong("bytes after the end of the record");
  }
  const std::string& error() const { return error_; }

 private:
  bool need(std::size_t size, std::string_view what) {
    if (failed()) return false;
    if (size <= bytes_.size() - at_) return true;
    wrong(fmt::format("ends within {}", what));
    return false;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string error_;
};

template <class IO, class Pairs>
void pairs(IO& io, Pairs& values) {
  io.list(values, 4, [&io](auto& pair) {
    io.number(pair.in);
    io.number(pair.out);
  });
}

template <class IO, class R>
void job_name(IO& io, R& r) {
  io.text(r.job);
  io.number(r.job_epoch);
}

template <class IO, class A>
void attachment(IO& io, A& port) {
  io.number(port.ocs);
  io.number(port.position);
}

// One overload per kind of record; `r` is const for writing.
template <class R, class T>
concept Is = std::is_same_v<std::remove_const_t<R>, T>;

template <class IO, Is<EpochBegun> R>
void fields(IO& io, R& r) {
  io.number(r.epoch);
}
template <class IO, Is<JobSubmitted> R>
void fields(IO& io, R& r) {
  job_name(io, r.job);
  io.number(r.job.ports_per_rank);
  io.list(r.job.ports, 6, [&io](auto& port) { attachment(io, port); });
  io.list(r.job.domain, 4, [&io](auto& domain) { io.number(domain); });
}
template <class IO, class R>
  requires Is<R, JobEnded> || Is<R, JobRemoved> || Is<R, JobFenced>
void fields(IO& io, R& r) {
  job_name(io, r);
}
template <class IO, Is<RankAttached> R>
void fields(IO& io, R& r) {
  job_name(io, r);
  io.number(r.rank);
  io.number(r.incarnation);
  io.duration(r.lease);
}
template <class IO, Is<RankDetached> R>
void fields(IO& io, R& r) {
  job_name(io, r);
  io.number(r.rank);
  io.number(r.incarnation);
}
template <class IO, Is<GroupAdded> R>
void fields(IO& io, R& r) {
  job_name(io, r);
  io.text(r.group.key);
  io.list(r.group.members, 4, [&io](auto& rank) { io.number(rank); });
  io.choice(r.group.shape, control::RegisterGroup::Shape::any);
  io.list(r.lost, 4, [&io](auto& rank) { io.number(rank); });
}
template <class IO, Is<PortSet> R>
void fields(IO& io, R& r) {
  attachment(io, r.port);
  io.choice(r.state, SetPort::State::quarantined);
  io.text(r.reason);
}
template <class IO, Is<SwitchSet> R>
void fields(IO& io, R& r) {
  io.number(r.ocs);
  io.choice(r.state, SetSwitch::State::maintenance);
  io.text(r.reason);
}
template <class IO, Is<WriteIntended> R>
void fields(IO& io, R& r) {
  io.number(r.ocs);
  io.text(r.job);
  io.number(r.write.id);
  io.number(r.write.epoch);
  pairs(io, r.write.remove);
  pairs(io, r.write.add);
  pairs(io, r.write.before);
  io.text(r.write.frames);
}
template <class IO, Is<IntentEnded> R>
void fields(IO& io, R& r) {
  io.number(r.ocs);
  io.number(r.id);
  io.flag(r.done);
  pairs(io, r.up);
  io.text(r.reason);
}
template <class IO, Is<CircuitsMade> R>
void fields(IO& io, R& r) {
  io.number(r.ocs);
  pairs(io, r.pairs);
}
template <class IO, Is<IntentsUsed> R>
void fields(IO& io, R& r) {
  io.number(r.next);
}

// The record of the kind numbered `kind`: its index in the variant.
template <std::size_t I = 0>
bool make_kind(std::size_t kind, Record& record) {
  if constexpr (I < std::variant_size_v<Record>) {
    if (kind != I) return make_kind<I + 1>(kind, record);
    record.emplace<I>();
    return true;
  }
  return false;
}

}  // namespace

std::string encode(const Record& record) {
  std::string out;
  Writer writer(out);
  writer.number(kRecordVersion);
  writer.number(static_cast<std::uint8_t>(record.index()));
  std::visit([&writer](const auto& r) { fields(writer, r); }, record);
  return out;
}

Result<Record> decode(std::string_view bytes) {
  Reader reader(bytes);
  std::uint8_t version = 0, kind = 0;
  reader.number(version);
  if (!reader.failed() && version != kRecordVersion) {
    reader.wrong(fmt::format("format version {}; this program reads version {}", version, kRecordVersion));
  }
  reader.number(kind);
  Record record;
  if (!reader.failed() && !make_kind(kind, record)) reader.wrong(fmt::format("unknown kind {}", kind));
  if (!reader.failed()) std::visit([&reader](auto& r) { fields(reader, r); }, record);
  if (!reader.failed()) reader.finish();
  if (reader.failed()) return fail(ErrorCode::invalid_input, reader.error());
  return record;
}

}  // namespace photonrail::daemon
