#include "seams/compaction_runner.h"

#include "db/filename.h"
#include "db/version_set.h"
#include "util/mutexlock.h"

namespace leveldb {

const CompactionPicker& CompactionRunner::picker() const {
  return *db_->versions_->picker();
}

std::string CompactionRunner::TablePath(uint64_t number) const {
  return TableFileName(db_->dbname_, number);
}

uint64_t CompactionRunner::NewTableNumber() {
  MutexLock lock(&db_->mutex_);
  const uint64_t number = db_->versions_->NewFileNumber();
  db_->pending_outputs_.insert(number);
  return number;
}

void CompactionRunner::FlushImmutableMemTable() {
  MutexLock lock(&db_->mutex_);
  if (db_->imm_ == nullptr) return;
  db_->CompactMemTable();
  db_->background_work_finished_signal_.SignalAll();
}

}  // namespace leveldb
