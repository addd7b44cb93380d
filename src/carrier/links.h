// What the links share, and how each is made; internal to this folder.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "carrier/link.h"

namespace photonrail::carrier {

// A Link whose work is done by an object that pending operations keep alive: that one lives until the last of them has
// come back, and is told by drop() that nobody listens any more.
template <class Connection>
class HeldLink final : public Link {
 public:
  explicit HeldLink(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~HeldLink() override { connection_->drop(); }
  void send(device::Frame frame) override { connection_->send(std::move(frame)); }
  void drop() override { connection_->drop(); }

 private:
  const std::shared_ptr<Connection> connection_;
};

// Lets events through, one at a time, until it is shut.
class Gate {
 public:
  explicit Gate(LinkEvents events) : events_(std::move(events)) {}

  void connected() {
    const std::lock_guard lock(mutex_);
    if (open_) events_.connected();
  }
  void frame(device::Frame frame) {
    const std::lock_guard lock(mutex_);
    if (open_) events_.frame(std::move(frame));
  }
  void disconnected(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(open_, false)) return;
    events_.disconnected(why);
  }
  void shut() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  bool open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  bool may_write() const { return !events_.may_write || events_.may_write(); }

  static constexpr const char* kMayNot = "writing is not allowed any more";

 private:
  mutable std::recursive_mutex mutex_;   // an event may drop its link
  bool open_ = true;
  const LinkEvents events_;
};

std::shared_ptr<Link> open_tcp_link(boost::asio::io_context& io, const LinkSpec& spec, LinkEvents events);
std::shared_ptr<Link> open_http_link(boost::asio::io_context& io, const LinkSpec& spec, LinkEvents events);
std::shared_ptr<Link> open_netconf_link(const LinkSpec& spec, LinkEvents events);
std::shared_ptr<Link> open_gnmi_link(boost::asio::io_context& io, const LinkSpec& spec, LinkEvents events);

Result<std::string> read_file(const std::string& path);   // at most 1 MiB

}  // namespace photonrail::carrier
