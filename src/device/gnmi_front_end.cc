#include "device/gnmi_front_end.h"

#include <fmt/format.h>
#include <gnmi/gnmi.pb.h>

#include <algorithm>
#include <boost/json.hpp>

namespace photonrail::device {
namespace {

namespace json = boost::json;
using namespace gnmi_model;

constexpr int kInvalidArgument = 3, kNotFound = 5, kFailedPrecondition = 9, kUnimplemented = 12, kInternal = 13;
constexpr int kUpdatesMax = 65536;

Frame answer(const Frame& request, int status, std::string body) {
  Frame frame;
  frame.verb = request.verb;
  frame.target = request.target;
  frame.status = status;
  frame.body = std::move(body);
  return frame;
}

// Prefix and path in the text form of gnmi_model.h.
std::string text_of(const gnmi::Path& prefix, const gnmi::Path& path) {
  std::string text;
  const auto append = [&](const gnmi::Path& part) {
    for (const gnmi::PathElem& element : part.elem()) {
      if (!text.empty()) text += '/';
      const std::string& name = element.name();
      const std::size_t colon = name.rfind(':');
      text += colon == std::string::npos ? name : name.substr(colon + 1);
      const auto key = element.key().begin();
      if (key != element.key().end()) text += fmt::format("[{}={}]", key->first, key->second);
    }
  };
  append(prefix);
  append(path);
  return text;
}

void fill(gnmi::Path& path, const std::string& text) {
  for (const Element& element : elements(text)) {
    gnmi::PathElem* added = path.add_elem();
    added->set_name(element.name);
    if (!element.key.empty()) (*added->mutable_key())[element.key] = element.value;
  }
}

std::string string_at(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  const json::value* found = object != nullptr ? object->if_contains(name) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

GnmiFrontEnd::GnmiFrontEnd(SwitchModel& model, FrontEndOptions options, Profile profile)
    : MessageFrontEnd(model, std::move(options)), profile_(profile) {}

MessageFrontEnd::Handled GnmiFrontEnd::handle(Session& session, const Frame& request, Instant now) {
  if (request.verb == "Capabilities") return capabilities(request, now);
  if (request.verb == "Get") return get(request, now);
  if (request.verb == "Set") return set(session, request, now);
  if (request.verb == "Subscribe") return subscribe(session, request, now);
  return {answer(request, kUnimplemented, "no such method"), now};
}

MessageFrontEnd::Handled GnmiFrontEnd::capabilities(const Frame& request, Instant now) {
  gnmi::CapabilityResponse response;
  gnmi::ModelData& model = *response.add_supported_models();
  model.set_name(ocp() ? "ocp-ocs-connection-management" : "sonic-db");
  model.set_organization(ocp() ? "OCP" : "SONiC");
  model.set_version(ocp() ? "0.8.0" : "0.1.0");
  response.add_supported_encodings(gnmi::JSON_IETF);
  response.set_gnmi_version("0.10.0");
  return {answer(request, 0, response.SerializeAsString()), now};
}

std::string GnmiFrontEnd::name_of(const CrossConnect& pair) const {
  for (const auto& [name, named] : names_) {
    if (named == pair) return name;
  }
  return cross_connect_name(pair);
}

std::string GnmiFrontEnd::connections_json(Instant now, const std::string& only_name) {
  if (!ocp()) {
    json::object table;
    for (const CrossConnect& pair : model_.connections(now)) {
      const char* status = sonic_status(model_.reading(pair.out, now).status);
      table[cross_connect_name(pair)] = {{"a_side", input_name(pair.in)}, {"b_side", output_name(pair.out)},
                                         {"a_side_status", status}, {"b_side_status", status}};
    }
    return json::serialize(table);
  }
  json::array list;
  const auto add = [&](const std::string& name, const CrossConnect& pair, const char* status) {
    if (!only_name.empty() && name != only_name) return;
    list.push_back({{"name", name},
                    {"config", {{"name", name}, {"input-port-name", input_name(pair.in)},
                                {"output-port-name", output_name(pair.out)}}},
                    {"state", {{"name", name}, {"status", status}}}});
  };
  for (const CrossConnect& pair : model_.connections(now)) {
    const PortStatus status = model_.reading(pair.out, now).status;
    add(name_of(pair), pair, status == PortStatus::tuned    ? "CONNECTED"
                             : status == PortStatus::failed ? "FAILED"
                                                            : "PENDING_CONNECTION");
  }
  for (const auto& [name, pair] : invalid_) add(name, pair, "INVALID");
  return json::serialize(json::value{{"port-connection", list}});
}

std::string GnmiFrontEnd::ports_json(Instant now) {
  json::object table;
  json::array list;
  for (Position output = 0; output < model_.spec().outputs; ++output) {
    const OutputReading reading = model_.reading(output, now);
    if (!ocp()) {
      table[output_name(output)] = {{"status", sonic_status(reading.status)}};
      continue;
    }
    json::object state{{"status", ocp_status(reading.status)}};
    if (reading.power_dbm) state["output-optical-power"] = fmt::format("{:.2f}", *reading.power_dbm);
    list.push_back({{"name", output_name(output)}, {"ocp-ocs-port", {{"state", std::move(state)}}}});
  }
  return ocp() ? json::serialize(json::value{{"component", list}}) : json::serialize(table);
}

std::optional<std::string> GnmiFrontEnd::subtree(const std::string& path, Instant now) {
  const SwitchModelSpec& spec = model_.spec();
  if (ocp()) {
    if (path == "connections") return connections_json(now, "");
    constexpr std::string_view kEntry = "connections/port-connection[name=";
    if (path.rfind(kEntry, 0) == 0) {
      return connections_json(now, path.substr(kEntry.size(), path.find(']') - kEntry.size()));
    }
    if (path == "components") return ports_json(now);
    if (path != "components/component[name=chassis]/state") return std::nullopt;
    return json::serialize(json::value{{"mfg-name", spec.maker}, {"part-no", spec.model}, {"serial-no", spec.serial},
                                       {"firmware-version", spec.firmware}});
  }
  if (path == "STATE_DB/localhost/OCS_CROSS_CONNECT") return connections_json(now, "");
  if (path == "STATE_DB/localhost/OCS_PORT") return ports_json(now);
  if (path == "CONFIG_DB/localhost/OCS_CROSS_CONNECT") {
    json::object table;
    for (const CrossConnect& pair : configured_) {
      table[cross_connect_name(pair)] = {{"a_side", input_name(pair.in)}, {"b_side", output_name(pair.out)}};
    }
    return json::serialize(table);
  }
  if (path != "STATE_DB/localhost/CHASSIS_INFO/chassis 1") return std::nullopt;
  return json::serialize(json::value{{"manufacturer", spec.maker}, {"model", spec.model}, {"serial", spec.serial},
                                     {"revision", spec.firmware}});
}

MessageFrontEnd::Handled GnmiFrontEnd::get(const Frame& request, Instant now) {
  gnmi::GetRequest message;
  if (!message.ParseFromString(request.body)) return {answer(request, kInvalidArgument, "not a GetRequest"), now};
  if (message.path_size() > kUpdatesMax) return {answer(request, kInvalidArgument, "too many paths"), now};
  gnmi::GetResponse response;
  for (const gnmi::Path& path : message.path()) {
    const std::string text = text_of(message.prefix(), path);
    const auto value = subtree(text, now);
    if (!value) return {answer(request, kNotFound, "no such path: " + text), now};
    gnmi::Notification& notification = *response.add_notification();
    notification.set_timestamp(now.time_since_epoch().count());
    gnmi::Update& update = *notification.add_update();
    fill(*update.mutable_path(), text);
    update.mutable_val()->set_json_ietf_val(*value);
  }
  return {answer(request, 0, response.SerializeAsString()), now + model_.spec().command_time};
}

std::optional<std::string> GnmiFrontEnd::understand_delete(const std::string& path, Wish& wish, Instant now) {
  const std::vector<Element> parts = elements(path);
  if (ocp()) {
    const bool entry = parts.size() == 2 && parts[0].name == "connections" && parts[1].key == "name";
    if (!entry) return "only connections/port-connection[name=...] can be deleted";
    const std::string& name = parts[1].value;
    wish.deleted.push_back(name);
    for (const CrossConnect& pair : model_.connections(now)) {
      if (name_of(pair) == name) wish.write.remove.push_back(pair);
    }
    return std::nullopt;
  }
  const bool entry = parts.size() == 4 && parts[0].name == "CONFIG_DB" && parts[2].name == "OCS_CROSS_CONNECT";
  const auto pair = entry ? cross_connect_named(parts[3].name) : std::nullopt;
  if (!pair) return "only CONFIG_DB/localhost/OCS_CROSS_CONNECT/<a>-<b> can be deleted";
  wish.deleted.push_back(parts[3].name);
  if (configured_.contains(*pair)) wish.write.remove.push_back(*pair);
  return std::nullopt;
}

std::optional<std::string> GnmiFrontEnd::understand_update(const std::string& path, const std::string& text,
                                                           Wish& wish) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return "not JSON: " + error.message();
  const std::vector<Element> parts = elements(path);
  const bool port = ocp() ? parts.size() == 4 && parts[0].name == "components" && parts[2].name == "ocp-ocs-port"
                          : parts.size() == 4 && parts[0].name == "CONFIG_DB" && parts[2].name == "OCS_PORT";
  if (port) {
    const auto output = output_named(ocp() ? parts[1].value : parts[3].name);
    if (!output || *output >= model_.spec().outputs) return "no such port";
    const json::object* object = value.if_object();
    const json::value* enabled = object != nullptr ? object->if_contains("enabled") : nullptr;
    const bool enable = ocp() ? enabled != nullptr && enabled->is_bool() && enabled->get_bool()
                              : string_at(value, "state") == "normal";
    wish.ports.emplace_back(*output, enable);
    return std::nullopt;
  }
  std::string name, in_name, out_name;
  if (ocp()) {
    const bool entry = parts.size() >= 2 && parts[0].name == "connections" && parts[1].key == "name";
    if (!entry) return "no such path: " + path;
    const json::object* object = value.if_object();
    const json::value* config = object != nullptr ? object->if_contains("config") : nullptr;
    const json::value& fields = config != nullptr ? *config : value;
    name = parts[1].value;
    in_name = string_at(fields, "input-port-name");
    out_name = string_at(fields, "output-port-name");
  } else {
    const bool entry = parts.size() == 4 && parts[0].name == "CONFIG_DB" && parts[2].name == "OCS_CROSS_CONNECT";
    if (!entry) return "no such path: " + path;
    name = parts[3].name;
    in_name = string_at(value, "a_side");
    out_name = string_at(value, "b_side");
    if (name != in_name + "-" + out_name) return "key and sides differ";
  }
  const auto in = input_named(in_name);
  const auto out = output_named(out_name);
  const bool exists = in && out && *in < model_.spec().inputs && *out < model_.spec().outputs;
  if (!exists) return fmt::format("no such ports: '{}' to '{}'", in_name, out_name);
  const CrossConnect pair{*in, *out};
  wish.named[name] = pair;
  wish.write.add.push_back(pair);  // also of what is listed: it may be in the status table alone
  return std::nullopt;
}

std::optional<std::string> GnmiFrontEnd::understand(const gnmi::SetRequest& request, Wish& wish, Instant now) {
  if (request.delete__size() + request.replace_size() + request.update_size() > kUpdatesMax) return "too many updates";
  for (const gnmi::Path& path : request.delete_()) {
    if (auto error = understand_delete(text_of(request.prefix(), path), wish, now)) return error;
  }
  for (const auto* updates : {&request.replace(), &request.update()}) {
    for (const gnmi::Update& update : *updates) {
      const std::string& text = update.val().has_json_val() ? update.val().json_val() : update.val().json_ietf_val();
      if (auto error = understand_update(text_of(request.prefix(), update.path()), text, wish)) return error;
    }
  }
  return std::nullopt;
}

MessageFrontEnd::Handled GnmiFrontEnd::set(const Session& session, const Frame& request, Instant now) {
  gnmi::SetRequest message;
  if (!message.ParseFromString(request.body)) return {answer(request, kInvalidArgument, "not a SetRequest"), now};
  Wish wish;
  if (const auto error = understand(message, wish, now)) return {answer(request, kInvalidArgument, *error), now};
  Instant done = now;
  if (!wish.write.remove.empty() || !wish.write.add.empty()) {
    if (!ocp()) wish.write.conflict = WriteRequest::Conflict::steal;
    const WriteReply reply = write(session, wish.write, now);
    done = reply.accepted;
    if (reply.outcome == Outcome::rejected && ocp() && options_.firmware_variant == "keep-invalid") {
      for (const auto& [name, pair] : wish.named) invalid_[name] = pair;
      wish.named.clear();
    } else if (reply.outcome != Outcome::applied) {
      const int code = reply.outcome == Outcome::rejected ? kFailedPrecondition : kInternal;
      return {answer(request, code, reply.text), done};
    }
  }
  for (const std::string& name : wish.deleted) {
    names_.erase(name);
    invalid_.erase(name);
    if (const auto pair = cross_connect_named(name)) configured_.erase(*pair);
  }
  for (const auto& [name, pair] : wish.named) {
    if (ocp()) names_[name] = pair;
    else configured_.insert(pair);
  }
  for (const auto& [output, enable] : wish.ports) model_.set_port(output, enable, now);

  gnmi::SetResponse response;
  response.set_timestamp(done.time_since_epoch().count());
  const auto result = [&](const gnmi::Path& path, gnmi::UpdateResult::Operation operation) {
    gnmi::UpdateResult& one = *response.add_response();
    *one.mutable_path() = path;
    one.set_op(operation);
  };
  for (const gnmi::Path& path : message.delete_()) result(path, gnmi::UpdateResult::DELETE);
  for (const gnmi::Update& update : message.replace()) result(update.path(), gnmi::UpdateResult::REPLACE);
  for (const gnmi::Update& update : message.update()) result(update.path(), gnmi::UpdateResult::UPDATE);
  return {answer(request, 0, response.SerializeAsString()), done};
}

MessageFrontEnd::Handled GnmiFrontEnd::subscribe(Session& session, const Frame& request, Instant now) {
  gnmi::SubscribeRequest message;
  const bool understood = message.ParseFromString(request.body) && message.has_subscribe();
  if (!understood) return {answer(request, kInvalidArgument, "the first message of a stream is a subscription"), now};
  const gnmi::SubscriptionList& list = message.subscribe();
  if (list.mode() == gnmi::SubscriptionList::POLL) return {answer(request, kUnimplemented, "no polling"), now};
  Handled handled;
  handled.at = now + model_.spec().command_time;
  for (const gnmi::Subscription& subscription : list.subscription()) {
    const std::string path = text_of(list.prefix(), subscription.path());
    const auto value = subtree(path, now);
    if (!value) return {answer(request, kNotFound, "no such path: " + path), now};
    if (list.updates_only()) continue;
    gnmi::SubscribeResponse response;
    gnmi::Notification& notification = *response.mutable_update();
    notification.set_timestamp(now.time_since_epoch().count());
    gnmi::Update& update = *notification.add_update();
    fill(*update.mutable_path(), path);
    update.mutable_val()->set_json_ietf_val(*value);
    handled.before.push_back(answer(request, 0, response.SerializeAsString()));
  }
  gnmi::SubscribeResponse synchronised;
  synchronised.set_sync_response(true);
  Frame sync = answer(request, 0, synchronised.SerializeAsString());
  if (list.mode() == gnmi::SubscriptionList::STREAM) {
    session.subscribed = true;
    session.subscription = request.target;
    handled.reply = std::move(sync);
    return handled;
  }
  handled.before.push_back(std::move(sync));
  handled.reply = answer(request, 0, "");
  handled.reply->verb = "end";
  return handled;
}

std::optional<Frame> GnmiFrontEnd::notification(const Session& session, const std::vector<Position>&, Instant now) {
  gnmi::SubscribeResponse response;
  gnmi::Notification& notification = *response.mutable_update();
  notification.set_timestamp(now.time_since_epoch().count());
  gnmi::Update& update = *notification.add_update();
  fill(*update.mutable_path(), ocp() ? "connections" : "STATE_DB/localhost/OCS_CROSS_CONNECT");
  update.mutable_val()->set_json_ietf_val(connections_json(now, ""));
  Frame frame;
  frame.verb = "Subscribe";
  frame.target = session.subscription;
  frame.body = response.SerializeAsString();
  return frame;
}

}  // namespace photonrail::device
