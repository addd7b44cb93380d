// Driver of optical switches by gNMI, with the data model of OCP or of SONiC (gnmi_model.h).
//
// A frame is one serialised message: verb is the method, target the number of the call (the carrier gives it back), so
// a late reply is recognised. A write is one Set: a transaction, by the specification; an error other than a plain
// refusal is taken as `failed`, because Sets have been seen to fail and be applied (sonic-net/sonic-gnmi issue 238).
// OCP: entries that the device could not use stay as INVALID and must be deleted: the next write does it. SONiC: a
// cross-connect that is in the state and not in the configuration (sonic-mgmt issue 25382) is written once and then
// deleted. Changes are subscribed to (ON_CHANGE) and become events; a stream that ends is opened again with the next
// read.
#pragma once

#include <map>
#include <set>

#include "device/gnmi_model.h"
#include "device/message_driver.h"

namespace photonrail::device {

class GnmiDriver final : public MessageDriver {
 public:
  explicit GnmiDriver(gnmi_model::Profile profile) : profile_(profile) {}
  Dialect dialect() const override {
    return profile_ == gnmi_model::Profile::ocp ? Dialect::ocp_gnmi : Dialect::sonic_gnmi;
  }

 protected:
  std::vector<Request> greeting() override;
  std::vector<Request> requests_of(const Command& command) override;
  Verdict on_reply(const Request& request, const Frame& frame) override;
  bool on_unasked(const Frame& frame) override;
  bool replies_are_tagged() const override { return true; }
  void stamp(Request& request) override;

 private:
  enum Step { kCapabilities, kIdentity, kSubscribe, kConfig, kState, kPorts, kSet };
  bool ocp() const { return profile_ == gnmi_model::Profile::ocp; }
  Request subscription() const;
  std::string_view path_of(Step step) const;  // of what a step reads
  Request get(Step step) const;
  Request set(const std::vector<CrossConnect>& remove, const std::vector<CrossConnect>& add,
              const std::vector<std::size_t>& pairs) const;
  Verdict on_get(Step step, const std::string& body);
  bool read_connections(Step step, std::string_view json);
  bool read_ports(std::string_view json);
  bool read_identity(std::string_view json);

  gnmi_model::Profile profile_;
  std::uint64_t call_ = 0;
  std::string stream_;                         // number of the call that subscribes; empty: it has ended
  std::map<CrossConnect, std::string> names_;  // OCP: of the entries as last read
  std::set<std::string> invalid_;              // OCP: entries to be deleted
  std::set<CrossConnect> configured_;          // SONiC: as last read
};

}  // namespace photonrail::device
