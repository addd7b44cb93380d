#include "report/json_writer.h"
#include "report/render.h"

namespace photonrail::report {
namespace {

void write_scenario(JsonWriter& json, const Report& report) {
  json.key("scenario");
  json.begin_object();
  json.field("name", report.scenario_name);
  json.field("hash", report.scenario_hash);
  json.key("seed");
  json.unsigned_integer(report.seed);
  json.field("toml", report.scenario_text);
  json.end();
}

void write_header(JsonWriter& json, const Report& report) {
  json.key("asked");
  json.begin_array();
  for (const auto& [what, value] : report.header) {
    json.begin_object(true);
    json.field("what", what);
    json.field("value", value);
    json.end();
  }
  json.end();
}

void write_constants(JsonWriter& json, const Report& report) {
  json.key("constants");
  json.begin_array();
  for (const Constant& c : report.constants) {
    json.begin_object(true);
    json.field("id", c.id);
    json.field("label", c.label);
    json.field("value", std::optional(c.value));
    json.field("unit", c.unit);
    json.field("source", c.source);
    json.end();
  }
  json.end();
}

void write_metrics(JsonWriter& json, const Report& report) {
  json.key("metrics");
  json.begin_array();
  for (const Metric& m : report.metrics) {
    json.begin_object();
    json.field("id", m.id);
    json.field("label", m.label);
    json.field("unit", m.unit);
    json.field("formula", m.formula);
    json.field("rule", m.rule);
    json.key("assumptions");
    json.begin_array();
    for (const std::string& a : m.assumptions) json.text(a);
    json.end();
    json.field("source", m.source);
    json.end();
  }
  json.end();
}

void write_sources(JsonWriter& json, const Case& c) {
  json.key("sources");
  json.begin_object();
  for (const auto& [metric, source] : c.sources) json.field(metric, source);
  json.end();
}

void write_case(JsonWriter& json, const Report& report, const Case& c) {
  json.begin_object();
  json.field("id", c.id);
  json.field("name", c.name);
  json.field("kind", c.kind);
  json.key("switching_time_ps");
  c.switching_time ? json.integer(c.switching_time->ps) : json.null();
  json.key("refused");
  c.refusal.empty() ? json.null() : json.text(c.refusal);
  json.field("digest", c.digest);
  json.key("values");
  json.begin_object();
  for (std::size_t i = 0; i < report.metrics.size(); ++i) {
    json.field(report.metrics[i].id, i < c.values.size() ? c.values[i] : std::nullopt);
  }
  json.end();
  if (!c.sources.empty()) write_sources(json, c);
  json.end();
}

}  // namespace

std::string render_json(const Report& report) {
  JsonWriter json;
  json.begin_object();
  json.field("photonrail", report.version);
  json.field("command", report.command);
  json.field("digest", report.digest);
  write_scenario(json, report);
  write_header(json, report);
  json.field("baseline", report.baseline);
  write_constants(json, report);
  write_metrics(json, report);
  json.key("cases");
  json.begin_array();
  for (const Case& c : report.cases) write_case(json, report, c);
  json.end();
  json.key("reading");
  json.begin_array();
  for (const std::string& paragraph : report.reading) json.text(paragraph);
  json.end();
  json.end();
  return json.take();
}

}  // namespace photonrail::report
