#include "seams/compaction_runner.h"

namespace leveldb {

namespace {

// One thread reads, merges and writes in turn, as upstream does.
class SequentialRunner : public CompactionRunner {
 public:
  using CompactionRunner::CompactionRunner;

  Status Run(Job* job) override { return RunSequentially(job); }
};

}  // namespace

CompactionRunner* NewCompactionRunner(DBImpl* db) {
  return new SequentialRunner(db);
}

}  // namespace leveldb
