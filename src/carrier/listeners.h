// How each listener is made; internal to this folder.
#pragma once

#include "carrier/listener.h"

namespace photonrail::carrier {

Result<std::unique_ptr<Listener>> listen_for_streams(boost::asio::io_context& io, const ListenerSpec& spec,
                                                     ListenerEvents events);
Result<std::unique_ptr<Listener>> listen_for_http(boost::asio::io_context& io, const ListenerSpec& spec,
                                                  ListenerEvents events);
Result<std::unique_ptr<Listener>> listen_for_gnmi(const ListenerSpec& spec, ListenerEvents events);

}  // namespace photonrail::carrier
