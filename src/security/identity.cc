#include "security/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace photonrail::security {
namespace {

using Role = daemon::Identity::Role;

constexpr std::string_view kScheme = "spiffe://";
constexpr std::size_t kLongest = 2048;  // of a SPIFFE ID, by its standard
constexpr std::size_t kNameMost = 128;

constexpr struct {
  std::string_view name;
  Role role;
} kRoles[] = {{"viewer", Role::viewer}, {"scheduler", Role::scheduler}, {"operator", Role::operator_}};

tl::unexpected<Error> refused(std::string_view id, std::string_view why) {
  return fail(ErrorCode::invalid_input, fmt::format("identity \"{}\": {}", id.substr(0, 256), why));
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (true) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == path.npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

std::optional<control::Rank> parse_rank(std::string_view text) {
  if (text.empty() || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  control::Rank rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return rank;
}

}  // namespace

bool valid_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kNameMost && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), plain);
}

Result<daemon::Identity> parse_identity(std::string_view id, std::string_view site) {
  if (id.size() > kLongest) return refused(id, "too long");
  if (!id.starts_with(kScheme)) return refused(id, "no SPIFFE ID (spiffe://SITE/...)");
  const std::vector<std::string_view> parts = split(id.substr(kScheme.size()));
  if (parts.front() != site) return refused(id, fmt::format("is not of this site, {}", site));

  daemon::Identity out;
  out.name = std::string(id);
  if (parts.size() == 3 && parts[1] == "role") {
    for (const auto& [name, role] : kRoles) {
      if (parts[2] != name) continue;
      out.role = role;
      return out;
    }
    return refused(id, "unknown role; there are viewer, scheduler and operator");
  }
  if (parts.size() < 3 || parts[1] != "job" || !valid_name(parts[2])) {
    return refused(id, "is neither /job/ID, /job/ID/rank/N nor /role/ROLE");
  }
  out.role = Role::rank;
  out.job = std::string(parts[2]);
  if (parts.size() == 3) return out;
  if (parts.size() == 5 && parts[3] == "rank") out.rank = parse_rank(parts[4]);
  if (!out.rank) return refused(id, "is neither /job/ID nor /job/ID/rank/N");
  return out;
}

Result<daemon::Identity> identity_of(std::span<const std::string> uris, std::string_view site) {
  const auto is_spiffe = [](const std::string& uri) { return uri.starts_with(kScheme); };
  const auto found = std::find_if(uris.begin(), uris.end(), is_spiffe);
  if (found == uris.end()) return fail(ErrorCode::invalid_input, "the certificate names no SPIFFE ID");
  // The standard: exactly one URI name. With two it is not clear who speaks.
  if (uris.size() != 1) return fail(ErrorCode::invalid_input, "the certificate names more than one URI");
  return parse_identity(*found, site);
}

std::string spiffe_id(const daemon::Identity& identity, std::string_view site) {
  if (identity.role != Role::rank) return fmt::format("{}{}/role/{}", kScheme, site, name(identity.role));
  std::string id = fmt::format("{}{}/job/{}", kScheme, site, identity.job);
  if (identity.rank) id += fmt::format("/rank/{}", *identity.rank);
  return id;
}

const char* name(Role role) {
  switch (role) {
    case Role::rank: return "rank";
    case Role::viewer: return "viewer";
    case Role::operator_: return "operator";
    case Role::scheduler: return "scheduler";
  }
  return "?";
}

}  // namespace photonrail::security
