#include "published/opus_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <filesystem>
#include <string_view>

#include "published/text_file.h"
#include "published/text_lines.h"

namespace photonrail::published {
namespace {

namespace fs = std::filesystem;

// Keys of system.json that ASTRA-sim knows, with the only value that the published rules cover, where there is one.
struct SystemKey {
  std::string_view name;
  std::string_view only;  // "" means free
};
constexpr std::array<SystemKey, 16> kSystemKeys = {{{"scheduling-policy", ""},
                                                    {"endpoint-delay", ""},
                                                    {"active-chunks-per-dimension", "1"},
                                                    {"preferred-dataset-splits", ""},
                                                    {"all-reduce-implementation", "[\"ring\"]"},
                                                    {"all-gather-implementation", "[\"ring\"]"},
                                                    {"reduce-scatter-implementation", "[\"ring\"]"},
                                                    {"all-to-all-implementation", "[\"ring\"]"},
                                                    {"collective-optimization", ""},
                                                    {"local-mem-bw", ""},
                                                    {"boost-mode", ""},
                                                    {"replay-only", "0"},
                                                    {"roofline-enabled", "1"},
                                                    {"peak-perf", ""},
                                                    {"trace-enabled", ""},
                                                    {"model-shared-bus", "0"}}};

Result<double> number_of(const boost::json::object& object, std::string_view key, const std::string& file) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) {
    return fail(ErrorCode::invalid_input, fmt::format("{}: key \"{}\" must be a number", file, key));
  }
  return value->to_number<double>();
}

}  // namespace

Status apply_system(const std::string& text, const std::string& file, PublishedConfig& config) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(text, error);
  if (error || !parsed.is_object()) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: is not a JSON object{}", file, error ? ": " + error.message() : std::string()));
  }
  const boost::json::object& object = parsed.get_object();
  for (const auto& [key, value] : object) {
    const auto known = std::find_if(kSystemKeys.begin(), kSystemKeys.end(),
                                    [&](const SystemKey& k) { return k.name == std::string_view(key); });
    if (known == kSystemKeys.end()) {
      return fail(ErrorCode::invalid_input, fmt::format("{}: unknown key \"{}\"", file, std::string_view(key)));
    }
    const std::string given = boost::json::serialize(value);
    if (!known->only.empty() && given != known->only) {
      return fail(ErrorCode::invalid_input, fmt::format("{}: \"{}\" is {}; the published rules cover only {}", file,
                                                        known->name, given, known->only));
    }
  }
  PR_ASSIGN(const double endpoint, number_of(object, "endpoint-delay", file));
  PR_ASSIGN(const double splits, number_of(object, "preferred-dataset-splits", file));
  PR_ASSIGN(config.local_memory_GBps, number_of(object, "local-mem-bw", file));
  PR_ASSIGN(config.peak_tflops, number_of(object, "peak-perf", file));
  if (!(endpoint >= 1 && endpoint <= 1e9) || !(splits >= 1 && splits <= 4096)) {
    return fail(ErrorCode::invalid_input,
                file + ": endpoint-delay must be in 1..1e9, preferred-dataset-splits in 1..4096");
  }
  config.endpoint_delay_ns = static_cast<std::int64_t>(endpoint);
  config.splits = static_cast<std::uint32_t>(splits);
  return {};
}

namespace {

// "[ value ]" or "value"
std::string_view only_item(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = trim(text.substr(1, text.size() - 2));
  return text;
}

Status apply_network_line(std::string_view line, const std::string& where, PublishedConfig& config) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return fail(ErrorCode::invalid_input, where + ": expected \"key: [ value ]\"");
  const std::string_view key = trim(line.substr(0, colon));
  const std::string_view item = only_item(line.substr(colon + 1));
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {} \"{}\" {}", where, key, item, what));
  };
  if (key == "topology") {
    if (item != "FullyConnected") return refuse("is not FullyConnected, the only one of the published rules");
    return {};
  }
  const auto value = to_number(item);
  if (!value || *value < 0) return refuse("is not one number from 0 up");
  if (key == "npus_count") {
    const std::uint64_t ranks = std::uint64_t{config.dp} * config.pp * config.tp;
    if (*value != static_cast<double>(ranks))
      return refuse(fmt::format("differs from the {} NPUs of the target", ranks));
  } else if (key == "latency") {
    config.latency_ns = *value;
  } else if (key == "reconfig_time") {
    if (config.delay_ms < 0) config.delay_ms = *value / 1e6;
  } else if (key != "bandwidth") {  // the published backend ignores it: the matrix of links rules
    return refuse("is an unknown key; known: topology, npus_count, bandwidth, latency, reconfig_time");
  }
  return {};
}

}  // namespace

Status apply_network(const std::string& text, const std::string& file, PublishedConfig& config) {
  std::size_t number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (!line.empty()) PR_TRY(apply_network_line(line, fmt::format("{}:{}", file, number), config));
  }
  if (config.delay_ms < 0) config.delay_ms = 0;
  return {};
}

Result<std::string> find_traces(const std::string& folder, const std::string& workload) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  if (error) return fail(ErrorCode::io, fmt::format("{}: cannot be listed: {}", folder, error.message()));
  std::sort(entries.begin(), entries.end());
  std::vector<fs::path> containing;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    if (name == workload || name.starts_with(workload + ".tar")) return entry.string();
    if (name.find(workload) != std::string::npos) containing.push_back(entry);
  }
  if (containing.size() == 1) return containing.front().string();
  const std::vector<fs::path>& candidates = containing.empty() ? entries : containing;
  for (const fs::path& entry : candidates) {
    if (fs::is_directory(entry)) continue;
    const auto first = first_entry(entry.string());
    if (first && (first->starts_with(workload + "/") || first->starts_with("./" + workload + "/")))
      return entry.string();
  }
  return fail(ErrorCode::io, fmt::format("{}: no archive or folder holds workload \"{}\"", folder, workload));
}

}  // namespace photonrail::published
