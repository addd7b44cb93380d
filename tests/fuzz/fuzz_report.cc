// Any text given to `photonrail explain`: a report is read and explained, or refused; never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "report/explain.h"
#include "report/render.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace photonrail::report;
  const auto report = read_report(std::string_view(reinterpret_cast<const char*>(data), size), "report.json");
  if (!report) return 0;
  for (const Metric& metric : report->metrics) (void)explain(*report, metric.id, "", {});
  (void)explain_list(*report, {});
  (void)render_csv(*report);
  (void)render_json(*report);
  return 0;
}
