// Records of journal and audit log in words. Pure functions.
#pragma once

#include <string>

#include "daemon/records.h"

namespace photonrail::cli {

struct RecordText {
  const char* kind = "";  // for programs: "job_submitted"
  std::string text;       // for people
};

RecordText describe_record(const daemon::Record& record);

// Control characters as blanks: texts of clients and switches must not steer a terminal.
std::string printable(std::string text);

}  // namespace photonrail::cli
