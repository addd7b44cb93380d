// Polatis / HUBER+SUHNER TL1, server side: the verbs of tl1_polatis.cc over a SwitchModel. Input ports have no shutter.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/dialect_text.h"
#include "device/scpi.h"
#include "device/tl1_front_end.h"

namespace photonrail::device {
namespace {

using scpi::Patch;
using scpi::Port;

class PolatisBox final : public Tl1Box {
 public:
  explicit PolatisBox(SwitchModel& model) : Tl1Box(model) {
    const auto by_name = size_in_model(model.spec().model);
    numbering_ = {model.spec().inputs, model.spec().outputs, by_name && by_name->symmetric};
  }

  Dialect dialect() const override { return Dialect::polatis_tl1; }
  std::string source() const override { return "polatis-" + model_.spec().serial; }
  std::string prompt() const override { return "\r\n"; }
  std::optional<Tl1Response> answer(const Tl1Call& call) override;
  std::string access_of(Position output) const override { return std::to_string(numbering_.egress(output)); }
  Duration idle_max() const override { return idle_max_; }

 private:
  using Handler = Tl1Response (PolatisBox::*)(const Tl1Call&);
  std::optional<std::vector<Port>> ports(const Tl1Call& call) const;
  std::vector<Patch> held(Instant now);
  Tl1Response type(const Tl1Call& call);
  Tl1Response equipment(const Tl1Call& call);
  Tl1Response inventory(const Tl1Call& call);
  Tl1Response enter_patch(const Tl1Call& call);
  Tl1Response delete_patch(const Tl1Call& call);
  Tl1Response retrieve_patches(const Tl1Call& call);
  Tl1Response close_shutters(const Tl1Call& call) { return set_shutters(call, false); }
  Tl1Response open_shutters(const Tl1Call& call) { return set_shutters(call, true); }
  Tl1Response set_shutters(const Tl1Call& call, bool open);
  Tl1Response retrieve_shutters(const Tl1Call& call);
  Tl1Response retrieve_power(const Tl1Call& call);
  Tl1Response retrieve_monitors(const Tl1Call& call);
  Tl1Response edit_equipment(const Tl1Call& call);

  scpi::Numbering numbering_;
  Duration idle_max_ = Duration::max();
};

Tl1Response of_lines(std::vector<std::string> lines) {
  Tl1Response response;
  response.lines = std::move(lines);
  return response;
}

Tl1Response no_such_port() { return tl1_denied("IDNV", "Input, Data Not Valid"); }

std::optional<Tl1Response> PolatisBox::answer(const Tl1Call& call) {
  static const std::vector<std::pair<const char*, Handler>> verbs{
      {"RTRV-NETYPE", &PolatisBox::type},
      {"RTRV-EQPT", &PolatisBox::equipment},
      {"RTRV-INV", &PolatisBox::inventory},
      {"ENT-PATCH", &PolatisBox::enter_patch},
      {"DLT-PATCH", &PolatisBox::delete_patch},
      {"RTRV-PATCH", &PolatisBox::retrieve_patches},
      {"OPR-PORT-SHUTTER", &PolatisBox::close_shutters},
      {"RLS-PORT-SHUTTER", &PolatisBox::open_shutters},
      {"RTRV-PORT-SHUTTER", &PolatisBox::retrieve_shutters},
      {"RTRV-PORT-POWER", &PolatisBox::retrieve_power},
      {"RTRV-PORT-PMON", &PolatisBox::retrieve_monitors},
      {"ED-EQPT", &PolatisBox::edit_equipment},
  };
  for (const auto& [verb, handler] : verbs) {
    if (call.request.verb == verb) return (this->*handler)(call);
  }
  return std::nullopt;
}

// The ports of the access identifier; all of them where it is empty or ALL.
std::optional<std::vector<Port>> PolatisBox::ports(const Tl1Call& call) const {
  const std::string& text = call.request.access;
  if (!text.empty() && !equal_words(text, "ALL")) return tl1::parse_numbers(text, numbering_.ports(), scpi::kPortsMax);
  std::vector<Port> all;
  for (Port port = 1; port <= numbering_.ports(); ++port) all.push_back(port);
  return all;
}

std::vector<Patch> PolatisBox::held(Instant now) {
  std::set<Patch> patches;
  for (const CrossConnect& pair : model_.connections(now)) patches.insert(numbering_.patch(pair));
  return {patches.begin(), patches.end()};
}

Tl1Response PolatisBox::type(const Tl1Call&) {
  const SwitchModelSpec& spec = model_.spec();
  return of_lines({fmt::format("{},{},OCS,{}", spec.maker, spec.model, spec.firmware)});
}

Tl1Response PolatisBox::equipment(const Tl1Call& call) {
  if (!equal_words(call.request.access, "SYSTEM")) return tl1_denied("IIAC", "Input, Invalid ACcess identifier");
  return of_lines({fmt::format("SYSTEM:SIZE={}x{}", numbering_.inputs, numbering_.symmetric ? 0 : numbering_.outputs)});
}

Tl1Response PolatisBox::inventory(const Tl1Call& call) {
  if (!equal_words(call.request.access, "OCS")) return tl1_denied("IIAC", "Input, Invalid ACcess identifier");
  return of_lines({fmt::format("OCS:PN={},SN={}", model_.spec().model, model_.spec().serial)});
}

Tl1Response PolatisBox::enter_patch(const Tl1Call& call) {
  constexpr std::size_t kSides = 2;
  const auto sides = split_outside(call.request.access, ',', kSides);
  if (!sides || sides->size() != kSides) return tl1_denied("IIAC", "Input, Invalid ACcess identifier");
  const auto from = tl1::parse_numbers((*sides)[0], numbering_.ports(), numbering_.ports());
  const auto to = tl1::parse_numbers((*sides)[1], numbering_.ports(), numbering_.ports());
  if (!from || !to || from->size() != to->size()) return no_such_port();
  WriteRequest request;
  for (std::size_t i = 0; i < from->size(); ++i) {
    const auto pairs = numbering_.pairs({(*from)[i], (*to)[i]});
    if (!pairs) return no_such_port();
    request.add.insert(request.add.end(), pairs->begin(), pairs->end());
  }
  return write(call, std::move(request));
}

Tl1Response PolatisBox::delete_patch(const Tl1Call& call) {
  WriteRequest request;
  request.replace_all = equal_words(call.request.access, "ALL");
  if (request.replace_all) return write(call, std::move(request));
  const auto named = ports(call);
  if (!named || call.request.access.empty()) return no_such_port();
  for (const Patch& patch : held(call.now)) {
    const bool meant = std::any_of(named->begin(), named->end(),
                                   [&](Port port) { return port == patch.first || port == patch.second; });
    if (!meant) continue;
    if (const auto pairs = numbering_.pairs(patch)) {
      request.remove.insert(request.remove.end(), pairs->begin(), pairs->end());
    }
  }
  if (request.remove.empty()) return tl1_denied("SNVS", "Status, Not in Valid State; no patch");
  return write(call, std::move(request));
}

Tl1Response PolatisBox::retrieve_patches(const Tl1Call& call) {
  const auto named = ports(call);
  if (!named) return no_such_port();
  const std::set<Port> wanted(named->begin(), named->end());
  std::vector<std::string> lines;
  for (const auto& [a, b] : held(call.now)) {
    if (wanted.contains(a) || wanted.contains(b)) lines.push_back(fmt::format("{},{}", a, b));
  }
  return of_lines(std::move(lines));
}

Tl1Response PolatisBox::set_shutters(const Tl1Call& call, bool open) {
  const auto named = ports(call);
  if (!named) return no_such_port();
  for (const Port port : *named) {
    if (!numbering_.output_of(port)) return tl1_denied("ENEQ", "Equipage, Not EQuipped");
  }
  for (const Port port : *named) model_.set_port(*numbering_.output_of(port), open, call.now);
  return {};
}

Tl1Response PolatisBox::retrieve_shutters(const Tl1Call& call) {
  const auto named = ports(call);
  if (!named) return no_such_port();
  std::vector<std::string> lines;
  for (const Port port : *named) {
    const auto output = numbering_.output_of(port);
    const PortStatus status = output ? model_.reading(*output, call.now).status : PortStatus::unknown;
    const char* word = status == PortStatus::disabled ? "CLOSED" : status == PortStatus::failed ? "FAILED" : "OPEN";
    lines.push_back(fmt::format("{}:{}", port, word));
  }
  return of_lines(std::move(lines));
}

// Detectors are at the outputs; a request for others as well is answered for those.
Tl1Response PolatisBox::retrieve_power(const Tl1Call& call) {
  const auto named = ports(call);
  if (!named) return no_such_port();
  std::vector<std::string> lines;
  for (const Port port : *named) {
    const auto output = numbering_.output_of(port);
    if (!output || !model_.spec().has_power) continue;
    constexpr double kDark = -60;
    const double power = model_.reading(*output, call.now).power_dbm.value_or(kDark);
    lines.push_back(fmt::format("{}:{}", port, two_decimals(power)));
  }
  if (lines.empty()) return tl1_denied("ENEQ", "Equipage, Not EQuipped");
  return of_lines(std::move(lines));
}

// "p:wavelength,offset,atime": this box measures at 1550 nm, without offset, over 10 ms * 2^4.
Tl1Response PolatisBox::retrieve_monitors(const Tl1Call& call) {
  const auto named = ports(call);
  if (!named) return no_such_port();
  std::vector<std::string> lines;
  for (const Port port : *named) {
    if (numbering_.output_of(port) && model_.spec().has_power) lines.push_back(fmt::format("{}:1550.0,0.0,4", port));
  }
  if (lines.empty()) return tl1_denied("ENEQ", "Equipage, Not EQuipped");
  return of_lines(std::move(lines));
}

// ED-EQPT::TIMEOUT:8:::ADMIN=60; idle sessions are logged out after so many seconds (the unit is an assumption).
Tl1Response PolatisBox::edit_equipment(const Tl1Call& call) {
  constexpr std::size_t kPayload = 2;
  constexpr std::uint32_t kSecondsMax = 86400;
  if (!equal_words(call.request.access, "TIMEOUT")) return tl1_denied("IIAC", "Input, Invalid ACcess identifier");
  const auto value = tl1::field(call.request.block(kPayload), "ADMIN");
  const auto seconds = value ? parse_natural(*value, kSecondsMax) : std::nullopt;
  if (!seconds) return no_such_port();
  idle_max_ = *seconds == 0 ? Duration::max() : std::chrono::seconds(*seconds);
  return {};
}

}  // namespace

std::unique_ptr<Tl1Box> make_polatis_tl1_box(SwitchModel& model) { return std::make_unique<PolatisBox>(model); }

}  // namespace photonrail::device
