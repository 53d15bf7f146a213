#include "db/version_set.h"
#include "seams/compaction_picker.h"
#include "seams/tree_format.h"

namespace leveldb {

namespace {

// Upper-level driven compaction (UDC), as upstream does it: the level that
// exceeds its limit most gives its next file in key order, merged with every
// overlapping file of the level below (LDC II-B).
class LeveledPicker : public CompactionPicker {
 public:
  using CompactionPicker::CompactionPicker;

  void Score(Version* v) override { ScoreBySize(v); }

  bool NeedsCompaction() override { return versions_->NeedsCompaction(); }

  Compaction* Pick() override { return versions_->PickCompaction(); }
};

}  // namespace

// The tree is upstream's.
const char* EngineFormat() { return ""; }

// Upstream's tree has no count of its deletions.
void AdjustOptions(Options* options) { options->deletions_limit_percent = 0; }

CompactionPicker* NewCompactionPicker(VersionSet* versions) {
  return new LeveledPicker(versions);
}

}  // namespace leveldb
