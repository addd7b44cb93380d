// Calient S-series TL1 (port 3083), client side. A port has one name, 1.1.1, an input fibre and an output fibre; a 1WAY
// connection a>b brings the light of a's input to b's output. The driver makes 1WAY connections only, and reads 2WAY
// connections of others, a-b, as two.
//   RTRV-NE:::1:;         "...:SERIALNUMBER=C00002227,SWPACKAGE=6.0-3,STATUS=OK,CHASSISTYPE=S162,..."
//   RTRV-PORT::0:2:;      "1.1.1:WX,NONE,NONE:INAS=OOS-NP,INOS=OOS,INOC=OK,INRS=NPR,OUTAS=OOS-NP,OUTOS=OOS,OUTOC=OK"
//   RTRV-CRS:::3::ALL;    "2.3.6>3.2.5:SRCPORT=2.3.6,DSTPORT=3.2.5,GRPNAME=g,CONNNAME=n,CONNTYPE=1WAY,
//                          AS=UMA,OS=RDY,OC=OK,PS=UPR,AL=CL"
//   ENT-CRS::a,b:4::g,1WAY,n;   ACT-CRS::a,b:5::n,g;   CANC-CRS::a,b:6::n,g;   DLT-CRS::a,b:7::,g,n;
//   RTRV-PORT-SUM::0:8:;  "1.1.1:ALIAS=NONE,INPWR=NONE,OUTPWR=-3.2,CONNNAME1=a>b,CONNSTATE1=ACT,..."   NONE: dark
// Positions count through the ports of RTRV-PORT that have the side, in its order. A connection that is entered but not
// in service (AS or OS begins with OOS) is none; up means OS=RDY and OC=OK; OC=FAIL has failed; else it tunes. Words
// other than those shown above are assumptions.
// Sources: QualiSystems/cloudshell-L1-calient (driver_handler.py and its tests); Calient S320 hardware guide.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "device/dialect_text.h"
#include "device/tl1_driver.h"

namespace photonrail::device {
namespace {

constexpr std::size_t kSideMax = 32767;
constexpr const char* kGroup = "photonrail";

using Kind = Tl1Step::Kind;

Tl1Step step(Kind kind, int id, std::string verb, std::string access = "", std::string tail = ":") {
  Tl1Step result;
  result.kind = kind;
  result.id = id;
  result.verb = std::move(verb);
  result.access = std::move(access);
  result.tail = std::move(tail);
  return result;
}

// One line of RTRV-CRS.
struct Entry {
  CrossConnect pair;
  bool both_ways = false;
  bool in_service = false;
  PortStatus status = PortStatus::tuning;
  std::string group, label;
};

bool plain_word(std::string_view word) {
  return !word.empty() && word.size() <= 128 && word.find_first_of(";:,\"") == std::string_view::npos;
}

class CalientCodec final : public Tl1Codec {
 public:
  Dialect dialect() const override { return Dialect::calient_tl1; }
  bool addressed() const override { return false; }

  Capabilities capabilities() const override {
    using std::chrono::milliseconds;
    Capabilities result;
    result.power = result.status = true;
    result.events = true;
    result.max_batch = 64;
    result.max_power_ports = kSideMax;
    result.min_gap = milliseconds(20);
    result.settle_typical = milliseconds(50);
    result.settle_max = milliseconds(500);  // S320 guide: 200 ms, up to 500 ms where the switch resolves conflicts
    return result;
  }

  void identify(Tl1Context& context) override;
  void begin(Tl1Context& context) override;
  bool on_reply(const Tl1Step& asked, const tl1::Message& message, Tl1Context& context) override;
  void on_denied(const Tl1Step&, Tl1Context&) override {}
  void on_written(const Tl1Step& written, Outcome outcome, Tl1Context& context) override;
  std::optional<Position> output_in(std::string_view access) const override { return find(outputs_, access); }

 private:
  enum Id { kIdentity, kPorts, kRead, kReadForAdd, kReadForRemove, kPortStates, kStates, kPowers, kEnter, kActivate,
            kCancel, kDelete };
  using Side = std::map<std::string, Position, std::less<>>;

  static std::optional<Position> find(const Side& side, std::string_view port) {
    const auto found = side.find(trimmed(port));
    return found == side.end() ? std::nullopt : std::optional<Position>(found->second);
  }
  static std::string ports_text(const CrossConnect& pair, const std::vector<std::string>& in,
                                const std::vector<std::string>& out) {
    return fmt::format("{},{}", in[pair.in], out[pair.out]);
  }

  bool on_identity(const tl1::Message& message, Identity& identity);
  bool on_ports(const tl1::Message& message, Identity& identity);
  std::optional<std::vector<Entry>> entries(const tl1::Message& message) const;
  bool on_read(const tl1::Message& message, Answer& answer) const;
  bool on_read_for_add(const tl1::Message& message, Tl1Context& context) const;
  bool on_read_for_remove(const tl1::Message& message, Tl1Context& context) const;
  bool on_states(const tl1::Message& message, Answer& answer) const;
  bool on_port_states(const tl1::Message& message, Answer& answer) const;
  bool on_powers(const tl1::Message& message, Tl1Context& context) const;
  Tl1Step activation(const CrossConnect& pair, const std::string& group, const std::string& label) const;
  std::string label_of(const CrossConnect& pair) const { return input_names_[pair.in] + ">" + output_names_[pair.out]; }

  Side inputs_, outputs_;                             // by port name
  std::vector<std::string> input_names_, output_names_;
};

void CalientCodec::identify(Tl1Context& context) {
  context.todo.push_back(step(Kind::query, kIdentity, "RTRV-NE"));
  context.todo.push_back(step(Kind::query, kPorts, "RTRV-PORT", "0"));
}

void CalientCodec::begin(Tl1Context& context) {
  const auto read = [&](int id) { context.todo.push_back(step(Kind::query, id, "RTRV-CRS", "", "::ALL")); };
  switch (context.command.kind) {
    case Command::Kind::read: return read(kRead);
    case Command::Kind::add: return read(kReadForAdd);
    case Command::Kind::remove: return read(kReadForRemove);
    case Command::Kind::set_ports: return;  // refused by the engine: no port control
    case Command::Kind::readings: break;
  }
  read(kStates);
  context.todo.push_back(step(Kind::query, kPortStates, "RTRV-PORT", "0"));
  context.todo.push_back(step(Kind::query, kPowers, "RTRV-PORT-SUM", "0"));
}

bool CalientCodec::on_reply(const Tl1Step& asked, const tl1::Message& message, Tl1Context& context) {
  switch (asked.id) {
    case kIdentity: return on_identity(message, context.identity);
    case kPorts: return on_ports(message, context.identity);
    case kRead: return on_read(message, context.answer);
    case kReadForAdd: return on_read_for_add(message, context);
    case kReadForRemove: return on_read_for_remove(message, context);
    case kStates: return on_states(message, context.answer);
    case kPortStates: return on_port_states(message, context.answer);
    case kPowers: return on_powers(message, context);
    default: return false;
  }
}

bool CalientCodec::on_identity(const tl1::Message& message, Identity& identity) {
  for (const std::string_view line : message.data()) {
    const auto serial = tl1::field(line, "SERIALNUMBER");
    if (!serial) continue;
    identity.maker = "Calient";
    identity.serial = *serial;
    identity.firmware = tl1::field(line, "SWPACKAGE").value_or("");
    identity.model = tl1::field(line, "CHASSISTYPE").value_or("");
    return true;
  }
  return false;
}

bool CalientCodec::on_ports(const tl1::Message& message, Identity& identity) {
  inputs_.clear();
  outputs_.clear();
  input_names_.clear();
  output_names_.clear();
  for (const std::string_view line : message.data()) {
    const std::string port(trimmed(line.substr(0, line.find(':'))));
    if (!plain_word(port) || output_names_.size() >= kSideMax || input_names_.size() >= kSideMax) return false;
    const auto add = [&](Side& side, std::vector<std::string>& names) {
      if (side.emplace(port, static_cast<Position>(names.size())).second) names.push_back(port);
    };
    if (tl1::field(line, "INAS")) add(inputs_, input_names_);
    if (tl1::field(line, "OUTAS")) add(outputs_, output_names_);
  }
  identity.inputs = static_cast<Position>(input_names_.size());
  identity.outputs = static_cast<Position>(output_names_.size());
  return true;
}

std::optional<std::vector<Entry>> CalientCodec::entries(const tl1::Message& message) const {
  std::vector<Entry> result;
  for (const std::string_view line : message.data()) {
    const auto source = tl1::field(line, "SRCPORT");
    const auto target = tl1::field(line, "DSTPORT");
    if (!source || !target) return std::nullopt;
    const auto in = find(inputs_, *source);
    const auto out = find(outputs_, *target);
    if (!in || !out) return std::nullopt;
    Entry entry;
    entry.pair = {*in, *out};
    entry.both_ways = equal_words(tl1::field(line, "CONNTYPE").value_or(""), "2WAY");
    const std::string_view admin = tl1::field(line, "AS").value_or("");
    const std::string_view oper = tl1::field(line, "OS").value_or("");
    const std::string_view condition = tl1::field(line, "OC").value_or("");
    entry.in_service = admin.substr(0, 3) != "OOS" && oper.substr(0, 3) != "OOS";
    if (condition == "FAIL") entry.status = PortStatus::failed;
    else if (oper == "RDY" && condition == "OK") entry.status = PortStatus::tuned;
    entry.group = tl1::field(line, "GRPNAME").value_or("");
    entry.label = tl1::field(line, "CONNNAME").value_or("");
    if (!plain_word(entry.group) || !plain_word(entry.label)) return std::nullopt;
    result.push_back(entry);
    if (!entry.both_ways) continue;
    const auto back_in = find(inputs_, *target);
    const auto back_out = find(outputs_, *source);
    if (!back_in || !back_out) return std::nullopt;
    entry.pair = {*back_in, *back_out};
    result.push_back(entry);
  }
  return result;
}

bool CalientCodec::on_read(const tl1::Message& message, Answer& answer) const {
  const auto all = entries(message);
  if (!all) return false;
  std::vector<CrossConnect>& connections = answer.snapshot.connections;
  for (const Entry& entry : *all) {
    if (entry.in_service) connections.push_back(entry.pair);
  }
  std::sort(connections.begin(), connections.end());
  return true;
}

Tl1Step CalientCodec::activation(const CrossConnect& pair, const std::string& group, const std::string& label) const {
  return step(Kind::write, kActivate, "ACT-CRS", ports_text(pair, input_names_, output_names_),
              fmt::format("::{},{}", label, group));
}

// A connection that somebody has entered already is only put in service.
bool CalientCodec::on_read_for_add(const tl1::Message& message, Tl1Context& context) const {
  const auto all = entries(message);
  if (!all) return false;
  for (std::size_t i = 0; i < context.command.pairs.size(); ++i) {
    const CrossConnect& pair = context.command.pairs[i];
    const auto there = std::find_if(all->begin(), all->end(), [&](const Entry& e) {
      return e.pair == pair && (e.in_service || !e.both_ways);
    });
    if (there != all->end() && there->in_service) {
      context.answer.pairs[i] = Outcome::applied;
      continue;
    }
    Tl1Step next = there != all->end()
                       ? activation(pair, there->group, there->label)
                       : step(Kind::write, kEnter, "ENT-CRS", ports_text(pair, input_names_, output_names_),
                              fmt::format("::{},1WAY,{}", kGroup, label_of(pair)));
    next.pairs = {i};
    context.todo.push_back(std::move(next));
  }
  return true;
}

// A 2WAY connection is removed only where both of its directions are meant.
bool CalientCodec::on_read_for_remove(const tl1::Message& message, Tl1Context& context) const {
  const auto all = entries(message);
  if (!all) return false;
  const std::vector<CrossConnect>& wanted = context.command.pairs;
  std::map<std::string, std::size_t> sent;  // by label: two directions of one connection are removed once
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto there = std::find_if(all->begin(), all->end(), [&](const Entry& e) { return e.pair == wanted[i]; });
    context.answer.pairs[i] = there == all->end() ? Outcome::applied : Outcome::rejected;
    if (there == all->end()) continue;
    const std::string key = there->group + "," + there->label;
    if (const auto known = sent.find(key); known != sent.end()) {
      context.todo[known->second].pairs.push_back(i);
      continue;
    }
    const bool whole = std::all_of(all->begin(), all->end(), [&](const Entry& e) {
      const bool same = e.group == there->group && e.label == there->label;
      return !same || std::find(wanted.begin(), wanted.end(), e.pair) != wanted.end();
    });
    if (!whole) {
      append_text(context.answer.device_text, "not sent: part of the 2WAY connection " + there->label);
      continue;
    }
    const std::string ports = ports_text(wanted[i], input_names_, output_names_);
    const std::string names = fmt::format("::{},{}", there->label, there->group);
    Tl1Step next = step(Kind::write, there->in_service ? kCancel : kDelete, there->in_service ? "CANC-CRS" : "DLT-CRS",
                        ports, there->in_service ? names : fmt::format("::,{},{}", there->group, there->label));
    next.pairs = {i};
    sent[key] = context.todo.size();
    context.todo.push_back(std::move(next));
  }
  return true;
}

// ENT-CRS is followed by ACT-CRS, CANC-CRS by DLT-CRS. The first half done and the second refused is no refusal.
void CalientCodec::on_written(const Tl1Step& written, Outcome outcome, Tl1Context& context) {
  const bool second = written.id == kActivate || written.id == kDelete;
  if (second && outcome == Outcome::rejected) {
    for (const std::size_t pair : written.pairs) context.answer.pairs[pair] = Outcome::failed;
  }
  if (second || outcome != Outcome::applied) return;
  const CrossConnect& pair = context.command.pairs[written.pairs.front()];
  Tl1Step next;
  if (written.id == kEnter) {
    next = activation(pair, kGroup, label_of(pair));
  } else {
    // "::label,group" of the cancellation becomes "::,group,label".
    const std::string names = written.tail.substr(2);
    const auto comma = names.rfind(',');
    next = step(Kind::write, kDelete, "DLT-CRS", written.access,
                fmt::format("::,{},{}", names.substr(comma + 1), names.substr(0, comma)));
  }
  next.pairs = written.pairs;
  context.todo.push_front(std::move(next));
}

bool CalientCodec::on_states(const tl1::Message& message, Answer& answer) const {
  const auto all = entries(message);
  if (!all) return false;
  for (OutputReading& reading : answer.snapshot.outputs) reading.status = PortStatus::blocked;
  for (const Entry& entry : *all) {
    if (entry.in_service) answer.snapshot.outputs[entry.pair.out].status = entry.status;
  }
  return true;
}

bool CalientCodec::on_port_states(const tl1::Message& message, Answer& answer) const {
  for (const std::string_view line : message.data()) {
    const auto output = find(outputs_, line.substr(0, line.find(':')));
    if (!output) continue;
    PortStatus& status = answer.snapshot.outputs[*output].status;
    if (tl1::field(line, "OUTAS").value_or("").substr(0, 6) == "OOS-MA") status = PortStatus::disabled;
    if (tl1::field(line, "OUTOC").value_or("") == "FAIL") status = PortStatus::failed;
  }
  return true;
}

bool CalientCodec::on_powers(const tl1::Message& message, Tl1Context& context) const {
  constexpr double kDark = -60;
  for (const std::string_view line : message.data()) {
    const auto output = find(outputs_, line.substr(0, line.find(':')));
    const auto power = tl1::field(line, "OUTPWR");
    if (!output || !power) continue;
    const auto value = *power == "NONE" ? std::optional<double>(kDark) : parse_decimal(*power);
    if (!value) return false;
    context.answer.snapshot.outputs[*output].power_dbm = *value;
  }
  return true;
}

}  // namespace

std::unique_ptr<Tl1Codec> make_calient_tl1_codec() { return std::make_unique<CalientCodec>(); }

}  // namespace photonrail::device
