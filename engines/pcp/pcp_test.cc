// Compactions in sub-tasks: what they write, read and report, and how they
// stop.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "db/filename.h"
#include "gtest/gtest.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "pcp/output_tables.h"
#include "seams/compaction_picker.h"
#include "util/random.h"
#include "util/testutil.h"

namespace leveldb {
namespace {

constexpr int kTables = 6;
constexpr int kKeys = 3000;

std::string Key(int number) {
  char key[16];
  std::snprintf(key, sizeof(key), "key%06d", number);
  return key;
}

// Notes what is read of tables, and can hold reads up or have operations fail.
class WatchedEnv : public EnvWrapper {
 public:
  WatchedEnv() : EnvWrapper(Env::Default()) {}

  Status NewRandomAccessFile(const std::string& name,
                             RandomAccessFile** result) override {
    const Status s = target()->NewRandomAccessFile(name, result);
    if (s.ok()) *result = new WatchedReads(this, name, *result);
    return s;
  }
  Status NewWritableFile(const std::string& name,
                         WritableFile** result) override {
    const Status s = target()->NewWritableFile(name, result);
    if (s.ok() && name.find(".ldb") != std::string::npos) {
      created_tables_++;
      *result = new WatchedWrites(this, *result);
    }
    return s;
  }

  Status TryToStartThread(void (*function)(void*), void* arg) override {
    if (threads_ == 0) return Status::IOError("no thread", "planned failure");
    threads_--;
    return target()->TryToStartThread(function, arg);
  }
  // So many threads can be started from now on.
  void set_threads(int n) { threads_ = n; }

  // The nth read, append or sync of a table from now on fails.
  void FailRead(int n) { reads_until_failure_ = n; }
  void FailAppend(int n) { appends_until_failure_ = n; }
  void FailSync(int n) { syncs_until_failure_ = n; }

  // Reads of more than a block wait until so many more tables were created.
  void HoldReadsForTables(int n) { awaited_tables_ = created_tables_ + n; }
  bool gave_up_waiting() const { return gave_up_waiting_; }

  struct Range {
    std::string name;
    uint64_t begin, end;
  };
  std::vector<Range> TakeReads() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::move(reads_);
  }

 private:
  class WatchedReads : public RandomAccessFile {
   public:
    WatchedReads(WatchedEnv* env, std::string name, RandomAccessFile* target)
        : env_(env), name_(std::move(name)), target_(target) {}
    Status Read(uint64_t offset, size_t n, Slice* result,
                char* scratch) const override {
      {
        std::lock_guard<std::mutex> lock(env_->mutex_);
        env_->reads_.push_back({name_, offset, offset + n});
      }
      if (env_->reads_until_failure_-- == 1) {
        return Status::IOError(name_, "planned failure");
      }
      // Long enough on any machine; a test that waits so long has failed.
      for (int i = 0; n > 5000 && env_->created_tables_ < env_->awaited_tables_;
           i++) {
        if (i == 60000) env_->gave_up_waiting_ = true;
        if (env_->gave_up_waiting_) break;
        env_->SleepForMicroseconds(1000);
      }
      return target_->Read(offset, n, result, scratch);
    }

   private:
    WatchedEnv* const env_;
    const std::string name_;
    const std::unique_ptr<RandomAccessFile> target_;
  };

  class WatchedWrites : public WritableFile {
   public:
    WatchedWrites(WatchedEnv* env, WritableFile* target)
        : env_(env), target_(target) {}
    Status Append(const Slice& data) override {
      if (env_->appends_until_failure_-- == 1) {
        return Status::IOError("append", "planned failure");
      }
      return target_->Append(data);
    }
    Status Close() override { return target_->Close(); }
    Status Flush() override { return target_->Flush(); }
    Status Sync() override {
      if (env_->syncs_until_failure_-- == 1) {
        return Status::IOError("sync", "planned failure");
      }
      return target_->Sync();
    }

   private:
    WatchedEnv* const env_;
    const std::unique_ptr<WritableFile> target_;
  };

  std::atomic<int> threads_{1 << 30};
  std::mutex mutex_;
  std::vector<Range> reads_;  // guarded by mutex_
  std::atomic<int> reads_until_failure_{0}, appends_until_failure_{0},
      syncs_until_failure_{0};
  std::atomic<int> created_tables_{0}, awaited_tables_{0};
  std::atomic<bool> gave_up_waiting_{false};
};

// A database with overlapping tables in L0, which nothing compacts by itself.
class PcpTest : public ::testing::Test {
 protected:
  PcpTest()
      : path_(testing::TempDir() + "pcp_test"),
        event_log_(testing::TempDir() + "pcp_test_events") {
    options_.env = &env_;
    options_.create_if_missing = true;
    options_.seek_compaction = false;
    options_.flush_to_l0_only = true;
    options_.user_key_aligned_outputs = true;
    options_.l0_compaction_trigger = 1000;
    options_.l0_slowdown_trigger = 1000;
    options_.l0_stop_trigger = 1000;
    options_.max_file_size = 64 << 10;
    options_.block_size = 1 << 10;
    options_.subtask_bytes = 16 << 10;
    options_.event_log_path = event_log_;
    Destroy();
  }
  ~PcpTest() override {
    Close();
    Destroy();
  }

  Status Open() {
    Close();
    DB* db = nullptr;
    const Status s = DB::Open(options_, path_, &db);
    db_.reset(db);
    return s;
  }

  // The same entries each time: overwrites, deletions, keys with more versions
  // than a block holds, and snapshots that keep some of all that.
  void Fill() {
    Random random(301);
    std::string value;
    for (int table = 0; table < kTables; table++) {
      for (int i = 0; i < kKeys / 3; i++) {
        const int key = random.Uniform(kKeys);
        if (random.OneIn(5)) {
          ASSERT_TRUE(db_->Delete(WriteOptions(), Key(key)).ok());
          continue;
        }
        test::RandomString(&random, random.Uniform(200), &value);
        ASSERT_TRUE(db_->Put(WriteOptions(), Key(key), value).ok());
      }
      for (int version = 0; version < 30; version++) {
        value.assign(100, static_cast<char>('A' + version % 26));
        ASSERT_TRUE(db_->Put(WriteOptions(), Key(kKeys / 2), value).ok());
        if (version % 3 == 0) snapshots_.push_back(db_->GetSnapshot());
      }
      FlushMemTable();
    }
  }
  void FlushMemTable() {
    ASSERT_TRUE(static_cast<DBImpl*>(db_.get())->TEST_CompactMemTable().ok());
  }

  // Opens an empty database, fills and compacts it twice: into an empty level,
  // and with one of several tables.
  void FillAndCompact() {
    Close();
    Destroy();
    const Status s = Open();
    ASSERT_TRUE(s.ok()) << s.ToString();
    for (int round = 0; round < 2; round++) {
      Fill();
      env_.TakeReads();
      db_->CompactRange(nullptr, nullptr);
      WaitUntilIdle();
    }
  }

  // The contents of all tables, by number.
  std::map<uint64_t, std::string> Tables() {
    std::map<uint64_t, std::string> tables;
    std::vector<std::string> names;
    env_.GetChildren(path_, &names);
    for (const std::string& name : names) {
      uint64_t number;
      FileType type;
      if (!ParseFileName(name, &number, &type) || type != kTableFile) continue;
      ReadFileToString(Env::Default(), path_ + "/" + name, &tables[number]);
    }
    return tables;
  }

  // Every entry in the tables, those that only a snapshot sees included.
  std::vector<std::pair<std::string, std::string>> Entries() {
    std::vector<std::pair<std::string, std::string>> entries;
    const std::unique_ptr<Iterator> i(
        static_cast<DBImpl*>(db_.get())->TEST_NewInternalIterator());
    for (i->SeekToFirst(); i->Valid(); i->Next()) {
      entries.emplace_back(i->key().ToString(), i->value().ToString());
    }
    EXPECT_TRUE(i->status().ok()) << i->status().ToString();
    return entries;
  }

  void WaitUntilIdle() {
    while (Property("recompact.idle") != "1") env_.SleepForMicroseconds(1000);
    ASSERT_EQ(Property("recompact.check"), "");
  }
  std::string Property(const std::string& name) {
    std::string value;
    EXPECT_TRUE(db_->GetProperty(name, &value)) << name;
    return value;
  }
  uint64_t Ticker(const std::string& name) {
    return nlohmann::json::parse(Property("recompact.stats")).at(name);
  }

  // The compactions of the event log.
  std::vector<nlohmann::json> Compactions() {
    Close();
    std::vector<nlohmann::json> events;
    std::ifstream file(event_log_);
    for (std::string line; std::getline(file, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event.at("type") == "compaction") events.push_back(event);
    }
    return events;
  }

  void ExpectRefused(const std::string& name) {
    const Status s = Open();
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_NE(s.ToString().find(name), std::string::npos) << s.ToString();
    EXPECT_FALSE(env_.FileExists(CurrentFileName(path_)));
  }

  void Close() {
    ReleaseSnapshots();
    db_.reset();
  }
  void ReleaseSnapshots() {
    for (const Snapshot* snapshot : snapshots_) db_->ReleaseSnapshot(snapshot);
    snapshots_.clear();
  }
  void Destroy() {
    Options options;
    DestroyDB(path_, options);
    std::remove(event_log_.c_str());
  }

  WatchedEnv env_;
  Options options_;
  const std::string path_, event_log_;
  std::unique_ptr<DB> db_;
  std::vector<const Snapshot*> snapshots_;
};

TEST_F(PcpTest, TablesAreTheSameWhoeverWritesThem) {
  const std::unique_ptr<const FilterPolicy> filter(NewBloomFilterPolicy(10));
  options_.filter_policy = filter.get();
  options_.pipelined_compaction = false;
  FillAndCompact();
  const auto in_turn = Tables();
  ASSERT_GT(in_turn.size(), 3u);
  options_.pipelined_compaction = true;
  for (const int readers : {1, 3}) {
    for (const int computers : {1, 2, 4}) {
      for (const int writers : {1, 3}) {
        for (const int depth : {1, 3}) {
          options_.read_threads = readers;
          options_.compute_threads = computers;
          options_.write_threads = writers;
          options_.pipeline_queue_depth = depth;
          FillAndCompact();
          EXPECT_TRUE(Tables() == in_turn)
              << readers << computers << writers << depth;
        }
      }
    }
  }
}

TEST_F(PcpTest, GoesOnInFewerThreadsWhereThereAreNoMore) {
  FillAndCompact();
  const auto tables = Tables();
  options_.read_threads = options_.compute_threads = 2;
  for (int threads = 0; threads < 6; threads++) {
    env_.set_threads(threads);
    FillAndCompact();
    EXPECT_TRUE(Tables() == tables) << threads;
  }
}

TEST_F(PcpTest, AKeyOfManyVersionsIsCutIntoSubtasksAndTables) {
  for (const bool pipelined : {false, true}) {
    options_.pipelined_compaction = pipelined;
    Close();
    Destroy();
    ASSERT_TRUE(Open().ok());
    snapshots_.push_back(db_->GetSnapshot());
    constexpr int kVersions = 4000;
    for (int version = 0; version < kVersions; version++) {
      const std::string value = std::to_string(version) + std::string(300, 'v');
      ASSERT_TRUE(db_->Put(WriteOptions(), Key(1), value).ok());
      if (version % 1000 == 0) FlushMemTable();
    }
    ASSERT_TRUE(db_->Put(WriteOptions(), Key(2), "beside").ok());
    db_->CompactRange(nullptr, nullptr);
    WaitUntilIdle();
    EXPECT_EQ(Entries().size(), kVersions + 1u);
    for (const auto& [number, contents] : Tables()) {
      EXPECT_LT(contents.size(), 3 * options_.max_file_size);
    }
    const auto events = Compactions();
    ASSERT_FALSE(events.empty());
    for (const auto& event : events) {
      EXPECT_GT(event.at("subtasks").get<uint64_t>() * options_.subtask_bytes,
                event.at("bytes_read_upper").get<uint64_t>() / 2);
    }
  }
}

TEST(PcpPickerTest, APickerThatSaysWhereTablesEndIsRefused) {
  class RunsPicker : public CompactionPicker {
   public:
    explicit RunsPicker(RunUse use) : CompactionPicker(nullptr), use_(use) {}
    RunUse UseOfRuns(int level) const override {
      return level == 2 ? use_ : kNoRuns;
    }
    void Score(Version*) override {}
    bool NeedsCompaction() override { return false; }
    Compaction* Pick() override { return nullptr; }

   private:
    const RunUse use_;
  };
  EXPECT_TRUE(OutputTables::CheckPicker(RunsPicker(kNoRuns)).ok());
  EXPECT_TRUE(OutputTables::CheckPicker(RunsPicker(kCopiedRuns)).ok());
  const Status s = OutputTables::CheckPicker(RunsPicker(kOwnRuns));
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(s.ToString().find("subtask_bytes"), std::string::npos);
}

TEST_F(PcpTest, EntriesAreThoseOfUpstreamsLoop) {
  options_.subtask_bytes = 0;
  FillAndCompact();
  EXPECT_EQ(Ticker("compaction_subtasks"), 0u);
  const auto upstreams = Entries();
  ASSERT_GT(upstreams.size(), 1000u);
  options_.compute_threads = 3;
  for (const int bytes : {1, 1 << 10, 5000, 64 << 10, 500 << 10}) {
    options_.subtask_bytes = bytes;
    FillAndCompact();
    EXPECT_GT(Ticker("compaction_subtasks"), 0u);
    EXPECT_TRUE(Entries() == upstreams) << bytes;
  }
}

TEST_F(PcpTest, EntriesAreThoseOfUpstreamsLoopWithoutCompressionOrAlignment) {
  options_.compression = kNoCompression;
  options_.user_key_aligned_outputs = false;
  options_.subtask_bytes = 0;
  FillAndCompact();
  const auto upstreams = Entries();
  options_.subtask_bytes = 8 << 10;
  FillAndCompact();
  EXPECT_TRUE(Entries() == upstreams);
}

TEST_F(PcpTest, NoByteIsReadTwice) {
  options_.subtask_bytes = 3000;  // many blocks straddle a boundary
  options_.read_threads = 2;
  FillAndCompact();
  std::vector<WatchedEnv::Range> reads = env_.TakeReads();
  std::sort(reads.begin(), reads.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.begin) < std::tie(b.name, b.begin);
  });
  ASSERT_GT(reads.size(), 10u);
  for (size_t i = 1; i < reads.size(); i++) {
    if (reads[i].name != reads[i - 1].name) continue;
    EXPECT_GE(reads[i].begin, reads[i - 1].end) << reads[i].name;
  }
}

TEST_F(PcpTest, TablesEndWhereTheyAreLargeEnoughAndNotInsideAUserKey) {
  FillAndCompact();
  for (const auto& [number, contents] : Tables()) {
    EXPECT_LT(contents.size(), options_.max_file_size + 16 * 1024) << number;
  }
}

TEST_F(PcpTest, SpansTellTheOrderOfTheStages) {
  options_.pipelined_compaction = false;
  FillAndCompact();
  auto events = Compactions();
  ASSERT_FALSE(events.empty());
  for (const auto& event : events) {
    int64_t last_end = 0;
    for (const auto& span : event.at("spans")) {
      EXPECT_GE(span.at(3), last_end) << "in turn";
      last_end = span.at(4);
    }
  }
  options_.pipelined_compaction = true;
  options_.compute_threads = 2;
  FillAndCompact();
  events = Compactions();
  ASSERT_FALSE(events.empty());
  for (const auto& event : events) {
    ASSERT_GT(event.at("subtasks"), 1);
    EXPECT_EQ(event.at("compute_threads"), 2);
    EXPECT_LE(event.at("readq_us").get<int64_t>(),
              event.at("subtasks").get<int64_t>() *
                  event.at("micros").get<int64_t>());
    EXPECT_TRUE(event.contains("writeq_us"));
    std::map<std::pair<int, std::string>, std::pair<int64_t, int64_t>> stages;
    for (const auto& span : event.at("spans")) {
      auto& stage = stages[{span.at(0), span.at(1)}];
      if (stage.second == 0) stage.first = span.at(3);
      stage.second = span.at(4);
    }
    for (int i = 0; i < event.at("subtasks"); i++) {
      ASSERT_TRUE(stages.count({i, "read"}) && stages.count({i, "compute"}));
      const auto compute = stages[{i, "compute"}];
      EXPECT_GE(compute.first, (stages[{i, "read"}].second)) << i;
      if (!stages.count({i, "write"})) continue;  // all was dropped
      EXPECT_GE((stages[{i, "write"}].first), compute.second) << i;
    }
  }
}

TEST_F(PcpTest, StepsAddUpToTheTimeThatTheyTakeInTurn) {
  options_.pipelined_compaction = false;
  FillAndCompact();
  for (const auto& event : Compactions()) {
    int64_t sum = 0;
    for (const char* step :
         {"read_us", "crc_us", "decompress_us", "sort_us", "compress_us",
          "recrc_us", "write_us", "sync_us"}) {
      sum += event.at(step).get<int64_t>();
    }
    EXPECT_GT(event.at("sort_us"), 0);
    EXPECT_LE(sum, event.at("micros").get<int64_t>());
  }
}

TEST_F(PcpTest, AMemtableIsFlushedWhileSubtasksAreUnderWay) {
  ASSERT_TRUE(Open().ok());
  Fill();
  options_.write_buffer_size = 64 << 10;
  ASSERT_TRUE(Open().ok());
  WaitUntilIdle();
  // No sub-task is read before a memtable, filled meanwhile, became a table.
  env_.HoldReadsForTables(1);
  std::thread compaction([this] { db_->CompactRange(nullptr, nullptr); });
  for (int i = 0; i < 2000; i++) {
    ASSERT_TRUE(db_->Put(WriteOptions(), Key(i), std::string(100, 'm')).ok());
  }
  compaction.join();
  EXPECT_FALSE(env_.gave_up_waiting());
}

TEST_F(PcpTest, TheFirstErrorStopsAllStagesAndLeavesNothing) {
  const auto fail_read = [this] { env_.FailRead(5); };
  const auto fail_append = [this] { env_.FailAppend(3); };
  const auto fail_sync = [this] { env_.FailSync(1); };
  const std::function<void()> failures[] = {fail_read, fail_append, fail_sync};
  for (const bool pipelined : {false, true}) {
    for (const auto& fail : failures) {
      options_.pipelined_compaction = pipelined;
      options_.compute_threads = 2;
      options_.write_threads = 2;
      options_.subtask_bytes = 4 << 10;
      Close();
      Destroy();
      ASSERT_TRUE(Open().ok());
      Fill();
      ReleaseSnapshots();
      const auto entries = Entries();
      const size_t tables = Tables().size();
      fail();
      db_->CompactRange(nullptr, nullptr);
      EXPECT_FALSE(db_->Put(WriteOptions(), "k", "v").ok());
      env_.FailRead(0);
      env_.FailAppend(0);
      env_.FailSync(0);
      ASSERT_TRUE(Open().ok());
      EXPECT_EQ(Tables().size(), tables);
      EXPECT_TRUE(Entries() == entries);
    }
  }
}

TEST_F(PcpTest, DamagedBlocksAreNotedThoughNobodyAskedForChecks) {
  ASSERT_TRUE(Open().ok());
  Fill();
  const uint64_t number = Tables().begin()->first;
  Close();
  const std::string name = TableFileName(path_, number);
  std::string contents;
  ASSERT_TRUE(ReadFileToString(Env::Default(), name, &contents).ok());
  contents[contents.size() / 3] ^= 1;
  ASSERT_TRUE(WriteStringToFile(Env::Default(), contents, name).ok());
  ASSERT_TRUE(Open().ok());
  db_->CompactRange(nullptr, nullptr);
  const Status s = db_->Put(WriteOptions(), "k", "v");
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  EXPECT_TRUE(env_.FileExists(name));
}

TEST_F(PcpTest, AdaptiveCompactionsWriteTheSameEntries) {
  FillAndCompact();
  const auto fixed = Entries();
  options_.adaptive_pipeline = true;
  FillAndCompact();
  EXPECT_TRUE(Entries() == fixed);
}

TEST_F(PcpTest, ThreadsAndQueuesOfNothingAreRefused) {
  options_.compute_threads = 0;
  ExpectRefused("compute_threads");
  options_.compute_threads = 1;
  options_.read_threads = -1;
  ExpectRefused("read_threads");
  options_.read_threads = 1;
  options_.write_threads = 0;
  ExpectRefused("write_threads");
  options_.write_threads = 1;
  options_.pipeline_queue_depth = 0;
  ExpectRefused("pipeline_queue_depth");
}

TEST_F(PcpTest, MoreThreadsThanFilesIsRefused) {
  options_.max_open_files = 80;
  options_.compute_threads = 80;
  ExpectRefused("max_open_files");
}

TEST_F(PcpTest, ASubtaskLargerThanACompactionIsRefused) {
  options_.subtask_bytes = 25 * options_.max_file_size + 1;
  ExpectRefused("subtask_bytes");
}

}  // namespace
}  // namespace leveldb
