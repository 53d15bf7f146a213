#include "db/db_impl.h"
#include "db/filename.h"
#include "db/table_cache.h"
#include "db/version_set.h"

namespace leveldb {

void DBImpl::RemoveTrackedFiles() {
  mutex_.AssertHeld();
  std::vector<std::string> names;
  std::vector<uint64_t> tables;
  versions_->TakeObsoleteTables(&tables);
  for (const uint64_t number : tables) {
    table_cache_->Evict(number);
    names.push_back(TableFileName(dbname_, number));
  }
  std::vector<uint64_t> needed;
  for (const uint64_t number : closed_logs_) {
    if (number >= versions_->LogNumber()) {
      needed.push_back(number);
    } else {
      names.push_back(LogFileName(dbname_, number));
    }
  }
  closed_logs_.swap(needed);

  // Their names are not given out again, so others may go on meanwhile.
  mutex_.Unlock();
  for (const std::string& name : names) {
    env_->RemoveFile(name);
  }
  mutex_.Lock();
}

}  // namespace leveldb
