// Emulator: a switch model behind its front ends, on real sockets.
//
//   listeners (own threads) ─ events ─▶ io thread: front ends ─▶ model; replies wait here until they may leave
//
// Thread rule: made, run and destroyed on one thread; `stop()` from any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "carrier/listener.h"
#include "device/front_end.h"
#include "device/switch_model.h"

namespace photonrail::emulator {

struct FrontEndSpec {
  carrier::ListenerSpec listener;
  std::string firmware_variant;  // see device::FrontEndOptions
};

struct EmulatorSpec {
  device::SwitchModelSpec model;
  std::vector<FrontEndSpec> front_ends;
  device::Credentials credentials;   // empty user: no front end asks for a login
  unsigned max_sessions = 5;         // of each front end
  std::string writer_log;            // file, appended; "": none
  std::string dump;                  // file of the true matrix, replaced at SIGUSR1 and at the end; "": none
};

struct Address {
  device::Dialect dialect;
  std::string host;
  std::uint16_t port;
};

class Emulator {
 public:
  // Binds everything. io, or invalid_input, with the reason. A model whose cold boot restores or maintains begins with
  // the matrix of the writer log, where there is one.
  static Result<std::unique_ptr<Emulator>> make(EmulatorSpec spec);
  ~Emulator();

  std::vector<Address> addresses() const;
  // Until SIGTERM, SIGINT or stop(). io where the log or the dump cannot be written.
  Status run();
  void stop();

 private:
  struct Impl;
  explicit Emulator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::emulator
