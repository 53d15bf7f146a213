#include <string>

#include "db/db_impl.h"
#include "db/table_cache.h"
#include "db/version_set.h"

namespace leveldb {

// The table cache is cut into shards by a hash of the number, and each closes
// what is too much for itself: with half as many tables as there is room for,
// none comes near that.
Status DBImpl::CheckOpenTables(int cache_size) const {
  const auto limit = static_cast<size_t>(cache_size / 2);
  const size_t tables = versions_->tables().size();
  if (!options_.tables_stay_open || tables <= limit) return Status::OK();
  return Status::InvalidArgument(
      "max_open_files", "keeps " + std::to_string(limit) +
                            " tables open for certain, of " +
                            std::to_string(tables) + " that are to stay open");
}

// One that is written later is opened then.
void DBImpl::OpenTables() {
  versions_->current()->ForEachTable([this](const Version::HeldTable& held) {
    if (IsTrimmed(*held.table)) return;
    table_cache_->Open(held.table->number, held.table->file_size);
  });
}

}  // namespace leveldb
