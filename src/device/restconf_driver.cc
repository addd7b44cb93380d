#include "device/restconf_driver.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/json.hpp>

#include "device/dialect_text.h"
#include "device/polatis_yang.h"

namespace photonrail::device {
namespace {

namespace json = boost::json;
namespace yang = polatis_yang;

constexpr std::size_t kBodyMax = std::size_t{8} << 20;
constexpr const char* kData = "/api/data/optical-switch:";

std::optional<json::value> parsed(std::string_view body) {
  if (body.size() > kBodyMax) return std::nullopt;
  json::parse_options options;
  options.max_depth = 16;
  boost::system::error_code error;
  json::value value = json::parse(body, error, {}, options);
  if (error) return std::nullopt;
  return value;
}

// {"optical-switch:<name>": ...}, the prefix being optional.
const json::value* member(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  if (object == nullptr) return nullptr;
  const json::value* found = object->if_contains(fmt::format("optical-switch:{}", name));
  return found != nullptr ? found : object->if_contains(name);
}

std::string text_of(const json::value* value) {
  if (value == nullptr || !value->is_string()) return "";
  return shown_text(std::string(value->get_string()), "");
}

std::optional<unsigned> port_of(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<std::uint16_t>(error);
  return error ? std::nullopt : std::optional<unsigned>(number);
}

// decimal64 is a string in RFC 7951; some firmware sends a number.
std::optional<double> power_of(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return parse_decimal(std::string_view(value->get_string()));
  boost::system::error_code error;
  const double number = value->to_number<double>(error);
  return error ? std::nullopt : std::optional<double>(number);
}

}  // namespace

std::string basic_authorization(const Credentials& credentials) {
  const std::string plain = credentials.user + ":" + credentials.password;
  std::string encoded(4 * ((plain.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                      reinterpret_cast<const unsigned char*>(plain.data()), static_cast<int>(plain.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return "Basic " + encoded;
}

std::vector<MessageDriver::Request> RestconfDriver::greeting() {
  using std::chrono::milliseconds;
  capabilities_ = Capabilities{};
  capabilities_.power = true;
  capabilities_.port_control = true;
  capabilities_.login = true;
  capabilities_.max_batch = 1;
  capabilities_.settle_typical = milliseconds(200);  // power back on a Series 6000: Opus, arXiv 2602.12521
  capabilities_.settle_max = milliseconds(1000);     // assumption
  Request product{kProduct, {}, {}, {}};
  product.frame.verb = "GET";
  product.frame.target = fmt::format("{}product-information", kData);
  Request power{kProbePower, {}, {}, {}};
  power.frame.verb = "GET";
  power.frame.target = fmt::format("{}opm-power", kData);
  return {product, power};
}

void RestconfDriver::stamp(Request& request) {
  if (!credentials_.user.empty()) request.frame.authorization = basic_authorization(credentials_);
}

std::vector<MessageDriver::Request> RestconfDriver::requests_of(const Command& command) {
  std::vector<Request> requests;
  const auto ask = [&](Step step, const char* verb, std::string target, std::string body,
                       std::vector<std::size_t> pairs) {
    Request request{step, {}, std::move(pairs), command.outputs};
    request.frame.verb = verb;
    request.frame.target = std::move(target);
    request.frame.body = std::move(body);
    requests.push_back(std::move(request));
  };
  const auto pair_target = [&](const CrossConnect& pair) {
    return fmt::format("{}cross-connects/pair={}", kData, yang::ingress(pair.in));
  };
  switch (command.kind) {
    case Command::Kind::read: ask(kRead, "GET", fmt::format("{}cross-connects", kData), "", {}); break;
    case Command::Kind::readings:
      ask(kPorts, "GET", fmt::format("{}port-config", kData), "", {});
      if (capabilities_.power) ask(kPower, "GET", fmt::format("{}opm-power", kData), "", {});
      break;
    case Command::Kind::remove:
      for (std::size_t i = 0; i < command.pairs.size(); ++i)
        ask(kDelete, "DELETE", pair_target(command.pairs[i]), "", {i});
      break;
    case Command::Kind::add:
      for (std::size_t i = 0; i < command.pairs.size(); ++i) {
        const CrossConnect& pair = command.pairs[i];
        ask(kPut, "PUT", pair_target(pair),
            fmt::format(R"({{"optical-switch:pair":[{{"ingress":{},"egress":{}}}]}})", yang::ingress(pair.in),
                        yang::egress(pair.out, identity_.inputs)),
            {i});
      }
      break;
    case Command::Kind::set_ports: {
      std::string ports;
      for (const Position output : command.outputs) {
        if (!ports.empty()) ports += ',';
        ports += std::to_string(yang::egress(output, identity_.inputs));
      }
      ask(kPost, "POST", "/api/operations/optical-switch:port-set-state",
          fmt::format(R"({{"optical-switch:input":{{"{}":[{}]}}}})", command.enable ? "port-enab" : "port-disab",
                      ports),
          {});
      break;
    }
  }
  return requests;
}

MessageDriver::Verdict RestconfDriver::on_reply(const Request& request, const Frame& frame) {
  const auto step = static_cast<Step>(request.step);
  const bool fine = frame.status >= 200 && frame.status < 300;
  const bool reads = step == kProduct || step == kRead || step == kPorts || step == kPower || step == kProbePower;
  if (step == kDelete && frame.status == 404) return {true, Outcome::applied};
  if (step == kRead && frame.status == 404) return {true, Outcome::applied};  // an empty container need not exist
  if (step == kProbePower && frame.status >= 400 && frame.status < 500) {
    capabilities_.power = false;  // no detectors
    return {true, Outcome::applied};
  }
  if (fine && !reads) return {true, Outcome::applied};
  if (fine) return {true, on_body(step, frame.body) ? Outcome::applied : Outcome::unknown};
  if (frame.status < 100 || frame.status > 599) return {};  // nothing that HTTP knows
  append_text(answer_.device_text, shown_text(fmt::format("{} {}", frame.status, frame.body), credentials_.password));
  constexpr int kRequestTimeout = 408;  // of the box: it may have acted
  const bool client_error = frame.status >= 400 && frame.status < 500 && frame.status != kRequestTimeout;
  return {true, client_error ? Outcome::rejected : Outcome::failed};
}

bool RestconfDriver::on_body(Step step, const std::string& body) {
  const auto value = parsed(body);
  if (!value) return false;
  if (step == kProduct) {
    const json::value* product = member(*value, "product-information");
    if (product == nullptr) return false;
    const auto size = size_in_model(text_of(member(*product, "model-name")));
    if (!size) return false;
    identity_ = {text_of(member(*product, "manufacturer")),
                 text_of(member(*product, "model-name")),
                 text_of(member(*product, "serial-number")),
                 text_of(member(*product, "software-version")),
                 size->inputs,
                 size->outputs};
    return true;
  }
  answer_.snapshot.outputs.resize(step == kRead ? 0 : identity_.outputs);
  const json::value* container = member(*value, step == kRead    ? "cross-connects"
                                                : step == kPorts ? "port-config"
                                                                 : "opm-power");
  if (container == nullptr) return false;
  const json::value* list = member(*container, step == kRead ? "pair" : "port");
  if (step == kProbePower) {
    capabilities_.power = list != nullptr && list->is_array() && !list->get_array().empty();
    return container->is_object();
  }
  if (list == nullptr) return container->is_object();  // an empty list need not be there
  if (!list->is_array()) return false;
  for (const json::value& entry : list->get_array()) {
    if (step == kRead) {
      const auto in = port_of(member(entry, "ingress"));
      const auto out = port_of(member(entry, "egress"));
      const auto input = in ? yang::input_of(*in, identity_.inputs) : std::nullopt;
      const auto output = out ? yang::output_of(*out, identity_.inputs, identity_.outputs) : std::nullopt;
      if (!input || !output) return false;
      answer_.snapshot.connections.push_back({*input, *output});
      continue;
    }
    const auto id = port_of(member(entry, "port-id"));
    const auto output = id ? yang::output_of(*id, identity_.inputs, identity_.outputs) : std::nullopt;
    if (!output) continue;
    OutputReading& reading = answer_.snapshot.outputs[*output];
    if (step == kPorts)
      reading.status = yang::status_of(text_of(member(entry, "status"))).value_or(reading.status);
    else
      reading.power_dbm = power_of(member(entry, "power"));
  }
  std::sort(answer_.snapshot.connections.begin(), answer_.snapshot.connections.end());
  return true;
}

}  // namespace photonrail::device
