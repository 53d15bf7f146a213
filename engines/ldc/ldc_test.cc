// Link, merge and reading through slices, on trees small enough to know.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "db/filename.h"
#include "db/table_cache.h"
#include "db/version_edit.h"
#include "db/version_set.h"
#include "gtest/gtest.h"
#include "leveldb/filter_policy.h"
#include "port/port.h"
#include "seams/small_tree_fixture.h"

namespace leveldb {
namespace {

// Every flushed memtable leaves L0 at once: into L1 where it overlaps nothing
// there, and as slices otherwise.  Nothing leaves L1.
class LdcTest : public SmallTreeFixture {
 protected:
  LdcTest() : SmallTreeFixture("ldc_test") {
    options_.seek_compaction = false;
    options_.flush_to_l0_only = true;
    options_.user_key_aligned_outputs = true;
    options_.l0_compaction_trigger = 1;
    options_.slice_link_threshold = 100;
    options_.frozen_bytes_limit_percent = 1000000;
  }

  // The option "name" has an impossible value: nothing is opened, or made.
  void ExpectRefused(const std::string& name) {
    const Status s = TryToOpen();
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_NE(s.ToString().find(name + ":"), std::string::npos) << s.ToString();
    EXPECT_FALSE(options_.env->FileExists(CurrentFileName(path_)));
  }

  // A table with so many bytes in front of either of two files; another slice
  // brings the first file to the threshold, and it is merged.
  void MergeTheFirstOfTwoOwners(int first_bytes, int second_bytes) {
    options_.slice_link_threshold = 2;
    options_.frozen_table_useless_percent = 70;
    Open();
    Flush({10, 20}, "a");
    Flush({30, 40}, "a");
    Put(10, std::string(first_bytes, 'b'));
    Flush({40}, std::string(second_bytes, 'c'));
    EXPECT_EQ(Ticker("merge_count"), 0u);
    Flush({20}, "d");
  }
};

TEST_F(LdcTest, LinkMovesNoData) {
  Open();
  Flush({10, 20}, "old");
  const uint64_t written = Ticker("table_bytes_written");
  const uint64_t flushed = Ticker("flush_bytes_written");
  Flush({15}, "new");
  EXPECT_EQ(Ticker("link_count"), 1u);
  EXPECT_EQ(Ticker("compaction_count"), 0u);
  EXPECT_EQ(Ticker("table_bytes_written") - written,
            Ticker("flush_bytes_written") - flushed);
  EXPECT_EQ(FilesAt(0), 0);
  EXPECT_EQ(FilesAt(1), 1);
  EXPECT_EQ(Property("recompact.tables"), "2");
  EXPECT_GT(Number("recompact.space", "frozen_bytes"), 0u);
}

TEST_F(LdcTest, SlicesAreReadBeforeTheirFileAndNewestFirst) {
  Open();
  Flush({10, 15, 20}, "a");
  Flush({10, 15}, "b");
  Put(15, "c");
  Delete(20);
  Flush();
  EXPECT_EQ(Ticker("link_count"), 2u);
  EXPECT_EQ(Get(10), "b");
  EXPECT_EQ(Get(15), "c");
  EXPECT_EQ(Get(20), "none");
  EXPECT_EQ(Scan(), "10=b 15=c");
}

TEST_F(LdcTest, GapsBelongToTheFileAfterThemAndTheEndToTheLast) {
  Open();
  Flush({10, 20}, "a");
  Flush({40, 50}, "a");
  Flush({5, 15, 25, 45, 55}, "b");
  EXPECT_EQ(Ticker("link_count"), 1u);
  for (const int key : {5, 15, 25, 45, 55}) EXPECT_EQ(Get(key), "b") << key;
  EXPECT_EQ(Scan(), "5=b 10=a 15=b 20=a 25=b 40=a 45=b 50=a 55=b");
}

TEST_F(LdcTest, SlicesBesideAFileThatMovesInAreFound) {
  Open();
  Flush({10, 20}, "a");
  Flush({15, 25}, "b");  // the slice reaches beyond its file
  Flush({30, 40}, "c");  // nothing in its way
  EXPECT_EQ(Ticker("trivial_move_count"), 2u);
  EXPECT_EQ(Get(22), "none");
  EXPECT_EQ(Get(25), "b");
  Flush({22}, "d");  // between the two, inside the slice's range
  EXPECT_EQ(Ticker("link_count"), 2u);
  EXPECT_EQ(Get(22), "d");
  EXPECT_EQ(Scan(), "10=a 15=b 20=a 22=d 25=b 30=c 40=c");
}

// The slice lies in the gap before its file, and what is between the two is
// empty: a file there would be behind the slice and before its owner.
TEST_F(LdcTest, AFileBetweenASliceAndItsOwnerIsLinkedNotMoved) {
  Open();
  Flush({5, 8}, "a");
  Flush({40, 50}, "a");
  Flush({7, 10, 35}, "b");  // 10 and 35 in front of the second file
  Flush({36, 38}, "c");
  EXPECT_EQ(Ticker("link_count"), 2u);
  Flush({37, 39}, "d");
  EXPECT_EQ(Scan(), "5=a 7=b 8=a 10=b 35=b 36=c 37=d 38=c 39=d 40=a 50=a");
}

TEST_F(LdcTest, AFileInsideASliceIsLinkedNotMoved) {
  Open();
  Flush({10, 20}, "a");
  Flush({15, 25}, "b");
  Flush({23, 25}, "c");  // overlaps no file, but the slice
  EXPECT_EQ(Ticker("trivial_move_count"), 1u);
  EXPECT_EQ(Get(25), "c");
  EXPECT_EQ(Scan(), "10=a 15=b 20=a 23=c 25=c");
}

TEST_F(LdcTest, BoundaryKeysAreInOneSliceOnly) {
  Open();
  Flush({10, 20}, "a");
  Flush({21, 30}, "a");
  Flush({31, 40}, "a");
  Flush({10, 20, 21, 30, 31, 40}, "b");
  EXPECT_EQ(Ticker("link_count"), 1u);
  for (const int key : {10, 20, 21, 30, 31, 40}) {
    EXPECT_EQ(Get(key), "b") << key;
  }
  EXPECT_EQ(Scan(), "10=b 20=b 21=b 30=b 31=b 40=b");
  db_->CompactRange(nullptr, nullptr);
  WaitUntilIdle();
  EXPECT_EQ(Scan(), "10=b 20=b 21=b 30=b 31=b 40=b");
}

// Algorithm 1 would freeze it without a reference and lose it.
TEST_F(LdcTest, AFileThatTouchesNothingMovesDown) {
  Open();
  Flush({10, 20}, "a");
  Flush({40, 50}, "a");
  Flush({25, 35}, "b");
  EXPECT_EQ(Ticker("link_count"), 0u);
  EXPECT_EQ(FilesAt(1), 3);
  EXPECT_EQ(Scan(), "10=a 20=a 25=b 35=b 40=a 50=a");
}

// Algorithm 1 merges inside the loop of links: the first merge would take the
// only reference and remove the table before its other slices are linked.
TEST_F(LdcTest, EverySliceIsLinkedBeforeTheFirstMerge) {
  options_.slice_link_threshold = 1;
  Open();
  Flush({10, 20}, "a");
  Flush({30, 40}, "a");
  Flush({50, 60}, "a");
  Flush({15, 35, 55}, "b");
  EXPECT_EQ(Ticker("link_count"), 1u);
  EXPECT_EQ(Ticker("merge_count"), 3u);
  EXPECT_EQ(Scan(), "10=a 15=b 20=a 30=a 35=b 40=a 50=a 55=b 60=a");
  EXPECT_EQ(Number("recompact.space", "frozen_bytes"), 0u);
}

TEST_F(LdcTest, AMergeComesWithAsManySlicesAsTheThreshold) {
  options_.slice_link_threshold = 3;
  Open();
  Flush({10, 20}, "a");
  Flush({10}, "b");
  Flush({10}, "c");
  EXPECT_EQ(Ticker("merge_count"), 0u);
  Flush({10}, "d");
  EXPECT_EQ(Ticker("merge_count"), 1u);
  EXPECT_EQ(Scan(), "10=d 20=a");
}

TEST_F(LdcTest, AMergeComesWithAsManyBytesAsTheFile) {
  options_.slice_link_bytes_percent = 100;
  options_.block_size = 1024;
  Open();
  Flush({10, 11, 12, 13}, std::string(2000, 'a'));
  Flush({10, 11}, std::string(2000, 'b'));
  EXPECT_EQ(Ticker("merge_count"), 0u);
  Flush({11, 12, 13}, std::string(2000, 'c'));
  EXPECT_EQ(Ticker("merge_count"), 1u);
}

TEST_F(LdcTest, FrozenTablesGoWithTheirLastSlice) {
  options_.slice_link_threshold = 2;
  Open();
  Flush({10, 20}, "a");
  Flush({30, 40}, "a");
  Flush({15, 35}, "b");  // one slice for each
  const std::set<uint64_t> linked = TablesOnDisk();
  Flush({15}, "c");  // the first file is full
  EXPECT_EQ(Ticker("merge_count"), 1u);
  const uint64_t frozen = *linked.rbegin();
  EXPECT_EQ(TablesOnDisk().count(frozen), 1u);
  EXPECT_EQ(Get(35), "b");
  Flush({35}, "d");  // and now the second
  EXPECT_EQ(Ticker("merge_count"), 2u);
  EXPECT_EQ(TablesOnDisk().count(frozen), 0u);
  EXPECT_EQ(Number("recompact.space", "frozen_bytes"), 0u);
  EXPECT_EQ(Scan(), "10=a 15=c 20=a 30=a 35=d 40=a");
}

TEST_F(LdcTest, SnapshotsLiveThroughLinkAndMerge) {
  options_.slice_link_threshold = 3;
  Open();
  Flush({10, 20}, "a");
  const Snapshot* const first = db_->GetSnapshot();
  Flush({10}, "b");
  const Snapshot* const second = db_->GetSnapshot();
  Delete(10);
  Flush();
  const auto expect = [&] {
    EXPECT_EQ(Get(10, first), "a");
    EXPECT_EQ(Get(10, second), "b");
    EXPECT_EQ(Get(10), "none");
  };
  expect();
  Flush({20}, "c");
  EXPECT_EQ(Ticker("merge_count"), 1u);
  expect();
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
  db_->CompactRange(nullptr, nullptr);
  WaitUntilIdle();
  EXPECT_EQ(Scan(), "20=c");
}

TEST_F(LdcTest, DeletingAWholeFileLeavesNoFile) {
  options_.slice_link_threshold = 1;
  Open();
  Flush({10, 20}, "a");
  Delete(10);
  Delete(20);
  Flush();
  EXPECT_EQ(Ticker("merge_count"), 1u);
  EXPECT_EQ(FilesAt(1), 0);
  EXPECT_EQ(Scan(), "");
  EXPECT_EQ(TablesOnDisk().size(), 0u);
}

// A merge must not drop a deletion while a slice further down holds the key.
TEST_F(LdcTest, DeletionsOutliveWhatSlicesFurtherDownHold) {
  options_.level_base_bytes = 20000;
  options_.fanout = 1000;
  Open();
  const std::string large(8000, 'x');
  Flush({10, 20}, large);
  Flush({30, 40}, large);
  Flush({50, 60}, large);
  ASSERT_GT(FilesAt(2), 0);  // L1 was over its limit
  Flush({10, 15, 20}, large);
  Flush({12, 15, 18}, large);
  Flush({14, 15, 16}, large);
  for (int key = 10; key <= 60; key++) Delete(key);
  Flush();
  db_->CompactRange(nullptr, nullptr);
  WaitUntilIdle();
  EXPECT_EQ(Scan(), "");
}

TEST_F(LdcTest, FilesOfL0AreLinkedOldestFirst) {
  options_.l0_compaction_trigger = 5;
  Open();
  for (int i = 0; i < 5; i++) Flush({10, 20}, "base");
  ASSERT_EQ(FilesAt(0), 0);
  for (const char* value : {"a", "b", "c", "d"}) Flush({10, 20}, value);
  EXPECT_EQ(FilesAt(0), 4);
  Flush({10}, "e");
  EXPECT_EQ(FilesAt(0), 0);
  EXPECT_EQ(Ticker("link_count"), 1u);
  EXPECT_EQ(Get(10), "e");
  EXPECT_EQ(Get(20), "d");
  EXPECT_EQ(Scan(), "10=e 20=d");
}

TEST_F(LdcTest, TooManyFrozenBytesForceAMergeBeforeTheLink) {
  options_.frozen_bytes_limit_percent = 35;
  options_.event_log_path = path_ + ".events";
  options_.env->RemoveFile(options_.event_log_path);
  Open();
  Flush({10, 20, 30, 40}, std::string(3000, 'a'));
  Flush({10}, std::string(3000, 'b'));
  EXPECT_EQ(Ticker("merge_count"), 0u);
  Flush({20, 30}, std::string(3000, 'c'));  // With it there would be 9 of 21 KB
  EXPECT_EQ(Ticker("merge_count"), 1u);
  EXPECT_EQ(Ticker("link_count"), 2u);
  const uint64_t frozen = Number("recompact.space", "frozen_bytes");
  EXPECT_GT(frozen, 0u);
  EXPECT_LT(frozen * 100, Number("recompact.space", "live_bytes") * 35);
  db_.reset();  // It keeps the last events
  std::string events;
  ASSERT_TRUE(
      ReadFileToString(options_.env, options_.event_log_path, &events).ok());
  EXPECT_LT(events.find("\"type\": \"merge\""),
            events.rfind("\"type\": \"link\""));
}

TEST_F(LdcTest, WhereEveryFileHasSlicesOneIsMerged) {
  Open();
  Flush({10, 20}, std::string(3000, 'a'));
  Flush({15}, "b");
  // L1 is over its limit from now on, and its only file has a slice.
  options_.level_base_bytes = 1000;
  Open();
  EXPECT_EQ(Ticker("merge_count"), 1u);
  EXPECT_EQ(FilesAt(1), 0);
  EXPECT_EQ(Get(15), "b");
  EXPECT_EQ(Get(20), std::string(3000, 'a'));
}

TEST_F(LdcTest, SlicesSurviveAReopen) {
  Open();
  Flush({10, 20}, "a");
  Flush({30, 40}, "a");
  Flush({15, 20, 25, 45}, "b");
  Flush({15}, "c");
  const std::string before = Scan();
  for (int i = 0; i < 2; i++) {  // The second reads what the first wrote
    Open();
    EXPECT_EQ(Scan(), before);
    EXPECT_EQ(Property("recompact.tables"), "4");
    EXPECT_EQ(Get(15), "c");
  }
}

TEST_F(LdcTest, CompactRangeLeavesNothingFrozen) {
  Open();
  Flush({10, 20}, "a");
  Flush({30, 40}, "a");
  Flush({5, 15, 25, 35, 45}, "b");
  Flush({15, 35}, "c");
  db_->CompactRange(nullptr, nullptr);
  WaitUntilIdle();
  EXPECT_EQ(Number("recompact.space", "frozen_bytes"), 0u);
  EXPECT_EQ(Scan(), "5=b 10=a 15=c 20=a 25=b 30=a 35=c 40=a 45=b");
}

// Of the versions of a key that fill three tables of level 1 the newest ones
// lie in the first.
TEST_F(LdcTest, ARangeTakesAllOfAKeyAlsoWhereTablesAreSmallForTheOptions) {
  options_.num_levels = 3;
  options_.block_size = 100;
  options_.max_file_size = 1000;
  options_.level_base_bytes = 1;
  Open();
  Flush({10}, "a");
  EXPECT_EQ(Files(3), "0 0 1");
  options_.level_base_bytes = 1 << 20;
  options_.slice_link_threshold = 1;
  Open();
  std::vector<const Snapshot*> snapshots;
  for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}) {
    Put(20, std::string(500, letter));
    snapshots.push_back(db_->GetSnapshot());
  }
  Flush({10}, "b");  // into level 1
  Flush({10}, "c");  // merged with it
  EXPECT_EQ(RangesAt(1), "10-20 20-20 20-20");
  for (const Snapshot* snapshot : snapshots) db_->ReleaseSnapshot(snapshot);
  options_.max_file_size = 1 << 20;
  Open();
  const std::string key = Key(10);
  const Slice range(key);
  db_->CompactRange(&range, &range);
  WaitUntilIdle();
  EXPECT_EQ(FilesAt(1), 0);
  EXPECT_EQ(Scan(), "10=c 20=i");
  EXPECT_EQ(Get(20), std::string(500, 'i'));
}

TEST_F(LdcTest, ApproximateSizesCountSlices) {
  options_.block_size = 1024;
  Open();
  Flush({10, 20, 30, 40}, std::string(2000, 'a'));
  const auto sizes = [&](int from, int to) {
    const std::string begin = Key(from), end = Key(to);
    const Range range(begin, end);
    uint64_t size;
    db_->GetApproximateSizes(&range, 1, &size);
    return size;
  };
  const uint64_t low = sizes(0, 25), high = sizes(25, 99);
  Flush({31, 32, 33, 34, 40}, std::string(2000, 'b'));
  EXPECT_EQ(Ticker("link_count"), 1u);
  EXPECT_EQ(sizes(0, 25), low);
  EXPECT_GT(sizes(25, 99), high + 5 * 1900);
  EXPECT_EQ(sizes(0, 25) + sizes(25, 99), sizes(0, 99));
}

TEST_F(LdcTest, BloomFiltersSpareSlices) {
  const std::unique_ptr<const FilterPolicy> filter(NewBloomFilterPolicy(10));
  options_.filter_policy = filter.get();
  Open();
  Flush({10, 20}, "a");
  Flush({11, 19}, "b");
  const uint64_t negatives = Ticker("bloom_negatives");
  const uint64_t reads = Ticker("block_reads") + Ticker("block_cache_hits");
  EXPECT_EQ(Get(20), "a");  // outside the slice's range: it is not asked
  EXPECT_EQ(Ticker("bloom_negatives"), negatives);
  EXPECT_EQ(Get(15), "none");  // neither filter has it
  EXPECT_EQ(Ticker("bloom_negatives"), negatives + 2);
  EXPECT_EQ(Ticker("block_reads") + Ticker("block_cache_hits"), reads + 1);
  db_.reset();
}

TEST_F(LdcTest, ALinkToAMissingTableIsToldAtOpen) {
  Open();
  Flush({10, 20}, "a");
  Flush({15}, "b");
  db_.reset();
  const uint64_t frozen = *TablesOnDisk().rbegin();
  const std::string name = TableFileName(path_, frozen);
  const std::string away = path_ + ".away";
  ASSERT_TRUE(options_.env->RenameFile(name, away).ok());
  const Status s = TryToOpen();
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  EXPECT_NE(s.ToString().find(std::to_string(frozen)), std::string::npos)
      << s.ToString();
  ASSERT_TRUE(options_.env->RenameFile(away, name).ok());
  Open();  // Nothing else was lost
  EXPECT_EQ(Scan(), "10=a 15=b 20=a");
}

TEST_F(LdcTest, AThresholdBelowOneIsRefused) {
  options_.slice_link_threshold = 0;
  ExpectRefused("slice_link_threshold");
}

TEST_F(LdcTest, AnAdaptiveWindowOfZeroIsRefused) {
  options_.slice_link_adaptive_window = 0;
  ExpectRefused("slice_link_adaptive_window");
}

TEST_F(LdcTest, AShareOfUselessBytesOfZeroIsRefused) {
  options_.frozen_table_useless_percent = 0;
  ExpectRefused("frozen_table_useless_percent");
}

TEST_F(LdcTest, WhatIsMostlyUselessIsReleased) {
  MergeTheFirstOfTwoOwners(/*first_bytes=*/9000, /*second_bytes=*/1000);
  EXPECT_EQ(Ticker("merge_count"), 2u);
  EXPECT_EQ(Number("recompact.space", "frozen_bytes"), 0u);
  EXPECT_EQ(Get(10), std::string(9000, 'b'));
  EXPECT_EQ(Get(20), "d");
  EXPECT_EQ(Get(30), "a");
  EXPECT_EQ(Get(40), std::string(1000, 'c'));
}

TEST_F(LdcTest, WhatIsStillNeededIsNotReleased) {
  MergeTheFirstOfTwoOwners(/*first_bytes=*/1000, /*second_bytes=*/9000);
  EXPECT_EQ(Ticker("merge_count"), 1u);
  EXPECT_GT(Number("recompact.space", "frozen_bytes"), 0u);
}

// A file of L0 waits for its link, and a file of L1 for its merge.
TEST_F(LdcTest, LinksGoFirstWhereTheyAreAskedTo) {
  for (const bool links_first : {false, true}) {
    DestroyDB(path_, options_);
    options_.l0_compaction_trigger = 1;
    options_.slice_link_threshold = 100;
    Open();
    Flush({10, 20}, "a");
    Flush({15}, "b");
    options_.l0_compaction_trigger = 2;
    Open();
    Flush({16}, "c");
    EXPECT_EQ(FilesAt(0), 1);
    options_.l0_compaction_trigger = 1;
    options_.slice_link_threshold = 1;
    options_.links_first = links_first;
    Open();
    // Linked first, its slice is merged together with the other one.
    EXPECT_EQ(Ticker("merge_count"), links_first ? 1u : 2u);
    EXPECT_EQ(Scan(), "10=a 15=b 16=c 20=a");
    db_.reset();
  }
}

// Does something while a MANIFEST is synced, when the lock is free.
class HookedManifestEnv : public EnvWrapper {
 public:
  HookedManifestEnv() : EnvWrapper(Env::Default()) {}

  Status NewWritableFile(const std::string& name,
                         WritableFile** result) override {
    const Status s = target()->NewWritableFile(name, result);
    if (s.ok() && name.find("MANIFEST") != std::string::npos) {
      *result = new Manifest(this, *result);
    }
    return s;
  }

  std::function<void()> hook;

 private:
  class Manifest : public WritableFile {
   public:
    Manifest(HookedManifestEnv* env, WritableFile* target)
        : env_(env), target_(target) {}
    Status Append(const Slice& data) override { return target_->Append(data); }
    Status Close() override { return target_->Close(); }
    Status Flush() override { return target_->Flush(); }
    Status Sync() override {
      const Status s = target_->Sync();
      if (env_->hook) env_->hook();
      return s;
    }

   private:
    HookedManifestEnv* const env_;
    const std::unique_ptr<WritableFile> target_;
  };
};

TEST_F(LdcTest, WhatBecomesDueWhileAVersionIsOnItsWayIsMerged) {
  HookedManifestEnv env;
  options_.env = &env;
  options_.slice_link_threshold = 2;
  options_.slice_link_adaptive = true;
  options_.slice_link_adaptive_window = 10;
  Open();
  Flush({10, 20}, "a");
  int records = 0;
  env.hook = [&] {
    // The first is that of the flush, the second that of the link.
    if (Ticker("flush_count") < 2 || ++records != 2) return;
    for (int i = 0; i < 3 * options_.slice_link_adaptive_window; i++) Get(10);
  };
  Flush({10}, "b");
  EXPECT_GE(records, 2);
  EXPECT_EQ(Ticker("merge_count"), 1u);  // The threshold is 1 now
  EXPECT_EQ(Number("recompact.space", "frozen_bytes"), 0u);
  db_.reset();
  options_.env = Env::Default();
}

TEST_F(LdcTest, AnEditThatMakesNoSenseIsACorruption) {
  const InternalKeyComparator comparator(BytewiseComparator());
  options_.comparator = &comparator;
  options_.env->CreateDir(path_);
  TableCache tables(path_, options_, 10);
  VersionSet versions(path_, &options_, &tables, &comparator);
  TablePart part;
  FileMetaData nowhere;
  nowhere.number = 7;
  part.table = &nowhere;
  VersionEdit edit;
  edit.AddPart(1, 6, part);
  edit.SetLogNumber(1);
  port::Mutex mutex;
  mutex.Lock();
  const Status s = versions.LogAndApply(&edit, &mutex);
  mutex.Unlock();
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  options_.comparator = BytewiseComparator();
}

TEST_F(LdcTest, ReadsAloneMergeEverythingWhereTheThresholdIsAdaptive) {
  options_.slice_link_threshold = 8;
  options_.slice_link_adaptive = true;
  options_.slice_link_adaptive_window = 10;
  Open();
  Flush({10, 20}, "a");
  Flush({30, 40}, "a");
  Flush({10, 30}, "b");
  EXPECT_EQ(Ticker("merge_count"), 0u);
  for (int i = 0; i < 4 * options_.slice_link_adaptive_window; i++) Get(10);
  WaitUntilIdle();
  EXPECT_EQ(Ticker("merge_count"), 2u);
  EXPECT_EQ(Number("recompact.space", "frozen_bytes"), 0u);
  EXPECT_EQ(Scan(), "10=b 20=a 30=b 40=a");
}

}  // namespace
}  // namespace leveldb
