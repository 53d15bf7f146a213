#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "db/version_set.h"
#include "ldc/adaptive_threshold.h"
#include "leveldb/env.h"
#include "seams/compaction_picker.h"
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

  bool NeedsCompaction() const override {
    const Version& v = *versions_->current();
    int level;
    return CompactionScore(v) >= 1 || FileToMerge(v, &level) != nullptr;
  }

  bool Observe(UserOperation operation) override;
  Compaction* Pick() override;
  Compaction* PickRange(int level, const InternalKey* begin,
                        const InternalKey* end) override;
  std::string Check(const Version& v) const override;

 private:
  // A file that is to be merged, and where to find it.
  struct Due {
    int level;
    std::string largest;  // user key
    const char* reason;
  };

  void ChooseMerge(Version* v);
  bool FindDue(const Version& v, uint64_t number, const Due& due,
               size_t* i) const;
  void NoteDue(int level, const FileMetaData& file, const char* reason);
  void NoteFull(const Version& v);
  void NoteUseless(const Version& v, int level, size_t merged);
  bool IsFull(const FileMetaData& file, size_t slices, uint64_t bytes) const;
  bool SpaceIsShort(const Version& v) const;
  Compaction* LinkFirst();
  std::vector<FileMetaData*> Inputs(Version* v, int level,
                                    FileMetaData* file) const;

  // Calls func(level, file number in the level, slices) for each file with
  // slices.
  template <typename Func>
  void ForEachOwner(const Version& v, Func func) const;

  FileMetaData* NextWithoutSlices(const Version& v, int level) const;
  Compaction* LinkDown(int level, const std::vector<FileMetaData*>& inputs);

  AdaptiveThreshold threshold_;

  std::map<uint64_t, Due> due_;  // by number of the file
  bool has_looked_at_all_ = false;
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
      !threshold_.EndWindow(options().env->NowMicros())) {
    return false;
  }
  NoteFull(*versions_->current());
  ChooseMerge(versions_->current());
  return true;
}

// The paper's bound on frozen files: half of all (III-D).
bool LdcPicker::SpaceIsShort(const Version& v) const {
  uint64_t all = HeldBytes();
  for (int level = 0; level < options().num_levels; level++) {
    for (const FileMetaData* f : Files(v, level)) all += f->file_size;
  }
  return HeldBytes() * 100 > all * options().frozen_bytes_limit_percent;
}

void LdcPicker::Score(Version* v) {
  ScoreBySize(v);
  if (!has_looked_at_all_) NoteFull(*v);  // what was full at the last close
  ChooseMerge(v);
}

// What is due is noted where it becomes so, since a tree has thousands of
// files and each action changes a few.
void LdcPicker::NoteDue(int level, const FileMetaData& file,
                        const char* reason) {
  due_.insert(
      {file.number, {level, file.largest.user_key().ToString(), reason}});
}

void LdcPicker::NoteFull(const Version& v) {
  has_looked_at_all_ = true;
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

// What has been due for longest, by the number of its file; if nothing is and
// frozen files take too much space, the file with the oldest slice.
void LdcPicker::ChooseMerge(Version* v) {
  while (!due_.empty()) {
    const auto& [number, due] = *due_.begin();
    size_t i;
    if (FindDue(*v, number, due, &i)) {
      SetFileToMerge(v, due.level, i);
      return;
    }
    due_.erase(due_.begin());  // merged, or moved by a manual compaction
  }
  if (HeldBytes() == 0 || !SpaceIsShort(*v)) return;
  uint64_t oldest = UINT64_MAX;
  ForEachOwner(*v, [&](int level, size_t i, const PartList& slices) {
    if (slices.age() < oldest) {
      oldest = slices.age();
      SetFileToMerge(v, level, i);
    }
  });
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
  if (!options().links_first || CompactionScore(*v) < 1 || SpaceIsShort(*v)) {
    return nullptr;
  }
  const int level = CompactionLevel(*v);
  FileMetaData* const file = NextWithoutSlices(*v, level);
  if (file == nullptr) return nullptr;
  const std::vector<FileMetaData*> inputs = Inputs(v, level, file);
  for (const FileMetaData* table : inputs) {
    size_t i = FindEntry(*v, level + 1, table->smallest.user_key());
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

std::vector<FileMetaData*> LdcPicker::Inputs(Version* v, int level,
                                             FileMetaData* file) const {
  return level == 0 ? L0Closure(v, file) : std::vector<FileMetaData*>{file};
}

Compaction* LdcPicker::Pick() {
  Version* const v = versions_->current();
  int level;
  if (Compaction* const c = LinkFirst()) return c;
  if (const FileMetaData* file = FileToMerge(*v, &level)) {
    const size_t i = FindEntry(*v, level, file->largest.user_key());
    const auto due = due_.find(file->number);
    const char* const reason = due == due_.end() ? "space" : due->second.reason;
    if (options().frozen_table_useless_percent < 100) NoteUseless(*v, level, i);
    return NewMerge(level, i, reason);
  }
  if (CompactionScore(*v) < 1) return nullptr;
  level = CompactionLevel(*v);
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
  return LinkDown(level, Inputs(v, level, file));
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
  for (FileMetaData* table : inputs) {
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

// A range is compacted as upstream does it, after the slices that lie in its
// way have been merged.
Compaction* LdcPicker::PickRange(int level, const InternalKey* begin,
                                 const InternalKey* end) {
  const Version& v = *versions_->current();
  const Comparator* const user = comparator().user_comparator();
  for (const int l : {level, level + 1}) {
    for (size_t i = 0; l > 0 && i < Files(v, l).size(); i++) {
      const PartList* const slices = Parts(v, l, i);
      if (slices == nullptr) continue;
      const TablePart& range = slices->range();
      if ((end == nullptr ||
           user->Compare(range.begin, end->user_key()) <= 0) &&
          (begin == nullptr ||
           user->Compare(range.end, begin->user_key()) >= 0)) {
        return NewMerge(l, i, "manual");
      }
    }
  }
  Compaction* c = CompactionPicker::PickRange(level, begin, end);
  int in_the_way;
  size_t i;
  if (c != nullptr && FindPartsInTheWay(c, &in_the_way, &i)) {
    delete c;
    c = NewMerge(in_the_way, i, "manual");
  }
  return c;
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
    const TablePart& range = slices.range();
    if (i > 0) {
      const int order = user->Compare(LimitOf(v, level, i - 1), range.begin);
      if (order > 0 || (order == 0 && !range.excludes_begin)) {
        broken("they overlap the table before it");
      }
    }
    if (i + 1 < Files(v, level).size() &&
        user->Compare(range.end, Files(v, level)[i + 1]->smallest.user_key()) >=
            0) {
      broken("they overlap the table after it");
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
