// TL1 from both sides and in all dialects. The first byte chooses: the input is what a box sends to a driver, or what a
// client sends to an emulated box. Never a crash; messages do not depend on how the bytes are cut.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "device/conformance.h"
#include "device/driver.h"
#include "device/tl1.h"

namespace {

using namespace photonrail;
using namespace photonrail::device;

constexpr std::array<Dialect, 3> kDialects{Dialect::polatis_tl1, Dialect::calient_tl1, Dialect::glimmerglass_tl1};

// A tag of "%" in the input stands for the one that the driver waits for.
std::string with_tag(std::string text, const std::string& sent) {
  const auto request = tl1::parse_request(sent.substr(0, sent.find(';')));
  const std::string tag = request ? request->tag : "1";
  for (auto at = text.find('%'); at != std::string::npos; at = text.find('%', at + tag.size())) {
    text.replace(at, 1, tag);
  }
  return text;
}

void to_driver(Dialect dialect, const std::string& bytes) {
  constexpr int kTurns = 8;
  const auto driver = make_driver(dialect, {});
  driver->connected();
  std::string sent;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const Frame& frame : driver->take_frames()) sent = frame.body;
    Frame frame;
    frame.body = with_tag(bytes, sent);
    driver->receive(frame);
    (void)driver->take_events();
    const auto next = turn % 2 == 0 ? Command::Kind::read : Command::Kind::readings;
    if (driver->take_answer()) driver->begin({next, {}, {}, true});
  }
}

void to_box(Dialect dialect, const std::string& bytes) {
  EmulatedBox box(dialect, SwitchModelSpec{});
  const ConnectionId connection = box.open(Instant{});
  Frame frame;
  frame.body = bytes + ";";
  box.send(connection, frame, Instant{});
  (void)box.next(connection);
}

std::string texts(const std::string& bytes, std::size_t piece) {
  tl1::MessageReader reader;
  for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size()))) {
    reader.feed(rest.substr(0, piece));
  }
  std::string result;
  while (const auto message = reader.next()) result += message->tag + message->verb + message->text() + "\n";
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (texts(input, 1) != texts(input, size + 1)) std::abort();
  if (input.empty()) return 0;
  const auto choice = static_cast<std::uint8_t>(input[0]);
  const Dialect dialect = kDialects[choice / 2 % kDialects.size()];
  if (choice % 2 == 0) to_driver(dialect, input.substr(1));
  else to_box(dialect, input.substr(1));
  return 0;
}
