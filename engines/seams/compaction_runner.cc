#include "seams/compaction_runner.h"

namespace leveldb {

Status CompactionRunner::RunSequentially(Job* job) {
  return db_->DoCompactionWork(job);
}

}  // namespace leveldb
