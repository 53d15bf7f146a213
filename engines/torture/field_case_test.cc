// Cases that users of LevelDB and of its kin reported, on every engine: what
// takes space or time without end, and what comes back after its deletion.
#include "torture/field_case.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

using leveldb::Slice;

// What makes other shapes of an engine's tree than kSmallSet.
constexpr const char* kSetsOfEngines[] = {"small_dtables", "dtables_in_files",
                                          "merge_hardly_ever",
                                          "buffer_of_all_levels"};

std::vector<uint64_t> Order(uint64_t count, bool random) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (random) {
    std::shuffle(order.begin(), order.end(), std::mt19937_64(flags.seed));
  }
  return order;
}

bool HoldsNothing(FieldDatabase* database) {
  const std::unique_ptr<leveldb::Iterator> iterator(
      (*database)->NewIterator(leveldb::ReadOptions()));
  iterator->SeekToFirst();
  return !iterator->Valid() && iterator->status().ok();
}

// How everything is written and deleted before CompactRange (google/leveldb
// issues 227 and 454).
struct Deleted {
  enum When { kAfterAll, kAsAQueue, kAtOnce };
  const char* name;
  size_t value_length;
  bool random;
  When when;
  bool reopens;
};

constexpr Deleted kDeleted[] = {
    {"ascending", 600, false, Deleted::kAfterAll, false},
    {"random", 600, true, Deleted::kAfterAll, false},
    {"random, reopened", 600, true, Deleted::kAfterAll, true},
    {"small values", 20, true, Deleted::kAfterAll, false},
    {"large values", 20'000, true, Deleted::kAfterAll, false},
    {"queue", 600, false, Deleted::kAsAQueue, false},
    {"queue, reopened", 600, false, Deleted::kAsAQueue, true},
    {"at once", 600, true, Deleted::kAtOnce, false},
    {"at once, reopened", 600, false, Deleted::kAtOnce, true},
};
constexpr uint64_t kDeletedBytes = 20 << 20;
constexpr uint64_t kQueueLength = 100;

void WriteAndDelete(const Deleted& shape, FieldDatabase* database) {
  const uint64_t keys = flags.Count(kDeletedBytes) / (shape.value_length + 20);
  const std::vector<uint64_t> order = Order(keys, shape.random);
  for (uint64_t i = 0; i < keys; i++) {
    database->Put(FieldKey(order[i]), FieldValue(i, shape.value_length));
    if (shape.when == Deleted::kAtOnce) database->Delete(FieldKey(order[i]));
    if (shape.when == Deleted::kAsAQueue && i >= kQueueLength) {
      database->Delete(FieldKey(order[i - kQueueLength]));
    }
  }
  if (shape.when == Deleted::kAtOnce) return;
  const bool most_are_gone = shape.when == Deleted::kAsAQueue;
  for (uint64_t i = most_are_gone ? keys - kQueueLength : 0; i < keys; i++) {
    database->Delete(FieldKey(order[i]));
  }
}

// CompactRange looks for the deepest level before it flushes the memtable, so
// what goes one level further meanwhile is left for the next call: it is called
// once where nothing else goes on, and otherwise twice.
void ExpectNothingLeft(const char* set, const Deleted& shape, bool waits) {
  FieldDatabase database(set);
  database.Open();
  WriteAndDelete(shape, &database);
  if (shape.reopens) database.Reopen();
  if (waits) database.WaitIdle();
  const uint64_t before = database.TableBytes();
  for (int i = 0; i < (waits ? 1 : 2); i++) {
    database->CompactRange(nullptr, nullptr);
  }
  database.WaitIdle();
  EXPECT_TRUE(HoldsNothing(&database)) << Where(set) << shape.name;
  // What fits into one memtable: stock puts it into level 2 if nothing is in
  // its way, and then does not look further down than level 1; RocksDB moves it
  // down with its deletions.
  if (!IsPatched() && std::string(set) == kDefaultSet) return;
  const uint64_t left = database.TableBytes();
  EXPECT_EQ(left, 0) << Where(set) << shape.name << ": of " << before
                     << " bytes in tables CompactRange leaves " << left;
}

TEST(FieldCaseTest, CompactRangeLeavesNothingDeleted) {
  for (const char* set : {kSmallSet, kDefaultSet}) {
    for (const Deleted& shape : kDeleted) {
      ExpectNothingLeft(set, shape, /*waits=*/true);
    }
  }
  for (const char* set : kSetsOfEngines) {
    ExpectNothingLeft(set, kDeleted[1], /*waits=*/false);
    ExpectNothingLeft(set, kDeleted[6], /*waits=*/false);
  }
}

// The same of a range, while the keys before and after it stay.
TEST(FieldCaseTest, CompactRangeOfARangeLeavesNothingDeleted) {
  const size_t length = 600;
  const uint64_t keys = flags.Count(kDeletedBytes) / length;
  std::vector<const char*> sets = {kSmallSet};
  sets.insert(sets.end(), std::begin(kSetsOfEngines), std::end(kSetsOfEngines));
  for (const char* set : sets) {
    FieldDatabase database(set);
    database.Open();
    for (const uint64_t key : Order(keys, /*random=*/true)) {
      database.Put(FieldKey(key), FieldValue(key, length));
    }
    const std::string from = FieldKey(keys / 4), to = FieldKey(keys / 4 * 3);
    for (uint64_t key = keys / 4; key < keys / 4 * 3; key++) {
      database.Delete(FieldKey(key));
    }
    database.WaitIdle();
    const Slice begin = from, end = to;
    database->CompactRange(&begin, &end);
    database.WaitIdle();
    const leveldb::Range range(begin, end);
    uint64_t size;
    database->GetApproximateSizes(&range, 1, &size);
    const uint64_t deleted = keys / 2 * length;
    EXPECT_LE(size, deleted / 8) << Where(set) << "CompactRange of " << deleted
                                 << " deleted bytes leaves " << size;
  }
}

// What bounds deletions and lets CompactRange look for them is counted in the
// MANIFEST, which is written anew each time; upstream's format has no counts.
// An engine with a format of its own does; that of deep trees is upstream's but
// for its number of levels.
bool CountsDeletions(FieldDatabase* database) {
  std::string format;
  (*database)->GetProperty("recompact.format", &format);
  return !format.empty() && std::isdigit(format[0]) == 0;
}

TEST(FieldCaseTest, CountsOfDeletionsOutliveReopenings) {
  FieldDatabase database(kSmallSet);
  database.Open();
  constexpr uint64_t kKeys = 2000;
  for (uint64_t key = 0; key < kKeys; key++) {
    database.Put(FieldKey(key), FieldValue(key, 100));
    if (key % 10 == 9) database.Delete(FieldKey(key - 5));
  }
  const Slice before_all("a");
  database->CompactRange(&before_all, &before_all);  // flushes
  database.WaitIdle();
  const bool counts = CountsDeletions(&database);
  const uint64_t entries = database.InSpace("entries");
  const uint64_t deletions = database.InSpace("deletions");
  EXPECT_EQ(entries > deletions && deletions > 0, counts) << Where(kSmallSet);
  for (int i = 0; i < 3; i++) {
    database.Reopen();
    database.WaitIdle();
    if (!counts) continue;
    EXPECT_EQ(database.InSpace("entries"), entries) << Where(kSmallSet) << i;
    EXPECT_EQ(database.InSpace("deletions"), deletions)
        << Where(kSmallSet) << i;
  }
}

// Two ends of a key space (google/leveldb issues 164 and 603), and what is
// like it.
enum Flow { kQueue, kQueueDown, kStack, kCache };
const char* const kFlowNames[] = {"queue", "queue downwards", "stack", "cache"};

// Tables take no more than this many times the live data, beside a level 0 that
// is full and what is being written.  This holds where level 1 can hold the
// live data: otherwise stock moves values further down than their deletions,
// which are too small to fill a level.
constexpr uint64_t kSpaceFactor = 8;
constexpr int kMemTablesBeside = 20;  // l0_stop_trigger is 12

constexpr uint64_t kTablesBeside = 2;

struct FlowSizes {
  const char* set;
  uint64_t live;  // entries of kFlowLength
  uint64_t passes;
  uint64_t mem_table, table;
};
constexpr size_t kFlowLength = 1000;

FlowSizes SmallFlow(const char* set) {
  const uint64_t mem_table = std::strtoull(
      OptionsOf(kSmallSet).at("write_buffer_size").c_str(), nullptr, 10);
  return {set, 48, std::max<uint64_t>(256, flags.Count(1024)), mem_table,
          SmallTableBytes()};
}

// Entries that are held, by their keys: which one goes for the next.
class Holder {
 public:
  Holder(Flow flow, size_t live)
      : flow_(flow), live_(live), random_(flags.seed) {}

  uint64_t Add() {
    const uint64_t key = flow_ == kQueue       ? kMiddle + count_
                         : flow_ == kQueueDown ? kMiddle - count_
                         : flow_ == kStack     ? kMiddle + held_.size()
                                               : random_() % kMiddle;
    count_++;
    held_.push_back(key);
    return key;
  }
  // Keys to delete after that.
  std::vector<uint64_t> Remove() {
    std::vector<uint64_t> keys;
    if (flow_ == kStack && held_.size() == 2 * live_) {
      keys.assign(held_.rbegin(), held_.rend());
      held_.clear();
    } else if (flow_ != kStack && held_.size() > live_) {
      if (flow_ == kCache) std::swap(held_[random_() % held_.size()], held_[0]);
      keys.push_back(held_.front());
      held_.pop_front();
    }
    return keys;
  }

 private:
  static constexpr uint64_t kMiddle = uint64_t{1} << 40;

  const Flow flow_;
  const size_t live_;
  std::mt19937_64 random_;
  uint64_t count_ = 0;
  std::deque<uint64_t> held_;
};

// The most bytes of tables once half of all has gone through.
uint64_t FlowThrough(Flow flow, const FlowSizes& sizes,
                     FieldDatabase* database) {
  uint64_t most = 0;
  Holder holder(flow, sizes.live);
  const uint64_t count = sizes.live * sizes.passes;
  for (uint64_t i = 0; i < count; i++) {
    database->Put(FieldKey(holder.Add()), FieldValue(i, kFlowLength));
    for (const uint64_t key : holder.Remove()) {
      database->Delete(FieldKey(key));
    }
    if (i * 2 < count || i % 16 != 0) continue;
    most = std::max(most, database->TableBytes());
  }
  return most;
}

void ExpectBoundedSpace(const FlowSizes& sizes, Flow flow,
                        bool only_by_counts = false) {
  FieldDatabase database(sizes.set);
  database.Open();
  if (only_by_counts && !CountsDeletions(&database)) return;
  const uint64_t beside =
      kMemTablesBeside * sizes.mem_table + kTablesBeside * sizes.table;
  const uint64_t live = sizes.live * kFlowLength;
  EXPECT_LE(FlowThrough(flow, sizes, &database), kSpaceFactor * live + beside)
      << Where(sizes.set) << kFlowNames[flow] << " of " << live
      << " live bytes";
}

TEST(FieldCaseTest, AQueueTakesBoundedSpace) {
  for (const Flow flow : {kQueue, kQueueDown, kStack, kCache}) {
    ExpectBoundedSpace(SmallFlow(kSmallSet), flow);
  }
  for (const char* set : {"small_dtables", "dtables_in_files"}) {
    // Their level 1 cannot hold the live data.
    ExpectBoundedSpace(SmallFlow(set), kQueue, /*only_by_counts=*/true);
  }
  ExpectBoundedSpace({kDefaultSet, 8192, flags.Count(64), 4 << 20, kTableBytes},
                     kQueue);
}

// Writers that write at full speed until they are told to stop, or have
// written so much that CompactRange should have returned long before.
class Writers {
 public:
  Writers(int count, uint64_t keys, size_t length, uint64_t limit,
          FieldDatabase* database) {
    for (int writer = 0; writer < count; writer++) {
      threads_.emplace_back([=] {
        std::mt19937_64 random(flags.seed * 100 + writer);
        while (!stop_ && written_ < limit) {
          const uint64_t i = written_++;
          (*database)->Put(leveldb::WriteOptions(), FieldKey(random() % keys),
                           FieldValue(i, length));
        }
      });
    }
  }
  ~Writers() { Stop(); }

  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  uint64_t written() const { return written_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> written_{0};
  std::vector<std::thread> threads_;
};

// What is carried out between the begin and the end of CompactRange: so many
// times what there is to do where nobody writes, for what is written meanwhile.
// Without an end it returns when the writers do (google/leveldb issue 245).
constexpr uint64_t kTimesAlone = 7;
constexpr uint64_t kStepsBeside = 150;

uint64_t Steps(FieldDatabase* database) {
  return database->Ticker("compaction_count") +
         database->Ticker("trivial_move_count") +
         database->Ticker("link_count");
}

// The steps of CompactRange of everything or a range beside so many writers.
uint64_t StepsBeside(int writer_count, bool everything) {
  constexpr uint64_t kKeys = 20'000;
  constexpr size_t kLength = 100;
  FieldDatabase database(kSmallSet);
  database.Open();
  for (const uint64_t key : Order(kKeys, /*random=*/true)) {
    database.Put(FieldKey(key), FieldValue(key, kLength));
  }
  database.WaitIdle();
  Writers writers(writer_count, kKeys, kLength, 10 * kKeys, &database);
  while (writer_count > 0 && writers.written() < kKeys / 10) {
    std::this_thread::yield();
  }
  const std::string from = FieldKey(kKeys / 4), to = FieldKey(kKeys / 2);
  const Slice begin = from, end = to;
  const uint64_t before = Steps(&database);
  database->CompactRange(everything ? nullptr : &begin,
                         everything ? nullptr : &end);
  const uint64_t steps = Steps(&database) - before;
  writers.Stop();
  return steps;
}

TEST(FieldCaseTest, CompactRangeReturnsUnderWriters) {
  for (const bool everything : {true, false}) {
    const uint64_t alone = StepsBeside(0, everything);
    for (uint64_t i = 0; i < flags.Count(120); i++) {  // not the same twice
      const int count = std::array{2, 4, 1}[i % 3];
      EXPECT_LE(StepsBeside(count, everything),
                kTimesAlone * alone + kStepsBeside)
          << Where(kSmallSet) << count << " writers, CompactRange of "
          << (everything ? "all" : "a range") << ", alone in " << alone
          << " steps";
    }
  }
}

}  // namespace
}  // namespace recompact
