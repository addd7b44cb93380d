#include "device/front_end.h"

#include <utility>

#include "device/gnmi_front_end.h"
#include "device/netconf_front_end.h"
#include "device/restconf_front_end.h"
#include "device/scpi_front_end.h"
#include "device/tl1_front_end.h"

namespace photonrail::device {

std::unique_ptr<FrontEnd> make_front_end(Dialect dialect, SwitchModel& model, FrontEndOptions options) {
  switch (dialect) {
    case Dialect::polatis_scpi: return std::make_unique<ScpiFrontEnd>(model, std::move(options));
    case Dialect::polatis_netconf: return std::make_unique<NetconfFrontEnd>(model, std::move(options));
    case Dialect::polatis_restconf: return std::make_unique<RestconfFrontEnd>(model, std::move(options));
    case Dialect::polatis_tl1:
      return std::make_unique<Tl1FrontEnd>(make_polatis_tl1_box(model), model, std::move(options));
    case Dialect::calient_tl1:
      return std::make_unique<Tl1FrontEnd>(make_calient_tl1_box(model), model, std::move(options));
    case Dialect::glimmerglass_tl1:
      return std::make_unique<Tl1FrontEnd>(make_glimmerglass_tl1_box(model), model, std::move(options));
    case Dialect::ocp_gnmi: return std::make_unique<GnmiFrontEnd>(model, std::move(options), gnmi_model::Profile::ocp);
    case Dialect::sonic_gnmi:
      return std::make_unique<GnmiFrontEnd>(model, std::move(options), gnmi_model::Profile::sonic);
  }
  return nullptr;
}

}  // namespace photonrail::device
