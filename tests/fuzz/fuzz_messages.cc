// NETCONF, RESTCONF and gNMI from both sides, and NETCONF's framing. The first byte chooses dialect and side; the rest
// is bodies, cut at bytes of 0xff. Never a crash, and an answer to every command.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "device/conformance.h"
#include "device/driver.h"
#include "device/netconf_framing.h"

namespace {

using namespace photonrail;
using namespace photonrail::device;

constexpr Dialect kDialects[] = {Dialect::polatis_netconf, Dialect::polatis_restconf, Dialect::ocp_gnmi,
                                 Dialect::sonic_gnmi};
constexpr std::size_t kBodiesMost = 32;

std::vector<std::string> bodies_of(std::string_view bytes) {
  std::vector<std::string> bodies;
  while (!bytes.empty() && bodies.size() < kBodiesMost) {
    const std::size_t end = std::min(bytes.find('\xff'), bytes.size());
    bodies.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return bodies;
}

// The body as an answer to `request`: its number, and its message-id in place of "%".
Frame answer_to(const Frame& request, std::string body, Dialect dialect) {
  const auto id = request.body.find("message-id=\"");
  if (id != std::string::npos) {
    const std::size_t from = id + 12;
    const std::string number = request.body.substr(from, request.body.find('"', from) - from);
    if (const auto at = body.find('%'); at != std::string::npos) body.replace(at, 1, number);
  }
  Frame frame{request.verb, request.target, dialect == Dialect::polatis_restconf ? 200 : 0, std::move(body)};
  if (dialect == Dialect::polatis_restconf) frame.verb.clear();
  return frame;
}

// Either from the first word on, or once the driver knows a box.
void to_driver(Dialect dialect, const std::vector<std::string>& bodies, bool identified) {
  EmulatedBox box(dialect, SwitchModelSpec{});
  Carrier carrier(box);
  Driver& driver = carrier.driver();
  bool in_flight = !identified;
  if (identified)
    carrier.connect();
  else
    driver.connected();
  Frame request;
  for (std::size_t turn = 0; turn < bodies.size(); ++turn) {
    if (!in_flight) {
      constexpr Command::Kind kKinds[] = {Command::Kind::read, Command::Kind::readings, Command::Kind::add,
                                          Command::Kind::remove};
      driver.begin({kKinds[turn % 4], {{1, 2}, {3, 4}}, {}, true});
      in_flight = true;
    }
    for (Frame& frame : driver.take_frames()) request = std::move(frame);
    driver.receive(answer_to(request, bodies[turn], dialect));
    if (driver.take_answer()) in_flight = false;
  }
  driver.expire();
  if (in_flight && !driver.take_answer()) std::abort();
  if (driver.take_answer()) std::abort();
}

void to_box(Dialect dialect, const std::vector<std::string>& bodies) {
  EmulatedBox box(dialect, SwitchModelSpec{});
  const ConnectionId connection = box.open(Instant{});
  Instant now{};
  if (dialect == Dialect::polatis_netconf) box.send(connection, {"", "", 0, "<hello/>"}, now);
  constexpr const char* kMethods[] = {"Capabilities", "Get", "Set", "Subscribe"};
  constexpr const char* kVerbs[] = {"GET", "PUT", "PATCH", "POST", "DELETE"};
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    Frame frame{"", "", 0, bodies[i]};
    if (dialect == Dialect::polatis_restconf) {
      const std::size_t blank = std::min(bodies[i].find(' '), bodies[i].size());
      frame.verb = std::string(kVerbs[i % 5]);
      frame.target = "/api/data/optical-switch:" + bodies[i].substr(0, blank);
      frame.body = bodies[i].substr(blank);
    } else if (dialect != Dialect::polatis_netconf) {
      frame.verb = std::string(kMethods[i % 4]);
      frame.target = std::string("1");
    }
    now += std::chrono::milliseconds(20);
    box.send(connection, frame, now);
    box.advance(now);
    while (box.take(connection, now)) {}
  }
}

void to_framing(std::string_view bytes) {
  NetconfFraming framing;
  framing.frame("urn:ietf:params:netconf:base:1.1");
  for (const std::string& part : bodies_of(bytes)) {
    framing.feed(part);
    while (framing.next()) {}
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Dialect dialect = kDialects[data[0] % 4];
  switch (data[0] / 4 % 4) {
    case 0: to_driver(dialect, bodies_of(bytes), false); break;
    case 1: to_driver(dialect, bodies_of(bytes), true); break;
    case 2: to_box(dialect, bodies_of(bytes)); break;
    default: to_framing(bytes);
  }
  return 0;
}
