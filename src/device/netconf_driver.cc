#include "device/netconf_driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/dialect_text.h"
#include "device/polatis_yang.h"
#include "device/xml_text.h"

namespace photonrail::device {
namespace {

namespace yang = polatis_yang;

constexpr std::size_t kPairsPerEdit = 256;
constexpr const char* kBase = "urn:ietf:params:xml:ns:netconf:base:1.0";

std::string get(std::string_view container) {
  return fmt::format(R"(<get><filter type="subtree"><{} xmlns="{}"/></filter></get>)", container, yang::kNamespace);
}

std::optional<unsigned> number(const XmlNode& node) {
  const auto value = parse_natural(node.text(), 65535);
  return value ? std::optional<unsigned>(*value) : std::nullopt;
}

}  // namespace

std::vector<MessageDriver::Request> NetconfDriver::greeting() {
  using std::chrono::milliseconds;
  message_id_ = 0;
  old_names_ = false;
  capabilities_ = Capabilities{};
  capabilities_.atomic_batch = true;
  capabilities_.power = true;
  capabilities_.port_control = true;
  capabilities_.login = true;      // by SSH
  capabilities_.max_batch = kPairsPerEdit;
  capabilities_.settle_typical = milliseconds(200);  // power back on a Series 6000: Opus, arXiv 2602.12521
  capabilities_.settle_max = milliseconds(1000);     // assumption
  Request hello{kHello, {}, {}, {}};
  Request product{kProduct, {}, {}, {}};
  product.frame.body = get("product-information");
  Request power{kPower, {}, {}, {}};
  power.frame.body = get("opm-power");
  return {hello, product, power};
}

void NetconfDriver::stamp(Request& request) {
  if (request.step == kHello) {
    request.frame.body = fmt::format(
        R"(<hello xmlns="{}"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>)"
        R"(<capability>urn:ietf:params:netconf:base:1.1</capability></capabilities></hello>)", kBase);
    return;
  }
  ++message_id_;
  request.frame.body =
      fmt::format(R"(<rpc message-id="{}" xmlns="{}">{}</rpc>)", message_id_, kBase, request.frame.body);
}

MessageDriver::Request NetconfDriver::edit(const Command& command, const std::vector<std::size_t>& pairs,
                                           const char* operation) const {
  Request request{kWrite, {}, pairs, {}};
  std::string list;
  const char* name = old_names_ ? "pairs" : "pair";
  for (const std::size_t i : pairs) {
    const CrossConnect& pair = command.pairs[i];
    list += fmt::format(R"(<{0} nc:operation="{1}"><ingress>{2}</ingress>)", name, operation, yang::ingress(pair.in));
    if (command.kind == Command::Kind::add) {
      list += fmt::format("<egress>{}</egress>", yang::egress(pair.out, identity_.inputs));
    }
    list += fmt::format("</{}>", name);
  }
  request.frame.body = fmt::format(
      R"(<edit-config><target><running/></target><config><cross-connects xmlns="{}" xmlns:nc="{}">{}</cross-connects>)"
      R"(</config></edit-config>)", yang::kNamespace, kBase, list);
  return request;
}

std::vector<MessageDriver::Request> NetconfDriver::requests_of(const Command& command) {
  std::vector<Request> requests;
  const auto ask = [&](Step step, std::string body) {
    Request request{step, {}, {}, command.outputs};
    request.frame.body = std::move(body);
    requests.push_back(std::move(request));
  };
  switch (command.kind) {
    case Command::Kind::read: ask(kRead, get("cross-connects")); break;
    case Command::Kind::readings:
      ask(kPorts, get("port-config"));
      if (capabilities_.power) ask(kPower, get("opm-power"));
      break;
    case Command::Kind::remove:
    case Command::Kind::add:
      for (std::size_t from = 0; from < command.pairs.size(); from += kPairsPerEdit) {
        std::vector<std::size_t> pairs;
        for (std::size_t i = from; i < std::min(from + kPairsPerEdit, command.pairs.size()); ++i) pairs.push_back(i);
        requests.push_back(edit(command, pairs, command.kind == Command::Kind::add ? "merge" : "remove"));
      }
      break;
    case Command::Kind::set_ports: {
      std::string ports;
      const char* element = command.enable ? "port-enab" : "port-disab";
      for (const Position output : command.outputs) {
        ports += fmt::format("<{0}>{1}</{0}>", element, yang::egress(output, identity_.inputs));
      }
      ask(kWrite, fmt::format(R"(<port-set-state xmlns="{}">{}</port-set-state>)", yang::kNamespace, ports));
      break;
    }
  }
  return requests;
}

MessageDriver::Verdict NetconfDriver::on_reply(const Request& request, const Frame& frame) {
  const auto document = XmlDocument::parse(frame.body);
  if (!document) return {};
  const XmlNode root = document->root();
  if (request.step == kHello) {
    if (root.name() != "hello") return {};
    for (const XmlNode& capability : root.child("capabilities").children()) {
      const std::string text = capability.text();
      const std::size_t revision = text.find("revision=");
      if (text.rfind(yang::kNamespace, 0) == 0 && revision != std::string::npos) {
        old_names_ = text.substr(revision + 9, 10) < yang::kPairSince;
      }
    }
    return {true, Outcome::applied};
  }
  if (root.name() != "rpc-reply" || root.attribute("message-id") != std::to_string(message_id_)) return {};
  if (const XmlNode error = root.child("rpc-error")) {
    append_text(answer_.device_text, fmt::format("{}: {}", error.child("error-tag").text(),
                                                 error.child("error-message").text()));
    // A box without detectors has no opm-power; that is not a failure.
    if (request.step == kPower) {
      capabilities_.power = false;
      return {true, Outcome::applied};
    }
    const bool whole = request.pairs.size() <= 1 || capabilities_.atomic_batch;
    return {true, yang::refuses(error.child("error-tag").text()) && whole ? Outcome::rejected : Outcome::failed};
  }
  const XmlNode data = root.child("data");
  switch (request.step) {
    case kProduct: {
      const XmlNode product = data.child("product-information");
      const auto size = size_in_model(product.child("model-name").text());
      if (!product || !size) return {true, Outcome::failed};
      identity_ = {product.child("manufacturer").text(), product.child("model-name").text(),
                   product.child("serial-number").text(), product.child("software-version").text(), size->inputs,
                   size->outputs};
      return {true, Outcome::applied};
    }
    case kRead: {
      if (!data) return {true, Outcome::failed};
      for (const XmlNode& pair : data.child("cross-connects").children()) {
        const auto in = number(pair.child("ingress"));
        const auto out = number(pair.child("egress"));
        const auto input = in ? yang::input_of(*in, identity_.inputs) : std::nullopt;
        const auto output = out ? yang::output_of(*out, identity_.inputs, identity_.outputs) : std::nullopt;
        if (!input || !output) return {true, Outcome::failed};
        answer_.snapshot.connections.push_back({*input, *output});
      }
      std::sort(answer_.snapshot.connections.begin(), answer_.snapshot.connections.end());
      return {true, Outcome::applied};
    }
    case kPorts:
    case kPower: {
      if (!data) return {true, Outcome::failed};
      answer_.snapshot.outputs.resize(identity_.outputs);
      const XmlNode list = data.child(request.step == kPorts ? "port-config" : "opm-power");
      for (const XmlNode& port : list.children()) {
        const auto id = number(port.child("port-id"));
        const auto output = id ? yang::output_of(*id, identity_.inputs, identity_.outputs) : std::nullopt;
        if (!output) continue;
        OutputReading& reading = answer_.snapshot.outputs[*output];
        if (request.step == kPorts) reading.status = yang::status_of(port.child("status").text()).value_or(reading.status);
        else reading.power_dbm = parse_decimal(port.child("power").text());
      }
      return {true, Outcome::applied};
    }
    default: return {true, root.child("ok") ? Outcome::applied : Outcome::unknown};
  }
}

bool NetconfDriver::on_unasked(const Frame& frame) {
  const auto document = XmlDocument::parse(frame.body);
  if (!document || document->root().name() != "notification") return false;
  add_event({Event::Kind::alarm, {}, shown_text(frame.body, "")});
  return true;
}

}  // namespace photonrail::device
