#include "device/scpi.h"

#include <fmt/format.h>

#include "device/dialect_text.h"

namespace photonrail::device::scpi {
namespace {

// One element of a list, "7" or "3:9", appended to `ports`. False when it is neither or breaks the limit.
bool append_element(std::string_view element, std::size_t limit, std::vector<Port>& ports) {
  const auto colon = element.find(':');
  const auto first = parse_natural(trimmed(element.substr(0, colon)), kPortsMax);
  const auto last =
      colon == std::string_view::npos ? first : parse_natural(trimmed(element.substr(colon + 1)), kPortsMax);
  if (!first || !last || *first == 0 || *last < *first || *last - *first >= limit) return false;
  if (ports.size() + (*last - *first) + 1 > limit) return false;
  for (Port port = *first; port <= *last; ++port) ports.push_back(port);
  return true;
}

bool append_pairs(std::string_view group, std::size_t limit, std::vector<Patch>& patches) {
  constexpr std::size_t kLists = 2;
  const auto lists = split_outside(group, ',', kLists, true);
  if (!lists || lists->size() != kLists) return false;
  const auto from = parse_list(trimmed((*lists)[0]), limit);
  const auto to = parse_list(trimmed((*lists)[1]), limit);
  if (!from || !to || from->size() != to->size() || patches.size() + from->size() > limit) return false;
  for (std::size_t i = 0; i < from->size(); ++i) patches.emplace_back((*from)[i], (*to)[i]);
  return true;
}

}  // namespace

std::optional<std::vector<Port>> parse_list(std::string_view text, std::size_t limit) {
  if (text.size() < 3 || text.substr(0, 2) != "(@" || text.back() != ')') return std::nullopt;
  text = trimmed(text.substr(2, text.size() - 3));
  std::vector<Port> ports;
  if (text.empty()) return ports;
  const auto elements = split_outside(text, ',', limit);
  if (!elements) return std::nullopt;
  for (const std::string_view element : *elements) {
    if (!append_element(trimmed(element), limit, ports)) return std::nullopt;
  }
  return ports;
}

std::string list_text(const std::vector<Port>& ports) { return fmt::format("(@{})", fmt::join(ports, ",")); }

std::optional<std::vector<Patch>> parse_patches(std::string_view text, std::size_t limit) {
  std::vector<Patch> patches;
  text = trimmed(text);
  if (equal_words(text, "<none>")) return patches;
  const auto groups = split_outside(text, ';', limit + 1, true);
  if (!groups) return std::nullopt;
  for (const std::string_view group : *groups) {
    if (!append_pairs(trimmed(group), limit, patches)) return std::nullopt;
  }
  return patches;
}

std::string patches_text(const std::vector<Patch>& patches) {
  std::vector<Port> from, to;
  for (const auto& [a, b] : patches) {
    from.push_back(a);
    to.push_back(b);
  }
  return list_text(from) + "," + list_text(to);
}

std::string patch_groups_text(const std::vector<Patch>& patches) {
  if (patches.empty()) return "<none>";
  std::string text;
  for (const auto& [a, b] : patches) text += fmt::format("{}(@{}),(@{})", text.empty() ? "" : ";", a, b);
  return text;
}

std::optional<Position> Numbering::input_of(Port port) const {
  if (port < 1 || port > inputs) return std::nullopt;
  return static_cast<Position>(port - 1);
}

std::optional<Position> Numbering::output_of(Port port) const {
  const Port first = egress(0);
  if (port < first || port - first >= outputs) return std::nullopt;
  return static_cast<Position>(port - first);
}

Patch Numbering::patch(const CrossConnect& pair) const {
  const Port a = ingress(pair.in), b = egress(pair.out);
  return symmetric && b < a ? Patch{b, a} : Patch{a, b};
}

std::optional<std::vector<CrossConnect>> Numbering::pairs(const Patch& patch) const {
  const auto in = input_of(patch.first);
  const auto out = output_of(patch.second);
  if (!in || !out || (symmetric && patch.first == patch.second)) return std::nullopt;
  std::vector<CrossConnect> result{{*in, *out}};
  if (symmetric) result.push_back({*out, *in});
  return result;
}

std::optional<ErrorEntry> parse_error(std::string_view text) {
  constexpr std::uint32_t kCodeMax = 32768;
  text = trimmed(text);
  const auto comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  std::string_view code = text.substr(0, comma);
  const std::string_view quoted = trimmed(text.substr(comma + 1));
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return std::nullopt;
  const bool negative = !code.empty() && code.front() == '-';
  if (!code.empty() && (code.front() == '-' || code.front() == '+')) code.remove_prefix(1);
  const auto value = parse_natural(code, kCodeMax);
  if (!value) return std::nullopt;
  return ErrorEntry{negative ? -static_cast<int>(*value) : static_cast<int>(*value), std::string(unquoted(quoted))};
}

}  // namespace photonrail::device::scpi
