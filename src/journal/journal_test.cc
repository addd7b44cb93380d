// What was acknowledged is there after any crash; what was damaged is refused, not forgotten.
#include "journal/journal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "journal/memory_disk.h"

namespace photonrail::journal {
namespace {

std::vector<std::string> reopened(MemoryDisk& disk) {
  auto recovered = Journal::open(disk);
  EXPECT_TRUE(recovered.has_value()) << recovered.error().message;
  return recovered ? recovered->records : std::vector<std::string>{};
}

std::string only_file(MemoryDisk& disk) { return disk.list()->back(); }

TEST(Journal, RecordsComeBackInOrder) {
  MemoryDisk disk;
  auto opened = Journal::open(disk);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->journal.append("one"), 1U);
  EXPECT_EQ(opened->journal.append(std::string("\0two", 4)), 2U);
  EXPECT_EQ(opened->journal.durable(), 0U);
  ASSERT_TRUE(opened->journal.sync().has_value());
  EXPECT_EQ(opened->journal.durable(), 2U);
  EXPECT_EQ(reopened(disk), (std::vector<std::string>{"one", std::string("\0two", 4)}));
}

TEST(Journal, NumbersGoOnAfterARestartAndACompaction) {
  MemoryDisk disk;
  {
    auto opened = Journal::open(disk);
    opened->journal.append("a");
    ASSERT_TRUE(opened->journal.sync().has_value());
  }
  auto opened = Journal::open(disk);
  EXPECT_EQ(opened->journal.append("b"), 2U);
  ASSERT_TRUE(opened->journal.sync().has_value());
  ASSERT_TRUE(opened->journal.compact({"a and b"}).has_value());
  EXPECT_EQ(opened->journal.append("c"), 3U);
  ASSERT_TRUE(opened->journal.sync().has_value());
  EXPECT_EQ(reopened(disk), (std::vector<std::string>{"a and b", "c"}));
  EXPECT_EQ(disk.list()->size(), 2U);  // one snapshot, one journal
}

TEST(Journal, ATornEndIsCutAndTheNextRecordTakesItsPlace) {
  MemoryDisk disk;
  auto opened = Journal::open(disk);
  opened->journal.append("kept");
  ASSERT_TRUE(opened->journal.sync().has_value());
  const std::string torn = encode_frame(2, "lost");
  ASSERT_TRUE(disk.append(only_file(disk), torn.substr(0, torn.size() - 1)).has_value());
  auto again = Journal::open(disk);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->torn_bytes, torn.size() - 1);
  EXPECT_EQ(again->journal.append("new"), 2U);
  ASSERT_TRUE(again->journal.sync().has_value());
  EXPECT_EQ(reopened(disk), (std::vector<std::string>{"kept", "new"}));
}

// Turn any bit of an acknowledged record that is not the last: recovery refuses. It never gives a shorter history.
TEST(Journal, DamageBeforeTheEndIsRefused) {
  MemoryDisk good;
  auto opened = Journal::open(good);
  for (const char* record : {"first", "second", "third"}) opened->journal.append(record);
  ASSERT_TRUE(opened->journal.sync().has_value());
  const std::string name = only_file(good);
  const std::size_t last = good.read(name)->size() - encode_frame(3, "third").size();
  for (std::size_t bit = 0; bit < last * 8; ++bit) {
    MemoryDisk disk = good;
    disk.flip_bit(name, bit);
    const auto recovered = Journal::open(disk);
    ASSERT_FALSE(recovered.has_value()) << "bit " << bit;
    EXPECT_NE(recovered.error().message.find("byte"), std::string::npos);
  }
}

TEST(Journal, AMissingFileIsNoticed) {
  MemoryDisk disk;
  ASSERT_TRUE(disk.append("journal-0000000000000005.log", "photonrail journal 1\n" + encode_frame(5, "x")).has_value());
  const auto recovered = Journal::open(disk);
  ASSERT_FALSE(recovered.has_value());
  EXPECT_NE(recovered.error().message.find("missing"), std::string::npos);
}

TEST(Journal, AFailedSyncClosesTheJournal) {
  MemoryDisk disk;
  auto opened = Journal::open(disk);
  opened->journal.append("x");
  disk.fail_after(1);
  EXPECT_FALSE(opened->journal.sync().has_value());
  EXPECT_FALSE(opened->journal.sync().has_value());
  EXPECT_EQ(opened->journal.durable(), 0U);
}

// Random work with a failure of the disk at any operation and a power cut at the end: what was acknowledged is there,
// in order, and nothing that was never appended.
RC_GTEST_PROP(JournalProperty, NothingAcknowledgedIsLost, (std::uint64_t seed)) {
  RandomStream random(seed, "journal-test");
  MemoryDisk disk;
  std::vector<std::string> history;  // everything appended
  std::size_t acknowledged = 0;      // of history
  for (int life = 0; life < 6; ++life) {
    auto opened = Journal::open(disk);
    if (!opened) RC_FAIL(opened.error().message);
    // A snapshot is one record that holds its predecessors, joined.
    std::vector<std::string> found;
    for (const std::string& record : opened->records) {
      std::size_t begin = 0;
      for (std::size_t end = record.find(','); end != std::string::npos; end = record.find(',', begin)) {
        found.push_back(record.substr(begin, end + 1 - begin));
        begin = end + 1;
      }
    }
    RC_ASSERT(found.size() >= acknowledged && found.size() <= history.size());
    history.resize(found.size());
    RC_ASSERT(found == history);
    acknowledged = found.size();
    if (random.below(2) == 0) disk.fail_after(random.below(12));
    for (std::uint64_t step = random.below(20); step > 0; --step) {
      if (random.below(3) > 0) {
        history.push_back(std::to_string(random.next()) + std::string(random.below(40), 'x') + ",");
        opened->journal.append(history.back());
        continue;
      }
      if (!opened->journal.sync()) break;
      acknowledged = history.size();
      if (random.below(4) > 0) continue;
      std::string all;
      for (const std::string& record : history) all += record;
      if (!opened->journal.compact({all})) break;
    }
    disk.crash(random);
  }
}

RC_GTEST_PROP(JournalProperty, AnyBytesAreReadOrRefused, (const std::string& bytes)) {
  MemoryDisk disk;
  RC_ASSERT(disk.append("journal-0000000000000001.log", "photonrail journal 1\n" + bytes).has_value());
  (void)Journal::open(disk);
}

}  // namespace
}  // namespace photonrail::journal
