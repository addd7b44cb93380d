#include "device/netconf_front_end.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/dialect_text.h"
#include "device/polatis_yang.h"

namespace photonrail::device {
namespace {

namespace yang = polatis_yang;

constexpr const char* kBase = "urn:ietf:params:xml:ns:netconf:base:1.0";
constexpr std::size_t kPairsMax = 65536;

std::string error(std::string_view tag, std::string_view message) {
  return fmt::format(
      "<rpc-error><error-type>application</error-type><error-tag>{}</error-tag>"
      "<error-severity>error</error-severity><error-message>{}</error-message></rpc-error>",
      tag, xml_escape(message));
}

std::string wrapped(std::string_view name, std::string_view inner) {
  return fmt::format(R"(<{0} xmlns="{1}">{2}</{0}>)", name, yang::kNamespace, inner);
}

}  // namespace

std::optional<Frame> NetconfFrontEnd::greeting(const Session& session) {
  Frame frame;
  const char* revision = options_.firmware_variant == "pairs" ? yang::kOldRevision : yang::kRevision;
  frame.body =
      fmt::format(R"(<hello xmlns="{}"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>)"
                  R"(<capability>urn:ietf:params:netconf:base:1.1</capability>)"
                  R"(<capability>urn:ietf:params:netconf:capability:writable-running:1.0</capability>)"
                  R"(<capability>urn:ietf:params:netconf:capability:rollback-on-error:1.0</capability>)"
                  R"(<capability>{}?module=optical-switch&amp;revision={}</capability></capabilities>)"
                  R"(<session-id>{}</session-id></hello>)",
                  kBase, yang::kNamespace, revision, session.id % 0x7fffffff + 1);
  return frame;
}

MessageFrontEnd::Handled NetconfFrontEnd::handle(Session& session, const Frame& request, Instant now) {
  const auto document = XmlDocument::parse(request.body);
  if (!document) {
    session.closing = true;  // RFC 6241: what is not well-formed cannot be answered by 1.1 peers
    return {std::nullopt, now};
  }
  const XmlNode root = document->root();
  if (root.name() == "hello") {
    session.greeted = true;
    return {std::nullopt, now};
  }
  const std::string_view id = root.attribute("message-id");
  Answered answered{error("missing-attribute", "an rpc needs a message-id, after hello"), now};
  if (root.name() == "rpc" && session.greeted && !id.empty()) answered = carry_out(session, root, now);
  Frame reply;
  reply.body =
      fmt::format(R"(<rpc-reply message-id="{}" xmlns="{}">{}</rpc-reply>)", xml_escape(id), kBase, answered.body);
  return {std::move(reply), answered.at};
}

NetconfFrontEnd::Answered NetconfFrontEnd::carry_out(Session& session, const XmlNode& rpc, Instant now) {
  const auto operations = rpc.children();
  if (operations.size() != 1) return {error("missing-element", "an rpc carries one operation"), now};
  const XmlNode& operation = operations.front();
  if (operation.name() == "get" || operation.name() == "get-config") return get(operation.child("filter"), now);
  if (operation.name() == "edit-config") return edit(session, operation, now);
  if (operation.name() == "port-set-state") return set_ports(operation, now);
  if (operation.name() == "close-session") {
    session.closing = true;
    return {"<ok/>", now};
  }
  return {error("operation-not-supported", fmt::format("no operation '{}'", operation.name())), now};
}

std::string NetconfFrontEnd::container(std::string_view name, Instant now) {
  const SwitchModelSpec& spec = model_.spec();
  std::string inner;
  if (name == "product-information") {
    return wrapped(name, fmt::format("<manufacturer>{}</manufacturer><serial-number>{}</serial-number>"
                                     "<model-name>{}</model-name><software-version>{}</software-version>",
                                     xml_escape(spec.maker), xml_escape(spec.serial), xml_escape(spec.model),
                                     xml_escape(spec.firmware)));
  }
  if (name == "cross-connects") {
    for (const CrossConnect& pair : model_.connections(now)) {
      inner += fmt::format("<{0}><ingress>{1}</ingress><egress>{2}</egress></{0}>", list_name(), yang::ingress(pair.in),
                           yang::egress(pair.out, spec.inputs));
    }
    return wrapped(name, inner);
  }
  if (name != "port-config" && (name != "opm-power" || !spec.has_power)) return "";
  for (Position output = 0; output < spec.outputs; ++output) {
    const OutputReading reading = model_.reading(output, now);
    const unsigned port = yang::egress(output, spec.inputs);
    if (name == "port-config") {
      inner +=
          fmt::format("<port><port-id>{}</port-id><status>{}</status></port>", port, yang::status_text(reading.status));
    } else {
      inner += fmt::format("<port><port-id>{}</port-id><power>{}</power></port>", port,
                           two_decimals(reading.power_dbm.value_or(yang::kDarkDbm)));
    }
  }
  return wrapped(name, inner);
}

NetconfFrontEnd::Answered NetconfFrontEnd::get(const XmlNode& filter, Instant now) {
  std::string data;
  if (filter) {
    for (const XmlNode& wanted : filter.children()) {
      if (wanted.name() == "opm-power" && !model_.spec().has_power) {
        return {error("operation-not-supported", "this model has no power monitors"), now};
      }
      data += container(wanted.name(), now);
    }
  } else {
    for (const char* name : {"product-information", "cross-connects", "port-config", "opm-power"}) {
      data += container(name, now);
    }
  }
  return {"<data>" + data + "</data>", now + model_.spec().command_time};
}

NetconfFrontEnd::Answered NetconfFrontEnd::edit(const Session& session, const XmlNode& operation, Instant now) {
  if (!operation.at({"target", "running"})) return {error("invalid-value", "only running can be written"), now};
  const XmlNode list = operation.at({"config", "cross-connects"});
  if (!list) return {error("missing-element", "only cross-connects can be written"), now};
  WriteRequest request;
  request.replace_all = list.attribute("operation") == "replace";
  for (const XmlNode& pair : list.children()) {
    if (pair.name() != list_name()) return {error("unknown-element", std::string(pair.name())), now};
    if (request.remove.size() + request.add.size() >= kPairsMax) return {error("too-big", "too many pairs"), now};
    const auto in_number = parse_natural(pair.child("ingress").text(), 65535);
    const auto input = in_number ? yang::input_of(*in_number, model_.spec().inputs) : std::nullopt;
    if (!input) return {error("invalid-value", "ingress: no such port"), now};
    const std::string_view what = pair.attribute("operation");
    const auto held = connection_of_input(*input, now);
    if (what == "delete" || what == "remove") {
      if (!held && what == "delete") return {error("data-missing", "no cross-connect of this ingress"), now};
      if (held) request.remove.push_back(*held);
      continue;
    }
    const auto out_number = parse_natural(pair.child("egress").text(), 65535);
    const auto output =
        out_number ? yang::output_of(*out_number, model_.spec().inputs, model_.spec().outputs) : std::nullopt;
    if (!output) return {error("invalid-value", "egress: no such port"), now};
    if (held && what == "create") return {error("data-exists", "this ingress has a cross-connect"), now};
    if (held && held->out == *output) continue;
    request.add.push_back({*input, *output});
  }
  if (request.remove.empty() && request.add.empty() && !request.replace_all) return {"<ok/>", now};
  const WriteReply reply = write(session, std::move(request), now);
  if (reply.outcome == Outcome::applied) return {"<ok/>", reply.accepted};
  const char* tag = reply.outcome == Outcome::rejected ? "in-use" : "operation-failed";
  return {error(tag, reply.text), reply.accepted};
}

NetconfFrontEnd::Answered NetconfFrontEnd::set_ports(const XmlNode& operation, Instant now) {
  for (const XmlNode& port : operation.children()) {
    const bool enable = port.name() == "port-enab";
    if (!enable && port.name() != "port-disab") return {error("unknown-element", std::string(port.name())), now};
    const auto number = parse_natural(port.text(), 65535);
    const auto output = number ? yang::output_of(*number, model_.spec().inputs, model_.spec().outputs) : std::nullopt;
    if (!output) return {error("invalid-value", "no such port"), now};
    model_.set_port(*output, enable, now);
  }
  return {"<ok/>", now + model_.spec().command_time};
}

}  // namespace photonrail::device
