#include "seams/deletion_drain.h"

#include "db/version_set.h"
#include "seams/compaction_picker.h"

namespace leveldb {

bool DeletionDrain::IsDue() const {
  if (IsGoingOn()) return true;
  const EntryCounts& counts = versions_->counts();
  const Options& options = picker_->options();
  const uint64_t limit = options.deletions_limit_percent;
  const uint64_t deletions = counts.deletions_left();
  return limit > 0 && deletions >= wait_until_ &&
         deletions * 100 > counts.entries_left() * limit &&
         picker_->TreeBytes() > options.level_base_bytes;
}

bool DeletionDrain::IsUrgent() const {
  const EntryCounts& counts = versions_->counts();
  const uint64_t limit = picker_->options().deletions_limit_percent;
  return IsDue() &&
         counts.deletions_left() * 200 > counts.entries_left() * limit * 3;
}

void DeletionDrain::Begin() {
  level_ = 0;
  begin_.reset();
  end_ = picker_->LastKeyOfTree();
  deletions_ = versions_->counts().deletions_left();
  dropped_ = versions_->counts().dropped_deletions;
}

void DeletionDrain::End() {
  level_ = -1;
  const EntryCounts& counts = versions_->counts();
  const bool was_in_vain =
      2 * (counts.dropped_deletions - dropped_) < deletions_;
  wait_until_ = was_in_vain ? counts.deletions_left() + deletions_ : 0;
}

Compaction* DeletionDrain::Next() {
  if (!IsGoingOn()) Begin();
  for (; level_ < picker_->LastLevelWithData(); level_++, begin_.reset()) {
    const InternalKeyComparator& comparator = picker_->comparator();
    if (begin_.has_value() && comparator.Compare(*begin_, end_) >= 0) continue;
    Compaction* const c = picker_->PickRange(
        level_, begin_.has_value() ? &*begin_ : nullptr, &end_);
    if (c == nullptr) continue;
    picker_->Rewrite(c, "deletions");
    const InternalKey* const covered = c->covered();
    if (covered != nullptr &&
        (!begin_.has_value() || comparator.Compare(*covered, *begin_) > 0)) {
      begin_ = *covered;
    }
    return c;
  }
  End();
  return nullptr;
}

}  // namespace leveldb
