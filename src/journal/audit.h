// The audit log: one line for each act, chained by hashes, so that a line that was changed, removed or moved shows.
//
//   line   = hash " " payload "\n"
//   hash   = hexadecimal SHA-256 of (hash of the line before, or 64 zeros) " " payload
//
// The chain cannot show that lines were cut from its end; whoever cares keeps the head (hash of the last line)
// elsewhere, as `verify` prints it and takes it. Payloads are single lines of text (JSON, by the carrier). Values; no
// thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace photonrail::journal {

class AuditChain {
 public:
  AuditChain();                                // an empty log
  explicit AuditChain(std::string head);       // goes on after the line with this hash
  std::string line(std::string_view payload);  // with its line end; moves the head
  const std::string& head() const { return head_; }

 private:
  std::string head_;
};

struct VerifiedAudit {
  std::uint64_t lines = 0;
  std::string head;
  std::size_t torn_bytes = 0;  // after the last line end: a write that was cut by a crash
};

// Reads a whole log. The error names the first line that does not follow from the one before. `expected_head`, where it
// is not empty, must be the hash of some line (a head that was noted earlier).
Result<VerifiedAudit> verify_audit(std::string_view log, std::string_view expected_head = {});

}  // namespace photonrail::journal
