#include "device/xml_text.h"

#include <pugixml.hpp>

#include "device/dialect_text.h"

namespace photonrail::device {
namespace {

constexpr std::size_t kDocumentMax = std::size_t{4} << 20;

std::string_view local(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

pugi::xml_node wrapped(void* node) { return pugi::xml_node(static_cast<pugi::xml_node_struct*>(node)); }

}  // namespace

struct XmlDocument::Impl {
  pugi::xml_document document;
};

std::optional<XmlDocument> XmlDocument::parse(std::string_view text) {
  if (text.size() > kDocumentMax) return std::nullopt;
  auto impl = std::make_shared<Impl>();
  if (!impl->document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8))
    return std::nullopt;
  if (!impl->document.document_element()) return std::nullopt;
  XmlDocument result;
  result.impl_ = std::move(impl);
  return result;
}

XmlNode XmlDocument::root() const { return XmlNode(impl_->document.document_element().internal_object()); }

std::string_view XmlNode::name() const { return node_ == nullptr ? std::string_view() : local(wrapped(node_).name()); }

std::string_view XmlNode::attribute(std::string_view name) const {
  if (node_ == nullptr) return {};
  for (const pugi::xml_attribute& attribute : wrapped(node_).attributes()) {
    const std::string_view full = attribute.name();
    if (full.rfind("xmlns", 0) != 0 && local(full) == name) return attribute.value();
  }
  return {};
}

std::string XmlNode::text() const {
  return node_ == nullptr ? std::string() : std::string(trimmed(wrapped(node_).child_value()));
}

XmlNode XmlNode::child(std::string_view name) const {
  if (node_ == nullptr) return {};
  for (const pugi::xml_node& child : wrapped(node_).children()) {
    if (child.type() == pugi::node_element && local(child.name()) == name) return XmlNode(child.internal_object());
  }
  return {};
}

XmlNode XmlNode::at(std::initializer_list<std::string_view> path) const {
  XmlNode node = *this;
  for (const std::string_view name : path) node = node.child(name);
  return node;
}

std::vector<XmlNode> XmlNode::children() const {
  std::vector<XmlNode> result;
  if (node_ == nullptr) return result;
  for (const pugi::xml_node& child : wrapped(node_).children()) {
    if (child.type() == pugi::node_element) result.push_back(XmlNode(child.internal_object()));
  }
  return result;
}

std::string xml_escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
      result += c;
  }
  return result;
}

}  // namespace photonrail::device
