#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/device_env.h"
#include "driver/store.h"
#include "nlohmann/json.hpp"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/device_file_system.h"
#include "rocksdb/env.h"
#include "rocksdb/event_counters.h"
#include "rocksdb/options_by_name.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"

namespace recompact {

namespace {

using Json = nlohmann::ordered_json;

rocksdb::Slice ToSlice(std::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}

class NoLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// What users' reads asked of blocks, on all threads.  RocksDB's own tickers
// count compactions with them.
class BlockCounters {
 public:
  // Counts the reads of the calling thread while it lives; they are a user's.
  class Scope {
   public:
    explicit Scope(BlockCounters* counters) : counters_(counters) {
      rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
      rocksdb::get_perf_context()->Reset();
    }
    ~Scope() {
      const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
      counters_->hits_ += perf.block_cache_hit_count;
      counters_->reads_ += perf.block_read_count;
      counters_->read_bytes_ += perf.block_read_byte;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    BlockCounters* const counters_;
    const UserCall user_call_;
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

class RocksDbStore : public Store {
 public:
  RocksDbStore(std::string path, std::string event_log_path, DeviceEnv* env)
      : path_(std::move(path)),
        event_log_path_(std::move(event_log_path)),
        env_(env),
        file_system_(std::make_shared<DeviceFileSystem>(env)),
        rocksdb_env_(rocksdb::NewCompositeEnv(file_system_)) {}
  ~RocksDbStore() override { Close(); }

  Status SetOptions(const std::map<std::string, std::string>& options,
                    const std::string& where);
  Status Open();

  Status Put(std::string_view key, std::string_view value) override;
  Status Delete(std::string_view key) override;
  Status Get(std::string_view key, std::string* value, bool* found) override;
  Status Scan(std::string_view key, uint32_t count, Visitor* visitor) override;
  bool Idle() override;
  void CompactAll() override;
  Status Health() override;
  bool Property(const std::string& name, std::string* value) override;
  Status Reopen() override;

 private:
  void Close();
  uint64_t Number(const std::string& property) const;
  std::string Stats() const;
  std::string Space() const;
  Status ErrorOf(const std::string& text) const;
  Status ToStatus(const rocksdb::Status& s) const;

  const std::string path_;
  const std::string event_log_path_;
  DeviceEnv* const env_;
  const std::shared_ptr<DeviceFileSystem> file_system_;
  const std::unique_ptr<rocksdb::Env> rocksdb_env_;
  RocksDbOptions options_;
  // Of the open database.
  std::shared_ptr<EventCounters> events_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<BlockCounters> blocks_;
  uint64_t manifest_bytes_at_open_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
};

Status RocksDbStore::SetOptions(
    const std::map<std::string, std::string>& options,
    const std::string& where) {
  std::string error;
  for (const auto& [name, value] : options) {
    if (!SetOptionByName(&options_, name, value, &error)) {
      return Status::BadInput(where + ": engine.options." + name, error,
                              "correct the options of this engine");
    }
  }
  rocksdb::Options& o = options_.options;
  o.create_if_missing = true;
  o.env = rocksdb_env_.get();
  o.info_log = std::make_shared<NoLogger>();
  o.stats_dump_period_sec = 0;
  o.stats_persist_period_sec = 0;
  return Status::OK();
}

Status RocksDbStore::Open() {
  rocksdb::Options& o = options_.options;
  options_.table.block_cache = rocksdb::NewLRUCache(options_.block_cache_bytes);
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(options_.table));
  statistics_ = rocksdb::CreateDBStatistics();
  statistics_->set_stats_level(rocksdb::StatsLevel::kExceptTimers);
  o.statistics = statistics_;
  events_ = std::make_shared<EventCounters>(event_log_path_);
  o.listeners = {events_};
  blocks_ = std::make_unique<BlockCounters>();
  manifest_bytes_at_open_ = file_system_->manifest_bytes();
  rocksdb::DB* db = nullptr;
  const rocksdb::Status s = rocksdb::DB::Open(o, path_, &db);
  db_.reset(db);
  return ToStatus(s);
}

void RocksDbStore::Close() {
  if (db_ == nullptr) return;
  // As LevelDB: what is in the memtable stays in the log.
  rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
  db_->Close();
  db_.reset();
}

Status RocksDbStore::ErrorOf(const std::string& text) const {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    if (text.find(std::strerror(error)) != std::string::npos ||
        text.find("NoSpace") != std::string::npos) {
      return Status(ExitCode::kNoSpace, path_, text,
                    "free space or give --data-dir a larger file system");
    }
  }
  return Status::Failed(path_, "the engine reports: " + text,
                        "run again; if it stays, report the engine");
}

Status RocksDbStore::ToStatus(const rocksdb::Status& s) const {
  return s.ok() ? Status::OK() : ErrorOf(s.ToString());
}

Status RocksDbStore::Put(std::string_view key, std::string_view value) {
  const UserCall user_call;
  return ToStatus(
      db_->Put(rocksdb::WriteOptions(), ToSlice(key), ToSlice(value)));
}

Status RocksDbStore::Delete(std::string_view key) {
  const UserCall user_call;
  return ToStatus(db_->Delete(rocksdb::WriteOptions(), ToSlice(key)));
}

Status RocksDbStore::Get(std::string_view key, std::string* value,
                         bool* found) {
  const BlockCounters::Scope scope(blocks_.get());
  const rocksdb::Status s =
      db_->Get(rocksdb::ReadOptions(), ToSlice(key), value);
  *found = s.ok();
  return s.IsNotFound() ? Status::OK() : ToStatus(s);
}

Status RocksDbStore::Scan(std::string_view key, uint32_t count,
                          Visitor* visitor) {
  const BlockCounters::Scope scope(blocks_.get());
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db_->NewIterator(rocksdb::ReadOptions()));
  uint32_t visited = 0;
  for (iterator->Seek(ToSlice(key)); visited < count && iterator->Valid();) {
    const rocksdb::Slice k = iterator->key(), v = iterator->value();
    if (!visitor->Visit({k.data(), k.size()}, {v.data(), v.size()})) break;
    if (++visited < count) iterator->Next();
  }
  return ToStatus(iterator->status());
}

uint64_t RocksDbStore::Number(const std::string& property) const {
  uint64_t value = 0;
  db_->GetIntProperty(property, &value);
  return value;
}

bool RocksDbStore::Idle() {
  using Properties = rocksdb::DB::Properties;
  return Number(Properties::kMemTableFlushPending) == 0 &&
         Number(Properties::kNumRunningFlushes) == 0 &&
         Number(Properties::kCompactionPending) == 0 &&
         Number(Properties::kNumRunningCompactions) == 0;
}

void RocksDbStore::CompactAll() {
  db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr);
}

Status RocksDbStore::Health() {
  std::string error = env_->FirstWriteError();
  if (error.empty()) error = events_->FirstError();
  return error.empty() ? Status::OK() : ErrorOf(error);
}

std::string RocksDbStore::Stats() const {
  const int num_levels = options_.options.num_levels;
  Json json = events_->ToJson(num_levels);
  const auto ticker = [this](rocksdb::Tickers name) {
    return statistics_->getTickerCount(name);
  };
  json["table_bytes_written"] = ticker(rocksdb::FLUSH_WRITE_BYTES) +
                                ticker(rocksdb::COMPACT_WRITE_BYTES);
  json["wal_bytes_written"] = ticker(rocksdb::WAL_FILE_BYTES);
  json["manifest_bytes_written"] =
      file_system_->manifest_bytes() - manifest_bytes_at_open_;
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
  rocksdb::ColumnFamilyMetaData tree;
  db_->GetColumnFamilyMetaData(&tree);
  for (const auto& level : tree.levels) {
    json["levels"][level.level]["files"] = level.files.size();
    json["levels"][level.level]["bytes"] = level.size;
  }
  return json.dump();
}

// What is on disk beside the tables of all versions is being written, or waits
// for its deletion; what is newer than any table of a version is the former.
std::string RocksDbStore::Space() const {
  const uint64_t live = Number(rocksdb::DB::Properties::kLiveSstFilesSize);
  const uint64_t of_versions =
      Number(rocksdb::DB::Properties::kTotalSstFilesSize);
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  uint64_t newest = 0;
  for (const auto& file : files) newest = std::max(newest, file.file_number);
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

bool RocksDbStore::Property(const std::string& name, std::string* value) {
  if (name == "recompact.stats") {
    *value = Stats();
  } else if (name == "recompact.space") {
    *value = Space();
  } else if (name == "recompact.idle") {
    *value = Idle() ? "1" : "0";
  } else {
    return db_->GetProperty(name, value);
  }
  return true;
}

Status RocksDbStore::Reopen() {
  Close();
  return Open();
}

}  // namespace

Status OpenStore(const std::string& path,
                 const std::map<std::string, std::string>& options,
                 const std::string& event_log_path, const std::string& where,
                 DeviceEnv* env, std::unique_ptr<Store>* store) {
  auto opened = std::make_unique<RocksDbStore>(path, event_log_path, env);
  Status status = opened->SetOptions(options, where);
  if (status.ok()) status = opened->Open();
  if (status.ok()) *store = std::move(opened);
  return status;
}

}  // namespace recompact
