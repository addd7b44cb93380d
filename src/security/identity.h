// A client's identity, out of the subjectAltName URIs of its certificate (SPIFFE ID, https://spiffe.io).
//
//   spiffe://SITE/job/ID/rank/N     rank N of the job
//   spiffe://SITE/job/ID            any rank of the job (a node agent)
//   spiffe://SITE/role/ROLE         viewer, scheduler or operator
//
// Strict: one SPIFFE ID, of this site, letter for letter; no percent-encoding, query or empty segment. Names hold
// letters, digits, '.', '_' and '-', at most 128 of them; N is a decimal number without leading zeros. Pure functions;
// any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/core.h"

namespace photonrail::security {

// `uris`: all URI names of the certificate. invalid_input with what is wrong where they give no identity.
Result<daemon::Identity> identity_of(std::span<const std::string> uris, std::string_view site);

Result<daemon::Identity> parse_identity(std::string_view spiffe_id, std::string_view site);
std::string spiffe_id(const daemon::Identity& identity, std::string_view site);  // parse_identity reads it back

bool valid_name(std::string_view name);  // of a job or site

const char* name(daemon::Identity::Role role);  // "rank", "viewer", ...

}  // namespace photonrail::security
