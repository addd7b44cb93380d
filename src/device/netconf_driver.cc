#include "device/netconf_driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/dialect_text.h"
#include "device/polatis_yang.h"

namespace photonrail::device {
namespace {

namespace yang = polatis_yang;

constexpr std::size_t kPairsPerEdit = 256;
constexpr const char* kBase = "urn:ietf:params:xml:ns:netconf:base:1.0";
constexpr const char* kCapability = "urn:ietf:params:netconf:capability";
constexpr const char* kUnlockBody = "<unlock><target><candidate/></target></unlock>";

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
  old_names_ = candidate_ = rollback_ = false;
  capabilities_ = Capabilities{};
  capabilities_.power = true;
  capabilities_.port_control = true;
  capabilities_.login = true;  // by SSH
  capabilities_.max_batch = kPairsPerEdit;
  capabilities_.settle_typical = milliseconds(200);  // power back on a Series 6000: Opus, arXiv 2602.12521
  capabilities_.settle_max = milliseconds(1000);     // assumption
  Request hello{kHello, {}, {}, {}};
  return {hello, plain(kProduct, get("product-information")), plain(kProbePower, get("opm-power"))};
}

void NetconfDriver::stamp(Request& request) {
  if (request.step == kHello) {
    request.frame.body =
        fmt::format(R"(<hello xmlns="{}"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>)"
                    R"(<capability>urn:ietf:params:netconf:base:1.1</capability></capabilities></hello>)",
                    kBase);
    return;
  }
  ++message_id_;
  request.frame.body =
      fmt::format(R"(<rpc message-id="{}" xmlns="{}">{}</rpc>)", message_id_, kBase, request.frame.body);
}

MessageDriver::Request NetconfDriver::plain(int step, std::string body) {
  Request request{step, {}, {}, {}};
  request.frame.body = std::move(body);
  return request;
}

MessageDriver::Request NetconfDriver::edit(const Command& command, const std::vector<std::size_t>& pairs) const {
  const bool adds = command.kind == Command::Kind::add;
  const char* name = old_names_ ? "pairs" : "pair";
  std::string list;
  for (const std::size_t i : pairs) {
    const CrossConnect& pair = command.pairs[i];
    list += fmt::format(R"(<{0} nc:operation="{1}"><ingress>{2}</ingress>)", name, adds ? "merge" : "remove",
                        yang::ingress(pair.in));
    if (adds) list += fmt::format("<egress>{}</egress>", yang::egress(pair.out, identity_.inputs));
    list += fmt::format("</{}>", name);
  }
  Request request = plain(
      kWrite,
      fmt::format(R"(<edit-config><target><{0}/></target>{1}<config><cross-connects xmlns="{2}" xmlns:nc="{3}">{4})"
                  R"(</cross-connects></config></edit-config>)",
                  candidate_ ? "candidate" : "running",
                  rollback_ ? "<error-option>rollback-on-error</error-option>" : "", yang::kNamespace, kBase, list));
  if (!candidate_) request.pairs = pairs;
  return request;
}

std::vector<MessageDriver::Request> NetconfDriver::edits(const Command& command) const {
  std::vector<Request> requests;
  if (command.pairs.empty()) return requests;
  if (candidate_) requests.push_back(plain(kLock, "<lock><target><candidate/></target></lock>"));
  for (std::size_t from = 0; from < command.pairs.size(); from += kPairsPerEdit) {
    std::vector<std::size_t> pairs;
    for (std::size_t i = from; i < std::min(from + kPairsPerEdit, command.pairs.size()); ++i) pairs.push_back(i);
    requests.push_back(edit(command, pairs));
  }
  if (!candidate_) return requests;
  requests.push_back(plain(kWrite, "<commit/>"));
  requests.push_back(plain(kUnlock, kUnlockBody));
  return requests;
}

std::vector<MessageDriver::Request> NetconfDriver::requests_of(const Command& command) {
  switch (command.kind) {
    case Command::Kind::read: return {plain(kRead, get("cross-connects"))};
    case Command::Kind::readings:
      if (!capabilities_.power) return {plain(kPorts, get("port-config"))};
      return {plain(kPorts, get("port-config")), plain(kPower, get("opm-power"))};
    case Command::Kind::remove:
    case Command::Kind::add: return edits(command);
    case Command::Kind::set_ports: break;
  }
  std::string ports;
  const char* element = command.enable ? "port-enab" : "port-disab";
  for (const Position output : command.outputs) {
    ports += fmt::format("<{0}>{1}</{0}>", element, yang::egress(output, identity_.inputs));
  }
  return {plain(kWrite, fmt::format(R"(<port-set-state xmlns="{}">{}</port-set-state>)", yang::kNamespace, ports))};
}

MessageDriver::Verdict NetconfDriver::on_reply(const Request& request, const Frame& frame) {
  const auto document = XmlDocument::parse(frame.body);
  if (!document) return {};
  const XmlNode root = document->root();
  if (request.step == kHello) {
    if (root.name() != "hello") return {};
    read_hello(root);
    return {true, Outcome::applied};
  }
  if (root.name() != "rpc-reply" || root.attribute("message-id") != std::to_string(message_id_)) return {};
  for (const XmlNode& child : root.children()) {
    const bool error = child.name() == "rpc-error" && child.child("error-severity").text() != "warning";
    if (error) return on_error(request, child);
  }
  const auto verdict = [](bool understood) { return Verdict{true, understood ? Outcome::applied : Outcome::failed}; };
  const XmlNode data = root.child("data");
  switch (request.step) {
    case kProduct: return verdict(read_product(data));
    case kProbePower:
      // A box without detectors answers with an error, or with nothing.
      capabilities_.power = static_cast<bool>(data.at({"opm-power", "port"}));
      return {true, Outcome::applied};
    case kRead: return verdict(data && read_connections(data.child("cross-connects")));
    case kPorts:
    case kPower:
      read_ports(static_cast<Step>(request.step), data.child(request.step == kPorts ? "port-config" : "opm-power"));
      return verdict(static_cast<bool>(data));
    case kUnlock: return {true, Outcome::applied};
    default: return {true, root.child("ok") ? Outcome::applied : Outcome::unknown};
  }
}

void NetconfDriver::read_hello(const XmlNode& hello) {
  bool writable = false;
  for (const XmlNode& capability : hello.child("capabilities").children()) {
    const std::string text = capability.text();
    const std::size_t revision = text.find("revision=");
    if (text.rfind(yang::kNamespace, 0) == 0 && revision != std::string::npos) {
      old_names_ = text.substr(revision + 9, 10) < yang::kPairSince;
    }
    const auto has = [&](std::string_view name) {
      return text.rfind(fmt::format("{}:{}:", kCapability, name), 0) == 0;
    };
    writable = writable || has("writable-running");
    candidate_ = candidate_ || has("candidate");
    rollback_ = rollback_ || has("rollback-on-error");
  }
  candidate_ = candidate_ && !writable;
  capabilities_.atomic_batch = candidate_ || rollback_;
}

MessageDriver::Verdict NetconfDriver::on_error(const Request& request, const XmlNode& error) {
  const std::string tag = error.child("error-tag").text();
  if (request.step == kProbePower) {
    capabilities_.power = false;
    return {true, Outcome::applied};
  }
  if (request.step == kUnlock) return {true, Outcome::applied};
  append_text(answer_.device_text, shown_text(fmt::format("{}: {}", tag, error.child("error-message").text()), ""));
  const bool whole = request.pairs.size() <= 1 || capabilities_.atomic_batch;
  Verdict verdict{true, yang::refuses(tag) && whole ? Outcome::rejected : Outcome::failed};
  const bool locked = candidate_ && request.step == kWrite;
  if (locked) verdict.clean_up = {plain(kUnlock, "<discard-changes/>"), plain(kUnlock, kUnlockBody)};
  return verdict;
}

bool NetconfDriver::read_product(const XmlNode& data) {
  const XmlNode product = data.child("product-information");
  const auto size = size_in_model(product.child("model-name").text());
  if (!product || !size) return false;
  const auto text = [&](std::string_view name) { return shown_text(product.child(name).text(), ""); };
  identity_ = {text("manufacturer"),     text("model-name"), text("serial-number"),
               text("software-version"), size->inputs,       size->outputs};
  return true;
}

bool NetconfDriver::read_connections(const XmlNode& list) {
  for (const XmlNode& pair : list.children()) {
    const auto in = number(pair.child("ingress"));
    const auto out = number(pair.child("egress"));
    const auto input = in ? yang::input_of(*in, identity_.inputs) : std::nullopt;
    const auto output = out ? yang::output_of(*out, identity_.inputs, identity_.outputs) : std::nullopt;
    if (!input || !output) return false;
    answer_.snapshot.connections.push_back({*input, *output});
  }
  std::sort(answer_.snapshot.connections.begin(), answer_.snapshot.connections.end());
  return true;
}

void NetconfDriver::read_ports(Step step, const XmlNode& list) {
  answer_.snapshot.outputs.resize(identity_.outputs);
  for (const XmlNode& port : list.children()) {
    const auto id = number(port.child("port-id"));
    const auto output = id ? yang::output_of(*id, identity_.inputs, identity_.outputs) : std::nullopt;
    if (!output) continue;
    OutputReading& reading = answer_.snapshot.outputs[*output];
    if (step == kPorts)
      reading.status = yang::status_of(port.child("status").text()).value_or(reading.status);
    else
      reading.power_dbm = parse_decimal(port.child("power").text());
  }
}

bool NetconfDriver::on_unasked(const Frame& frame) {
  const auto document = XmlDocument::parse(frame.body);
  if (!document || document->root().name() != "notification") return false;
  add_event({Event::Kind::alarm, {}, shown_text(frame.body, "")});
  return true;
}

}  // namespace photonrail::device
