// Two-phase compaction: rounds, what waits for what, and what a range or a
// pause of writes brings about, on trees small enough to know.
#include <string>

#include "dlsm/round_fixture.h"

namespace leveldb {
namespace {

class TwoPhaseTest : public RoundFixture {
 protected:
  TwoPhaseTest() : RoundFixture("two_phase_test", /*buffer_levels=*/0) {}
};

TEST_F(TwoPhaseTest, DataGatherInTheInsertionPart) {
  Open();
  LoadOneByOne(4);
  EXPECT_EQ(Files(6), "0 4 0 0 0 0");
  EXPECT_EQ(Ticker("buffer_swap_count"), 0u);
}

TEST_F(TwoPhaseTest, TheFullInsertionPartBecomesTheDeletionPart) {
  Open();
  LoadOneByOne(5);
  EXPECT_EQ(Ticker("buffer_swap_count"), 1u);
  EXPECT_EQ(Files(6), "0 0 4 1 0 0");
}

TEST_F(TwoPhaseTest, ASwapMovesNoData) {
  Open();
  LoadOneByOne(5);
  EXPECT_EQ(Ticker("table_bytes_written") - Ticker("flush_bytes_written"),
            Ticker("compaction_bytes_written"));
  EXPECT_EQ(Ticker("trivial_move_count"), 1u);  // the front file
}

TEST_F(TwoPhaseTest, DataLeaveTheDeletionPartInKeyOrder) {
  Open();
  LoadOneByOne(5);
  EXPECT_EQ(RangesAt(3), "10-10");
  EXPECT_EQ(RangesAt(2), "20-20 30-30 40-40 50-50");
  Load({35});
  EXPECT_EQ(Files(6), "0 1 3 2 0 0");
  EXPECT_EQ(RangesAt(3), "10-10 20-20");
}

TEST_F(TwoPhaseTest, BothPartsTogetherKeepTheSizeOfTheLevel) {
  Open();
  for (int key = 10; key <= 120; key += 10) {
    Load({key});
    EXPECT_LE(FilesAt(1) + FilesAt(2), 4) << key;
  }
}

TEST_F(TwoPhaseTest, ALevelWaitsForAWholeRoundOfTheOneAbove) {
  Open();
  LoadOneByOne(13);
  EXPECT_EQ(Files(6), "0 3 1 9 0 0");  // level 2 is full
  Load({140});
  EXPECT_EQ(Files(6), "0 4 0 0 8 2");
}

TEST_F(TwoPhaseTest, TheInsertionPartIsReadBeforeTheDeletionPart) {
  Open();
  LoadOneByOne(5);
  Load({40}, 'b');
  Load({10}, 'c');
  EXPECT_EQ(RangesAt(1), "10-10 40-40");
  EXPECT_EQ(Get(40), Large('b'));
  EXPECT_EQ(Get(10), Large('c'));
  EXPECT_EQ(Scan(), "10=c 20=a 30=a 40=b 50=a");
}

TEST_F(TwoPhaseTest, ARollTakesAsManyBytesAsItIsAskedTo) {
  options_.compaction_input_bytes = 3000;
  Open();
  LoadOneByOne(5);
  EXPECT_EQ(Files(6), "0 0 2 3 0 0");
}

// The deletion part of the same level still has what it hides.
TEST_F(TwoPhaseTest, ADeletionOutlivesTheDeletionPart) {
  Open();
  LoadOneByOne(5);
  Delete(50);
  MergeL0();
  EXPECT_EQ(FilesAt(1), 1);
  EXPECT_EQ(Get(50), "none");
  CompactEverything();
  EXPECT_EQ(Scan(), "10=a 20=a 30=a 40=a");
}

TEST_F(TwoPhaseTest, ADeletionOfNothingIsDropped) {
  Open();
  LoadOneByOne(2);
  Delete(90);
  MergeL0();
  EXPECT_EQ(FilesAt(1), 2);
}

TEST_F(TwoPhaseTest, SnapshotsLiveThroughSwapsAndRolls) {
  Open();
  LoadOneByOne(4);
  const Snapshot* const first = db_->GetSnapshot();
  Load({20}, 'b');
  const Snapshot* const second = db_->GetSnapshot();
  Delete(20);
  LoadOneByOne(1);
  for (int key = 60; key <= 150; key += 10) {
    Load({key});
    EXPECT_EQ(Get(20, first), Large('a')) << key;
    EXPECT_EQ(Get(20, second), Large('b')) << key;
    EXPECT_EQ(Get(20), "none") << key;
  }
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

TEST_F(TwoPhaseTest, RoundsGoOnAfterAReopen) {
  Open();
  LoadOneByOne(13);
  const std::string before = Scan();
  for (int i = 0; i < 2; i++) {  // The second reads what the first wrote
    Open();
    EXPECT_EQ(Files(6), "0 3 1 9 0 0");
    EXPECT_EQ(Scan(), before);
  }
  Load({140});
  EXPECT_EQ(Files(6), "0 4 0 0 8 2");
}

TEST_F(TwoPhaseTest, CompactRangeTakesEverythingToTheLastLevel) {
  Open();
  LoadOneByOne(13);
  const std::string before = Scan();
  CompactEverything();
  EXPECT_EQ(Files(6), "0 0 0 0 0 13");
  EXPECT_EQ(Scan(), before);
}

TEST_F(TwoPhaseTest, CompactRangeLeavesWhatIsBehindIt) {
  Open();
  LoadOneByOne(13);
  const std::string from = Key(0), to = Key(35);
  const Slice begin = from, end = to;
  db_->CompactRange(&begin, &end);
  WaitUntilIdle();
  EXPECT_EQ(RangesAt(5).substr(0, 17), "10-10 20-20 30-30");
  EXPECT_GT(FilesAt(2) + FilesAt(4), 0);
}

TEST_F(TwoPhaseTest, AggressiveCompactionLeavesTheLastLevelOnly) {
  options_.aggressive_compaction = true;
  options_.write_pause_us = 1000;
  Open();
  LoadOneByOne(13);
  options_.env->SleepForMicroseconds(2000);
  WaitUntilIdle();
  EXPECT_EQ(Files(6), "0 0 0 0 0 13");
}

TEST_F(TwoPhaseTest, AggressiveCompactionWaitsForAPause) {
  options_.aggressive_compaction = true;
  options_.write_pause_us = 3600ull * 1000 * 1000;
  Open();
  LoadOneByOne(13);
  EXPECT_EQ(Files(6), "0 3 1 9 0 0");
}

TEST_F(TwoPhaseTest, AnOddLevelIsLeftOut) {
  options_.num_levels = 7;
  Open();
  EXPECT_NE(Property("recompact.stats").find("\"level\": 5"),
            std::string::npos);
  EXPECT_EQ(Property("recompact.stats").find("\"level\": 6"),
            std::string::npos);
}

TEST_F(TwoPhaseTest, TheLastLevelMayBeTheFirst) {
  options_.num_levels = 2;
  Open();
  LoadOneByOne(7);
  EXPECT_EQ(Files(2), "0 7");
  EXPECT_EQ(Ticker("buffer_swap_count"), 0u);
}

}  // namespace
}  // namespace leveldb
