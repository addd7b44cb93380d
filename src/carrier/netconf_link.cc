// NETCONF over SSH (RFC 6242) by libssh: subsystem `netconf`, one thread for each link.
#include <fcntl.h>
#include <fmt/format.h>
#include <libssh/libssh.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <filesystem>
#include <memory>
#include <thread>

#include "carrier/links.h"
#include "carrier/tcp_tuning.h"
#include "device/netconf_framing.h"

namespace photonrail::carrier {
namespace {

using Clock = std::chrono::steady_clock;

template <auto Release>
struct Releases {
  template <class T>
  void operator()(T* value) const {
    Release(value);
  }
};
using Session = std::unique_ptr<ssh_session_struct, Releases<ssh_free>>;
using Channel = std::unique_ptr<ssh_channel_struct, Releases<ssh_channel_free>>;
using Key = std::unique_ptr<ssh_key_struct, Releases<ssh_key_free>>;
using Addresses = std::unique_ptr<addrinfo, Releases<freeaddrinfo>>;

// A descriptor of a file or socket, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  void reset(int value = -1) {
    if (value_ >= 0) ::close(value_);
    value_ = value;
  }

 private:
  int value_;
};

class NetconfLink final : public Link {
 public:
  NetconfLink(const LinkSpec& spec, LinkEvents events)
      : spec_(spec), gate_(std::move(events)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    thread_ = std::thread([this] { run(); });
  }

  ~NetconfLink() override {
    drop();
    if (thread_.get_id() == std::this_thread::get_id()) thread_.detach();   // dropped by its own last event
    else thread_.join();
  }

  void send(device::Frame frame) override {
    const std::lock_guard lock(mutex_);
    unsent_ += frame.body.size();
    if (unsent_ > kUnsentMost) stopping_ = true;
    else frames_.push_back(std::move(frame.body));
    wake();
  }

  void drop() override {
    gate_.shut();
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);   // libssh, wherever it waits, sees the end
    wake();
  }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));
  }

  void run() {
    const std::string why = converse();
    gate_.disconnected(why);
  }

  // The whole life of the connection; why it ended.
  std::string converse() {
    const Clock::time_point deadline = Clock::now() + spec_.connect_within;
    Descriptor socket;
    if (std::string problem = reach(socket, deadline); !problem.empty()) return problem;
    Session session(::ssh_new());
    if (!session) return "no memory";
    std::string problem = log_in(session.get(), socket.get(), deadline);
    Channel channel;
    if (problem.empty()) problem = open_channel(session.get(), channel);
    if (problem.empty()) {
      gate_.connected();
      problem = carry(session.get(), channel.get(), socket.get());
    }
    channel.reset();
    ::ssh_disconnect(session.get());
    const std::lock_guard lock(mutex_);
    socket_ = -1;
    return problem;
  }

  // TCP, by a socket that drop() can shut. Looking up a name blocks; addresses need none.
  std::string reach(Descriptor& socket, Clock::time_point deadline) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int failed = ::getaddrinfo(spec_.host.c_str(), spec_.port.c_str(), &hints, &found)) {
      return ::gai_strerror(failed);
    }
    const Addresses addresses(found);
    std::string problem = "no address";
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
      socket.reset(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (socket.get() < 0) continue;
      if (::connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS) {
        problem = connected_by(socket.get(), deadline);
        if (problem.empty()) break;
      }
    }
    if (!problem.empty()) return problem;
    tune_tcp(socket.get());
    ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
    const std::lock_guard lock(mutex_);
    if (stopping_) return "dropped";
    socket_ = socket.get();
    return "";
  }

  std::string connected_by(int socket, Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    std::array<pollfd, 2> waits{{{socket, POLLOUT, 0}, {wake_.get(), POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (waits[1].revents != 0) return "dropped";
    if (ready <= 0) return "no connection within the time allowed";
    int failed = 0;
    socklen_t size = sizeof(failed);
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &size);
    return failed == 0 ? "" : std::generic_category().message(failed);
  }

  static std::string problem_of(ssh_session session, std::string_view what) {
    return fmt::format("SSH: {}: {}", what, ::ssh_get_error(session));
  }

  std::string log_in(ssh_session session, int socket, Clock::time_point deadline) {
    const int no = 0;
    // libssh closes the descriptor that it is given.
    const int own = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
    const long seconds = std::max<long>(
        1, static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(deadline - Clock::now()).count()));
    ::ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
    ::ssh_options_set(session, SSH_OPTIONS_HOST, spec_.host.c_str());
    ::ssh_options_set(session, SSH_OPTIONS_PORT_STR, spec_.port.c_str());
    ::ssh_options_set(session, SSH_OPTIONS_USER, spec_.credentials.user.c_str());
    ::ssh_options_set(session, SSH_OPTIONS_FD, &own);
    ::ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &seconds);
    const bool literal = is_host_key(spec_.host_key);
    ::ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, literal ? "/dev/null" : spec_.host_key.c_str());
    ::ssh_options_set(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
    if (literal) ::ssh_options_set(session, SSH_OPTIONS_HOSTKEYS, algorithms_of(spec_.host_key).c_str());
    if (::ssh_connect(session) != SSH_OK) return problem_of(session, "connect");
    if (!(literal ? has_host_key(session) : ::ssh_session_is_known_server(session) == SSH_KNOWN_HOSTS_OK)) {
      return "SSH: the host key is not the one of the configuration";
    }
    return authenticate(session);
  }

  // A key of RSA signs by newer algorithms than its own name.
  static std::string algorithms_of(const std::string& host_key) {
    const std::string type = host_key.substr(0, host_key.find(' '));
    return type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : type;
  }

  bool has_host_key(ssh_session session) const {
    const std::size_t blank = spec_.host_key.find(' ');
    if (blank == std::string::npos) return false;
    const std::string type = spec_.host_key.substr(0, blank);
    const std::string base64 = spec_.host_key.substr(blank + 1, spec_.host_key.find(' ', blank + 1) - blank - 1);
    ssh_key expected = nullptr, actual = nullptr;
    const int read = ::ssh_pki_import_pubkey_base64(base64.c_str(), ::ssh_key_type_from_name(type.c_str()), &expected);
    const Key hold_expected(expected);
    const int got = ::ssh_get_server_publickey(session, &actual);
    const Key hold_actual(actual);
    return read == SSH_OK && got == SSH_OK && ::ssh_key_cmp(expected, actual, SSH_KEY_CMP_PUBLIC) == 0;
  }

  std::string authenticate(ssh_session session) {
    int result = SSH_AUTH_DENIED;
    if (!spec_.key_file.empty()) {
      ssh_key key = nullptr;
      if (::ssh_pki_import_privkey_file(spec_.key_file.c_str(), nullptr, nullptr, nullptr, &key) != SSH_OK) {
        return "SSH: cannot read the key " + spec_.key_file;
      }
      const Key hold(key);
      result = ::ssh_userauth_publickey(session, nullptr, key);
    } else {
      result = ::ssh_userauth_password(session, nullptr, spec_.credentials.password.c_str());
      if (result == SSH_AUTH_DENIED || result == SSH_AUTH_PARTIAL) result = answer_prompts(session);
    }
    return result == SSH_AUTH_SUCCESS ? "" : problem_of(session, "login refused");
  }

  // Keyboard-interactive, for servers that ask for the password so.
  int answer_prompts(ssh_session session) {
    constexpr int kRoundsMost = 3;
    int result = ::ssh_userauth_kbdint(session, nullptr, nullptr);
    for (int round = 0; result == SSH_AUTH_INFO && round < kRoundsMost; ++round) {
      const int prompts = ::ssh_userauth_kbdint_getnprompts(session);
      if (prompts > 1) return SSH_AUTH_DENIED;
      if (prompts == 1) ::ssh_userauth_kbdint_setanswer(session, 0, spec_.credentials.password.c_str());
      result = ::ssh_userauth_kbdint(session, nullptr, nullptr);
    }
    return result;
  }

  static std::string open_channel(ssh_session session, Channel& channel) {
    channel.reset(::ssh_channel_new(session));
    if (!channel || ::ssh_channel_open_session(channel.get()) != SSH_OK) return problem_of(session, "channel");
    if (::ssh_channel_request_subsystem(channel.get(), "netconf") != SSH_OK) return problem_of(session, "no NETCONF");
    return "";
  }

  std::string carry(ssh_session session, ssh_channel channel, int socket) {
    device::NetconfFraming framing;
    std::array<char, 16384> buffer{};
    while (true) {
      if (const auto problem = write_frames(session, channel, framing); !problem.empty()) return problem;
      // Data may wait inside of libssh: read until there is none, then wait for the socket.
      while (true) {
        const int size = ::ssh_channel_read_nonblocking(channel, buffer.data(), buffer.size(), 0);
        if (size == SSH_ERROR) return problem_of(session, "read");
        if (size == SSH_EOF || (size == 0 && ::ssh_channel_is_eof(channel) != 0)) return "closed by the switch";
        if (size <= 0) break;
        framing.feed({buffer.data(), static_cast<std::size_t>(size)});
        while (auto message = framing.next()) gate_.frame({"", "", 0, std::move(*message)});
        if (framing.broken()) return "the switch breaks the framing of RFC 6242";
      }
      std::array<pollfd, 2> waits{{{socket, POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
      ::poll(waits.data(), waits.size(), -1);
      std::uint64_t count = 0;
      if (waits[1].revents != 0) [[maybe_unused]] const auto read = ::read(wake_.get(), &count, sizeof(count));
    }
  }

  std::string write_frames(ssh_session session, ssh_channel channel, device::NetconfFraming& framing) {
    std::deque<std::string> frames;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return unsent_ > kUnsentMost ? "the switch does not read" : "dropped";
      frames.swap(frames_);
      unsent_ = 0;
    }
    for (const std::string& body : frames) {
      if (!gate_.may_write()) return Gate::kMayNot;
      const std::string bytes = framing.frame(body);
      for (std::size_t done = 0; done < bytes.size();) {
        const auto left = static_cast<std::uint32_t>(bytes.size() - done);
        const int written = ::ssh_channel_write(channel, bytes.data() + done, left);
        if (written <= 0) return problem_of(session, "write");
        done += static_cast<std::size_t>(written);
      }
    }
    return "";
  }

  const LinkSpec spec_;
  Gate gate_;
  const Descriptor wake_;
  std::mutex mutex_;                  // of what follows
  std::deque<std::string> frames_;
  std::size_t unsent_ = 0;
  int socket_ = -1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Link> open_netconf_link(const LinkSpec& spec, LinkEvents events) {
  return std::make_shared<NetconfLink>(spec, std::move(events));
}

}  // namespace photonrail::carrier
