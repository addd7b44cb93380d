#include "device/driver.h"

#include <utility>

#include "device/gnmi_driver.h"
#include "device/netconf_driver.h"
#include "device/restconf_driver.h"
#include "device/scpi_driver.h"
#include "device/tl1_driver.h"

namespace photonrail::device {

std::unique_ptr<Driver> make_driver(Dialect dialect, Credentials credentials) {
  switch (dialect) {
    case Dialect::polatis_scpi: return std::make_unique<ScpiDriver>();
    case Dialect::polatis_netconf: return std::make_unique<NetconfDriver>();
    case Dialect::polatis_restconf: return std::make_unique<RestconfDriver>(std::move(credentials));
    case Dialect::polatis_tl1: return std::make_unique<Tl1Driver>(make_polatis_tl1_codec(), std::move(credentials));
    case Dialect::calient_tl1: return std::make_unique<Tl1Driver>(make_calient_tl1_codec(), std::move(credentials));
    case Dialect::glimmerglass_tl1:
      return std::make_unique<Tl1Driver>(make_glimmerglass_tl1_codec(), std::move(credentials));
    case Dialect::ocp_gnmi: return std::make_unique<GnmiDriver>(gnmi_model::Profile::ocp);
    case Dialect::sonic_gnmi: return std::make_unique<GnmiDriver>(gnmi_model::Profile::sonic);
  }
  return nullptr;
}

}  // namespace photonrail::device
