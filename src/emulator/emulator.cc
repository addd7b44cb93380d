#include "emulator/emulator.h"

#include <fmt/format.h>
#include <signal.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "base/check.h"
#include "emulator/writer_log.h"

namespace photonrail::emulator {
namespace {

using device::ConnectionId;
using device::CrossConnect;
using device::Frame;
using device::FrontEndReply;
using ErrorCode_ = boost::system::error_code;

// A front end and its listener; replies that may not leave yet.
struct Door {
  FrontEndSpec spec;
  std::unique_ptr<device::FrontEnd> front_end;
  std::unique_ptr<carrier::Listener> listener;
  std::multimap<Instant, FrontEndReply> waiting;
};

std::string dump_text(device::SwitchModel& model) {
  const Instant at = now();
  std::string out = fmt::format("{{\"at_ns\":{},\"wall\":\"{}\",\"connections\":[", at.time_since_epoch().count(),
                                wall_time());
  bool first = true;
  for (const CrossConnect& pair : model.connections(at)) {
    const device::OutputReading reading = model.reading(pair.out, at);
    out += fmt::format("{}\n  {{\"in\":{},\"out\":{},\"status\":\"{}\",\"lit\":{}", first ? "" : ",", pair.in, pair.out,
                       name(reading.status), model.lit(pair, at));
    if (reading.power_dbm) out += fmt::format(",\"power_dbm\":{:.2f}", *reading.power_dbm);
    out += "}";
    first = false;
  }
  out += "],\n \"faults_struck\":{";
  first = true;
  for (const auto& [fault, times] : model.faults_struck()) {
    out += fmt::format("{}\"{}\":{}", first ? "" : ",", fault, times);
    first = false;
  }
  return out + "}}\n";
}

// Readers see the old file or the new one.
Status replace_file(const std::string& path, const std::string& text) {
  const std::string aside = path + ".new";
  std::ofstream file(aside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(aside.c_str(), path.c_str()) != 0) {
    return fail(ErrorCode::io, fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  return {};
}

}  // namespace

struct Emulator::Impl {
  Impl(EmulatorSpec given, WriterLog its_log)
      : spec(std::move(given)), model(spec.model), log(std::move(its_log)), timer(io), signals(io) {}

  // ---- start
  Status begin(const std::vector<CrossConnect>& matrix) {
    model.advance(now());
    restore(matrix);
    PR_TRY(log.start(spec.model, model.connections(now())));
    for (const FrontEndSpec& front_end : spec.front_ends) doors.push_back({front_end, nullptr, nullptr, {}});
    for (std::size_t i = 0; i < doors.size(); ++i) PR_TRY(open(i));
    ErrorCode_ problem;
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) signals.add(signal, problem);
    if (problem) return fail(ErrorCode::io, "signals cannot be waited for: " + problem.message());
    wait_for_signal();
    arm();
    return {};
  }

  // Of a log of another size only what fits.
  void restore(const std::vector<CrossConnect>& matrix) {
    device::WriteRequest request;
    request.writer = "device:power";
    for (const CrossConnect& pair : matrix) {
      if (pair.in < spec.model.inputs && pair.out < spec.model.outputs) request.add.push_back(pair);
    }
    if (!request.add.empty()) model.foreign_write(request, now());
    model.clear_writer_log();  // the start record says it
  }

  Status open(std::size_t index) {
    Door& door = doors[index];
    device::FrontEndOptions options{spec.credentials, spec.max_sessions, door.spec.firmware_variant};
    door.front_end = make_front_end(door.spec.listener.dialect, model, std::move(options));
    PR_CHECK(door.front_end != nullptr, "every dialect has a front end");
    carrier::ListenerEvents events;
    events.opened = [this, index](ConnectionId id) { on_thread(index, [id](auto& f, Instant t) { f.opened(id, t); }); };
    events.closed = [this, index](ConnectionId id) { on_thread(index, [id](auto& f, Instant t) { f.closed(id, t); }); };
    events.frame = [this, index](ConnectionId id, Frame frame) {
      on_thread(index, [id, frame = std::move(frame)](auto& f, Instant t) { f.receive(id, frame, t); });
    };
    PR_ASSIGN(door.listener, carrier::listen(io, door.spec.listener, std::move(events)));
    return {};
  }

  // Listeners tell on threads of their own; order is kept.
  template <class F>
  void on_thread(std::size_t index, F what) {
    boost::asio::post(io, [this, index, what = std::move(what)] {
      if (over) return;
      what(*doors[index].front_end, now());
      settle();
    });
  }

  // ---- after whatever happened: log first, then let replies go, then sleep until the next change.
  void settle() {
    const Instant at = now();
    model.advance(at);
    for (Door& door : doors) door.front_end->advance(at);
    for (const device::WriterLogEntry& entry : model.writer_log()) {
      if (const Status logged = log.change(entry); !logged) return end(logged);
    }
    model.clear_writer_log();
    for (Door& door : doors) release(door, at);
    arm();
  }

  void release(Door& door, Instant at) {
    for (FrontEndReply& reply : door.front_end->take_replies()) door.waiting.emplace(reply.at, std::move(reply));
    while (!door.waiting.empty() && door.waiting.begin()->first <= at) {
      FrontEndReply reply = std::move(door.waiting.begin()->second);
      door.waiting.erase(door.waiting.begin());
      const bool empty = reply.frame.body.empty() && reply.frame.verb.empty() && reply.frame.status == 0;
      if (!empty) door.listener->send(reply.connection, std::move(reply.frame));
      if (reply.close) door.listener->close(reply.connection);
    }
  }

  void arm() {
    Instant next = model.next_change();
    for (const Door& door : doors) {
      if (!door.waiting.empty()) next = std::min(next, door.waiting.begin()->first);
    }
    timer.cancel();
    if (next == kNever) return;
    timer.expires_after(std::max(Duration{}, next - now()));
    timer.async_wait([this](const ErrorCode_& problem) {
      if (!problem && !over) settle();
    });
  }

  // ---- end
  void wait_for_signal() {
    signals.async_wait([this](const ErrorCode_& problem, int signal) {
      if (problem || over) return;
      if (signal != SIGUSR1) return end({});
      if (const Status written = dump(); !written) return end(written);
      wait_for_signal();
    });
  }

  Status dump() {
    if (spec.dump.empty()) return {};
    return replace_file(spec.dump, dump_text(model));
  }

  void end(Status how) {
    if (std::exchange(over, true)) return;
    outcome = std::move(how);
    timer.cancel();
    signals.cancel();
    guard.reset();
    io.stop();
  }

  EmulatorSpec spec;
  device::SwitchModel model;
  WriterLog log;
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{io.get_executor()};
  boost::asio::steady_timer timer;
  boost::asio::signal_set signals;
  std::vector<Door> doors;
  bool over = false;
  Status outcome;
};

Emulator::Emulator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Listeners need a running io until they are gone.
Emulator::~Emulator() {
  impl_->over = true;
  impl_->io.restart();
  std::thread helper([this] { impl_->io.run(); });
  for (Door& door : impl_->doors) door.listener.reset();
  impl_->guard.reset();
  impl_->io.stop();
  helper.join();
}

Result<std::unique_ptr<Emulator>> Emulator::make(EmulatorSpec spec) {
  std::vector<CrossConnect> matrix;
  if (spec.model.cold_boot != device::ColdBoot::remove) {
    PR_ASSIGN(matrix, matrix_of_log(spec.writer_log));
  }
  PR_ASSIGN(WriterLog log, WriterLog::open(spec.writer_log));
  std::unique_ptr<Emulator> result(new Emulator(std::make_unique<Impl>(std::move(spec), std::move(log))));
  PR_TRY(result->impl_->begin(matrix));
  return result;
}

std::vector<Address> Emulator::addresses() const {
  std::vector<Address> result;
  for (const Door& door : impl_->doors) {
    result.push_back({door.spec.listener.dialect, door.spec.listener.host, door.listener->port()});
  }
  return result;
}

Status Emulator::run() {
  impl_->io.run();
  if (!impl_->outcome) return impl_->outcome;
  PR_TRY(impl_->dump());
  return impl_->log.stop();
}

void Emulator::stop() {
  boost::asio::post(impl_->io, [this] { impl_->end({}); });
}

}  // namespace photonrail::emulator
