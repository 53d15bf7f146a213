#include "seams/compaction_runner.h"

namespace leveldb {

CompactionRunner* NewCompactionRunner(DBImpl* db) {
  return new CompactionRunner(db);
}

}  // namespace leveldb
