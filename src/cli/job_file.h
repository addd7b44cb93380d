// The job file of `photonrail ctl submit` and `plan`: which ports a job's ranks have.
//
//   job = "train"
//   epoch = 1                              # grows with every life of the job; an older one is refused
//   ports_per_rank = 1
//   ports = ["rail0:0..3"]                 # switch:position, rank-major; 0..3 stands for 0, 1, 2, 3
//   domains = [0, 0, 1, 1]                 # scale-up domain of each rank; absent: each rank is its own
#pragma once

#include <string>

#include "base/result.h"
#include "daemon/core.h"
#include "wire/operator_messages.h"

namespace photonrail::cli {

struct JobFile {
  daemon::SubmitJob job;
  wire::SwitchNames names;  // of the switches that it mentions, by number
};

Result<JobFile> read_job_file(const std::string& path);

// "switch:position". The switch gets a number in `names`.
Result<daemon::Attachment> parse_port(const std::string& text, wire::SwitchNames& names);

std::string job_file_schema();
std::string job_file_reference();

}  // namespace photonrail::cli
