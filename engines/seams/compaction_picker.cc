#include "seams/compaction_picker.h"

#include "db/version_set.h"

namespace leveldb {

void CompactionPicker::ScoreBySize(Version* v) const { versions_->Finalize(v); }

}  // namespace leveldb
