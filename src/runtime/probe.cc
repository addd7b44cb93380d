#include "runtime/probe.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "carrier/io_thread.h"

namespace photonrail::runtime {
namespace {

// A connection with deadlines.
class Conversation {
 public:
  Conversation(const ProbeSpec& spec, device::Driver& driver) : spec_(spec), driver_(driver) {
    carrier::LinkEvents events;
    events.connected = [this] { note({News::Kind::connected, {}, {}}); };
    events.frame = [this](device::Frame frame) { note({News::Kind::frame, std::move(frame), {}}); };
    events.disconnected = [this](std::string why) { note({News::Kind::disconnected, {}, std::move(why)}); };
    link_ = carrier::open_link(io_.io, spec.link, std::move(events));
  }
  ~Conversation() { link_->drop(); }

  Status open() {
    PR_ASSIGN(const News news, next("reach"));
    if (news.kind == News::Kind::disconnected) return failed("reach", news.why);
    return {};
  }

  Result<device::Answer> answer() {
    while (true) {
      if (auto done = driver_.take_answer()) return std::move(*done);
      for (device::Frame& frame : driver_.take_frames()) link_->send(std::move(frame));
      PR_ASSIGN(const News news, next("hear from"));
      if (news.kind == News::Kind::disconnected) return failed("hear from", news.why);
      driver_.receive(news.frame);
    }
  }

 private:
  struct News {
    enum class Kind { connected, frame, disconnected } kind = Kind::frame;
    device::Frame frame;
    std::string why;
  };

  void note(News news) {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
    wake_.notify_one();
  }

  Result<News> next(std::string_view what) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, spec_.within, [&] { return !news_.empty(); })) {
      return failed(what, "nothing comes within the time allowed");
    }
    News news = std::move(news_.front());
    news_.pop_front();
    return news;
  }

  tl::unexpected<Error> failed(std::string_view what, std::string_view why) const {
    return fail(ErrorCode::io, fmt::format("cannot {} {}:{}: {}", what, spec_.link.host, spec_.link.port, why));
  }

  const ProbeSpec& spec_;
  device::Driver& driver_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<News> news_;
  carrier::IoThread io_;
  std::shared_ptr<carrier::Link> link_;
};

void tell_identity(const device::Identity& id, std::vector<std::string>& lines) {
  lines.push_back(fmt::format("maker      {}", id.maker));
  lines.push_back(fmt::format("model      {}", id.model));
  lines.push_back(fmt::format("serial     {}", id.serial));
  lines.push_back(fmt::format("firmware   {}", id.firmware));
  lines.push_back(fmt::format("size       {} inputs, {} outputs", id.inputs, id.outputs));
}

void tell_capabilities(const device::Capabilities& can, std::vector<std::string>& lines) {
  const auto yes = [](bool b) { return b ? "yes" : "no"; };
  lines.push_back(fmt::format("batches    {}, at most {} pairs in one write",
                              can.atomic_batch ? "atomic" : "not atomic", can.max_batch));
  lines.push_back(fmt::format("tells      status {}, power {}, changes unasked {}", yes(can.status), yes(can.power),
                              yes(can.events)));
  const char* conflict = can.on_conflict == device::OnConflict::steals    ? "takes it from the other circuit"
                         : can.on_conflict == device::OnConflict::rejects ? "refuses"
                                                                          : "not known; this program never asks for it";
  lines.push_back(fmt::format("busy port  {}", conflict));
}

void tell_circuits(const device::Snapshot& matrix, const device::Snapshot& readings, std::vector<std::string>& lines) {
  lines.push_back(fmt::format("circuits   {}", matrix.connections.size()));
  for (const device::CrossConnect& pair : matrix.connections) {
    std::string line = fmt::format("  in {} -> out {}", pair.in, pair.out);
    if (pair.out < readings.outputs.size()) {
      const device::OutputReading& r = readings.outputs[pair.out];
      line += fmt::format("  {}", device::name(r.status));
      if (r.power_dbm) line += fmt::format("  {:.2f} dBm", *r.power_dbm);
    }
    lines.push_back(std::move(line));
  }
}

}  // namespace

Result<std::vector<std::string>> probe(const ProbeSpec& spec) {
  PR_TRY(carrier::check(spec.link));
  const auto driver = device::make_driver(spec.link.dialect, spec.link.credentials);
  if (!driver) return fail(ErrorCode::usage, fmt::format("no driver for {}", device::name(spec.link.dialect)));
  Conversation conversation(spec, *driver);
  PR_TRY(conversation.open());
  driver->connected();
  PR_ASSIGN(const device::Answer hello, conversation.answer());
  if (hello.outcome != device::Outcome::applied) {
    return fail(ErrorCode::io, fmt::format("it does not say who it is: {}", hello.device_text));
  }
  std::vector<std::string> lines;
  tell_identity(hello.identity, lines);
  tell_capabilities(driver->capabilities(), lines);

  device::Command command;
  command.kind = device::Command::Kind::read;
  driver->begin(command);
  PR_ASSIGN(const device::Answer matrix, conversation.answer());
  if (matrix.outcome != device::Outcome::applied) {
    return fail(ErrorCode::io, fmt::format("its circuits cannot be read: {}", matrix.device_text));
  }
  device::Answer readings;
  if (driver->capabilities().power || driver->capabilities().status) {
    command.kind = device::Command::Kind::readings;
    driver->begin(command);
    PR_ASSIGN(readings, conversation.answer());
  }
  tell_circuits(matrix.snapshot, readings.snapshot, lines);
  return lines;
}

}  // namespace photonrail::runtime
