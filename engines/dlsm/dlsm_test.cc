// The compaction buffer: how it is built, read, emptied and done without, on
// trees small enough to know.
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dlsm/round_fixture.h"
#include "leveldb/filter_policy.h"

namespace leveldb {
namespace {

// Blocks of a file that is mapped to memory are not cached: this one is read.
class ReadFile : public RandomAccessFile {
 public:
  explicit ReadFile(RandomAccessFile* file) : file_(file) {}
  Status Read(uint64_t offset, size_t n, Slice* result,
              char* scratch) const override {
    const Status s = file_->Read(offset, n, result, scratch);
    std::memmove(scratch, result->data(), result->size());
    *result = Slice(scratch, result->size());
    return s;
  }

 private:
  const std::unique_ptr<RandomAccessFile> file_;
};

class EnvThatReads : public EnvWrapper {
 public:
  EnvThatReads() : EnvWrapper(Env::Default()) {}
  Status NewRandomAccessFile(const std::string& path,
                             RandomAccessFile** file) override {
    const Status s = target()->NewRandomAccessFile(path, file);
    if (s.ok()) *file = new ReadFile(*file);
    return s;
  }
};

class DlsmTest : public RoundFixture {
 protected:
  DlsmTest() : RoundFixture("dlsm_test", /*buffer_levels=*/2) {
    static EnvThatReads env;
    options_.env = &env;
  }

  uint64_t BufferTables() { return Number("recompact.space", "buffer_tables"); }
  uint64_t BufferBytes() { return Number("recompact.space", "buffer_bytes"); }

  // How much a counter grows while a key is read.
  uint64_t GrowthInGet(const std::string& ticker, int key) {
    const uint64_t before = Ticker(ticker);
    Get(key);
    return Ticker(ticker) - before;
  }

  void ExpectAll(const std::vector<int>& keys, char letter) {
    for (const int key : keys) EXPECT_EQ(Get(key), Large(letter)) << key;
  }

  std::string PathOf(uint64_t table) { return TableFileName(path_, table); }
};

TEST_F(DlsmTest, TheBufferIsBuiltWithoutWriting) {
  Open();
  LoadOneByOne(5);
  EXPECT_EQ(Files(6), "0 0 4 1 0 0");
  EXPECT_EQ(BufferTables(), 5u);
  EXPECT_EQ(Ticker("table_bytes_written"),
            Ticker("flush_bytes_written") + Ticker("compaction_bytes_written"));
}

TEST_F(DlsmTest, ATableThatMovesIsInTheBufferToo) {
  options_.l0_compaction_trigger = 1;
  Open();
  Flush({10}, Large('a'));
  EXPECT_EQ(Ticker("trivial_move_count"), 1u);
  EXPECT_EQ(BufferTables(), 1u);
  EXPECT_EQ(Property("recompact.tables"), "1");
  Flush({10}, Large('b'));  // merged with it in the tree, not in the buffer
  EXPECT_EQ(BufferTables(), 2u);
  EXPECT_EQ(Property("recompact.tables"), "3");
  EXPECT_EQ(Get(10), Large('b'));
}

TEST_F(DlsmTest, GetsAskTheBufferAndTheLastLevel) {
  Open();
  LoadOneByOne(14);
  EXPECT_EQ(Files(6), "0 4 0 0 8 2");
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 130), 1u);  // level 1
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 50), 1u);   // level 2
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 10), 0u);   // the last one
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 15), 0u);   // nowhere
}

TEST_F(DlsmTest, OnlyTheLevelsThatAreToHaveABuffer) {
  options_.buffer_levels = 1;
  Open();
  LoadOneByOne(14);
  EXPECT_EQ(Files(6), "0 4 0 0 8 2");
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 130), 1u);
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 50), 0u);
  EXPECT_EQ(BufferTables(), 4u);
  EXPECT_EQ(Get(50), Large('a'));
}

TEST_F(DlsmTest, RunsAreReadNewestFirst) {
  Open();
  Load({10, 20});
  Load({10}, 'b');
  Delete(20);
  Load({10, 30}, 'c');
  EXPECT_EQ(Get(10), Large('c'));
  EXPECT_EQ(Get(20), "none");
  EXPECT_EQ(Get(30), Large('c'));
  EXPECT_EQ(Scan(), "10=c 30=c");
}

// The table with the newer version ends at the marker and is gone; the one with
// the older version reaches beyond it and is kept.
TEST_F(DlsmTest, AnOldVersionDoesNotComeBack) {
  Open();
  Load({20, 30, 40, 50}, 'a');
  Load({10, 20}, 'b');
  EXPECT_EQ(RangesAt(3), "10-10");
  Load({60}, 'a');
  EXPECT_EQ(RangesAt(3), "10-10 20-20");
  EXPECT_EQ(Get(20), Large('b'));
  EXPECT_EQ(Get(30), Large('a'));
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 30), 1u);  // it was kept
}

// As above, with a deletion; the tree may forget it, the buffer must not show
// what it hid.
TEST_F(DlsmTest, ADeletedKeyDoesNotComeBack) {
  Open();
  Load({20, 30, 40, 50}, 'a');
  Delete(20);
  Load({10, 60}, 'b');
  for (int key = 70; key <= 160; key += 10) {
    Load({key});
    EXPECT_EQ(Get(20), "none") << key;
    EXPECT_EQ(Get(50), Large('a')) << key;
  }
}

TEST_F(DlsmTest, SnapshotsReadThroughTheBuffer) {
  Open();
  LoadOneByOne(3);
  const Snapshot* const first = db_->GetSnapshot();
  Load({20}, 'b');
  const Snapshot* const second = db_->GetSnapshot();
  Delete(20);
  for (int key = 60; key <= 150; key += 10) {
    Load({key});
    EXPECT_EQ(Get(20, first), Large('a')) << key;
    EXPECT_EQ(Get(20, second), Large('b')) << key;
    EXPECT_EQ(Get(20), "none") << key;
  }
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

TEST_F(DlsmTest, CachedBlocksSurviveAMerge) {
  MakeLargeTables();
  for (const int levels : {0, 2}) {
    DestroyDB(path_, options_);
    options_.buffer_levels = levels;
    Open();
    Load({10, 30});
    Get(10);
    EXPECT_EQ(GrowthInGet("block_cache_hits", 10), 1u);
    Load({20});  // rewrites the table of the tree
    EXPECT_EQ(GrowthInGet("block_cache_misses", 10), levels == 0 ? 1u : 0u);
    EXPECT_EQ(Ticker("cache_invalidated_blocks"), levels == 0 ? 1u : 0u);
    db_.reset();
  }
}

TEST_F(DlsmTest, ScansReadTheTree) {
  MakeLargeTables();
  Open();
  Load({10, 40});
  Load({10, 20});
  Load({30, 40});
  EXPECT_EQ(BufferTables(), 3u);
  const uint64_t tables = Ticker("scan_tables"), scans = Ticker("scan_count");
  std::unique_ptr<Iterator> i(db_->NewIterator(ReadOptions()));
  int keys = 0;
  for (i->SeekToFirst(); i->Valid(); i->Next()) keys++;
  i.reset();
  EXPECT_EQ(keys, 4);
  EXPECT_EQ(Ticker("scan_tables") - tables, 1u);
  EXPECT_EQ(Ticker("scan_count") - scans, 1u);
}

TEST_F(DlsmTest, TheBufferSurvivesAReopen) {
  Open();
  LoadOneByOne(13);
  EXPECT_EQ(Files(6), "0 3 1 9 0 0");
  const std::string before = Scan();
  const uint64_t tables = BufferTables(), bytes = BufferBytes();
  for (int i = 0; i < 2; i++) {  // The second reads what the first wrote
    Open();
    EXPECT_EQ(Scan(), before);
    EXPECT_EQ(BufferTables(), tables);
    EXPECT_EQ(BufferBytes(), bytes);
    EXPECT_EQ(GrowthInGet("gets_from_buffer", 100), 1u);
  }
  Load({140});  // The round goes on, and the marker with it
  EXPECT_EQ(Files(6), "0 4 0 0 8 2");
  ExpectAll({10, 50, 100, 140}, 'a');
}

TEST_F(DlsmTest, AMissingTableOfTheBufferIsDoneWithout) {
  Open();
  LoadOneByOne(3);
  const std::set<uint64_t> alone = TablesOfBufferAlone();
  ASSERT_EQ(alone.size(), 3u);
  db_.reset();
  ASSERT_TRUE(options_.env->RemoveFile(PathOf(*alone.begin())).ok());
  for (int i = 0; i < 2; i++) {
    Open();
    EXPECT_EQ(BufferTables(), 0u);
    EXPECT_EQ(TablesOfBufferAlone().size(), 0u);
    ExpectAll({10, 20, 30}, 'a');
    EXPECT_EQ(GrowthInGet("gets_from_buffer", 10), 0u);
  }
}

TEST_F(DlsmTest, AMissingTableIsDoneWithoutWhereTheManifestIsReused) {
  options_.reuse_logs = true;
  options_.max_file_size = 1 << 20;  // a larger MANIFEST is not
  Open();
  LoadOneByOne(3);
  const std::set<uint64_t> alone = TablesOfBufferAlone();
  db_.reset();
  ASSERT_TRUE(options_.env->RemoveFile(PathOf(*alone.begin())).ok());
  Open();
  for (int key = 40; key <= 100; key += 10) Load({key});
  const std::string before = Scan();
  Open();
  EXPECT_EQ(Scan(), before);
  ExpectAll({10, 20, 30, 100}, 'a');
}

TEST_F(DlsmTest, TheBufferIsBuiltAnewAfterItWasLost) {
  Open();
  LoadOneByOne(3);
  const std::set<uint64_t> alone = TablesOfBufferAlone();
  db_.reset();
  ASSERT_TRUE(options_.env->RemoveFile(PathOf(*alone.begin())).ok());
  Open();
  Load({40});
  EXPECT_EQ(BufferTables(), 0u);  // A part of what the level has is no copy
  Load({50});                     // A new round begins
  EXPECT_EQ(Files(6), "0 0 4 1 0 0");
  Load({60});
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 60), 1u);
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 40), 0u);
  EXPECT_EQ(GrowthInGet("gets_from_buffer", 10), 1u);  // level 2 was empty
}

TEST_F(DlsmTest, AMissingTableOfTheTreeIsToldAtOpen) {
  Open();
  LoadOneByOne(3);
  std::set<uint64_t> tree = TablesOnDisk();
  for (const uint64_t table : TablesOfBufferAlone()) tree.erase(table);
  db_.reset();
  ASSERT_TRUE(options_.env->RemoveFile(PathOf(*tree.begin())).ok());
  const Status s = TryToOpen();
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
}

TEST_F(DlsmTest, TheTreeAnswersWhatTheBufferCannot) {
  Open();
  LoadOneByOne(3);
  const std::set<uint64_t> alone = TablesOfBufferAlone();
  db_.reset();
  for (const uint64_t table : alone) {
    const std::string name = PathOf(table);
    uint64_t size;
    ASSERT_TRUE(options_.env->GetFileSize(name, &size).ok());
    ASSERT_TRUE(
        WriteStringToFile(options_.env, std::string(size, 'x'), name).ok());
  }
  ASSERT_TRUE(TryToOpen().ok());
  ExpectAll({10, 20, 30}, 'a');
  EXPECT_EQ(Get(15), "none");
  EXPECT_EQ(Ticker("buffer_fallbacks"), 3u);
}

TEST_F(DlsmTest, ATreeWithoutABufferGetsOne) {
  options_.buffer_levels = 0;
  Open();
  LoadOneByOne(3);
  EXPECT_EQ(BufferTables(), 0u);
  options_.buffer_levels = 2;
  Open();
  Load({40});
  EXPECT_EQ(BufferTables(), 0u);
  ExpectAll({10, 20, 30, 40}, 'a');
  Load({50});
  Load({60});
  EXPECT_GT(BufferTables(), 0u);
  ExpectAll({10, 20, 30, 40, 50, 60}, 'a');
}

TEST_F(DlsmTest, ABufferThatIsTurnedOffLeavesNoTables) {
  Open();
  LoadOneByOne(13);
  options_.buffer_levels = 0;
  Open();
  EXPECT_EQ(BufferTables(), 0u);
  EXPECT_EQ(TablesOfBufferAlone().size(), 0u);
  ExpectAll({10, 60, 100, 130}, 'a');
}

TEST_F(DlsmTest, MoreLevelsDoNotMakeAPartOfACopy) {
  options_.num_levels = 4;
  options_.buffer_levels = 5;
  Open();
  LoadOneByOne(13);
  EXPECT_GT(FilesAt(3), 0);  // the last level, which has no buffer
  options_.num_levels = 6;   // now it is level 2
  Open();
  for (int key = 140; key <= 200; key += 10) Load({key});
  ExpectAll({10, 60, 100, 130, 200}, 'a');
}

TEST_F(DlsmTest, CompactRangeEmptiesTheBuffer) {
  Open();
  LoadOneByOne(13);
  const std::string before = Scan();
  CompactEverything();
  EXPECT_EQ(Files(6), "0 0 0 0 0 13");
  EXPECT_EQ(BufferTables(), 0u);
  EXPECT_EQ(TablesOfBufferAlone().size(), 0u);
  EXPECT_EQ(Scan(), before);
}

TEST_F(DlsmTest, AggressiveCompactionEmptiesTheBuffer) {
  options_.aggressive_compaction = true;
  options_.write_pause_us = 1000;
  Open();
  LoadOneByOne(13);
  options_.env->SleepForMicroseconds(2000);
  WaitUntilIdle();
  EXPECT_EQ(Files(6), "0 0 0 0 0 13");
  EXPECT_EQ(BufferBytes(), 0u);
  ExpectAll({10, 60, 130}, 'a');
}

TEST_F(DlsmTest, DeletionsOfNothingLeaveNoBuffer) {
  Open();
  for (int i = 0; i < 3; i++) {
    Delete(10);
    MergeL0();
    EXPECT_EQ(BufferTables(), 0u);
    EXPECT_EQ(TablesOnDisk().size(), 0u);
  }
}

// Merged, the versions of a key take the place of one, and no part would ever
// become full.
TEST_F(DlsmTest, TheSameKeyOverAndOverDoesNotFillTheBuffer) {
  Open();
  for (int i = 0; i < 200; i++) {
    Load({10}, static_cast<char>('a' + i % 26));
    EXPECT_LE(BufferBytes(), 5 * (5000u + 10000u)) << i;
  }
  EXPECT_EQ(Get(10), Large(static_cast<char>('a' + 199 % 26)));
}

TEST_F(DlsmTest, FiltersOfTheTreeSpareTablesOfTheBuffer) {
  const std::unique_ptr<const FilterPolicy> filter(NewBloomFilterPolicy(15));
  options_.filter_policy = filter.get();
  MakeLargeTables();
  for (const bool asks : {false, true}) {
    DestroyDB(path_, options_);
    options_.buffer_asks_tree_filters = asks;
    Open();
    for (int i = 1; i <= 5; i++) Load({10, 10 + i, 50});
    EXPECT_EQ(GrowthInGet("bloom_negatives", 30), asks ? 1u : 5u);
    EXPECT_EQ(Get(13), Large('a'));
    EXPECT_EQ(Get(30), "none");
    db_.reset();
  }
}

TEST_F(DlsmTest, OneFilterForATableErrsLess) {
  const std::unique_ptr<const FilterPolicy> filter(NewBloomFilterPolicy(15));
  options_.filter_policy = filter.get();
  MakeLargeTables();
  std::vector<int> even;
  for (int key = 2; key <= 400; key += 2) even.push_back(key);
  uint64_t errors[2];
  for (const bool of_tables : {false, true}) {
    DestroyDB(path_, options_);
    if (of_tables) options_.filter_base_lg = 40;
    Open();
    Load(even);
    for (int key = 3; key < 400; key += 2) EXPECT_EQ(Get(key), "none");
    errors[of_tables] = Ticker("bloom_false_positives");
    for (const int key : even) EXPECT_EQ(Get(key), Large('a'));
    db_.reset();
  }
  EXPECT_GT(errors[false], 10 * errors[true]);
}

TEST_F(DlsmTest, TablesThatNobodyReadsAreTrimmed) {
  options_.buffer_trim = true;
  Open();
  LoadOneByOne(4);
  Get(20);
  const std::set<uint64_t> alone = TablesOfBufferAlone();
  Load({50});
  EXPECT_EQ(Files(6), "0 0 4 1 0 0");
  // Of 10, which has left, 20, 30, 40 and 50 the second was read, and the last
  // has just come.
  EXPECT_EQ(Ticker("buffer_trimmed_tables"), 3u);
  EXPECT_EQ(BufferTables(), 3u);  // 20 and 50, and 10 in level 2
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(GrowthInGet("gets_from_buffer", 20), 1u);
    EXPECT_EQ(GrowthInGet("gets_from_buffer", 30), 0u);
    ExpectAll({10, 20, 30, 40, 50}, 'a');
    std::set<uint64_t> left = TablesOnDisk();
    size_t kept = 0;
    for (const uint64_t table : alone) kept += left.count(table);
    EXPECT_EQ(kept, 1u);
    Open();
  }
  for (int key = 60; key <= 160; key += 10) Load({key});
  ExpectAll({10, 20, 30, 40, 50, 100, 160}, 'a');
}

TEST_F(DlsmTest, TablesThatDoNotStayOpenAreAnError) {
  options_.tables_stay_open = true;
  options_.max_open_files = 74;  // 64 tables, of which 32 are certain to stay
  Open();
  auto* const db = static_cast<DBImpl*>(db_.get());
  Status s;
  for (int key = 10; s.ok() && key <= 1000; key += 10) {
    s = db->Put(WriteOptions(), Key(key), Large('a'));
    if (s.ok()) s = db->TEST_CompactMemTable();
    db->TEST_CompactRange(0, nullptr, nullptr);
  }
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_NE(s.ToString().find("max_open_files"), std::string::npos);
  s = TryToOpen();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  options_.max_open_files = 1000;
  Open();
}

TEST_F(DlsmTest, TablesThatStayOpenAreOpenedWithTheDatabase) {
  Open();
  for (int key = 10; key <= 100; key += 10) Load({key});
  for (const bool stay_open : {false, true}) {
    options_.tables_stay_open = stay_open;
    ASSERT_TRUE(TryToOpen().ok());
    const uint64_t opened = Ticker("table_opens");
    EXPECT_EQ(opened > 0, stay_open);
    Get(50);
    EXPECT_EQ(Ticker("table_opens") == opened, stay_open);
  }
}

TEST_F(DlsmTest, LessThanNoBufferIsRefused) {
  options_.buffer_levels = -1;
  const Status s = TryToOpen();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_NE(s.ToString().find("buffer_levels"), std::string::npos);
}

}  // namespace
}  // namespace leveldb
