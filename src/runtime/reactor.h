// Reactor: one thread that waits for sockets and timers (Boost.Asio), for everything but gRPC and the core.
#pragma once

#include <functional>
#include <memory>

#include "base/instant.h"

namespace boost::asio {
class io_context;
}

namespace photonrail::runtime {

class Reactor {
 public:
  Reactor();
  ~Reactor();  // ends the thread
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  boost::asio::io_context& io();
  void post(std::function<void()> work);                    // any thread
  void every(Duration period, std::function<void()> work);  // until stop()
  void stop();                                              // runs what was posted before, then ends

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::runtime
