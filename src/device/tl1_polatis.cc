// Polatis / HUBER+SUHNER TL1 (port 3082), client side. Ports are numbered as in SCPI; a patch names its lower port
// first.
//   RTRV-NETYPE:"sw"::1:;                       "Polatis,<model>,<type>,<firmware>"
//   RTRV-EQPT:"sw":SYSTEM:2:::PARAMETER=SIZE;   "SYSTEM:SIZE=24x24"
//   RTRV-INV:"sw":OCS:3:;                       "...SN=002414..."
//   ENT-PATCH:"sw":1,25:4:;   DLT-PATCH:"sw":1:5:;   RTRV-PATCH:"sw"::6:;   "1,25", a line for each patch
//   OPR-PORT-SHUTTER:"sw":25&26:7:;   RLS-PORT-SHUTTER ...   RTRV-PORT-SHUTTER ...   "25:OPEN"
//   RTRV-PORT-POWER:"sw":25&26:8:;              "25:-12.3"
// DLT-PATCH deletes whatever patch its port belongs to: the driver reads first, and deletes only patches that are
// there.
// Source: QualiSystems/cloudshell-L1-polatis, command_templates.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/dialect_text.h"
#include "device/scpi.h"
#include "device/tl1_driver.h"

namespace photonrail::device {
namespace {

constexpr std::size_t kPortsPerRequest = 64;
constexpr std::uint32_t kSideMax = 32767;

using scpi::Patch;
using scpi::Port;

class PolatisCodec final : public Tl1Codec {
 public:
  Dialect dialect() const override { return Dialect::polatis_tl1; }
  bool addressed() const override { return true; }

  Capabilities capabilities() const override {
    using std::chrono::milliseconds;
    Capabilities result;
    result.events = true;
    result.max_batch = 64;
    result.max_power_ports = kPortsPerRequest;
    result.min_gap = milliseconds(20);
    result.settle_typical = milliseconds(200);
    result.settle_max = milliseconds(1000);
    return result;
  }

  void identify(Tl1Context& context) override;
  void begin(Tl1Context& context) override;
  bool on_reply(const Tl1Step& step, const tl1::Message& message, Tl1Context& context) override;
  void on_denied(const Tl1Step& step, Tl1Context& context) override;
  void on_written(const Tl1Step&, Outcome, Tl1Context&) override {}
  std::optional<Position> output_in(std::string_view access) const override;

 private:
  enum Id { kType, kSize, kInventory, kProbePower, kProbeShutter, kRead, kReadForRemoval, kShutters, kPowers, kWrite };

  bool on_type(const tl1::Message& message, Identity& identity);
  bool on_size(const tl1::Message& message, Tl1Context& context);
  std::optional<std::vector<Patch>> patches(const tl1::Message& message) const;
  bool on_read(const tl1::Message& message, Answer& answer);
  bool on_read_for_removal(const tl1::Message& message, Tl1Context& context);
  bool on_port_lines(const Tl1Step& step, const tl1::Message& message, Answer& answer);
  std::string port_list(const std::vector<Position>& outputs) const;
  void add_writes(Tl1Context& context);

  scpi::Numbering numbering_;
};

Tl1Step step(Tl1Step::Kind kind, int id, std::string verb, std::string access = "", std::string tail = ":") {
  Tl1Step result;
  result.kind = kind;
  result.id = id;
  result.verb = std::move(verb);
  result.access = std::move(access);
  result.tail = std::move(tail);
  return result;
}

void PolatisCodec::identify(Tl1Context& context) {
  using Kind = Tl1Step::Kind;
  context.todo.push_back(step(Kind::query, kType, "RTRV-NETYPE"));
  context.todo.push_back(step(Kind::query, kInventory, "RTRV-INV", "OCS"));
  context.todo.push_back(step(Kind::query, kSize, "RTRV-EQPT", "SYSTEM", ":::PARAMETER=SIZE"));
}

std::string PolatisCodec::port_list(const std::vector<Position>& outputs) const {
  std::vector<Port> ports;
  for (const Position output : outputs) ports.push_back(numbering_.egress(output));
  return fmt::format("{}", fmt::join(ports, "&"));
}

void PolatisCodec::begin(Tl1Context& context) {
  using Kind = Tl1Step::Kind;
  const Command& command = context.command;
  switch (command.kind) {
    case Command::Kind::read: return context.todo.push_back(step(Kind::query, kRead, "RTRV-PATCH"));
    case Command::Kind::remove: return context.todo.push_back(step(Kind::query, kReadForRemoval, "RTRV-PATCH"));
    case Command::Kind::add: return add_writes(context);
    case Command::Kind::set_ports:
      for_each_chunk(command.outputs, kPortsPerRequest, [&](const std::vector<Position>& chunk) {
        const char* verb = command.enable ? "RLS-PORT-SHUTTER" : "OPR-PORT-SHUTTER";
        context.todo.push_back(step(Kind::write, kWrite, verb, port_list(chunk)));
      });
      return;
    case Command::Kind::readings: break;
  }
  std::vector<Position> outputs = command.outputs;
  for (Position o = 0; command.outputs.empty() && o < numbering_.outputs; ++o) outputs.push_back(o);
  for_each_chunk(outputs, kPortsPerRequest, [&](const std::vector<Position>& chunk) {
    const auto ask = [&](int id, const char* verb) {
      context.todo.push_back(step(Kind::query, id, verb, port_list(chunk)));
      context.todo.back().outputs = chunk;
    };
    if (context.capabilities.port_control) ask(kShutters, "RTRV-PORT-SHUTTER");
    if (context.capabilities.power) ask(kPowers, "RTRV-PORT-POWER");
  });
}

// On a symmetric box {a, b} and {b, a} are one patch.
void PolatisCodec::add_writes(Tl1Context& context) {
  std::vector<Patch> order;
  for (std::size_t i = 0; i < context.command.pairs.size(); ++i) {
    const CrossConnect& pair = context.command.pairs[i];
    const Patch patch = numbering_.patch(pair);
    const auto known = std::find(order.begin(), order.end(), patch);
    if (known != order.end()) {
      context.todo[static_cast<std::size_t>(known - order.begin())].pairs.push_back(i);
      continue;
    }
    order.push_back(patch);
    context.todo.push_back(
        step(Tl1Step::Kind::write, kWrite, "ENT-PATCH", fmt::format("{},{}", patch.first, patch.second)));
    context.todo.back().pairs = {i};
  }
}

bool PolatisCodec::on_reply(const Tl1Step& asked, const tl1::Message& message, Tl1Context& context) {
  switch (asked.id) {
    case kType: return on_type(message, context.identity);
    case kSize: return on_size(message, context);
    case kInventory:
      for (const std::string_view line : message.data()) {
        if (const auto serial = tl1::field(line, "SN")) context.identity.serial = *serial;
      }
      return !context.identity.serial.empty();
    case kProbePower: return context.capabilities.power = !message.data().empty(), true;
    case kProbeShutter: return context.capabilities.port_control = !message.data().empty(), true;
    case kRead: return on_read(message, context.answer);
    case kReadForRemoval: return on_read_for_removal(message, context);
    case kShutters:
    case kPowers: return on_port_lines(asked, message, context.answer);
    default: return false;
  }
}

void PolatisCodec::on_denied(const Tl1Step& asked, Tl1Context& context) {
  if (asked.id == kProbePower) context.capabilities.power = false;
  if (asked.id == kProbeShutter) context.capabilities.port_control = false;
}

bool PolatisCodec::on_type(const tl1::Message& message, Identity& identity) {
  constexpr std::size_t kFields = 4;
  for (const std::string_view line : message.data()) {
    const auto fields = split_outside(line, ',', kFields);
    if (!fields || fields->size() != kFields) continue;
    identity.maker = trimmed((*fields)[0]);
    identity.model = trimmed((*fields)[1]);
    identity.firmware = trimmed((*fields)[3]);
    return true;
  }
  return false;
}

bool PolatisCodec::on_size(const tl1::Message& message, Tl1Context& context) {
  std::optional<ModelSize> size;
  for (const std::string_view line : message.data()) {
    if (const auto value = tl1::field(line, "SIZE")) size = size_in_model(*value);
  }
  const auto by_name = size_in_model(context.identity.model);
  if (by_name && by_name->symmetric) size = by_name;
  if (!size) return false;
  numbering_ = {size->inputs, size->outputs, size->symmetric};
  context.identity.inputs = size->inputs;
  context.identity.outputs = size->outputs;
  const std::string first = std::to_string(numbering_.egress(0));
  context.todo.push_back(step(Tl1Step::Kind::probe, kProbePower, "RTRV-PORT-POWER", first));
  context.todo.push_back(step(Tl1Step::Kind::probe, kProbeShutter, "RTRV-PORT-SHUTTER", first));
  return true;
}

std::optional<std::vector<Patch>> PolatisCodec::patches(const tl1::Message& message) const {
  std::vector<Patch> result;
  for (const std::string_view line : message.data()) {
    const auto ports = split_outside(line, ',', 2);
    if (!ports || ports->size() != 2) return std::nullopt;
    const auto a = parse_natural(trimmed((*ports)[0]), 2 * kSideMax);
    const auto b = parse_natural(trimmed((*ports)[1]), 2 * kSideMax);
    if (!a || !b || !numbering_.pairs({*a, *b}) || result.size() >= numbering_.ports()) return std::nullopt;
    result.emplace_back(*a, *b);
  }
  return result;
}

bool PolatisCodec::on_read(const tl1::Message& message, Answer& answer) {
  const auto held = patches(message);
  if (!held) return false;
  for (const Patch& patch : *held) {
    const auto pairs = numbering_.pairs(patch);
    if (!pairs) return false;
    answer.snapshot.connections.insert(answer.snapshot.connections.end(), pairs->begin(), pairs->end());
  }
  std::sort(answer.snapshot.connections.begin(), answer.snapshot.connections.end());
  return true;
}

// What is not there is removed already.
bool PolatisCodec::on_read_for_removal(const tl1::Message& message, Tl1Context& context) {
  const auto held = patches(message);
  if (!held) return false;
  const std::set<Patch> there(held->begin(), held->end());
  std::set<Patch> asked;
  for (std::size_t i = 0; i < context.command.pairs.size(); ++i) {
    const Patch patch = numbering_.patch(context.command.pairs[i]);
    if (!there.contains(patch) || !asked.insert(patch).second) {
      context.answer.pairs[i] = Outcome::applied;
      continue;
    }
    context.todo.push_back(step(Tl1Step::Kind::write, kWrite, "DLT-PATCH", std::to_string(patch.first)));
    context.todo.back().pairs = {i};
  }
  return true;
}

// "25:-12.3" or "25:OPEN"
bool PolatisCodec::on_port_lines(const Tl1Step& asked, const tl1::Message& message, Answer& answer) {
  std::size_t found = 0;
  for (const std::string_view line : message.data()) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    const auto port = parse_natural(trimmed(line.substr(0, colon)), 2 * kSideMax);
    const auto output = port ? numbering_.output_of(*port) : std::nullopt;
    if (!output) return false;
    if (std::find(asked.outputs.begin(), asked.outputs.end(), *output) == asked.outputs.end()) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    OutputReading& reading = answer.snapshot.outputs[*output];
    ++found;
    if (asked.id == kPowers) {
      reading.power_dbm = parse_decimal(value);
      if (!reading.power_dbm) return false;
    } else if (equal_words(value, "CLOSED")) {
      reading.status = PortStatus::disabled;
    } else if (equal_words(value, "FAILED")) {
      reading.status = PortStatus::failed;
    }
  }
  return found == asked.outputs.size();
}

std::optional<Position> PolatisCodec::output_in(std::string_view access) const {
  const auto port = parse_natural(trimmed(access), 2 * kSideMax);
  return port ? numbering_.output_of(*port) : std::nullopt;
}

}  // namespace

std::unique_ptr<Tl1Codec> make_polatis_tl1_codec() { return std::make_unique<PolatisCodec>(); }

}  // namespace photonrail::device
