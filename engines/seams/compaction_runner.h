#ifndef RECOMPACT_ENGINES_SEAMS_COMPACTION_RUNNER_H_
#define RECOMPACT_ENGINES_SEAMS_COMPACTION_RUNNER_H_

#include "db/db_impl.h"
#include "leveldb/status.h"

namespace leveldb {

// A CompactionRunner carries out a chosen compaction: it reads the inputs,
// writes the outputs and installs them.  It changes nothing about what is
// compacted.  One runner belongs to one DBImpl and lives as long as it does.
class CompactionRunner {
 public:
  // A compaction that was chosen, with the outputs written so far.
  using Job = DBImpl::CompactionState;

  explicit CompactionRunner(DBImpl* db) : db_(db) {}
  CompactionRunner(const CompactionRunner&) = delete;
  CompactionRunner& operator=(const CompactionRunner&) = delete;
  virtual ~CompactionRunner() = default;

  // Carries out *job.  On error nothing is installed; the caller removes what
  // was written.
  //
  // REQUIRES: the lock of the database is held; it is released while data move
  // and held again on return.
  virtual Status Run(Job* job) = 0;

 protected:
  // Upstream's way, one key after another on the calling thread.
  Status RunSequentially(Job* job);

  DBImpl* const db_;
};

// Returns the runner of the engine.  Defined once, in the engine's folder, and
// so chosen when the engine is linked.  The caller owns the result.
CompactionRunner* NewCompactionRunner(DBImpl* db);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_COMPACTION_RUNNER_H_
