// Prints what our TL1 drivers and emulated boxes say to each other, for a judge: for each session one line
// "session <dialect> <variant>", then "sent <hex>" and "heard <hex>".
#include <cstdio>
#include <string>

#include "device/conformance.h"

namespace {

using namespace photonrail::device;

void print(const char* what, const std::string& bytes) {
  std::printf("%s ", what);
  for (const char c : bytes) std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  std::printf("\n");
}

void session(Dialect dialect, const std::string& variant) {
  SwitchModelSpec spec;
  spec.model = "EMU-16x16-LU1";
  FrontEndOptions options;
  options.credentials = {"root", "se;cret"};
  options.firmware_variant = variant;
  EmulatedBox box(dialect, spec, options);
  Carrier line(box, options.credentials);
  std::vector<CrossConnect> pairs;
  for (Position i = 0; i < 12; ++i) pairs.push_back({i, static_cast<Position>(15 - i)});
  line.connect();
  line.add(pairs);
  line.read();
  line.readings();
  line.add({{14, 15}});  // refused: the output is busy
  line.remove({{3, 12}, {5, 10}, {6, 6}});
  box.model().fail_port(2, line.now());
  line.pass(std::chrono::seconds(1));  // autonomous messages
  line.read();
  line.set_ports({1, 2}, false);
  line.readings({1, 2});
  line.add({{3, 10}, {5, 12}});
  line.read();
  std::printf("session %s %s\n", name(dialect), variant.empty() ? "-" : variant.c_str());
  print("sent", line.sent());
  print("heard", line.heard());
}

}  // namespace

int main() {
  for (const Dialect dialect : {Dialect::polatis_tl1, Dialect::calient_tl1, Dialect::glimmerglass_tl1}) {
    for (const char* variant : {"", "paging", "late-login"}) session(dialect, variant);
  }
  return 0;
}
