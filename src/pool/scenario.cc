#include "pool/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::pool {
namespace {

constexpr double kRateMax = 1e15;
constexpr double kDemandMax = 1e18;  // b/s, of all reads together

void check_reads(PoolDocument& doc, std::size_t index) {
  const Reads& reads = doc.value.reads[index];
  const std::string path = fmt::format("reads[{}]", index);
  const auto at = [&](const char* field) {
    const config::Span span = doc.span(path + "." + field);
    return span.known() ? span : doc.span(path);
  };
  if (reads.readers > doc.value.system.accelerator.count) {
    doc.diagnostics.error(
        at("readers"),
        fmt::format("{} readers, but accelerator.count is {}", reads.readers, doc.value.system.accelerator.count),
        "raise accelerator.count, or leave readers out for all of them");
  }
  if (reads.from == Origin::own_memory && reads.hit_rate) {
    doc.diagnostics.error(at("hit_rate"), "an accelerator's own memory has no tiers", "leave hit_rate out");
  }
  if (reads.from == Origin::pool && !reads.hit_rate && doc.value.system.module.hbm_stacks == 0) return;
  if (reads.from == Origin::pool && reads.hit_rate && *reads.hit_rate > 0 && doc.value.system.module.hbm_stacks == 0) {
    doc.diagnostics.error(at("hit_rate"), "the pool has no HBM tier to hit", "set it to 0, or give module.hbm_stacks");
  }
  if (reads.from == Origin::pool && reads.hit_rate && *reads.hit_rate < 1 &&
      doc.value.system.module.ddr_channels == 0) {
    doc.diagnostics.error(at("hit_rate"), "the pool has no DDR tier to fill from",
                          "set it to 1, or give module.ddr_channels");
  }
}

void check_scenario(PoolDocument& doc) {
  if (const auto fault = fault_of(doc.value.system)) {
    doc.diagnostics.error(doc.span(fault->path), fmt::format("{}: {}", fault->path, fault->what), fault->hint);
    return;
  }
  std::vector<std::string> names;
  double demand = 0;
  for (std::size_t i = 0; i < doc.value.reads.size(); ++i) {
    const std::string& name = doc.value.reads[i].name;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      doc.diagnostics.error(doc.span(fmt::format("reads[{}].name", i)),
                            fmt::format("two reads are called \"{}\"", name), "results are told apart by name");
    }
    names.push_back(name);
    const Reads& reads = doc.value.reads[i];
    const std::int64_t readers = reads.readers > 0 ? reads.readers : doc.value.system.accelerator.count;
    if (reads.rate) demand += static_cast<double>(reads.rate->bits_per_second) * static_cast<double>(readers);
    check_reads(doc, i);
  }
  if (demand > kDemandMax) {
    doc.diagnostics.error(doc.span("reads"), "all reads together are above 1000 Pb/s", "check the units of rate");
  }
}

PoolScenario defaults() { return {}; }

}  // namespace

std::span<const config::EnumName<Origin>> names_of(Origin) {
  static constexpr config::EnumName<Origin> kNames[] = {{Origin::pool, "pool", "modules of the pool"},
                                                        {Origin::own_memory, "own_memory", "the accelerator's own"}};
  return kNames;
}

std::span<const config::EnumName<Spread>> names_of(Spread) {
  static constexpr config::EnumName<Spread> kNames[] = {
      {Spread::module, "module", "the modules that the reader's ports are on"},
      {Spread::appliance, "appliance", "interleaved over the reader's appliance"},
      {Spread::system, "system", "interleaved over all appliances"}};
  return kNames;
}

void describe(config::Fields& fields, Reads& r) {
  fields("name", r.name, {.doc = "What results call it: weights, cache.", .required = true});
  fields("rate", r.rate,
         {.doc = "Rate of each reader, as modelled.",
          .max = kRateMax,
          .above = 0,
          .absent = "no rate is claimed; the possible one is given"});
  fields("readers", r.readers, {.doc = "Accelerators that read it at once; 0: all.", .min = 0, .max = 4096});
  fields("from", r.from, {.doc = "Memory that it lies in."});
  fields("spread", r.spread, {.doc = "Modules of the pool that hold it."});
  fields("hit_rate", r.hit_rate,
         {.doc = "Share of its bytes found in the HBM tier, the rest comes from DDR.",
          .min = 0,
          .max = 1,
          .absent = "the part of all reads of the pool that the HBM tiers can hold"});
  fields("size", r.size,
         {.doc = "Bytes of it, stored once.",
          .max = 1e17,
          .above = 0,
          .absent = "unknown: no capacity is checked, no time of a pass is given"});
  fields("each", r.each,
         {.doc = "Bytes that one reader reads of it in a pass: less than the size where each has its part.",
          .max = 1e17,
          .above = 0,
          .absent = "the size"});
  fields("pinned", r.pinned,
         {.doc = "Bytes that lie in the HBM tiers for its hits: less than hit_rate of the size where what is read by "
                 "all readers is kept there first.",
          .max = 1e17,
          .absent = "hit_rate of the size"});
}

void describe(config::Fields& fields, PoolScenario& s) {
  fields("name", s.name, {.doc = "What results call it."});
  fields("as_published", s.as_published,
         {
             .doc = "Let rates pass that no cut carries; every result says so.",
         });
  fields("module", s.system.module, {.doc = "One photonic memory module."});
  fields("appliance", s.system.appliance, {.doc = "Modules joined all to all."});
  fields("tier", s.system.tier, {.doc = "Appliances joined by spines."});
  fields("accelerator", s.system.accelerator, {.doc = "Who reads."});
  fields("reads", s.reads, {.doc = "What is read, and how fast it is said to be read.", .items_max = 64});
}

Result<PoolDocument> load_pool(const std::string& path, std::span<const std::string> sets) {
  return config::load_document<PoolScenario>(path, sets, defaults(), check_scenario);
}

Result<PoolDocument> parse_pool(std::string_view text, std::string_view name, std::span<const std::string> sets) {
  return config::parse_document<PoolScenario>(text, name, sets, defaults(), check_scenario);
}

}  // namespace photonrail::pool
