#include "driver/device_env.h"

#include <memory>
#include <string>
#include <thread>

#include "driver/counters.h"
#include "driver/device_env_fixture.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/options.h"

namespace recompact {
namespace {

TEST_F(DeviceEnvTest, RandomReadsPayPositioningSequentialOnesAShare) {
  NewEnv(SimpleHdd());
  auto a = Open("a", 100000), b = Open("b", 100000);
  EXPECT_EQ(Took([&] { Read(a.get(), 0, 4000); }), 10 * kMs + 40000);
  EXPECT_EQ(Took([&] { Read(a.get(), 50000, 4000); }), 10 * kMs + 40000);
  // Where the head stands nothing is paid,
  EXPECT_EQ(Took([&] { Read(a.get(), 54000, 4000); }), 40000);
  EXPECT_EQ(Took([&] { Read(b.get(), 0, 4000); }), 10 * kMs + 40000);
  // and after another file took the head, the share of a read ahead.
  EXPECT_EQ(Took([&] { Read(a.get(), 58000, 4000); }),
            10 * kMs * 4000 / 100000 + 40000);
  EXPECT_EQ(env_->Counters().reads, 5u);
  EXPECT_EQ(env_->Counters().read_bytes, 20000u);
}

TEST_F(DeviceEnvTest, FilesBeginOnDifferentMembers) {
  DeviceParameters raid0 = SimpleHdd();
  raid0.kind = DeviceKind::kRaid0;
  raid0.chunk_bytes = 524288;
  raid0.member = std::make_shared<DeviceParameters>(SimpleHdd());
  for (raid0.members = 1; raid0.members <= 10; raid0.members++) {
    NewEnv(raid0);
    std::vector<std::unique_ptr<leveldb::RandomAccessFile>> files;
    for (int i = 0; i < raid0.members; i++) {
      files.push_back(Open(std::to_string(i), 100000));
      Read(files.back().get(), 0, 4000);
    }
    // No head had to leave its file for another.
    for (const auto& file : files) {
      EXPECT_EQ(Took([&] { Read(file.get(), 4000, 4000); }), 40000)
          << raid0.members << " members";
    }
  }
}

TEST_F(DeviceEnvTest, ReadsOfBackgroundThreadsAreStreams) {
  NewEnv(SimpleHdd());
  struct Call {
    DeviceEnvTest* test;
    leveldb::RandomAccessFile* file;
    int64_t took_ns = 0;
    std::atomic<bool> done{false};
    static void Run(void* arg) {
      Call* const call = static_cast<Call*>(arg);
      call->took_ns =
          call->test->Took([&] { call->test->Read(call->file, 70000, 4000); });
      call->done = true;
    }
  };
  auto file = Open("a", 100000);
  Call scheduled{this, file.get()}, started{this, file.get()};
  env_->Schedule(&Call::Run, &scheduled);
  while (!scheduled.done) std::this_thread::yield();
  env_->StartThread(&Call::Run, &started);
  while (!started.done) std::this_thread::yield();
  const int64_t share_ns = 10 * kMs * 4000 / 100000 + 40000;
  EXPECT_EQ(scheduled.took_ns, share_ns);
  EXPECT_EQ(started.took_ns, share_ns);
  // This thread is none of them.
  EXPECT_EQ(Took([&] { Read(file.get(), 0, 4000); }), 10 * kMs + 40000);
  while (!env_->BackgroundIdle()) std::this_thread::yield();
}

TEST_F(DeviceEnvTest, EachStartedThreadHasItsOwnLag) {
  NewEnv(SimpleHdd());
  clock_.set_oversleep_ns(3 * kMs);
  auto file = Open("a", 100000);
  Read(file.get(), 0, 4000);  // This thread is 3 ms late,
  const int64_t share_ns = 10 * kMs * 4000 / 100000 + 40000;
  for (int i = 0; i < 2; i++) {
    RunInThread([&] {  // and no new one pays that back.
      EXPECT_EQ(Took([&] { Read(file.get(), 70000 - i * 9000, 4000); }),
                share_ns + 3 * kMs);
    });
  }
  EXPECT_EQ(Took([&] { Read(file.get(), 50000, 4000); }), 10 * kMs + 40000);
}

// An engine that splits a compaction over threads joins them itself, within
// the call that it scheduled.
TEST_F(DeviceEnvTest, AScheduledCallLastsUntilTheThreadsThatItJoins) {
  NewEnv(SimpleHdd());
  struct Compaction {
    DeviceEnv* env;
    std::atomic<bool> reading{false}, go_on{false}, read{false};
    static void Read(void* arg) {
      Compaction* const compaction = static_cast<Compaction*>(arg);
      compaction->reading = true;
      while (!compaction->go_on) std::this_thread::yield();
      compaction->read = true;
    }
    static void Run(void* arg) {
      Compaction* const compaction = static_cast<Compaction*>(arg);
      compaction->env->StartThread(&Compaction::Read, compaction);
      while (!compaction->read) std::this_thread::yield();
    }
  } compaction{env_.get()};
  env_->Schedule(&Compaction::Run, &compaction);
  while (!compaction.reading) std::this_thread::yield();
  EXPECT_FALSE(env_->BackgroundIdle());
  compaction.go_on = true;
  while (!env_->BackgroundIdle()) std::this_thread::yield();
  EXPECT_TRUE(compaction.read);

  // A thread of its own is nobody's call: the env neither counts it nor waits.
  compaction.reading = compaction.go_on = compaction.read = false;
  env_->StartThread(&Compaction::Read, &compaction);
  while (!compaction.reading) std::this_thread::yield();
  const bool idle = env_->BackgroundIdle();
  if (idle) env_.reset();
  compaction.go_on = true;
  while (!compaction.read) std::this_thread::yield();
  EXPECT_TRUE(idle);
}

TEST_F(DeviceEnvTest, ReadAtTheEndChargesWhatWasRead) {
  NewEnv(SimpleHdd());
  auto file = Open("a", 5000);
  Read(file.get(), 4000, 4000);
  Read(file.get(), 9000, 4000);
  EXPECT_EQ(env_->Counters().read_bytes, 1000u);
  EXPECT_EQ(env_->Counters().reads, 1u);
}

TEST_F(DeviceEnvTest, ReadsThatTakeNoTimeAreCountedAndLeaveTheDeviceIdle) {
  NewEnv(SimpleHdd());
  auto file = Open("a", 100000);
  env_->SetReadsTakeTime(false);
  EXPECT_EQ(Took([&] { Read(file.get(), 50000, 4000); }), 0);
  EXPECT_EQ(env_->Counters().read_bytes, 4000u);
  EXPECT_EQ(env_->QueueUs(), 0u);
  env_->SetReadsTakeTime(true);
  EXPECT_EQ(Took([&] { Read(file.get(), 10000, 4000); }), 10 * kMs + 40000);
}

TEST_F(DeviceEnvTest, WhenWaitingStopsTheDeviceIsAsBusyAndNobodyWaits) {
  NewEnv(SimpleHdd());
  auto file = Open("a", 100000);
  EXPECT_EQ(Took([&] { Read(file.get(), 50000, 4000); }), 10 * kMs + 40000);
  env_->StopWaiting();
  EXPECT_EQ(Took([&] { Read(file.get(), 10000, 4000); }), 0);
  EXPECT_EQ(env_->Counters().read_bytes, 8000u);
  EXPECT_EQ(env_->Counters().busy_us, 2 * (10 * kMs + 40000) / 1000u);
}

TEST_F(DeviceEnvTest, SequentialFilesAreStreams) {
  NewEnv(SimpleHdd());
  WriteText(directory_.File("log"), std::string(8000, 'x'));
  leveldb::SequentialFile* opened = nullptr;
  ASSERT_TRUE(env_->NewSequentialFile(directory_.File("log"), &opened).ok());
  std::unique_ptr<leveldb::SequentialFile> file(opened);
  char scratch[4000];
  leveldb::Slice result;
  EXPECT_EQ(Took([&] { file->Read(4000, &result, scratch); }),
            10 * kMs * 4000 / 100000 + 40000);
  EXPECT_EQ(Took([&] { file->Read(4000, &result, scratch); }), 40000);
  EXPECT_EQ(Took([&] { file->Read(4000, &result, scratch); }), 0);
  EXPECT_EQ(env_->Counters().read_bytes, 8000u);
}

TEST_F(DeviceEnvTest, ATableReadWholePaysOnePositioningOverTheScale) {
  NewEnv(SimpleHdd(), /*scale_factor=*/50);
  WriteText(directory_.File("000007.ldb"), std::string(8000, 'x'));
  char scratch[8000];
  leveldb::Slice result;
  const auto read_in_parts_of = [&](size_t bytes) {
    leveldb::SequentialFile* opened = nullptr;
    EXPECT_TRUE(
        env_->NewSequentialFile(directory_.File("000007.ldb"), &opened).ok());
    const std::unique_ptr<leveldb::SequentialFile> file(opened);
    return Took([&] {
      for (size_t at = 0; at < 8000; at += bytes) {
        EXPECT_TRUE(file->Read(bytes, &result, scratch).ok());
      }
    });
  };
  EXPECT_EQ(read_in_parts_of(8000), 10 * kMs / 50 + 80000);
  EXPECT_EQ(read_in_parts_of(4000), 10 * kMs * 4000 / 100000 + 80000);
}

TEST_F(DeviceEnvTest, PageCacheHitsTakeNoTime) {
  DeviceParameters parameters = SimpleHdd();
  parameters.page_cache_bytes = 4 * 4096;
  NewEnv(parameters);
  auto file = Open("a", 100000);
  const int64_t page_ns = 40960;
  // Two pages hold the range.
  EXPECT_EQ(Took([&] { Read(file.get(), 4000, 1000); }),
            10 * kMs + 2 * page_ns);
  EXPECT_EQ(Took([&] { Read(file.get(), 0, 8192); }), 0);
  // Three more: the first page must go, the least recently used.
  Read(file.get(), 8192, 3 * 4096);
  EXPECT_EQ(Took([&] { Read(file.get(), 4096, 10); }), 0);
  EXPECT_EQ(Took([&] { Read(file.get(), 0, 10); }), 10 * kMs + page_ns);
  const DeviceCounters counters = env_->Counters();
  EXPECT_EQ(counters.page_cache_misses, 6u);
  EXPECT_EQ(counters.page_cache_hits, 3u);
  EXPECT_EQ(counters.read_bytes, 6u * 4096);
}

TEST_F(DeviceEnvTest, PageCacheReadsOnlyTheMissingRuns) {
  DeviceParameters parameters = SimpleHdd();
  parameters.page_cache_bytes = 1 << 20;
  NewEnv(parameters);
  auto file = Open("a", 100000);
  Read(file.get(), 2 * 4096, 4096);
  const uint64_t reads = env_->Counters().reads;
  Read(file.get(), 0, 5 * 4096);
  EXPECT_EQ(env_->Counters().reads, reads + 2);
  EXPECT_EQ(env_->Counters().read_bytes, 5u * 4096);
}

TEST_F(DeviceEnvTest, WrittenPagesAreCachedUntilTheFileIsRemoved) {
  DeviceParameters parameters = SimpleHdd();
  parameters.page_cache_bytes = 1 << 20;
  NewEnv(parameters);
  auto written = Create("a");
  ASSERT_TRUE(written->Append(std::string(20000, 'x')).ok());
  ASSERT_TRUE(written->Close().ok());
  ASSERT_TRUE(
      env_->RenameFile(directory_.File("a"), directory_.File("b")).ok());
  auto file = Open("b");
  EXPECT_EQ(Took([&] { Read(file.get(), 0, 20000); }), 0);
  ASSERT_TRUE(env_->RemoveFile(directory_.File("b")).ok());
  EXPECT_GT(Took([&] { Read(file.get(), 0, 20000); }), 0);
}

TEST_F(DeviceEnvTest, AppendsGatherAndAreWrittenBehind) {
  NewEnv(SimpleHdd());
  auto file = Create("log");
  EXPECT_EQ(Took([&] { file->Append(std::string(9999, 'x')); }), 0);
  EXPECT_EQ(env_->Counters().writes, 0u);
  EXPECT_EQ(env_->Counters().unsubmitted_bytes, 9999u);
  EXPECT_EQ(Took([&] { file->Append("xx"); }), 0);
  EXPECT_EQ(env_->Counters().writes, 1u);
  EXPECT_EQ(env_->Counters().write_bytes, 10001u);
  EXPECT_EQ(env_->Counters().unsubmitted_bytes, 0u);
  EXPECT_EQ(env_->QueueUs(), 10000u + 100);
  // What is left goes out with the file.
  file->Append("x");
  file->Close();
  EXPECT_EQ(env_->Counters().write_bytes, 10002u);
}

TEST_F(DeviceEnvTest, WritersWaitAtTheDirtyLimit) {
  DeviceParameters parameters = SimpleHdd();
  parameters.dirty_limit_bytes = 25000;
  NewEnv(parameters);
  auto file = Create("a");
  const std::string unit(10000, 'x');
  const int64_t transfer_ns = 100000;
  const int64_t begin_ns = clock_.NowNs();
  EXPECT_EQ(Took([&] { file->Append(unit); }), 0);
  EXPECT_EQ(Took([&] { file->Append(unit); }), 0);
  // The third waits until the first is written, the fourth for the second.
  file->Append(unit);
  EXPECT_EQ(clock_.NowNs() - begin_ns, 10 * kMs + transfer_ns);
  file->Append(unit);
  EXPECT_EQ(clock_.NowNs() - begin_ns, 10 * kMs + 2 * transfer_ns);
  // Once the device has caught up nobody waits.
  clock_.Advance(100 * kMs);
  EXPECT_EQ(Took([&] { file->Append(unit); }), 0);
}

TEST_F(DeviceEnvTest, WithoutADirtyLimitEachUnitIsAwaited) {
  DeviceParameters parameters = SimpleHdd();
  parameters.dirty_limit_bytes = 0;
  NewEnv(parameters);
  auto file = Create("a");
  const std::string unit(10000, 'x');
  EXPECT_EQ(Took([&] { file->Append(unit); }), 10 * kMs + 100000);
  EXPECT_EQ(Took([&] { file->Append(unit); }), 100000);
}

TEST_F(DeviceEnvTest, SyncWaitsForTheFileAndItsLatency) {
  NewEnv(SimpleHdd());
  auto file = Create("a"), other = Create("b");
  file->Append(std::string(20000, 'x'));   // One request
  other->Append(std::string(10000, 'x'));  // Behind it
  EXPECT_EQ(Took([&] { file->Sync(); }), 10 * kMs + 200000 + 3 * kMs);
  // Its request was over 10.1 ms after the first, 7.1 ms after that commit.
  EXPECT_EQ(Took([&] { other->Sync(); }), 7100000 + 3 * kMs);
  EXPECT_EQ(env_->Counters().syncs, 2u);
  EXPECT_EQ(ReadText(directory_.File("a")).size(), 20000u);
}

TEST_F(DeviceEnvTest, OneCommitCoversAllThatWasWritten) {
  NewEnv(SimpleHdd());
  auto file = Create("a");
  for (const char* name : {"b", "c"}) {
    auto closed = Create(name);
    closed->Append(std::string(5000, 'x'));
    closed->Close();  // On its way
  }
  file->Append(std::string(10000, 'x'));  // Behind them
  const auto sync = [&](const char* name) {
    leveldb::WritableFile* again = nullptr;
    ASSERT_TRUE(env_->NewAppendableFile(directory_.File(name), &again).ok());
    EXPECT_TRUE(again->Sync().ok());
    delete again;
  };
  EXPECT_GT(Took([&] { file->Sync(); }), 3 * kMs);
  EXPECT_EQ(Took([&] { sync("b"); }), 0);
  EXPECT_EQ(Took([&] { sync("c"); }), 0);
  file->Append("x");
  file->Close();
  EXPECT_GE(Took([&] { sync("a"); }), 3 * kMs);
  EXPECT_EQ(env_->Counters().syncs, 4u);
}

// Its sleeps take no time, so that what several threads do overlaps; each of
// them lives on as if it had slept.
class StillClock : public FakeClock {
 public:
  void SleepUntilNs(int64_t deadline_ns) override {
    slept_until_ = deadline_ns;
  }
  // Where the last sleep ended; 0 if there was none since the last call.
  int64_t TakeSleptUntilNs() { return slept_until_.exchange(0); }

 private:
  std::atomic<int64_t> slept_until_{0};
};

// A write takes 100 us and a commit 3 ms; all times are of one schedule.
TEST_F(DeviceEnvTest, ASyncDuringACommitWaitsForTheNextOne) {
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kSsd;
  parameters.read_bandwidth_mb_s = parameters.write_bandwidth_mb_s = 10;
  parameters.channels = 4;
  parameters.read_ahead_bytes = parameters.writeback_bytes = 1000;
  parameters.dirty_limit_bytes = 1 << 30;
  parameters.sync_latency_us = 3000;
  StillClock clock;
  env_ = std::make_unique<DeviceEnv>(leveldb::Env::Default(), parameters, 1,
                                     directory_.path(), &clock);
  const int64_t start_ns = clock.NowNs();
  // When a sync at "at_us" returns that a thread of its own issues after it has
  // appended so many bytes.
  const auto synced_us = [&](int64_t at_us, leveldb::WritableFile* file,
                             size_t bytes) {
    clock.Advance(start_ns + at_us * 1000 - clock.NowNs());
    std::thread([=] {
      if (bytes > 0) file->Append(std::string(bytes, 'x'));
      EXPECT_TRUE(file->Sync().ok());
    }).join();
    const int64_t until_ns = clock.TakeSleptUntilNs();
    return until_ns == 0 ? at_us : (until_ns - start_ns) / 1000;
  };
  const auto a = Create("a"), b = Create("b"), c = Create("c"), d = Create("d");
  d->Append(std::string(1000, 'x'));                 // Over at 100
  EXPECT_EQ(synced_us(1000, a.get(), 1000), 4100);   // Commit from 1100
  EXPECT_EQ(synced_us(2000, b.get(), 1000), 7100);   // The next, from 4100
  EXPECT_EQ(synced_us(3000, c.get(), 1000), 7100);   // The same
  EXPECT_EQ(synced_us(3500, d.get(), 0), 4100);      // In the first
  EXPECT_EQ(synced_us(5000, a.get(), 1000), 10100);  // A third, from 7100
  EXPECT_EQ(synced_us(6000, d.get(), 0), 6000);      // Committed long ago
  EXPECT_EQ(synced_us(6000, c.get(), 0), 7100);
  EXPECT_EQ(synced_us(20000, b.get(), 1000), 23100);  // Nothing runs
}

TEST_F(DeviceEnvTest, AFileIsInTheCommitAfterItsCreation) {
  NewEnv(SimpleHdd());
  auto before = Create("a");
  EXPECT_EQ(Took([&] { before->Sync(); }), 3 * kMs);
  auto after = Create("b");
  EXPECT_EQ(Took([&] { after->Sync(); }), 3 * kMs);
  EXPECT_EQ(Took([&] { before->Sync(); }), 0);
}

TEST_F(DeviceEnvTest, TheScaleDividesTheCostPerFileAlone) {
  for (const int scale : {1, 10}) {
    NewEnv(SimpleHdd(), scale);
    auto file = Create("a");
    file->Append(std::string(20000, 'x'));
    EXPECT_EQ(Took([&] { file->Sync(); }), 10 * kMs + 200000 + 3 * kMs / scale);
    auto read = Open("b", 100000);
    EXPECT_EQ(Took([&] { Read(read.get(), 50000, 4000); }), 10 * kMs + 40000);
    EXPECT_EQ(Took([&] { env_->SleepForMicroseconds(1000); }), kMs);
  }
}

TEST_F(DeviceEnvTest, SleepsThatLastTooLongArePaidBack) {
  NewEnv(SimpleHdd());
  clock_.set_oversleep_ns(3 * kMs);
  auto file = Open("a", 100000);
  const int reads = 200;
  const int64_t took_ns = Took([&] {
    for (int i = 0; i < reads; i++) Read(file.get(), i % 2 * 50000, 4000);
  });
  const int64_t model_ns = reads * (10 * kMs + 40000);
  EXPECT_GE(took_ns, model_ns);
  EXPECT_LE(took_ns, model_ns + 3 * kMs);  // The last sleep is still owed
  EXPECT_EQ(env_->Counters().max_lag_us, 3000u);
  EXPECT_EQ(env_->Counters().lost_us, 0u);
}

TEST_F(DeviceEnvTest, BusyTimeCountsWaitingRequestsOnce) {
  NewEnv(SimpleHdd());
  auto file = Create("a");
  file->Append(std::string(10000, 'x'));
  file->Append(std::string(10000, 'x'));
  EXPECT_EQ(env_->Counters().busy_us, 10000u + 200);
  clock_.Advance(100 * kMs);
  file->Append(std::string(10000, 'x'));
  EXPECT_EQ(env_->Counters().busy_us, 10000u + 300);
}

TEST_F(DeviceEnvTest, MemoryAndPathCountButDoNotCharge) {
  for (const DeviceKind kind : {DeviceKind::kMemory, DeviceKind::kPath}) {
    DeviceParameters parameters;
    parameters.kind = kind;
    NewEnv(parameters);
    EXPECT_EQ(Took([&] {
                auto written = Create("a");
                written->Append("0123456789");
                written->Sync();
                Read(Open("a").get(), 2, 5);
              }),
              0);
    const DeviceCounters counters = env_->Counters();
    EXPECT_EQ(counters.write_bytes, 10u);
    EXPECT_EQ(counters.read_bytes, 5u);
    EXPECT_EQ(counters.syncs, 1u);
    EXPECT_EQ(env_->QueueUs(), 0u);
  }
}

TEST_F(DeviceEnvTest, FilesElsewherePassThrough) {
  TestDirectory elsewhere;
  NewEnv(SimpleHdd());
  leveldb::WritableFile* file = nullptr;
  ASSERT_TRUE(env_->NewWritableFile(elsewhere.File("a"), &file).ok());
  file->Append(std::string(100000, 'x'));
  file->Sync();
  delete file;
  EXPECT_EQ(env_->Counters().write_bytes, 0u);
  EXPECT_EQ(env_->Counters().syncs, 0u);
  EXPECT_EQ(ReadText(elsewhere.File("a")).size(), 100000u);
}

TEST_F(DeviceEnvTest, ReportsMissingFilesAndFailedWrites) {
  NewEnv(SimpleHdd());
  leveldb::RandomAccessFile* read = nullptr;
  EXPECT_TRUE(
      env_->NewRandomAccessFile(directory_.File("none"), &read).IsNotFound());
  EXPECT_EQ(env_->FirstWriteError(), "");
  leveldb::WritableFile* written = nullptr;
  const std::string name = directory_.File("no/such/directory");
  EXPECT_FALSE(env_->NewWritableFile(name, &written).ok());
  EXPECT_NE(env_->FirstWriteError().find(name), std::string::npos);
}

// Counts what reaches the files, below the DeviceEnv.
class RecordingEnv : public leveldb::EnvWrapper {
 public:
  RecordingEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override {
    leveldb::Status s = target()->NewWritableFile(name, result);
    if (s.ok()) *result = new File(*result, &bytes_);
    return s;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  class File : public leveldb::WritableFile {
   public:
    File(leveldb::WritableFile* target, std::atomic<uint64_t>* bytes)
        : target_(target), bytes_(bytes) {}
    leveldb::Status Append(const leveldb::Slice& data) override {
      *bytes_ += data.size();
      return target_->Append(data);
    }
    leveldb::Status Close() override { return target_->Close(); }
    leveldb::Status Flush() override { return target_->Flush(); }
    leveldb::Status Sync() override { return target_->Sync(); }

   private:
    const std::unique_ptr<leveldb::WritableFile> target_;
    std::atomic<uint64_t>* const bytes_;
  };

  std::atomic<uint64_t> bytes_{0};
};

TEST_F(DeviceEnvTest, LevelDbWritesAndReadsWhatIsCounted) {
  RecordingEnv recording;
  DeviceEnv env(&recording, SimpleHdd(), 64, directory_.path(), &clock_);
  const std::unique_ptr<leveldb::Cache> no_cache(leveldb::NewLRUCache(0));
  leveldb::Options options;
  options.env = &env;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.block_cache = no_cache.get();
  options.compression = leveldb::kNoCompression;
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, directory_.path(), &opened).ok());
  std::unique_ptr<leveldb::DB> db(opened);
  const std::string value(900, 'v');
  for (int i = 0; i < 2000; i++) {
    const std::string key = std::to_string(i * 7919 % 2000);
    ASSERT_TRUE(db->Put(leveldb::WriteOptions(), key, value + key).ok());
  }
  db->CompactRange(nullptr, nullptr);
  while (!env.BackgroundIdle()) std::this_thread::yield();

  DeviceCounters counters = env.Counters();
  EXPECT_EQ(counters.write_bytes + counters.unsubmitted_bytes,
            recording.bytes());
  EXPECT_GT(counters.write_bytes, 2000u * 900);
  EXPECT_GT(counters.syncs, 10u);

  const ProcessCounters before = ReadProcessCounters();
  std::string found;
  for (int i = 0; i < 2000; i++) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(db->Get(leveldb::ReadOptions(), key, &found).ok());
    ASSERT_EQ(found, value + key);
  }
  const ProcessCounters after = ReadProcessCounters();
  const uint64_t read_bytes = env.Counters().read_bytes - counters.read_bytes;
  EXPECT_GT(read_bytes, 2000u * 900);
  if (before.has_io) {
    // Between the two, the system's account itself was read once.
    EXPECT_NEAR(static_cast<double>(after.read_bytes - before.read_bytes),
                static_cast<double>(read_bytes), 4096);
  }

  db.reset();
  EXPECT_EQ(env.Counters().unsubmitted_bytes, 0u);
  EXPECT_EQ(env.Counters().write_bytes, recording.bytes());
}

}  // namespace
}  // namespace recompact
