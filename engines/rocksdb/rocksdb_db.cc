#include "rocksdb/rocksdb_db.h"

#include <pthread.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/device_env.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"
#include "nlohmann/json.hpp"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/write_batch.h"
#include "simulator/work.h"

namespace recompact {

using Json = nlohmann::ordered_json;

// RocksDB's own threads: what they read are streams, and they are idle when no
// call that was scheduled waits or runs.  RocksDB schedules the next compaction
// before the last one's call returns.
class RocksDb::BackgroundEnv : public rocksdb::EnvWrapper {
 public:
  explicit BackgroundEnv(
      const std::shared_ptr<rocksdb::FileSystem>& file_system)
      : EnvWrapper(rocksdb::NewCompositeEnv(file_system)) {
    file_system_ = file_system;
  }

  static const char* kClassName() { return "recompact.BackgroundEnv"; }
  const char* Name() const override { return kClassName(); }

  void Schedule(void (*function)(void*), void* arg, Priority priority,
                void* tag, void (*unscheduled)(void*)) override {
    (*calls_)++;
    target()->Schedule(&Call::Run, new Call{function, unscheduled, arg, calls_},
                       priority, tag, &Call::Drop);
  }

  bool idle() const { return *calls_ == 0; }

 private:
  struct Call {
    void (*function)(void*);
    void (*unscheduled)(void*);
    void* arg;
    std::shared_ptr<std::atomic<int>> calls;

    static void Run(void* scheduled) {
      const std::unique_ptr<Call> call(static_cast<Call*>(scheduled));
      const DeviceEnv::BackgroundScope background;
      call->function(call->arg);
      (*call->calls)--;
    }
    static void Drop(void* scheduled) {
      const std::unique_ptr<Call> call(static_cast<Call*>(scheduled));
      if (call->unscheduled != nullptr) call->unscheduled(call->arg);
      (*call->calls)--;
    }
  };

  // The database is closed before the last call returns.
  const std::shared_ptr<std::atomic<int>> calls_ =
      std::make_shared<std::atomic<int>>(0);
};

// Counts the block reads of the calling thread, and what it asks filters, while
// a Scope lives.
class RocksDb::BlockCounters {
 public:
  class Scope {
   public:
    explicit Scope(BlockCounters* counters)
        : counters_(counters), before_(Now()) {}
    ~Scope() {
      const Counts now = Now();
      counters_->hits_ += now.hits - before_.hits;
      counters_->reads_ += now.reads - before_.reads;
      counters_->read_bytes_ += now.read_bytes - before_.read_bytes;
      Count(Work::kFilterCheck, now.filter_checks - before_.filter_checks);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Counts {
      uint64_t hits, reads, read_bytes, filter_checks;
    };
    static Counts Now() {
      rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
      const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
      return {perf.block_cache_hit_count, perf.block_read_count,
              perf.block_read_byte,
              perf.bloom_sst_hit_count + perf.bloom_sst_miss_count};
    }

    BlockCounters* const counters_;
    const Counts before_;
  };

  void AddTo(Json* json) const {
    (*json)["block_cache_hits"] = hits_.load();
    (*json)["block_cache_misses"] = reads_.load();
    (*json)["block_reads"] = reads_.load();
    (*json)["block_read_bytes"] = read_bytes_.load();
  }

 private:
  std::atomic<uint64_t> hits_{0}, reads_{0}, read_bytes_{0};
};

namespace {

rocksdb::Slice ToRocksDb(const leveldb::Slice& slice) {
  return rocksdb::Slice(slice.data(), slice.size());
}

leveldb::Slice ToLevelDb(const rocksdb::Slice& slice) {
  return leveldb::Slice(slice.data(), slice.size());
}

leveldb::Status ToLevelDb(const rocksdb::Status& s) {
  if (s.ok()) return leveldb::Status::OK();
  const std::string text = s.ToString();
  if (s.IsNotFound()) return leveldb::Status::NotFound(text);
  if (s.IsCorruption()) return leveldb::Status::Corruption(text);
  if (s.IsInvalidArgument()) return leveldb::Status::InvalidArgument(text);
  if (s.IsNotSupported()) return leveldb::Status::NotSupported(text);
  return leveldb::Status::IOError(text);
}

rocksdb::WriteOptions ToRocksDb(const leveldb::WriteOptions& options) {
  rocksdb::WriteOptions result;
  result.sync = options.sync;
  return result;
}

class Snapshot : public leveldb::Snapshot {
 public:
  explicit Snapshot(const rocksdb::Snapshot* snapshot) : snapshot_(snapshot) {}
  ~Snapshot() override = default;
  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  const rocksdb::Snapshot* const snapshot_;
};

rocksdb::ReadOptions ToRocksDb(const leveldb::ReadOptions& options) {
  rocksdb::ReadOptions result;
  result.verify_checksums = true;  // RocksDB's default
  result.fill_cache = options.fill_cache;
  if (options.snapshot != nullptr) {
    result.snapshot = static_cast<const Snapshot*>(options.snapshot)->get();
  }
  return result;
}

class NoLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, std::va_list) override {}
};

class Iterator : public leveldb::Iterator {
 public:
  Iterator(rocksdb::Iterator* target, RocksDb::BlockCounters* blocks)
      : target_(target), blocks_(blocks) {}

  bool Valid() const override { return target_->Valid(); }
  void SeekToFirst() override {
    const RocksDb::BlockCounters::Scope scope(blocks_);
    target_->SeekToFirst();
  }
  void SeekToLast() override {
    const RocksDb::BlockCounters::Scope scope(blocks_);
    target_->SeekToLast();
  }
  void Seek(const leveldb::Slice& key) override {
    const RocksDb::BlockCounters::Scope scope(blocks_);
    target_->Seek(ToRocksDb(key));
  }
  void Next() override {
    const RocksDb::BlockCounters::Scope scope(blocks_);
    target_->Next();
  }
  void Prev() override {
    const RocksDb::BlockCounters::Scope scope(blocks_);
    target_->Prev();
  }
  leveldb::Slice key() const override { return ToLevelDb(target_->key()); }
  leveldb::Slice value() const override { return ToLevelDb(target_->value()); }
  leveldb::Status status() const override {
    return ToLevelDb(target_->status());
  }

 private:
  const std::unique_ptr<rocksdb::Iterator> target_;
  RocksDb::BlockCounters* const blocks_;
};

// Copies a batch into another.
class Copier : public leveldb::WriteBatch::Handler {
 public:
  explicit Copier(rocksdb::WriteBatch* to) : to_(to) {}
  void Put(const leveldb::Slice& key, const leveldb::Slice& value) override {
    to_->Put(ToRocksDb(key), ToRocksDb(value));
  }
  void Delete(const leveldb::Slice& key) override {
    to_->Delete(ToRocksDb(key));
  }

 private:
  rocksdb::WriteBatch* const to_;
};

// RocksDB starts all its threads while it opens: those that flush, those that
// compact, and one that does what is due from time to time.
int ThreadCount(const rocksdb::Options& options) {
  const int jobs = std::max(2, options.max_background_jobs);
  const int by_kind = std::max(1, options.max_background_flushes) +
                      std::max(1, options.max_background_compactions);
  return std::max(jobs, by_kind) + 1;
}

void* WaitFor(void* mutex) {
  const std::lock_guard<std::mutex> lock(*static_cast<std::mutex*>(mutex));
  return nullptr;
}

// Whether so many threads can be had at once.  Where RocksDB does not get one
// it ends the process.
leveldb::Status TryThreads(int count) {
  std::mutex started;
  std::vector<pthread_t> threads;
  int error = 0;
  {
    const std::lock_guard<std::mutex> lock(started);
    for (int i = 0; i < count && error == 0; i++) {
      pthread_t thread;
      error = ::pthread_create(&thread, nullptr, WaitFor, &started);
      if (error == 0) threads.push_back(thread);
    }
  }
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  if (error == 0) return leveldb::Status::OK();
  return leveldb::Status::IOError(
      "RocksDB needs " + std::to_string(count) + " threads of its own",
      std::strerror(error));
}

}  // namespace

leveldb::Status RocksDb::Open(const RocksDbOptions& options, leveldb::Env* env,
                              const std::string& path, leveldb::DB** db) {
  *db = nullptr;
  const leveldb::Status threads = TryThreads(ThreadCount(options.options));
  if (!threads.ok()) return threads;
  std::unique_ptr<RocksDb> opened(new RocksDb(options, env, path));
  rocksdb::DB* database = nullptr;
  const rocksdb::Status s =
      rocksdb::DB::Open(opened->options_, path, &database);
  opened->db_.reset(database);
  if (!s.ok()) return ToLevelDb(s);
  std::vector<rocksdb::LiveFileMetaData> tables;
  database->GetLiveFilesMetaData(&tables);
  for (const auto& table : tables) {
    opened->events_->Installed(table.file_number);
  }
  *db = opened.release();
  return leveldb::Status::OK();
}

RocksDb::RocksDb(const RocksDbOptions& options, leveldb::Env* env,
                 std::string path)
    : env_(env),
      path_(std::move(path)),
      file_system_(std::make_shared<LevelDbFileSystem>(env)),
      rocksdb_env_(std::make_unique<BackgroundEnv>(file_system_)),
      options_(options.options),
      events_(std::make_shared<EventCounters>(options.event_log_path)),
      blocks_(std::make_unique<BlockCounters>()) {
  rocksdb::BlockBasedTableOptions table = options.table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options_.env = rocksdb_env_.get();
  options_.info_log = std::make_shared<NoLogger>();
  options_.listeners = {events_};
  options_.statistics = rocksdb::CreateDBStatistics();
  options_.statistics->set_stats_level(rocksdb::StatsLevel::kExceptTimers);
  options_.stats_dump_period_sec = 0;
  options_.stats_persist_period_sec = 0;
}

// As LevelDB: what is in the memtable stays in the log.
RocksDb::~RocksDb() {
  if (db_ == nullptr) return;
  rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
  db_->Close();
}

leveldb::Status RocksDb::Put(const leveldb::WriteOptions& options,
                             const leveldb::Slice& key,
                             const leveldb::Slice& value) {
  return leveldb::DB::Put(options, key, value);
}

leveldb::Status RocksDb::Delete(const leveldb::WriteOptions& options,
                                const leveldb::Slice& key) {
  return leveldb::DB::Delete(options, key);
}

leveldb::Status RocksDb::Write(const leveldb::WriteOptions& options,
                               leveldb::WriteBatch* updates) {
  thread_local rocksdb::WriteBatch batch;  // Keeps its memory
  batch.Clear();
  Copier copier(&batch);
  const leveldb::Status s = updates->Iterate(&copier);
  return s.ok() ? ToLevelDb(db_->Write(ToRocksDb(options), &batch)) : s;
}

leveldb::Status RocksDb::Get(const leveldb::ReadOptions& options,
                             const leveldb::Slice& key, std::string* value) {
  const BlockCounters::Scope scope(blocks_.get());
  return ToLevelDb(db_->Get(ToRocksDb(options), ToRocksDb(key), value));
}

leveldb::Iterator* RocksDb::NewIterator(const leveldb::ReadOptions& options) {
  return new Iterator(db_->NewIterator(ToRocksDb(options)), blocks_.get());
}

const leveldb::Snapshot* RocksDb::GetSnapshot() {
  return new Snapshot(db_->GetSnapshot());
}

void RocksDb::ReleaseSnapshot(const leveldb::Snapshot* snapshot) {
  const auto* const released = static_cast<const Snapshot*>(snapshot);
  db_->ReleaseSnapshot(released->get());
  delete released;
}

// As LevelDB, by the places of the ends in one version, so that sizes add up.
void RocksDb::GetApproximateSizes(const leveldb::Range* range, int n,
                                  uint64_t* sizes) {
  std::vector<rocksdb::Range> before;
  for (int i = 0; i < n; i++) {
    before.emplace_back(rocksdb::Slice(), ToRocksDb(range[i].start));
    before.emplace_back(rocksdb::Slice(), ToRocksDb(range[i].limit));
  }
  std::vector<uint64_t> places(before.size());
  db_->GetApproximateSizes(before.data(), static_cast<int>(before.size()),
                           places.data());
  for (int i = 0; i < n; i++) {
    const uint64_t begin = places[2 * i];
    sizes[i] = std::max(places[2 * i + 1], begin) - begin;
  }
}

void RocksDb::CompactRange(const leveldb::Slice* begin,
                           const leveldb::Slice* end) {
  rocksdb::Slice first, last;
  if (begin != nullptr) first = ToRocksDb(*begin);
  if (end != nullptr) last = ToRocksDb(*end);
  db_->CompactRange(rocksdb::CompactRangeOptions(),
                    begin != nullptr ? &first : nullptr,
                    end != nullptr ? &last : nullptr);
}

uint64_t RocksDb::Number(const std::string& property) const {
  uint64_t value = 0;
  db_->GetIntProperty(property, &value);
  return value;
}

std::string RocksDb::Stats() const {
  Json json = events_->ToJson(options_.num_levels);
  const auto ticker = [this](rocksdb::Tickers name) {
    return options_.statistics->getTickerCount(name);
  };
  json["table_bytes_written"] =
      ticker(rocksdb::FLUSH_WRITE_BYTES) + ticker(rocksdb::COMPACT_WRITE_BYTES);
  json["wal_bytes_written"] = ticker(rocksdb::WAL_FILE_BYTES);
  json["manifest_bytes_written"] = file_system_->manifest_bytes();
  blocks_->AddTo(&json);
  const uint64_t negatives = ticker(rocksdb::BLOOM_FILTER_USEFUL);
  const uint64_t positives = ticker(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  json["bloom_checks"] = negatives + positives;
  json["bloom_negatives"] = negatives;
  json["bloom_positives"] = positives;
  json["bloom_false_positives"] =
      positives - ticker(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  json["table_opens"] = ticker(rocksdb::NO_FILE_OPENS);
  json["stall_us"] = ticker(rocksdb::STALL_MICROS);
  const std::vector<LevelSize> sizes = LevelSizes();
  for (size_t level = 0; level < sizes.size(); level++) {
    json["levels"][level]["files"] = sizes[level].files;
    json["levels"][level]["bytes"] = sizes[level].bytes;
  }
  return json.dump();
}

// Not from the metadata of tables: RocksDB copies those of all of them while no
// compaction can be installed, which holds up a tree of thousands of tables.
std::vector<RocksDb::LevelSize> RocksDb::LevelSizes() const {
  std::map<std::string, std::string> stats;
  db_->GetMapProperty(rocksdb::DB::Properties::kCFStats, &stats);
  std::vector<LevelSize> sizes;
  for (int level = 0; level < options_.num_levels; level++) {
    const std::string prefix = "compaction.L" + std::to_string(level) + ".";
    const auto number = [&stats, &prefix](const char* name) {
      const auto found =
          stats.find(prefix + name);  // Not if the level is empty
      return found == stats.end() ? 0
                                  : std::strtod(found->second.c_str(), nullptr);
    };
    sizes.push_back({static_cast<uint64_t>(number("NumFiles")),
                     static_cast<uint64_t>(number("SizeBytes"))});
  }
  return sizes;
}

// What is on disk beside the tables of all versions is being written, or waits
// for its deletion; what is newer than any table that was ever installed is the
// former.
std::string RocksDb::Space() const {
  const uint64_t live = Number(rocksdb::DB::Properties::kLiveSstFilesSize);
  const uint64_t of_versions =
      Number(rocksdb::DB::Properties::kTotalSstFilesSize);
  const uint64_t newest = events_->newest_table();
  std::vector<std::string> names;
  env_->GetChildren(path_, &names);
  uint64_t newer = 0, older = 0;
  for (const std::string& name : names) {
    uint64_t size;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".sst") == 0 &&
        env_->GetFileSize(path_ + "/" + name, &size).ok()) {
      *(std::strtoull(name.c_str(), nullptr, 10) > newest ? &newer : &older) +=
          size;
    }
  }
  const Json json = {
      {"live_bytes", live},
      {"pinned_bytes", of_versions - std::min(of_versions, live)},
      {"pending_bytes", newer},
      {"obsolete_bytes", older - std::min(older, of_versions)}};
  return json.dump();
}

bool RocksDb::GetProperty(const leveldb::Slice& property, std::string* value) {
  const std::string name = property.ToString();
  if (name == "recompact.stats") {
    *value = Stats();
  } else if (name == "recompact.space") {
    *value = Space();
  } else if (name == "recompact.idle") {
    *value = rocksdb_env_->idle() ? "1" : "0";
  } else if (name == "recompact.tables") {
    uint64_t files = 0;
    for (const LevelSize& level : LevelSizes()) files += level.files;
    *value = std::to_string(files);
  } else {
    return db_->GetProperty(name, value);
  }
  return true;
}

}  // namespace recompact
