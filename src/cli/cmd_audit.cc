// photonrail audit: the daemon's audit log, verified and shown.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <deque>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/record_options.h"
#include "cli/record_text.h"
#include "journal/audit.h"
#include "report/files.h"

namespace photonrail::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kLogMost = std::size_t{4} << 30;

Result<journal::VerifiedAudit> verify(const AuditOptions& options, std::string_view log) {
  auto verified = journal::verify_audit(log, options.head);
  if (!verified) {
    return fail(verified.error().code, fmt::format("{}: {}\n  hint: compare with the copy that is kept elsewhere",
                                                   options.file, verified.error().message));
  }
  return verified;
}

Status print_verdict(const AuditOptions& options, const journal::VerifiedAudit& v) {
  if (options.json) {
    return print(json::serialize(json::object{{"lines", v.lines}, {"head", v.head}, {"torn_bytes", v.torn_bytes}}) +
                 "\n");
  }
  std::string out =
      fmt::format("{}: {} lines, each follows from the one before\nhead {}\n", options.file, v.lines, v.head);
  if (v.torn_bytes > 0)
    out += fmt::format("{} bytes after the last line: a write that a crash cut short\n", v.torn_bytes);
  out += "Keep the head elsewhere: --head then shows whether lines were cut from the end.\n";
  return print(out);
}

std::string field(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return {};
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::string for_people(std::string_view payload) {
  json::error_code problem;
  const json::value parsed = json::parse(payload, problem);
  if (problem || !parsed.is_object()) return printable(std::string(payload)) + "\n";
  const json::object& o = parsed.get_object();
  std::string out =
      fmt::format("{}  epoch {}  {}  {}", field(o, "time"), field(o, "epoch"), field(o, "who"), field(o, "action"));
  for (const char* key : {"job", "request", "before", "after", "detail"}) {
    const std::string value = field(o, key);
    if (!value.empty() && value != "0") out += fmt::format("  {} {}", key, value);
  }
  return printable(std::move(out)) + "\n";
}

Status show(const AuditOptions& options, std::string_view log) {
  std::deque<std::string_view> lines;
  for (std::size_t end = log.find('\n'); end != log.npos; end = log.find('\n')) {
    const std::string_view payload = log.substr(0, end).substr(kHashDigits + 1);
    log.remove_prefix(end + 1);
    if (payload.find(options.text) == payload.npos) continue;
    lines.push_back(payload);
    if (options.limit > 0 && lines.size() > options.limit) lines.pop_front();
  }
  std::string out;
  for (const std::string_view payload : lines) out += options.json ? std::string(payload) + "\n" : for_people(payload);
  return print(out);
}

}  // namespace

Status run(const AuditOptions& options) {
  PR_ASSIGN(const std::string log, report::read_file(options.file, kLogMost));
  PR_ASSIGN(const journal::VerifiedAudit verified, verify(options, log));  // what does not follow is not shown
  if (options.action == AuditOptions::Action::show) return show(options, log);
  return print_verdict(options, verified);
}

}  // namespace photonrail::cli
