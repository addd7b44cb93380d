// SCPI from both sides. The first byte chooses: the input is what a box sends to the driver, or what a client sends to
// an emulated box. Never a crash, and an answer to every command.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "device/conformance.h"
#include "device/driver.h"
#include "device/scpi.h"

namespace {

using namespace photonrail;
using namespace photonrail::device;

// A "%" in the input stands for the ones that the driver's *OPC? questions ask for.
std::string with_ones(std::string text, const std::string& sent) {
  std::string ones;
  for (auto at = sent.find("*opc?"); at != std::string::npos; at = sent.find("*opc?", at + 1)) ones += "1;";
  for (auto at = text.find('%'); at != std::string::npos; at = text.find('%', at + ones.size())) {
    text.replace(at, 1, ones);
  }
  return text;
}

// One line of the input for each line that the driver sends.
void to_driver(std::string_view bytes) {
  constexpr int kTurns = 16;
  const auto driver = make_driver(Dialect::polatis_scpi, {});
  driver->connected();
  std::string sent;
  bool in_flight = true;
  for (int turn = 0; turn < kTurns && !bytes.empty(); ++turn) {
    for (const Frame& frame : driver->take_frames()) sent = frame.body;
    const auto end = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    Frame frame;
    frame.body = with_ones(std::string(bytes.substr(0, end)), sent);
    bytes.remove_prefix(end);
    driver->receive(frame);
    if (driver->take_answer()) {
      if (!std::exchange(in_flight, false)) std::abort();  // an answer that nobody asked for
    }
    if (in_flight) continue;
    const auto next = turn % 2 == 0 ? Command::Kind::read : Command::Kind::readings;
    driver->begin({next, {}, {}, true});
    in_flight = !driver->take_answer();
  }
  driver->expire();
  if (in_flight && !driver->take_answer()) std::abort();
  if (driver->take_answer()) std::abort();
}

void to_box(const std::string& bytes) {
  EmulatedBox box(Dialect::polatis_scpi, SwitchModelSpec{});
  const ConnectionId connection = box.open(Instant{});
  Frame frame;
  frame.body = bytes + "\n";
  box.send(connection, frame, Instant{});
  (void)box.next(connection);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto patches = scpi::parse_patches(input, 1024);
  if (patches && scpi::parse_patches(scpi::patches_text(*patches), 1024) != patches) std::abort();
  if (input.empty()) return 0;
  if (input[0] % 2 == 0) to_driver(input.substr(1));
  else to_box(input.substr(1));
  return 0;
}
