#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "security/certificates.h"
#include "security/identity.h"
#include "security/roles.h"

namespace photonrail::security {
namespace {

using Role = daemon::Identity::Role;

std::string plain_name() {
  const auto letter = rc::gen::elementOf(std::string("abcXYZ019._-"));
  std::string out = *rc::gen::container<std::string>(letter);
  return "n" + out.substr(0, 100);
}

// Whoever is written is read back as the same, and as nobody else's rank or job.
RC_GTEST_PROP(Identity, WrittenIsReadBack, ()) {
  daemon::Identity identity;
  identity.role = *rc::gen::element(Role::rank, Role::viewer, Role::scheduler, Role::operator_);
  if (identity.role == Role::rank) {
    identity.job = plain_name();
    if (*rc::gen::arbitrary<bool>()) identity.rank = *rc::gen::arbitrary<control::Rank>();
  }
  const std::string id = spiffe_id(identity, "site");
  const auto back = parse_identity(id, "site");
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->role == identity.role);
  RC_ASSERT(back->job == identity.job);
  RC_ASSERT(back->rank == identity.rank);
  RC_ASSERT(back->name == id);
  RC_ASSERT(!parse_identity(id, "other").has_value());
}

// What differs by one character from an accepted name is refused, or means another identity: no two texts, one
// identity.
RC_GTEST_PROP(Identity, NoTwoTextsForOneIdentity, ()) {
  daemon::Identity identity;
  identity.job = plain_name();
  identity.rank = *rc::gen::arbitrary<control::Rank>();
  std::string id = spiffe_id(identity, "site");
  const auto at = *rc::gen::inRange<std::size_t>(0, id.size() + 1);
  id.insert(at, 1, *rc::gen::arbitrary<char>());
  const auto back = parse_identity(id, "site");
  if (!back) return;
  RC_ASSERT(spiffe_id(*back, "site") == id);
}

RC_GTEST_PROP(Identity, GarbageIsReadOrRefused, ()) {
  const auto garbage = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("sp/:jobrank.0129%")));
  const auto back = parse_identity("spiffe://site/" + garbage, "site");
  if (back) RC_ASSERT(spiffe_id(*back, "site") == "spiffe://site/" + garbage);
}

TEST(Identity, ForgedNamesAreRefused) {
  for (const char* id : {
           "",
           "spiffe://",
           "spiffe://site",
           "spiffe://site/",
           "spiffe://site/job",
           "spiffe://site/job/",
           "spiffe://site/job//rank/1",
           "spiffe://site/job/a/",
           "spiffe://site/job/a/rank",
           "spiffe://site/job/a/rank/",
           "spiffe://site/job/a/rank/-1",
           "spiffe://site/job/a/rank/+1",
           "spiffe://site/job/a/rank/01",
           "spiffe://site/job/a/rank/1/",
           "spiffe://site/job/a/rank/1/x",
           "spiffe://site/job/a/rank/4294967296",
           "spiffe://site/job/a%2frank%2f1",
           "spiffe://site/job/../role/operator",
           "spiffe://site/role/root",
           "spiffe://site/role/operator/",
           "spiffe://site/role/Operator",
           "spiffe://site/role/operator?x",
           "spiffe://site.evil/role/operator",
           "spiffe://evil/site/role/operator",
           "SPIFFE://site/role/operator",
           "https://site/role/operator",
           "spiffe://user@site/role/operator",
           "spiffe://site:1/role/operator",
       }) {
    EXPECT_FALSE(parse_identity(id, "site")) << id;
  }
}

TEST(Identity, OneNameAndNoOther) {
  const std::string good = "spiffe://site/role/operator", other = "spiffe://site/role/viewer";
  EXPECT_TRUE(identity_of(std::vector{good}, "site"));
  EXPECT_FALSE(identity_of(std::vector<std::string>{}, "site"));
  EXPECT_FALSE(identity_of(std::vector{good, other}, "site"));
  EXPECT_FALSE(identity_of(std::vector<std::string>{"https://x", good}, "site"));
}

// The whole table, written out: a change of it must be a change of this test.
TEST(Roles, EveryMethodForEveryRole) {
  const std::string ranks = "/photonrail.control.v1.Ranks/", operators = "/photonrail.control.v1.Operator/";
  struct Row {
    std::string method;
    bool rank, viewer, scheduler, operator_;
  };
  const Row rows[] = {
      {ranks + "Attach", true, false, false, false},        {operators + "GetStatus", false, true, true, true},
      {operators + "PlanJob", false, true, true, true},     {operators + "History", false, true, true, true},
      {operators + "WatchEvents", false, true, true, true}, {operators + "SubmitJob", false, false, true, true},
      {operators + "EndJob", false, false, true, true},     {operators + "SetPort", false, false, false, true},
      {operators + "SetSwitch", false, false, false, true}, {operators + "Probe", false, false, false, true},
      {operators + "Other", false, false, false, false},    {"", false, false, false, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(allowed(Role::rank, row.method), row.rank) << row.method;
    EXPECT_EQ(allowed(Role::viewer, row.method), row.viewer) << row.method;
    EXPECT_EQ(allowed(Role::scheduler, row.method), row.scheduler) << row.method;
    EXPECT_EQ(allowed(Role::operator_, row.method), row.operator_) << row.method;
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Certificates : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/certificates-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  std::string directory_;
};

TEST_F(Certificates, SignedByTheirAuthorityAlone) {
  CertificatesSpec spec;
  spec.directory = directory_ + "/a";
  spec.jobs = {"train"};
  spec.ranks = 2;
  const auto files = make_certificates(spec);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->size(), 2u * 8);
  spec.directory = directory_ + "/b";
  ASSERT_TRUE(make_certificates(spec));

  const std::string roots = text_of(directory_ + "/a/ca.crt"), others = text_of(directory_ + "/b/ca.crt");
  for (const char* file : {"daemon", "operator", "job-train", "job-train-rank-1"}) {
    const std::string pem = text_of(fmt::format("{}/a/{}.crt", directory_, file));
    EXPECT_TRUE(chains_to(pem, roots)) << file;
    EXPECT_FALSE(chains_to(pem, others)) << file;
    ASSERT_TRUE(not_after(pem));
  }
  struct stat status{};
  ASSERT_EQ(::stat((directory_ + "/a/operator.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077, 0u) << "keys are for their owner";
}

TEST_F(Certificates, OutOfTimeIsRefused) {
  CertificatesSpec spec;
  spec.directory = directory_;
  ASSERT_TRUE(make_certificates(spec));
  const std::string roots = text_of(directory_ + "/ca.crt");
  spec.valid = std::chrono::hours(-1);  // over before it began
  ASSERT_TRUE(make_certificates(spec));
  EXPECT_EQ(text_of(directory_ + "/ca.crt"), roots) << "the authority is used again";
  EXPECT_FALSE(chains_to(text_of(directory_ + "/operator.crt"), roots));
}

TEST(CertificateText, GarbageIsNoCertificate) {
  EXPECT_FALSE(not_after("nonsense"));
  EXPECT_FALSE(chains_to("nonsense", "nonsense"));
}

TEST_F(Certificates, BadNamesAreRefused) {
  CertificatesSpec spec;
  spec.directory = directory_;
  spec.jobs = {"a/b"};
  EXPECT_FALSE(make_certificates(spec));
  spec.jobs = {};
  spec.site = "x,URI:spiffe://y";
  EXPECT_FALSE(make_certificates(spec));
  spec.site = "x";
  spec.hosts = {"h,URI:spiffe://x/role/operator"};
  EXPECT_FALSE(make_certificates(spec));
}

}  // namespace
}  // namespace photonrail::security
