// Glimmerglass TL1, server side: the verbs of tl1_glimmerglass.cc over a SwitchModel. Unconnected ports are listed with
// a partner of 0.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/dialect_text.h"
#include "device/tl1_front_end.h"

namespace photonrail::device {
namespace {

constexpr std::uint32_t kInputs = 10000, kOutputs = 20000;
constexpr std::size_t kListMax = 9999;

Tl1Response bad_access() { return tl1_denied("IIAC", "Input, Invalid ACcess identifier"); }

class GlimmerglassBox final : public Tl1Box {
 public:
  explicit GlimmerglassBox(SwitchModel& model) : Tl1Box(model) {}

  Dialect dialect() const override { return Dialect::glimmerglass_tl1; }
  std::string source() const override { return "GGN"; }
  std::string prompt() const override { return "\r\n<"; }
  std::optional<Tl1Response> answer(const Tl1Call& call) override;
  std::string access_of(Position output) const override { return std::to_string(kOutputs + 1 + output); }

 private:
  // Ports that a request names; all where `everything`.
  struct Ports {
    std::set<Position> inputs, outputs;
    bool everything = false;
    bool have(const CrossConnect& pair) const {
      return everything || inputs.contains(pair.in) || outputs.contains(pair.out);
    }
  };
  std::optional<Ports> ports(std::string_view text) const;
  std::optional<std::vector<CrossConnect>> pairs(std::string_view access) const;
  std::string row(std::string_view in, std::string_view out, const char* state, const OutputReading& reading) const;

  Tl1Response system_info() const;
  Tl1Response enter(const Tl1Call& call);
  Tl1Response remove(const Tl1Call& call);
  Tl1Response retrieve(const Tl1Call& call);
  Tl1Response configuration(const Tl1Call& call);
};

std::optional<Tl1Response> GlimmerglassBox::answer(const Tl1Call& call) {
  const std::string& verb = call.request.verb;
  if (verb == "RTRV-SYSTEM-INFO") return system_info();
  if (verb == "ENT-CRS-FIBER") return enter(call);
  if (verb == "DLT-CRS-FIBER") return remove(call);
  if (verb == "RTRV-CRS-FIBER") return retrieve(call);
  if (verb == "RTRV-CFG-FIBER") return configuration(call);
  return std::nullopt;
}

std::optional<GlimmerglassBox::Ports> GlimmerglassBox::ports(std::string_view text) const {
  Ports result;
  result.everything = equal_words(text, "ALL");
  if (result.everything) return result;
  const auto ids = tl1::parse_numbers(text, kOutputs + model_.spec().outputs, 2 * kListMax);
  if (!ids) return std::nullopt;
  for (const std::uint32_t id : *ids) {
    const bool output = id > kOutputs;
    if (!output && (id <= kInputs || id > kInputs + model_.spec().inputs)) return std::nullopt;
    (output ? result.outputs : result.inputs).insert(static_cast<Position>(id - (output ? kOutputs : kInputs) - 1));
  }
  return result;
}

// "10001&10002,20001&20002"
std::optional<std::vector<CrossConnect>> GlimmerglassBox::pairs(std::string_view access) const {
  constexpr std::size_t kSides = 2;
  const auto sides = split_outside(access, ',', kSides);
  if (!sides || sides->size() != kSides) return std::nullopt;
  const auto from = tl1::parse_numbers((*sides)[0], kInputs + model_.spec().inputs, kListMax);
  const auto to = tl1::parse_numbers((*sides)[1], kOutputs + model_.spec().outputs, kListMax);
  if (!from || !to || from->size() != to->size()) return std::nullopt;
  std::vector<CrossConnect> result;
  for (std::size_t i = 0; i < from->size(); ++i) {
    if ((*from)[i] <= kInputs || (*to)[i] <= kOutputs) return std::nullopt;
    result.push_back({static_cast<Position>((*from)[i] - kInputs - 1), static_cast<Position>((*to)[i] - kOutputs - 1)});
  }
  return result;
}

Tl1Response GlimmerglassBox::system_info() const {
  const SwitchModelSpec& spec = model_.spec();
  Tl1Response response;
  const auto say = [&](const char* key, const std::string& value) {
    response.lines.push_back(fmt::format("{}:{}={}", source(), key, value));
  };
  say("SerialNumber", spec.serial);
  say("SystemType", "IOS");
  say("ChassisType", spec.model);
  say("SoftwareActiveVersion", spec.firmware);
  say("LicensedPortMatrix", fmt::format("{}x{}", spec.inputs, spec.outputs));
  return response;
}

Tl1Response GlimmerglassBox::enter(const Tl1Call& call) {
  auto wanted = pairs(call.request.access);
  if (!wanted) return bad_access();
  WriteRequest request;
  request.add = std::move(*wanted);
  return write(call, std::move(request));
}

// Pairs, or whatever the named ports hold.
Tl1Response GlimmerglassBox::remove(const Tl1Call& call) {
  WriteRequest request;
  if (auto wanted = pairs(call.request.access)) {
    request.remove = std::move(*wanted);
    return write(call, std::move(request));
  }
  const auto named = ports(call.request.access);
  if (!named) return bad_access();
  for (const CrossConnect& pair : model_.connections(call.now)) {
    if (named->have(pair)) request.remove.push_back(pair);
  }
  return write(call, std::move(request));
}

std::string GlimmerglassBox::row(std::string_view in, std::string_view out, const char* state,
                                 const OutputReading& reading) const {
  std::string text = fmt::format("{}:IPORTID={},IPORTNAME=,OPORTID={},OPORTNAME=,CONNID=0,CONNSTATE={},CONNCAUSE=none",
                                 source(), in, out, state);
  if (!reading.power_dbm) return text;
  const double from = model_.spec().input_dbm, to = *reading.power_dbm;
  return text + fmt::format(",INPWR={:.3f},OUTPWR={:.3f},PWRLOSS={:.3f}", from, to, from - to);
}

Tl1Response GlimmerglassBox::retrieve(const Tl1Call& call) {
  const auto named = ports(call.request.access);
  if (!named) return bad_access();
  Tl1Response response;
  std::set<Position> busy;
  for (const CrossConnect& pair : model_.connections(call.now)) {
    busy.insert(pair.out);
    if (!named->have(pair)) continue;
    const OutputReading reading = model_.reading(pair.out, call.now);
    const bool fault = reading.status == PortStatus::failed || reading.status == PortStatus::disabled;
    const char* state = fault ? "fault" : reading.status == PortStatus::tuned ? "steady" : "attempting";
    response.lines.push_back(row(std::to_string(kInputs + 1 + pair.in), access_of(pair.out), state, reading));
  }
  for (Position out = 0; out < model_.spec().outputs; ++out) {
    if (busy.contains(out) || !(named->everything || named->outputs.contains(out))) continue;
    response.lines.push_back(row("0", access_of(out), "none", model_.reading(out, call.now)));
  }
  return response;
}

Tl1Response GlimmerglassBox::configuration(const Tl1Call& call) {
  const auto named = ports(call.request.access);
  if (!named) return bad_access();
  Tl1Response response;
  for (Position in = 0; in < model_.spec().inputs; ++in) {
    if (!named->everything && !named->inputs.contains(in)) continue;
    const std::string id = std::to_string(kInputs + 1 + in);
    response.lines.push_back(fmt::format("{}:PORTID={},PORTNAME=IN{},PORTHEALTH=good", source(), id, in + 1));
  }
  for (Position out = 0; out < model_.spec().outputs; ++out) {
    if (!named->everything && !named->outputs.contains(out)) continue;
    const bool bad = model_.reading(out, call.now).status == PortStatus::failed;
    response.lines.push_back(fmt::format("{}:PORTID={},PORTNAME=OUT{},PORTHEALTH={}", source(), access_of(out), out + 1,
                                         bad ? "bad" : "good"));
  }
  return response;
}

}  // namespace

std::unique_ptr<Tl1Box> make_glimmerglass_tl1_box(SwitchModel& model) {
  return std::make_unique<GlimmerglassBox>(model);
}

}  // namespace photonrail::device
