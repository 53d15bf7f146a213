#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "db/version_set.h"
#include "ldc/adaptive_threshold.h"
#include "seams/compaction_picker.h"
#include "seams/statistics.h"
#include "seams/tree_format.h"

namespace leveldb {

namespace {

// Lower-level driven compaction (LDC III).  What upstream would merge into the
// next level is linked to the files there instead: the file is frozen, and a
// part of it, a slice, lies in front of each file whose range it overlaps.  A
// file is merged with its slices when it has gathered enough of them.
class LdcPicker : public CompactionPicker {
 public:
  explicit LdcPicker(VersionSet* versions)
      : CompactionPicker(versions),
        threshold_(options().slice_link_threshold,
                   options().slice_link_adaptive_window) {}

  Status CheckOptions() const override {
    if (options().slice_link_threshold < 1) {
      return Status::InvalidArgument("slice_link_threshold",
                                     "must be at least 1");
    }
    if (options().slice_link_adaptive_window < 1) {
      return Status::InvalidArgument("slice_link_adaptive_window",
                                     "must be at least 1 operation");
    }
    if (options().frozen_table_useless_percent < 1 ||
        options().frozen_table_useless_percent > 100) {
      return Status::InvalidArgument("frozen_table_useless_percent",
                                     "must be from 1 to 100");
    }
    return Status::OK();
  }

  void Score(Version* v) override;

  bool NeedsCompaction() override;

  bool Observe(UserOperation operation) override;
  Compaction* Pick() override;
  Compaction* PickRange(int level, const InternalKey* begin,
                        const InternalKey* end) override;
  int LastLevelOfRange(int deepest) const override {
    return HasDeletions() ? deepest + 1 : deepest;
  }
  std::string Check(const Version& v) const override;

 private:
  // A file that is to be merged, and where to find it.
  struct Due {
    int level;
    std::string largest;  // user key
    const char* reason;
  };

  bool FindDue(const Version& v, uint64_t number, const Due& due,
               size_t* i) const;
  void NoteDue(int level, const FileMetaData& file, const char* reason);
  void NoteFull();
  void NoteUseless(const Version& v, int level, size_t merged);
  bool IsFull(const FileMetaData& file, size_t slices, uint64_t bytes) const;
  bool SpaceIsShort(const std::vector<FileMetaData*>& to_freeze = {}) const;
  Compaction* LinkFirst();
  Compaction* MergeDue();
  Compaction* MergeForSpace();
  std::vector<FileMetaData*> Inputs(Version* v, int level,
                                    FileMetaData* file) const;
  std::vector<FileMetaData*> InputsOfRange(Version* v, int level,
                                           const InternalKey* begin,
                                           const InternalKey* end) const;
  bool FindOwner(const Version& v, int level, const InternalKey* begin,
                 const InternalKey* end, size_t* i) const;
  bool FindOwnerAmong(const Version& v, int level,
                      const std::vector<FileMetaData*>& files, size_t* i) const;

  // Calls func(level, file number in the level, slices) for each file with
  // slices.
  template <typename Func>
  void ForEachOwner(const Version& v, Func func) const;

  bool IsDeepest(const Version& v, int level) const;
  FileMetaData* NextWithoutSlices(const Version& v, int level) const;
  Compaction* LinkDown(int level, const std::vector<FileMetaData*>& inputs);

  AdaptiveThreshold threshold_;

  std::map<uint64_t, Due> due_;  // by number of the file
  bool has_looked_at_all_ = false;
  const Version* newest_ = nullptr;  // may not be the current one yet
  uint64_t level_bytes_ = 0;         // of the newest version
};

template <typename Func>
void LdcPicker::ForEachOwner(const Version& v, Func func) const {
  for (int level = 1; level < options().num_levels; level++) {
    for (size_t i = 0; i < Files(v, level).size(); i++) {
      const PartList* const slices = Parts(v, level, i);
      if (slices != nullptr) func(level, i, *slices);
    }
  }
}

// Algorithm 1, line 8: by the number of slices.  Section III-A argues with
// their bytes instead.
bool LdcPicker::IsFull(const FileMetaData& file, size_t slices,
                       uint64_t bytes) const {
  const int percent = options().slice_link_bytes_percent;
  if (percent > 0) return bytes * 100 >= file.file_size * percent;
  return slices >= static_cast<size_t>(threshold_.value());
}

// The self-adaptive threshold, III-B 4.
bool LdcPicker::Observe(UserOperation operation) {
  if (!options().slice_link_adaptive ||
      !threshold_.Count(operation == kReadOperation) ||
      !threshold_.EndWindow(SteadyMicros())) {
    return false;
  }
  has_looked_at_all_ = false;
  return true;
}

// The paper's bound on frozen files: half of all (III-D), with those that are
// about to be frozen.
bool LdcPicker::SpaceIsShort(
    const std::vector<FileMetaData*>& to_freeze) const {
  uint64_t frozen = HeldBytes();
  for (const FileMetaData* f : to_freeze) frozen += f->file_size;
  return frozen * 100 >
         (HeldBytes() + level_bytes_) * options().frozen_bytes_limit_percent;
}

void LdcPicker::Score(Version* v) {
  ScoreBySize(v);
  level_bytes_ = 0;
  for (int level = 0; level < options().num_levels; level++) {
    level_bytes_ += Bytes(*v, level);
  }
  newest_ = v;
}

bool LdcPicker::NeedsCompaction() {
  const Version& v = *versions_->current();
  NoteFull();
  if (CompactionScore(v) >= 1 || (HeldBytes() > 0 && SpaceIsShort())) {
    return true;
  }
  size_t i;
  return std::any_of(due_.begin(), due_.end(), [&](const auto& due) {
    return FindDue(v, due.first, due.second, &i);
  });
}

// What is due is noted where it becomes so, since a tree has thousands of
// files and each action changes a few.
void LdcPicker::NoteDue(int level, const FileMetaData& file,
                        const char* reason) {
  due_.insert(
      {file.number, {level, file.largest.user_key().ToString(), reason}});
}

// All files are looked at after the database was opened or the threshold has
// changed; once more if a version is on its way to become the current one.
void LdcPicker::NoteFull() {
  if (has_looked_at_all_) return;
  const Version& v = *versions_->current();
  has_looked_at_all_ = &v == newest_;
  ForEachOwner(v, [&](int level, size_t i, const PartList& slices) {
    const FileMetaData& file = *Files(v, level)[i];
    if (IsFull(file, slices.newest_first().size(), slices.bytes())) {
      NoteDue(level, file, "slices");
    }
  });
}

bool LdcPicker::FindDue(const Version& v, uint64_t number, const Due& due,
                        size_t* i) const {
  *i = FindEntry(v, due.level, due.largest);
  return *i < Files(v, due.level).size() &&
         Files(v, due.level)[*i]->number == number &&
         Parts(v, due.level, *i) != nullptr;
}

// What has been due for longest, by the number of its file.
Compaction* LdcPicker::MergeDue() {
  const Version& v = *versions_->current();
  NoteFull();
  while (!due_.empty()) {
    const auto [number, due] = *due_.begin();
    due_.erase(due_.begin());
    size_t i;
    // Another was merged, or moved by a manual compaction.
    if (!FindDue(v, number, due, &i)) continue;
    if (options().frozen_table_useless_percent < 100) {
      NoteUseless(v, due.level, i);
    }
    return NewMerge(due.level, i, due.reason);
  }
  return nullptr;
}

// The file with the oldest slice.
Compaction* LdcPicker::MergeForSpace() {
  const Version& v = *versions_->current();
  uint64_t oldest = UINT64_MAX;
  int of_level = 0;
  size_t file = 0;
  ForEachOwner(v, [&](int level, size_t i, const PartList& slices) {
    if (slices.age() >= oldest) return;
    oldest = slices.age();
    of_level = level;
    file = i;
  });
  if (oldest == UINT64_MAX) return nullptr;
  if (options().frozen_table_useless_percent < 100) {
    NoteUseless(v, of_level, file);
  }
  return NewMerge(of_level, file, "space");
}

// Beyond the paper: when file "merged" of "level" is merged, a frozen table may
// be left with little that is still needed.  The files that need it, which lie
// near, are merged next, so that it can go.
void LdcPicker::NoteUseless(const Version& v, int level, size_t merged) {
  const std::vector<FileMetaData*>& files = Files(v, level);
  for (const TablePart& slice : Parts(v, level, merged)->newest_first()) {
    const FileMetaData& table = *slice.table;
    uint64_t needed = 0;
    std::vector<size_t> owners;
    size_t i = FindEntry(v, level, table.smallest.user_key());
    for (; i < files.size(); i++) {
      const PartList* const slices = i == merged ? nullptr : Parts(v, level, i);
      if (slices != nullptr) {
        for (const TablePart& other : slices->newest_first()) {
          if (other.table != &table) continue;
          needed += other.bytes;
          owners.push_back(i);
        }
      }
      if (comparator().user_comparator()->Compare(
              LimitOf(v, level, i), table.largest.user_key()) >= 0) {
        break;
      }
    }
    const uint64_t percent = options().frozen_table_useless_percent;
    if (needed * 100 <= table.file_size * (100 - percent)) {
      for (const size_t owner : owners) {
        NoteDue(level, *files[owner], "release");
      }
    }
  }
}

// The next file of the level in round robin that has no slices: "an SSTable
// with SliceLinks cannot be chosen for link" (III-D).
FileMetaData* LdcPicker::NextWithoutSlices(const Version& v, int level) const {
  const std::vector<FileMetaData*>& files = Files(v, level);
  const Slice pointer = CompactPointer(level);
  FileMetaData* first = nullptr;
  for (size_t i = 0; i < files.size(); i++) {
    if (Parts(v, level, i) != nullptr) continue;
    if (pointer.empty() ||
        comparator().Compare(files[i]->largest.Encode(), pointer) > 0) {
      return files[i];
    }
    if (first == nullptr) first = files[i];
  }
  return first;
}

// Beyond the paper: writers wait for L0 to shrink, and links, which cost next
// to nothing, shrink it.  So they go before merges, as long as no file that
// gains a slice has twice as many as it should.
Compaction* LdcPicker::LinkFirst() {
  Version* const v = versions_->current();
  if (!options().links_first || CompactionScore(*v) < 1) return nullptr;
  const int level = CompactionLevel(*v);
  FileMetaData* const file = NextWithoutSlices(*v, level);
  if (file == nullptr) return nullptr;
  const std::vector<FileMetaData*> inputs = Inputs(v, level, file);
  size_t i;
  if (SpaceIsShort(inputs) || FindOwnerAmong(*v, level, inputs, &i)) {
    return nullptr;
  }
  for (const FileMetaData* table : inputs) {
    i = FindEntry(*v, level + 1, table->smallest.user_key());
    for (; i < Files(*v, level + 1).size(); i++) {
      const PartList* const slices = Parts(*v, level + 1, i);
      if (slices != nullptr &&
          slices->newest_first().size() >=
              2 * static_cast<size_t>(threshold_.value())) {
        return nullptr;
      }
      if (comparator().user_comparator()->Compare(
              LimitOf(*v, level + 1, i), table->largest.user_key()) >= 0) {
        break;
      }
    }
  }
  return LinkDown(level, inputs);
}

// Of L0 the oldest first, of another level in key order.
std::vector<FileMetaData*> LdcPicker::Inputs(Version* v, int level,
                                             FileMetaData* file) const {
  if (level == 0) return L0Closure(v, file);
  std::vector<FileMetaData*> inputs{file};
  const std::vector<FileMetaData*>& files = Files(*v, level);
  AddBoundaryFiles(*v, level,
                   std::find(files.begin(), files.end(), file) - files.begin(),
                   &inputs);
  return inputs;
}

bool LdcPicker::FindOwnerAmong(const Version& v, int level,
                               const std::vector<FileMetaData*>& files,
                               size_t* i) const {
  const std::vector<FileMetaData*>& all = Files(v, level);
  for (const FileMetaData* file : files) {
    *i = std::find(all.begin(), all.end(), file) - all.begin();
    if (Parts(v, level, *i) != nullptr) return true;
  }
  return false;
}

Compaction* LdcPicker::Pick() {
  Version* const v = versions_->current();
  if (Compaction* const c = LinkFirst()) return c;
  if (Compaction* const c = MergeDue()) return c;
  if (HeldBytes() > 0 && SpaceIsShort()) return MergeForSpace();
  if (CompactionScore(*v) < 1) return nullptr;
  const int level = CompactionLevel(*v);
  FileMetaData* const file = NextWithoutSlices(*v, level);
  if (file == nullptr) {
    // Nothing can be linked before one of the level's files is merged.
    size_t most = 0;
    for (size_t i = 1; i < Files(*v, level).size(); i++) {
      if (Parts(*v, level, i)->newest_first().size() >
          Parts(*v, level, most)->newest_first().size()) {
        most = i;
      }
    }
    return NewMerge(level, most, "level");
  }
  const std::vector<FileMetaData*> inputs = Inputs(v, level, file);
  size_t owner;
  if (FindOwnerAmong(*v, level, inputs, &owner)) {
    return NewMerge(level, owner, "level");
  }
  if (HeldBytes() > 0 && SpaceIsShort(inputs)) return MergeForSpace();
  return LinkDown(level, inputs);
}

// Algorithm 1, link.  Cuts the range of each input at the files of the next
// level: a file is responsible for the gap before it (Example 3.2), the last
// one for what comes after it too.  Where the next level has nothing in the
// range, there is nothing to link to and the inputs move down.
Compaction* LdcPicker::LinkDown(int level,
                                const std::vector<FileMetaData*>& inputs) {
  Version* const v = versions_->current();
  const Comparator* const user = comparator().user_comparator();
  Slice begin = inputs[0]->smallest.user_key();
  Slice end = inputs[0]->largest.user_key();
  for (const FileMetaData* table : inputs) {
    if (user->Compare(table->smallest.user_key(), begin) < 0) {
      begin = table->smallest.user_key();
    }
    if (user->Compare(table->largest.user_key(), end) > 0) {
      end = table->largest.user_key();
    }
  }
  if (!Overlaps(v, level + 1, begin, end)) {
    return NewMoveDown(level, inputs, "size");
  }
  Compaction* const c = NewLink(level, inputs, "size");
  const std::vector<FileMetaData*>& lower = Files(*v, level + 1);
  struct Gain {
    size_t slices = 0;
    uint64_t bytes = 0;
  };
  std::map<size_t, Gain> gains;  // by number of the file
  // Of files that share a user key the last one has the oldest versions.
  std::vector<FileMetaData*> oldest_first = inputs;
  if (level > 0) std::reverse(oldest_first.begin(), oldest_first.end());
  for (FileMetaData* table : oldest_first) {
    const Slice last = table->largest.user_key();
    TablePart slice;
    slice.begin = table->smallest.user_key().ToString();
    size_t i = FindEntry(*v, level + 1, slice.begin);
    for (i = std::min(i, lower.size() - 1);; i++) {
      const Slice limit = LimitOf(*v, level + 1, i);
      const bool is_last =
          i + 1 == lower.size() || user->Compare(limit, last) >= 0;
      slice.end = is_last ? last.ToString() : limit.ToString();
      gains[i].bytes += Link(c, table, *lower[i], slice);
      gains[i].slices++;
      if (is_last) break;
      slice.begin = slice.end;
      slice.excludes_begin = true;
    }
  }
  for (auto& [i, gain] : gains) {
    if (const PartList* const slices = Parts(*v, level + 1, i)) {
      gain.slices += slices->newest_first().size();
      gain.bytes += slices->bytes();
    }
    if (IsFull(*lower[i], gain.slices, gain.bytes)) {
      NoteDue(level + 1, *lower[i], "slices");
    }
  }
  return c;
}

// The next files of a level in a range, as many as upstream takes, in the order
// of Inputs().
std::vector<FileMetaData*> LdcPicker::InputsOfRange(
    Version* v, int level, const InternalKey* begin,
    const InternalKey* end) const {
  std::vector<FileMetaData*> inputs;
  if (level == 0) {
    v->GetOverlappingInputs(0, begin, end, &inputs);
    return inputs;
  }
  const std::vector<FileMetaData*>& files = Files(*v, level);
  uint64_t bytes = 0;
  size_t last = 0;
  for (size_t i = 0; i < files.size() && bytes < options().max_file_size; i++) {
    if (begin != nullptr &&
        comparator().Compare(LastKey(*v, level, i), *begin) <= 0) {
      continue;
    }
    if (end != nullptr && comparator().user_comparator()->Compare(
                              BeginOf(*v, level, i), end->user_key()) > 0) {
      break;
    }
    inputs.push_back(files[i]);
    bytes += files[i]->file_size;
    last = i;
  }
  // Also of a file that is small for the options of today.
  if (!inputs.empty()) AddBoundaryFiles(*v, level, last, &inputs);
  return inputs;
}

// The first file of a level in a range that has slices.
bool LdcPicker::FindOwner(const Version& v, int level, const InternalKey* begin,
                          const InternalKey* end, size_t* i) const {
  for (*i = 0; *i < Files(v, level).size(); (*i)++) {
    if (Parts(v, level, *i) == nullptr ||
        (begin != nullptr &&
         comparator().Compare(LastKey(v, level, *i), *begin) <= 0)) {
      continue;
    }
    return end == nullptr || comparator().user_comparator()->Compare(
                                 BeginOf(v, level, *i), end->user_key()) <= 0;
  }
  return false;
}

// Whether no deeper level has anything.
bool LdcPicker::IsDeepest(const Version& v, int level) const {
  while (++level < options().num_levels) {
    if (!Files(v, level).empty()) return false;
  }
  return true;
}

// A range is compacted as upstream does it, with the slices in front of files
// of both levels; in between, files of the next level that nothing comes into
// are merged with theirs.
Compaction* LdcPicker::PickRange(int level, const InternalKey* begin,
                                 const InternalKey* end) {
  Version* const v = versions_->current();
  if (level > 0 && IsDeepest(*v, level)) {
    return PickRangeOfDeepest(level, begin, end);
  }
  const std::vector<FileMetaData*> inputs = InputsOfRange(v, level, begin, end);
  size_t owner;
  if (FindOwner(*v, level + 1, begin, end, &owner)) {
    const auto is_before = [&](const FileMetaData* table) {
      return comparator().user_comparator()->Compare(
                 LimitOf(*v, level + 1, owner), table->smallest.user_key()) < 0;
    };
    if (std::all_of(inputs.begin(), inputs.end(), is_before)) {
      Compaction* const c = NewMerge(level + 1, owner, "manual");
      Cover(c, LimitOf(*v, level + 1, owner));
      return c;
    }
  }
  return inputs.empty() ? nullptr : NewMergeWithParts(level, inputs, "manual");
}

// Beyond the levels: no slice overlaps another file of its level or a slice in
// front of one, and slices of a file are in order of age.
std::string LdcPicker::Check(const Version& v) const {
  const Comparator* const user = comparator().user_comparator();
  std::string problem = CompactionPicker::Check(v);
  std::set<uint64_t> in_levels;
  for (int level = 0; level < options().num_levels; level++) {
    for (const FileMetaData* f : Files(v, level)) in_levels.insert(f->number);
  }
  ForEachOwner(v, [&](int level, size_t i, const PartList& slices) {
    if (!problem.empty()) return;
    const auto broken = [&](const char* rule) {
      problem = "level " + std::to_string(level) + ", slices of table " +
                std::to_string(Files(v, level)[i]->number) + ": " + rule;
    };
    for (const TablePart& slice : slices.newest_first()) {
      const int order =
          i == 0 ? -1 : user->Compare(LimitOf(v, level, i - 1), slice.begin);
      if (order > 0 || (order == 0 && !slice.excludes_begin)) {
        broken("one overlaps the table before it");
      }
      if (i + 1 == Files(v, level).size()) continue;
      const Slice next = Files(v, level)[i + 1]->smallest.user_key();
      const bool shared =
          user->Compare(next, Files(v, level)[i]->largest.user_key()) == 0;
      const int gap = user->Compare(slice.end, next);
      if (gap > 0 || (gap == 0 && !shared)) {
        broken("one overlaps the table after it");
      }
    }
    for (size_t s = 1; s < slices.newest_first().size(); s++) {
      if (slices.newest_first()[s - 1].age <= slices.newest_first()[s].age) {
        broken("they are not in order of age");
      }
    }
    for (const TablePart& slice : slices.newest_first()) {
      if (in_levels.count(slice.table->number) > 0) broken("one is in a level");
    }
  });
  return problem;
}

}  // namespace

const char* EngineFormat() { return "ldc"; }

// An older version of a user key must not stay behind in the next file of its
// level when a newer one is linked to the level below.
void AdjustOptions(Options* options) {
  options->user_key_aligned_outputs = true;
}

CompactionPicker* NewCompactionPicker(VersionSet* versions) {
  return new LdcPicker(versions);
}

}  // namespace leveldb
