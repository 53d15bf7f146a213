#include <algorithm>
#include <limits>
#include <vector>

#include "db/version_set.h"
#include "seams/compaction_picker.h"
#include "seams/tree_format.h"

namespace leveldb {

namespace {

// Stepped merge (dLSM VIII): data of a level are merged only when they move to
// the next one.  Level i of the paper, from 1 on, is two levels of the tree, of
// sorted runs without files: those that gather, which for i = 1 are the tables
// of L0, and those that are merged into one run of level i + 1, in key order.
// When r runs have gathered they take the place of the merged ones.  What is
// merged out of the paper's last level goes into the last level of the tree,
// one sorted table of files.
class SteppedMergePicker : public CompactionPicker {
 public:
  using CompactionPicker::CompactionPicker;

  RunUse UseOfRuns(int level) const override {
    return level >= 1 ? kOwnRuns : kNoRuns;
  }

  Status CheckRecovered(const Version& v) const override;
  void Score(Version* v) override;
  bool NeedsCompaction() override {
    return CompactionScore(*versions_->current()) >= 1;
  }
  Compaction* Pick() override;
  Compaction* PickRange(int level, const InternalKey* begin,
                        const InternalKey* end) override;
  int LastLevelOfRange(int /*deepest*/) const override {
    return HasDeletions() ? LastLevel() + 1 : LastLevel();
  }

 private:
  static bool IsGathering(int level) { return level % 2 == 0; }

  int LastLevel() const { return options().num_levels - 1; }

  size_t CountRuns(const Version& v, int level) const;
  bool SwapIsDue(const Version& v, int level) const;
  double ScoreOf(const Version& v, int level) const;
  Slice LastOf(const RunList& runs) const;  // user key
  bool Touches(const RunList& runs, const InternalKey* begin,
               const InternalKey* end) const;

  Compaction* Act(int level, const char* reason);
  Compaction* MergeNext(int level, const char* reason);
  uint64_t OutputRun(const Version& v, int level,
                     const std::vector<TablePart>& parts) const;
};

// With another number of levels the last one would be another one.
Status SteppedMergePicker::CheckRecovered(const Version& v) const {
  for (int level = 1; level < config::kNumLevels; level++) {
    const bool fits = level < LastLevel() ? Files(v, level).empty()
                                          : Runs(v, level) == nullptr;
    if (!fits) {
      return Status::InvalidArgument(
          "num_levels", "must be what the database was written with");
    }
  }
  return Status::OK();
}

size_t SteppedMergePicker::CountRuns(const Version& v, int level) const {
  if (level == 0) return Files(v, 0).size();
  return Runs(v, level) == nullptr ? 0 : Runs(v, level)->newest_first().size();
}

// r complete runs have gathered: the newest may still grow while the level
// above is merged.
bool SteppedMergePicker::SwapIsDue(const Version& v, int level) const {
  return CountRuns(v, level) >= static_cast<size_t>(options().fanout) &&
         Runs(v, level + 1) == nullptr &&
         (level == 0 || Runs(v, level - 1) == nullptr);
}

// A merge that began goes on; first the one that most runs wait for.
double SteppedMergePicker::ScoreOf(const Version& v, int level) const {
  if (IsGathering(level)) {
    return SwapIsDue(v, level) ? std::numeric_limits<double>::infinity() : 0;
  }
  if (Runs(v, level) == nullptr) return 0;
  return 1 + static_cast<double>(CountRuns(v, level - 1)) / options().fanout;
}

void SteppedMergePicker::Score(Version* v) {
  double best = -1;
  for (int level = 0; level < LastLevel(); level++) {
    const double score = ScoreOf(*v, level);
    if (score < best) continue;
    best = score;
    SetCompaction(v, level, score);
  }
}

Compaction* SteppedMergePicker::Pick() {
  const Version& v = *versions_->current();
  if (CompactionScore(v) < 1) return nullptr;
  return Act(CompactionLevel(v), "size");
}

// What touches the range goes down as its turn comes: runs that are merged make
// room for those that gather.
Compaction* SteppedMergePicker::PickRange(int level, const InternalKey* begin,
                                          const InternalKey* end) {
  if (level >= LastLevel()) return PickRangeOfDeepest(level, begin, end);
  Version* const v = versions_->current();
  if (level == 0) {
    std::vector<FileMetaData*> inputs;
    v->GetOverlappingInputs(0, begin, end, &inputs);
    if (inputs.empty()) return nullptr;
  } else {
    const RunList* const runs = Runs(*v, level);
    if (runs == nullptr || !Touches(*runs, begin, end)) return nullptr;
  }
  if (IsGathering(level) && Runs(*v, level + 1) != nullptr) {
    return MergeNext(level + 1, "manual");
  }
  Compaction* const c = Act(level, "manual");
  if (level == 0) {
    CoverInputs(c);
  } else {
    Cover(c, IsGathering(level) ? LastOf(*Runs(*v, level))
                                : Slice(c->parts()->range().end));
  }
  return c;
}

Slice SteppedMergePicker::LastOf(const RunList& runs) const {
  Slice last = runs.newest_first()[0].tables.back()->largest.user_key();
  for (const SortedRun& run : runs.newest_first()) {
    const Slice of_run = run.tables.back()->largest.user_key();
    if (comparator().user_comparator()->Compare(of_run, last) > 0) {
      last = of_run;
    }
  }
  return last;
}

bool SteppedMergePicker::Touches(const RunList& runs, const InternalKey* begin,
                                 const InternalKey* end) const {
  const Comparator* const user = comparator().user_comparator();
  for (const SortedRun& run : runs.newest_first()) {
    for (const FileMetaData* f : run.tables) {
      if ((begin == nullptr ||
           user->Compare(f->largest.user_key(), begin->user_key()) >= 0) &&
          (end == nullptr ||
           user->Compare(f->smallest.user_key(), end->user_key()) <= 0)) {
        return true;
      }
    }
  }
  return false;
}

Compaction* SteppedMergePicker::Act(int level, const char* reason) {
  return IsGathering(level) ? NewSwap(level, reason) : MergeNext(level, reason);
}

// The next interval of keys: up to where the first table of a run ends first,
// so that one table at least is done with.
Compaction* SteppedMergePicker::MergeNext(int level, const char* reason) {
  const Version& v = *versions_->current();
  const RunList& runs = *Runs(v, level);
  const Comparator* const user = comparator().user_comparator();
  Slice end = runs.newest_first()[0].tables[0]->largest.user_key();
  for (const SortedRun& run : runs.newest_first()) {
    const Slice last = run.tables[0]->largest.user_key();
    if (user->Compare(last, end) < 0) end = last;
  }
  std::vector<TablePart> parts;
  for (const SortedRun& run : runs.newest_first()) {
    for (FileMetaData* const table : run.tables) {
      // More than one, if they share the user key that is the end.
      if (user->Compare(table->smallest.user_key(), end) > 0) break;
      TablePart part;
      part.excludes_begin = runs.HasLeft(user, table->smallest.user_key());
      part.begin = part.excludes_begin ? *runs.marker()
                                       : table->smallest.user_key().ToString();
      part.end = end.ToString();
      part.table = table;
      parts.push_back(part);
    }
  }
  const bool is_last = level + 1 == LastLevel();
  Compaction* const c = NewRunMerge(
      level, parts, is_last ? 0 : OutputRun(v, level + 1, parts), reason);
  bool some_are_left = false;
  for (const SortedRun& run : runs.newest_first()) {
    for (const FileMetaData* f : run.tables) {
      if (user->Compare(f->largest.user_key(), end) > 0) {
        some_are_left = true;
      } else {
        c->edit()->RemoveRunTable(level, run.number, f->number);
      }
    }
  }
  if (some_are_left) c->edit()->SetRunMarker(level, end);
  return c;
}

// The newest run of the next level, if that ends before the parts begin, as it
// does when a merge goes on; otherwise a new one.
uint64_t SteppedMergePicker::OutputRun(
    const Version& v, int level, const std::vector<TablePart>& parts) const {
  const RunList* const runs = Runs(v, level);
  if (runs == nullptr) return 1;
  const SortedRun& newest = runs->newest_first()[0];
  const Slice last = newest.tables.back()->largest.user_key();
  for (const TablePart& part : parts) {
    const int order = comparator().user_comparator()->Compare(last, part.begin);
    if (part.excludes_begin ? order > 0 : order >= 0) return newest.number + 1;
  }
  return newest.number;
}

}  // namespace

const char* EngineFormat() { return "stepped_merge"; }

// Two levels of the tree for each level of the paper, L0 among them, and the
// last one.  L0 gathers as many tables as another level runs; writers are held
// up when it has half as many more, and stopped at twice as many.
void AdjustOptions(Options* options) {
  options->num_levels = std::min(options->num_levels | 1,
                                 static_cast<int>(config::kNumLevels) - 1);
  options->l0_compaction_trigger = options->fanout;
  options->l0_slowdown_trigger = options->fanout + options->fanout / 2;
  options->l0_stop_trigger = 2 * options->fanout;
  options->seek_compaction = false;
  options->flush_to_l0_only = true;
  options->user_key_aligned_outputs = true;
}

CompactionPicker* NewCompactionPicker(VersionSet* versions) {
  return new SteppedMergePicker(versions);
}

}  // namespace leveldb
