// Published figures of a data folder beside ours, by the published rules.
//
// Rows per target: step time of the NPU that finishes last, its exposed communication, step time of NPU 0 (each where
// published), the rates of a square-root split (computed from the workload's traffic, beside the printed ones), and the
// step time beside golden/ where there is a fine-grained log of the same run, and for a reconfigurable network its
// topology changes. Every target has the row of the NPU that finishes last, published or not. A target that cannot be
// run has only that row, without a figure of ours and with the reason; the others run all the same. Step times are
// nanoseconds; a figure printed in seconds stays in seconds and ours is rounded to its digits.
//
// Thread rule: reproduce_opus may be called from any thread; it runs targets on `threads` threads of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/reproduce.h"
#include "published/opus_data.h"
#include "workload/trace_set.h"

namespace photonrail::published {

// Rows to put beside those of a target, from its traces: what other models say of the same run. `id` begins the id of
// each row, `name` is the case; what cannot be made is a refused row. Called from worker threads, several at once, also
// for a target that the published rules refuse.
using BesideTarget = std::function<std::vector<model::ReproduceRow>(
    const Target& target, const workload::TraceSet& traces, const std::string& id, const std::string& name)>;

struct ReproduceOptions {
  std::vector<std::string> only;  // run targets whose id contains one of these; empty: all
  unsigned threads = 2;
  bool fast = true;     // see PublishedConfig::fast
  BesideTarget beside;  // may be empty
};

// Called from worker threads, one call at a time: targets done, all targets, the one that was finished.
using ReproduceProgress = std::function<void(std::size_t done, std::size_t all, const std::string& id)>;

// Rows in the order of targets.csv. Refuses a folder without targets.csv, unknown columns, and a filter that leaves
// nothing. Refused rows, with file and line: lines that cannot be read, unknown modes, workloads without traces or
// configs, and what run_published refuses.
Result<std::vector<model::ReproduceRow>> reproduce_opus(const std::string& data_dir, const ReproduceOptions& options,
                                                        const ReproduceProgress& progress);

}  // namespace photonrail::published
