#include "device/scpi_front_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace photonrail::device {
namespace {

using scpi::ErrorEntry;
using scpi::Patch;
using scpi::Port;

constexpr std::size_t kUnitsMax = 256;    // in one line
constexpr std::size_t kErrorsMax = 32;    // in the queue

// SCPI-99 volume 1, 21.8.
constexpr int kSyntaxError = -102, kMissingParameter = -109, kUndefinedHeader = -113;
constexpr int kSettingsConflict = -221, kOutOfRange = -222, kTooMuchData = -223, kHardwareMissing = -241;
constexpr int kSystemError = -310, kQueueOverflow = -350;

// IEEE 488.2, 11.5.1: bits of the event status register.
constexpr unsigned kOperationComplete = 1, kQueryError = 4, kDeviceError = 8, kExecutionError = 16, kCommandError = 32;

unsigned status_bit(int code) {
  if (code <= -100 && code > -200) return kCommandError;
  if (code <= -200 && code > -300) return kExecutionError;
  if (code <= -400 && code > -500) return kQueryError;
  return kDeviceError;
}

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// "SWITch" is SWIT or SWITCH, in any case.
bool node_matches(std::string_view node, std::string_view text) {
  std::string short_form;
  for (const char c : node) {
    if (!is_lower(c)) short_form += c;
  }
  return equal_words(text, node) || equal_words(text, short_form);
}

}  // namespace

ScpiFrontEnd::ScpiFrontEnd(SwitchModel& model, FrontEndOptions options)
    : model_(model), options_(std::move(options)), replies_(model) {
  const auto by_name = size_in_model(model.spec().model);
  numbering_ = {model.spec().inputs, model.spec().outputs, by_name && by_name->symmetric};
}

const std::vector<ScpiFrontEnd::Header>& ScpiFrontEnd::headers() {
  static const std::vector<Header> table{
      {"*IDN?", &ScpiFrontEnd::identity},
      {"*CLS", &ScpiFrontEnd::clear},
      {"*OPC?", &ScpiFrontEnd::complete},
      {"*OPC", &ScpiFrontEnd::complete_event},
      {"*ESR?", &ScpiFrontEnd::event_status},
      {"*STB?", &ScpiFrontEnd::status_byte},
      {"*WAI", &ScpiFrontEnd::wait},
      {"*RST", &ScpiFrontEnd::reset},
      {"OXC:SWITch:SIZE?", &ScpiFrontEnd::size},
      {"OXC:SWITch:CONNect:ADD", &ScpiFrontEnd::add},
      {"OXC:SWITch:CONNect:ONLY", &ScpiFrontEnd::only},
      {"OXC:SWITch:CONNect:SUB", &ScpiFrontEnd::subtract},
      {"OXC:SWITch:CONNect:STATe?", &ScpiFrontEnd::state},
      {"OXC:SWITch:CONNect:PORT?", &ScpiFrontEnd::peer},
      {"OXC:SWITch:DISConnect:ALL", &ScpiFrontEnd::disconnect_all},
      {"OXC:SWITch:PORT:ENABle", &ScpiFrontEnd::enable},
      {"OXC:SWITch:PORT:DISable", &ScpiFrontEnd::disable},
      {"OXC:SWITch:PORT:STATe?", &ScpiFrontEnd::port_states},
      {"OXC:BOOT:MODE?", &ScpiFrontEnd::boot_mode},
      {"PMON:POWer?", &ScpiFrontEnd::power},
      {"SYSTem:ERRor?", &ScpiFrontEnd::next_error},
      {"SYSTem:ERRor:NEXT?", &ScpiFrontEnd::next_error},
      {"SYSTem:ERRor:ALL?", &ScpiFrontEnd::all_errors},
      {"SYSTem:COMMunicate:NETWork:ADDRess?", &ScpiFrontEnd::address},
  };
  return table;
}

bool ScpiFrontEnd::header_matches(std::string_view pattern, std::string_view header) {
  const bool asks = !pattern.empty() && pattern.back() == '?';
  if (header.empty() || asks != (header.back() == '?')) return false;
  if (asks) {
    pattern.remove_suffix(1);
    header.remove_suffix(1);
  }
  constexpr std::size_t kNodesMax = 8;
  const auto want = split_outside(pattern, ':', kNodesMax);
  const auto have = split_outside(header, ':', kNodesMax);
  if (!want || !have) return false;
  return std::equal(want->begin(), want->end(), have->begin(), have->end(), node_matches);
}

const ScpiFrontEnd::Header* ScpiFrontEnd::find(std::string_view header) const {
  for (const Header& known : headers()) {
    if (header_matches(known.pattern, header)) return &known;
  }
  return nullptr;
}

void ScpiFrontEnd::opened(ConnectionId connection, Instant now) {
  const auto alive = std::count_if(sessions_.begin(), sessions_.end(), [](const auto& s) { return !s.second.closed; });
  Session& session = sessions_[connection];
  session.id = connection;
  if (model_.up(now) && alive < static_cast<std::ptrdiff_t>(options_.max_sessions)) return;
  session.closed = true;
  replies_.close(connection, now);
}

void ScpiFrontEnd::closed(ConnectionId connection, Instant) { sessions_.erase(connection); }

void ScpiFrontEnd::advance(Instant now) {
  model_.advance(now);
  if (model_.up(now)) return;
  for (auto& [id, session] : sessions_) {
    if (!std::exchange(session.closed, true)) replies_.close(id, now);
  }
}

void ScpiFrontEnd::receive(ConnectionId connection, const Frame& frame, Instant now) {
  advance(now);
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.reader.feed(frame.body);
  while (const auto line = session.reader.next()) {
    if (session.silent || session.closed) return;
    on_line(session, *line, now);
  }
}

void ScpiFrontEnd::on_line(Session& session, const std::string& line, Instant now) {
  if (trimmed(line).empty()) return;
  const Fate fate = replies_.fate();
  session.silent = fate == Fate::fall_silent;
  if (fate == Fate::fall_silent) return;
  if (fate != Fate::break_before) {
    Unit unit{session, {}, {}, now, Instant::min()};
    run_line(unit, line);
    if (unit.done == Instant::min()) unit.done = model_.take_turn(now);  // every line has its place in the queue
    if (fate == Fate::obey && !unit.replies.empty()) {
      replies_.send(session.id, fmt::format("{}\r\n", fmt::join(unit.replies, ";")), unit.done);
    }
  }
  if (fate == Fate::obey) return;
  session.closed = true;
  replies_.close(session.id, now);
}

void ScpiFrontEnd::run_line(Unit& unit, std::string_view line) {
  const auto units = split_outside(line, ';', kUnitsMax, true);
  if (!units) return push_error(unit.session, kTooMuchData, "Too much data");
  std::string path;  // of the header before, with its last colon
  const bool stops = options_.firmware_variant == "stops-at-error";
  const std::uint64_t before = unit.session.errors_made;
  for (const std::string_view text : *units) {
    run_unit(unit, trimmed(text), path);
    if (stops && unit.session.errors_made != before) return unit.replies.clear();
  }
}

void ScpiFrontEnd::run_unit(Unit& unit, std::string_view text, std::string& path) {
  if (text.empty()) return;
  const auto blank = text.find_first_of(" \t");
  std::string_view header = text.substr(0, blank);
  unit.parameters = blank == std::string_view::npos ? std::string_view{} : trimmed(text.substr(blank));
  const bool common = header.front() == '*';
  const bool absolute = header.front() == ':';
  if (absolute) header.remove_prefix(1);
  std::string full(header);
  const Header* known = nullptr;
  if (!common && !absolute && !path.empty()) {
    full = path + full;
    known = find(full);
  }
  if (known == nullptr) {
    full = header;
    known = find(full);
  }
  if (known == nullptr) return push_error(unit.session, kUndefinedHeader, "Undefined header");
  if (!common) path = full.substr(0, full.rfind(':') + 1);
  (this->*known->handler)(unit);
}

void ScpiFrontEnd::push_error(Session& session, int code, std::string text) {
  session.event_status |= status_bit(code);
  ++session.errors_made;
  if (session.errors.size() < kErrorsMax) return session.errors.push_back({code, std::move(text)});
  session.errors.back() = {kQueueOverflow, "Queue overflow"};  // SCPI-99 volume 1, 21.8.1
}

std::string ScpiFrontEnd::pop_error(Session& session) {
  if (session.errors.empty()) return "0,\"No error\"";
  const ErrorEntry entry = session.errors.front();
  session.errors.pop_front();
  std::string text = entry.text;
  std::replace(text.begin(), text.end(), '"', '\'');
  return fmt::format("{},\"{}\"", entry.code, text);
}

std::optional<std::vector<Port>> ScpiFrontEnd::ports(Unit& unit) {
  if (unit.parameters.empty()) {
    push_error(unit.session, kMissingParameter, "Missing parameter");
    return std::nullopt;
  }
  const auto list = scpi::parse_list(unit.parameters, scpi::kPortsMax);
  if (!list) {
    push_error(unit.session, kSyntaxError, "Syntax error");
    return std::nullopt;
  }
  if (std::all_of(list->begin(), list->end(), [&](Port port) { return port <= numbering_.ports(); })) return list;
  push_error(unit.session, kOutOfRange, "Data out of range");
  return std::nullopt;
}

std::optional<std::vector<Patch>> ScpiFrontEnd::patches(Unit& unit) {
  if (unit.parameters.empty()) {
    push_error(unit.session, kMissingParameter, "Missing parameter");
    return std::nullopt;
  }
  const auto list = scpi::parse_patches(unit.parameters, scpi::kPortsMax);
  if (!list) push_error(unit.session, kSyntaxError, "Syntax error");
  return list;
}

std::optional<std::vector<CrossConnect>> ScpiFrontEnd::pairs(Unit& unit) {
  const auto list = patches(unit);
  if (!list) return std::nullopt;
  std::vector<CrossConnect> result;
  for (const Patch& patch : *list) {
    const auto pairs = numbering_.pairs(patch);
    if (!pairs) {
      push_error(unit.session, kOutOfRange, fmt::format("Data out of range; {},{}", patch.first, patch.second));
      return std::nullopt;
    }
    result.insert(result.end(), pairs->begin(), pairs->end());
  }
  return result;
}

void ScpiFrontEnd::write(Unit& unit, WriteRequest request) {
  request.writer = fmt::format("{}/{}", name(Dialect::polatis_scpi), unit.session.id);
  const WriteReply reply = model_.write(request, unit.now);
  unit.done = std::max(unit.done, reply.accepted);
  if (reply.outcome == Outcome::applied) return;
  const bool refused = reply.outcome == Outcome::rejected;
  push_error(unit.session, refused ? kSettingsConflict : kSystemError,
             (refused ? "Settings conflict" : "System error") + (reply.text.empty() ? "" : "; " + reply.text));
}

void ScpiFrontEnd::identity(Unit& unit) {
  const SwitchModelSpec& spec = model_.spec();
  unit.replies.push_back(fmt::format("{},{},{},{}", spec.maker, spec.model, spec.serial, spec.firmware));
}

void ScpiFrontEnd::clear(Unit& unit) {
  unit.session.errors.clear();
  unit.session.event_status = 0;
}

// Commands are carried out in order, and the line is answered when all of it is done: so the answer is due.
void ScpiFrontEnd::complete(Unit& unit) { unit.replies.emplace_back("1"); }

void ScpiFrontEnd::complete_event(Unit& unit) { unit.session.event_status |= kOperationComplete; }

void ScpiFrontEnd::event_status(Unit& unit) {
  unit.replies.push_back(std::to_string(std::exchange(unit.session.event_status, 0U)));
}

void ScpiFrontEnd::status_byte(Unit& unit) {
  constexpr unsigned kErrorAvailable = 4;  // SCPI-99 volume 1, 9.3: bit 2, error queue not empty
  unit.replies.push_back(std::to_string(unit.session.errors.empty() ? 0U : kErrorAvailable));
}

void ScpiFrontEnd::wait(Unit&) {}  // commands never overlap

void ScpiFrontEnd::reset(Unit& unit) { disconnect_all(unit); }

void ScpiFrontEnd::size(Unit& unit) {
  unit.replies.push_back(fmt::format("{},{}", numbering_.inputs, numbering_.symmetric ? 0 : numbering_.outputs));
}

void ScpiFrontEnd::add(Unit& unit) {
  auto wanted = pairs(unit);
  if (!wanted) return;
  WriteRequest request;
  request.add = std::move(*wanted);
  write(unit, std::move(request));
}

void ScpiFrontEnd::only(Unit& unit) {
  auto wanted = pairs(unit);
  if (!wanted) return;
  WriteRequest request;
  request.add = std::move(*wanted);
  request.replace_all = true;
  write(unit, std::move(request));
}

// (@1,2),(@17,18): these patches; (@1,2),(@): whatever these ports hold.
void ScpiFrontEnd::subtract(Unit& unit) {
  WriteRequest request;
  constexpr std::size_t kLists = 2;
  const auto lists = split_outside(unit.parameters, ',', kLists, true);
  if (lists && lists->size() == kLists && trimmed((*lists)[1]) == "(@)") {
    unit.parameters = trimmed((*lists)[0]);
    const auto from = ports(unit);
    if (!from) return;
    for (const Patch& patch : held(unit.now)) {
      const bool named = std::any_of(from->begin(), from->end(),
                                     [&](Port port) { return port == patch.first || port == patch.second; });
      if (!named) continue;
      const auto found = numbering_.pairs(patch);
      request.remove.insert(request.remove.end(), found->begin(), found->end());
    }
  } else {
    auto wanted = pairs(unit);
    if (!wanted) return;
    request.remove = std::move(*wanted);
  }
  write(unit, std::move(request));
}

void ScpiFrontEnd::disconnect_all(Unit& unit) {
  WriteRequest request;
  request.replace_all = true;
  write(unit, std::move(request));
}

std::vector<Patch> ScpiFrontEnd::held(Instant now) {
  std::set<Patch> patches;
  for (const CrossConnect& pair : model_.connections(now)) patches.insert(numbering_.patch(pair));
  return {patches.begin(), patches.end()};
}

void ScpiFrontEnd::state(Unit& unit) {
  const std::vector<Patch> patches = held(unit.now);
  const bool groups = options_.firmware_variant == "none-marker";
  unit.replies.push_back(groups ? scpi::patch_groups_text(patches) : scpi::patches_text(patches));
}

void ScpiFrontEnd::peer(Unit& unit) {
  const auto port = parse_natural(unit.parameters, scpi::kPortsMax);
  if (!port || *port == 0 || *port > numbering_.ports()) {
    return push_error(unit.session, kOutOfRange, "Data out of range");
  }
  std::string other;
  for (const auto& [a, b] : held(unit.now)) {
    if (a == *port) other = std::to_string(b);
    if (b == *port) other = std::to_string(a);
  }
  unit.replies.push_back("\"" + other + "\"");
}

void ScpiFrontEnd::set_ports(Unit& unit, bool enabled) {
  const auto list = ports(unit);
  if (!list) return;
  for (const Port port : *list) {
    if (!numbering_.output_of(port)) return push_error(unit.session, kSettingsConflict, "Settings conflict; input");
  }
  for (const Port port : *list) model_.set_port(*numbering_.output_of(port), enabled, unit.now);
}

void ScpiFrontEnd::enable(Unit& unit) { set_ports(unit, true); }
void ScpiFrontEnd::disable(Unit& unit) { set_ports(unit, false); }

void ScpiFrontEnd::port_states(Unit& unit) {
  const auto list = ports(unit);
  if (!list) return;
  std::vector<std::string> states;
  for (const Port port : *list) {
    const auto output = numbering_.output_of(port);
    const PortStatus status = output ? model_.reading(*output, unit.now).status : PortStatus::unknown;
    states.emplace_back(status == PortStatus::disabled ? "D" : status == PortStatus::failed ? "F" : "E");
  }
  unit.replies.push_back(fmt::format("({})", fmt::join(states, ",")));
}

// What a power cycle leaves; changing it is not offered.
void ScpiFrontEnd::boot_mode(Unit& unit) {
  switch (model_.spec().cold_boot) {
    case ColdBoot::remove: return unit.replies.emplace_back("DARK"), void();
    case ColdBoot::restore: return unit.replies.emplace_back("REST"), void();
    case ColdBoot::maintain: return unit.replies.emplace_back("AUT"), void();
  }
}

void ScpiFrontEnd::power(Unit& unit) {
  if (!model_.spec().has_power) return push_error(unit.session, kHardwareMissing, "Hardware missing; no detectors");
  const auto list = ports(unit);
  if (!list) return;
  if (list->size() > scpi::kPowerPortsMax) return push_error(unit.session, kTooMuchData, "Too much data");
  std::vector<std::string> powers;
  for (const Port port : *list) {
    const auto output = numbering_.output_of(port);
    if (!output) return push_error(unit.session, kHardwareMissing, "Hardware missing; no detector at an input");
    constexpr double kDark = -60;
    powers.push_back(two_decimals(model_.reading(*output, unit.now).power_dbm.value_or(kDark)));
  }
  unit.replies.push_back(fmt::format("({})", fmt::join(powers, ",")));
}

void ScpiFrontEnd::next_error(Unit& unit) { unit.replies.push_back(pop_error(unit.session)); }

void ScpiFrontEnd::all_errors(Unit& unit) {
  std::string text = pop_error(unit.session);
  while (!unit.session.errors.empty()) text += fmt::format(",{}", pop_error(unit.session));
  unit.replies.push_back(std::move(text));
}

// An emulated box has no address of its own: RFC 5737 keeps this block for examples.
void ScpiFrontEnd::address(Unit& unit) {
  unit.replies.emplace_back(
      "IP=\"192.0.2.10\" Gateway=\"192.0.2.1\" Mask=\"255.255.255.0\" Broadcast=\"192.0.2.255\"");
}

}  // namespace photonrail::device
