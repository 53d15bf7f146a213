#include "seams/compaction_picker.h"

#include "db/version_set.h"

namespace leveldb {

std::string CompactionPicker::Check(const Version& v) const {
  return versions_->CheckLevels(v);
}

void CompactionPicker::ScoreBySize(Version* v) const { versions_->Finalize(v); }

}  // namespace leveldb
