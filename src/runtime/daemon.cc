#include "runtime/daemon.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/records.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/grpc_server.h"
#include "runtime/hand_over.h"
#include "runtime/http_pages.h"
#include "runtime/probe.h"
#include "runtime/reactor.h"
#include "runtime/service_manager.h"

namespace photonrail::runtime {
namespace {

constexpr Duration kAlivePatience = std::chrono::seconds(5);
constexpr std::size_t kCompactEtcd = std::size_t{4} << 20;  // whoever takes over reads all of it first
constexpr Duration kGrace = std::chrono::seconds(2);        // for answers that are on their way at the end

Log::Level level_of(const std::string& name) {
  for (const Log::Level level : {Log::Level::debug, Log::Level::info, Log::Level::warning, Log::Level::error}) {
    if (name == runtime::name(level)) return level;
  }
  return Log::Level::info;
}

// Epochs grow with every start: one more than the largest that was ever made durable.
control::Epoch next_epoch(const std::vector<std::string>& records) {
  control::Epoch highest = 0;
  for (const std::string& bytes : records) {
    const auto record = daemon::decode(bytes);
    if (!record) continue;  // the core refuses it with a reason
    if (const auto* begun = std::get_if<daemon::EpochBegun>(&*record)) highest = std::max(highest, begun->epoch);
  }
  return highest + 1;
}

sigset_t waited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

class Daemon {
 public:
  Daemon(DaemonOptions options, ConfigDocument config)
      : options_(std::move(options)),
        config_(std::move(config.value)),
        log_(STDERR_FILENO, level_of(config_.log_level)),
        names_(switch_names(config_)),
        metrics_(names_) {}
  ~Daemon() { stop(); }

  Status start() {
    log_grpc_to(log_);
    const bool available = highly_available(config_);
    PR_ASSIGN(writer_, available ? RecordWriter::open_audit(config_.state.directory, metrics_)
                                 : RecordWriter::open(config_.state.directory, metrics_));
    if (writer_->torn_bytes() > 0) {
      log_.write(Log::Level::warning, "journal mended", {{"bytes_cut", std::uint64_t{writer_->torn_bytes()}}});
    }
    PR_TRY(start_core());
    PR_TRY(start_servers());
    start_timers();
    const control::Epoch epoch = next_epoch(writer_->recovered());
    writer_->drop_recovered();
    host_->start();
    if (available)
      hand_over_->start();
    else
      host_->lead(epoch, kNever);
    log_.write(Log::Level::info, "started",
               {{"version", options_.version},
                {"address", config_.listen.address},
                {"port", static_cast<std::uint64_t>(grpc_->port())},
                {"metrics_port", std::uint64_t{pages_ ? pages_->port() : std::uint16_t{0}}},
                {"tls", config_.listen.plaintext ? "off" : "mutual"}});
    notify_service_manager(available ? "READY=1\nSTATUS=standing for election" : "READY=1\nSTATUS=leading");
    return {};
  }

  // Until a signal ends it.
  Status wait() {
    const sigset_t signals = waited_signals();
    while (true) {
      int signal = 0;
      if (::sigwait(&signals, &signal) != 0) continue;
      if (signal != SIGHUP) break;
      reload();
    }
    log_.write(Log::Level::info, "stopping");
    notify_service_manager("STOPPING=1");
    stop();
    const std::lock_guard lock(failure_mutex_);
    if (failure_) return fail(*failure_);
    return {};
  }

 private:
  Status start_core() {
    PR_ASSIGN(daemon::CoreSpec spec, core_spec(config_));
    PR_ASSIGN(link_specs_, link_specs(config_));
    PR_ASSIGN(daemon::Core core, daemon::Core::recover(spec, writer_->recovered(), now()));
    links_ = std::make_unique<SwitchLinks>(reactor_, link_specs_, metrics_, log_, names_);
    CoreHostSpec host;
    host.switch_names = names_;
    host.compact_bytes = static_cast<std::size_t>(config_.state.compact_after.count);
    if (highly_available(config_)) host.compact_bytes = std::min(host.compact_bytes, kCompactEtcd);
    host.first_request = first_request();
    host_ = std::make_unique<CoreHost>(std::move(core), std::move(host), *writer_, *links_, metrics_, log_,
                                       [this](const wire::Event& event) { operators_->publish(event); });
    links_->attach(host_.get());
    if (highly_available(config_)) {
      PR_ASSIGN(hand_over_, HandOver::make(hand_over_spec(config_, name_of_this_start()), std::move(spec), *host_, log_,
                                           [this](const Error& error) { give_up(error); }));
    }
    writer_->start([this](daemon::RecordNumber through) { host_->durable(through); },
                   [this](const Error& error) { give_up(error); });
    return {};
  }

  // Request ids never come twice, also not after a restart.
  std::uint64_t first_request() const {
    constexpr unsigned kBits = 32, kBitsOfSeconds = 24;
    if (!highly_available(config_)) return (next_epoch(writer_->recovered()) << kBits) + 1;
    return (static_cast<std::uint64_t>(::time(nullptr)) << kBitsOfSeconds) + 1;
  }

  // Other daemons, and other starts of this one, have other names.
  std::string name_of_this_start() const {
    return fmt::format("{} pid {} {}", config_.listen.address, ::getpid(), now().time_since_epoch().count());
  }

  Status start_servers() {
    access_ = std::make_unique<Access>(config_.site, config_.listen.plaintext, *host_, log_);
    ranks_ = std::make_unique<RankService>(*host_, *access_, rank_limits(config_), metrics_, log_);
    operators_ = std::make_unique<OperatorService>(
        *host_, *writer_, *access_, names_,
        [this](daemon::SwitchId ocs, auto done) { probe_switch(ocs, std::move(done)); }, metrics_, log_);
    PR_ASSIGN(grpc_, GrpcServer::listen(grpc_spec(config_), *ranks_, *operators_));
    grpc_->set_serving(false);
    if (config_.metrics.address.empty()) return {};
    PR_ASSIGN(const Endpoint address, parse_endpoint(config_.metrics.address));
    PR_ASSIGN(pages_,
              HttpPages::listen(
                  reactor_, address,
                  [this](const std::string& path, HttpPages::Answer answer) { page(path, std::move(answer)); }, log_));
    return {};
  }

  void start_timers() {
    reactor_.every(std::chrono::seconds(1), [this] {
      ranks_->sweep(changed_authority());
      with_status([this](const daemon::StatusReport& status) {
        if (serving_.exchange(status.leading) != status.leading) grpc_->set_serving(status.leading);
      });
    });
    const Duration period = watchdog_period();
    if (period <= Duration::zero()) return;
    reactor_.every(period, [this] {
      if (host_->alive(kAlivePatience)) notify_service_manager("WATCHDOG=1");
    });
  }

  // Its text where it is another one than last time, else nothing.
  std::string changed_authority() {
    struct stat status{};
    if (config_.tls.authority.empty() || ::stat(config_.tls.authority.c_str(), &status) != 0) return {};
    const std::int64_t changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    const std::int64_t before = authority_changed_.exchange(changed);
    if (before == changed || before == 0) return {};
    log_.write(Log::Level::info, "authorities changed");
    return config::read_file(config_.tls.authority).value_or(std::string());
  }

  void with_status(std::function<void(const daemon::StatusReport&)> done) {
    daemon::Identity self;
    self.role = daemon::Identity::Role::viewer;
    self.name = "photonraild";
    daemon::GetStatus what;
    what.circuits = false;
    host_->call(host_->next_request(), std::move(self), what,
                [done = std::move(done)](const daemon::Reply& reply) { done(reply.status); });
  }

  void page(const std::string& path, HttpPages::Answer answer) {
    if (path == "/healthz") {
      const bool alive = host_->alive(kAlivePatience);
      return answer({alive ? 200 : 503, "text/plain", alive ? "alive\n" : "the core does not move\n"});
    }
    if (path == "/readyz") {
      return with_status([answer](const daemon::StatusReport& status) {
        std::string body = status.leading ? "leading\n" : "not leading\n";
        for (const auto& ocs : status.switches)
          body += fmt::format("{} {}\n", ocs.name, ocs.ready ? "ready" : "not ready");
        answer({status.leading ? 200 : 503, "text/plain", body});
      });
    }
    if (path != "/metrics") return answer({404, "text/plain", "/metrics, /healthz, /readyz\n"});
    with_status([this, answer](const daemon::StatusReport& status) {
      answer({200, "text/plain; version=0.0.4; charset=utf-8", render(metrics_, status, options_.version)});
    });
  }

  void probe_switch(daemon::SwitchId ocs, std::function<void(OperatorService::Lines)> done) {
    const bool busy = probing_.exchange(true);
    if (busy) return done(fail(ErrorCode::infeasible, "another probe is on its way"));
    ProbeSpec spec{link_specs_[ocs]};
    if (prober_.joinable()) prober_.join();
    prober_ = std::thread([this, spec = std::move(spec), done = std::move(done)] {
      done(probe(spec));
      probing_ = false;
    });
  }

  void reload() {
    notify_service_manager("RELOADING=1");
    const auto fresh = load_config(options_.config);
    if (!fresh) {
      log_.write(Log::Level::error, "configuration refused, the old one stays", {{"detail", fresh.error().message}});
    } else {
      log_.set_threshold(level_of(fresh->value.log_level));
      DaemonConfig with_old_level = fresh->value;
      with_old_level.log_level = config_.log_level;
      const bool more = config::canonical_document(with_old_level) != config::canonical_document(config_);
      log_.write(Log::Level::info, "reloaded", {{"restart_needed", more ? "yes" : "no"}});
    }
    notify_service_manager("READY=1");
  }

  // On the writer's thread: nothing durable can be promised any more.
  void give_up(const Error& error) {
    log_.write(Log::Level::error, "journal failed", {{"detail", error.message}});
    {
      const std::lock_guard lock(failure_mutex_);
      failure_ = error;
    }
    if (!hand_over_) host_->step_down();
    ::kill(::getpid(), SIGTERM);
  }

  void stop() {
    if (stopped_) return;
    stopped_ = true;
    if (grpc_) grpc_->set_serving(false);
    if (host_) host_->stop();
    if (hand_over_) hand_over_->resign();
    if (operators_) operators_->close_all("the daemon stops");
    if (ranks_) ranks_->close_all("the daemon stops; attach again");
    if (grpc_) grpc_->stop(kGrace);
    if (prober_.joinable()) prober_.join();
    if (pages_) pages_->close();
    links_.reset();
    reactor_.stop();
    if (writer_) writer_->stop();
    log_.write(Log::Level::info, "stopped");
  }

  const DaemonOptions options_;
  const DaemonConfig config_;
  Log log_;
  const std::vector<std::string> names_;
  Metrics metrics_;
  std::vector<carrier::LinkSpec> link_specs_;
  Reactor reactor_;
  std::unique_ptr<RecordWriter> writer_;
  std::unique_ptr<SwitchLinks> links_;
  std::unique_ptr<CoreHost> host_;
  std::unique_ptr<HandOver> hand_over_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<RankService> ranks_;
  std::unique_ptr<OperatorService> operators_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpPages> pages_;
  std::thread prober_;
  std::atomic<bool> probing_{false}, serving_{false};
  std::atomic<std::int64_t> authority_changed_{0};
  std::mutex failure_mutex_;
  std::optional<Error> failure_;
  bool stopped_ = false;
};

}  // namespace

Status run_daemon(const DaemonOptions& options) {
  PR_ASSIGN(ConfigDocument config, load_config(options.config));
  const sigset_t signals = waited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // threads inherit it: the signals come to wait() alone
  ::signal(SIGPIPE, SIG_IGN);
  Daemon daemon(options, std::move(config));
  PR_TRY(daemon.start());
  return daemon.wait();
}

}  // namespace photonrail::runtime
