#include "published/opus_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include "published/text_lines.h"

namespace photonrail::published {
namespace {

constexpr std::size_t kMaxLines = 100'000;
constexpr std::array<std::string_view, 15> kColumns = {"figure",
                                                       "workload",
                                                       "npus",
                                                       "model",
                                                       "dp",
                                                       "pp",
                                                       "tp",
                                                       "scale_out_GBps",
                                                       "scale_up_GBps",
                                                       "mode",
                                                       "delay_ms",
                                                       "published_sys0_ns",
                                                       "published_last_ns",
                                                       "published_exposed_ns",
                                                       "source"};

// Fields of one line; a field in double quotes may hold commas and doubled quotes.
std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[i++];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) return std::nullopt;
  for (std::string& field : fields) field = std::string(trim(field));
  return fields;
}

// Reads the fields of one line and collects what is wrong with them.
class TargetReader {
 public:
  TargetReader(const std::vector<std::size_t>& column, const std::vector<std::string>& fields)
      : column_(column), fields_(fields) {}

  Target read() {
    Target target;
    target.figure = field(0);
    target.workload = field(1);
    target.model = field(3);
    PublishedConfig& config = target.config;
    config.dp = degree(4);
    config.pp = degree(5);
    config.tp = degree(6);
    if (fault_.empty() && std::uint64_t{config.dp} * config.pp * config.tp != degree(2)) {
      complain(2, "is not dp x pp x tp");
    }
    config.scale_out_GBps = positive(7);
    config.scale_up_GBps = positive(8);
    target.mode_text = field(9);
    read_mode(config);
    if (!field(10).empty()) config.delay_ms = at_least_zero(10);
    target.first_rank = figure(11);
    target.last = figure(12);
    target.exposed = figure(13);
    target.source = field(14);
    if (target.workload.empty()) complain(1, "is empty");
    return target;
  }

  const std::string& fault() const { return fault_; }
  bool has_delay() const { return !field(10).empty(); }

 private:
  const std::string& field(std::size_t c) const { return fields_[column_[c]]; }

  void complain(std::size_t c, const std::string& what) {
    if (fault_.empty()) fault_ = fmt::format("column {}: \"{}\" {}", kColumns[c], field(c), what);
  }

  std::uint32_t degree(std::size_t c) {
    std::uint32_t value = 0;
    const std::string& text = field(c);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 1'048'576) return value;
    complain(c, "is not a whole number from 1 to 1,048,576");
    return 1;
  }

  double positive(std::size_t c) {
    const auto value = to_number(field(c));
    if (value && *value > 0 && *value < 1e9) return *value;
    complain(c, "is not a number above 0");
    return 1;
  }

  double at_least_zero(std::size_t c) {
    const auto value = to_number(field(c));
    if (value && *value >= 0 && *value < 1e7) return *value;
    complain(c, "is not a number of milliseconds from 0 to 1e7");
    return 0;
  }

  void read_mode(PublishedConfig& config) {
    const std::string& mode = field(9);
    if (mode == "static_eps") {
      config.mode = Mode::static_eps;
    } else if (mode == "static_ideal") {
      config.mode = Mode::static_ideal;
    } else if (mode == "ondemand" || mode == "eps=ondemand") {
      config.mode = Mode::on_demand;
    } else if (mode == "provision") {
      config.mode = Mode::provisioned;
    } else if (mode.starts_with("static_ideal(") && mode.ends_with(")")) {
      config.mode = Mode::static_ideal;
      read_split(std::string_view(mode).substr(13, mode.size() - 14), config);
    } else {
      complain(9,
               "is no known mode; known: static_eps, static_ideal, static_ideal(data/tensor/pipeline), ondemand, "
               "provision, eps=ondemand");
    }
  }

  void read_split(std::string_view text, PublishedConfig& config) {
    std::vector<double> rates;
    while (!text.empty()) {
      const auto slash = text.find('/');
      const auto rate = to_number(trim(text.substr(0, slash)));
      if (!rate || !(*rate > 0)) break;
      rates.push_back(*rate);
      text = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    }
    if (rates.size() == 3 && text.empty()) {
      config.split = ClassRates{rates[0], rates[1], rates[2]};
    } else {
      complain(9, "needs three rates above 0: data/tensor/pipeline in GB/s per link");
    }
  }

  std::optional<PublishedFigure> figure(std::size_t c) {
    const std::string& text = field(c);
    if (text.empty() || text == "not published") return std::nullopt;
    PublishedFigure published;
    std::string_view digits = text;
    if (digits.ends_with(" s")) {
      published.in_seconds = true;
      digits.remove_suffix(2);
      const auto point = digits.find('.');
      published.decimals = point == std::string_view::npos ? 0 : static_cast<int>(digits.size() - point - 1);
    }
    const auto value = to_number(digits);
    if (!value || *value < 0 || published.decimals > 9) {
      complain(c, "is neither nanoseconds nor seconds (\"62.2416 s\")");
      return std::nullopt;
    }
    published.value = *value;
    return published;
  }

  const std::vector<std::size_t>& column_;
  const std::vector<std::string>& fields_;
  std::string fault_;
};

// Position in the file of each of kColumns.
Result<std::vector<std::size_t>> find_columns(const std::vector<std::string>& header, const std::string& file) {
  std::vector<std::size_t> column;
  for (const std::string_view name : kColumns) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      return fail(ErrorCode::invalid_input, fmt::format("{}:1: column {} is missing", file, name));
    }
    column.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  std::set<std::string> seen;
  for (const std::string& name : header) {
    if (std::find(kColumns.begin(), kColumns.end(), name) == kColumns.end()) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("{}:1: unknown column \"{}\"; known: {}", file, name, fmt::join(kColumns, ", ")));
    }
    if (!seen.insert(name).second) {
      return fail(ErrorCode::invalid_input, fmt::format("{}:1: column {} comes twice", file, name));
    }
  }
  return column;
}

Target read_target(std::string_view line, std::size_t columns, const std::vector<std::size_t>& column) {
  Target target;
  const auto fields = split_csv(line);
  if (!fields) {
    target.fault = "a quote is not closed";
    return target;
  }
  if (fields->size() != columns) {
    target.fault = fmt::format("{} fields, the header has {}", fields->size(), columns);
    return target;
  }
  TargetReader reader(column, *fields);
  target = reader.read();
  target.fault = reader.fault();
  if (!reader.has_delay()) target.config.delay_ms = -1;
  return target;
}

}  // namespace

Result<std::vector<Target>> parse_targets(const std::string& text, const std::string& file) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) return fail(ErrorCode::invalid_input, file + ": is empty; line 1 must name the columns");
  if (lines.size() > kMaxLines) return fail(ErrorCode::invalid_input, file + ": more than 100,000 lines");
  const auto header = split_csv(lines[0]);
  if (!header) return fail(ErrorCode::invalid_input, file + ":1: a quote is not closed");
  PR_ASSIGN(const std::vector<std::size_t> column, find_columns(*header, file));
  std::vector<Target> targets;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    targets.push_back(read_target(lines[i], header->size(), column));
    targets.back().line = i + 1;
    std::string& fault = targets.back().fault;
    if (!fault.empty()) fault = fmt::format("{}:{}: {}", file, i + 1, fault);
  }
  return targets;
}

}  // namespace photonrail::published
