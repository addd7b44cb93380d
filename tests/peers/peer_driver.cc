// Our side of the tests with independent peers: a reconciler over a real link, told what to do on standard input.
//
//   peer_driver KEY=VALUE...      keys: dialect host port user password key host_key authority certificate name serial
//                                       inputs outputs poll_ms patience_s; plaintext=1
//   intent REMOVE ADD             pairs "0:1,2:3", or "-"; answers "done", or "failed: <reason>"
//   matrix                        after the next read: "matrix 0:1 2:3"
//   alarms                        those since the last time, a line each, then "end"
//   identity                      maker, model, serial, firmware
//   subscribe PATH                gNMI, without a driver: the text form of three updates (flat path, "a/b/c")
// The first line that it prints is "ready", or "unreachable".
#include <fmt/format.h>
#include <gnmi/gnmi.pb.h>

#include <charconv>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>

#include "carrier/io_thread.h"
#include "carrier/link.h"
#include "device/reconciler.h"

namespace photonrail {
namespace {

using namespace std::chrono_literals;
using device::CrossConnect;
using device::Frame;

constexpr auto kPatience = 15s;  // for what is asked on standard input

Instant now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

using Arguments = std::map<std::string, std::string>;

// Events of links in order; a link's number tells an old one's from a new one's.
class Mailbox {
 public:
  struct Mail {
    enum class Kind { connected, frame, disconnected } kind = Kind::frame;
    unsigned link = 0;
    Frame frame;
    std::string why;
  };
  void put(Mail mail) {
    const std::lock_guard lock(mutex_);
    mails_.push_back(std::move(mail));
    wake_.notify_one();
  }
  std::optional<Mail> take(Instant until) {
    std::unique_lock lock(mutex_);
    const auto patience = std::min<Duration>(until - now(), 1s);
    if (!wake_.wait_for(lock, patience, [&] { return !mails_.empty(); })) return std::nullopt;
    Mail mail = std::move(mails_.front());
    mails_.pop_front();
    return mail;
  }
  carrier::LinkEvents events(unsigned link) {
    return {[this, link] { put({Mail::Kind::connected, link, {}, {}}); },
            [this, link](Frame frame) { put({Mail::Kind::frame, link, std::move(frame), {}}); },
            [this, link](std::string why) { put({Mail::Kind::disconnected, link, {}, std::move(why)}); }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Mail> mails_;
};

class Switch {
 public:
  Switch(const carrier::LinkSpec& spec, const device::ReconcilerSpec& expected)
      : spec_(spec), reconciler_(expected, make_driver(spec.dialect, spec.credentials)) {
    reconciler_.tick(now());
    drain();
  }

  // Runs until `met`, or not for longer than `patience`.
  template <class Met>
  bool run_until(Met&& met, Duration patience = kPatience) {
    const Instant end = now() + patience;
    while (!met()) {
      if (now() >= end) return false;
      step(std::min(end, reconciler_.next_deadline()));
    }
    return true;
  }

  bool ready(Duration patience) {
    return run_until([&] { return reconciler_.ready(); }, patience);
  }

  std::string intent(std::vector<CrossConnect> remove, std::vector<CrossConnect> add) {
    device::Intent intent{++last_intent_, 1, std::move(remove), std::move(add), now() + 10s};
    reconciler_.submit(intent, now());
    drain();
    if (!run_until([&] { return results_.contains(last_intent_); })) return "failed: no result";
    const device::IntentResult& result = results_[last_intent_];
    return result.done ? "done" : "failed: " + result.reason;
  }

  std::string matrix() {
    const std::size_t before = reads_;
    run_until([&] { return reads_ > before + 1; });
    std::string text = "matrix";
    for (const CrossConnect& pair : reconciler_.snapshot().connections)
      text += fmt::format(" {}:{}", pair.in, pair.out);
    return text;
  }

  std::string identity() const {
    const device::Identity& identity = reconciler_.identity();
    return fmt::format("{} {} {} {}", identity.maker, identity.model, identity.serial, identity.firmware);
  }

  std::vector<std::string> take_alarms() { return std::exchange(alarms_, {}); }

 private:
  void step(Instant until) {
    if (auto mail = mailbox_.take(until); mail && mail->link == link_number_) {
      if (mail->kind == Mailbox::Mail::Kind::connected) reconciler_.connected(now());
      if (mail->kind == Mailbox::Mail::Kind::disconnected) {
        std::cerr << "disconnected: " << mail->why << '\n';
        reconciler_.disconnected(now());
      }
      if (mail->kind == Mailbox::Mail::Kind::frame) {
        ++reads_;
        reconciler_.receive(mail->frame, now());
      }
    }
    reconciler_.tick(now());
    drain();
  }

  void drain() {
    reconciler_.take_records();
    if (reconciler_.take_connect_request()) {
      if (link_) link_->drop();
      link_ = carrier::open_link(io_.io, spec_, mailbox_.events(++link_number_));
    }
    for (Frame& frame : reconciler_.take_frames()) {
      if (link_) link_->send(std::move(frame));
    }
    for (device::IntentResult& result : reconciler_.take_results()) results_[result.id] = std::move(result);
    for (const device::Alarm& alarm : reconciler_.take_alarms()) {
      constexpr const char* kKinds[] = {"wrong_identity", "drift",     "conflict", "port_failed",
                                        "unreachable",    "reachable", "rejected"};
      std::string text = kKinds[static_cast<std::size_t>(alarm.kind)];
      for (const CrossConnect& pair : alarm.pairs) text += fmt::format(" {}:{}", pair.in, pair.out);
      alarms_.push_back(text);
    }
  }

  carrier::IoThread io_;
  const carrier::LinkSpec spec_;
  Mailbox mailbox_;
  device::Reconciler reconciler_;
  std::shared_ptr<carrier::Link> link_;
  unsigned link_number_ = 0;
  std::size_t reads_ = 0;  // frames that came
  device::IntentId last_intent_ = 0;
  std::map<device::IntentId, device::IntentResult> results_;
  std::vector<std::string> alarms_;
};

std::vector<CrossConnect> pairs_of(const std::string& text) {
  std::vector<CrossConnect> pairs;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    unsigned in = 0, out = 0;
    char colon = 0;
    if (std::istringstream(part) >> in >> colon >> out) {
      pairs.push_back({static_cast<device::Position>(in), static_cast<device::Position>(out)});
    }
  }
  return pairs;
}

int subscribe(const carrier::LinkSpec& spec, const std::string& path) {
  carrier::IoThread io;
  Mailbox mailbox;
  const auto link = carrier::open_link(io.io, spec, mailbox.events(1));
  gnmi::SubscribeRequest request;
  gnmi::Subscription& subscription = *request.mutable_subscribe()->add_subscription();
  std::istringstream elements(path);
  std::string element;
  while (std::getline(elements, element, '/')) subscription.mutable_path()->add_elem()->set_name(element);
  const Instant end = now() + kPatience;
  int updates = 0;
  while (updates < 3 && now() < end) {
    const auto mail = mailbox.take(end);
    if (!mail) continue;
    if (mail->kind == Mailbox::Mail::Kind::connected) link->send({"Subscribe", "1", 0, request.SerializeAsString()});
    if (mail->kind == Mailbox::Mail::Kind::disconnected) return std::cout << "disconnected " << mail->why << '\n', 1;
    if (mail->kind != Mailbox::Mail::Kind::frame) continue;
    if (mail->frame.status != 0) return std::cout << "refused " << mail->frame.body << '\n', 1;
    gnmi::SubscribeResponse response;
    if (!response.ParseFromString(mail->frame.body)) return std::cout << "no SubscribeResponse\n", 1;
    updates += response.update().update_size();
    std::cout << response.ShortDebugString() << '\n';
  }
  link->drop();
  return updates < 3;
}

int serve(Switch& box, Duration patience) {
  std::cout << (box.ready(patience) ? "ready" : "unreachable") << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string what, first, second;
    words >> what >> first >> second;
    if (what == "intent") std::cout << box.intent(pairs_of(first), pairs_of(second)) << std::endl;
    if (what == "matrix") std::cout << box.matrix() << std::endl;
    if (what == "identity") std::cout << box.identity() << std::endl;
    if (what == "alarms") {
      box.matrix();
      for (const std::string& alarm : box.take_alarms()) std::cout << alarm << '\n';
      std::cout << "end" << std::endl;
    }
  }
  return 0;
}

int run(Arguments arguments) {
  const auto dialect = device::dialect_named(arguments["dialect"]);
  if (!dialect) return std::cerr << "no such dialect\n", 2;
  const auto number = [&](const char* key, unsigned otherwise) {
    unsigned value = otherwise;
    const std::string& text = arguments[key];
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  carrier::LinkSpec spec;
  spec.dialect = *dialect;
  spec.host = arguments["host"].empty() ? "127.0.0.1" : arguments["host"];
  spec.port = arguments["port"];
  spec.credentials = {arguments["user"], arguments["password"]};
  spec.tls = arguments["plaintext"].empty();
  spec.authority_file = arguments["authority"];
  spec.certificate_file = arguments["certificate"];
  spec.key_file = arguments["key"];
  spec.server_name = arguments["name"];
  spec.host_key = arguments["host_key"];
  if (const Status safe = carrier::check(spec); !safe) return std::cerr << safe.error().message << '\n', 2;
  if (!arguments["subscribe"].empty()) return subscribe(spec, arguments["subscribe"]);
  device::ReconcilerSpec expected;
  expected.serial = arguments["serial"];
  expected.inputs = static_cast<device::Position>(number("inputs", 0));
  expected.outputs = static_cast<device::Position>(number("outputs", 0));
  expected.poll = std::chrono::milliseconds(number("poll_ms", 500));
  Switch box(spec, expected);
  return serve(box, std::chrono::seconds(number("patience_s", 15)));
}

}  // namespace
}  // namespace photonrail

int main(int argc, char** argv) {
  photonrail::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return std::cerr << "usage: peer_driver KEY=VALUE...\n", 2;
    arguments[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return photonrail::run(std::move(arguments));
}
