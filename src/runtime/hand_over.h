// HandOver: one of several daemons leads; the others wait to take over. Between an election in etcd and the core:
//
//   elected ─▶ recover the journal from etcd ─▶ a new core ─▶ CoreHost::take_over
//   the lease is over, another one leads, or the store fails ─▶ CoreHost::step_down ─▶ only then others may lead
//
// Start it when the host runs. Recovery is done on a thread of its own; a journal that cannot be understood is told to
// `damaged`: no daemon can lead then.
#pragma once

#include <functional>
#include <memory>

#include "etcd/candidate.h"
#include "etcd/store.h"
#include "runtime/core_host.h"

namespace photonrail::runtime {

struct HandOverSpec {
  etcd::ClientSpec client;
  etcd::ElectionSpec election;
  std::string prefix;
};

class HandOver {
 public:
  using DamagedCallback = std::function<void(const Error& error)>;

  static Result<std::unique_ptr<HandOver>> make(HandOverSpec spec, daemon::CoreSpec core, CoreHost& host, Log& log,
                                                DamagedCallback damaged);
  ~HandOver();
  void start();
  // After the host has stopped: others may lead at once. The client lives on, until the writer has stopped too.
  void resign();

 private:
  struct Impl;
  explicit HandOver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::runtime
