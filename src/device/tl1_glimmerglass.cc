// Glimmerglass System 300/500 TL1 (port 10034), client side. Input n is 10000+n, output n is 20000+n.
//   RTRV-SYSTEM-INFO:::1:;      "GGN:SerialNumber=...", "GGN:SystemType=...", "GGN:ChassisType=...",
//                               "GGN:SoftwareActiveVersion=...", "GGN:LicensedPortMatrix=16x16"
//   RTRV-CRS-FIBER::ALL:2:;     "GGN:IPORTID=10046,IPORTNAME=,OPORTID=20047,OPORTNAME=,CONNID=0,CONNSTATE=steady,
//                                CONNCAUSE=none,INPWR=-5.873,OUTPWR=-6.762,PWRLOSS=0.889"   a port id of 0: none
//   ENT-CRS-FIBER::10001&10002,20001&20002:3:::OPMODE=Async;      DLT-CRS-FIBER the same way
//   RTRV-CFG-FIBER::ALL:4:;     "GGN:PORTID=20001,PORTNAME=OUT1,PORTHEALTH=good"
// Async answers before light is there. What DLT-CRS-FIBER does to a pair that is not there is not published: the driver
// reads first and names only pairs that are. CONNSTATE steady is up, fault has failed; other words mean that it tunes.
// Sources: drivers of cloudshell for Glimmerglass; MonALISA (Sys300Telnet); scripts of users.
#include <fmt/format.h>

#include <algorithm>

#include "device/dialect_text.h"
#include "device/tl1_driver.h"

namespace photonrail::device {
namespace {

constexpr std::uint32_t kInputs = 10000, kOutputs = 20000;
constexpr std::size_t kPairsPerRequest = 32;
constexpr Position kSideMax = 9999;

using Kind = Tl1Step::Kind;

struct Row {
  CrossConnect pair;
  PortStatus status = PortStatus::tuning;
};

class GlimmerglassCodec final : public Tl1Codec {
 public:
  Dialect dialect() const override { return Dialect::glimmerglass_tl1; }
  bool addressed() const override { return false; }

  Capabilities capabilities() const override {
    using std::chrono::milliseconds;
    Capabilities result;
    result.power = result.status = true;
    result.events = true;
    result.max_batch = kPairsPerRequest;
    result.max_power_ports = kSideMax;
    result.min_gap = milliseconds(20);
    result.settle_typical = milliseconds(50);
    result.settle_max = milliseconds(1000);  // assumption
    return result;
  }

  void identify(Tl1Context& context) override { ask(context, kIdentity, "RTRV-SYSTEM-INFO", ""); }
  void begin(Tl1Context& context) override;
  bool on_reply(const Tl1Step& asked, const tl1::Message& message, Tl1Context& context) override;
  void on_denied(const Tl1Step&, Tl1Context&) override {}
  void on_written(const Tl1Step&, Outcome, Tl1Context&) override {}
  std::optional<Position> output_in(std::string_view access) const override {
    return position(access, kOutputs, outputs_);
  }

 private:
  enum Id { kIdentity, kRead, kReadForRemove, kStates, kHealth, kWrite };

  static void ask(Tl1Context& context, int id, const char* verb, const char* access);
  static std::optional<Position> position(std::string_view text, std::uint32_t base, Position count);
  static void write(Tl1Context& context, const char* verb, const std::vector<std::size_t>& pairs);
  bool on_identity(const tl1::Message& message, Identity& identity);
  std::optional<std::vector<Row>> rows(const tl1::Message& message) const;
  bool on_read(const tl1::Message& message, Answer& answer) const;
  bool on_read_for_remove(const tl1::Message& message, Tl1Context& context) const;
  bool on_states(const tl1::Message& message, Answer& answer) const;
  bool on_health(const tl1::Message& message, Answer& answer) const;

  Position inputs_ = 0, outputs_ = 0;
};

void GlimmerglassCodec::ask(Tl1Context& context, int id, const char* verb, const char* access) {
  Tl1Step step;
  step.id = id;
  step.verb = verb;
  step.access = access;
  context.todo.push_back(std::move(step));
}

void GlimmerglassCodec::write(Tl1Context& context, const char* verb, const std::vector<std::size_t>& pairs) {
  for_each_chunk(pairs, kPairsPerRequest, [&](const std::vector<std::size_t>& chunk) {
    std::vector<std::uint32_t> in, out;
    for (const std::size_t i : chunk) {
      in.push_back(kInputs + 1 + context.command.pairs[i].in);
      out.push_back(kOutputs + 1 + context.command.pairs[i].out);
    }
    Tl1Step step;
    step.kind = Kind::write;
    step.id = kWrite;
    step.verb = verb;
    step.access = fmt::format("{},{}", fmt::join(in, "&"), fmt::join(out, "&"));
    step.tail = ":::OPMODE=Async";
    step.pairs = chunk;
    context.todo.push_back(std::move(step));
  });
}

void GlimmerglassCodec::begin(Tl1Context& context) {
  switch (context.command.kind) {
    case Command::Kind::read: return ask(context, kRead, "RTRV-CRS-FIBER", "ALL");
    case Command::Kind::remove: return ask(context, kReadForRemove, "RTRV-CRS-FIBER", "ALL");
    case Command::Kind::add: {
      std::vector<std::size_t> all(context.command.pairs.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      return write(context, "ENT-CRS-FIBER", all);
    }
    case Command::Kind::set_ports: return;  // refused by the engine: no port control
    case Command::Kind::readings: break;
  }
  ask(context, kStates, "RTRV-CRS-FIBER", "ALL");
  ask(context, kHealth, "RTRV-CFG-FIBER", "ALL");
}

bool GlimmerglassCodec::on_reply(const Tl1Step& asked, const tl1::Message& message, Tl1Context& context) {
  switch (asked.id) {
    case kIdentity: return on_identity(message, context.identity);
    case kRead: return on_read(message, context.answer);
    case kReadForRemove: return on_read_for_remove(message, context);
    case kStates: return on_states(message, context.answer);
    case kHealth: return on_health(message, context.answer);
    default: return false;
  }
}

bool GlimmerglassCodec::on_identity(const tl1::Message& message, Identity& identity) {
  identity.maker = "Glimmerglass";
  for (const std::string_view line : message.data()) {
    if (const auto value = tl1::field(line, "SerialNumber")) identity.serial = *value;
    if (const auto value = tl1::field(line, "ChassisType")) identity.model = *value;
    if (const auto value = tl1::field(line, "SoftwareActiveVersion")) identity.firmware = *value;
    const auto matrix = tl1::field(line, "LicensedPortMatrix");
    const auto size = matrix ? size_in_model(*matrix) : std::nullopt;
    if (!size || size->symmetric || size->inputs > kSideMax || size->outputs > kSideMax) continue;
    identity.inputs = inputs_ = size->inputs;
    identity.outputs = outputs_ = size->outputs;
  }
  return !identity.serial.empty() && identity.inputs > 0;
}

std::optional<Position> GlimmerglassCodec::position(std::string_view text, std::uint32_t base, Position count) {
  const auto id = parse_natural(trimmed(text), base + count);
  if (!id || *id <= base) return std::nullopt;
  return static_cast<Position>(*id - base - 1);
}

// Rows of ports without a connection have a port id of 0 and are passed over.
std::optional<std::vector<Row>> GlimmerglassCodec::rows(const tl1::Message& message) const {
  std::vector<Row> result;
  for (const std::string_view line : message.data()) {
    const auto from = tl1::field(line, "IPORTID");
    const auto to = tl1::field(line, "OPORTID");
    if (!from || !to) return std::nullopt;
    if (*from == "0" || *to == "0") continue;
    const auto in = position(*from, kInputs, inputs_);
    const auto out = position(*to, kOutputs, outputs_);
    if (!in || !out) return std::nullopt;
    Row row{{*in, *out}, PortStatus::tuning};
    const std::string_view state = tl1::field(line, "CONNSTATE").value_or("");
    if (equal_words(state, "steady")) row.status = PortStatus::tuned;
    if (equal_words(state, "fault")) row.status = PortStatus::failed;
    result.push_back(row);
  }
  return result;
}

bool GlimmerglassCodec::on_read(const tl1::Message& message, Answer& answer) const {
  const auto held = rows(message);
  if (!held) return false;
  for (const Row& row : *held) answer.snapshot.connections.push_back(row.pair);
  std::sort(answer.snapshot.connections.begin(), answer.snapshot.connections.end());
  return true;
}

// What is not there is removed already.
bool GlimmerglassCodec::on_read_for_remove(const tl1::Message& message, Tl1Context& context) const {
  const auto held = rows(message);
  if (!held) return false;
  std::vector<std::size_t> there;
  for (std::size_t i = 0; i < context.command.pairs.size(); ++i) {
    const CrossConnect& pair = context.command.pairs[i];
    const bool found = std::any_of(held->begin(), held->end(), [&](const Row& row) { return row.pair == pair; });
    if (found) there.push_back(i);
    else context.answer.pairs[i] = Outcome::applied;
  }
  write(context, "DLT-CRS-FIBER", there);
  return true;
}

bool GlimmerglassCodec::on_states(const tl1::Message& message, Answer& answer) const {
  const auto held = rows(message);
  if (!held) return false;
  for (OutputReading& reading : answer.snapshot.outputs) reading.status = PortStatus::blocked;
  for (const Row& row : *held) answer.snapshot.outputs[row.pair.out].status = row.status;
  for (const std::string_view line : message.data()) {
    const auto output = position(tl1::field(line, "OPORTID").value_or(""), kOutputs, outputs_);
    const auto power = tl1::field(line, "OUTPWR");
    if (output && power) answer.snapshot.outputs[*output].power_dbm = parse_decimal(*power);
  }
  return true;
}

bool GlimmerglassCodec::on_health(const tl1::Message& message, Answer& answer) const {
  for (const std::string_view line : message.data()) {
    const auto output = position(tl1::field(line, "PORTID").value_or(""), kOutputs, outputs_);
    if (!output) continue;
    if (equal_words(tl1::field(line, "PORTHEALTH").value_or(""), "bad")) {
      answer.snapshot.outputs[*output].status = PortStatus::failed;
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<Tl1Codec> make_glimmerglass_tl1_codec() { return std::make_unique<GlimmerglassCodec>(); }

}  // namespace photonrail::device
