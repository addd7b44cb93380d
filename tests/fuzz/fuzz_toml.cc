// Any text as a scenario file. Lines that begin with "#set " are taken as --set options too. What is accepted must be
// shown as text that is accepted again and means the same.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/read.h"
#include "model/scenario_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace photonrail;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> sets;
  for (std::size_t start = 0; start < text.size() && sets.size() < 8;) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    if (line.substr(0, 5) == "#set ") sets.emplace_back(line.substr(5));
    start = end + 1;
  }
  const Result<model::LoadedScenario> loaded = model::parse_scenario(text, "fuzz.toml", sets);
  if (!loaded) {
    if (loaded.error().message.empty()) std::abort();
    return 0;
  }
  const Result<model::LoadedScenario> again = model::parse_scenario(model::show_scenario(*loaded), "shown.toml");
  if (!again || model::canonical_text(again->scenario) != model::canonical_text(loaded->scenario)) std::abort();
  return 0;
}
