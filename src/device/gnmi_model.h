// The two data models that optical switches show over gNMI, as far as drivers and front ends use them.
//
// ocp (OCP optical circuit switching sub-project, connection-management YANG v0.8.0, a draft: names are in one place
// here)
//   /connections/port-connection[name=N]/config {name, input-port-name, output-port-name}, state {status}
//   /components/component[name=P]/ocp-ocs-port/config {enabled}, state {status, output-optical-power}
//   /components/component[name=chassis]/state {mfg-name, part-no, serial-no, firmware-version}
// sonic (SONiC OCS design, sonic-net/SONiC PR 2269; origin sonic-db)
//   CONFIG_DB/localhost/OCS_CROSS_CONNECT/1A-2B {a_side, b_side};  OCS_PORT/2B {state: normal | force_blocked}
//   STATE_DB/localhost/OCS_CROSS_CONNECT/1A-2B {a_side, b_side, a_side_status, b_side_status};  OCS_PORT/2B {status}
//   STATE_DB/localhost/CHASSIS_INFO/chassis 1 {manufacturer, model, serial, revision}
// Ports are simplex: input n is "<n+1>A", output n is "<n+1>B".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/types.h"

namespace photonrail::device::gnmi_model {

enum class Profile : std::uint8_t { ocp, sonic };

std::string input_name(Position in);
std::string output_name(Position out);
std::optional<Position> input_named(std::string_view name);  // 1..65535 and A
std::optional<Position> output_named(std::string_view name);
// "1A-2B"
std::string cross_connect_name(const CrossConnect& pair);
std::optional<CrossConnect> cross_connect_named(std::string_view name);

// BLOCKED, TUNING, ...; in either case of letters.
PortStatus status_named(std::string_view name);
const char* ocp_status(PortStatus status);
const char* sonic_status(PortStatus status);

// A path in text, keys in brackets: "connections/port-connection[name=x]/config". Exact for names without '/', '[', ']'
// and values without ']'.
struct Element {
  std::string name, key, value;  // key empty where there is none
};
std::vector<Element> elements(std::string_view path);

}  // namespace photonrail::device::gnmi_model
