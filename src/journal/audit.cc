#include "journal/audit.h"

#include <openssl/evp.h>

#include <array>

#include <fmt/format.h>

#include "base/check.h"

namespace photonrail::journal {
namespace {

constexpr std::size_t kHashDigits = 64;

std::string sha256(std::string_view head, std::string_view payload) {
  const std::string text = fmt::format("{} {}", head, payload);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  PR_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1 && size == 32,
           "SHA-256 is not available");
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace

AuditChain::AuditChain() : head_(kHashDigits, '0') {}
AuditChain::AuditChain(std::string head) : head_(std::move(head)) {
  PR_CHECK(head_.size() == kHashDigits, "a head that is no SHA-256");
}

std::string AuditChain::line(std::string_view payload) {
  PR_CHECK(payload.find('\n') == std::string_view::npos, "an audit record of several lines");
  head_ = sha256(head_, payload);
  return fmt::format("{} {}\n", head_, payload);
}

Result<VerifiedAudit> verify_audit(std::string_view log, std::string_view expected_head) {
  VerifiedAudit result;
  result.head.assign(kHashDigits, '0');
  bool seen = expected_head.empty() || expected_head == result.head;
  std::size_t offset = 0;
  while (offset < log.size()) {
    const std::size_t end = log.find('\n', offset);
    if (end == std::string_view::npos) break;
    const std::string_view line = log.substr(offset, end - offset);
    const bool formed = line.size() > kHashDigits && line[kHashDigits] == ' ';
    if (!formed || line.substr(0, kHashDigits) != sha256(result.head, line.substr(kHashDigits + 1))) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("line {}: does not follow from the line before: this line was changed, or one before it "
                              "was changed, removed or moved",
                              result.lines + 1));
    }
    ++result.lines;
    result.head = line.substr(0, kHashDigits);
    seen = seen || result.head == expected_head;
    offset = end + 1;
  }
  result.torn_bytes = log.size() - offset;
  if (!seen) {
    return fail(ErrorCode::invalid_input,
                fmt::format("the noted head {} is not in this log of {} lines: lines were cut from its end, or it is "
                            "another log",
                            expected_head, result.lines));
  }
  return result;
}

}  // namespace photonrail::journal
