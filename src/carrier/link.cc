#include "carrier/link.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <fstream>

#include "carrier/links.h"

namespace photonrail::carrier {
namespace {

constexpr std::size_t kFileMost = std::size_t{1} << 20;

tl::unexpected<Error> refused(const LinkSpec& spec, std::string_view why) {
  return fail(ErrorCode::invalid_input, fmt::format("{} to {}:{}: {}", name(spec.dialect), spec.host, spec.port, why));
}

Status readable(const std::string& path) {
  if (path.empty()) return {};
  auto content = read_file(path);
  if (!content) return fail(std::move(content.error()));
  return {};
}

// Of a spec that is refused: a file may have gone since the configuration was read.
class NoLink final : public Link {
 public:
  NoLink(boost::asio::io_context& io, std::string why, LinkEvents events)
      : gate_(std::make_shared<Gate>(std::move(events))) {
    boost::asio::post(io, [gate = gate_, why = std::move(why)] { gate->disconnected(why); });
  }
  ~NoLink() override { gate_->shut(); }
  void send(device::Frame) override {}
  void drop() override { gate_->shut(); }

 private:
  const std::shared_ptr<Gate> gate_;
};

}  // namespace

bool is_host_key(const std::string& text) { return text.rfind("ssh-", 0) == 0 || text.rfind("ecdsa-", 0) == 0; }

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  boost::system::error_code problem;
  const auto address = boost::asio::ip::make_address(host, problem);
  return !problem && address.is_loopback();
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content(kFileMost + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad() || file.gcount() == 0) return fail(ErrorCode::invalid_input, fmt::format("cannot read {}", path));
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > kFileMost) return fail(ErrorCode::invalid_input, fmt::format("{} is too large", path));
  return content;
}

Status check(const LinkSpec& spec) {
  if (spec.host.empty() || spec.port.empty()) return refused(spec, "an address is needed");
  for (const std::string* file : {&spec.authority_file, &spec.certificate_file, &spec.key_file})
    PR_TRY(readable(*file));
  switch (spec.dialect) {
    case device::Dialect::polatis_netconf:
      if (spec.host_key.empty()) return refused(spec, "the host key of the switch is needed, or a known_hosts file");
      if (spec.credentials.user.empty()) return refused(spec, "a user is needed");
      if (spec.credentials.password.empty() && spec.key_file.empty())
        return refused(spec, "a password or key is needed");
      return {};
    case device::Dialect::polatis_restconf:
    case device::Dialect::ocp_gnmi:
    case device::Dialect::sonic_gnmi:
      if (!spec.tls && !is_loopback(spec.host)) return refused(spec, "TLS is needed beyond loopback");
      if (spec.tls && spec.authority_file.empty()) return refused(spec, "the authority of its certificate is needed");
      if (spec.tls && spec.certificate_file.empty() != spec.key_file.empty()) {
        return refused(spec, "a certificate and its key go together");
      }
      return {};
    case device::Dialect::polatis_scpi:
    case device::Dialect::polatis_tl1:
    case device::Dialect::calient_tl1:
    case device::Dialect::glimmerglass_tl1:
      return {};  // have no protection: an isolated network is the operator's duty
  }
  return {};
}

std::shared_ptr<Link> open_link(boost::asio::io_context& io, const LinkSpec& spec, LinkEvents events) {
  if (auto safe = check(spec); !safe)
    return std::make_shared<NoLink>(io, std::move(safe.error().message), std::move(events));
  switch (spec.dialect) {
    case device::Dialect::polatis_netconf: return open_netconf_link(spec, std::move(events));
    case device::Dialect::polatis_restconf: return open_http_link(io, spec, std::move(events));
    case device::Dialect::ocp_gnmi:
    case device::Dialect::sonic_gnmi: return open_gnmi_link(io, spec, std::move(events));
    case device::Dialect::polatis_scpi:
    case device::Dialect::polatis_tl1:
    case device::Dialect::calient_tl1:
    case device::Dialect::glimmerglass_tl1: break;
  }
  return open_tcp_link(io, spec, std::move(events));
}

}  // namespace photonrail::carrier
