#include "device/restconf_front_end.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "device/dialect_text.h"
#include "device/polatis_yang.h"
#include "device/restconf_driver.h"

namespace photonrail::device {
namespace {

namespace json = boost::json;
namespace yang = polatis_yang;

constexpr std::string_view kData = "/api/data/optical-switch:";
constexpr std::string_view kSetState = "/api/operations/optical-switch:port-set-state";
constexpr std::string_view kPair = "cross-connects/pair=";
constexpr std::size_t kBodyMax = std::size_t{8} << 20;
constexpr std::size_t kPairsMax = 65536;

Frame reply(int status, std::string body = {}) {
  Frame frame;
  frame.status = status;
  frame.body = std::move(body);
  return frame;
}

Frame error(int status, std::string_view tag, std::string_view message) {
  const json::value body = {
      {"ietf-restconf:errors",
       {{"error", json::array{{{"error-type", "application"}, {"error-tag", tag}, {"error-message", message}}}}}}};
  return reply(status, json::serialize(body));
}

// Pairs of {"optical-switch:pair":[...]} or of the container with it; nothing where a port is none.
std::optional<std::vector<CrossConnect>> pairs_of(const std::string& body, const SwitchModelSpec& spec) {
  if (body.size() > kBodyMax) return std::nullopt;
  boost::system::error_code failure;
  json::value value = json::parse(body, failure);
  if (failure || !value.is_object()) return std::nullopt;
  if (const json::value* container = value.get_object().if_contains("optical-switch:cross-connects")) {
    value = json::value(*container);
  }
  if (!value.is_object()) return std::nullopt;
  const json::value* list = value.get_object().if_contains("optical-switch:pair");
  if (list == nullptr) list = value.get_object().if_contains("pair");
  std::vector<CrossConnect> pairs;
  if (list == nullptr) return pairs;
  if (!list->is_array() || list->get_array().size() > kPairsMax) return std::nullopt;
  for (const json::value& entry : list->get_array()) {
    const json::object* object = entry.if_object();
    const json::value* in = object != nullptr ? object->if_contains("ingress") : nullptr;
    const json::value* out = object != nullptr ? object->if_contains("egress") : nullptr;
    if (in == nullptr || out == nullptr) return std::nullopt;
    const auto in_number = in->to_number<std::uint16_t>(failure);
    if (failure) return std::nullopt;
    const auto out_number = out->to_number<std::uint16_t>(failure);
    if (failure) return std::nullopt;
    const auto input = yang::input_of(in_number, spec.inputs);
    const auto output = yang::output_of(out_number, spec.inputs, spec.outputs);
    if (!input || !output) return std::nullopt;
    pairs.push_back({*input, *output});
  }
  return pairs;
}

}  // namespace

MessageFrontEnd::Handled RestconfFrontEnd::handle(Session& session, const Frame& request, Instant now) {
  if (!options_.credentials.user.empty()) {
    if (request.authorization != basic_authorization(options_.credentials)) {
      return {error(401, "access-denied", "name and password"), now};
    }
    session.user = options_.credentials.user;
  }
  const std::string_view target = request.target;
  if (target == kSetState) {
    return request.verb == "POST" ? set_ports(request, now)
                                  : Handled{error(405, "operation-not-supported", "POST"), now};
  }
  if (target.rfind(kData, 0) != 0) return {error(404, "invalid-value", "no such resource"), now};
  const std::string_view resource = target.substr(kData.size());
  if (request.verb == "GET") return get(resource, now);
  if (request.verb == "DELETE" && resource.rfind(kPair, 0) == 0) {
    const auto number = parse_natural(resource.substr(kPair.size()), 65535);
    const auto input = number ? yang::input_of(*number, model_.spec().inputs) : std::nullopt;
    if (!input) return {error(404, "invalid-value", "no such port"), now};
    return remove_pair(session, *input, now);
  }
  const bool writes = request.verb == "PUT" || request.verb == "PATCH";
  if (writes && resource.rfind("cross-connects", 0) == 0) return write_pairs(session, request, resource, now);
  return {error(405, "operation-not-supported", "not on this resource"), now};
}

MessageFrontEnd::Handled RestconfFrontEnd::get(std::string_view resource, Instant now) {
  const SwitchModelSpec& spec = model_.spec();
  const Instant at = now + spec.command_time;
  if (resource == "product-information") {
    const json::value body = {{"optical-switch:product-information",
                               {{"manufacturer", spec.maker},
                                {"serial-number", spec.serial},
                                {"model-name", spec.model},
                                {"software-version", spec.firmware}}}};
    return {reply(200, json::serialize(body)), at};
  }
  const bool one = resource.rfind(kPair, 0) == 0;
  if (resource == "cross-connects" || one) {
    json::array pairs;
    for (const CrossConnect& pair : model_.connections(now)) {
      if (one && std::to_string(yang::ingress(pair.in)) != resource.substr(kPair.size())) continue;
      pairs.push_back({{"ingress", yang::ingress(pair.in)}, {"egress", yang::egress(pair.out, spec.inputs)}});
    }
    if (one && pairs.empty()) return {error(404, "invalid-value", "no cross-connect of this ingress"), at};
    if (one) return {reply(200, json::serialize(json::value{{"optical-switch:pair", pairs}})), at};
    return {reply(200, json::serialize(json::value{{"optical-switch:cross-connects", {{"pair", pairs}}}})), at};
  }
  const bool power = resource == "opm-power";
  if (resource != "port-config" && !(power && spec.has_power)) {
    return {error(404, "invalid-value", "no such resource"), now};
  }
  json::array ports;
  for (Position output = 0; output < spec.outputs; ++output) {
    const OutputReading reading = model_.reading(output, now);
    json::object port{{"port-id", yang::egress(output, spec.inputs)}};
    if (power)
      port["power"] = two_decimals(reading.power_dbm.value_or(yang::kDarkDbm));
    else
      port["status"] = yang::status_text(reading.status);
    ports.push_back(std::move(port));
  }
  const std::string name = fmt::format("optical-switch:{}", resource);
  return {reply(200, json::serialize(json::value{{name, {{"port", ports}}}})), at};
}

MessageFrontEnd::Handled RestconfFrontEnd::write_pairs(const Session& session, const Frame& request,
                                                       std::string_view resource, Instant now) {
  const auto pairs = pairs_of(request.body, model_.spec());
  if (!pairs) return {error(400, "invalid-value", "no pairs of ports that exist"), now};
  WriteRequest write_request;
  write_request.replace_all = request.verb == "PUT" && resource == "cross-connects";
  bool created = false;
  if (resource.rfind(kPair, 0) == 0) {
    const bool matches =
        pairs->size() == 1 && std::to_string(yang::ingress(pairs->front().in)) == resource.substr(kPair.size());
    if (!matches) return {error(400, "invalid-value", "key and body differ"), now};
    created = !connection_of_input(pairs->front().in, now).has_value();
  }
  for (const CrossConnect& pair : *pairs) {
    const auto held = connection_of_input(pair.in, now);
    if (held && *held == pair && !write_request.replace_all) continue;
    // PUT and PATCH replace what an ingress had.
    if (held && !write_request.replace_all) write_request.remove.push_back(*held);
    write_request.add.push_back(pair);
  }
  if (write_request.add.empty() && !write_request.replace_all) return {reply(204), now};
  const WriteReply done = write(session, std::move(write_request), now);
  if (done.outcome == Outcome::applied) return {reply(created ? 201 : 204), done.accepted};
  if (done.outcome == Outcome::rejected) return {error(409, "in-use", done.text), done.accepted};
  return {error(500, "operation-failed", done.text), done.accepted};
}

MessageFrontEnd::Handled RestconfFrontEnd::remove_pair(const Session& session, Position in, Instant now) {
  const auto held = connection_of_input(in, now);
  if (!held) return {error(404, "data-missing", "no cross-connect of this ingress"), now};
  WriteRequest request;
  request.remove.push_back(*held);
  const WriteReply done = write(session, std::move(request), now);
  if (done.outcome == Outcome::applied) return {reply(204), done.accepted};
  if (done.outcome == Outcome::rejected) return {error(409, "in-use", done.text), done.accepted};
  return {error(500, "operation-failed", done.text), done.accepted};
}

MessageFrontEnd::Handled RestconfFrontEnd::set_ports(const Frame& request, Instant now) {
  boost::system::error_code failure;
  const json::value value = request.body.size() > kBodyMax ? json::value() : json::parse(request.body, failure);
  const json::object* input = nullptr;
  if (!failure && value.is_object()) {
    const json::value* found = value.get_object().if_contains("optical-switch:input");
    input = found != nullptr ? found->if_object() : nullptr;
  }
  if (input == nullptr) return {error(400, "malformed-message", "no optical-switch:input"), now};
  for (const auto& [name, list] : *input) {
    const bool enable = name == "port-enab";
    if ((!enable && name != "port-disab") || !list.is_array()) return {error(400, "unknown-element", name), now};
    for (const json::value& entry : list.get_array()) {
      const auto number = entry.to_number<std::uint16_t>(failure);
      const auto output = failure ? std::nullopt : yang::output_of(number, model_.spec().inputs, model_.spec().outputs);
      if (!output) return {error(400, "invalid-value", "no such port"), now};
      model_.set_port(*output, enable, now);
    }
  }
  return {reply(204), now + model_.spec().command_time};
}

}  // namespace photonrail::device
