// IoThread: an io_context that one thread of its own runs for as long as the object lives, for those who wait for links
// in the ordinary way (probe, tests). Whatever uses `io` must be gone before it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace photonrail::carrier {

class IoThread {
 public:
  IoThread() = default;
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;
  ~IoThread() {
    guard_.reset();
    io.stop();
    thread_.join();
  }
  boost::asio::io_context io{1};

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{io.get_executor()};
  std::thread thread_{[this] { io.run(); }};
};

}  // namespace photonrail::carrier
