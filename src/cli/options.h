// What the command line asks for, one plain struct per command. Filled by command_line.cc, used by cmd_*.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/ctl_options.h"
#include "cli/record_options.h"

namespace photonrail::cli {

enum class Format : std::uint8_t { text, json, csv };

// A scenario file with values laid over it.
struct ScenarioSource {
  std::string file;
  std::vector<std::string> sets;  // "a.b=c"
  std::string catalog_directory;  // "": the built-in catalog alone
};

struct SimulateOptions {
  ScenarioSource source;
  Format format = Format::text;
  std::string out;       // directory; "": none
  unsigned threads = 0;  // 0: as many as the machine has
  bool quiet = false;    // no progress
};

struct WindowsOptions {
  ScenarioSource source;                 // or a trace directory or archive in `source.file`
  std::string on;                        // case whose run is looked at; "": the baseline
  std::string switching_time;            // "": that of the scenario's switch
  std::int64_t domain = 8;               // traces: GPUs in one scale-up domain
  std::string gpu = "H200";              // traces: catalog name
  std::string gpu_price;                 // money, with its share of the server; "": energy alone decides what pays
  double years = 5;                      // that a purchase is spread over
  std::string electricity = "0.10 USD";  // per kWh
  Format format = Format::text;
  unsigned threads = 0;
};

struct CostCommandOptions {
  ScenarioSource source;          // `file` may be "": then from the fields below
  std::int64_t gpus = 0;          // 0: the scenario's
  std::string gpu;                // "": the scenario's, or H200
  std::int64_t domain = 0;        // GPUs in one scale-up domain; 0: the scenario's, or the GPU's own
  std::string rate;               // per GPU and direction; "": the scenario's, or the GPU's own
  std::string mode;               // "", "as_published", "real"
  std::int64_t samples = 10'000;  // Monte Carlo; 0: none
  Format format = Format::text;
};

struct CatalogOptions {
  std::string show;  // name of an entry; "": list all
  std::string directory;
  Format format = Format::text;
};

struct SchemaOptions {
  std::string command = "simulate";  // whose input file
  bool markdown = false;
};

struct ShowOptions {
  ScenarioSource source;
};

struct ExplainOptions {
  ScenarioSource source;  // a report.json, or a scenario that is simulated first
  std::string metric;     // "": list all
  std::string on;         // case; "": all, and the last in detail
  unsigned threads = 0;
};

// What is shown beside the published rules: nothing, the same run by Photonrail's own physics, or also every reason for
// the difference.
enum class Physics : std::uint8_t { published, own, reasons };

struct ReproduceOptions {
  std::string paper;              // "opus"
  std::string data;               // folder
  std::vector<std::string> only;  // parts of ids of rows; empty: all
  Physics physics = Physics::reasons;
  Format format = Format::text;
  std::string out;
  unsigned threads = 0;
  bool quiet = false;  // no progress
};

struct ValidateOptions {
  std::string data;               // folder
  std::vector<std::string> only;  // parts of ids, GPUs or models, or names of gates; empty: all
  std::string catalog_directory;
  Format format = Format::text;
  std::string out;
  bool quiet = false;
};

struct InferOptions {
  ScenarioSource source;
  bool search = false;
  bool show = false;  // only print the scenario with its defaults
  Format format = Format::text;
  std::string out;  // directory; "": none
};

struct EstimateCommandOptions {
  ScenarioSource source;
  bool rooflines_only = false;
  bool overlap_tensor = false;
  Format format = Format::text;
  std::string out;  // directory; "": none
};

struct CheckOptions {
  ScenarioSource source;
  std::string pool;  // file that declares the pool of an inference scenario; "": that of the paper
  Format format = Format::text;
  std::string out;
};

struct EnergyOptions {
  ScenarioSource source;
  Format format = Format::text;
  std::string out;
  unsigned threads = 0;
  bool quiet = false;
};

struct DlrmOptions {
  ScenarioSource source;
  bool map = false;  // the map of the claim of 22.8x, in place of the scenario's own step
  Format format = Format::text;
  std::string out;  // directory; "": none
};

struct SensitivityOptions {
  std::string command;  // whose scenario is varied: "simulate", "infer", ...
  ScenarioSource source;
  std::vector<std::string> vary;  // "path=LOW..HIGH"
  std::vector<std::string> metrics;
  bool tornado = false;
  std::int64_t samples = 0;  // Monte Carlo; 0: none
  std::uint64_t seed = 1;
  std::string rank;                      // prefix of metrics whose order is looked at under sampling
  std::string break_even;                // "path=LOW..HIGH"
  std::optional<double> target;          // in the base unit of the metric
  std::string equals;                    // scenario whose metric is the target
  std::vector<std::string> equals_sets;  // laid over that one
  Format format = Format::text;
  std::string out;
  unsigned threads = 0;
  bool quiet = false;
};

struct NetconfBridgeOptions {
  std::string connect;   // HOST:PORT
};

struct EmulateOcsOptions {
  std::vector<std::string> listen;  // "DIALECT=HOST:PORT", or "HOST:PORT" of `dialect`
  std::string dialect = "scpi";
  bool anywhere = false;            // addresses beyond loopback
  std::string size = "16x16";
  std::string maker = "Photonrail", model, serial = "0001", firmware = "1.0";  // model "": from the size
  std::uint64_t seed = 1;
  std::string settle = "20 ms", command_time = "2 ms", min_gap = "0 ms";
  double settle_sigma = 0.2;
  std::string conflict = "rejects";   // rejects, steals
  std::string cold_boot = "remove";   // remove, restore, maintain
  bool no_power = false;
  std::vector<std::string> faults;    // "NAME=PROBABILITY"
  std::string late_by = "3 s";
  bool silent_partial = false;
  unsigned sessions = 5;
  std::string user, password_file;
  std::vector<std::string> variants;  // "DIALECT=VARIANT"
  std::string certificate, key, authority;
  std::string writer_log, dump;
  Format format = Format::text;
};

struct VersionOptions {};

using Command =
    std::variant<SimulateOptions, WindowsOptions, CostCommandOptions, CatalogOptions, SchemaOptions, ShowOptions,
                 ExplainOptions, ReproduceOptions, ValidateOptions, InferOptions, EstimateCommandOptions, CheckOptions,
                 EnergyOptions, DlrmOptions, SensitivityOptions, EmulateOcsOptions, NetconfBridgeOptions,
                 CtlOptions, ReplayOptions, AuditOptions, VersionOptions>;

}  // namespace photonrail::cli
