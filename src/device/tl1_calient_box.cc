// Calient S-series TL1, server side: the verbs of tl1_calient.cc over a SwitchModel.
//
// Ports are named shelf.card.port with eight ports a card and eight cards a shelf. A connection is entered (ENT-CRS),
// put in service (ACT-CRS: now the matrix changes), taken out (CANC-CRS), deleted (DLT-CRS). Connections that came
// about otherwise are listed with the group NONE. ENT-CRS-BULK::a>b&c-d enters and activates at once, DLT-CRS-BULK the
// reverse, DLT-CRS-ALL all; RTRV-SAVERECALL tells how far a bulk operation is.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "device/dialect_text.h"
#include "device/tl1_front_end.h"

namespace photonrail::device {
namespace {

constexpr std::size_t kBulkMax = 4096;     // connections in one request
constexpr std::size_t kEntriesMax = 65536;

struct Connection {
  CrossConnect pair;
  bool both_ways = false;
  bool in_service = false;
  std::string group, label;

  std::vector<CrossConnect> pairs() const {
    if (!both_ways) return {pair};
    return {pair, {pair.out, pair.in}};
  }
};

Tl1Response bad_access() { return tl1_denied("IIAC", "Input, Invalid ACcess identifier"); }

class CalientBox final : public Tl1Box {
 public:
  explicit CalientBox(SwitchModel& model) : Tl1Box(model) {
    for (Position i = 0; i < std::max(inputs(), outputs()); ++i) by_name_[port(i)] = i;
  }

  Dialect dialect() const override { return Dialect::calient_tl1; }
  std::string source() const override { return "CALIENT01TS"; }
  std::string prompt() const override { return "\r\nagent>"; }
  std::optional<Tl1Response> answer(const Tl1Call& call) override;
  std::string access_of(Position output) const override { return port(output); }

 private:
  using Handler = Tl1Response (CalientBox::*)(const Tl1Call&);
  Position inputs() const { return model_.spec().inputs; }
  Position outputs() const { return model_.spec().outputs; }

  static std::string port(Position i) {
    constexpr int kPorts = 8;
    return fmt::format("{}.{}.{}", i / (kPorts * kPorts) + 1, i / kPorts % kPorts + 1, i % kPorts + 1);
  }
  std::optional<Position> position(std::string_view name) const;
  std::optional<CrossConnect> ends(std::string_view access, char separator) const;
  std::string label(const CrossConnect& pair, bool both_ways) const {
    return port(pair.in) + (both_ways ? "-" : ">") + port(pair.out);
  }
  std::vector<Connection> connections(Instant now);
  Connection* entered(const Tl1Call& call);
  bool held(const Connection& connection, Instant now);
  Tl1Response activate(const Tl1Call& call, Connection& connection);

  Tl1Response element(const Tl1Call& call);
  Tl1Response ports(const Tl1Call& call);
  Tl1Response port_summary(const Tl1Call& call);
  Tl1Response enter(const Tl1Call& call);
  Tl1Response activate(const Tl1Call& call);
  Tl1Response cancel(const Tl1Call& call);
  Tl1Response remove(const Tl1Call& call);
  Tl1Response retrieve(const Tl1Call& call);
  Tl1Response enter_bulk(const Tl1Call& call) { return bulk(call, true); }
  Tl1Response delete_bulk(const Tl1Call& call) { return bulk(call, false); }
  Tl1Response bulk(const Tl1Call& call, bool enter);
  Tl1Response delete_all(const Tl1Call& call);
  Tl1Response save_recall(const Tl1Call& call);

  std::map<std::string, Position, std::less<>> by_name_;
  std::map<CrossConnect, Connection> entered_;  // in service or not
  Instant bulk_done_ = Instant::min();
  bool bulk_failed_ = false;
};

std::optional<Tl1Response> CalientBox::answer(const Tl1Call& call) {
  static const std::vector<std::pair<const char*, Handler>> verbs{
      {"RTRV-NE", &CalientBox::element},
      {"RTRV-PORT", &CalientBox::ports},
      {"RTRV-PORT-SUM", &CalientBox::port_summary},
      {"ENT-CRS", &CalientBox::enter},
      {"ACT-CRS", static_cast<Handler>(&CalientBox::activate)},
      {"CANC-CRS", &CalientBox::cancel},
      {"DLT-CRS", &CalientBox::remove},
      {"RTRV-CRS", &CalientBox::retrieve},
      {"ENT-CRS-BULK", &CalientBox::enter_bulk},
      {"DLT-CRS-BULK", &CalientBox::delete_bulk},
      {"DLT-CRS-ALL", &CalientBox::delete_all},
      {"RTRV-SAVERECALL", &CalientBox::save_recall},
  };
  for (const auto& [verb, handler] : verbs) {
    if (call.request.verb == verb) return (this->*handler)(call);
  }
  return std::nullopt;
}

std::optional<Position> CalientBox::position(std::string_view name) const {
  const auto found = by_name_.find(trimmed(name));
  return found == by_name_.end() ? std::nullopt : std::optional<Position>(found->second);
}

std::optional<CrossConnect> CalientBox::ends(std::string_view access, char separator) const {
  constexpr std::size_t kEnds = 2;
  const auto parts = split_outside(access, separator, kEnds);
  if (!parts || parts->size() != kEnds) return std::nullopt;
  const auto from = position((*parts)[0]);
  const auto to = position((*parts)[1]);
  if (!from || !to || *from >= inputs() || *to >= outputs()) return std::nullopt;
  return CrossConnect{*from, *to};
}

// What is entered, and what the matrix holds besides.
std::vector<Connection> CalientBox::connections(Instant now) {
  std::vector<Connection> result;
  std::vector<CrossConnect> known;
  for (const auto& [pair, connection] : entered_) {
    result.push_back(connection);
    for (const CrossConnect& part : connection.pairs()) known.push_back(part);
  }
  std::sort(known.begin(), known.end());
  for (const CrossConnect& pair : model_.connections(now)) {
    if (std::binary_search(known.begin(), known.end(), pair)) continue;
    result.push_back({pair, false, true, "NONE", label(pair, false)});
  }
  return result;
}

bool CalientBox::held(const Connection& connection, Instant now) {
  const std::vector<CrossConnect> matrix = model_.connections(now);
  const std::vector<CrossConnect> parts = connection.pairs();
  return std::any_of(parts.begin(), parts.end(), [&](const CrossConnect& pair) {
    return std::binary_search(matrix.begin(), matrix.end(), pair);
  });
}

// The connection that a request is about; one that came about otherwise is taken into the list.
Connection* CalientBox::entered(const Tl1Call& call) {
  const auto pair = ends(call.request.access, ',');
  if (!pair) return nullptr;
  const auto found = entered_.find(*pair);
  if (found != entered_.end()) return &found->second;
  const Connection other{*pair, false, true, "NONE", label(*pair, false)};
  if (!held(other, call.now)) return nullptr;
  return &entered_.emplace(*pair, other).first->second;
}

Tl1Response CalientBox::element(const Tl1Call&) {
  const SwitchModelSpec& spec = model_.spec();
  Tl1Response response;
  response.lines.push_back(fmt::format("{}:SERIALNUMBER={},SWPACKAGE={},STATUS=OK,CHASSISTYPE={},PLATFORM=VERSION2",
                                       source(), spec.serial, spec.firmware, spec.model));
  return response;
}

Tl1Response CalientBox::ports(const Tl1Call& call) {
  Tl1Response response;
  const auto one = position(call.request.access);
  if (call.request.access != "0" && !one) return bad_access();
  for (Position i = 0; i < std::max(inputs(), outputs()); ++i) {
    if (one && i != *one) continue;
    std::string line = fmt::format("{}:WX,NONE,NONE:", port(i));
    if (i < inputs()) line += "INAS=IS,INOS=IS,INOC=OK,INRS=NPR";
    if (i < outputs()) {
      const PortStatus status = model_.reading(i, call.now).status;
      const bool out = status == PortStatus::disabled, failed = status == PortStatus::failed;
      line += fmt::format("{}OUTAS={},OUTOS={},OUTOC={},OUTRS=NPR", i < inputs() ? "," : "", out ? "OOS-MA" : "IS",
                          out ? "OOS" : "IS", failed ? "FAIL" : "OK");
    }
    response.lines.push_back(std::move(line));
  }
  return response;
}

Tl1Response CalientBox::port_summary(const Tl1Call& call) {
  Tl1Response response;
  const auto one = position(call.request.access);
  if (call.request.access != "0" && !one) return bad_access();
  std::map<Position, std::string> labels;
  for (const Connection& connection : connections(call.now)) {
    if (!connection.in_service) continue;
    for (const CrossConnect& pair : connection.pairs()) labels[pair.out] = connection.label;
  }
  constexpr double kDark = -59.9;
  for (Position i = 0; i < std::max(inputs(), outputs()); ++i) {
    if (one && i != *one) continue;
    const double power = i < outputs() ? model_.reading(i, call.now).power_dbm.value_or(-60) : -60;
    const auto held = labels.find(i);
    response.lines.push_back(fmt::format(
        "{}:ALIAS=NONE,INPWR=NONE,OUTPWR={},CONNNAME1={},CONNSTATE1={},CONNNAME2=NONE,CONNSTATE2=NONE", port(i),
        power > kDark ? two_decimals(power) : "NONE", held == labels.end() ? "NONE" : held->second,
        held == labels.end() ? "NONE" : "ACT"));
  }
  return response;
}

// ENT-CRS::a,b:1::group,1WAY,label;
Tl1Response CalientBox::enter(const Tl1Call& call) {
  constexpr std::size_t kFieldsMax = 8;
  const auto pair = ends(call.request.access, ',');
  const std::string_view payload = call.request.block(1);
  const auto fields = split_outside(payload, ',', kFieldsMax);
  if (!pair) return bad_access();
  if (!fields || fields->size() < 2) return tl1_denied("IIDF", "Input, Invalid Data Format");
  Connection connection;
  connection.pair = *pair;
  connection.both_ways = equal_words(trimmed((*fields)[1]), "2WAY");
  if (!connection.both_ways && !equal_words(trimmed((*fields)[1]), "1WAY")) return tl1_denied("IIDF", "Invalid type");
  if (connection.both_ways && !ends(port(pair->out) + "," + port(pair->in), ',')) return bad_access();
  connection.group = trimmed((*fields)[0]);
  if (connection.group.empty()) connection.group = "NONE";
  connection.label = fields->size() > 2 ? std::string(trimmed((*fields)[2])) : "";
  if (connection.label.empty()) connection.label = label(*pair, connection.both_ways);
  if (entered_.contains(*pair)) return tl1_denied("SNVS", "Connection already exists");
  if (entered_.size() >= kEntriesMax) return tl1_denied("SARB", "Status, All Resources Busy");
  entered_.emplace(*pair, std::move(connection));
  return {};
}

Tl1Response CalientBox::activate(const Tl1Call& call, Connection& connection) {
  WriteRequest request;
  request.add = connection.pairs();
  Tl1Response response = write(call, std::move(request));
  connection.in_service = connection.in_service || response.completion == tl1::Completion::complete;
  return response;
}

Tl1Response CalientBox::activate(const Tl1Call& call) {
  Connection* connection = entered(call);
  if (connection == nullptr) return bad_access();
  return activate(call, *connection);
}

Tl1Response CalientBox::cancel(const Tl1Call& call) {
  Connection* connection = entered(call);
  if (connection == nullptr) return bad_access();
  WriteRequest request;
  request.remove = connection->pairs();
  Tl1Response response = write(call, std::move(request));
  if (response.completion == tl1::Completion::complete) connection->in_service = false;
  return response;
}

Tl1Response CalientBox::remove(const Tl1Call& call) {
  const Connection* connection = entered(call);
  if (connection == nullptr) return bad_access();
  if (connection->in_service && held(*connection, call.now)) return tl1_denied("SNVS", "Connection is in service");
  entered_.erase(connection->pair);
  return {};
}

Tl1Response CalientBox::retrieve(const Tl1Call& call) {
  Tl1Response response;
  for (const Connection& connection : connections(call.now)) {
    const bool up = held(connection, call.now);
    const PortStatus status = model_.reading(connection.pair.out, call.now).status;
    const char* oper = !up ? "OOS" : status == PortStatus::tuned ? "RDY" : "PND";
    const bool broken = up && (status == PortStatus::failed || status == PortStatus::disabled);
    response.lines.push_back(fmt::format(
        "{}:SRCPORT={},DSTPORT={},GRPNAME={},CONNNAME={},CONNTYPE={},AS={},OS={},OC={},PS=UPR,AL=CL", connection.label,
        port(connection.pair.in), port(connection.pair.out), connection.group, connection.label,
        connection.both_ways ? "2WAY" : "1WAY", up ? "UMA" : "OOS", oper, broken ? "FAIL" : "OK"));
  }
  return response;
}

Tl1Response CalientBox::bulk(const Tl1Call& call, bool enter) {
  const auto parts = split_outside(call.request.access, '&', kBulkMax);
  if (!parts) return bad_access();
  if (call.now < bulk_done_) return tl1_denied("SARB", "Save/recall in progress");
  WriteRequest request;
  std::vector<Connection> wanted;
  for (const std::string_view part : *parts) {
    const bool both_ways = part.find('-') != std::string_view::npos;
    const auto pair = ends(part, both_ways ? '-' : '>');
    if (!pair || (both_ways && !ends(port(pair->out) + "," + port(pair->in), ','))) return bad_access();
    wanted.push_back({*pair, both_ways, true, "NONE", label(*pair, both_ways)});
    for (const CrossConnect& way : wanted.back().pairs()) (enter ? request.add : request.remove).push_back(way);
  }
  const Tl1Response response = write(call, std::move(request));
  bulk_failed_ = response.completion != tl1::Completion::complete;
  bulk_done_ = response.accepted;
  for (const Connection& connection : wanted) {
    if (!enter) entered_.erase(connection.pair);
    else if (!bulk_failed_) entered_.insert_or_assign(connection.pair, connection);
  }
  Tl1Response taken;  // how it went is asked for by RTRV-SAVERECALL
  taken.accepted = response.accepted;
  return taken;
}

Tl1Response CalientBox::delete_all(const Tl1Call& call) {
  WriteRequest request;
  request.replace_all = true;
  entered_.clear();
  return write(call, std::move(request));
}

Tl1Response CalientBox::save_recall(const Tl1Call& call) {
  Tl1Response response;
  const bool running = call.now < bulk_done_;
  response.lines.emplace_back(running ? "Save/recall in progress" : bulk_failed_ ? "Failed" : "Completed");
  return response;
}

}  // namespace

std::unique_ptr<Tl1Box> make_calient_tl1_box(SwitchModel& model) { return std::make_unique<CalientBox>(model); }

}  // namespace photonrail::device
