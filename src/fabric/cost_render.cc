// Text, JSON and CSV of a cost report.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "fabric/cost.h"

namespace photonrail::fabric {
namespace {

namespace json = boost::json;

std::string money(double dollars) {
  if (dollars >= 1e6) return fmt::format("${:.2f}M", dollars / 1e6);
  if (dollars >= 1e4) return fmt::format("${:.1f}k", dollars / 1e3);
  return fmt::format("${:.{}f}", dollars, dollars < 100 ? 2 : 0);
}

std::string power(double watts) {
  if (watts >= 1e4) return fmt::format("{:.1f} kW", watts / 1e3);
  return fmt::format("{:.{}f} W", watts, watts < 100 ? 2 : 0);
}

std::string unit_text(const Assumption& assumption) {
  const auto& range = assumption.range;
  const auto show = [&](double value) { return assumption.unit == "USD" ? money(value) : power(value); };
  return range.low < range.high ? fmt::format("{} ({} to {})", show(range.base), show(range.low), show(range.high))
                                : show(range.base);
}

// A borrowed figure says whose it is where it stands.
std::string borrowed_text(const Assumption& assumption, const char* what) {
  return assumption.borrowed_from.empty() ? "" : fmt::format(", {} of {}, range", what, assumption.borrowed_from);
}

std::string line_units(const BomLine& line, const AssumptionTable& table) {
  std::string out = "in another line";
  if (line.price) out = unit_text(table.all[*line.price]) + borrowed_text(table.all[*line.price], "price");
  if (line.watts) out += "; " + unit_text(table.all[*line.watts]) + borrowed_text(table.all[*line.watts], "power");
  return out;
}

const char* mode_text(model::CostMode mode) { return mode == model::CostMode::real ? "real" : "as_published"; }

std::string bill_text(const BillOfMaterials& bill, const AssumptionTable& table) {
  std::string out = fmt::format("\n{} [{}]\n", bill.title, bill.key);
  if (!bill.shortfall.empty()) return out + fmt::format("  cannot be built: {}\n", bill.shortfall);
  const std::vector<double> values = table.base_values();
  out += fmt::format("  {:<34} {:<24} {:>8} {:>12} {:>10}   unit price; unit power; count\n", "item", "part", "count",
                     "cost", "power");
  for (const BomLine& line : bill.lines) {
    const Totals total = total_of(line, values);
    out += fmt::format("  {:<34} {:<24} {:>8} {:>12} {:>10}   {}; {}\n", line.item, line.part, line.count,
                       money(total.dollars), power(total.watts), line_units(line, table), line.rule);
  }
  const TotalRange total = total_range(bill, table);
  out += fmt::format("  {:<34} {:<24} {:>8} {:>12} {:>10}   {} to {}; {} to {}\n", "total", "", "",
                     money(total.base.dollars), power(total.base.watts), money(total.low.dollars),
                     money(total.high.dollars), power(total.low.watts), power(total.high.watts));
  for (const std::string& note : bill.notes) out += fmt::format("  note: {}\n", note);
  return out;
}

std::string spread_text(const Quantiles& q) { return fmt::format("{:.2f} {:.2f} {:.2f}", q.p5, q.p50, q.p95); }

std::string ratios_text(const CostReport& report) {
  std::string out =
      fmt::format("\nratios: the fabric over photonic rails; p5 p50 p95 of {} Monte Carlo draws, seed {}\n",
                  report.input.samples, report.input.seed);
  out += fmt::format("  {:<18} {:<20} {:>8} {:>18} {:>8} {:>20}\n", "fabric", "over", "cost", "p5 p50 p95", "power",
                     "p5 p50 p95");
  for (const CostRatio& ratio : report.ratios) {
    out += fmt::format("  {:<18} {:<20} {:>8.2f} {:>18} {:>8.2f} {:>20}\n", ratio.fabric, ratio.photonic, ratio.cost,
                       spread_text(ratio.cost_spread), ratio.power, spread_text(ratio.power_spread));
  }
  return out;
}

// The comparisons that the text shows in full; JSON and CSV have all.
bool shown(const CostRatio& ratio) {
  if (ratio.photonic == "photonic") return ratio.fabric == "rail_optimised";
  return ratio.photonic == "photonic_two_full" && (ratio.fabric == "rail_optimised" || ratio.fabric == "co_packaged");
}

std::string tornado_text(const CostReport& report) {
  constexpr int kRows = 12;
  std::string out;
  for (std::size_t i = 0; i < report.ratios.size(); ++i) {
    const CostRatio& ratio = report.ratios[i];
    if (!shown(ratio)) continue;
    out += fmt::format("\none at a time: {} over {} (cost {:.2f}, power {:.2f}); largest movers\n", ratio.fabric,
                       ratio.photonic, ratio.cost, ratio.power);
    int rows = 0;
    for (const TornadoRow& row : report.tornado) {
      if (row.ratio != i || rows == kRows) continue;
      ++rows;
      out += fmt::format("  {:<62} {:>12} to {:<38} cost {:.2f} to {:.2f}, power {:.2f} to {:.2f}\n", row.title,
                         row.low_text, row.high_text, row.cost_low, row.cost_high, row.power_low, row.power_high);
    }
  }
  return out;
}

// Where the step stands in the table of ratios.
std::string row_text(const CostReport& report, const WalkStep& step) {
  if (step.fabric.empty()) return "";
  const bool here = std::any_of(report.ratios.begin(), report.ratios.end(), [&](const CostRatio& ratio) {
    return ratio.fabric == step.fabric && ratio.photonic == step.photonic;
  });
  const char* other = report.input.mode == model::CostMode::real ? "as_published" : "real";
  return fmt::format("  = {} over {}{}", step.fabric, step.photonic,
                     here ? "" : fmt::format(" in mode {}", other));
}

std::string walk_text(const CostReport& report) {
  if (report.walk.empty()) return {};
  std::string out =
      "\nfrom published to real: rail-optimised electrical over photonic rails\n"
      "  one change after the other up to a row of the ratios (=), then alternatives to it (or)\n"
      "  a line without = is no row: its parts or options are not those of this report\n";
  for (const WalkStep& step : report.walk) {
    out += fmt::format("  {:<74} cost {:>6.2f}   power {:>6.2f}{}\n      {}\n", step.title, step.cost, step.power,
                       row_text(report, step), step.parts);
  }
  return out;
}

std::string sources_text(const CostReport& report, const catalog::Catalog& catalog) {
  std::string out = "\nassumptions and their sources\n";
  for (const Assumption& assumption : report.assumptions.all) {
    out += fmt::format("  {}: {}\n    {}{}{}\n", assumption.title, unit_text(assumption),
                       catalog.source_text(assumption.source), assumption.note.empty() ? "" : "; ", assumption.note);
  }
  return out;
}

json::object json_of(const catalog::Range& range) {
  return {{"low", range.low}, {"base", range.base}, {"high", range.high}};
}
json::object json_of(const Quantiles& q) { return {{"p5", q.p5}, {"p50", q.p50}, {"p95", q.p95}}; }
json::object json_of(const Totals& totals) { return {{"usd", totals.dollars}, {"watts", totals.watts}}; }

json::object json_of(const BomLine& line, const AssumptionTable& table) {
  const Totals total = total_of(line, table.base_values());
  json::object out = {{"item", line.item}, {"part", line.part},    {"count", line.count},
                      {"rule", line.rule}, {"usd", total.dollars}, {"watts", total.watts}};
  out["price_assumption"] = line.price ? json::value(table.all[*line.price].key) : json::value(nullptr);
  out["watts_assumption"] = line.watts ? json::value(table.all[*line.watts].key) : json::value(nullptr);
  return out;
}

json::object json_of(const BillOfMaterials& bill, const AssumptionTable& table) {
  json::object out = {
      {"fabric", bill.key}, {"title", bill.title}, {"photonic", bill.photonic}, {"feasible", bill.shortfall.empty()}};
  if (!bill.shortfall.empty()) {
    out["shortfall"] = bill.shortfall;
    return out;
  }
  json::array lines;
  for (const BomLine& line : bill.lines) lines.push_back(json_of(line, table));
  out["lines"] = std::move(lines);
  const TotalRange total = total_range(bill, table);
  out["total"] =
      json::object{{"low", json_of(total.low)}, {"base", json_of(total.base)}, {"high", json_of(total.high)}};
  out["notes"] = json::value_from(bill.notes);
  return out;
}

json::object input_json(const CostInput& input) {
  return {{"mode", mode_text(input.mode)},
          {"gpus", input.gpus},
          {"domain", input.domain},
          {"gpu", input.gpu},
          {"nic_rate_bits_per_second", input.nic_rate.bits_per_second},
          {"network_switch", input.network_switch},
          {"ocs", input.ocs},
          {"transceiver", input.transceiver},
          {"fibre_price_usd", input.fibre_price.amount},
          {"oversubscription", input.oversubscription},
          {"share_boxes", input.share_boxes},
          {"twin_modules", input.twin_modules},
          {"include_nics", input.include_nics},
          {"include_fibre", input.include_fibre},
          {"spare_ocs_ports", input.spare_ocs_ports},
          {"spare_modules", input.spare_modules},
          {"seed", input.seed},
          {"samples", input.samples}};
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string render_text(const CostReport& report, const catalog::Catalog& catalog) {
  const CostInput& input = report.input;
  std::string out = fmt::format("network cost and power: {} GPUs{}{}, {} per domain, {:g} Gb/s per GPU, mode {}\n",
                                input.gpus, input.gpu.empty() ? "" : " ", input.gpu, input.domain,
                                static_cast<double>(input.nic_rate.bits_per_second) / 1e9, mode_text(input.mode));
  for (const auto& [label, names] : report.parts()) out += fmt::format("  {:<22} {}\n", label, names);
  for (const std::string& choice : input.choices) out += fmt::format("  chosen: {}\n", choice);
  for (const std::string& warning : report.warnings) out += fmt::format("  warning: {}\n", warning);
  for (const BillOfMaterials& bill : report.bills) out += bill_text(bill, report.assumptions);
  out += ratios_text(report) + walk_text(report) + tornado_text(report) + sources_text(report, catalog) + "\n";
  for (const std::string& note : report.notes) out += fmt::format("note: {}\n", note);
  return out;
}

std::string render_json(const CostReport& report, const catalog::Catalog& catalog) {
  json::array bills;
  for (const BillOfMaterials& bill : report.bills) bills.push_back(json_of(bill, report.assumptions));
  json::array ratios;
  for (const CostRatio& ratio : report.ratios) {
    ratios.push_back(json::object{{"fabric", ratio.fabric},
                                  {"photonic", ratio.photonic},
                                  {"cost", ratio.cost},
                                  {"power", ratio.power},
                                  {"cost_spread", json_of(ratio.cost_spread)},
                                  {"power_spread", json_of(ratio.power_spread)}});
  }
  json::array tornado;
  for (const TornadoRow& row : report.tornado) {
    tornado.push_back(json::object{{"fabric", report.ratios[row.ratio].fabric},
                                   {"photonic", report.ratios[row.ratio].photonic},
                                   {"assumption", row.key},
                                   {"title", row.title},
                                   {"low", row.low_text},
                                   {"high", row.high_text},
                                   {"cost_low", row.cost_low},
                                   {"cost_high", row.cost_high},
                                   {"power_low", row.power_low},
                                   {"power_high", row.power_high}});
  }
  json::array walk;
  for (const WalkStep& step : report.walk) {
    json::object entry = {
        {"step", step.title}, {"cost", step.cost}, {"power", step.power}, {"parts", step.parts}};
    if (!step.fabric.empty()) {
      entry["fabric"] = step.fabric;
      entry["photonic"] = step.photonic;
    }
    walk.push_back(std::move(entry));
  }
  json::array assumptions;
  for (const Assumption& assumption : report.assumptions.all) {
    json::object entry = {{"key", assumption.key},
                          {"title", assumption.title},
                          {"unit", assumption.unit},
                          {"range", json_of(assumption.range)},
                          {"source", catalog.source_text(assumption.source)}};
    if (!assumption.borrowed_from.empty()) entry["borrowed_from"] = assumption.borrowed_from;
    if (!assumption.note.empty()) entry["note"] = assumption.note;
    assumptions.push_back(std::move(entry));
  }
  return json::serialize(json::object{{"input", input_json(report.input)},
                                      {"bills", std::move(bills)},
                                      {"ratios", std::move(ratios)},
                                      {"walk", std::move(walk)},
                                      {"tornado", std::move(tornado)},
                                      {"assumptions", std::move(assumptions)},
                                      {"warnings", json::value_from(report.warnings)},
                                      {"choices", json::value_from(report.input.choices)},
                                      {"notes", json::value_from(report.notes)}});
}

std::string render_csv(const CostReport& report) {
  std::string out =
      "fabric,item,part,count,unit_usd_low,unit_usd,unit_usd_high,unit_watts_low,unit_watts,unit_watts_high,usd,"
      "watts\n";
  const std::vector<double> values = report.assumptions.base_values();
  const auto range = [&](const std::optional<AssumptionId>& id) {
    if (!id) return std::string(",,");
    const catalog::Range& r = report.assumptions.all[*id].range;
    return fmt::format("{},{},{}", r.low, r.base, r.high);
  };
  for (const BillOfMaterials& bill : report.bills) {
    for (const BomLine& line : bill.lines) {
      const Totals total = total_of(line, values);
      out += fmt::format("{},{},{},{},{},{},{},{}\n", bill.key, csv_field(line.item), csv_field(line.part), line.count,
                         range(line.price), range(line.watts), total.dollars, total.watts);
    }
    const Totals total = total_of(bill, values);
    if (bill.shortfall.empty()) out += fmt::format("{},total,,,,,,,,,{},{}\n", bill.key, total.dollars, total.watts);
  }
  out += "\nfabric,photonic,cost_ratio,cost_p5,cost_p50,cost_p95,power_ratio,power_p5,power_p50,power_p95\n";
  for (const CostRatio& r : report.ratios) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", r.fabric, r.photonic, r.cost, r.cost_spread.p5,
                       r.cost_spread.p50, r.cost_spread.p95, r.power, r.power_spread.p5, r.power_spread.p50,
                       r.power_spread.p95);
  }
  out += "\nfabric,photonic,assumption,low,high,cost_low,cost_high,power_low,power_high\n";
  for (const TornadoRow& row : report.tornado) {
    const CostRatio& ratio = report.ratios[row.ratio];
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", ratio.fabric, ratio.photonic, csv_field(row.key),
                       csv_field(row.low_text), csv_field(row.high_text), row.cost_low, row.cost_high, row.power_low,
                       row.power_high);
  }
  return out;
}

std::string published_table_text(const std::vector<PublishedRow>& rows) {
  std::string out =
      "published cost and power (formulas of arXiv 2602.12521): fat tree / rail-optimised / photonic rails\n";
  out += fmt::format("  {:<6} {:>5}  {:>18}  {:>20}  {:>22}  {:>7} {:>7}\n", "gpu", "GPUs", "ports", "cost, $ M",
                     "power, kW", "cost x", "power x");
  for (const PublishedRow& row : rows) {
    out += fmt::format("  {:<6} {:>5}  {:>18}  {:>20}  {:>22}  {:>7.2f} {:>7.2f}\n", row.gpu, row.gpus,
                       fmt::format("{} / {} / {}", row.fat_tree_ports, row.rail_ports, row.ocs_ports),
                       fmt::format("{:.2f} / {:.2f} / {:.2f}", row.fat_tree.dollars / 1e6, row.rail.dollars / 1e6,
                                   row.photonic.dollars / 1e6),
                       fmt::format("{:.1f} / {:.1f} / {:.2f}", row.fat_tree.watts / 1e3, row.rail.watts / 1e3,
                                   row.photonic.watts / 1e3),
                       row.cost_ratio, row.power_ratio);
  }
  return out;
}

}  // namespace photonrail::fabric
