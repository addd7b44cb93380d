#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "cli/commands.h"
#include "cli/ctl_output.h"
#include "cli/job_file.h"
#include "cli/output.h"
#include "config/read.h"
#include "remote/emulated_ranks.h"
#include "remote/operator_client.h"
#include "remote/rank_link.h"
#include "runtime/probe.h"
#include "runtime/switch_links.h"
#include "security/certificates.h"
#include "security/identity.h"

namespace photonrail::cli {
namespace {

using remote::OperatorClient;
using Action = CtlOptions::Action;

remote::ChannelSpec channel_spec(const CtlOptions& o) {
  remote::ChannelSpec spec;
  spec.address = o.address;
  spec.plaintext = o.plaintext;
  spec.server_name = o.server_name;
  const auto file = [&](const std::string& given, const std::string& name) {
    return given.empty() && !o.certificates.empty() ? o.certificates + "/" + name : given;
  };
  spec.authority = file(o.authority, "ca.crt");
  spec.certificate = file(o.certificate, o.as + ".crt");
  spec.key = file(o.key, o.as + ".key");
  spec.identity = o.identity.empty() ? fmt::format("spiffe://{}/role/{}", o.site, o.as) : o.identity;
  return spec;
}

Result<std::unique_ptr<OperatorClient>> connect(const CtlOptions& o) {
  const auto within = std::chrono::milliseconds(static_cast<std::int64_t>(o.timeout_seconds * 1000));
  return OperatorClient::open(channel_spec(o), within);
}

// What a call that changes something answers: that it was done, and the number under which it is in log and audit.
Status told(const CtlOptions& o, const OperatorClient& client, const std::string& what) {
  if (o.json) return print(fmt::format("{{\"done\": true, \"request\": \"{}\"}}\n", client.request()));
  return print(fmt::format("{} (request {})\n", what, client.request()));
}

Status show_status(const CtlOptions& o, StatusPart part) {
  PR_ASSIGN(const auto client, connect(o));
  daemon::GetStatus what;
  what.circuits = part != StatusPart::jobs;
  what.jobs = part != StatusPart::circuits;
  PR_ASSIGN(const auto status, client->status(what));
  if (o.json) return print(status_json(status.report, status.names));
  return print(status_text(status.report, status.names, part, output_style()));
}

Status plan(const CtlOptions& o) {
  PR_ASSIGN(const JobFile file, read_job_file(o.target));
  PR_ASSIGN(const auto client, connect(o));
  PR_ASSIGN(const auto lines, client->plan(file.job, file.names));
  return print(o.json ? lines_json("plan", lines) : lines_text(lines));
}

Status submit(const CtlOptions& o) {
  PR_ASSIGN(const JobFile file, read_job_file(o.target));
  PR_ASSIGN(const auto client, connect(o));
  PR_TRY(client->submit(file.job, file.names));
  return told(
      o, *client,
      fmt::format("job {} submitted, epoch {}, {} ports", file.job.job, file.job.job_epoch, file.job.ports.size()));
}

Status end(const CtlOptions& o) {
  PR_ASSIGN(const auto client, connect(o));
  daemon::EndJob job{o.target, o.epoch};
  if (job.job_epoch == 0) {
    daemon::GetStatus what;
    what.circuits = false;
    PR_ASSIGN(const auto status, client->status(what));
    for (const daemon::JobStatus& known : status.report.jobs) {
      if (known.job == o.target) job.job_epoch = known.job_epoch;
    }
    if (job.job_epoch == 0) return fail(ErrorCode::invalid_input, fmt::format("no job \"{}\" is running", o.target));
  }
  PR_TRY(client->end(job));
  return told(o, *client, fmt::format("job {} ended, epoch {}", job.job, job.job_epoch));
}

Status set_port(const CtlOptions& o, daemon::SetPort::State state, const char* what) {
  wire::SwitchNames names;
  daemon::SetPort port;
  PR_ASSIGN(port.port, parse_port(o.target, names));
  port.state = state;
  port.reason = o.reason;
  PR_ASSIGN(const auto client, connect(o));
  PR_TRY(client->set_port(port, names));
  return told(o, *client, fmt::format("port {} {}", o.target, what));
}

Status maintenance(const CtlOptions& o) {
  daemon::SetSwitch ocs;
  ocs.state = o.over ? daemon::SetSwitch::State::in_service : daemon::SetSwitch::State::maintenance;
  ocs.reason = o.reason;
  PR_ASSIGN(const auto client, connect(o));
  PR_TRY(client->set_switch(ocs, {o.target}));
  return told(o, *client, fmt::format("switch {} {}", o.target, o.over ? "in service" : "in maintenance"));
}

Status history(const CtlOptions& o) {
  PR_ASSIGN(const auto client, connect(o));
  PR_ASSIGN(const auto events, client->history({o.job, o.text, o.limit}));
  return print(o.json ? events_json(events) : events_text(events, output_style()));
}

Status watch(const CtlOptions& o) {
  PR_ASSIGN(const auto client, connect(o));
  Status printed;
  PR_TRY(client->watch([&](const wire::Event& event) {
    printed = print(o.json ? event_json(event) : event_line(event));
    return printed.has_value();
  }));
  return printed;
}

Status probe_directly(const CtlOptions& o) {
  const auto dialect = device::dialect_named(o.dialect);
  if (!dialect) return fail(ErrorCode::usage, fmt::format("unknown dialect \"{}\"", o.dialect));
  runtime::ProbeSpec spec;
  PR_ASSIGN(const runtime::Endpoint address, runtime::parse_endpoint(o.target));
  spec.link.dialect = *dialect;
  spec.link.host = address.host;
  spec.link.port = address.port;
  spec.link.tls = !runtime::is_loopback(address);
  spec.link.credentials.user = o.user;
  if (!o.password_file.empty()) {
    PR_ASSIGN(const std::string text, config::read_file(o.password_file));
    spec.link.credentials.password = text.substr(0, text.find_first_of("\r\n"));
  }
  PR_ASSIGN(const auto lines, runtime::probe(spec));
  return print(o.json ? lines_json("probe", lines) : lines_text(lines));
}

Status probe(const CtlOptions& o) {
  if (!o.dialect.empty()) return probe_directly(o);
  PR_ASSIGN(const auto client, connect(o));
  PR_ASSIGN(const auto lines, client->probe(o.target));
  return print(o.json ? lines_json("probe", lines) : lines_text(lines));
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail(ErrorCode::io, fmt::format("{}: {}", path, std::strerror(errno)));
}

// What support asks for, in a directory: no secrets are in any of it.
Status bundle(const CtlOptions& o) {
  if (::mkdir(o.target.c_str(), S_IRWXU) != 0) {
    return fail(ErrorCode::io, fmt::format("{}: {}", o.target, std::strerror(errno)));
  }
  PR_ASSIGN(const auto client, connect(o));
  PR_ASSIGN(const auto status, client->status({}));
  PR_TRY(write_file(o.target + "/status.json", status_json(status.report, status.names)));
  PR_TRY(write_file(o.target + "/status.txt", status_text(status.report, status.names, StatusPart::all, {})));
  constexpr std::uint32_t kRecords = 10'000;
  PR_ASSIGN(const auto events, client->history({"", "", kRecords}));
  PR_TRY(write_file(o.target + "/history.json", events_json(events)));
  for (const daemon::SwitchStatus& ocs : status.report.switches) {
    const auto lines = client->probe(ocs.name);
    PR_TRY(write_file(fmt::format("{}/probe-{}.txt", o.target, ocs.name),
                      lines ? lines_text(*lines) : lines.error().message + "\n"));
  }
  PR_TRY(write_file(o.target + "/version.txt",
                    fmt::format("photonrail {}\ndaemon at {}\n", PHOTONRAIL_VERSION, o.address)));
  return print(fmt::format("{}: status, history, probes of {} switches\n", o.target, status.report.switches.size()));
}

Status make_certificates(const CtlOptions& o) {
  security::CertificatesSpec spec;
  spec.directory = o.target;
  spec.site = o.site;
  if (!o.hosts.empty()) spec.hosts = o.hosts;
  spec.jobs = o.cert_jobs;
  spec.ranks = o.ranks;
  spec.valid = std::chrono::hours(24) * o.days;
  PR_ASSIGN(const auto files, security::make_certificates(spec));
  if (o.json) return print(lines_json("files", files));
  return print(fmt::format("{}: {}\nFor trials: the authority's key lies beside what it signed.\n", o.target,
                           fmt::join(files, " ")));
}

double quantile_ms(const std::vector<Duration>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return static_cast<double>(sorted[static_cast<std::size_t>(q * last)].count()) * 1e-6;
}

Status emulate_ranks(CtlOptions o) {
  PR_ASSIGN(const JobFile file, read_job_file(o.target));
  remote::EmulatedRanksSpec spec;
  o.as = "job-" + file.job.job;
  spec.channel = channel_spec(o);
  if (o.identity.empty()) spec.channel.identity = fmt::format("spiffe://{}/job/{}", o.site, file.job.job);
  spec.job = file.job.job;
  spec.job_epoch = file.job.job_epoch;
  spec.ranks = static_cast<control::Rank>(file.job.ports.size() / file.job.ports_per_rank);
  spec.gang = o.gang;
  spec.ranks_per_stream = o.per_stream;
  spec.run = Duration(static_cast<std::int64_t>(o.run_ms * 1e6));
  spec.pause = Duration(static_cast<std::int64_t>(o.pause_ms * 1e6));
  spec.own_connections = o.own_connections;
  PR_ASSIGN(const auto ranks, remote::EmulatedRanks::start(spec));
  const Instant begun = remote::boot_time();
  std::this_thread::sleep_for(std::chrono::duration<double>(o.seconds));
  const auto joined = ranks->counts();  // while all are attached
  ranks->finish();
  auto ended = ranks->counts();
  const double seconds = static_cast<double>((remote::boot_time() - begun).count()) * 1e-9;
  std::vector<Duration> all = joined.latencies;
  all.insert(all.end(), ended.latencies.begin(), ended.latencies.end());
  std::sort(all.begin(), all.end());
  const double p50 = quantile_ms(all, 0.5), p99 = quantile_ms(all, 0.99);
  if (o.json) {
    PR_TRY(
        print(fmt::format("{{\"ranks\": {}, \"attached\": {}, \"failed\": {}, \"rail\": {}, \"management\": {}, "
                          "\"failed_operations\": {}, \"seconds\": {:.3f}, \"operations_per_second\": {:.1f}, "
                          "\"latency_p50_ms\": {:.4f}, \"latency_p99_ms\": {:.4f}}}\n",
                          spec.ranks, joined.attached, joined.failed, ended.rail, ended.management,
                          ended.failed_operations, seconds, static_cast<double>(ended.rail) / seconds, p50, p99)));
  } else {
    PR_TRY(print(fmt::format(
        "{} of {} ranks attached; {} operations on rails, {} on the management path, {} failed, in "
        "{:.1f} s\nfrom the last announcement to the last start: median {:.3f} ms, p99 {:.3f} ms\n",
        joined.attached, spec.ranks, ended.rail, ended.management, ended.failed_operations, seconds, p50, p99)));
  }
  if (joined.attached == spec.ranks && joined.failed == 0) return {};
  return fail(ErrorCode::io, fmt::format("not all ranks attached: {}", joined.trouble));
}

}  // namespace

Status run(const CtlOptions& o) {
  switch (o.action) {
    case Action::status: return show_status(o, StatusPart::all);
    case Action::circuits: return show_status(o, StatusPart::circuits);
    case Action::jobs: return show_status(o, StatusPart::jobs);
    case Action::plan: return plan(o);
    case Action::submit: return submit(o);
    case Action::end: return end(o);
    case Action::drain: return set_port(o, daemon::SetPort::State::drained, "drained");
    case Action::undrain: return set_port(o, daemon::SetPort::State::in_service, "in service");
    case Action::quarantine: return set_port(o, daemon::SetPort::State::quarantined, "quarantined");
    case Action::maintenance: return maintenance(o);
    case Action::history: return history(o);
    case Action::watch: return watch(o);
    case Action::probe: return probe(o);
    case Action::bundle: return bundle(o);
    case Action::make_certificates: return make_certificates(o);
    case Action::emulate_ranks: return emulate_ranks(o);
  }
  return {};
}

}  // namespace photonrail::cli
