#include "device/gnmi_tree.h"

#include <gnmi/gnmi.pb.h>

#include <boost/json.hpp>

#include "device/gnmi_model.h"

namespace photonrail::device {
namespace {

namespace json = boost::json;
using gnmi_model::Element;

constexpr std::size_t kDepthMost = 16;
constexpr int kUpdatesMost = 65536;

std::string_view without_module(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

json::value* find(json::object& object, std::string_view name) {
  for (auto& [key, value] : object) {
    if (without_module(key) == name) return &value;
  }
  return nullptr;
}

std::optional<json::value> value_of(const gnmi::TypedValue& typed) {
  switch (typed.value_case()) {
    case gnmi::TypedValue::kStringVal: return json::value(typed.string_val());
    case gnmi::TypedValue::kAsciiVal: return json::value(typed.ascii_val());
    case gnmi::TypedValue::kIntVal: return json::value(typed.int_val());
    case gnmi::TypedValue::kUintVal: return json::value(typed.uint_val());
    case gnmi::TypedValue::kBoolVal: return json::value(typed.bool_val());
    case gnmi::TypedValue::kFloatVal: return json::value(static_cast<double>(typed.float_val()));
    case gnmi::TypedValue::kDoubleVal: return json::value(typed.double_val());
    case gnmi::TypedValue::kJsonVal:
    case gnmi::TypedValue::kJsonIetfVal: break;
    default: return json::value(nullptr);
  }
  json::parse_options options;
  options.max_depth = kDepthMost;
  boost::system::error_code error;
  json::value value = json::parse(typed.has_json_val() ? typed.json_val() : typed.json_ietf_val(), error, {}, options);
  return error ? std::nullopt : std::optional<json::value>(std::move(value));
}

// The entry of a list with these keys, made where it is not there; none where `value` is something else than a list.
json::value* entry_of(json::value& value, const google::protobuf::Map<std::string, std::string>& keys) {
  if (value.is_null()) value = json::array();
  json::array* list = value.if_array();
  if (list == nullptr) return nullptr;
  for (json::value& entry : *list) {
    json::object* object = entry.if_object();
    bool same = object != nullptr;
    for (const auto& [key, wanted] : keys) {
      const json::value* held = same ? find(*object, key) : nullptr;
      same = held != nullptr && held->is_string() && std::string_view(held->get_string()) == wanted;
    }
    if (same) return &entry;
  }
  json::object added;
  for (const auto& [key, wanted] : keys) added[key] = wanted;
  list->push_back(std::move(added));
  return &list->back();
}

// One step down, made where it is not there; none where there is something else.
json::value* step_into(json::value& from, const gnmi::PathElem& element) {
  if (from.is_null()) from = json::object();
  json::object* object = from.if_object();
  if (object == nullptr) return nullptr;
  const std::string_view name = without_module(element.name());
  json::value* next = find(*object, name);
  if (next == nullptr) next = &(*object)[name];
  return element.key().empty() ? next : entry_of(*next, element.key());
}

bool place(json::value& at, json::value value) {
  if (at.is_object() && value.is_object()) {
    for (auto& [key, member] : value.get_object()) at.get_object()[key] = std::move(member);
    return true;
  }
  if (at.is_structured()) return false;
  at = std::move(value);
  return true;
}

// The node at `path`, or none.
json::value* node_at(json::value& root, const std::vector<Element>& path) {
  json::value* node = &root;
  for (const Element& element : path) {
    json::object* object = node->if_object();
    node = object != nullptr ? find(*object, element.name) : nullptr;
    if (node == nullptr || element.key.empty()) {
      if (node == nullptr) return nullptr;
      continue;
    }
    json::array* list = node->if_array();
    node = nullptr;
    if (list == nullptr) return nullptr;
    for (json::value& entry : *list) {
      const json::value* key = entry.is_object() ? find(entry.get_object(), element.key) : nullptr;
      if (key != nullptr && key->is_string() && std::string_view(key->get_string()) == element.value) node = &entry;
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

gnmi::Path path_of(const std::vector<Element>& elements) {
  gnmi::Path path;
  for (const Element& element : elements) {
    gnmi::PathElem& added = *path.add_elem();
    added.set_name(element.name);
    if (!element.key.empty()) (*added.mutable_key())[element.key] = element.value;
  }
  return path;
}

}  // namespace

std::optional<std::string> subtree_of(const gnmi::GetResponse& response, std::string_view path) {
  const std::vector<Element> wanted = gnmi_model::elements(path);
  const gnmi::Path asked = path_of(wanted);
  json::value root = json::object();
  int updates = 0;
  for (const gnmi::Notification& notification : response.notification()) {
    for (const gnmi::Update& update : notification.update()) {
      if (++updates > kUpdatesMost) return std::nullopt;
      auto value = value_of(update.val());
      if (!value) return std::nullopt;
      gnmi::Path full = notification.prefix();
      full.mutable_elem()->MergeFrom(update.path().elem());
      if (full.elem().empty()) full = asked;     // a value without a path is the answer to the question
      json::value* at = &root;
      if (static_cast<std::size_t>(full.elem_size()) > kDepthMost) return std::nullopt;
      for (const gnmi::PathElem& element : full.elem()) {
        at = step_into(*at, element);
        if (at == nullptr) return std::nullopt;
      }
      if (!place(*at, std::move(*value))) return std::nullopt;
    }
  }
  const json::value* node = node_at(root, wanted);
  return node == nullptr || node->is_null() ? std::string() : json::serialize(*node);
}

}  // namespace photonrail::device
