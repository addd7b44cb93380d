#include "device/driver.h"

#include <utility>

#include "device/scpi_driver.h"

namespace photonrail::device {

std::unique_ptr<Driver> make_driver(Dialect dialect, Credentials) {
  switch (dialect) {
    case Dialect::polatis_scpi: return std::make_unique<ScpiDriver>();
    case Dialect::polatis_tl1:
    case Dialect::calient_tl1:
    case Dialect::glimmerglass_tl1:
    case Dialect::polatis_netconf:
    case Dialect::polatis_restconf:
    case Dialect::ocp_gnmi:
    case Dialect::sonic_gnmi: break;
  }
  return nullptr;
}

}  // namespace photonrail::device
