// The input files of commands: which fields they have, and which command a file is for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::cli {

struct InputFile {
  const char* command;
  const char* advice;  // what to run on it in place of `show` and `explain`
  std::function<std::string()> schema;
  std::function<std::string()> reference;
  std::function<std::vector<std::string>()> keys;  // at the top level
};
std::vector<InputFile> input_files();

// Refuses, with the right command, a TOML text whose keys are more those of another command's file than of a training
// scenario. Passes whatever is no TOML: reading it says why.
Status check_is_training_scenario(const std::string& name, std::string_view text);

}  // namespace photonrail::cli
