// Links and listeners joined on loopback: what a driver says reaches a front end and comes back, and every end is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "carrier/io_thread.h"
#include "carrier/link.h"
#include "carrier/listener.h"
#include "device/netconf_framing.h"

namespace photonrail::carrier {
namespace {

using namespace std::chrono_literals;
using device::Command;
using device::Dialect;
using device::Frame;
using device::Outcome;

constexpr auto kPatience = 10s;

// A switch behind one listener; replies leave at once.
class Box {
 public:
  Box(IoThread& io, const ListenerSpec& spec) : model_(device::SwitchModelSpec{}) {
    front_end_ = make_front_end(spec.dialect, model_, {});
    ListenerEvents events;
    events.opened = [this](device::ConnectionId id) {
      act([&](Instant now) { front_end_->opened(id, now); });
      ++opened;
    };
    events.closed = [this](device::ConnectionId id) {
      act([&](Instant now) { front_end_->closed(id, now); });
      ++closed;
    };
    events.frame = [this](device::ConnectionId id, const Frame& frame) {
      if (!silent) act([&](Instant now) { front_end_->receive(id, frame, now); });
    };
    auto made = listen(io.io, spec, std::move(events));
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    if (made) listener = std::move(*made);
  }
  ~Box() { listener.reset(); }

  std::string port() const { return std::to_string(listener->port()); }
  std::vector<device::CrossConnect> matrix() {
    const std::lock_guard lock(mutex_);
    return model_.connections(Instant(std::chrono::steady_clock::now().time_since_epoch()));
  }
  std::atomic<int> opened = 0, closed = 0;
  std::atomic<bool> silent = false;
  std::unique_ptr<Listener> listener;

 private:
  template <class F>
  void act(F&& f) {
    const std::lock_guard lock(mutex_);
    const auto now = Instant(std::chrono::steady_clock::now().time_since_epoch());
    f(now);
    for (device::FrontEndReply& reply : front_end_->take_replies()) {
      const bool something = !reply.frame.body.empty() || !reply.frame.verb.empty() || reply.frame.status != 0;
      if (listener && something) listener->send(reply.connection, std::move(reply.frame));
      if (listener && reply.close) listener->close(reply.connection);
    }
  }

  std::mutex mutex_;
  device::SwitchModel model_;
  std::unique_ptr<device::FrontEnd> front_end_;
};

// What a link reports, in order.
class Client {
 public:
  Client(IoThread& io, const LinkSpec& spec, std::function<bool()> may_write = {}) {
    LinkEvents events;
    events.may_write = std::move(may_write);
    events.connected = [this] { note("connected", {}); };
    events.frame = [this](Frame frame) { note("frame", std::move(frame)); };
    events.disconnected = [this](const std::string&) { note("disconnected", {}); };
    link = open_link(io.io, spec, std::move(events));
  }
  ~Client() { link->drop(); }

  // The next event; "" when none comes.
  std::string next(Frame* frame = nullptr, std::chrono::milliseconds patience = kPatience) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, patience, [&] { return !events_.empty(); })) return "";
    auto [what, content] = std::move(events_.front());
    events_.pop_front();
    if (frame != nullptr) *frame = std::move(content);
    return what;
  }

  std::shared_ptr<Link> link;

 private:
  void note(const char* what, Frame frame) {
    const std::lock_guard lock(mutex_);
    events_.emplace_back(what, std::move(frame));
    wake_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<std::string, Frame>> events_;
};

device::Answer answer_of(Client& client, device::Driver& driver) {
  while (true) {
    if (auto answer = driver.take_answer()) return *answer;
    for (Frame& frame : driver.take_frames()) client.link->send(std::move(frame));
    Frame frame;
    const std::string what = client.next(&frame);
    if (what != "frame") {
      ADD_FAILURE() << "instead of a frame: '" << what << "'";
      return {};
    }
    driver.receive(frame);
  }
}

LinkSpec to(const Box& box, Dialect dialect) {
  LinkSpec spec;
  spec.dialect = dialect;
  spec.host = "127.0.0.1";
  spec.port = box.port();
  spec.tls = false;
  return spec;
}

ListenerSpec on_loopback(Dialect dialect) {
  ListenerSpec spec;
  spec.dialect = dialect;
  return spec;
}

class Carries : public testing::TestWithParam<Dialect> {};

TEST_P(Carries, CommandsThereAndAnswersBack) {
  IoThread io;
  Box box(io, on_loopback(GetParam()));
  Client client(io, to(box, GetParam()));
  const auto driver = make_driver(GetParam(), {});
  ASSERT_EQ(client.next(), "connected");
  driver->connected();
  EXPECT_EQ(answer_of(client, *driver).identity.serial, "0001");
  driver->begin({Command::Kind::add, {{0, 3}}, {}, true});
  EXPECT_EQ(answer_of(client, *driver).outcome, Outcome::applied);
  driver->begin({Command::Kind::read, {}, {}, true});
  EXPECT_EQ(answer_of(client, *driver).snapshot.connections, (std::vector<device::CrossConnect>{{0, 3}}));
  EXPECT_GE(box.opened, 1);
}

TEST_P(Carries, TheNewsOfItsEndOnce) {
  IoThread io;
  auto box = std::make_unique<Box>(io, on_loopback(GetParam()));
  Client client(io, to(*box, GetParam()));
  ASSERT_EQ(client.next(), "connected");
  const auto driver = make_driver(GetParam(), {});
  driver->connected();
  answer_of(client, *driver);
  box.reset();
  driver->begin({Command::Kind::read, {}, {}, true});
  for (Frame& frame : driver->take_frames()) client.link->send(std::move(frame));
  EXPECT_EQ(client.next(), "disconnected");
  EXPECT_EQ(client.next(nullptr, 50ms), "");
}

TEST_P(Carries, NothingAfterItWasDropped) {
  IoThread io;
  Box box(io, on_loopback(GetParam()));
  Client client(io, to(box, GetParam()));
  ASSERT_EQ(client.next(), "connected");
  box.silent = true;
  const auto driver = make_driver(GetParam(), {});
  driver->connected();
  for (Frame& frame : driver->take_frames()) client.link->send(std::move(frame));
  client.link->drop();
  EXPECT_EQ(client.next(nullptr, 50ms), "");
}

TEST_P(Carries, NothingThatMayNotBeWrittenAnyMore) {
  IoThread io;
  Box box(io, on_loopback(GetParam()));
  std::atomic<bool> allowed = true;
  Client client(io, to(box, GetParam()), [&] { return allowed.load(); });
  ASSERT_EQ(client.next(), "connected");
  const auto driver = make_driver(GetParam(), {});
  driver->connected();
  answer_of(client, *driver);
  allowed = false;
  driver->begin({Command::Kind::add, {{0, 3}}, {}, true});
  for (Frame& frame : driver->take_frames()) client.link->send(std::move(frame));
  EXPECT_EQ(client.next(), "disconnected");
  EXPECT_TRUE(box.matrix().empty());
}

TEST_P(Carries, TheNewsThatNobodyIsThere) {
  IoThread io;
  LinkSpec spec;
  {
    Box box(io, on_loopback(GetParam()));
    spec = to(box, GetParam());
  }
  Client client(io, spec);
  std::string what = client.next();
  if (what == "connected") {   // gRPC finds out with the first call
    client.link->send({"Capabilities", "1", 0, ""});
    what = client.next();
  }
  EXPECT_EQ(what, "disconnected");
}

INSTANTIATE_TEST_SUITE_P(Dialects, Carries,
                         testing::Values(Dialect::polatis_scpi, Dialect::polatis_tl1, Dialect::calient_tl1,
                                         Dialect::glimmerglass_tl1, Dialect::polatis_restconf, Dialect::ocp_gnmi,
                                         Dialect::sonic_gnmi),
                         [](const auto& tested) {
                           std::string text = name(tested.param);
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text;
                         });

// NETCONF's link needs SSH (tests/peers); its listener is tried over plain TCP.
TEST(NetconfListener, FramesMessagesByRfc6242) {
  IoThread io;
  Box box(io, on_loopback(Dialect::polatis_netconf));
  Client client(io, to(box, Dialect::polatis_scpi));
  ASSERT_EQ(client.next(), "connected");
  const auto driver = make_driver(Dialect::polatis_netconf, {});
  device::NetconfFraming framing;
  driver->connected();
  std::optional<device::Answer> answer;
  while (!(answer = driver->take_answer())) {
    for (const Frame& frame : driver->take_frames()) client.link->send({"", "", 0, framing.frame(frame.body)});
    Frame bytes;
    ASSERT_EQ(client.next(&bytes), "frame");
    framing.feed(bytes.body);
    while (auto message = framing.next()) driver->receive({"", "", 0, *message});
  }
  EXPECT_EQ(answer->identity.serial, "0001");
  client.link->send({"", "", 0, "no chunk"});
  EXPECT_EQ(client.next(), "disconnected");
}

TEST(GnmiLink, CarriesAStreamBesideCalls) {
  IoThread io;
  Box box(io, on_loopback(Dialect::ocp_gnmi));
  Client client(io, to(box, Dialect::ocp_gnmi));
  const auto driver = make_driver(Dialect::ocp_gnmi, {});
  ASSERT_EQ(client.next(), "connected");
  driver->connected();
  answer_of(client, *driver);
  EXPECT_TRUE(driver->capabilities().events);
  client.link->send({"Reboot", "77", 0, ""});
  Frame frame;
  ASSERT_EQ(client.next(&frame), "frame");
  EXPECT_EQ(frame.target, "77");
  EXPECT_EQ(frame.status, 12);
}

TEST(Link, IsDisconnectedWhereItsSpecIsRefused) {
  IoThread io;
  LinkSpec spec;
  spec.dialect = Dialect::ocp_gnmi;
  spec.host = "127.0.0.1";
  spec.port = "9";
  spec.authority_file = "/nonexistent/ca.crt";
  Client client(io, spec);
  EXPECT_EQ(client.next(), "disconnected");
}

TEST(Listener, TellsWhenAClientHasGone) {
  IoThread io;
  Box box(io, on_loopback(Dialect::polatis_scpi));
  {
    Client client(io, to(box, Dialect::polatis_scpi));
    ASSERT_EQ(client.next(), "connected");
  }
  for (int i = 0; i < 1000 && box.closed == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(box.opened, 1);
  EXPECT_EQ(box.closed, 1);
}

TEST(Listener, RefusesAnAddressThatIsTaken) {
  IoThread io;
  for (const Dialect dialect : {Dialect::polatis_scpi, Dialect::polatis_restconf, Dialect::ocp_gnmi}) {
    Box box(io, on_loopback(dialect));
    ListenerSpec again = on_loopback(dialect);
    again.port = box.port();
    const auto second = listen(io.io, again, {});
    ASSERT_FALSE(second.has_value()) << name(dialect);
    EXPECT_EQ(second.error().code, ErrorCode::io);
  }
}

TEST(Listener, KeepsUnprotectedDialectsOnLoopback) {
  IoThread io;
  for (const Dialect dialect : {Dialect::polatis_netconf, Dialect::ocp_gnmi, Dialect::sonic_gnmi}) {
    ListenerSpec spec = on_loopback(dialect);
    spec.host = "0.0.0.0";
    EXPECT_FALSE(listen(io.io, spec, {}).has_value()) << name(dialect);
    spec.host = "127.0.0.1";
    spec.tls = true;
    EXPECT_FALSE(dialect != Dialect::polatis_netconf && listen(io.io, spec, {}).has_value()) << "no certificate";
  }
}

TEST(CheckLink, RefusesSecretsWithoutProtection) {
  LinkSpec spec;
  spec.host = "192.0.2.1";
  spec.port = "8008";
  spec.dialect = Dialect::polatis_restconf;
  spec.tls = false;
  EXPECT_FALSE(check(spec));
  spec.host = "127.0.0.2";
  EXPECT_TRUE(check(spec));
  spec.host = "localhost";
  EXPECT_TRUE(check(spec));
  spec.host = "localhost.example.com";
  EXPECT_FALSE(check(spec));
  spec.tls = true;
  EXPECT_FALSE(check(spec)) << "no authority";
  spec.dialect = Dialect::ocp_gnmi;
  EXPECT_FALSE(check(spec)) << "no authority";
  spec.authority_file = "/nonexistent/ca.crt";
  EXPECT_FALSE(check(spec));

  LinkSpec ssh;
  ssh.dialect = Dialect::polatis_netconf;
  ssh.host = "192.0.2.1";
  ssh.port = "830";
  ssh.credentials = {"admin", "secret"};
  EXPECT_FALSE(check(ssh)) << "no host key";
  ssh.host_key = "ssh-ed25519 AAAA";
  EXPECT_TRUE(check(ssh));
  ssh.credentials.password.clear();
  EXPECT_FALSE(check(ssh)) << "no way to log in";
}

TEST(NetconfLink, EndsWhereNobodyIsAndWhereItIsDroppedWhileConnecting) {
  IoThread io;
  LinkSpec spec;
  spec.dialect = Dialect::polatis_netconf;
  spec.host = "127.0.0.1";
  spec.credentials = {"nobody", "x"};
  spec.host_key = "ssh-ed25519 AAAA";
  {
    Box box(io, on_loopback(Dialect::polatis_scpi));   // answers nothing that SSH knows
    spec.port = box.port();
    Client quick(io, spec);
    quick.link->drop();
    EXPECT_EQ(quick.next(nullptr, 50ms), "");
    spec.connect_within = 1s;
    Client slow(io, spec);
    EXPECT_EQ(slow.next(), "disconnected");
  }
  Client client(io, spec);
  EXPECT_EQ(client.next(), "disconnected");
}

}  // namespace
}  // namespace photonrail::carrier
