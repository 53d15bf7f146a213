#include <algorithm>
#include <limits>
#include <vector>

#include "db/version_set.h"
#include "seams/compaction_picker.h"
#include "seams/statistics.h"
#include "seams/tree_format.h"

namespace leveldb {

namespace {

// With how many times the size of its level the appending part is full, too: if
// the same keys are written over and over, the insertion part never is.
constexpr double kAppendingPartLimit = 2;

// Tables of which a smaller share is in the block cache are trimmed.
constexpr uint64_t kHotPercent = 1;

// Two-phase compaction (dLSM IV-A).  The paper's level i, from 1 on, is two
// levels of the tree: data of the level above are merged into its insertion
// part, and leave its deletion part in key order.  A round ends when the one is
// full and the other empty: then they swap.  The last level is one sorted part.
//
// The compaction buffer (IV-B) is made of the runs of these levels: those of an
// insertion part are the appending part, those of a deletion part the deletion
// part of the buffer.  The runs of a level are whole or there are none: a level
// without files has lost nothing, and each edit moves files and runs alike.
class DlsmPicker : public CompactionPicker {
 public:
  explicit DlsmPicker(VersionSet* versions)
      : CompactionPicker(versions), last_write_us_(SteadyMicros()) {}

  Status CheckOptions() const override {
    if (options().buffer_levels < 0) {
      return Status::InvalidArgument("buffer_levels", "must be at least 0");
    }
    return Status::OK();
  }

  RunUse UseOfRuns(int level) const override {
    return level >= 1 && level <= DeletionPart(BufferedLevels()) ? kCopiedRuns
                                                                 : kNoRuns;
  }

  void Score(Version* v) override;
  bool NeedsCompaction() override;
  bool Observe(UserOperation operation) override;
  Compaction* Pick() override;
  Compaction* PickRange(int level, const InternalKey* begin,
                        const InternalKey* end) override;
  int LastLevelOfRange(int /*deepest*/) const override {
    return HasDeletions() ? LastLevel() + 1 : LastLevel();
  }

 private:
  static int InsertionPart(int i) { return 2 * i - 1; }
  static int DeletionPart(int i) { return 2 * i; }
  static bool IsInsertionPart(int level) { return level % 2 == 1; }

  int LastLevel() const { return options().num_levels - 1; }

  // Level i of the paper has two parts for 1 <= i < k.
  int LevelsOfTwoParts() const { return LastLevel() / 2; }
  int BufferedLevels() const {
    return std::min(options().buffer_levels, LevelsOfTwoParts());
  }

  uint64_t RunBytes(const Version& v, int level) const {
    return Runs(v, level) == nullptr ? 0 : Runs(v, level)->bytes();
  }

  double Capacity(int i) const;
  double FillOfInsertionPart(const Version& v, int i) const;
  double Fill(const Version& v, int i) const;
  bool SwapIsDue(const Version& v, int i) const;
  double ScoreOf(const Version& v, int level) const;
  bool WritesPause() const;
  int NextToDrain(const Version& v) const;

  Compaction* Act(int level, const char* reason);
  Compaction* MergeDown(int level, const std::vector<FileMetaData*>& inputs,
                        const char* reason);
  std::vector<FileMetaData*> Front(const Version& v, int level) const;
  void Append(const std::vector<FileMetaData*>& inputs, Compaction* c) const;
  void Leave(const std::vector<FileMetaData*>& inputs, Compaction* c) const;
  Compaction* Swap(int level, const char* reason);
  bool IsCold(const FileMetaData& table) const;

  uint64_t last_write_us_;
};

// S_i = S_1 r^(i-1).
double DlsmPicker::Capacity(int i) const {
  double bytes = static_cast<double>(options().level_base_bytes);
  for (; i > 1; i--) bytes *= options().fanout;
  return bytes;
}

double DlsmPicker::FillOfInsertionPart(const Version& v, int i) const {
  const int level = InsertionPart(i);
  return std::max(
             static_cast<double>(Bytes(v, level)),
             static_cast<double>(RunBytes(v, level)) / kAppendingPartLimit) /
         Capacity(i);
}

// Both parts together are to have the size of the level.
double DlsmPicker::Fill(const Version& v, int i) const {
  return FillOfInsertionPart(v, i) +
         static_cast<double>(Bytes(v, DeletionPart(i))) / Capacity(i);
}

// The insertion part has become full, the deletion part is empty, and all of
// what the level above had at the beginning of its round has arrived: without
// that, the part that is merged into next would be cut anywhere.  An insertion
// part that lost everything in a merge leaves a buffer of nothing, which goes.
bool DlsmPicker::SwapIsDue(const Version& v, int i) const {
  if (!Files(v, DeletionPart(i)).empty()) return false;
  if (Files(v, InsertionPart(i)).empty()) {
    return Runs(v, InsertionPart(i)) != nullptr;
  }
  if (i > 1 && !Files(v, DeletionPart(i - 1)).empty()) return false;
  return FillOfInsertionPart(v, i) >= 1;
}

double DlsmPicker::ScoreOf(const Version& v, int level) const {
  if (level == 0) {
    const double score = static_cast<double>(Files(v, 0).size()) /
                         options().l0_compaction_trigger;
    // What L0 adds to a level that is over its size must leave it first.
    if (LevelsOfTwoParts() == 0) return score;
    return std::min(score, std::max(1.01, Fill(v, 1) - 0.01));
  }
  const int i = (level + 1) / 2;
  if (IsInsertionPart(level)) {
    return SwapIsDue(v, i) ? std::numeric_limits<double>::infinity() : 0;
  }
  return Files(v, level).empty() ? 0 : Fill(v, i);
}

// Of equal scores the deepest level's counts: a swap that a level above would
// hold up goes before that level's own.
void DlsmPicker::Score(Version* v) {
  double best = -1;
  for (int level = 0; level < LastLevel(); level++) {
    const double score = ScoreOf(*v, level);
    if (score < best) continue;
    best = score;
    SetCompaction(v, level, score);
  }
}

bool DlsmPicker::WritesPause() const {
  return options().aggressive_compaction &&
         SteadyMicros() >= last_write_us_ + options().write_pause_us;
}

// The first part from above that is not empty, but a deletion part before the
// insertion part that is to follow it; -1 if only the last level has data.
int DlsmPicker::NextToDrain(const Version& v) const {
  if (!Files(v, 0).empty()) return 0;
  for (int i = 1; i <= LevelsOfTwoParts(); i++) {
    if (!Files(v, DeletionPart(i)).empty()) return DeletionPart(i);
    if (!Files(v, InsertionPart(i)).empty()) return InsertionPart(i);
  }
  return -1;
}

bool DlsmPicker::NeedsCompaction() {
  const Version& v = *versions_->current();
  return CompactionScore(v) >= 1 || (WritesPause() && NextToDrain(v) >= 0);
}

bool DlsmPicker::Observe(UserOperation operation) {
  if (!options().aggressive_compaction) return false;
  if (operation == kWriteOperation) {
    last_write_us_ = SteadyMicros();
    return false;
  }
  return NeedsCompaction();
}

Compaction* DlsmPicker::Pick() {
  const Version& v = *versions_->current();
  if (CompactionScore(v) >= 1) return Act(CompactionLevel(v), "size");
  // Aggressive compaction, VI.
  const int level = WritesPause() ? NextToDrain(v) : -1;
  return level >= 0 ? Act(level, "pause") : nullptr;
}

// A range is merged as far as its level's turn comes: all of a deletion part
// goes before an insertion part can follow it.
Compaction* DlsmPicker::PickRange(int level, const InternalKey* begin,
                                  const InternalKey* end) {
  if (level >= LastLevel()) return PickRangeOfDeepest(level, begin, end);
  Version* const v = versions_->current();
  std::vector<FileMetaData*> inputs;
  v->GetOverlappingInputs(level, begin, end, &inputs);
  if (inputs.empty()) return nullptr;
  if (IsInsertionPart(level) && !Files(*v, level + 1).empty()) {
    return Act(level + 1, "manual");
  }
  Compaction* const c =
      level == 0 ? MergeDown(0, inputs, "manual") : Act(level, "manual");
  CoverInputs(c);
  return c;
}

Compaction* DlsmPicker::Act(int level, const char* reason) {
  Version* const v = versions_->current();
  if (level == 0) {
    return MergeDown(0, L0Closure(v, OldestOfL0(*v)), reason);
  }
  if (IsInsertionPart(level)) return Swap(level, reason);
  return MergeDown(level, Front(*v, level), reason);
}

// Data leave a deletion part in key order (IV-A): what is left of it begins
// with its next file.
std::vector<FileMetaData*> DlsmPicker::Front(const Version& v,
                                             int level) const {
  std::vector<FileMetaData*> front;
  uint64_t bytes = 0;
  for (FileMetaData* f : Files(v, level)) {
    front.push_back(f);
    bytes += f->file_size;
    if (bytes >= options().compaction_input_bytes) break;
  }
  return front;
}

// Outputs stay small against both parts that they meet next: what they will be
// swapped into, and what that is merged into.
Compaction* DlsmPicker::MergeDown(int level,
                                  const std::vector<FileMetaData*>& inputs,
                                  const char* reason) {
  Compaction* const c = NewCompaction(level, inputs, reason);
  if (level + 3 <= LastLevel()) AddGrandparents(c, level + 3);
  std::vector<FileMetaData*> merged;
  for (int i = 0; i < c->num_input_files(0); i++) {
    merged.push_back(c->input(0, i));
  }
  Append(merged, c);
  if (level > 0) Leave(merged, c);
  return c;
}

// Multi-segment cascading (IV-B).  What is merged into an insertion part is
// appended, as it was, to the buffer of the level: each table of L0 is a run,
// and what a deletion part gives in one round is one, since its keys ascend.
void DlsmPicker::Append(const std::vector<FileMetaData*>& inputs,
                        Compaction* c) const {
  const Version& v = *versions_->current();
  const int level = c->level() + 1;
  const RunList* const runs = Runs(v, level);
  const bool is_whole = runs != nullptr || Files(v, level).empty();
  if (UseOfRuns(level) != kCopiedRuns || !is_whole) return;
  uint64_t run = runs == nullptr ? 0 : runs->newest_first()[0].number;
  if (c->level() == 0) {
    std::vector<FileMetaData*> oldest_first = inputs;
    std::sort(oldest_first.begin(), oldest_first.end(),
              [](const FileMetaData* a, const FileMetaData* b) {
                return a->number < b->number;
              });
    for (const FileMetaData* f : oldest_first) {
      c->edit()->AddRunTable(level, ++run, *f);
    }
    return;
  }
  const bool goes_on =
      runs != nullptr &&
      comparator().user_comparator()->Compare(
          runs->newest_first()[0].tables.back()->largest.user_key(),
          inputs.front()->smallest.user_key()) < 0;
  if (!goes_on) run++;
  for (const FileMetaData* f : inputs) c->edit()->AddRunTable(level, run, *f);
}

// What has left a deletion part is no longer in its buffer either.  A table
// that reaches beyond it stays, clipped at the marker.
void DlsmPicker::Leave(const std::vector<FileMetaData*>& inputs,
                       Compaction* c) const {
  const Version& v = *versions_->current();
  const RunList* const runs = Runs(v, c->level());
  if (runs == nullptr) return;
  const Slice last = inputs.back()->largest.user_key();
  const bool is_all = inputs.size() == Files(v, c->level()).size();
  for (const SortedRun& run : runs->newest_first()) {
    for (const FileMetaData* f : run.tables) {
      if (is_all || comparator().user_comparator()->Compare(
                        f->largest.user_key(), last) <= 0) {
        c->edit()->RemoveRunTable(c->level(), run.number, f->number);
      }
    }
  }
  if (!is_all) c->edit()->SetRunMarker(c->level(), last);
}

// Beyond the paper: tables that nobody reads are given up when their part
// becomes the deletion part, but for the run that arrived last.
Compaction* DlsmPicker::Swap(int level, const char* reason) {
  const Version& v = *versions_->current();
  Compaction* const c = NewSwap(level, reason);
  const RunList* const runs = Runs(v, level);
  if (runs == nullptr) return c;
  const bool is_of_nothing = Files(v, level).empty();
  const uint64_t newest = runs->newest_first()[0].number;
  for (const SortedRun& run : runs->newest_first()) {
    for (const FileMetaData* f : run.tables) {
      const bool is_trimmed =
          options().buffer_trim && run.number != newest && IsCold(*f);
      if (!is_of_nothing && !is_trimmed) continue;
      c->edit()->RemoveRunTable(level + 1, run.number, f->number);
      if (is_of_nothing) continue;
      FileMetaData range = *f;
      range.file_size = 0;
      c->edit()->AddRunTable(level + 1, run.number, range);
      RecordTick(options().statistics, kBufferTrimmedTables, 1);
    }
  }
  return c;
}

bool DlsmPicker::IsCold(const FileMetaData& table) const {
  return CachedBlocks(table) * options().block_size * 100 <
         table.file_size * kHotPercent;
}

}  // namespace

const char* EngineFormat() { return "dlsm"; }

// The last level and L0 have one part, every other level two.  Seeks and
// memtables that skip L0 would put data where it is not their turn.
void AdjustOptions(Options* options) {
  options->num_levels -= options->num_levels % 2;
  options->seek_compaction = false;
  options->flush_to_l0_only = true;
  options->user_key_aligned_outputs = true;
}

CompactionPicker* NewCompactionPicker(VersionSet* versions) {
  return new DlsmPicker(versions);
}

}  // namespace leveldb
