// A small HTTP server for pages of text: /metrics, /healthz, /readyz. GET and HEAD, one request a connection, no
// bodies; requests are at most 8 KiB and have 5 s. At most 64 connections. Runs on the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/log.h"
#include "runtime/switch_links.h"

namespace photonrail::runtime {

struct Page {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpPages {
 public:
  using Answer = std::function<void(Page page)>;  // once, on any thread
  using Handler = std::function<void(const std::string& path, Answer answer)>;

  // io where the address cannot be listened on.
  static Result<std::unique_ptr<HttpPages>> listen(Reactor& reactor, const Endpoint& address, Handler handler,
                                                   Log& log);
  ~HttpPages();
  std::uint16_t port() const;
  void close();  // while the reactor runs

 private:
  struct Impl;
  explicit HttpPages(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace photonrail::runtime
