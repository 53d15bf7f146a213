#ifndef RECOMPACT_ENGINES_SEAMS_COMPACTION_RUNNER_H_
#define RECOMPACT_ENGINES_SEAMS_COMPACTION_RUNNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "db/db_impl.h"
#include "leveldb/status.h"

namespace leveldb {

class Compaction;
class CompactionPicker;
class TableCache;
struct FileMetaData;

// A CompactionRunner carries out a chosen compaction: it moves the data from
// the inputs to new tables.  It changes nothing about what is compacted.  One
// runner belongs to one DBImpl and lives as long as it does.  This one leaves
// the work to upstream, which moves one key after another on one thread.
class CompactionRunner {
 public:
  explicit CompactionRunner(DBImpl* db) : db_(db) {}
  CompactionRunner(const CompactionRunner&) = delete;
  CompactionRunner& operator=(const CompactionRunner&) = delete;
  virtual ~CompactionRunner() = default;

  // InvalidArgument, if the options ask for what the runner cannot do.
  virtual Status CheckOptions() const { return Status::OK(); }

  // Whether MoveData() does the work; otherwise upstream's loop does it.
  virtual bool MovesData() const { return false; }

  // Writes what upstream's loop would write: of the entries of c's inputs those
  // that a snapshot of "smallest_snapshot" or later can see, and deletions that
  // still hide something.  Adds each table to *tables when its number is taken,
  // so that the caller can remove it after an error, and adds to *flush_micros
  // the time for which memtables that were flushed meanwhile held it up.
  //
  // REQUIRES: the lock of the database is not held
  virtual Status MoveData(Compaction* /*c*/,
                          SequenceNumber /*smallest_snapshot*/,
                          std::vector<FileMetaData>* /*tables*/,
                          int64_t* /*flush_micros*/) {
    return Status::OK();
  }

  // A memtable is full and waits to be flushed, which goes before compactions.
  // REQUIRES: the lock of the database is held
  virtual void OnImmutableMemTable() {}

  // What upstream keeps private, for those that move data.  Safe for concurrent
  // use.
  //
  // REQUIRES: the lock of the database is not held

  const Options& options() const { return db_->options_; }
  Env* env() const { return db_->env_; }
  TableCache* tables() const { return db_->table_cache_; }
  const CompactionPicker& picker() const;
  bool IsShuttingDown() const {
    return db_->shutting_down_.load(std::memory_order_acquire);
  }
  bool HasImmutableMemTable() const {
    return db_->has_imm_.load(std::memory_order_relaxed);
  }
  std::string TablePath(uint64_t number) const;

  // The number of a new table, which is not obsolete before the caller of
  // MoveData() has ended the compaction.
  uint64_t NewTableNumber();

  // Flushes the memtable that waits, if one does, and wakes writers up.
  // REQUIRES: only one thread calls it, the one that MoveData() runs on
  void FlushImmutableMemTable();

 private:
  DBImpl* const db_;
};

// Returns the runner of the engine.  Defined once, in the engine's folder, and
// so chosen when the engine is linked.  The caller owns the result.
CompactionRunner* NewCompactionRunner(DBImpl* db);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_COMPACTION_RUNNER_H_
