// Stepped merge: what gathers, what is merged and how far it is read, on trees
// small enough to know.
#include <memory>
#include <string>
#include <vector>

#include "seams/small_tree_fixture.h"

namespace leveldb {
namespace {

// Two levels of the paper, of three runs each.  In the tree these are L0 and
// what is merged out of it, level 2 and what is merged out of that, and the
// last one.  Each entry becomes a table of its own when it is merged.
class SteppedMergeTest : public SmallTreeFixture {
 protected:
  SteppedMergeTest() : SmallTreeFixture("stepped_merge_test") {
    options_.num_levels = 5;
    options_.fanout = 3;
    options_.block_size = 1024;
    options_.max_file_size = 1024;
  }

  static std::string Large(char letter) { return std::string(1010, letter); }

  // Flushes so many tables of the same keys, each with a letter of its own.
  void FlushTables(int tables, const std::vector<int>& keys,
                   char first_letter = 'a') {
    for (int i = 0; i < tables; i++) {
      Flush(keys, Large(static_cast<char>(first_letter + i)));
    }
  }
};

TEST_F(SteppedMergeTest, TablesGatherInLevelZero) {
  Open();
  FlushTables(2, {10, 20});
  EXPECT_EQ(Files(5), "2 0 0 0 0");
  EXPECT_EQ(Ticker("merge_count"), 0u);
}

TEST_F(SteppedMergeTest, ALevelIsMergedOnceWhenItMovesDown) {
  Open();
  FlushTables(3, {10, 20});
  EXPECT_EQ(Files(5), "0 0 2 0 0");  // one run of two tables
  EXPECT_EQ(Scan(), "10=c 20=c");
  FlushTables(3, {10, 20}, 'd');
  EXPECT_EQ(Files(5), "0 0 4 0 0");  // beside it another one
  EXPECT_EQ(Scan(), "10=f 20=f");
}

TEST_F(SteppedMergeTest, TheLastLevelIsOneSortedTable) {
  Open();
  FlushTables(9, {10, 20});
  EXPECT_EQ(Files(5), "0 0 0 0 2");
  FlushTables(9, {10, 30}, 'j');
  EXPECT_EQ(Files(5), "0 0 0 0 3");
  EXPECT_EQ(Scan(), "10=r 20=i 30=r");
}

TEST_F(SteppedMergeTest, RunsAreReadNewestFirst) {
  Open();
  FlushTables(3, {10, 20, 30});
  FlushTables(3, {10, 20}, 'd');
  Flush({10}, Large('g'));
  EXPECT_EQ(Get(10), Large('g'));
  EXPECT_EQ(Get(20), Large('f'));
  EXPECT_EQ(Get(30), Large('c'));
  EXPECT_EQ(Get(15), "none");
  EXPECT_EQ(Scan(), "10=g 20=f 30=c");
}

// The rounds of a level end at different keys, and the interval of each step at
// the end of a table.
TEST_F(SteppedMergeTest, RunsOfDifferentRangesAreMergedInKeyOrder) {
  Open();
  FlushTables(3, {10, 40, 70});
  FlushTables(3, {20, 30}, 'd');
  FlushTables(3, {25, 40, 90}, 'g');
  EXPECT_EQ(Files(5), "0 0 0 0 7");
  EXPECT_EQ(Scan(), "10=c 20=f 25=i 30=f 40=i 70=c 90=i");
}

// An older run may still hold what it hides.
TEST_F(SteppedMergeTest, ADeletionOutlivesOlderRunsOfTheNextLevel) {
  Open();
  FlushTables(3, {10, 20});
  Delete(10);
  FlushTables(3, {30});
  EXPECT_EQ(Get(10), "none");
  EXPECT_EQ(Scan(), "20=c 30=c");
  FlushTables(3, {30});
  EXPECT_EQ(Files(5), "0 0 0 0 2");
  EXPECT_EQ(Scan(), "20=c 30=c");
}

TEST_F(SteppedMergeTest, ADeletionOutlivesTheLastLevel) {
  Open();
  FlushTables(9, {10, 20});
  Delete(10);
  FlushTables(3, {30});
  EXPECT_EQ(Get(10), "none");
  FlushTables(6, {30});
  EXPECT_EQ(Files(5), "0 0 0 0 2");
  EXPECT_EQ(Scan(), "20=i 30=f");
}

TEST_F(SteppedMergeTest, SnapshotsLiveThroughMerges) {
  Open();
  Flush({10, 20}, Large('a'));
  const Snapshot* const first = db_->GetSnapshot();
  Flush({10}, Large('b'));
  const Snapshot* const second = db_->GetSnapshot();
  Delete(10);
  for (int i = 0; i < 10; i++) {
    Flush({30}, Large('c'));
    EXPECT_EQ(Get(10, first), Large('a')) << i;
    EXPECT_EQ(Get(10, second), Large('b')) << i;
    EXPECT_EQ(Get(10), "none") << i;
  }
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

TEST_F(SteppedMergeTest, RunsSurviveAReopen) {
  Open();
  FlushTables(3, {10, 40});
  FlushTables(3, {20, 30}, 'd');
  Flush({20}, Large('g'));
  for (int i = 0; i < 2; i++) {  // The second reads what the first wrote
    Open();
    EXPECT_EQ(Files(5), "1 0 4 0 0");
    EXPECT_EQ(Scan(), "10=c 20=g 30=f 40=c");
  }
}

TEST_F(SteppedMergeTest, CompactRangeLeavesOneSortedTable) {
  Open();
  FlushTables(7, {10, 20, 30});
  CompactEverything();
  EXPECT_EQ(Files(5), "0 0 0 0 3");
  EXPECT_EQ(Scan(), "10=g 20=g 30=g");
}

TEST_F(SteppedMergeTest, ApproximateSizesCountRuns) {
  Open();
  FlushTables(6, {10, 20, 30, 40});
  const std::string begin = Key(0), middle = Key(25), end = Key(99);
  const Range ranges[] = {{begin, middle}, {middle, end}, {begin, end}};
  uint64_t sizes[3];
  db_->GetApproximateSizes(ranges, 3, sizes);
  EXPECT_GT(sizes[0], 4 * 1000u);
  EXPECT_GT(sizes[1], 4 * 1000u);
  EXPECT_EQ(sizes[0] + sizes[1], sizes[2]);
}

TEST_F(SteppedMergeTest, AScanReadsATableOfEachRun) {
  options_.max_file_size = 1 << 20;
  Open();
  FlushTables(6, {10, 20});  // two runs
  Flush({10}, Large('g'));
  const uint64_t before = Ticker("scan_tables");
  const std::unique_ptr<Iterator> i(db_->NewIterator(ReadOptions()));
  i->Seek(Key(10));
  EXPECT_EQ(Ticker("scan_tables") - before, 3u);
}

TEST_F(SteppedMergeTest, AMissingTableIsToldAtOpen) {
  Open();
  FlushTables(3, {10, 20});
  const uint64_t table = *TablesOnDisk().begin();
  db_.reset();
  ASSERT_TRUE(options_.env->RemoveFile(TableFileName(path_, table)).ok());
  const Status s = TryToOpen();
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
}

TEST_F(SteppedMergeTest, AnotherNumberOfLevelsIsRefused) {
  Open();
  FlushTables(9, {10, 20});
  FlushTables(3, {10, 20});
  for (const int levels : {3, 7}) {
    options_.num_levels = levels;
    const Status s = TryToOpen();
    EXPECT_TRUE(s.IsInvalidArgument()) << levels << ": " << s.ToString();
    EXPECT_NE(s.ToString().find("num_levels"), std::string::npos);
  }
  options_.num_levels = 4;  // The last level is added
  Open();
  EXPECT_EQ(Scan(), "10=c 20=c");
}

}  // namespace
}  // namespace leveldb
