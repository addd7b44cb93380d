#include "runtime/access.h"

#include <fmt/format.h>

#include "security/certificates.h"
#include "security/identity.h"
#include "security/roles.h"

namespace photonrail::runtime {
namespace {

std::vector<std::string> properties(const grpc::CallbackServerContext& context, const char* name) {
  std::vector<std::string> out;
  const auto auth = context.auth_context();
  if (!auth) return out;
  for (const grpc::string_ref& value : auth->FindPropertyValues(name)) out.emplace_back(value.data(), value.size());
  return out;
}

}  // namespace

Result<daemon::Identity> Access::identify(const grpc::CallbackServerContext& context) const {
  if (!plaintext_) return security::identity_of(properties(context, "peer_uri"), site_);
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kIdentityMetadata);
  if (found == metadata.end()) {
    return fail(ErrorCode::invalid_input, fmt::format("no metadata {} (this listener has no TLS)", kIdentityMetadata));
  }
  return security::parse_identity({found->second.data(), found->second.size()}, site_);
}

Access::Verdict Access::check(const grpc::CallbackServerContext& context, const std::string& method) const {
  Verdict out;
  out.caller.peer = context.peer();
  auto identity = identify(context);
  if (!identity) {
    out.caller.identity.name = "unknown";
    refuse(out.caller, "unauthenticated", fmt::format("{}: {}", method, identity.error().message));
    out.status = {grpc::StatusCode::UNAUTHENTICATED, identity.error().message};
    return out;
  }
  out.caller.identity = std::move(*identity);
  const std::vector<std::string> pem = properties(context, "x509_pem_cert");
  if (!pem.empty()) {
    out.caller.certificate = pem.front();
    out.caller.certificate_ends = security::not_after(pem.front());
  }
  if (security::allowed(out.caller.identity.role, method)) return out;
  const std::string why =
      fmt::format("{} may not call {}", security::name(out.caller.identity.role), method.substr(method.rfind('/') + 1));
  refuse(out.caller, "permission denied", why);
  out.status = {grpc::StatusCode::PERMISSION_DENIED, why};
  return out;
}

void Access::refuse(const Caller& caller, const std::string& action, const std::string& detail) const {
  log_.write(Log::Level::warning, action, {{"who", caller.identity.name}, {"peer", caller.peer}, {"detail", detail}});
  daemon::AuditRecord record;
  record.who = caller.identity.name;
  record.action = action;
  record.job = caller.identity.job;
  record.detail = fmt::format("{}; from {}", detail, caller.peer);
  host_.audit_refusal(std::move(record));
}

}  // namespace photonrail::runtime
