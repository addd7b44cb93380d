#include "published/ablations.h"

#include <fmt/format.h>

#include <functional>

namespace photonrail::published {
namespace {

struct Change {
  std::string id;
  std::string words;
  std::function<void(PublishedConfig&)> make;
};

std::vector<Change> changes_for(const PublishedConfig& config, std::int64_t bytes_per_element) {
  std::vector<Change> changes;
  if (config.mode == Mode::on_demand || config.mode == Mode::provisioned) {
    changes.push_back({"wake", "all members are woken when a vote completes", [](auto& c) { c.wake_members = true; }});
  }
  changes.push_back({"link", "a link is free when its message has left, not two latencies later",
                     [](auto& c) { c.link_held_for_twice_latency = false; }});
  changes.push_back(
      {"gigabyte", "GB/s are 1e9 bytes per second, not 2^30", [](auto& c) { c.bytes_per_gigabyte = 1e9; }});
  changes.push_back({"elements", fmt::format("an element is {} bytes, not 1", bytes_per_element),
                     [bytes_per_element](auto& c) { c.bytes_per_element = bytes_per_element; }});
  changes.push_back(
      {"operations", "a multiply-accumulate is 2 operations, not 1", [](auto& c) { c.operations_per_count = 2; }});
  return changes;
}

Result<std::int64_t> step_time(const workload::TraceSet& traces, const PublishedConfig& config) {
  PR_ASSIGN(const PublishedResult result, run_published(traces, config));
  return result.last_ns;
}

}  // namespace

Result<Ablations> run_ablations(const workload::TraceSet& traces, const PublishedConfig& config,
                                std::int64_t bytes_per_element) {
  PublishedConfig plain = config;
  plain.keep_log = plain.keep_nodes = false;
  Ablations ablations;
  PR_ASSIGN(ablations.published_ns, step_time(traces, plain));
  PublishedConfig together = plain;
  for (const Change& change : changes_for(config, bytes_per_element)) {
    PublishedConfig alone = plain;
    change.make(alone);
    change.make(together);
    Ablation row{change.id, change.words, 0, 0};
    PR_ASSIGN(row.alone_ns, step_time(traces, alone));
    PR_ASSIGN(row.together_ns, step_time(traces, together));
    ablations.changes.push_back(std::move(row));
  }
  return ablations;
}

}  // namespace photonrail::published
