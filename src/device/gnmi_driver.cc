#include "device/gnmi_driver.h"

#include <fmt/format.h>
#include <gnmi/gnmi.pb.h>

#include <algorithm>
#include <boost/json.hpp>

#include "device/dialect_text.h"
#include "device/gnmi_tree.h"

namespace photonrail::device {
namespace {

namespace json = boost::json;
using namespace gnmi_model;

constexpr std::size_t kPairsPerSet = 256;
constexpr const char* kSonicConfig = "CONFIG_DB/localhost/OCS_CROSS_CONNECT";
constexpr int kNotFound = 5, kUnimplemented = 12;  // codes of gRPC
constexpr const char* kSonicState = "STATE_DB/localhost/OCS_CROSS_CONNECT";

// Codes of gRPC that say that nothing was done.
bool refuses(int code) {
  constexpr int kInvalidArgument = 3, kAlreadyExists = 6, kPermissionDenied = 7, kResourceExhausted = 8,
                kFailedPrecondition = 9, kAborted = 10, kUnauthenticated = 16;
  constexpr int kRefusals[] = {kInvalidArgument,    kNotFound, kAlreadyExists, kPermissionDenied, kResourceExhausted,
                               kFailedPrecondition, kAborted,  kUnimplemented, kUnauthenticated};
  return std::find(std::begin(kRefusals), std::end(kRefusals), code) != std::end(kRefusals);
}

void fill(gnmi::Path& path, std::string_view text) {
  for (const Element& element : elements(text)) {
    gnmi::PathElem* added = path.add_elem();
    added->set_name(element.name);
    if (!element.key.empty()) (*added->mutable_key())[element.key] = element.value;
  }
}

// An array or object under "name" or "<module>:name".
const json::value* member(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  if (object == nullptr) return nullptr;
  for (const auto& [key, found] : *object) {
    const std::string_view text = key;
    const std::size_t colon = text.rfind(':');
    if ((colon == std::string_view::npos ? text : text.substr(colon + 1)) == name) return &found;
  }
  return nullptr;
}

std::string text_of(const json::value* value) {
  return value != nullptr && value->is_string() ? shown_text(std::string(value->get_string()), "") : std::string();
}

std::optional<json::value> parsed(std::string_view text) {
  json::parse_options options;
  options.max_depth = 16;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  return error ? std::nullopt : std::optional<json::value>(std::move(value));
}

}  // namespace

std::string_view GnmiDriver::path_of(Step step) const {
  switch (step) {
    case kIdentity:
      return ocp() ? "components/component[name=chassis]/state" : "STATE_DB/localhost/CHASSIS_INFO/chassis 1";
    case kPorts: return ocp() ? "components" : "STATE_DB/localhost/OCS_PORT";
    case kConfig: return kSonicConfig;
    default: return ocp() ? "connections" : kSonicState;
  }
}

MessageDriver::Request GnmiDriver::get(Step step) const {
  gnmi::GetRequest message;
  message.set_encoding(gnmi::JSON_IETF);
  if (!ocp()) message.mutable_prefix()->set_origin("sonic-db");
  fill(*message.add_path(), path_of(step));
  Request request{step, {}, {}, {}};
  request.frame.verb = "Get";
  request.frame.body = message.SerializeAsString();
  return request;
}

std::vector<MessageDriver::Request> GnmiDriver::greeting() {
  using std::chrono::milliseconds;
  names_.clear();
  invalid_.clear();
  configured_.clear();
  stream_.clear();
  capabilities_ = Capabilities{};
  capabilities_.atomic_batch = ocp();  // SONiC may apply a part (design document, open question)
  capabilities_.events = true;
  capabilities_.power = ocp();
  capabilities_.status = true;
  capabilities_.port_control = true;
  capabilities_.login = true;  // by mutual TLS
  capabilities_.on_conflict = ocp() ? OnConflict::rejects : OnConflict::steals;
  capabilities_.max_batch = kPairsPerSet;
  capabilities_.settle_typical = milliseconds(100);  // assumption: liquid crystal takes hundreds, MEMS tens
  capabilities_.settle_max = milliseconds(1000);     // assumption
  Request first{kCapabilities, {}, {}, {}};
  first.frame.verb = "Capabilities";
  return {first, get(kIdentity), subscription()};
}

MessageDriver::Request GnmiDriver::subscription() const {
  gnmi::SubscribeRequest subscribe;
  gnmi::SubscriptionList& list = *subscribe.mutable_subscribe();
  list.set_encoding(gnmi::JSON_IETF);
  list.set_updates_only(true);
  if (!ocp()) list.mutable_prefix()->set_origin("sonic-db");
  gnmi::Subscription& one = *list.add_subscription();
  one.set_mode(gnmi::ON_CHANGE);
  fill(*one.mutable_path(), ocp() ? "connections" : kSonicState);
  Request request{kSubscribe, {}, {}, {}};
  request.frame.verb = "Subscribe";
  request.frame.body = subscribe.SerializeAsString();
  return request;
}

void GnmiDriver::stamp(Request& request) {
  request.frame.target = std::to_string(++call_);
  if (request.step == kSubscribe) stream_ = request.frame.target;
}

MessageDriver::Request GnmiDriver::set(const std::vector<CrossConnect>& remove, const std::vector<CrossConnect>& add,
                                       const std::vector<std::size_t>& pairs) const {
  gnmi::SetRequest message;
  if (!ocp()) message.mutable_prefix()->set_origin("sonic-db");
  const auto path_of = [&](const std::string& name) {
    return ocp() ? fmt::format("connections/port-connection[name={}]", name) : fmt::format("{}/{}", kSonicConfig, name);
  };
  for (const std::string& name : invalid_) fill(*message.add_delete_(), path_of(name));
  for (const CrossConnect& pair : remove) {
    const auto known = names_.find(pair);
    fill(*message.add_delete_(), path_of(known == names_.end() ? cross_connect_name(pair) : known->second));
  }
  for (const CrossConnect& pair : add) {
    const std::string name = cross_connect_name(pair);
    gnmi::Update& update = *message.add_update();
    fill(*update.mutable_path(), path_of(name));
    json::value value;
    if (ocp()) {
      value = {
          {"config",
           {{"name", name}, {"input-port-name", input_name(pair.in)}, {"output-port-name", output_name(pair.out)}}}};
    } else {
      value = {{"a_side", input_name(pair.in)}, {"b_side", output_name(pair.out)}};
    }
    update.mutable_val()->set_json_ietf_val(json::serialize(value));
  }
  Request request{kSet, {}, pairs, {}};
  request.frame.verb = "Set";
  request.frame.body = message.SerializeAsString();
  return request;
}

std::vector<MessageDriver::Request> GnmiDriver::requests_of(const Command& command) {
  std::vector<Request> requests;
  if (command.kind == Command::Kind::read) {
    if (!ocp()) requests.push_back(get(kConfig));
    requests.push_back(get(kState));
    if (capabilities_.events && stream_.empty()) requests.push_back(subscription());
    return requests;
  }
  if (command.kind == Command::Kind::readings) {
    answer_.snapshot.outputs.resize(identity_.outputs);
    return {get(kPorts)};
  }
  if (command.kind == Command::Kind::set_ports) {
    gnmi::SetRequest message;
    if (!ocp()) message.mutable_prefix()->set_origin("sonic-db");
    for (const Position output : command.outputs) {
      gnmi::Update& update = *message.add_update();
      const std::string name = output_name(output);
      fill(*update.mutable_path(), ocp() ? fmt::format("components/component[name={}]/ocp-ocs-port/config", name)
                                         : fmt::format("CONFIG_DB/localhost/OCS_PORT/{}", name));
      const json::value value = ocp() ? json::value{{"enabled", command.enable}}
                                      : json::value{{"state", command.enable ? "normal" : "force_blocked"}};
      update.mutable_val()->set_json_ietf_val(json::serialize(value));
    }
    Request request{kSet, {}, {}, command.outputs};
    request.frame.verb = "Set";
    request.frame.body = message.SerializeAsString();
    return {request};
  }
  const bool adds = command.kind == Command::Kind::add;
  for (std::size_t from = 0; from < command.pairs.size(); from += kPairsPerSet) {
    std::vector<CrossConnect> chunk, stale;
    std::vector<std::size_t> pairs;
    for (std::size_t i = from; i < std::min(from + kPairsPerSet, command.pairs.size()); ++i) {
      pairs.push_back(i);
      chunk.push_back(command.pairs[i]);
      if (!adds && !ocp() && !configured_.contains(command.pairs[i])) stale.push_back(command.pairs[i]);
    }
    if (!stale.empty()) requests.push_back(set({}, stale, {}));
    requests.push_back(adds ? set({}, chunk, pairs) : set(chunk, {}, pairs));
  }
  return requests;
}

MessageDriver::Verdict GnmiDriver::on_reply(const Request& request, const Frame& frame) {
  const auto step = static_cast<Step>(request.step);
  if (frame.verb != request.frame.verb || frame.target != request.frame.target) return {};
  if (step == kSubscribe) {
    gnmi::SubscribeResponse response;
    const bool synchronised = response.ParseFromString(frame.body) && response.sync_response();
    if (frame.status == 0 && !synchronised) return {};
    // A device without streams is polled all the same.
    if (frame.status != 0) capabilities_.events = false;
    return {true, Outcome::applied};
  }
  // What a target can do is asked out of politeness: it may not know the question.
  if (step == kCapabilities && frame.status == kUnimplemented) return {true, Outcome::applied};
  if (frame.status != 0) {
    append_text(answer_.device_text, fmt::format("gRPC code {}: {}", frame.status, shown_text(frame.body, "")));
    const bool empty = frame.status == kNotFound && (step == kConfig || step == kState);  // not found: an empty table
    if (empty) return {true, Outcome::applied};
    return {true, refuses(frame.status) ? Outcome::rejected : Outcome::failed};
  }
  if (step == kCapabilities) {
    gnmi::CapabilityResponse response;
    return {true, response.ParseFromString(frame.body) ? Outcome::applied : Outcome::unknown};
  }
  if (step == kSet) {
    gnmi::SetResponse response;
    return {true, response.ParseFromString(frame.body) ? Outcome::applied : Outcome::unknown};
  }
  return on_get(step, frame.body);
}

MessageDriver::Verdict GnmiDriver::on_get(Step step, const std::string& body) {
  gnmi::GetResponse response;
  if (!response.ParseFromString(body)) return {true, Outcome::unknown};
  if (step == kState) {
    names_.clear();
    invalid_.clear();
  }
  if (step == kConfig) configured_.clear();
  const auto text = subtree_of(response, path_of(step));
  if (!text) return {true, Outcome::unknown};
  const bool fine = text->empty()       ? true
                    : step == kIdentity ? read_identity(*text)
                    : step == kPorts    ? read_ports(*text)
                                        : read_connections(step, *text);
  if (!fine) return {true, Outcome::unknown};
  if (step == kIdentity && identity_.outputs == 0) return {true, Outcome::failed};
  std::sort(answer_.snapshot.connections.begin(), answer_.snapshot.connections.end());
  return {true, Outcome::applied};
}

bool GnmiDriver::read_identity(std::string_view text) {
  const auto value = parsed(text);
  if (!value) return false;
  const std::string model = text_of(member(*value, ocp() ? "part-no" : "model"));
  const auto size = size_in_model(model);
  if (!size) return false;
  identity_ = {text_of(member(*value, ocp() ? "mfg-name" : "manufacturer")),
               model,
               text_of(member(*value, ocp() ? "serial-no" : "serial")),
               text_of(member(*value, ocp() ? "firmware-version" : "revision")),
               size->inputs,
               size->outputs};
  return true;
}

bool GnmiDriver::read_connections(Step step, std::string_view text) {
  const auto value = parsed(text);
  if (!value) return false;
  const auto in_range = [&](const CrossConnect& pair) {
    return pair.in < identity_.inputs && pair.out < identity_.outputs;
  };
  if (!ocp()) {
    const json::object* table = value->if_object();
    if (table == nullptr) return false;
    for (const auto& [key, entry] : *table) {
      const auto pair = cross_connect_named(key);
      if (!pair || !in_range(*pair)) return false;
      if (step == kConfig)
        configured_.insert(*pair);
      else
        answer_.snapshot.connections.push_back(*pair);
    }
    return true;
  }
  const json::value* list = member(*value, "port-connection");
  if (list == nullptr) return value->is_object();
  if (!list->is_array()) return false;
  for (const json::value& entry : list->get_array()) {
    const std::string name = text_of(member(entry, "name"));
    const json::value* config = member(entry, "config");
    const json::value* state = member(entry, "state");
    if (config == nullptr || name.empty() || name.find(']') != std::string::npos) return false;
    const auto in = input_named(text_of(member(*config, "input-port-name")));
    const auto out = output_named(text_of(member(*config, "output-port-name")));
    const std::string status = state != nullptr ? text_of(member(*state, "status")) : std::string();
    if (status == "INVALID") {
      invalid_.insert(name);
      continue;
    }
    if (!in || !out || !in_range({*in, *out})) return false;
    names_[{*in, *out}] = name;
    answer_.snapshot.connections.push_back({*in, *out});
  }
  return true;
}

bool GnmiDriver::read_ports(std::string_view text) {
  const auto value = parsed(text);
  if (!value) return false;
  const auto note = [&](std::string_view name, const json::value* status, const json::value* power) {
    const auto output = output_named(name);
    if (!output || *output >= identity_.outputs) return;
    OutputReading& reading = answer_.snapshot.outputs[*output];
    reading.status = status_named(text_of(status));
    if (power == nullptr) return;
    boost::system::error_code error;
    const double dbm = power->is_string() ? parse_decimal(std::string_view(power->get_string())).value_or(-99)
                                          : power->to_number<double>(error);
    if (!error && dbm > -99) reading.power_dbm = dbm;
  };
  if (!ocp()) {
    const json::object* table = value->if_object();
    if (table == nullptr) return false;
    for (const auto& [key, entry] : *table) note(key, member(entry, "status"), nullptr);
    return true;
  }
  const json::value* list = member(*value, "component");
  if (list == nullptr || !list->is_array()) return value->is_object();
  for (const json::value& entry : list->get_array()) {
    const json::value* port = member(entry, "ocp-ocs-port");
    const json::value* state = port != nullptr ? member(*port, "state") : nullptr;
    if (state != nullptr) {
      note(text_of(member(entry, "name")), member(*state, "status"), member(*state, "output-optical-power"));
    }
  }
  return true;
}

bool GnmiDriver::on_unasked(const Frame& frame) {
  const bool ended = frame.verb == "end" || (frame.verb == "Subscribe" && frame.status != 0);
  if (ended && !stream_.empty() && frame.target == stream_) {
    stream_.clear();  // asked for again with the next read
    return true;
  }
  if (frame.verb != "Subscribe" || frame.status != 0 || frame.target != stream_) return false;
  gnmi::SubscribeResponse response;
  if (!response.ParseFromString(frame.body)) return false;
  if (!response.has_update()) return true;
  Event event{Event::Kind::connections_changed, {}, ""};
  for (const gnmi::Update& update : response.update().update()) {
    append_text(event.device_text, shown_text(update.ShortDebugString(), ""));
  }
  add_event(std::move(event));
  return true;
}

}  // namespace photonrail::device
