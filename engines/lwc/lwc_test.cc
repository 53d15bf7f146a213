// What is appended, merged, moved and divided, on trees small enough to know.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "port/port.h"
#include "seams/small_tree_fixture.h"
#include "util/mutexlock.h"

namespace leveldb {
namespace {

// Level 1 is full with five entries and level 2 with ten; a DTable with two.
class LwcTest : public SmallTreeFixture {
 protected:
  LwcTest() : SmallTreeFixture("lwc_test") {
    options_.num_levels = 4;
    options_.fanout = 2;
    options_.block_size = 1024;
    options_.max_file_size = 1 << 20;
    options_.level_base_bytes = 5500;
    options_.dtable_bytes = 2600;
    options_.dtable_segments = 3;
    options_.l0_compaction_trigger = 1;
  }

  static std::string Large(char letter) { return std::string(1010, letter); }
};

TEST_F(LwcTest, ATableThatOverlapsNothingIsMoved) {
  Open();
  Flush({10, 20}, Large('a'));
  const std::set<uint64_t> tables = TablesOnDisk();
  EXPECT_EQ(Files(4), "0 1 0 0");
  Flush({30, 40}, Large('b'));
  EXPECT_EQ(Files(4), "0 2 0 0");
  EXPECT_EQ(Ticker("compaction_count"), 0u);
  EXPECT_EQ(Ticker("trivial_move_count"), 2u);
  EXPECT_EQ(Scan(), "10=a 20=a 30=b 40=b");
}

TEST_F(LwcTest, ASegmentIsAppendedAndWhatWasThereIsNotRead) {
  Open();
  Flush({10, 40}, Large('a'));
  const uint64_t read = Ticker("compaction_bytes_read");
  Flush({20, 30}, Large('b'));
  EXPECT_EQ(Files(4), "0 2 0 0");
  EXPECT_LT(Ticker("compaction_bytes_read") - read, 3 * 1100u);
  EXPECT_EQ(Scan(), "10=a 20=b 30=b 40=a");
}

TEST_F(LwcTest, SegmentsAreReadNewestFirst) {
  Open();
  Flush({10, 40}, Large('a'));
  Flush({10, 30}, Large('b'));
  Flush({10, 20}, "c");
  EXPECT_EQ(Get(10), "c");
  EXPECT_EQ(Get(20), "c");
  EXPECT_EQ(Get(30), Large('b'));
  EXPECT_EQ(Get(40), Large('a'));
  EXPECT_EQ(Get(15), "none");
  EXPECT_EQ(Scan(), "10=c 20=c 30=b 40=a");
}

TEST_F(LwcTest, AFullLevelGivesItsFullestDTableAway) {
  Open();
  Flush({10, 20}, Large('a'));
  Flush({30, 40}, Large('a'));
  Flush({31, 39}, Large('b'));
  EXPECT_EQ(Files(4), "0 1 2 0");  // the second, merged and divided
  EXPECT_EQ(Scan(), "10=a 20=a 30=a 31=b 39=b 40=a");
}

// How the files of tables were opened: (r)ead from beginning to end, (w)ritten,
// (a)ppended to.
class TablesOpened : public EnvWrapper {
 public:
  TablesOpened() : EnvWrapper(Env::Default()) {}

  Status NewSequentialFile(const std::string& name,
                           SequentialFile** file) override {
    Note('r', name);
    return target()->NewSequentialFile(name, file);
  }
  Status NewWritableFile(const std::string& name,
                         WritableFile** file) override {
    Note('w', name);
    return target()->NewWritableFile(name, file);
  }
  Status NewAppendableFile(const std::string& name,
                           WritableFile** file) override {
    Note('a', name);
    return target()->NewAppendableFile(name, file);
  }

  std::string Take() {
    MutexLock lock(&mutex_);
    return std::exchange(opened_, "");
  }

 private:
  void Note(char how, const std::string& name) {
    MutexLock lock(&mutex_);
    if (name.compare(name.size() - 4, 4, ".ldb") == 0) opened_ += how;
  }

  port::Mutex mutex_;
  std::string opened_ GUARDED_BY(mutex_);
};

TEST_F(LwcTest, SegmentsInOneFileAreReadAtOnce) {
  TablesOpened env;
  options_.env = &env;
  options_.level_base_bytes = 1 << 20;
  options_.dtable_bytes = 1 << 20;
  options_.dtable_files = true;
  options_.read_inputs_whole = true;
  Open();
  for (const char letter : {'a', 'b', 'c'}) {
    Flush({10, 20, 30}, std::string(1, letter));
  }
  env.Take();
  Flush({10}, "d");  // Appended; then four segments are merged
  EXPECT_EQ(env.Take(), "wrarw");
  EXPECT_EQ(Files(4), "0 1 0 0");
  EXPECT_EQ(Scan(), "10=d 20=c 30=c");
  db_.reset();
  options_.env = Env::Default();
}

TEST_F(LwcTest, WhatIsWrittenTogetherIsSyncedTogether) {
  TablesOpened env;
  options_.env = &env;
  options_.level_base_bytes = 1 << 20;
  options_.sync_outputs_together = true;
  Open();
  Flush({10, 50}, Large('a'));
  Flush({20, 40}, Large('b'));
  env.Take();
  Flush({30}, Large('c'));  // Appended, and divided in two
  EXPECT_EQ(env.Take(), "wwawwwaaa");
  EXPECT_EQ(Scan(), "10=a 20=b 30=c 40=b 50=a");
  db_.reset();
  options_.env = Env::Default();
}

TEST_F(LwcTest, AFileThatLostItsEndStopsItsMerge) {
  options_.level_base_bytes = 1 << 20;
  options_.read_inputs_whole = true;
  Open();
  Flush({10, 20}, "a");
  const std::string name = TableFileName(path_, *TablesOnDisk().begin());
  std::string table;
  ASSERT_TRUE(ReadFileToString(options_.env, name, &table).ok());
  ASSERT_TRUE(WriteStringToFile(options_.env,
                                Slice(table.data(), table.size() / 2), name)
                  .ok());
  Status s;
  for (int i = 0; s.ok() && i < 1000; i++) {
    s = db_->Put(WriteOptions(), Key(10), "b");
    if (s.ok()) s = static_cast<DBImpl*>(db_.get())->TEST_CompactMemTable();
  }
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  EXPECT_NE(s.ToString().find(name), std::string::npos) << s.ToString();
}

TEST_F(LwcTest, AnOverfullDTableOfTheDeepestLevelIsDivided) {
  options_.level_base_bytes = 1 << 20;
  Open();
  Flush({10, 50}, Large('a'));
  Flush({20, 40}, Large('b'));
  EXPECT_EQ(Files(4), "0 2 0 0");
  Flush({30}, Large('c'));
  EXPECT_EQ(Files(4), "0 3 0 0");
  EXPECT_EQ(Property("recompact.tables"), "3");
  const uint64_t before = Ticker("compaction_count");
  Flush({10}, Large('d'));  // one of three
  EXPECT_EQ(Ticker("compaction_count") - before, 1u);
  EXPECT_EQ(Scan(), "10=d 20=b 30=c 40=b 50=a");
}

TEST_F(LwcTest, TooManySegmentsOfTheDeepestLevelAreMerged) {
  options_.level_base_bytes = 1 << 20;
  options_.dtable_bytes = 1 << 20;
  Open();
  for (const char letter : {'a', 'b', 'c'}) {
    Flush({10, 20}, std::string(1, letter));
  }
  EXPECT_EQ(Files(4), "0 3 0 0");
  Flush({10}, "d");
  EXPECT_EQ(Files(4), "0 1 0 0");
  EXPECT_EQ(Scan(), "10=d 20=c");
}

TEST_F(LwcTest, ADeletionOutlivesWhatItHides) {
  Open();
  Flush({10, 20}, "a");
  CompactEverything();
  Delete(10);
  Flush({20}, "b");
  EXPECT_EQ(Get(10), "none");
  EXPECT_EQ(Scan(), "20=b");
  CompactEverything();
  EXPECT_EQ(Files(4), "0 1 0 0");
  EXPECT_EQ(Get(10), "none");
}

TEST_F(LwcTest, SnapshotsLiveThroughMerges) {
  options_.dtable_segments = 1;
  Open();
  Flush({10, 20}, "a");
  const Snapshot* const first = db_->GetSnapshot();
  Flush({10}, "b");
  const Snapshot* const second = db_->GetSnapshot();
  Delete(10);
  for (int i = 0; i < 10; i++) {
    Flush({5, 30}, "c");
    EXPECT_EQ(Get(10, first), "a") << i;
    EXPECT_EQ(Get(10, second), "b") << i;
    EXPECT_EQ(Get(10), "none") << i;
  }
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

TEST_F(LwcTest, RangesAndSegmentsSurviveAReopen) {
  Open();
  for (int i = 0; i < 20; i++) {
    Flush({i, 10 + 3 * i % 20, 40 - i}, Large(static_cast<char>('a' + i)));
  }
  const std::string files = Files(4), entries = Scan();
  for (int i = 0; i < 2; i++) {  // The second reads what the first wrote
    Open();
    EXPECT_EQ(Files(4), files);
    EXPECT_EQ(Scan(), entries);
  }
}

TEST_F(LwcTest, AscendingKeysAreNeverWrittenAgain) {
  Open();
  for (int i = 0; i < 40; i++) {
    Flush({2 * i, 2 * i + 1}, Large(static_cast<char>('a' + i % 26)));
  }
  EXPECT_EQ(Ticker("compaction_count"), 0u);
  EXPECT_EQ(Ticker("compaction_bytes_written"), 0u);
  EXPECT_GT(FilesAt(3), 0);
}

TEST_F(LwcTest, CompactRangeLeavesOneSegmentInEachDTable) {
  Open();
  for (int i = 0; i < 12; i++) Flush({10, 20, 30, 40}, Large('a'));
  CompactEverything();
  EXPECT_EQ(FilesAt(0) + FilesAt(1), 0);
  EXPECT_EQ(Scan(), "10=a 20=a 30=a 40=a");
}

TEST_F(LwcTest, CompactRangeLeavesNoDeletionsInTheDeepestLevel) {
  for (const bool one_file : {false, true}) {
    options_.dtable_files = one_file;
    Open();
    for (int i = 0; i < 40; i++) {
      Flush({4 * i, 4 * i + 3}, Large(static_cast<char>('a' + i % 26)));
    }
    ASSERT_GT(FilesAt(3), 0);
    for (int i = 0; i < 40; i++) {
      Delete(4 * i);
      Delete(4 * i + 3);
      if (i % 3 == 0) Flush();
    }
    CompactEverything();
    EXPECT_EQ(Scan(), "");
    EXPECT_EQ(TablesOnDisk().size(), 0u);
  }
}

TEST_F(LwcTest, TablesInTheFileOfAnotherStayOpen) {
  options_.dtable_files = true;
  Open();
  Flush({10, 40}, Large('a'));
  Flush({10, 30}, Large('b'));
  Flush({10, 20}, "c");
  ASSERT_EQ(TablesOnDisk().size(), 1u);
  options_.tables_stay_open = true;
  Open();
  EXPECT_EQ(Ticker("table_opens"), 3u);
  EXPECT_EQ(Scan(), "10=c 20=c 30=b 40=a");
  EXPECT_EQ(Ticker("table_opens"), 3u);
}

TEST_F(LwcTest, AMissingTableIsToldAtOpen) {
  Open();
  Flush({10, 20}, "a");
  Flush({10, 20}, "b");
  const uint64_t table = *TablesOnDisk().begin();
  db_.reset();
  ASSERT_TRUE(options_.env->RemoveFile(TableFileName(path_, table)).ok());
  const Status s = TryToOpen();
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
}

TEST_F(LwcTest, OptionsThatMakeNoSenseAreRefused) {
  options_.dtable_segments = 0;
  EXPECT_TRUE(TryToOpen().IsInvalidArgument());
  options_.dtable_segments = 3;
  options_.dtable_bytes = 0;
  EXPECT_TRUE(TryToOpen().IsInvalidArgument());
}

}  // namespace
}  // namespace leveldb
