#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/version_set.h"
#include "seams/compaction_picker.h"
#include "seams/tree_format.h"

namespace leveldb {

namespace {

struct Segment {
  FileMetaData* table;
  uint64_t run;
};

// What a level has in one of its ranges.  Its segments are the tables of the
// level's runs that lie there: the first one written is the origin segment,
// the others were appended to it.
struct DTable {
  const Segment* begin() const { return segments; }
  const Segment* end() const { return segments + size; }
  uint64_t newest_run() const { return size == 0 ? 0 : segments[0].run; }
  std::vector<FileMetaData*> tables() const {
    std::vector<FileMetaData*> newest_first;
    for (const Segment& segment : *this) newest_first.push_back(segment.table);
    return newest_first;
  }

  // Whether all are of one run: then there is one, but where it was too large
  // for a table.
  bool is_one_segment() const {
    return size > 0 && segments[0].run == segments[size - 1].run;
  }

  size_t range;             // number of the range, from 0
  const Segment* segments;  // newest first
  size_t size = 0;
  uint64_t bytes = 0;
};

// Those of a level, one for each range.
struct DTables {
  std::vector<DTable> by_range;
  std::vector<Segment> segments;  // of one DTable after the other
};

// What became of the DTable whose segments a compaction takes away: how its
// range may be shrunk, in favour of a neighbour.
struct Shift {
  int level;
  uint64_t bytes_before;  // written before the range is cut
  std::string old_cut;    // between it and the neighbour
};

// Each table of the output goes to one range of its level, as the newest
// segment of the DTable there.  Where a range was empty it is divided after
// each table.
class SegmentRouter : public OutputRouter {
 public:
  // "runs" has the newest run of each range that "cuts" leave, those of the
  // version that is compacted; a range without any is divided after "piece"
  // bytes, as long as there may be "new_ranges".
  SegmentRouter(const Comparator* user_comparator, int level,
                const LevelCuts& cuts, std::vector<uint64_t> runs,
                uint64_t piece, size_t new_ranges)
      : user_(user_comparator),
        level_(level),
        cuts_(cuts),
        runs_(std::move(runs)),
        piece_(piece),
        new_ranges_(new_ranges) {}

  // What the range holds goes away: it is divided into so many.
  void Empty(size_t range, size_t parts) {
    runs_[range] = 0;
    if (!containers_.empty()) containers_[range] = 0;
    new_ranges_ = parts - 1;
  }

  // One file for all segments of a DTable: that of the origin segment; 0 is
  // none yet.
  void AppendToFiles(std::vector<uint64_t> containers) {
    containers_ = std::move(containers);
  }

  void ShiftWhenDue(Shift shift) {
    shift_ = std::make_unique<Shift>(std::move(shift));
  }

  bool EndsBefore(const Slice& user_key) override {
    const size_t range = RangeOf(user_key);
    return std::exchange(read_range_, range) != range;
  }

  uint64_t LargestTable() const override {
    return runs_[read_range_] == 0 && new_ranges_ > 0 ? piece_ : UINT64_MAX;
  }

  uint64_t ContainerFor(const Slice& user_key) override {
    return containers_.empty() ? 0 : containers_[RangeOf(user_key)];
  }

  void Add(const FileMetaData& table, VersionEdit* edit) override {
    const size_t range = RangeOf(table.largest.user_key());
    // Tables that share a user key are not parted.  It may also be the one that
    // a range ends with already.
    const bool is_apart =
        has_added_ &&
        user_->Compare(added_largest_, table.smallest.user_key()) != 0;
    if (is_apart && range == added_range_ && runs_[range] == 0 &&
        new_ranges_ > 0) {
      edit->AddCut(level_, added_largest_);
      new_ranges_--;
    }
    if (shift_ != nullptr && is_apart && bytes_ >= shift_->bytes_before) {
      edit->RemoveCut(shift_->level, shift_->old_cut);
      edit->AddCut(shift_->level, added_largest_);
      shift_.reset();
    }
    edit->AddRunTable(level_, runs_[range] + 1, table);
    has_added_ = true;
    added_range_ = range;
    added_largest_ = table.largest.user_key().ToString();
    bytes_ += table.file_size;
  }

 private:
  size_t RangeOf(const Slice& user_key) const {
    const auto cut =
        std::lower_bound(cuts_.begin(), cuts_.end(), user_key,
                         [this](const std::string& a, const Slice& b) {
                           return user_->Compare(a, b) < 0;
                         });
    return cut - cuts_.begin();
  }

  const Comparator* const user_;
  const int level_;
  const LevelCuts& cuts_;
  std::vector<uint64_t> runs_;
  std::vector<uint64_t> containers_;  // of each range, if it has one file
  const uint64_t piece_;
  size_t new_ranges_;  // that may still be made
  std::unique_ptr<Shift> shift_;
  size_t read_range_ = SIZE_MAX;
  bool has_added_ = false;
  size_t added_range_ = 0;
  std::string added_largest_;
  uint64_t bytes_ = 0;
};

class LwcPicker : public CompactionPicker {
 public:
  using CompactionPicker::CompactionPicker;

  RunUse UseOfRuns(int level) const override {
    return level >= 1 ? kOwnRuns : kNoRuns;
  }

  Status CheckOptions() const override;
  Status CheckRecovered(const Version& v) const override;
  void Score(Version* v) override;
  bool NeedsCompaction() override {
    return CompactionScore(*versions_->current()) >= 1;
  }
  Compaction* Pick() override;
  Compaction* PickRange(int level, const InternalKey* begin,
                        const InternalKey* end) override;
  int LastLevelOfRange(int deepest) const override { return deepest + 1; }
  std::string Check(const Version& v) const override;

 private:
  // Stands for the deepest level, whose DTables are merged with themselves.
  static constexpr int kWithItself = config::kNumLevels;

  // A level's bytes when it is full, and the DTables that it has then.
  double FullBytes(int level) const;
  double FullDTables(int level) const;

  int Deepest(const Version& v) const;
  uint64_t RunBytes(const Version& v, int level) const;
  DTables FindDTables(const Version& v, int level) const;
  const std::vector<DTable>& DTablesOf(const Version& v, int level) const;
  double Overfullness(const DTable& dtable) const;
  bool Overlaps(const Version& v, int level, const FileMetaData& table) const;
  Slice LastOf(const DTable& dtable) const;  // user key
  bool Touches(const DTable& dtable, const InternalKey* begin,
               const InternalKey* end) const;

  Compaction* CompactLevelZero(const std::vector<FileMetaData*>& inputs,
                               const char* reason);
  Compaction* MoveToNext(int level, const DTable& victim);
  Compaction* AppendToNext(int level, const DTable& victim, const char* reason);
  Compaction* MergeSelf(int level, const DTable& dtable, const char* reason);
  Compaction* MoveDown(int level, FileMetaData* table, const char* reason);
  std::unique_ptr<SegmentRouter> RouterTo(int level, uint64_t piece) const;
  void LeaveRuns(const DTable& dtable, int level, Compaction* c) const;
  bool FindShift(const DTable& victim, int level, Shift* shift) const;

  // The DTables of each level that were asked for last, and of which list of
  // runs they are.  Cuts of a level do not change without its runs.
  mutable uint64_t known_runs_[config::kNumLevels] = {};
  mutable DTables known_dtables_[config::kNumLevels];
};

Status LwcPicker::CheckOptions() const {
  if (options().dtable_bytes == 0) {
    return Status::InvalidArgument("dtable_bytes", "must be above 0");
  }
  if (options().dtable_segments < 1) {
    return Status::InvalidArgument("dtable_segments", "must be at least 1");
  }
  if (options().dtable_balance_percent < 0) {
    return Status::InvalidArgument("dtable_balance_percent",
                                   "must be at least 0");
  }
  return Status::OK();
}

Status LwcPicker::CheckRecovered(const Version& v) const {
  for (int level = 1; level < config::kNumLevels; level++) {
    if (!Files(v, level).empty() ||
        (level >= options().num_levels && Runs(v, level) != nullptr)) {
      return Status::InvalidArgument(
          "num_levels", "must not be less than the database was written with");
    }
  }
  return Status::OK();
}

double LwcPicker::FullBytes(int level) const {
  double bytes = static_cast<double>(options().level_base_bytes);
  for (; level > 1; level--) bytes *= options().fanout;
  return bytes;
}

double LwcPicker::FullDTables(int level) const {
  return std::max(
      1.0, FullBytes(level) / static_cast<double>(options().dtable_bytes));
}

int LwcPicker::Deepest(const Version& v) const {
  int level = config::kNumLevels - 1;
  while (level > 0 && Runs(v, level) == nullptr) level--;
  return level;
}

uint64_t LwcPicker::RunBytes(const Version& v, int level) const {
  return Runs(v, level) == nullptr ? 0 : Runs(v, level)->bytes();
}

// A level has thousands of segments and is looked at for every compaction, so
// they go to two arrays.
DTables LwcPicker::FindDTables(const Version& v, int level) const {
  const LevelCuts& cuts = Cuts(v, level);
  DTables found;
  found.by_range.resize(cuts.size() + 1);
  std::vector<size_t> ranges;  // of the tables of all runs
  const RunList* const runs = Runs(v, level);
  const Comparator* const user = comparator().user_comparator();
  const auto before = [user](const std::string& cut, const Slice& key) {
    return user->Compare(cut, key) < 0;
  };
  const auto for_each_run = [runs](auto visit) {
    if (runs == nullptr) return;
    for (const SortedRun& run : runs->newest_first()) visit(run);
  };
  for_each_run([&](const SortedRun& run) {
    auto cut = cuts.begin();
    for (const FileMetaData* table : run.tables) {
      const Slice key = table->smallest.user_key();
      // Most often it is this range or the next.
      if (cut != cuts.end() && before(*cut, key)) {
        ++cut;
        if (cut != cuts.end() && before(*cut, key)) {
          cut = std::lower_bound(cut, cuts.end(), key, before);
        }
      }
      ranges.push_back(cut - cuts.begin());
      DTable& dtable = found.by_range[ranges.back()];
      dtable.size++;
      dtable.bytes += table->file_size;
    }
  });
  found.segments.resize(ranges.size());
  std::vector<Segment*> next(found.by_range.size());
  Segment* begin = found.segments.data();
  for (size_t range = 0; range < next.size(); range++) {
    found.by_range[range].range = range;
    found.by_range[range].segments = next[range] = begin;
    begin += found.by_range[range].size;
  }
  auto range = ranges.begin();
  for_each_run([&](const SortedRun& run) {
    for (FileMetaData* table : run.tables) {
      *next[*range++]++ = {table, run.number};
    }
  });
  return found;
}

const std::vector<DTable>& LwcPicker::DTablesOf(const Version& v,
                                                int level) const {
  const RunList* const runs = Runs(v, level);
  if (runs == nullptr || runs->id() != known_runs_[level]) {
    known_dtables_[level] = FindDTables(v, level);
    known_runs_[level] = runs == nullptr ? 0 : runs->id();
  }
  return known_dtables_[level].by_range;
}

// Above 1 if there are too many segments, or more bytes than in two.  What has
// only one segment has not, as nothing would become smaller.
double LwcPicker::Overfullness(const DTable& dtable) const {
  if (dtable.size == 0 || dtable.is_one_segment()) return 0;
  return std::max(static_cast<double>(dtable.newest_run()) /
                      (options().dtable_segments + 1),
                  static_cast<double>(dtable.bytes) /
                      (2.0 * static_cast<double>(options().dtable_bytes)));
}

// A level above the deepest gives DTables away when it is full; the deepest
// one, too, as long as there is another level.  What is appended to it in the
// meantime is merged there.
void LwcPicker::Score(Version* v) {
  const int deepest = Deepest(*v);
  double best = static_cast<double>(Files(*v, 0).size()) /
                options().l0_compaction_trigger;
  int best_level = 0;
  for (int level = 1; level + 1 < options().num_levels; level++) {
    const double score =
        static_cast<double>(RunBytes(*v, level)) / FullBytes(level);
    if (score <= best) continue;
    best = score;
    best_level = level;
  }
  for (const DTable& dtable : DTablesOf(*v, deepest)) {
    const double score = Overfullness(dtable);
    if (score <= best) continue;
    best = score;
    best_level = kWithItself;
  }
  SetCompaction(v, best_level, best);
}

Compaction* LwcPicker::Pick() {
  Version* const v = versions_->current();
  if (CompactionScore(*v) < 1) return nullptr;
  int level = CompactionLevel(*v);
  if (level == 0) {
    return CompactLevelZero(L0Closure(v, OldestOfL0(*v)), "size");
  }
  const bool with_itself = level == kWithItself;
  if (with_itself) level = Deepest(*v);
  const std::vector<DTable>& dtables = DTablesOf(*v, level);
  const DTable& worst =
      *std::max_element(dtables.begin(), dtables.end(),
                        [this, with_itself](const DTable& a, const DTable& b) {
                          return with_itself ? Overfullness(a) < Overfullness(b)
                                             : a.bytes < b.bytes;
                        });
  if (with_itself) return MergeSelf(level, worst, "segments");
  const bool moves =
      worst.size == 1 && !Overlaps(*v, level + 1, *worst.segments[0].table);
  return moves ? MoveToNext(level, worst) : AppendToNext(level, worst, "size");
}

Compaction* LwcPicker::PickRange(int level, const InternalKey* begin,
                                 const InternalKey* end) {
  Version* const v = versions_->current();
  if (level == 0) {
    std::vector<FileMetaData*> inputs;
    v->GetOverlappingInputs(0, begin, end, &inputs);
    if (inputs.empty()) return nullptr;
    Compaction* const c = CompactLevelZero(inputs, "manual");
    CoverInputs(c);
    return c;
  }
  const bool is_deepest = level == Deepest(*v);
  for (const DTable& dtable : DTablesOf(*v, level)) {
    if (is_deepest && dtable.is_one_segment() && !HasDeletions()) continue;
    if (!Touches(dtable, begin, end)) continue;
    const Slice last = LastOf(dtable);
    Compaction* const c = is_deepest ? MergeSelf(level, dtable, "manual")
                                     : AppendToNext(level, dtable, "manual");
    Cover(c, last);
    return c;
  }
  return nullptr;
}

Slice LwcPicker::LastOf(const DTable& dtable) const {
  const FileMetaData* last = dtable.begin()->table;
  for (const auto& [table, run] : dtable) {
    if (comparator().Compare(table->largest, last->largest) > 0) last = table;
  }
  return last->largest.user_key();
}

// Whether a segment overlaps a range, and some of them go on after its begin.
bool LwcPicker::Touches(const DTable& dtable, const InternalKey* begin,
                        const InternalKey* end) const {
  for (const auto& [table, run] : dtable) {
    if ((begin == nullptr ||
         comparator().Compare(table->largest, *begin) > 0) &&
        (end == nullptr ||
         comparator().user_comparator()->Compare(table->smallest.user_key(),
                                                 end->user_key()) <= 0)) {
      return true;
    }
  }
  return false;
}

std::unique_ptr<SegmentRouter> LwcPicker::RouterTo(int level,
                                                   uint64_t piece) const {
  const Version& v = *versions_->current();
  std::vector<uint64_t> runs, containers;
  for (const DTable& dtable : DTablesOf(v, level)) {
    runs.push_back(dtable.newest_run());
    containers.push_back(dtable.size == 0 ? 0 : dtable.end()[-1].table->file());
  }
  const size_t most = static_cast<size_t>(2 * FullDTables(level));
  const size_t new_ranges = most > runs.size() ? most - runs.size() : 0;
  auto router = std::make_unique<SegmentRouter>(
      comparator().user_comparator(), level, Cuts(v, level), std::move(runs),
      piece, new_ranges);
  if (options().dtable_files) router->AppendToFiles(std::move(containers));
  return router;
}

bool LwcPicker::Overlaps(const Version& v, int level,
                         const FileMetaData& table) const {
  if (Runs(v, level) == nullptr) return false;
  for (const SortedRun& run : Runs(v, level)->newest_first()) {
    if (run.Overlaps(comparator().user_comparator(), table.smallest.user_key(),
                     table.largest.user_key())) {
      return true;
    }
  }
  return false;
}

Compaction* LwcPicker::CompactLevelZero(
    const std::vector<FileMetaData*>& inputs, const char* reason) {
  // What is asked for by hand is written again, as one table.
  if (inputs.size() == 1 && !Overlaps(*versions_->current(), 1, *inputs[0])) {
    return MoveDown(0, inputs[0], reason);
  }
  uint64_t bytes = 0;
  for (const FileMetaData* f : inputs) bytes += f->file_size;
  const auto piece =
      static_cast<uint64_t>(static_cast<double>(bytes) / FullDTables(1));
  return NewRoutedCompaction(inputs, RouterTo(1, piece + 1), reason);
}

void LwcPicker::LeaveRuns(const DTable& dtable, int level,
                          Compaction* c) const {
  for (const auto& [table, run] : dtable) {
    c->edit()->RemoveRunTable(level, run, table->number);
  }
}

// The DTable leaves its level for a range of the next one in which it overlaps
// nothing.  Ranges that nothing comes into any more, as when keys ascend, are
// given up.
Compaction* LwcPicker::MoveToNext(int level, const DTable& victim) {
  const Version& v = *versions_->current();
  Compaction* const c = MoveDown(level, victim.segments[0].table, "size");
  LeaveRuns(victim, level, c);
  const LevelCuts& cuts = Cuts(v, level);
  if (static_cast<double>(cuts.size()) > 2 * FullDTables(level)) {
    c->edit()->RemoveCut(level, cuts[std::min(victim.range, cuts.size() - 1)]);
  }
  return c;
}

// The DTable leaves its level: its segments are merged and what comes of them
// is appended, one segment each, to the DTables of the next level whose ranges
// it reaches into.
Compaction* LwcPicker::AppendToNext(int level, const DTable& victim,
                                    const char* reason) {
  const double pieces = FullDTables(level + 1) / FullDTables(level);
  const auto piece =
      static_cast<uint64_t>(static_cast<double>(victim.bytes) / pieces);
  std::unique_ptr<SegmentRouter> router = RouterTo(level + 1, piece + 1);
  Shift shift;
  if (FindShift(victim, level, &shift)) router->ShiftWhenDue(std::move(shift));
  Compaction* const c = NewRoutedMerge(level, victim.tables(), level + 1,
                                       std::move(router), reason);
  LeaveRuns(victim, level, c);
  return c;
}

// Workload balance: half of the range that had too much goes to the neighbour
// that has less.  It is empty then, so no data of the level change hands.
bool LwcPicker::FindShift(const DTable& victim, int level, Shift* shift) const {
  const Version& v = *versions_->current();
  const std::vector<DTable>& dtables = DTablesOf(v, level);
  const uint64_t limit = options().dtable_balance_percent;
  if (limit == 0 || dtables.size() < 2 ||
      victim.bytes * 100 * dtables.size() <= limit * RunBytes(v, level)) {
    return false;
  }
  const size_t range = victim.range;
  const bool goes_left =
      range + 1 == dtables.size() ||
      (range > 0 && dtables[range - 1].bytes < dtables[range + 1].bytes);
  *shift = {level, victim.bytes / 2,
            Cuts(v, level)[goes_left ? range - 1 : range]};
  return true;
}

// The segments become one, or, where they are too much for one DTable, equal
// parts of the range get a DTable each.
Compaction* LwcPicker::MergeSelf(int level, const DTable& dtable,
                                 const char* reason) {
  const uint64_t full = options().dtable_bytes;
  const uint64_t parts = (dtable.bytes + full - 1) / full;
  std::unique_ptr<SegmentRouter> router =
      RouterTo(level, dtable.bytes / parts + 1);
  router->Empty(dtable.range, parts);
  Compaction* const c = NewRoutedMerge(level - 1, dtable.tables(), level + 1,
                                       std::move(router), reason);
  LeaveRuns(dtable, level, c);
  return c;
}

// The table becomes a DTable of the next level, where it overlaps nothing: the
// range that it lies in, or all that it reaches into, is cut around it.
Compaction* LwcPicker::MoveDown(int level, FileMetaData* table,
                                const char* reason) {
  const Version& v = *versions_->current();
  const Comparator* const user = comparator().user_comparator();
  const LevelCuts& cuts = Cuts(v, level + 1);
  const Slice begin = table->smallest.user_key();
  const Slice end = table->largest.user_key();
  const auto before = [user](const Slice& a, const Slice& b) {
    return user->Compare(a, b) < 0;
  };
  const auto first = std::lower_bound(cuts.begin(), cuts.end(), begin, before);
  const auto last = std::lower_bound(first, cuts.end(), end, before);
  std::unique_ptr<SegmentRouter> router = RouterTo(level + 1, 0);
  router->Empty(last - cuts.begin(), 1);  // It will be the first in its range
  Compaction* const c = NewRoutedMove(level, table, std::move(router), reason);
  for (auto cut = first; cut != last; ++cut) {
    c->edit()->RemoveCut(level + 1, *cut);
  }
  const std::vector<DTable>& dtables = DTablesOf(v, level + 1);
  const FileMetaData* nearest = nullptr;  // of those in front of the table
  for (const auto& [other, run] : dtables[first - cuts.begin()]) {
    if (before(other->largest.user_key(), begin) &&
        (nearest == nullptr ||
         before(nearest->largest.user_key(), other->largest.user_key()))) {
      nearest = other;
    }
  }
  if (nearest != nullptr) {
    c->edit()->AddCut(level + 1, nearest->largest.user_key());
  }
  for (const auto& [other, run] : dtables[last - cuts.begin()]) {
    if (!before(end, other->smallest.user_key())) continue;
    c->edit()->AddCut(level + 1, end);
    break;
  }
  return c;
}

std::string LwcPicker::Check(const Version& v) const {
  const Comparator* const user = comparator().user_comparator();
  for (int level = 1; level < config::kNumLevels; level++) {
    const LevelCuts& cuts = Cuts(v, level);
    const DTables dtables = FindDTables(v, level);
    for (const DTable& dtable : dtables.by_range) {
      for (const auto& [table, run] : dtable) {
        if (dtable.range < cuts.size() &&
            user->Compare(table->largest.user_key(), cuts[dtable.range]) > 0) {
          return "level " + std::to_string(level) + ", table " +
                 std::to_string(table->number) +
                 ": it reaches out of its DTable's range";
        }
      }
    }
  }
  return CompactionPicker::Check(v);
}

}  // namespace

const char* EngineFormat() { return "lwc"; }

void AdjustOptions(Options* options) {
  options->num_levels =
      std::min(options->num_levels, static_cast<int>(config::kNumLevels) - 1);
  options->seek_compaction = false;
  options->flush_to_l0_only = true;
  options->user_key_aligned_outputs = true;
}

CompactionPicker* NewCompactionPicker(VersionSet* versions) {
  return new LwcPicker(versions);
}

}  // namespace leveldb
