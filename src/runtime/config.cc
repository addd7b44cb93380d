#include "runtime/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "security/identity.h"
#include "wire/limits.h"

namespace photonrail::runtime {
namespace {

constexpr std::string_view kLogLevels[] = {"debug", "info", "warning", "error"};

}  // namespace

void describe(config::Fields& fields, ListenConfig& c) {
  fields("address", c.address, {.doc = "Where ranks and operators connect: host:port. Port 0: any, told in the log."});
  fields("plaintext", c.plaintext,
         {.doc = "No TLS: whoever connects is who it says it is. For trials; refused but on a loopback address."});
}

void describe(config::Fields& fields, TlsConfig& c) {
  fields("certificate", c.certificate, {.doc = "The daemon's certificate chain, PEM. Read again when it changes."});
  fields("key", c.key, {.doc = "Its private key, PEM, readable by the daemon alone."});
  fields("authority", c.authority, {.doc = "Certificates of the authorities that clients' ones are signed by, PEM."});
  fields("reload", c.reload, {.doc = "How often the three files are looked at.", .min = 1, .max = 3600});
}

void describe(config::Fields& fields, StateConfig& c) {
  fields("directory", c.directory, {.doc = "Journal and audit log. On a disk that keeps what it has synced."});
  fields("compact_after", c.compact_after,
         {.doc = "Records since the last snapshot, after which another one is written.", .min = 1e5, .max = 1e9});
}

void describe(config::Fields& fields, StoreConfig& c) {
  fields(
      "kind", c.kind,
      {.doc =
           "Where the journal is. \"embedded\": files in state.directory; no other service is needed. \"etcd\": keys "
           "of an etcd cluster; several daemons share them, one of which leads."});
  fields("endpoints", c.endpoints, {.doc = "etcd: its members, host:port each.", .items_max = 16});
  fields("prefix", c.prefix, {.doc = "etcd: what the keys begin with; the same for all daemons of the rails."});
  fields("certificate", c.certificate, {.doc = "etcd: the daemon's certificate as a client, PEM; \"\": no TLS."});
  fields("key", c.key, {.doc = "etcd: its private key, PEM."});
  fields("authority", c.authority,
         {.doc = "etcd: certificates of the authorities that the members' ones are signed by."});
  fields("lease", c.lease,
         {.doc = "etcd: how long a daemon leads after it was last heard of; whole seconds. etcd makes it 1.5 of its "
                 "election timeouts at least.",
          .min = 1,
          .max = 600});
  fields("margin", c.margin,
         {.doc = "etcd: a daemon stops this much earlier, for clocks that differ.", .min = 0.01, .max = 60});
  fields("renew", c.renew, {.doc = "etcd: how often the lease is renewed.", .min = 0.01, .max = 60});
}

void describe(config::Fields& fields, MetricsConfig& c) {
  fields(
      "address", c.address,
      {.doc = "Where /metrics, /healthz and /readyz are served, over plain HTTP: a loopback address. \"\": nowhere."});
}

void describe(config::Fields& fields, LeaseConfig& c) {
  fields("duration", c.duration,
         {.doc = "How long a rank may hold circuits without renewing.", .min = 0.5, .max = 3600});
  fields("margin", c.margin,
         {.doc = "Ranks stop this much before the end, others get their ports this much after it: room for clocks "
                 "that run at different rates.",
          .min = 0.05,
          .max = 600});
  fields("guard", c.guard,
         {.doc = "How long an operation may be blocked before the guard looks whether anything can move.",
          .min = 0.05,
          .max = 600});
}

void describe(config::Fields& fields, LimitsConfig& c) {
  fields("streams", c.streams, {.doc = "Streams of ranks and node agents at a time.", .min = 1, .max = 1'000'000});
  fields("streams_per_connection", c.streams_per_connection,
         {.doc = "Calls at a time on one connection.", .min = 1, .max = 1'000'000});
  fields("ranks_per_stream", c.ranks_per_stream, {.doc = "Ranks that a node agent may carry.", .min = 1, .max = 65536});
  fields("messages_waiting", c.messages_waiting,
         {.doc = "Messages that may wait for a client that does not read; beyond, it is disconnected.",
          .min = 64,
          .max = 1'000'000});
  fields("announced_per_rank", c.announced_per_rank,
         {.doc = "Operations of a rank that are announced and not granted; beyond, it is refused.",
          .min = 1,
          .max = 1'000'000});
  fields("jobs", c.jobs, {.doc = "Jobs at a time.", .min = 1, .max = 65536});
}

void describe(config::Fields& fields, SwitchConfig& c) {
  fields("name", c.name, {.doc = "What operators call it: letters, digits, '.', '_' and '-'.", .required = true});
  fields("dialect", c.dialect,
         {.doc = "What it speaks: polatis-scpi, polatis-tl1, calient-tl1, glimmerglass-tl1, polatis-netconf, "
                 "polatis-restconf, ocp-gnmi or sonic-gnmi.",
          .required = true});
  fields("address", c.address, {.doc = "host:port.", .required = true});
  fields("serial", c.serial,
         {.doc = "Serial number that it must have; nothing is ever written to another one. \"\": that of the first "
                 "that answers."});
  fields("inputs", c.inputs, {.doc = "Inputs that it must have; 0: as many as it says."});
  fields("outputs", c.outputs, {.doc = "Outputs that it must have; 0: as many as it says."});
  fields("user", c.user, {.doc = "User to log in as, where the dialect has a login."});
  fields("password_file", c.password_file, {.doc = "File with the password on its first line."});
  fields("plaintext", c.plaintext, {.doc = "gNMI and RESTCONF without TLS: on loopback only."});
  fields("authority", c.authority,
         {.doc = "File (PEM) of who signs the certificate of the switch: gNMI and RESTCONF."});
  fields("certificate", c.certificate,
         {.doc = "File (PEM) of our certificate for this switch, where it asks for one."});
  fields("key", c.key,
         {.doc = "File (PEM) of its private key; with NETCONF the key of the user, instead of a password."});
  fields("server_name", c.server_name,
         {.doc = "Name in the certificate of the switch; \"\": the host of its address."});
  fields("host_key", c.host_key,
         {.doc = "NETCONF: the host key, \"ssh-ed25519 AAAA...\", or the path of a file of known hosts."});
  fields("command_timeout", c.command_timeout,
         {.doc = "How long to wait for an answer; then the outcome is unknown and the switch is read.",
          .min = 0.01,
          .max = 600});
  fields("poll", c.poll,
         {.doc = "How often the matrix is read, to see changes made by others.", .min = 0.1, .max = 3600});
  fields("settle_max", c.settle_max,
         {.doc = "How long light may take after a write; then the circuit has failed.", .min = 0.001, .max = 3600});
  fields("power_floor_dbm", c.power_floor_dbm,
         {.doc = "Light is there above this power, dBm, where the switch measures it.", .min = -60, .max = 30});
}

void describe(config::Fields& fields, DaemonConfig& c) {
  fields("site", c.site, {.doc = "Name of the site in identities: spiffe://SITE/..."});
  fields("log_level", c.log_level,
         {.doc = "debug, info, warning or error. Read again at SIGHUP.", .choices = kLogLevels});
  fields("batches", c.batches, {.doc = "Whether one grant may cover the next operations of a group."});
  fields("switch_ahead", c.switch_ahead,
         {.doc = "Whether free circuits are switched before the demand for them comes."});
  fields("listen", c.listen, {.doc = "The gRPC server."});
  fields("tls", c.tls, {.doc = "Mutual TLS."});
  fields("state", c.state, {.doc = "What must survive."});
  fields("store", c.store, {.doc = "Where the journal is kept, and who leads."});
  fields("metrics", c.metrics, {.doc = "Pages for monitoring."});
  fields("lease", c.lease, {.doc = "Leases of ranks."});
  fields("limits", c.limits, {.doc = "What clients may take."});
  fields("switch", c.switches, {.doc = "The optical switches.", .required = true, .items_max = 256});
}

namespace {

std::string at(std::string_view directory, std::string_view path) {
  if (path.empty() || path.front() == '/' || directory.empty()) return std::string(path);
  return fmt::format("{}/{}", directory, path);
}

void check_listen(ConfigDocument& doc) {
  const DaemonConfig& c = doc.value;
  auto& d = doc.diagnostics;
  if (!security::valid_name(c.site))
    d.error(doc.span("site"), "no name for a site", "letters, digits, '.', '_' and '-'");
  const auto listen = parse_endpoint(c.listen.address);
  if (!listen) d.error(doc.span("listen.address"), listen.error().message);
  if (listen && c.listen.plaintext && !is_loopback(*listen)) {
    d.error(doc.span("listen.plaintext"), "without TLS the daemon listens on loopback alone",
            "address = \"127.0.0.1:7443\", or certificates: photonrail ctl make-certificates DIR");
  }
  const bool files = !c.tls.certificate.empty() && !c.tls.key.empty() && !c.tls.authority.empty();
  if (!c.listen.plaintext && !files) {
    d.error(doc.span("tls.certificate"), "tls.certificate, tls.key and tls.authority are needed",
            "photonrail ctl make-certificates DIR makes some for trials");
  }
  if (c.metrics.address.empty()) return;
  const auto metrics = parse_endpoint(c.metrics.address);
  if (!metrics) d.error(doc.span("metrics.address"), metrics.error().message);
  if (metrics && !is_loopback(*metrics)) {
    d.error(doc.span("metrics.address"), "metrics have no authentication: a loopback address is wanted");
  }
}

void check_store(ConfigDocument& doc) {
  const StoreConfig& s = doc.value.store;
  auto& d = doc.diagnostics;
  if (s.kind != "embedded" && s.kind != "etcd") d.error(doc.span("store.kind"), "no kind of store", "embedded or etcd");
  if (s.kind == "embedded" && !s.endpoints.empty()) {
    d.error(doc.span("store.endpoints"), "the embedded store has no endpoints", "kind = \"etcd\"");
  }
  if (s.kind != "etcd") return;
  if (s.endpoints.empty()) d.error(doc.span("store.kind"), "store.endpoints is missing", "endpoints = [\"host:2379\"]");
  for (const std::string& text : s.endpoints) {
    if (const auto endpoint = parse_endpoint(text); !endpoint)
      d.error(doc.span("store.endpoints"), endpoint.error().message);
  }
  if (s.prefix.empty() || s.prefix.back() == '/')
    d.error(doc.span("store.prefix"), "a prefix does not end with a slash");
  if (s.certificate.empty() != s.key.empty() || s.certificate.empty() != s.authority.empty()) {
    d.error(doc.span("store.certificate"), "store.certificate, store.key and store.authority belong together");
  }
  if (s.renew * 3 > s.lease || s.margin * 3 > s.lease) {
    d.error(doc.span("store.lease"), "store.renew and store.margin are a third of it at most");
  }
}

void check_switch(ConfigDocument& doc, std::size_t i, std::set<std::string>& names) {
  const SwitchConfig& s = doc.value.switches[i];
  const auto span = [&](std::string_view key) { return doc.span(fmt::format("switch[{}].{}", i, key)); };
  auto& d = doc.diagnostics;
  if (!security::valid_name(s.name)) d.error(span("name"), "no name for a switch", "letters, digits, '.', '_' and '-'");
  if (!names.insert(s.name).second) d.error(span("name"), fmt::format("another switch is called \"{}\" too", s.name));
  const auto dialect = device::dialect_named(s.dialect);
  if (!dialect) {
    d.error(span("dialect"), fmt::format("unknown dialect \"{}\"", s.dialect),
            "polatis-scpi, polatis-tl1, calient-tl1, glimmerglass-tl1, polatis-netconf, polatis-restconf, ocp-gnmi or "
            "sonic-gnmi");
  }
  const auto address = parse_endpoint(s.address);
  if (!address) d.error(span("address"), address.error().message);
}

void check(ConfigDocument& doc) {
  check_listen(doc);
  check_store(doc);
  if (doc.value.switches.empty()) doc.diagnostics.error(doc.span("switch"), "no switch", "a table [[switch]] for each");
  std::set<std::string> names;
  for (std::size_t i = 0; i < doc.value.switches.size(); ++i) check_switch(doc, i, names);
  const LeaseConfig& lease = doc.value.lease;
  if (lease.margin * 3 > lease.duration) {
    doc.diagnostics.error(doc.span("lease.margin"), "more than a third of the lease: ranks could hardly work",
                          "a longer lease.duration, or a shorter margin");
  }
}

Duration duration(Time time) { return Duration(time.ps / 1000); }

Result<std::string> password(const SwitchConfig& s) {
  if (s.password_file.empty()) return std::string();
  PR_ASSIGN(std::string text, config::read_file(s.password_file));
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

Result<ConfigDocument> load_config(const std::string& path) {
  PR_ASSIGN(ConfigDocument doc, config::load_document<DaemonConfig>(path, {}, {}, check));
  DaemonConfig& c = doc.value;
  for (std::string* file : {&c.tls.certificate, &c.tls.key, &c.tls.authority, &c.state.directory, &c.store.certificate,
                            &c.store.key, &c.store.authority}) {
    *file = at(doc.directory, *file);
  }
  for (SwitchConfig& s : c.switches) {
    for (std::string* file : {&s.password_file, &s.authority, &s.certificate, &s.key}) *file = at(doc.directory, *file);
    if (!carrier::is_host_key(s.host_key)) s.host_key = at(doc.directory, s.host_key);
  }
  return doc;
}

Result<std::vector<carrier::LinkSpec>> link_specs(const DaemonConfig& c) {
  std::vector<carrier::LinkSpec> out;
  for (const SwitchConfig& s : c.switches) {
    PR_ASSIGN(const Endpoint address, parse_endpoint(s.address));
    PR_ASSIGN(std::string secret, password(s));
    carrier::LinkSpec spec;
    spec.dialect = *device::dialect_named(s.dialect);
    spec.host = address.host;
    spec.port = address.port;
    spec.credentials = {s.user, std::move(secret)};
    spec.tls = !s.plaintext;
    spec.authority_file = s.authority;
    spec.certificate_file = s.certificate;
    spec.key_file = s.key;
    spec.server_name = s.server_name;
    spec.host_key = s.host_key;
    PR_TRY(carrier::check(spec));
    out.push_back(std::move(spec));
  }
  return out;
}

Result<daemon::CoreSpec> core_spec(const DaemonConfig& c) {
  daemon::CoreSpec out;
  for (const SwitchConfig& s : c.switches) {
    daemon::SwitchSpec spec;
    spec.name = s.name;
    spec.dialect = *device::dialect_named(s.dialect);
    spec.credentials.user = s.user;
    PR_ASSIGN(spec.credentials.password, password(s));
    spec.reconciler.serial = s.serial;
    spec.reconciler.inputs = s.inputs;
    spec.reconciler.outputs = s.outputs;
    spec.reconciler.command_timeout = duration(s.command_timeout);
    spec.reconciler.poll = duration(s.poll);
    spec.reconciler.settle_max = duration(s.settle_max);
    spec.reconciler.power_floor_dbm = s.power_floor_dbm;
    spec.reconciler.seed = out.switches.size() + 1;
    out.switches.push_back(std::move(spec));
  }
  out.lease = duration(c.lease.duration);
  out.margin = duration(c.lease.margin);
  out.guard_timeout = duration(c.lease.guard);
  out.max_jobs = c.limits.jobs;
  out.max_outstanding_per_rank = c.limits.announced_per_rank;
  out.batches = c.batches;
  out.switch_ahead = c.switch_ahead;
  return out;
}

GrpcSpec grpc_spec(const DaemonConfig& c) {
  GrpcSpec out;
  out.address = c.listen.address;
  out.plaintext = c.listen.plaintext;
  out.tls = {c.tls.certificate, c.tls.key, c.tls.authority, duration(c.tls.reload)};
  out.streams_per_connection = static_cast<int>(c.limits.streams_per_connection);
  return out;
}

RankLimits rank_limits(const DaemonConfig& c) {
  RankLimits out;
  out.streams = c.limits.streams;
  out.messages_waiting = c.limits.messages_waiting;
  out.ranks_per_stream = c.limits.ranks_per_stream;
  return out;
}

bool highly_available(const DaemonConfig& c) { return c.store.kind == "etcd"; }

HandOverSpec hand_over_spec(const DaemonConfig& c, const std::string& name) {
  HandOverSpec out;
  out.client.endpoints = c.store.endpoints;
  out.client.certificate = c.store.certificate;
  out.client.key = c.store.key;
  out.client.authority = c.store.authority;
  out.prefix = c.store.prefix;
  out.election.name = name;
  out.election.ttl = duration(c.store.lease);
  out.election.margin = duration(c.store.margin);
  out.election.keep = duration(c.store.renew);
  return out;
}

std::vector<std::string> switch_names(const DaemonConfig& c) {
  std::vector<std::string> out;
  for (const SwitchConfig& s : c.switches) out.push_back(s.name);
  return out;
}

}  // namespace photonrail::runtime
