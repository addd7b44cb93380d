// Catalog: what parts and models are, as far as anybody publishes it. The data are the files of catalog/, embedded in
// the program when it is built; a directory given at run time can add entries or replace those of the same name.
//
// Every number is a Figure: a value, a range, or "unknown" with the reason. A known figure always names its source, and
// loading fails where one does not. Nothing here is guessed; what a price is taken to be is the cost model's business.
//
// All types are plain data. A loaded Catalog may be read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/units.h"

namespace photonrail::catalog {

// A quantity with its origin. Known: `value`, or `low` and `high`, or all three with low <= value <= high.
template <class T>
struct Figure {
  std::optional<T> value;
  std::optional<T> low;
  std::optional<T> high;
  std::string source;  // id of a Source; filled with that of the entry where the file gives none
  std::string note;
  std::string unknown;  // why there is no figure; empty when there is one

  bool known() const { return value.has_value() || low.has_value(); }
};

// In the base unit: s, B, b/s, FLOP/s, W, USD, dB, or the number itself.
constexpr double base_value(std::int64_t count) { return static_cast<double>(count); }
constexpr double base_value(Time time) { return to_seconds(time); }
constexpr double base_value(Bytes bytes) { return static_cast<double>(bytes.count); }
constexpr double base_value(Rate rate) { return static_cast<double>(rate.bits_per_second); }
constexpr double base_value(FlopRate rate) { return rate.flops_per_second; }
constexpr double base_value(Power power) { return power.watts; }
constexpr double base_value(Dollars dollars) { return dollars.amount; }
constexpr double base_value(Loss loss) { return loss.decibels; }

// What to compute with, in base units: low <= base <= high.
struct Range {
  double low = 0;
  double base = 0;
  double high = 0;
};
// Of a known figure. A range without a value has its middle as base; a value without a range is all three.
template <class T>
Range range_of(const Figure<T>& figure) {
  PR_CHECK(figure.known(), "an unknown figure has no range");
  const double low = base_value(figure.low ? *figure.low : *figure.value);
  const double high = base_value(figure.high ? *figure.high : *figure.value);
  return {low, figure.value ? base_value(*figure.value) : (low + high) / 2, high};
}

struct Source {
  std::string id;
  std::string title;
  std::string where;
  std::string date;  // of publication, or of reading for pages without one
  std::string kind;  // vendor, paper, shop, code, analyst, derived, unchecked: see catalog/sources.toml
};

struct Gpu {
  std::string name;
  std::string title;
  std::string source;
  Figure<FlopRate> fp32;  // dense peaks
  Figure<FlopRate> bf16;
  Figure<FlopRate> fp8;
  Figure<FlopRate> fp4;
  Figure<FlopRate> int8;
  Figure<FlopRate> achievable_bf16;  // best matrix product that anybody measured
  Figure<Bytes> memory;
  Figure<Rate> memory_rate;
  Figure<Rate> scale_up_rate;   // per GPU and direction
  Figure<std::int64_t> domain;  // GPUs in one scale-up domain
  Figure<Rate> nic_rate;        // per GPU and direction
  Figure<Power> power;          // TDP
};

struct Nic {
  std::string name;
  std::string title;
  std::string source;
  Figure<Rate> rate;  // per port and direction
  Figure<std::int64_t> ports;
  Figure<Power> power;  // without module
  Figure<Dollars> price;
  Figure<Time> link_up_fixed;  // from light to a usable port, no auto-negotiation
  Figure<Time> link_up_negotiated;
};

struct Optic {
  std::string name;
  std::string title;
  std::string source;
  Figure<Rate> rate;                 // per line port and direction
  Figure<std::int64_t> ports;        // line ports of one module
  std::string medium;                // "single-mode" or "multimode"
  bool for_sale = true;              // false: as somebody's study prices it, not a part to choose
  Figure<std::int64_t> fibre_pairs;  // of one line port
  Figure<Power> power;               // of the module
  Figure<Dollars> price;             // of the module
  Figure<Loss> loss_budget;          // between its ends, connectors included
};

struct ElectricalSwitch {
  std::string name;
  std::string title;
  std::string source;
  Figure<std::int64_t> ports;
  Figure<Rate> port_rate;
  std::int64_t ports_per_cage = 1;  // 2: takes twin-port modules
  Figure<Power> power;              // of the box
  bool power_includes_optics = false;
  bool co_packaged = false;  // optics inside; takes no modules
  Figure<Dollars> price;     // of the box, without pluggable modules
};

struct Ocs {
  std::string name;
  std::string title;
  std::string source;
  std::string technology;
  Figure<std::int64_t> duplex_ports;  // N of N x N: pairs of one input and one output fibre
  bool bidirectional = false;         // light may pass a path both ways, as circulators need
  bool for_sale = true;
  Figure<Time> dark;               // no light on a changed path
  Figure<Time> settle;             // from first light to stable power
  Figure<Loss> loss;               // through the switch
  Figure<Power> power;             // of the box
  Figure<Dollars> price_per_port;  // of one pair of input and output
};

struct Fibre {
  std::string name;
  std::string title;
  std::string source;
  Figure<std::int64_t> fibre_pairs;
  Figure<Dollars> price;
};

// A decoder. Zero experts: dense. `expert_feed_forward` and the experts replace the feed-forward block in all layers
// but the first `dense_layers`. Ranks other than zero mean multi-head latent attention (DeepSeek-V2, arXiv 2405.04434).
// In `linear_layers` of the layers a gated delta rule (arXiv 2412.06464) with a state of fixed size stands in place of
// attention. Index heads choose the `index_tokens` cached tokens that latent attention then reads (DeepSeek-V3.2).
struct Model {
  std::string name;
  std::string title;
  std::string source;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t feed_forward_matrices = 3;  // 3: gated; 2: plain
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;  // 0: hidden / heads
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t shared_experts = 0;
  std::int64_t expert_feed_forward = 0;
  std::int64_t dense_layers = 0;
  std::int64_t query_rank = 0;
  std::int64_t kv_rank = 0;
  std::int64_t rope_head_size = 0;
  std::int64_t value_head_size = 0;  // 0: head_size
  bool parallel_block = false;       // attention and feed-forward both read the layer's input: one sum per layer
  bool attention_gate = false;       // a gate of the attention's output, as wide as the queries
  std::int64_t window = 0;           // in `window_layers`, attention reads the last `window` tokens only
  std::int64_t window_layers = 0;
  std::int64_t linear_layers = 0;
  std::int64_t linear_key_heads = 0;
  std::int64_t linear_value_heads = 0;
  std::int64_t linear_head_size = 0;
  std::int64_t index_heads = 0;
  std::int64_t index_head_size = 0;
  std::int64_t index_tokens = 0;
  Figure<std::int64_t> parameters;
  Figure<std::int64_t> active_parameters;
};

struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t active = 0;  // that one token passes through
};
// Weights of the matrices and embeddings; norms, biases and learnt positions (below 0.1 % together) are left out.
ParameterCount count_parameters(const Model& model);

struct Catalog {
  std::vector<Source> sources;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<Optic> optics;
  std::vector<ElectricalSwitch> switches;
  std::vector<Ocs> ocses;
  std::vector<Fibre> fibres;
  std::vector<Model> models;

  // The catalog in the program. An error here is a defect of the build, but it is reported like any other.
  static Result<Catalog> builtin();
  // The built-in catalog with every *.toml of a directory, in order of name, laid over it.
  static Result<Catalog> with_overrides(const std::string& directory);

  // By name, case ignored. The error names the nearest entry and the command that lists them.
  Result<Gpu> gpu(std::string_view name) const;
  Result<Nic> nic(std::string_view name) const;
  Result<Optic> optic(std::string_view name) const;
  Result<ElectricalSwitch> network_switch(std::string_view name) const;
  Result<Ocs> ocs(std::string_view name) const;
  Result<Fibre> fibre(std::string_view name) const;
  Result<Model> model(std::string_view name) const;

  // "title (date), where" of a source id; the id itself when it is not known.
  std::string source_text(std::string_view id) const;
};

// `photonrail catalog list`, and `show NAME` for an entry of any kind, as text and as JSON.
std::string list_text(const Catalog& catalog);
std::string list_json(const Catalog& catalog);
Result<std::string> show_text(const Catalog& catalog, std::string_view name);
Result<std::string> show_json(const Catalog& catalog, std::string_view name);

}  // namespace photonrail::catalog
