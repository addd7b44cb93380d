// The little XML that NETCONF needs, over pugixml: names without their prefixes, limits, escaping. pugixml expands no
// external entities and has no document types, so a hostile document can only be large or wrong; size is limited here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace photonrail::device {

// A node of a parsed document; cheap to copy, valid while its document lives.
class XmlNode {
 public:
  XmlNode() = default;
  explicit operator bool() const { return node_ != nullptr; }
  std::string_view name() const;                            // local name
  std::string_view attribute(std::string_view name) const;  // by local name; empty where absent
  std::string text() const;                                 // trimmed
  XmlNode child(std::string_view name) const;               // the first with this local name
  XmlNode at(std::initializer_list<std::string_view> path) const;
  std::vector<XmlNode> children() const;                    // elements only

 private:
  friend class XmlDocument;
  explicit XmlNode(void* node) : node_(node) {}
  void* node_ = nullptr;   // pugi::xml_node_struct
};

class XmlDocument {
 public:
  static std::optional<XmlDocument> parse(std::string_view text);   // nothing where it is no XML or larger than 4 MiB
  XmlNode root() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

std::string xml_escape(std::string_view text);

}  // namespace photonrail::device
