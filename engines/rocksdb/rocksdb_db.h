#ifndef RECOMPACT_ENGINES_ROCKSDB_ROCKSDB_DB_H_
#define RECOMPACT_ENGINES_ROCKSDB_ROCKSDB_DB_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/env.h"
#include "rocksdb/db.h"
#include "rocksdb/event_counters.h"
#include "rocksdb/leveldb_file_system.h"
#include "rocksdb/rocksdb_options.h"
#include "rocksdb/statistics.h"

namespace recompact {

// A RocksDB database behind LevelDB's face, with its files on a leveldb::Env,
// so that driver and correctness bench treat it as any other engine.
//
// Of the properties that our engines have (engines/README.md) it has
// recompact.stats, recompact.space, recompact.idle and recompact.tables; other
// names are RocksDB's.
class RocksDb : public leveldb::DB {
 public:
  // "env" must outlive the database.
  static leveldb::Status Open(const RocksDbOptions& options, leveldb::Env* env,
                              const std::string& path, leveldb::DB** db);
  ~RocksDb() override;

  leveldb::Status Put(const leveldb::WriteOptions& options,
                      const leveldb::Slice& key,
                      const leveldb::Slice& value) override;
  leveldb::Status Delete(const leveldb::WriteOptions& options,
                         const leveldb::Slice& key) override;
  leveldb::Status Write(const leveldb::WriteOptions& options,
                        leveldb::WriteBatch* updates) override;
  leveldb::Status Get(const leveldb::ReadOptions& options,
                      const leveldb::Slice& key, std::string* value) override;
  leveldb::Iterator* NewIterator(const leveldb::ReadOptions& options) override;
  const leveldb::Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const leveldb::Snapshot* snapshot) override;
  bool GetProperty(const leveldb::Slice& property, std::string* value) override;
  void GetApproximateSizes(const leveldb::Range* range, int n,
                           uint64_t* sizes) override;
  void CompactRange(const leveldb::Slice* begin,
                    const leveldb::Slice* end) override;

  // Its threads.
  class BackgroundEnv;

  // What users' reads ask of blocks, on all threads.  RocksDB's own tickers
  // count compactions with them.
  class BlockCounters;

 private:
  RocksDb(const RocksDbOptions& options, leveldb::Env* env, std::string path);

  struct LevelSize {
    uint64_t files, bytes;
  };

  uint64_t Number(const std::string& property) const;
  std::vector<LevelSize> LevelSizes() const;
  std::string Stats() const;
  std::string Space() const;

  leveldb::Env* const env_;
  const std::string path_;
  const std::shared_ptr<LevelDbFileSystem> file_system_;
  const std::unique_ptr<BackgroundEnv> rocksdb_env_;
  rocksdb::Options options_;
  const std::shared_ptr<EventCounters> events_;
  const std::unique_ptr<BlockCounters> blocks_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_ROCKSDB_ROCKSDB_DB_H_
