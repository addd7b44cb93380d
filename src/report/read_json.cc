#include <fmt/format.h>

#include <charconv>

#include "report/formula.h"
#include "report/json_reader.h"
#include "report/render.h"

namespace photonrail::report {
namespace {

constexpr std::size_t kMaxMetrics = 10'000;
constexpr std::size_t kMaxCases = 1'000'000;
constexpr std::string_view kHint = "\n  hint: give the report.json that `photonrail simulate --out DIR` wrote";

template <class T>
bool read_integer(const JsonValue& from, T& value) {
  const auto* number = from.as<JsonNumber>();
  if (number == nullptr) return false;
  const char* end = number->text.data() + number->text.size();
  const auto result = std::from_chars(number->text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

// Typed access with one error: the first missing or mistyped thing.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  template <class T>
  const T& get(const JsonObject& from, std::string_view key, std::string_view wanted) {
    static const T kEmpty{};
    const JsonValue* v = find(from, key);
    const T* typed = v == nullptr ? nullptr : v->as<T>();
    if (typed == nullptr) complain(key, wanted);
    return typed == nullptr ? kEmpty : *typed;
  }
  const std::string& text(const JsonObject& from, std::string_view key) {
    return get<std::string>(from, key, "a text");
  }
  const JsonArray& array(const JsonObject& from, std::string_view key) { return get<JsonArray>(from, key, "an array"); }
  const JsonObject& object(const JsonObject& from, std::string_view key) {
    return get<JsonObject>(from, key, "an object");
  }
  // A number; nothing where the key is absent or null.
  std::optional<double> number(const JsonObject& from, std::string_view key) {
    const JsonValue* v = find(from, key);
    if (v == nullptr || v->as<std::nullptr_t>() != nullptr) return std::nullopt;
    const auto* typed = v->as<JsonNumber>();
    if (typed == nullptr) complain(key, "a number or null");
    return typed == nullptr ? std::nullopt : std::optional(typed->value);
  }
  // Every element must be an object.
  std::vector<const JsonObject*> objects(const JsonObject& from, std::string_view key, std::size_t limit) {
    std::vector<const JsonObject*> found;
    const JsonArray& all = array(from, key);
    if (all.size() > limit) complain(key, "shorter");
    for (const JsonValue& v : all) {
      if (v.as<JsonObject>() == nullptr) complain(key, "an array of objects");
      if (failed()) return {};
      found.push_back(v.as<JsonObject>());
    }
    return found;
  }
  std::vector<std::string> texts(const JsonObject& from, std::string_view key) {
    std::vector<std::string> found;
    for (const JsonValue& v : array(from, key)) {
      if (const auto* t = v.as<std::string>()) found.push_back(*t);
    }
    return found;
  }
  std::vector<std::pair<std::string, std::string>> named_texts(const JsonObject& from, std::string_view key) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [name, v] : object(from, key)) {
      if (const auto* t = v.as<std::string>()) found.emplace_back(name, *t);
    }
    return found;
  }
  void complain(std::string_view key, std::string_view wanted) {
    if (error_.empty()) error_ = fmt::format("{}: not a report of photonrail: '{}' should be {}", file_, key, wanted);
  }
  bool failed() const { return !error_.empty(); }
  Error error() const { return {ErrorCode::invalid_input, error_ + std::string(kHint)}; }

 private:
  std::string file_;
  std::string error_;
};

Constant read_constant(Reader& in, const JsonObject& from) {
  return {in.text(from, "id"), in.text(from, "label"), in.number(from, "value").value_or(0), in.text(from, "unit"),
          in.text(from, "source")};
}

Metric read_metric(Reader& in, const JsonObject& from) {
  Metric m{in.text(from, "id"),   in.text(from, "label"),        in.text(from, "unit"),  in.text(from, "formula"),
           in.text(from, "rule"), in.texts(from, "assumptions"), in.text(from, "source")};
  if (!m.formula.empty() && !formula_is_valid(m.formula)) in.complain("formula", "an arithmetic expression");
  return m;
}

Case read_case(Reader& in, const Report& report, const JsonObject& from) {
  Case c;
  c.id = in.text(from, "id");
  c.name = in.text(from, "name");
  c.kind = in.text(from, "kind");
  if (const JsonValue* time = find(from, "switching_time_ps");
      time != nullptr && time->as<std::nullptr_t>() == nullptr) {
    c.switching_time.emplace();
    if (!read_integer(*time, c.switching_time->ps)) in.complain("switching_time_ps", "an integer or null");
  }
  if (const JsonValue* refused = find(from, "refused"); refused != nullptr && refused->as<std::string>() != nullptr) {
    c.refusal = *refused->as<std::string>();
  }
  c.digest = in.text(from, "digest");
  const JsonObject& values = in.object(from, "values");
  for (const Metric& m : report.metrics) c.values.push_back(in.number(values, m.id));
  if (find(from, "sources") != nullptr) c.sources = in.named_texts(from, "sources");
  return c;
}

void read_scenario(Reader& in, Report& report, const JsonObject& from) {
  report.scenario_name = in.text(from, "name");
  report.scenario_hash = in.text(from, "hash");
  report.scenario_text = in.text(from, "toml");
  const JsonValue* seed = find(from, "seed");
  if (seed == nullptr || !read_integer(*seed, report.seed)) in.complain("seed", "an integer");
}

Report read_all(Reader& in, const JsonObject& root) {
  Report report;
  report.version = in.text(root, "photonrail");
  report.command = in.text(root, "command");
  report.digest = in.text(root, "digest");
  report.baseline = in.text(root, "baseline");
  read_scenario(in, report, in.object(root, "scenario"));
  for (const JsonObject* o : in.objects(root, "asked", kMaxMetrics)) {
    report.header.emplace_back(in.text(*o, "what"), in.text(*o, "value"));
  }
  for (const JsonObject* o : in.objects(root, "constants", kMaxMetrics)) {
    report.constants.push_back(read_constant(in, *o));
  }
  for (const JsonObject* o : in.objects(root, "metrics", kMaxMetrics)) report.metrics.push_back(read_metric(in, *o));
  for (const JsonObject* o : in.objects(root, "cases", kMaxCases)) report.cases.push_back(read_case(in, report, *o));
  report.reading = in.texts(root, "reading");
  return report;
}

}  // namespace

Result<Report> read_report(std::string_view text, std::string_view file) {
  Result<JsonValue> root = parse_json(text, file);
  if (!root) return fail(root.error().code, root.error().message + std::string(kHint));
  Reader in(file);
  const auto* object = root->as<JsonObject>();
  if (object == nullptr) in.complain("the whole", "an object");
  Report report = object == nullptr ? Report{} : read_all(in, *object);
  if (in.failed()) return fail(in.error());
  return report;
}

}  // namespace photonrail::report
