// The job file of `photonrail ctl submit` and `plan`: which ports a job's ranks have.
//
//   job = "train"
//   epoch = 1                              # grows with every life of the job; an older one is refused
//   ports_per_rank = 1
//   ports = ["rail0:0..3"]                 # switch:position, rank-major; 0..3 stands for 0, 1, 2, 3
//   domains = [0, 0, 1, 1]                 # scale-up domain of each rank; absent: each rank is its own
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/document.h"
#include "daemon/core.h"
#include "wire/operator_messages.h"

namespace photonrail::cli {

// The file as it is written.
struct JobText {
  std::string job;
  std::uint64_t epoch = 1;
  std::uint32_t ports_per_rank = 1;
  std::vector<std::string> ports;
  std::vector<std::uint32_t> domains;
};
void describe(config::Fields& fields, JobText& j);

struct JobFile {
  daemon::SubmitJob job;
  wire::SwitchNames names;  // of the switches that it mentions, by number
};

Result<JobFile> read_job_file(const std::string& path);

// "switch:position". The switch gets a number in `names`.
Result<daemon::Attachment> parse_port(const std::string& text, wire::SwitchNames& names);

}  // namespace photonrail::cli
