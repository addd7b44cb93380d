#include "pool/rate_checks.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "report/human.h"

namespace photonrail::pool {
namespace {

using report::human;

class Checks {
 public:
  explicit Checks(const catalog::Catalog& catalog) : catalog_(catalog) {}

  template <class T>
  void add(RateCheck check, const catalog::Figure<T>& figure, double scale) {
    if (figure.known()) check.limit = catalog::range_of(figure).high * scale;
    check.source = catalog_.source_text(figure.source);
    all.push_back(std::move(check));
  }

  std::vector<RateCheck> all;

 private:
  const catalog::Catalog& catalog_;
};

constexpr double kBytes = 1.0 / 8;

void add_gpu_checks(Checks& checks, const model::Scenario& s, const catalog::Gpu& gpu) {
  checks.add({"scale_up_rate",
              "scale_up.rate",
              bytes_per_second(s.scale_up.rate),
              {},
              "B/s",
              "scale-up links of " + gpu.name,
              ""},
             gpu.scale_up_rate, kBytes);
  checks.add({"domain",
              "cluster.domain",
              static_cast<double>(s.cluster.domain),
              {},
              "count",
              "scale-up domain of " + gpu.name,
              ""},
             gpu.domain, 1);
  checks.add({"rail_rate",
              "rail.ports x rail.port_rate",
              bytes_per_second(s.rail.port_rate * s.rail.ports),
              {},
              "B/s",
              "network interface of " + gpu.name,
              ""},
             gpu.nic_rate, kBytes);
  if (s.electrical.fabrics.empty()) return;
  checks.add({"nic_rate",
              "electrical.nic_rate",
              bytes_per_second(s.electrical.nic_rate),
              {},
              "B/s",
              "network interface of " + gpu.name,
              ""},
             gpu.nic_rate, kBytes);
}

}  // namespace

Result<std::vector<RateCheck>> training_rate_checks(const model::Scenario& s, const catalog::Catalog& catalog) {
  Checks checks(catalog);
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu(s.cluster.gpu));
  add_gpu_checks(checks, s, gpu);
  if (!s.electrical.fabrics.empty()) {
    PR_ASSIGN(const catalog::ElectricalSwitch box, catalog.network_switch(s.electrical.network_switch));
    checks.add({"switch_port_rate",
                "electrical.nic_rate",
                bytes_per_second(s.electrical.nic_rate),
                {},
                "B/s",
                "port of " + box.name,
                ""},
               box.port_rate, kBytes);
  }
  if (!s.control.policies.empty() && s.cluster.gpus > 0) {
    PR_ASSIGN(const catalog::Ocs ocs, catalog.ocs(s.switching.ocs));
    const auto row = static_cast<double>(s.cluster.gpus / s.cluster.domain);
    checks.add({"ocs_ports",
                "GPUs of a rail: cluster.gpus / cluster.domain",
                row,
                {},
                "count",
                "duplex ports of " + ocs.name,
                ""},
               ocs.duplex_ports, 1);
  }
  return checks.all;
}

std::string check_text(const RateCheck& c) {
  return fmt::format("{}: {} modelled, but the {} has {} ({:.3g} times)", c.what, human(c.modelled, c.unit), c.part,
                     human(c.limit, c.unit), c.modelled / c.limit.value_or(1));
}

report::Report rate_report(const std::vector<RateCheck>& checks, const std::string& name,
                           const std::string& scenario_text, const std::string& hash, std::string_view version) {
  report::Report out;
  out.command = "check";
  out.version = version;
  out.scenario_name = name;
  out.scenario_text = scenario_text;
  out.scenario_hash = hash;
  out.metrics = {
      {"modelled", "what the scenario models", "B/s", "", "the scenario; a count where the part is one", {}, ""},
      {"limit", "what the part can do", "B/s", "", "the catalog, upper end of a range", {}, ""},
      {"overload", "modelled over limit", "times", "modelled / limit", "above 1 it cannot be", {}, ""}};
  report::Table table{
      "Modelled, and what the parts can do", {{"", false}, {"modelled"}, {"limit"}, {"", false}, {"", false}}, {}, {}};
  Digest digest;
  std::size_t broken = 0;
  for (const RateCheck& c : checks) {
    report::Case row;
    row.id = row.name = c.id;
    row.kind = c.unit == "B/s" ? "rate" : "count";
    row.values = {c.modelled, c.limit, std::nullopt};
    row.sources.emplace_back("limit", c.source);
    digest.add(report::exact(c.modelled));
    out.cases.push_back(std::move(row));
    const char* state = !c.limit ? "not known" : c.broken() ? "BROKEN" : "fits";
    if (c.broken()) ++broken;
    table.rows.push_back({c.what, human(c.modelled, c.unit), human(c.limit, c.unit), c.part, state});
  }
  out.tables.push_back(std::move(table));
  out.reading = {broken == 0 ? "Every modelled rate is within what its part can do."
                             : fmt::format("BROKEN: {} limits.", broken)};
  report::derive(out);
  out.digest = digest.hex();
  return out;
}

}  // namespace photonrail::pool
