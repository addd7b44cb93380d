#include "runtime/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace photonrail::runtime {
namespace {

constexpr double kFast[] = {10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 300e-6, 500e-6, 1e-3, 2e-3,
                            5e-3,  10e-3, 20e-3, 50e-3,  100e-3, 200e-3, 500e-3, 1,    5};
constexpr double kSlow[] = {1e-3,   2e-3,   5e-3,   10e-3, 20e-3, 50e-3, 100e-3, 150e-3,
                            200e-3, 300e-3, 500e-3, 1,     2,     5,     10,     60};

std::string escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

class Page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP photonrail_{0} {1}\n# TYPE photonrail_{0} {2}\n", name, help, type);
  }
  template <class Number>
  void sample(std::string_view labels, Number value) {
    text_ += labels.empty() ? fmt::format("photonrail_{} {}\n", name_, value)
                            : fmt::format("photonrail_{}{{{}}} {}\n", name_, labels, value);
  }
  void histogram(std::string_view labels, const Histogram& histogram) {
    const std::string_view comma = labels.empty() ? "" : ",";
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < histogram.bounds(); ++i) {
      total += histogram.count(i);
      text_ += fmt::format("photonrail_{}_bucket{{{}{}le=\"{}\"}} {}\n", name_, labels, comma,
                           histogram.bound_seconds(i), total);
    }
    total += histogram.count(histogram.bounds());
    text_ += fmt::format("photonrail_{}_bucket{{{}{}le=\"+Inf\"}} {}\n", name_, labels, comma, total);
    const std::string braces = labels.empty() ? "" : fmt::format("{{{}}}", labels);
    text_ += fmt::format("photonrail_{0}_sum{1} {2}\nphotonrail_{0}_count{1} {3}\n", name_, braces,
                         histogram.sum_seconds(), total);
  }
  void counter(std::string_view name, std::string_view help, const Counter& value) {
    family(name, "counter", help);
    sample("", value.load(std::memory_order_relaxed));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

std::string label(std::string_view key, std::string_view value) {
  return fmt::format("{}=\"{}\"", key, escaped(value));
}

void add_process(Page& page, const Metrics& m, const daemon::StatusReport& status, std::string_view version) {
  page.family("build_info", "gauge", "Version of the daemon.");
  page.sample(label("version", version), 1);
  page.family("leading", "gauge", "1 while this daemon may grant and write.");
  page.sample("", status.leading ? 1 : 0);
  page.family("epoch", "gauge", "Epoch of the leading controller.");
  page.sample("", status.epoch);
  page.family("leader_lease_age_seconds", "gauge", "Time since the daemon's own lease was extended; 0 without one.");
  page.sample("", static_cast<double>(m.lease_age_ns.load()) * 1e-9);
  page.family("core_queue_depth", "gauge", "Events that the core had found waiting when it last looked.");
  page.sample("", m.queue_depth.load());
  page.family("core_batch_seconds", "histogram", "Time that the core works without looking at its queue.");
  page.histogram("", m.core_batch);
  page.counter("core_ticks_total", "Timers of the core that ran.", m.core_ticks);
}

void add_ranks(Page& page, const Metrics& m) {
  page.family("grants_total", "counter", "Grants sent to ranks, by path.");
  page.sample(label("path", "rail"), m.grants_rail.load());
  page.sample(label("path", "management"), m.grants_management.load());
  page.family("grant_latency_seconds", "histogram",
              "From receipt of what made the grants possible to the last of them handed to its socket.");
  page.histogram(label("cause", "announcement"), m.grant_announced);
  page.histogram(label("cause", "switch"), m.grant_switched);
  page.counter("refusals_total", "Messages of ranks that were refused.", m.refusals);
  page.counter("stops_total", "Ranks asked to stop a batch.", m.stops);
  page.counter("rank_messages_total", "Messages received from ranks.", m.rank_messages);
  page.counter("rank_frames_total", "Frames received from ranks.", m.rank_frames);
  page.counter("rank_streams_opened_total", "Streams of ranks and node agents that were opened.", m.streams_opened);
  page.family("rank_streams", "gauge", "Streams of ranks and node agents that are open.");
  page.sample("", m.streams.load());
  page.family("ranks_attached", "gauge", "Ranks on these streams.");
  page.sample("", m.ranks.load());
  page.counter("malformed_messages_total", "Messages beyond limits or of unknown kinds.", m.malformed);
  page.counter("denied_total", "Calls refused for who made them.", m.denied);
  page.counter("slow_clients_closed_total", "Streams closed because they did not read.", m.slow_clients);
}

void add_records(Page& page, const Metrics& m) {
  page.counter("operator_calls_total", "Calls of operators and schedulers.", m.operator_calls);
  page.counter("operator_calls_refused_total", "Those that were refused.", m.operator_refused);
  page.counter("journal_records_total", "Records made durable.", m.records);
  page.counter("audit_records_total", "Audit records written.", m.audit_records);
  page.counter("journal_compactions_total", "Snapshots written.", m.compactions);
  page.family("journal_bytes", "gauge", "Bytes of records since the last snapshot.");
  page.sample("", m.journal_bytes.load());
  page.family("journal_sync_seconds", "histogram", "Writing and syncing one group of records.");
  page.histogram("", m.journal_sync);
}

void add_switches(Page& page, const Metrics& m, const daemon::StatusReport& status) {
  const auto each = [&](std::string_view name, std::string_view help, Counter SwitchMetrics::* member) {
    page.family(name, "counter", help);
    for (const SwitchMetrics& ocs : m.switches) page.sample(label("switch", ocs.name), (ocs.*member).load());
  };
  page.family("switch_seconds", "histogram", "From the wish for circuits to settled light, or failure.");
  for (const SwitchMetrics& ocs : m.switches) page.histogram(label("switch", ocs.name), ocs.switching);
  page.family("settle_seconds", "histogram", "From the last frame of a write to settled light.");
  for (const SwitchMetrics& ocs : m.switches) page.histogram(label("switch", ocs.name), ocs.settling);
  each("intents_done_total", "Wishes for circuits that ended in settled light.", &SwitchMetrics::intents_done);
  each("intents_failed_total", "Wishes for circuits that failed.", &SwitchMetrics::intents_failed);
  each("write_retries_total", "Writes beyond one removal and one addition per wish.", &SwitchMetrics::retries);
  each("unknown_outcomes_total", "Cross-connects whose outcome was never known.", &SwitchMetrics::unknown_outcomes);
  each("switch_connections_total", "Connections made to the switch.", &SwitchMetrics::connections);
  each("switch_frames_sent_total", "Frames sent to the switch.", &SwitchMetrics::frames_sent);
  page.family("switch_ready", "gauge", "1 while the switch is identified and read.");
  for (const auto& ocs : status.switches) page.sample(label("switch", ocs.name), ocs.ready ? 1 : 0);
  page.family("switch_alarms_total", "counter", "Alarms of the switch: drift, conflict, failed ports.");
  for (const auto& ocs : status.switches) page.sample(label("switch", ocs.name), ocs.alarms);
  page.family("ports_out_of_service", "gauge", "Ports that are drained or quarantined.");
  for (const auto& ocs : status.switches) page.sample(label("switch", ocs.name), ocs.out_of_service.size());
}

void add_jobs(Page& page, const daemon::StatusReport& status) {
  using Counts = control::CoordinatorCounts;
  const auto each = [&](std::string_view name, std::string_view help, std::uint64_t Counts::* member) {
    page.family(name, "counter", help);
    for (const auto& job : status.jobs) page.sample(label("job", job.job), job.counts.*member);
  };
  page.family("job_ranks", "gauge", "Ranks of the job.");
  for (const auto& job : status.jobs) page.sample(label("job", job.job), job.ranks);
  page.family("job_ranks_attached", "gauge", "Ranks of the job that are attached.");
  for (const auto& job : status.jobs) page.sample(label("job", job.job), job.attached);
  page.family("job_ranks_lost", "gauge", "Ranks of the job whose lease is over.");
  for (const auto& job : status.jobs) page.sample(label("job", job.job), job.lost);
  each("job_operations_total", "Operations of the job.", &Counts::operations);
  each("job_grants_total", "Grants to members, batches counted once.", &Counts::grants);
  each("job_batched_total", "Operations covered by a batch without a message of their own.", &Counts::batched);
  each("job_switches_total", "Switches for the job.", &Counts::switches);
  each("job_switches_ahead_total", "Switches made ahead of demand.", &Counts::switches_ahead);
  each("job_mispredictions_total", "Batches that met a conflicting announcement.", &Counts::mispredictions);
  each("job_guard_fired_total", "Operations that the guard sent over the management path.", &Counts::guard_fired);
  each("job_failed_total", "Operations that failed.", &Counts::failed);
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds_seconds) : bounds_(bounds_seconds.begin(), bounds_seconds.end()) {
  PR_CHECK(bounds_.size() <= kBuckets && std::is_sorted(bounds_.begin(), bounds_.end()), "bounds ascend");
}

void Histogram::add(Duration value) {
  const double seconds = static_cast<double>(value.count()) * 1e-9;
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(value.count(), std::memory_order_relaxed);
}

double Histogram::sum_seconds() const { return static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) * 1e-9; }

SwitchMetrics::SwitchMetrics(std::string switch_name)
    : name(std::move(switch_name)), switching(kSlow), settling(kSlow) {}

Metrics::Metrics(const std::vector<std::string>& names)
    : grant_announced(kFast), grant_switched(kFast), journal_sync(kFast), core_batch(kFast) {
  for (const std::string& name : names) switches.emplace_back(name);
}

std::string render(const Metrics& metrics, const daemon::StatusReport& status, std::string_view version) {
  Page page;
  add_process(page, metrics, status, version);
  add_ranks(page, metrics);
  add_records(page, metrics);
  add_switches(page, metrics, status);
  add_jobs(page, status);
  return page.take();
}

}  // namespace photonrail::runtime
