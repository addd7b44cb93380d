#include "journal/audit.h"

#include <gtest/gtest.h>

namespace photonrail::journal {
namespace {

std::string log_of(const std::vector<std::string>& payloads) {
  AuditChain chain;
  std::string log;
  for (const std::string& payload : payloads) log += chain.line(payload);
  return log;
}

TEST(Audit, AWholeLogVerifiesAndGoesOnFromItsHead) {
  std::string log = log_of({R"({"who":"a"})", R"({"who":"b"})"});
  const auto verified = verify_audit(log);
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->lines, 2U);
  AuditChain more(verified->head);
  log += more.line("c");
  EXPECT_EQ(verify_audit(log)->lines, 3U);
  EXPECT_TRUE(verify_audit(log, verified->head).has_value());
}

// The first hash by another program: printf '%064d x' 0 | sha256sum
TEST(Audit, TheHashIsSha256OfTheLineBeforeAndThePayload) {
  EXPECT_EQ(log_of({"x"}).substr(0, 64), "a758c08f9180cc97b92895d9ce2ecd4a65564295070f93744a73540674727147");
}

TEST(Audit, EveryChangeRemovalAndExchangeShows) {
  const std::vector<std::string> payloads{"one", "two", "three", "four"};
  const std::string log = log_of(payloads);
  for (std::size_t i = 0; i < log.size(); ++i) {
    std::string changed = log;
    changed[i] = changed[i] == 'q' ? 'r' : 'q';
    const auto verified = verify_audit(changed);
    EXPECT_TRUE(!verified || verified->torn_bytes > 0) << "byte " << i;  // the last line end makes a torn line
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = log.find('\n', at) + 1;
    lines.push_back(log.substr(at, end - at));
    at = end;
  }
  EXPECT_FALSE(verify_audit(lines[0] + lines[2] + lines[3]).has_value());
  EXPECT_FALSE(verify_audit(lines[0] + lines[2] + lines[1] + lines[3]).has_value());
  const auto error = verify_audit(lines[0] + lines[1] + "x" + lines[2].substr(1) + lines[3]);
  ASSERT_FALSE(error.has_value());
  EXPECT_NE(error.error().message.find("line 3"), std::string::npos);
}

TEST(Audit, LinesCutFromTheEndShowAgainstANotedHead) {
  const std::string log = log_of({"one", "two", "three"});
  const std::string head = verify_audit(log)->head;
  const std::string cut = log.substr(0, log.find('\n') + 1);
  EXPECT_TRUE(verify_audit(cut).has_value());
  EXPECT_FALSE(verify_audit(cut, head).has_value());
}

}  // namespace
}  // namespace photonrail::journal
