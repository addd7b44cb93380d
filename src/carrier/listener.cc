#include "carrier/listener.h"

#include "carrier/acceptor.h"
#include "carrier/links.h"

namespace photonrail::carrier {
namespace {

tl::unexpected<Error> refused(const ListenerSpec& spec, std::string_view why) {
  return fail(ErrorCode::invalid_input, fmt::format("{} on {}:{}: {}", name(spec.dialect), spec.host, spec.port, why));
}

Status readable(const std::string& path) {
  auto content = read_file(path);
  if (!content) return fail(std::move(content.error()));
  return {};
}

Status check(const ListenerSpec& spec, bool grpc) {
  if (!spec.tls) return {};
  PR_TRY(readable(spec.certificate_file));
  PR_TRY(readable(spec.key_file));
  if (grpc && spec.authority_file.empty()) return refused(spec, "the authority of clients' certificates is needed");
  return spec.authority_file.empty() ? Status() : readable(spec.authority_file);
}

}  // namespace

Result<Tcp::acceptor> open_acceptor(boost::asio::io_context& io, const Strand& strand, const ListenerSpec& spec) {
  Problem problem;
  Tcp::resolver resolver(io);
  const auto found = resolver.resolve(spec.host, spec.port, Tcp::resolver::passive, problem);
  Tcp::acceptor acceptor(strand);
  const auto step = [&](auto&& act) {
    if (!problem) act();
  };
  step([&] { acceptor.open(found->endpoint().protocol(), problem); });
  step([&] { acceptor.set_option(Tcp::acceptor::reuse_address(true), problem); });
  step([&] { acceptor.bind(found->endpoint(), problem); });
  step([&] { acceptor.listen(Tcp::acceptor::max_listen_connections, problem); });
  if (!problem) return acceptor;
  return fail(ErrorCode::io, fmt::format("cannot listen on {}:{}: {}", spec.host, spec.port, problem.message()));
}

Result<std::unique_ptr<Listener>> listen(boost::asio::io_context& io, const ListenerSpec& spec, ListenerEvents events) {
  switch (spec.dialect) {
    case device::Dialect::polatis_netconf:
      if (!is_loopback(spec.host)) return refused(spec, "plain TCP: loopback only, SSH goes in front of it");
      return listen_for_streams(io, spec, std::move(events));
    case device::Dialect::polatis_restconf:
      PR_TRY(check(spec, false));
      return listen_for_http(io, spec, std::move(events));
    case device::Dialect::ocp_gnmi:
    case device::Dialect::sonic_gnmi:
      PR_TRY(check(spec, true));
      if (!spec.tls && !is_loopback(spec.host)) return refused(spec, "TLS is needed beyond loopback");
      return listen_for_gnmi(spec, std::move(events));
    case device::Dialect::polatis_scpi:
    case device::Dialect::polatis_tl1:
    case device::Dialect::calient_tl1:
    case device::Dialect::glimmerglass_tl1: break;
  }
  return listen_for_streams(io, spec, std::move(events));
}

}  // namespace photonrail::carrier
