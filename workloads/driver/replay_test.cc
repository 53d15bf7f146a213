#include "driver/replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/test_directory.h"
#include "driver/trace_builder.h"
#include "driver/virtual_clock.h"
#include "driver/without_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

using ::testing::HasSubstr;

// A store in memory whose answers a test can falsify.
class FakeStore : public Store {
 public:
  Status Put(std::string_view key, std::string_view value) override {
    if (before_write) before_write();
    std::lock_guard<std::mutex> lock(mutex_);
    writers_[std::string(key)].insert(std::this_thread::get_id());
    if (!forgets) records_[std::string(key)] = value;
    return Status::OK();
  }
  Status Delete(std::string_view key) override {
    std::lock_guard<std::mutex> lock(mutex_);
    records_.erase(std::string(key));
    return Status::OK();
  }
  Status Get(std::string_view key, std::string* value, bool* found) override {
    if (before_read) before_read();
    std::lock_guard<std::mutex> lock(mutex_);
    const auto record = records_.find(std::string(key));
    *found = record != records_.end();
    if (*found) *value = record->second;
    return Status::OK();
  }
  Status Scan(std::string_view key, uint32_t count,
              ScannedRecords* records) override {
    if (before_read) before_read();
    std::lock_guard<std::mutex> lock(mutex_);
    records->Clear();
    auto record = records_.lower_bound(std::string(key));
    for (; count > 0 && record != records_.end(); ++record, --count) {
      records->Add(record->first, record->second);
    }
    return Status::OK();
  }
  bool Idle() override { return true; }
  void CompactAll() override {}
  Status Health() override { return Status::OK(); }
  bool Property(const std::string&, std::string*) override { return false; }
  Status Reopen() override { return Status::OK(); }

  std::map<std::string, std::string>& records() { return records_; }
  const std::map<std::string, std::set<std::thread::id>>& writers() const {
    return writers_;
  }
  std::function<void()> before_write;
  std::function<void()> before_read;
  bool forgets = false;  // Writes are acknowledged and lost

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> records_;
  std::map<std::string, std::set<std::thread::id>> writers_;
};

// Real time; a test sees each time that it is read.
class ObservedClock : public Clock {
 public:
  int64_t NowNs() override {
    if (before_reading) before_reading();
    return Monotonic()->NowNs();
  }
  void SleepUntilNs(int64_t deadline_ns) override {
    Monotonic()->SleepUntilNs(deadline_ns);
  }
  std::function<void()> before_reading;
};

std::string Key(uint64_t key_number) {
  std::string key(kKeyBytes, '\0');
  EncodeKey(key_number, {KeyOrder::kOrdered}, key.data());
  return key;
}

class ReplayTest : public ::testing::Test {
 protected:
  // Replays the builder's records, after what was replayed before.
  Status Run(const TraceBuilder& builder, int threads = 1, double rate = 0,
             double duration_s = 0) {
    Status status = Write("test.trace", builder, &trace_);
    if (!status.ok()) return status;
    return Replayed({RangeOf(*trace_, threads, rate, &latencies_us_)},
                    duration_s);
  }

  // Replays "beside" while "own" goes on, at these rates.
  Status RunBeside(const TraceBuilder& own, double own_rate,
                   const TraceBuilder& beside, double beside_rate,
                   double duration_s = 0) {
    Status status = Write("test.trace", own, &trace_);
    if (status.ok()) status = Write("beside.trace", beside, &beside_trace_);
    if (!status.ok()) return status;
    return Replayed({RangeOf(*trace_, 1, own_rate, &latencies_us_),
                     RangeOf(*beside_trace_, 1, beside_rate, &beside_us_)},
                    duration_s);
  }

  Status Write(const std::string& name, const TraceBuilder& builder,
               std::unique_ptr<Trace>* trace) {
    const std::string path = directory_.File(name);
    builder.Write(path);
    return Trace::Open(path, trace);
  }
  static Replay::Range RangeOf(const Trace& trace, int threads, double rate,
                               std::vector<float>* latencies_us) {
    latencies_us->assign(trace.record_count(), -1);
    return {&trace, 0,       trace.record_count(),
            rate,   threads, latencies_us->data()};
  }
  Status Replayed(const std::vector<Replay::Range>& ranges, double duration_s) {
    Replay replay(&store_, &values_, {KeyOrder::kOrdered}, value_checks_,
                  &versions_, &progress_, &clock_);
    return replay.Run(ranges, duration_s);
  }

  void ExpectWrongValue(const TraceBuilder& builder, const std::string& what) {
    const Status status = Run(builder);
    EXPECT_EQ(status.code(), ExitCode::kWrongValue);
    EXPECT_THAT(status.message(), HasSubstr(what));
  }

  std::string Value(uint64_t key_number, uint32_t version, uint32_t length) {
    std::string value(length, '\0');
    values_.Generate(key_number, version, length, value.data());
    return value;
  }

  TestDirectory directory_;
  FakeStore store_;
  ObservedClock clock_;
  const ValueGenerator values_{0.5};
  KeyVersions versions_{1000, 100};
  Progress progress_{8};
  bool value_checks_ = true;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Trace> beside_trace_;
  std::vector<float> latencies_us_;
  std::vector<float> beside_us_;
};

TraceBuilder Load(int keys) {
  TraceBuilder builder;
  for (int key = 0; key < keys; key++) {
    builder.Add(Operation::kInsert, key, 100);
  }
  return builder;
}

TEST_F(ReplayTest, WritesReadsScansAndDeletes) {
  TraceBuilder builder;
  builder.Add(Operation::kInsert, 1, 100)
      .Add(Operation::kUpdate, 1, 50)
      .Add(Operation::kInsert, 2, 20)
      .Add(Operation::kRead, 1)
      .Add(Operation::kRead, 3)
      .Add(Operation::kScan, 0, 10)
      .Add(Operation::kDelete, 2)
      .Add(Operation::kRead, 2)
      .Add(Operation::kInsert, 2, 30);
  const Status status = Run(builder);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store_.records()[Key(1)], Value(1, 2, 50));
  EXPECT_EQ(store_.records()[Key(2)], Value(2, 3, 30));

  const Totals totals = progress_.Sum();
  EXPECT_EQ(totals.operations[static_cast<int>(OperationGroup::kWrite)], 5u);
  EXPECT_EQ(totals.operations[static_cast<int>(OperationGroup::kRead)], 3u);
  EXPECT_EQ(totals.operations[static_cast<int>(OperationGroup::kScan)], 1u);
  EXPECT_EQ(totals.user_bytes_written, 5u * 16 + 100 + 50 + 20 + 30);
  EXPECT_EQ(totals.user_bytes_read, 66u + 66 + 36);
  EXPECT_EQ(totals.found, 1u);
  EXPECT_EQ(totals.not_found, 2u);
  EXPECT_EQ(totals.scanned_records, 2u);
  for (const float latency_us : latencies_us_) EXPECT_GE(latency_us, 0);
}

TEST_F(ReplayTest, RefusesAnOldVersion) {
  ASSERT_TRUE(Run(Load(3).Add(Operation::kUpdate, 1, 100)).ok());
  store_.records()[Key(1)] = Value(1, 1, 100);
  TraceBuilder read, scan;
  ExpectWrongValue(read.Add(Operation::kRead, 1),
                   "record 0, key 1: a read found version 1 of key 1, written "
                   "with 100 bytes, here 100 bytes instead of version 2");
  ExpectWrongValue(scan.Add(Operation::kScan, 0, 3),
                   "a scan found version 1 of key 1");
}

TEST_F(ReplayTest, RefusesAnotherKeysValue) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.records()[Key(1)] = Value(2, 1, 100);
  TraceBuilder read;
  ExpectWrongValue(read.Add(Operation::kRead, 1),
                   "a read found version 1 of key 2");
}

TEST_F(ReplayTest, RefusesAFlippedBit) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.records()[Key(1)][70] ^= 1;
  TraceBuilder read, scan;
  ExpectWrongValue(read.Add(Operation::kRead, 1), "instead of version 1");
  ExpectWrongValue(scan.Add(Operation::kScan, 1, 1), "the last write was");
}

TEST_F(ReplayTest, RefusesALostRecord) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.records().erase(Key(1));
  TraceBuilder read, scan;
  ExpectWrongValue(read.Add(Operation::kRead, 1),
                   "a read found nothing instead of version 1");
  ExpectWrongValue(scan.Add(Operation::kScan, 1, 1),
                   "a scan found the key out of its order");
  store_.records().clear();
  ExpectWrongValue(scan, "a scan from it found nothing");
}

TEST_F(ReplayTest, RefusesADeletedRecordThatCameBack) {
  ASSERT_TRUE(Run(Load(3).Add(Operation::kDelete, 1)).ok());
  store_.records()[Key(1)] = Value(1, 1, 100);
  TraceBuilder read, scan;
  ExpectWrongValue(read.Add(Operation::kRead, 1), "instead of nothing");
  ExpectWrongValue(scan.Add(Operation::kScan, 0, 3),
                   "the last write was version 2, a delete");
}

TEST_F(ReplayTest, RefusesAKeyThatNobodyWrote) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.records()["0000000000000001x"] = "value";
  TraceBuilder scan;
  scan.Add(Operation::kScan, 0, 3);
  ExpectWrongValue(scan, "a scan found a key that nobody wrote");
  store_.records().erase("0000000000000001x");
  store_.records()[Key(77)] = Value(77, 1, 100);
  ASSERT_TRUE(Run(scan).ok());  // Ends before it
  TraceBuilder further;
  ExpectWrongValue(further.Add(Operation::kScan, 0, 4), "key 77");
}

// What is read is a version ahead of what is known until the clock has been
// read after the call, so nobody may look at it before.
TEST_F(ReplayTest, WhatIsReadIsVerifiedWhenTheClockHasStopped) {
  ASSERT_TRUE(Run(Load(3)).ok());
  bool called = false;
  store_.before_read = [&called] { called = true; };
  clock_.before_reading = [this, &called] {
    if (!called) return;
    versions_.BeginWrite(1, /*is_delete=*/false);
    versions_.EndWrite(1);
    called = false;
  };
  TraceBuilder read, scan;
  read.Add(Operation::kRead, 1);
  scan.Add(Operation::kScan, 0, 3);
  for (const TraceBuilder& builder : {read, scan}) {
    store_.records()[Key(1)] = Value(1, versions_.Version(1) + 1, 100);
    const Status status = Run(builder);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(ReplayTest, BelievesEverythingIfToldTo) {
  value_checks_ = false;
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.records()[Key(1)] = "nonsense";
  TraceBuilder builder;
  builder.Add(Operation::kRead, 1).Add(Operation::kScan, 0, 3);
  EXPECT_TRUE(Run(builder).ok());
  EXPECT_EQ(progress_.Sum().found, 1u);
  EXPECT_EQ(progress_.Sum().scanned_records, 3u);
}

TEST_F(ReplayTest, EachKeyBelongsToOneClient) {
  TraceBuilder builder = Load(500);
  for (int round = 0; round < 10; round++) {
    for (int key = 0; key < 500; key++) {
      builder.Add(Operation::kUpdate, key, 40).Add(Operation::kRead, key);
    }
  }
  const Status status = Run(builder, 4);
  ASSERT_TRUE(status.ok()) << status.message();
  std::set<std::thread::id> clients;
  for (const auto& [key, writers] : store_.writers()) {
    EXPECT_EQ(writers.size(), 1u) << key;
    clients.insert(writers.begin(), writers.end());
  }
  EXPECT_EQ(clients.size(), 4u);
  EXPECT_EQ(store_.records()[Key(3)], Value(3, 11, 40));
  for (const float latency_us : latencies_us_) EXPECT_GE(latency_us, 0);
  uint64_t operations = 0;
  for (const uint64_t n : progress_.Sum().operations) operations += n;
  EXPECT_EQ(operations, trace_->record_count());
}

TEST_F(ReplayTest, ScansAreCheckedWhileOthersWrite) {
  TraceBuilder builder = Load(200);
  for (int i = 0; i < 20000; i++) {
    builder.Add(Operation::kUpdate, i * 37 % 200, 10 + i % 100);
    if (i % 20 == 0) builder.Add(Operation::kScan, i % 200, 20);
    if (i % 50 == 0) builder.Add(Operation::kDelete, i * 13 % 200);
  }
  const Status status = Run(builder, 4);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(progress_.Sum().scanned_records, 10000u);
}

TEST_F(ReplayTest, NoThreadForAClientIsAnError) {
  const TraceBuilder builder = Load(500);
  {
    const WithoutThreads without_threads;
    const Status status = Run(builder, 4);
    EXPECT_EQ(status.code(), ExitCode::kFailed);
    EXPECT_THAT(status.message(), HasSubstr("client 1: there is no thread"));
  }
  EXPECT_TRUE(store_.records().empty());
}

TEST_F(ReplayTest, FailureStopsAllClients) {
  TraceBuilder builder = Load(500);
  ASSERT_TRUE(Run(builder).ok());
  for (auto& [key, value] : store_.records()) value[20] ^= 1;
  TraceBuilder reads;
  for (int i = 0; i < 100000; i++) reads.Add(Operation::kRead, i % 500);
  EXPECT_EQ(Run(reads, 4).code(), ExitCode::kWrongValue);
  EXPECT_LT(progress_.Sum().found, 1000u);
}

// Every operation is intended at once; each must wait for all before it.
TEST_F(ReplayTest, OpenLoopCountsFromTheIntendedStart) {
  store_.before_write = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ASSERT_TRUE(Run(Load(10), 1, 1e9).ok());
  for (int i = 0; i < 10; i++) EXPECT_GE(latencies_us_[i], (i + 1) * 1000);
}

TEST_F(ReplayTest, OpenLoopDoesNotStartEarly) {
  const int64_t begin_ns = Clock::Monotonic()->NowNs();
  ASSERT_TRUE(Run(Load(11), 1, 1000).ok());
  EXPECT_GE(Clock::Monotonic()->NowNs() - begin_ns, 10000000);
}

TEST_F(ReplayTest, ReadsTheKeyOfARecentUpdate) {
  TraceBuilder builder = Load(10);
  builder.Add(Operation::kUpdate, 3, 100)
      .Add(Operation::kUpdate, 7, 100)
      .Add(Operation::kDelete, 5);
  for (uint64_t rank = 0; rank < 3; rank++) {
    builder.Add(Operation::kReadRecent, rank);
  }
  const Status status = Run(builder);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(progress_.Sum().found, 3u);
  EXPECT_EQ(progress_.Sum().operations[static_cast<int>(OperationGroup::kRead)],
            3u);
  const char* const keys[] = {"key 7: ", "key 3: ", "key 9: "};
  for (uint64_t rank = 0; rank < 3; rank++) {
    TraceBuilder read;
    read.Add(Operation::kReadRecent, rank);
    EXPECT_TRUE(Run(read).ok());
    auto records = store_.records();
    for (auto& [key, value] : store_.records()) value[20] ^= 1;
    ExpectWrongValue(read, keys[rank]);
    store_.records() = records;
  }
}

TEST_F(ReplayTest, RefusesToReadBehindTheFirstUpdate) {
  TraceBuilder builder = Load(3);
  const Status status = Run(builder.Add(Operation::kReadRecent, 3));
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_THAT(status.message(),
              HasSubstr("test.trace: record 3: reads what was written 3 "
                        "updates ago, before there were so many"));
}

TraceBuilder Reads(int count, int keys) {
  TraceBuilder builder;
  for (int i = 0; i < count; i++) builder.Add(Operation::kRead, i % keys);
  return builder;
}

TraceBuilder Updates(int count, int keys) {
  TraceBuilder builder;
  for (int i = 0; i < count; i++) {
    builder.Add(Operation::kUpdate, i % keys, 20 + i % 100);
  }
  return builder;
}

void Pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

TEST_F(ReplayTest, AStreamBesideEndsWithThePhase) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.before_read = Pause;
  const Status status = RunBeside(Updates(50, 3), 1000, Reads(100000, 3), 0);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const float latency_us : latencies_us_) EXPECT_GE(latency_us, 0);
  EXPECT_GE(beside_us_.front(), 0);
  EXPECT_EQ(beside_us_.back(), -1);
  const auto done = std::count_if(beside_us_.begin(), beside_us_.end(),
                                  [](float latency) { return latency >= 0; });
  EXPECT_EQ(progress_.Sum().found, static_cast<uint64_t>(done));
}

TEST_F(ReplayTest, APhaseEndsAfterItsDuration) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.before_read = Pause;
  const int64_t begin_ns = Clock::Monotonic()->NowNs();
  // As many updates as the duration takes, or half an interval more.
  for (const double duration_s : {0.05, 0.0504}) {
    const Status status =
        RunBeside(Reads(100000, 3), 0, Updates(50, 3), 1000, duration_s);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(latencies_us_.back(), -1);
    EXPECT_GE(beside_us_.front(), 0);
  }
  EXPECT_GE(Clock::Monotonic()->NowNs() - begin_ns, 100000000);
  ASSERT_TRUE(Run(Reads(50, 3), 1, 1000, 0.05).ok());
}

TEST_F(ReplayTest, RefusesAStreamThatEndsBeforeThePhase) {
  ASSERT_TRUE(Run(Load(3)).ok());
  const auto expect_refused = [](const Status& status,
                                 const std::string& trace) {
    EXPECT_EQ(status.code(), ExitCode::kBadInput);
    EXPECT_THAT(
        status.message(),
        HasSubstr(trace + ".trace: its 10 operations were done before the "
                          "phase was over ; give the stream more operations"));
  };
  expect_refused(Run(Reads(10, 3), 1, 0, 0.05), "test");
  expect_refused(Run(Reads(10, 3), 1, 1000, 0.05), "test");
  expect_refused(RunBeside(Updates(50, 3), 1000, Reads(10, 3), 0), "beside");
  expect_refused(RunBeside(Updates(50, 3), 1000, Reads(10, 3), 1000), "beside");
}

TEST_F(ReplayTest, AReadBesideAWriteMayFindEitherVersion) {
  ASSERT_TRUE(Run(Load(10)).ok());
  store_.before_read = Pause;
  TraceBuilder writes = Updates(500, 3);
  for (int i = 0; i < 300; i++) {
    writes.Add(Operation::kDelete, i % 3).Add(Operation::kInsert, i % 3, 30);
  }
  TraceBuilder reads;
  for (int i = 0; i < 20000; i++) {
    reads.Add(Operation::kRead, i % 3)
        .Add(Operation::kReadRecent, i % 5)
        .Add(Operation::kScan, 0, 3);
  }
  const Status status = RunBeside(writes, 5000, reads, 0);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(progress_.Sum().scanned_records, 100u);
}

TEST_F(ReplayTest, AReadBesideAWriteMayNotFindWhatWasWrittenOver) {
  ASSERT_TRUE(Run(Load(3)).ok());
  store_.before_read = Pause;
  store_.forgets = true;
  const Status status =
      RunBeside(Reads(100000, 3), 0, Updates(500, 3), 1000, 0.5);
  EXPECT_EQ(status.code(), ExitCode::kWrongValue);
  EXPECT_THAT(status.message(), HasSubstr("a read found version 1 of key"));
}

TEST_F(ReplayTest, VersionsAreRebuiltFromTraces) {
  TraceBuilder builder = Load(3);
  builder.Add(Operation::kUpdate, 1, 10).Add(Operation::kDelete, 2);
  ASSERT_TRUE(Run(builder).ok());
  KeyVersions rebuilt(1000);
  ASSERT_TRUE(rebuilt.CountWrites(*trace_).ok());
  for (uint64_t key = 0; key < 4; key++) {
    EXPECT_EQ(rebuilt.Version(key), versions_.Version(key));
    EXPECT_EQ(rebuilt.Present(key), versions_.Present(key));
  }
  EXPECT_EQ(rebuilt.Version(1), 2u);
  EXPECT_FALSE(rebuilt.Present(2));
  EXPECT_FALSE(rebuilt.Present(3));
}

}  // namespace
}  // namespace recompact
