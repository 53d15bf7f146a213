#include <algorithm>
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
    return Status::OK();
  }

  void Score(Version* v) override {
    ScoreBySize(v);
    ChooseMerge(v);
  }

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
  struct Place {
    int level;
    size_t file;
  };

  void ChooseMerge(Version* v);
  bool IsFull(const FileMetaData& file, const PartList& slices) const;
  bool SpaceIsShort(const Version& v);

  // Calls func(level, file number in the level, slices) for each file with
  // slices.
  template <typename Func>
  void ForEachOwner(const Version& v, Func func) const;

  FileMetaData* NextWithoutSlices(const Version& v, int level) const;
  Compaction* LinkDown(int level, const std::vector<FileMetaData*>& inputs);

  AdaptiveThreshold threshold_;

  // Bytes that can still be frozen before it is worth adding up all of them.
  int64_t bytes_to_freeze_ = 0;
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
bool LdcPicker::IsFull(const FileMetaData& file, const PartList& slices) const {
  const int percent = options().slice_link_bytes_percent;
  if (percent > 0) return slices.bytes() * 100 >= file.file_size * percent;
  return slices.newest_first().size() >=
         static_cast<size_t>(threshold_.value());
}

// The self-adaptive threshold, III-B 4.
bool LdcPicker::Observe(UserOperation operation) {
  if (!options().slice_link_adaptive ||
      !threshold_.Count(operation == kReadOperation) ||
      !threshold_.EndWindow(options().env->NowMicros())) {
    return false;
  }
  ChooseMerge(versions_->current());
  return true;
}

// The paper's bound on frozen files (III-D): half of the files in levels.
bool LdcPicker::SpaceIsShort(const Version& v) {
  if (bytes_to_freeze_ > 0) return false;
  int64_t active = 0, frozen = 0;
  std::set<uint64_t> tables;
  for (int level = 0; level < options().num_levels; level++) {
    for (const FileMetaData* f : Files(v, level)) active += f->file_size;
  }
  ForEachOwner(v, [&](int, size_t, const PartList& slices) {
    for (const TablePart& slice : slices.newest_first()) {
      if (tables.insert(slice.table->number).second) {
        frozen += slice.table->file_size;
      }
    }
  });
  const int64_t percent = options().frozen_bytes_limit_percent;
  // What is frozen is no longer active: it brings the limit nearer twice.
  bytes_to_freeze_ = (active * percent / 100 - frozen) * 100 / (100 + percent);
  return bytes_to_freeze_ < 0;
}

// The file with the most slices among those that have enough; if there is
// none and frozen files take too much space, the one with the oldest slice.
void LdcPicker::ChooseMerge(Version* v) {
  size_t most = 0;
  uint64_t oldest = UINT64_MAX;
  Place full{}, with_oldest{};
  ForEachOwner(*v, [&](int level, size_t i, const PartList& slices) {
    const size_t count = slices.newest_first().size();
    if (count > most && IsFull(*Files(*v, level)[i], slices)) {
      most = count;
      full = {level, i};
    }
    if (slices.age() < oldest) {
      oldest = slices.age();
      with_oldest = {level, i};
    }
  });
  if (most > 0) {
    SetFileToMerge(v, full.level, full.file);
  } else if (oldest < UINT64_MAX && SpaceIsShort(*v)) {
    SetFileToMerge(v, with_oldest.level, with_oldest.file);
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

Compaction* LdcPicker::Pick() {
  Version* const v = versions_->current();
  int level;
  if (const FileMetaData* file = FileToMerge(*v, &level)) {
    const std::vector<FileMetaData*>& files = Files(*v, level);
    const size_t i =
        std::find(files.begin(), files.end(), file) - files.begin();
    const bool full = IsFull(*file, *Parts(*v, level, i));
    return NewMerge(level, i, full ? "slices" : "space");
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
  return LinkDown(level, level == 0 ? L0Closure(v, file)
                                    : std::vector<FileMetaData*>{file});
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
  for (FileMetaData* table : inputs) {
    bytes_to_freeze_ -= table->file_size;
    const Slice last = table->largest.user_key();
    TablePart slice;
    slice.begin = table->smallest.user_key().ToString();
    size_t i = FindEntry(*v, level + 1, slice.begin);
    for (i = std::min(i, lower.size() - 1);; i++) {
      const Slice limit = LimitOf(*v, level + 1, i);
      const bool is_last =
          i + 1 == lower.size() || user->Compare(limit, last) >= 0;
      slice.end = is_last ? last.ToString() : limit.ToString();
      Link(c, table, *lower[i], slice);
      if (is_last) break;
      slice.begin = slice.end;
      slice.excludes_begin = true;
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
