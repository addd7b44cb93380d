#include "runtime/probe.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace photonrail::runtime {
namespace {

using boost::asio::ip::tcp;
using Problem = boost::system::error_code;

// A connection with deadlines, on a context of its own.
class Conversation {
 public:
  Conversation(const ProbeSpec& spec, device::Driver& driver) : spec_(spec), driver_(driver) {}

  Status open() {
    std::optional<Problem> result;
    tcp::resolver resolver(io_);
    Problem problem;
    const auto found = resolver.resolve(spec_.address.host, spec_.address.port, problem);
    if (problem) return failed("find", problem.message());
    boost::asio::async_connect(socket_, found, [&](const Problem& p, const tcp::endpoint&) { result = p; });
    if (!run(result)) return failed("reach", "no connection within the time allowed");
    if (*result) return failed("reach", result->message());
    return {};
  }

  Result<device::Answer> answer() {
    while (true) {
      if (auto done = driver_.take_answer()) return std::move(*done);
      PR_TRY(send());
      std::optional<Problem> result;
      std::size_t size = 0;
      socket_.async_read_some(boost::asio::buffer(buffer_), [&](const Problem& p, std::size_t n) {
        result = p;
        size = n;
      });
      if (!run(result)) return failed("hear from", "no answer within the time allowed");
      if (*result) return failed("hear from", result->message());
      device::Frame frame;
      frame.body.assign(buffer_.data(), size);
      driver_.receive(frame);
    }
  }

 private:
  Status send() {
    for (const device::Frame& frame : driver_.take_frames()) {
      std::optional<Problem> result;
      boost::asio::async_write(socket_, boost::asio::buffer(frame.body), [&](const Problem& p, std::size_t) { result = p; });
      if (!run(result)) return failed("speak to", "it does not read");
      if (*result) return failed("speak to", result->message());
    }
    return {};
  }

  bool run(const std::optional<Problem>& result) {
    io_.restart();
    io_.run_for(spec_.within);
    if (result) return true;
    Problem ignored;
    socket_.close(ignored);
    io_.restart();
    io_.run();  // the handler that was left runs while what it points to lives
    return false;
  }

  tl::unexpected<Error> failed(std::string_view what, std::string_view why) const {
    return fail(ErrorCode::io,
                fmt::format("cannot {} {}:{}: {}", what, spec_.address.host, spec_.address.port, why));
  }

  const ProbeSpec& spec_;
  device::Driver& driver_;
  boost::asio::io_context io_;
  tcp::socket socket_{io_};
  std::array<char, 16384> buffer_{};
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
  lines.push_back(fmt::format("batches    {}, at most {} pairs in one write", can.atomic_batch ? "atomic" : "not atomic",
                              can.max_batch));
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
  const auto driver = device::make_driver(spec.dialect, spec.credentials);
  if (!driver) return fail(ErrorCode::usage, fmt::format("no driver for {}", device::name(spec.dialect)));
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
