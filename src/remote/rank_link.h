// RankLinks: carries client::RankSession over gRPC. One link is one stream: a rank of its own, or several (a node
// agent). A stream that breaks is opened again after a growing pause; the session resumes on it. Renewals happen here.
// Where there are several daemons the next one is tried each time: one of them leads, the others refuse. A daemon that
// answers no Hello and no Renew within kSilence counts as broken, though its connection may live.
//
//   RankLinks links(channel);
//   RankLink& link = links.add({spec}, [](RankLink& link) { ... something came ... });
//   link.use([&](client::RankSession& session) { session.issue(...); });     // what it wants to say is then sent
//
// Thread rule: any thread. A session is only touched inside of `use` and of the callback, under the link's mutex; the
// callback runs on gRPC's threads or the timer's and must not call `use` (it is handed the sessions).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/rank_session.h"
#include "remote/channel.h"

namespace photonrail::remote {

Instant boot_time();  // CLOCK_BOOTTIME: goes on while the machine sleeps, as the daemon's does

inline constexpr Duration kSilence = std::chrono::seconds(1);

using Sessions = std::span<client::RankSession>;
// Called after messages came in, a lease moved, or a stream was opened or lost.
using Changed = std::function<void(Sessions sessions)>;

class RankLink {
 public:
  virtual ~RankLink() = default;
  virtual void use(const std::function<void(Sessions sessions)>& work) = 0;
  virtual std::string trouble() const = 0;  // why the last stream ended; empty: it did not
};

class RankLinks {
 public:
  static Result<std::unique_ptr<RankLinks>> open(const ChannelSpec& spec);
  ~RankLinks();  // says goodbye on every stream that is open, and waits for them to end

  RankLink& add(std::vector<client::RankSessionSpec> ranks, Changed changed);
  // As `add`, over a channel of its own: another identity, or another connection.
  Result<RankLink*> add(const ChannelSpec& spec, std::vector<client::RankSessionSpec> ranks, Changed changed);

 private:
  struct Impl;
  explicit RankLinks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::remote
