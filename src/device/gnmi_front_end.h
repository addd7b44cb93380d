// Front end of an emulated optical switch: gNMI with the data model of OCP or of SONiC (gnmi_model.h).
//
// A frame is one message of a call (driver.h). Capabilities; Get of the paths in gnmi_model.h and their parents, in
// JSON_IETF; Set as one transaction; Subscribe ONCE, and STREAM of the cross-connects on change.
// OCP: a Set that conflicts is refused whole, or, with firmware variant "keep-invalid", leaves its entries behind as
// INVALID. SONiC: an add steals busy ports; what is only in the state and not in the configuration survives a delete.
#pragma once

#include <map>
#include <set>

#include "device/gnmi_model.h"
#include "device/message_front_end.h"

namespace gnmi {
class SetRequest;
}

namespace photonrail::device {

class GnmiFrontEnd final : public MessageFrontEnd {
 public:
  GnmiFrontEnd(SwitchModel& model, FrontEndOptions options, gnmi_model::Profile profile);

 protected:
  std::optional<Frame> greeting(const Session&) override { return std::nullopt; }
  Handled handle(Session& session, const Frame& request, Instant now) override;
  std::optional<Frame> notification(const Session& session, const std::vector<Position>& changed, Instant now) override;

 private:
  bool ocp() const { return profile_ == gnmi_model::Profile::ocp; }
  Handled capabilities(const Frame& request, Instant now);
  Handled get(const Frame& request, Instant now);
  Handled set(const Session& session, const Frame& request, Instant now);
  Handled subscribe(Session& session, const Frame& request, Instant now);

  // The subtree at a path as JSON, or nothing.
  std::optional<std::string> subtree(const std::string& path, Instant now);
  std::string connections_json(Instant now, const std::string& only_name);
  std::string ports_json(Instant now);
  std::string name_of(const CrossConnect& pair) const;

  // One path of a Set, understood; an error text where it is not.
  struct Wish {
    WriteRequest write;
    std::map<std::string, CrossConnect> named;      // of added entries
    std::vector<std::string> deleted;
    std::vector<std::pair<Position, bool>> ports;   // to enable or disable
  };
  std::optional<std::string> understand(const gnmi::SetRequest& request, Wish& wish, Instant now);
  std::optional<std::string> understand_update(const std::string& path, const std::string& json, Wish& wish);
  std::optional<std::string> understand_delete(const std::string& path, Wish& wish, Instant now);

  gnmi_model::Profile profile_;
  std::map<std::string, CrossConnect> names_;       // OCP: entries by their name
  std::map<std::string, CrossConnect> invalid_;     // OCP: entries that could not be used
  std::set<CrossConnect> configured_;               // SONiC: CONFIG_DB
};

}  // namespace photonrail::device
