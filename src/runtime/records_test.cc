#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "journal/audit.h"
#include "runtime/posix_disk.h"
#include "runtime/record_writer.h"

namespace photonrail::runtime {
namespace {

std::string fresh_directory() {
  std::string pattern = testing::TempDir() + "/records-XXXXXX";
  return ::mkdtemp(pattern.data());
}

TEST(PosixDisk, KeepsWhatTheContractSays) {
  const std::string directory = fresh_directory();
  {
    auto disk = PosixDisk::open(directory);
    ASSERT_TRUE(disk) << disk.error().message;
    ASSERT_TRUE((*disk)->append("b", "one"));
    ASSERT_TRUE((*disk)->append("b", "two"));
    ASSERT_TRUE((*disk)->sync("b"));
    ASSERT_TRUE((*disk)->append("a", "x"));
    EXPECT_EQ((*disk)->list().value(), (std::vector<std::string>{"a", "b"})) << "sorted, without the lock";
    EXPECT_EQ((*disk)->read("b").value(), "onetwo");
    ASSERT_TRUE((*disk)->truncate("b", 4));
    ASSERT_TRUE((*disk)->append("b", "!")) << "appended at the new end";
    EXPECT_EQ((*disk)->read("b").value(), "onet!");
    EXPECT_EQ((*disk)->tail("b", 2).value(), "t!");
    EXPECT_EQ((*disk)->tail("none", 2).value(), "");
    EXPECT_FALSE((*disk)->read("none"));
    ASSERT_TRUE((*disk)->rename("b", "a"));
    EXPECT_EQ((*disk)->read("a").value(), "onet!") << "what was there is replaced";
    ASSERT_TRUE((*disk)->append("a", "?")) << "not to the file that had the name before";
    EXPECT_EQ((*disk)->read("a").value(), "onet!?");
    ASSERT_TRUE((*disk)->remove("a"));
    EXPECT_TRUE((*disk)->list().value().empty());
    EXPECT_FALSE((*disk)->remove("a"));
  }
}

TEST(PosixDisk, OneProcessAtATime) {
  const std::string directory = fresh_directory();
  auto first = PosixDisk::open(directory);
  ASSERT_TRUE(first);
  const auto second = PosixDisk::open(directory);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another photonraild"), std::string::npos);
  first->reset();
  EXPECT_TRUE(PosixDisk::open(directory));
}

// A writer whose durable callback can be waited for.
class Writing {
 public:
  explicit Writing(const std::string& directory) : metrics({}) {
    auto opened = RecordWriter::open(directory, metrics);
    EXPECT_TRUE(opened) << opened.error().message;
    writer = std::move(*opened);
    recovered = writer->recovered();
    writer->start(
        [this](daemon::RecordNumber number) {
          const std::lock_guard lock(mutex);
          durable = number;
          wake.notify_all();
        },
        [](const Error& error) { ADD_FAILURE() << error.message; });
  }
  void wait_for(daemon::RecordNumber number) {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return durable >= number; });
  }
  Metrics metrics;
  std::unique_ptr<RecordWriter> writer;
  std::vector<std::string> recovered;
  std::mutex mutex;
  std::condition_variable wake;
  daemon::RecordNumber durable = 0;
};

// What was called durable is there after a restart, in order, also across compactions.
RC_GTEST_PROP(RecordWriter, DurableIsRecovered, ()) {
  const std::string directory = fresh_directory();
  std::vector<std::string> model;
  for (int life = 0; life < 3; ++life) {
    Writing w(directory);
    RC_ASSERT(w.recovered == model);
    daemon::RecordNumber number = 100 * static_cast<daemon::RecordNumber>(life);
    for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
      if (*rc::gen::inRange(0, 5) == 0 && number % 100 != 0) {
        w.wait_for(number);  // or the compaction may be passed over for one that waits
        model = {"all of " + std::to_string(number)};
        w.writer->compact(model);
      }
      model.push_back("record " + std::to_string(++number));
      w.writer->append(number, model.back());
    }
    w.wait_for(number);
  }
}

TEST(RecordWriter, AuditIsChainedAcrossLivesAndFound) {
  const std::string directory = fresh_directory();
  const auto record = [](std::string action, std::string job) {
    daemon::AuditRecord r;
    r.who = "somebody \"quoted\"\n";
    r.action = std::move(action);
    r.job = std::move(job);
    r.request = 7;
    return r;
  };
  {
    Writing w(directory);
    w.writer->audit(record("first", "a"));
    w.writer->audit(record("second", "b"));
    w.writer->stop();
  }
  std::ofstream(directory + "/audit.log", std::ios::app) << "torn, without an end";
  Writing w(directory);
  w.writer->audit(record("third", "a"));
  w.writer->stop();
  std::ifstream file(directory + "/audit.log");
  const std::string log{std::istreambuf_iterator<char>(file), {}};
  const auto verified = journal::verify_audit(log);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->lines, 3u) << "the torn line is cut, the chain goes on";
  EXPECT_EQ(verified->torn_bytes, 0u);

  const auto all = w.writer->history({});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ(all->at(0).record.action, "first");
  EXPECT_EQ(all->at(0).record.who, "somebody \"quoted\"\n");
  EXPECT_EQ(all->at(2).record.request, 7u);
  EXPECT_EQ(w.writer->history({"a", "", 100})->size(), 2u);
  EXPECT_EQ(w.writer->history({"", "second", 100})->size(), 1u);
  const auto last = w.writer->history({"", "", 1});
  ASSERT_EQ(last->size(), 1u);
  EXPECT_EQ(last->at(0).record.action, "third") << "the newest are kept";
}

}  // namespace
}  // namespace photonrail::runtime
