// The configuration file of photonraild: TOML, described once (describe()), so that `--check`, `photonrail schema
// photonraild` and the reference page agree. Paths are relative to the file; secrets stand in files of their own.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "config/document.h"
#include "daemon/core.h"
#include "runtime/hand_over.h"
#include "runtime/server_spec.h"
#include "runtime/switch_links.h"

namespace photonrail::runtime {

struct ListenConfig {
  std::string address = "127.0.0.1:7443";
  bool plaintext = false;
};
struct TlsConfig {
  std::string certificate, key, authority;
  Time reload = seconds(10);
};
struct StateConfig {
  std::string directory = "state";
  Bytes compact_after{64'000'000};
};
struct StoreConfig {
  std::string kind = "embedded";
  std::vector<std::string> endpoints;
  std::string prefix = "/photonrail";
  std::string certificate, key, authority;
  Time lease = seconds(1), margin = milliseconds(100), renew = milliseconds(200);
};
struct MetricsConfig {
  std::string address = "127.0.0.1:9464";
};
struct LeaseConfig {
  Time duration = seconds(10), margin = seconds(1), guard = seconds(5);
};
struct LimitsConfig {
  std::uint32_t streams = 4096, streams_per_connection = 1024, ranks_per_stream = 1024, messages_waiting = 8192;
  std::uint32_t announced_per_rank = 4096, jobs = 256;
};
struct SwitchConfig {
  std::string name;
  std::string dialect = "polatis-scpi";
  std::string address;
  std::string serial;
  std::uint16_t inputs = 0, outputs = 0;
  std::string user, password_file;
  bool plaintext = false;
  std::string authority, certificate, key, server_name, host_key;
  Time command_timeout = seconds(2), poll = seconds(5), settle_max = seconds(2);
  double power_floor_dbm = -25;
};

struct DaemonConfig {
  std::string site = "trial";
  std::string log_level = "info";
  ListenConfig listen;
  TlsConfig tls;
  StateConfig state;
  StoreConfig store;
  MetricsConfig metrics;
  LeaseConfig lease;
  LimitsConfig limits;
  bool batches = true, switch_ahead = true;
  std::vector<SwitchConfig> switches;
};

void describe(config::Fields& fields, DaemonConfig& c);

using ConfigDocument = config::Document<DaemonConfig>;

// Reads and checks the file, with every path made absolute or relative to the working directory. All errors at once.
Result<ConfigDocument> load_config(const std::string& path);

// What the parts of the daemon want to know. Reads password files: io where one cannot be read.
Result<daemon::CoreSpec> core_spec(const DaemonConfig& config);
Result<std::vector<carrier::LinkSpec>> link_specs(const DaemonConfig& config);  // one for each switch
GrpcSpec grpc_spec(const DaemonConfig& config);
RankLimits rank_limits(const DaemonConfig& config);
bool highly_available(const DaemonConfig& config);
HandOverSpec hand_over_spec(const DaemonConfig& config, const std::string& name);
std::vector<std::string> switch_names(const DaemonConfig& config);

}  // namespace photonrail::runtime
