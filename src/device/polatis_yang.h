// The optical-switch YANG module of Polatis / HUBER+SUHNER, as far as drivers and front ends of NETCONF and RESTCONF
// use it: names, and the numbering of ports (ingress 1..N, egress N+1..N+M in one space). Source: module
// optical-switch, revision 2018-03-22, in ONOS (models/polatis); before 2017-08-04 the list of cross-connects is called
// `pairs` instead of `pair`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "device/types.h"

namespace photonrail::device::polatis_yang {

inline constexpr const char* kNamespace = "http://www.polatis.com/yang/optical-switch";
inline constexpr const char* kRevision = "2018-03-22";
inline constexpr const char* kOldRevision = "2017-01-01";  // of firmware variant "pairs"
inline constexpr const char* kPairSince = "2017-08-04";
inline constexpr double kDarkDbm = -60.0;

inline unsigned ingress(Position in) { return in + 1U; }
inline unsigned egress(Position out, Position inputs) { return inputs + 1U + out; }
std::optional<Position> input_of(unsigned port, Position inputs);
std::optional<Position> output_of(unsigned port, Position inputs, Position outputs);

// "ENABLED" -> unknown (the module does not say whether light is there), "DISABLED", "FAILED".
std::optional<PortStatus> status_of(std::string_view text);
const char* status_text(PortStatus status);

// Error tags of RFC 6241 appendix A that mean that nothing was done.
bool refuses(std::string_view error_tag);

}  // namespace photonrail::device::polatis_yang
