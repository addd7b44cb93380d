// SCPI from both sides. The first byte chooses: the input is what a box sends to the driver, or what a client sends to
// an emulated box. Never a crash, and an answer to every command.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "device/conformance.h"
#include "device/driver.h"
#include "device/scpi.h"

namespace {

using namespace photonrail;
using namespace photonrail::device;

void to_driver(const std::string& bytes) {
  const auto driver = make_driver(Dialect::polatis_scpi, {});
  driver->connected();
  for (std::size_t from = 0; from < bytes.size(); from += 7) {
    Frame frame;
    frame.body = bytes.substr(from, 7);
    driver->receive(frame);
    (void)driver->take_frames();
    (void)driver->take_answer();
  }
  driver->begin({Command::Kind::read, {}, {}, true});
  if (!driver->take_answer()) {
    Frame frame;
    frame.body = bytes + "\n";
    driver->receive(frame);
    driver->expire();
    if (!driver->take_answer()) std::abort();
  }
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
