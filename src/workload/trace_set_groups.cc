#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "workload/trace_set.h"

namespace photonrail::workload {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxGroups = std::size_t{1} << 22;
constexpr std::size_t kMaxGroupFileBytes = std::size_t{1} << 28;

tl::unexpected<Error> refuse(std::string_view file, const std::string& what) {
  return fail(
      ErrorCode::invalid_input,
      fmt::format("{}: {}\n  hint: expected {{\"1\": [0, 1], \"2\": [2, 3]}}: group id > 0 as text, list of ranks",
                  file, what));
}

std::string position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return fmt::format("{}:{}", line, column);
}

Result<std::vector<std::uint32_t>> parse_members(const json::value& value, std::string_view key,
                                                 std::string_view file) {
  if (!value.is_array()) return refuse(file, fmt::format("group {} is not a list of ranks", key));
  std::vector<std::uint32_t> members;
  for (const json::value& item : value.get_array()) {
    if (!item.is_int64() || item.get_int64() < 0 || item.get_int64() > (1 << 20))
      return refuse(file, fmt::format("group {}: a member is not a rank (0 to 1048576)", key));
    members.push_back(static_cast<std::uint32_t>(item.get_int64()));
  }
  if (members.empty()) return refuse(file, fmt::format("group {} has no members", key));
  std::vector<std::uint32_t> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return refuse(file, fmt::format("group {} names rank {} twice", key, *twice));
  return members;
}

}  // namespace

Result<CommunicatorGroups> parse_groups(std::string_view text, std::string_view file) {
  if (text.size() > kMaxGroupFileBytes) return refuse(file, "the file is larger than 256 MiB");
  json::stream_parser parser;
  json::error_code error;
  const std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (!error && read == text.size()) parser.finish(error);
  if (error || read != text.size()) {
    const std::string why = error ? error.message() : "text after the end";
    return refuse(fmt::format("{}:{}", file, position(text, read)), "not JSON: " + why);
  }
  const json::value root = parser.release();
  if (!root.is_object()) return refuse(file, "not a JSON object");
  CommunicatorGroups groups;
  if (root.get_object().size() > kMaxGroups) return refuse(file, "more than 4194304 groups");
  for (const auto& [key, value] : root.get_object()) {
    const std::string_view name(key.data(), key.size());
    std::int32_t id = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (bad != std::errc() || end != name.data() + name.size() || id <= 0)
      return refuse(file, fmt::format("'{}' is not a group id", name.substr(0, 80)));
    PR_ASSIGN(std::vector<std::uint32_t> members, parse_members(value, name, file));
    if (!groups.members.emplace(id, std::move(members)).second)
      return refuse(file, fmt::format("group {} is given twice", id));
  }
  return groups;
}

}  // namespace photonrail::workload
