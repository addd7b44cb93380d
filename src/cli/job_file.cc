#include "cli/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "config/document.h"

namespace photonrail::cli {
namespace {

constexpr std::size_t kPortsMost = 1 << 18;

std::optional<device::Position> number(std::string_view text) {
  device::Position value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

daemon::SwitchId number_of(const std::string& name, wire::SwitchNames& names) {
  const auto number = static_cast<daemon::SwitchId>(std::find(names.begin(), names.end(), name) - names.begin());
  if (number == names.size()) names.push_back(name);
  return number;
}

// "switch:position" or "switch:first..last", added to `out`. What is wrong, or nothing.
std::string add_ports(const std::string& text, wire::SwitchNames& names, std::vector<daemon::Attachment>& out) {
  const std::size_t colon = text.rfind(':');
  const std::string hint = "write switch:position, or switch:first..last";
  if (colon == text.npos || colon == 0) return hint;
  const std::string_view range = std::string_view(text).substr(colon + 1);
  const std::size_t dots = range.find("..");
  const auto first = number(range.substr(0, dots));
  const auto last = dots == range.npos ? first : number(range.substr(dots + 2));
  if (!first || !last || *last < *first) return hint;
  const daemon::SwitchId ocs = number_of(text.substr(0, colon), names);
  for (unsigned position = *first; position <= *last; ++position) {
    out.push_back({ocs, static_cast<device::Position>(position)});
  }
  return out.size() > kPortsMost ? "too many ports" : "";
}

}  // namespace

void describe(config::Fields& fields, JobText& j) {
  fields("job", j.job, {.doc = "Name: letters, digits, '.', '_' and '-'.", .required = true});
  fields("epoch", j.epoch,
         {.doc = "Which life of the job. Grows whenever it is started again; an older one is refused.", .min = 1});
  fields("ports_per_rank", j.ports_per_rank, {.doc = "Optical ports of each rank.", .min = 1, .max = 64});
  fields("ports", j.ports,
         {.doc = "Where they end: \"switch:position\", or \"switch:first..last\". Rank by rank.",
          .required = true,
          .items_max = 65536});
  fields("domains", j.domains,
         {.doc = "Scale-up domain of each rank: groups inside of one need no circuits. Empty: each rank is its own.",
          .items_max = 65536});
}

Result<daemon::Attachment> parse_port(const std::string& text, wire::SwitchNames& names) {
  std::vector<daemon::Attachment> ports;
  const std::string problem = add_ports(text, names, ports);
  if (problem.empty() && ports.size() == 1) return ports.front();
  return fail(ErrorCode::usage, fmt::format("\"{}\" is no port; write switch:position, such as rail0:5", text));
}

Result<JobFile> read_job_file(const std::string& path) {
  JobFile out;
  const config::Check<JobText> check = [&](config::Document<JobText>& doc) {
    const JobText& j = doc.value;
    for (std::size_t i = 0; i < j.ports.size(); ++i) {
      const std::string problem = add_ports(j.ports[i], out.names, out.job.ports);
      if (!problem.empty())
        doc.diagnostics.error(doc.span(fmt::format("ports[{}]", i)), "no port of a switch", problem);
    }
    if (doc.diagnostics.has_errors()) return;
    const std::size_t ranks = out.job.ports.size() / j.ports_per_rank;
    if (out.job.ports.empty() || out.job.ports.size() % j.ports_per_rank != 0) {
      doc.diagnostics.error(doc.span("ports"),
                            fmt::format("{} ports are not {} for each rank", out.job.ports.size(), j.ports_per_rank));
    } else if (!j.domains.empty() && j.domains.size() != ranks) {
      doc.diagnostics.error(doc.span("domains"), fmt::format("{} domains for {} ranks", j.domains.size(), ranks));
    }
  };
  PR_ASSIGN(const auto doc, config::load_document<JobText>(path, {}, {}, check));
  out.job.job = doc.value.job;
  out.job.job_epoch = doc.value.epoch;
  out.job.ports_per_rank = doc.value.ports_per_rank;
  out.job.domain = doc.value.domains;
  const auto ranks = static_cast<std::uint32_t>(out.job.ports.size() / out.job.ports_per_rank);
  for (std::uint32_t rank = 0; doc.value.domains.empty() && rank < ranks; ++rank) out.job.domain.push_back(rank);
  return out;
}

}  // namespace photonrail::cli
