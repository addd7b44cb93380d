#include "published/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "published/opus_data.h"
#include "published/text_file.h"
#include "published/text_lines.h"

namespace photonrail::published {
namespace {

using model::ReproduceRow;

constexpr int kRateDecimals = 6;  // of the rates printed with a static split
constexpr const char* kLastQuantity = "step time, last NPU";

// Topology changes per step that the data folder's README states, for its own workloads at the delays for which it
// states them.
constexpr const char* kChangesSource = "data/opus README section 4";
constexpr double kChangesFromDelayMs = 10;
constexpr std::pair<std::string_view, int> kChanges[] = {{"smoke", 4}, {"fig12", 10}, {"fig13", 10}, {"h200_dp16", 10}};

bool is_reconfigurable(const PublishedConfig& config) {
  return config.mode == Mode::on_demand || config.mode == Mode::provisioned;
}

std::string id_of(const Target& target) {
  if (!target.fault.empty()) {
    std::string id = "opus";
    for (const std::string& part : {target.workload, target.mode_text}) id += part.empty() ? "" : "/" + part;
    return fmt::format("{}/line{}", id, target.line);
  }
  const PublishedConfig& c = target.config;
  std::string id = fmt::format("opus/{}/dp{}pp{}tp{}/{:g}-{:g}GBps/{}", target.workload, c.dp, c.pp, c.tp,
                               c.scale_out_GBps, c.scale_up_GBps, target.mode_text);
  if (is_reconfigurable(c)) id += fmt::format("/{:g}ms", c.delay_ms);
  return id;
}

const char* mode_name(const Target& target) {
  switch (target.config.mode) {
    case Mode::static_eps: return "static, all links";
    case Mode::static_ideal: return "static, square-root split";
    case Mode::on_demand: return "on demand";
    case Mode::provisioned: break;
  }
  return "provisioned";
}

std::string name_of(const Target& target) {
  if (!target.fault.empty()) {
    return fmt::format("line {} of targets.csv{}{}", target.line, target.workload.empty() ? "" : ", ", target.workload);
  }
  const PublishedConfig& c = target.config;
  std::string name =
      fmt::format("{} ({}), {} NPUs, dp {} pp {} tp {}, {:g} GB/s out, {:g} GB/s up, {}", target.workload, target.model,
                  c.dp * c.pp * c.tp, c.dp, c.pp, c.tp, c.scale_out_GBps, c.scale_up_GBps, mode_name(target));
  if (is_reconfigurable(c)) name += fmt::format(", {:g} ms", c.delay_ms);
  return name;
}

double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

// Rows of one target.
class RowMaker {
 public:
  RowMaker(const Target& target, std::string id) : target_(target), id_(std::move(id)), name_(name_of(target)) {}

  void step_time(const char* what, const char* quantity, const std::optional<PublishedFigure>& published,
                 std::int64_t ours_ns) {
    if (!published) return;
    const auto ours = static_cast<double>(ours_ns);
    if (published->in_seconds) {
      add(what, fmt::format("{}, to {} decimals", quantity, published->decimals), "s", published->value,
          rounded(ours * 1e-9, published->decimals), target_.source);
    } else {
      add(what, quantity, "ns", published->value, ours, target_.source);
    }
  }

  void add(const char* what, std::string quantity, const char* unit, std::optional<double> published, double ours,
           std::string source) {
    ReproduceRow& row = add_empty(what, std::move(quantity), unit, published, std::move(source));
    row.ours = ours;
    model::set_relative_error(row);
  }

  // The row of a target that cannot be run.
  void refuse(Error error) {
    const std::optional<double> published = target_.last ? std::optional(target_.last->value) : std::nullopt;
    const char* unit = target_.last && target_.last->in_seconds ? "s" : "ns";
    add_empty("last", kLastQuantity, unit, published, target_.source).refused = std::move(error);
  }

  std::vector<ReproduceRow> take() { return std::move(rows_); }

 private:
  ReproduceRow& add_empty(const char* what, std::string quantity, const char* unit, std::optional<double> published,
                          std::string source) {
    ReproduceRow& row = rows_.emplace_back();
    row.id = fmt::format("{}/{}", id_, what);
    row.case_name = name_;
    row.quantity = std::move(quantity);
    row.unit = unit;
    row.published = published;
    row.source = std::move(source);
    return row;
  }

  const Target& target_;
  std::string id_;
  std::string name_;
  std::vector<ReproduceRow> rows_;
};

// golden/ holds runs at the rates of configs/<workload>/eps_matrix.txt.xz only: first its own (scale-up) rate, then
// that of its data-parallel neighbour.
bool has_golden_rates(const std::string& data_dir, const Target& target) {
  const auto text = read_text(fmt::format("{}/configs/{}/eps_matrix.txt.xz", data_dir, target.workload));
  if (!text) return false;
  const auto lines = lines_of(*text);
  if (lines.size() < 2) return false;
  const auto space = lines[1].find(' ');
  if (space == std::string_view::npos) return false;
  const auto up = to_number(lines[1].substr(0, space));
  const auto rest = lines[1].substr(space + 1);
  const auto out = to_number(rest.substr(0, rest.find(' ')));
  return up == target.config.scale_up_GBps && out == target.config.scale_out_GBps;
}

struct Golden {
  std::string file;
  std::int64_t last_ns = 0;
};

// The step time of a fine-grained log of the same run, if there is one.
std::optional<Golden> find_golden(const std::string& data_dir, const Target& target) {
  const PublishedConfig& c = target.config;
  std::string name;
  if (c.mode == Mode::static_eps) name = target.workload + ".static_eps.txt";
  if (c.mode == Mode::on_demand) name = fmt::format("{}.ondemand_{:g}ms.log.xz", target.workload, c.delay_ms);
  if (c.mode == Mode::provisioned) name = fmt::format("{}.provision_{:g}ms.log.xz", target.workload, c.delay_ms);
  const std::string path = data_dir + "/golden/" + name;
  if (name.empty() || !std::filesystem::exists(path) || !has_golden_rates(data_dir, target)) return std::nullopt;
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  Golden golden{"golden/" + name, 0};
  for (const std::string_view line : lines_of(*text)) {
    std::string_view rest;
    if (line.starts_with("STEP ")) rest = line.substr(5);
    if (line.starts_with("FIN ")) {  // FIN rank finish exposed
      rest = line.substr(4);
      rest = rest.substr(rest.find(' ') + 1);
      rest = rest.substr(0, rest.find(' '));
    }
    const auto finish = to_number(rest);
    if (finish) golden.last_ns = std::max(golden.last_ns, static_cast<std::int64_t>(*finish));
  }
  if (golden.last_ns == 0) return std::nullopt;
  return golden;
}

// Traces of the workloads, read once and dropped after their last target.
class TraceStore {
 public:
  TraceStore(std::string folder, const std::vector<Target>& targets) : folder_(std::move(folder)) {
    for (const Target& target : targets) ++entries_[target.workload].users;
  }

  Result<std::shared_ptr<const workload::TraceSet>> get(const std::string& workload) {
    Entry& entry = entries_.at(workload);
    const std::lock_guard lock(entry.mutex);
    if (entry.traces) return entry.traces;
    PR_ASSIGN(const std::string path, find_traces(folder_, workload));
    PR_ASSIGN(workload::TraceSet traces, workload::read_traces(path, {}));
    entry.traces = std::make_shared<const workload::TraceSet>(std::move(traces));
    return entry.traces;
  }

  void done(const std::string& workload) {
    Entry& entry = entries_.at(workload);
    const std::lock_guard lock(entry.mutex);
    if (--entry.users == 0) entry.traces.reset();
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::size_t users = 0;
    std::shared_ptr<const workload::TraceSet> traces;
  };
  std::string folder_;
  std::map<std::string, Entry> entries_;
};

Status configure(const std::string& data_dir, Target& target) {
  const std::string folder = fmt::format("{}/configs/{}", data_dir, target.workload);
  PR_ASSIGN(const std::string system, read_text(folder + "/system.json"));
  PR_TRY(apply_system(system, folder + "/system.json", target.config));
  PR_ASSIGN(const std::string network, read_text(folder + "/network.yml"));
  return apply_network(network, folder + "/network.yml", target.config);
}

void add_split_rows(RowMaker& rows, const Target& target, const ClassRates& computed) {
  const auto add = [&](const char* what, const char* quantity, double printed, double ours) {
    rows.add(what, quantity, "GB/s of 2^30 B", printed, rounded(ours, kRateDecimals), target.source);
  };
  add("rate-data", "square-root split, per data-parallel link", target.config.split->data, computed.data);
  add("rate-tensor", "square-root split, per tensor-parallel link", target.config.split->tensor, computed.tensor);
  add("rate-pipeline", "square-root split, per pipeline link", target.config.split->pipeline, computed.pipeline);
}

void add_changes_row(RowMaker& rows, const Target& target, const PublishedResult& result) {
  if (!is_reconfigurable(target.config)) return;
  std::optional<double> published;
  for (const auto& [workload, changes] : kChanges) {
    if (workload == target.workload && target.config.delay_ms >= kChangesFromDelayMs) published = changes;
  }
  rows.add("topology-changes", "topology changes", "changes per step", published,
           static_cast<double>(result.reconfigurations), published ? kChangesSource : "no figure is published");
}

Status add_published_rows(RowMaker& rows, const std::string& data_dir, const Target& target,
                          const workload::TraceSet& traces) {
  PR_ASSIGN(const PublishedResult result, run_published(traces, target.config));
  rows.step_time("last", kLastQuantity, target.last, result.last_ns);
  if (!target.last) {
    rows.add("last", kLastQuantity, "ns", std::nullopt, static_cast<double>(result.last_ns), target.source);
  }
  rows.step_time("exposed", "exposed communication, last NPU", target.exposed, result.last_exposed_ns);
  rows.step_time("sys0", "step time, NPU 0", target.first_rank, result.first_rank_ns);
  if (target.config.split) {
    PR_ASSIGN(const RingTraffic traffic, ring_traffic(traces, target.config));
    add_split_rows(rows, target, square_root_split(traffic, target.config));
  }
  if (const auto golden = find_golden(data_dir, target)) {
    rows.add("golden", "step time, last NPU, of a fine-grained log", "ns", static_cast<double>(golden->last_ns),
             static_cast<double>(result.last_ns), golden->file);
  }
  add_changes_row(rows, target, result);
  return {};
}

std::vector<ReproduceRow> run_target(const std::string& data_dir, Target target, const std::string& id,
                                     const ReproduceOptions& options, TraceStore& store) {
  RowMaker rows(target, id);
  if (!target.fault.empty()) {
    rows.refuse({ErrorCode::invalid_input, target.fault});
    return rows.take();
  }
  const auto refuse = [&](const Error& error) {
    rows.refuse({error.code, fmt::format("{}/targets.csv:{}: {}", data_dir, target.line, error.message)});
  };
  const auto traces = store.get(target.workload);
  if (!traces) {
    refuse(traces.error());
    return rows.take();
  }
  target.config.fast = options.fast;
  const Status done = add_published_rows(rows, data_dir, target, **traces);
  if (!done) refuse(done.error());
  std::vector<ReproduceRow> all = rows.take();
  if (!options.beside) return all;
  std::vector<ReproduceRow> more = options.beside(target, **traces, id, name_of(target));
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

// Completes each target from configs/; one that cannot be completed gets a fault.
void configure_all(const std::string& data_dir, std::vector<Target>& targets) {
  for (Target& target : targets) {
    if (!target.fault.empty()) continue;
    const Status configured = configure(data_dir, target);
    if (configured) continue;
    target.fault = fmt::format("{}/targets.csv:{}: {}", data_dir, target.line, configured.error().message);
  }
}

bool is_wanted(const std::string& id, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(),
                                     [&](const std::string& text) { return id.find(text) != std::string::npos; });
}

// Ids of all targets; a second target with the same description gets its line added.
std::vector<std::string> make_ids(const std::vector<Target>& targets) {
  std::map<std::string, int> seen;
  std::vector<std::string> ids;
  for (const Target& target : targets) {
    std::string id = id_of(target);
    if (++seen[id] > 1) id += fmt::format("/line{}", target.line);
    ids.push_back(std::move(id));
  }
  return ids;
}

void keep_wanted(std::vector<Target>& targets, std::vector<std::string>& ids, const std::vector<std::string>& only) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!is_wanted(ids[i], only)) continue;
    std::swap(targets[kept], targets[i]);
    std::swap(ids[kept], ids[i]);
    ++kept;
  }
  targets.resize(kept);
  ids.resize(kept);
}

}  // namespace

Result<std::vector<ReproduceRow>> reproduce_opus(const std::string& data_dir, const ReproduceOptions& options,
                                                 const ReproduceProgress& progress) {
  const std::string file = data_dir + "/targets.csv";
  PR_ASSIGN(const std::string text, read_text(file));
  PR_ASSIGN(std::vector<Target> targets, parse_targets(text, file));
  configure_all(data_dir, targets);
  std::vector<std::string> ids = make_ids(targets);
  keep_wanted(targets, ids, options.only);
  if (targets.empty()) {
    return fail(ErrorCode::invalid_input, file + ": no target to run; ids look like opus/fig12/.../ondemand/10ms");
  }
  TraceStore store(data_dir + "/traces", targets);
  std::vector<std::vector<ReproduceRow>> rows(targets.size());
  std::atomic<std::size_t> next = 0;
  std::mutex reporting;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < targets.size(); i = next++) {
      rows[i] = run_target(data_dir, targets[i], ids[i], options, store);
      store.done(targets[i].workload);
      const std::lock_guard lock(reporting);
      ++done;
      if (progress) progress(done, targets.size(), ids[i]);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::clamp(options.threads, 1U, 64U); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<ReproduceRow> all;
  for (std::vector<ReproduceRow>& of_target : rows) {
    std::move(of_target.begin(), of_target.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace photonrail::published
