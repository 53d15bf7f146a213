#ifndef RECOMPACT_ENGINES_SEAMS_DELETION_DRAIN_H_
#define RECOMPACT_ENGINES_SEAMS_DELETION_DRAIN_H_

#include <cstdint>
#include <optional>

#include "db/dbformat.h"

namespace leveldb {

class Compaction;
class CompactionPicker;
class VersionSet;

// Compacts the whole tree, step by step and level by level as CompactRange
// does, where too many of its entries are deletions.  Its steps alternate with
// those of the picker, and go first where deletions are half as many again.
// With a limit of p percent a tree in which each key is inserted and deleted
// once, where each deletion hides one entry, so has at most 1 / (1 - 3p / 100)
// times as many entries as live keys, beside a full level 0 and what is being
// written.
//
// REQUIRES: the lock of the database is held
class DeletionDrain {
 public:
  // REQUIRES: both outlive this
  DeletionDrain(VersionSet* versions, CompactionPicker* picker)
      : versions_(versions), picker_(picker) {}

  // Whether one is going on or should begin.
  bool IsDue() const;

  // Whether its steps go before all others, so that writers wait: deletions
  // come faster than they are dropped, and are half as many again as they
  // should be.
  bool IsUrgent() const;

  // Its next step, which the caller deletes, or nullptr if there is none left.
  Compaction* Next();

 private:
  bool IsGoingOn() const { return level_ >= 0; }
  void Begin();
  void End();

  VersionSet* const versions_;
  CompactionPicker* const picker_;
  int level_ = -1;                    // that the next step is of
  std::optional<InternalKey> begin_;  // of the rest of the level
  InternalKey end_;  // the last key when this one began: more come after it
  uint64_t deletions_ = 0;  // when this one began
  uint64_t dropped_ = 0;    // until then
  // What snapshots still need is not tried again before there is as much again.
  uint64_t wait_until_ = 0;  // deletions
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_DELETION_DRAIN_H_
