#include "seams/sorted_runs.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <memory>
#include <utility>

#include "db/filename.h"
#include "db/table_cache.h"
#include "db/version_set.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/table.h"
#include "seams/compaction_picker.h"
#include "seams/statistics.h"
#include "seams/table_parts.h"
#include "util/coding.h"

namespace leveldb {

namespace {

std::atomic<uint64_t> next_list_id{1};

// Calls func for each table of each run, the newest run first.
template <typename Func>
void ForEachTable(const std::vector<SortedRun>& runs, Func func) {
  for (const SortedRun& run : runs) {
    for (FileMetaData* table : run.tables) func(table);
  }
}

}  // namespace

bool IsTrimmed(const FileMetaData& table) { return table.file_size == 0; }

SortedRun::Place SortedRun::FirstFrom(const Comparator* user_comparator,
                                      const Slice& user_key) const {
  return std::lower_bound(
      tables.begin(), tables.end(), user_key,
      [user_comparator](const FileMetaData* f, const Slice& key) {
        return user_comparator->Compare(f->largest.user_key(), key) < 0;
      });
}

bool SortedRun::Overlaps(const Comparator* user_comparator, const Slice& begin,
                         const Slice& end) const {
  const Place table = FirstFrom(user_comparator, begin);
  return table != tables.end() &&
         user_comparator->Compare((*table)->smallest.user_key(), end) <= 0;
}

// RunList ---------------------------------------------------------------------

RunList::RunList(VersionSet* versions, std::vector<SortedRun> newest_first,
                 std::optional<std::string> marker)
    : versions_(versions),
      id_(next_list_id.fetch_add(1)),
      runs_(std::move(newest_first)),
      marker_(std::move(marker)) {
  ForEachTable(runs_, [this](FileMetaData* table) {
    table->refs++;
    if (IsTrimmed(*table)) {
      has_trimmed_ = true;
    } else {
      tables_++;
      bytes_ += table->file_size;
    }
  });
}

RunList::~RunList() {
  ForEachTable(runs_, [this](FileMetaData* table) { Unref(versions_, table); });
}

void RunList::Unref(VersionSet* versions, FileMetaData* table) {
  assert(table->refs > 0);
  if (--table->refs > 0) return;
  if (IsTrimmed(*table)) {
    delete table;
  } else {
    versions->DropFile(table);
  }
}

bool RunList::HasLeft(const Comparator* user_comparator,
                      const Slice& user_key) const {
  return marker_.has_value() &&
         user_comparator->Compare(user_key, *marker_) <= 0;
}

void RunList::AddNumbers(std::set<uint64_t>* numbers) const {
  ForEachTable(runs_, [numbers](const FileMetaData* table) {
    if (!IsTrimmed(*table)) numbers->insert(table->file());
  });
}

// RunsBuilder -----------------------------------------------------------------

RunsBuilder::RunsBuilder(VersionSet* versions, const Version* base)
    : versions_(versions), base_(base) {}

RunsBuilder::~RunsBuilder() {
  for (FileMetaData* table : added_) RunList::Unref(versions_, table);
}

RunsBuilder::LevelRuns* RunsBuilder::Changed(int level) {
  const auto [place, is_new] = changed_.try_emplace(level);
  const RunList* const base = base_->runs_[level].get();
  if (is_new && base != nullptr) {
    place->second.newest_first = base->newest_first();
    place->second.marker = base->marker();
  }
  return &place->second;
}

LevelCuts* RunsBuilder::ChangedCuts(int level) {
  const auto [place, is_new] = changed_cuts_.try_emplace(level);
  const LevelCuts* const base = base_->cuts_[level].get();
  if (is_new && base != nullptr) place->second = *base;
  return &place->second;
}

void RunsBuilder::Apply(const VersionEdit& edit) {
  const Comparator* const user = versions_->icmp_.user_comparator();
  for (const auto& cut : edit.changed_cuts_) {
    LevelCuts* const cuts = ChangedCuts(cut.level);
    const auto place =
        std::lower_bound(cuts->begin(), cuts->end(), cut.user_key,
                         [user](const std::string& a, const std::string& b) {
                           return user->Compare(a, b) < 0;
                         });
    const bool is_there = place != cuts->end() && *place == cut.user_key;
    if (is_there == cut.is_new) {
      status_ = Status::Corruption("edit of a cut that makes no sense");
    } else if (cut.is_new) {
      cuts->insert(place, cut.user_key);
    } else {
      cuts->erase(place);
    }
  }
  for (const int level : edit.swapped_runs_) {
    LevelRuns* const from = Changed(level);
    *Changed(level + 1) = std::move(*from);
    *from = LevelRuns();
  }
  for (const auto& removed : edit.removed_run_tables_) {
    LevelRuns* const runs = Changed(removed.level);
    if (!runs->broken && !Remove(runs, removed.run, removed.table)) {
      Break(removed.level);
    }
  }
  for (const auto& added : edit.new_run_tables_) {
    LevelRuns* const runs = Changed(added.level);
    auto* const table = new FileMetaData(added.table);
    table->refs = 1;
    added_.push_back(table);
    if (!IsTrimmed(*table)) versions_->metadata_of_table_[table->number]++;
    if (table->container != 0) versions_->PlaceTable(*table);
    if (!runs->broken && !Add(runs, added.run, table)) Break(added.level);
  }
  for (const auto& [level, marker] : edit.run_markers_) {
    Changed(level)->marker = marker;
  }
  // The marker goes with the last table: the next runs begin anew.
  for (auto& [level, runs] : changed_) {
    if (runs.newest_first.empty()) runs.marker.reset();
  }
}

bool RunsBuilder::Remove(LevelRuns* runs, uint64_t run, uint64_t table) {
  std::vector<SortedRun>& list = runs->newest_first;
  const auto of_number =
      std::find_if(list.begin(), list.end(),
                   [run](const SortedRun& r) { return r.number == run; });
  if (of_number == list.end()) return false;
  std::vector<FileMetaData*>& tables = of_number->tables;
  const auto place = std::find_if(
      tables.begin(), tables.end(),
      [table](const FileMetaData* f) { return f->number == table; });
  if (place == tables.end()) return false;
  tables.erase(place);
  if (tables.empty()) list.erase(of_number);
  return true;
}

bool RunsBuilder::Add(LevelRuns* runs, uint64_t run,
                      FileMetaData* table) const {
  const InternalKeyComparator& icmp = versions_->icmp_;
  std::vector<SortedRun>& list = runs->newest_first;
  auto of_number =
      std::find_if(list.begin(), list.end(),
                   [run](const SortedRun& r) { return r.number <= run; });
  if (of_number == list.end() || of_number->number != run) {
    of_number = list.insert(of_number, SortedRun{run, {}});
  }
  std::vector<FileMetaData*>& tables = of_number->tables;
  const auto after =
      std::upper_bound(tables.begin(), tables.end(), table,
                       [&icmp](const FileMetaData* a, const FileMetaData* b) {
                         return icmp.Compare(a->smallest, b->smallest) < 0;
                       });
  const bool apart =
      (after == tables.begin() ||
       icmp.Compare((*(after - 1))->largest, table->smallest) < 0) &&
      (after == tables.end() ||
       icmp.Compare(table->largest, (*after)->smallest) < 0);
  tables.insert(after, table);
  return apart;
}

void RunsBuilder::Break(int level) {
  LevelRuns* const runs = Changed(level);
  *runs = LevelRuns();
  runs->broken = true;
  if (versions_->picker()->UseOfRuns(level) == kOwnRuns) {
    status_ = Status::Corruption("edit of a sorted run that is not there");
  }
}

bool RunsBuilder::LeaveOutUnreadable() {
  std::set<uint64_t> on_disk;
  bool any_runs = false, left_out = false;
  for (const auto& [level, runs] : changed_) {
    any_runs = any_runs || runs.broken || !runs.newest_first.empty();
  }
  if (!any_runs) return false;
  std::vector<std::string> names;
  versions_->env_->GetChildren(versions_->dbname_, &names);
  uint64_t number;
  FileType type;
  for (const std::string& name : names) {
    if (ParseFileName(name, &number, &type) && type == kTableFile) {
      on_disk.insert(number);
    }
  }
  for (auto& [level, runs] : changed_) {
    const RunUse use = versions_->picker()->UseOfRuns(level);
    if (use == kOwnRuns) continue;  // What is missing is told with the files
    bool readable = use == kCopiedRuns && !runs.broken;
    ForEachTable(runs.newest_first, [&](const FileMetaData* table) {
      readable =
          readable && (IsTrimmed(*table) || on_disk.count(table->number) > 0);
    });
    if (readable) continue;
    left_out = left_out || runs.broken || !runs.newest_first.empty();
    runs = LevelRuns();
  }
  return left_out;
}

void RunsBuilder::SaveTo(Version* v) {
  for (int level = 0; level < config::kNumLevels; level++) {
    const auto cuts = changed_cuts_.find(level);
    if (cuts == changed_cuts_.end()) {
      v->cuts_[level] = base_->cuts_[level];
    } else if (!cuts->second.empty()) {
      v->cuts_[level] =
          std::make_shared<const LevelCuts>(std::move(cuts->second));
    }
    const auto changed = changed_.find(level);
    if (changed == changed_.end()) {
      v->runs_[level] = base_->runs_[level];
    } else if (!changed->second.newest_first.empty()) {
      v->runs_[level] = std::make_shared<const RunList>(
          versions_, std::move(changed->second.newest_first),
          std::move(changed->second.marker));
    }
  }
}

// Tables in one file ----------------------------------------------------------

void VersionSet::PlaceTable(const FileMetaData& f) {
  tables_of_file_[f.container].insert(f.number);
  table_cache_->Place(f.number, f.container, f.offset);
}

void VersionSet::DropTable(const FileMetaData& f) {
  if (f.container != 0) {
    table_cache_->Forget(f.number);
    const auto file = tables_of_file_.find(f.container);
    file->second.erase(f.number);
    if (!file->second.empty()) return;
    tables_of_file_.erase(file);
    if (metadata_of_table_.count(f.container) > 0) return;
  } else if (tables_of_file_.count(f.number) > 0) {
    table_cache_->Evict(f.number);
    return;
  }
  obsolete_tables_.push_back(f.file());
}

// Version ---------------------------------------------------------------------

Version::AfterRuns Version::AskRuns(int level, const Slice& user_key,
                                    const Slice& internal_key, void* arg,
                                    bool (*func)(void*, int,
                                                 FileMetaData*)) const {
  const RunList* const runs = runs_[level].get();
  if (runs == nullptr) return kToFiles;
  const bool copied = vset_->picker()->UseOfRuns(level) == kCopiedRuns;
  const AfterRuns next = copied ? kToNextLevel : kToFiles;
  const Comparator* const user_comparator = vset_->icmp_.user_comparator();
  if (runs->HasLeft(user_comparator, user_key)) return next;
  std::vector<FileMetaData*> tables;
  for (const SortedRun& run : runs->newest_first()) {
    auto table = run.FirstFrom(user_comparator, user_key);
    for (;
         table != run.tables.end() &&
         user_comparator->Compare((*table)->smallest.user_key(), user_key) <= 0;
         ++table) {
      if (IsTrimmed(**table)) return kToFiles;
      tables.push_back(*table);
    }
  }
  if (copied && !tables.empty() && vset_->options_->buffer_asks_tree_filters &&
      !FilesMayHold(level, user_key, internal_key)) {
    return next;
  }
  for (FileMetaData* const table : tables) {
    if ((*func)(arg, level, table)) continue;
    if (copied) RecordTick(vset_->options_->statistics, kGetsFromBuffer, 1);
    return kNowhere;
  }
  return next;
}

bool Version::FilesMayHold(int level, const Slice& user_key,
                           const Slice& internal_key) const {
  const size_t i = FindFile(vset_->icmp_, files_[level], internal_key);
  if (i == files_[level].size()) return false;
  const FileMetaData& file = *files_[level][i];
  return vset_->icmp_.user_comparator()->Compare(
             user_key, file.smallest.user_key()) >= 0 &&
         vset_->table_cache_->KeyMayMatch(file.number, file.file_size,
                                          internal_key);
}

bool Version::HasCopiedRuns() const {
  for (int level = 1; level < config::kNumLevels; level++) {
    if (runs_[level] != nullptr &&
        vset_->picker()->UseOfRuns(level) == kCopiedRuns) {
      return true;
    }
  }
  return false;
}

const RunList* Version::OwnRuns(int level) const {
  return runs_[level] != nullptr &&
                 vset_->picker()->UseOfRuns(level) == kOwnRuns
             ? runs_[level].get()
             : nullptr;
}

size_t Version::OwnRunTables(int level) const {
  const RunList* const runs = OwnRuns(level);
  return runs == nullptr ? 0 : runs->tables();
}

uint64_t Version::OwnRunBytes(int level) const {
  const RunList* const runs = OwnRuns(level);
  return runs == nullptr ? 0 : runs->bytes();
}

uint64_t Version::OwnRunBytesBefore(int level, const InternalKey& key) const {
  const RunList* const runs = OwnRuns(level);
  if (runs == nullptr) return 0;
  uint64_t bytes = 0;
  for (const SortedRun& run : runs->newest_first()) {
    for (const FileMetaData* f : run.tables) {
      if (vset_->icmp_.Compare(f->largest, key) <= 0) {
        bytes += f->file_size;
        continue;
      }
      if (vset_->icmp_.Compare(f->smallest, key) > 0) break;
      Table* table;
      const std::unique_ptr<Iterator> iterator(vset_->table_cache_->NewIterator(
          ReadOptions(), f->number, f->file_size, &table));
      if (table != nullptr) bytes += table->ApproximateOffsetOf(key.Encode());
    }
  }
  return bytes;
}

bool Version::OwnRunsMayHold(int level, const Slice& user_key) const {
  const Comparator* const user_comparator = vset_->icmp_.user_comparator();
  for (; level < config::kNumLevels; level++) {
    const RunList* const runs = OwnRuns(level);
    if (runs == nullptr || runs->HasLeft(user_comparator, user_key)) continue;
    for (const SortedRun& run : runs->newest_first()) {
      if (run.Overlaps(user_comparator, user_key, user_key)) return true;
    }
  }
  return false;
}

bool Version::OwnRunsOverlap(int level, const Slice* smallest_user_key,
                             const Slice* largest_user_key) const {
  const RunList* const runs = OwnRuns(level);
  if (runs == nullptr) return false;
  const Comparator* const user_comparator = vset_->icmp_.user_comparator();
  for (const SortedRun& run : runs->newest_first()) {
    const Slice begin = smallest_user_key != nullptr
                            ? *smallest_user_key
                            : run.tables.front()->smallest.user_key();
    const Slice end = largest_user_key != nullptr
                          ? *largest_user_key
                          : run.tables.back()->largest.user_key();
    if (run.Overlaps(user_comparator, begin, end)) return true;
  }
  return false;
}

void Version::AddRunIterators(const ReadOptions& options,
                              std::vector<Iterator*>* iters) const {
  for (int level = 1; level < config::kNumLevels; level++) {
    const RunList* const runs = OwnRuns(level);
    if (runs == nullptr) continue;
    for (const SortedRun& run : runs->newest_first()) {
      iters->push_back(NewIteratorOverRun(options, *runs, run));
    }
  }
}

Iterator* Version::NewIteratorOverRun(const ReadOptions& options,
                                      const RunList& runs,
                                      const SortedRun& run) const {
  Iterator* const tables = NewIteratorOver(options, run.tables);
  if (!runs.marker().has_value()) return tables;
  TablePart rest;
  rest.begin = *runs.marker();
  rest.excludes_begin = true;
  rest.end = run.tables.back()->largest.user_key().ToString();
  return NewPartIterator(vset_->icmp_, rest, tables);
}

// MANIFEST --------------------------------------------------------------------

void VersionEdit::EncodeRuns(std::string* dst) const {
  for (const int level : swapped_runs_) {
    PutVarint32(dst, kSwappedRunsTag);
    PutVarint32(dst, static_cast<uint32_t>(level));
  }
  for (const RemovedRunTable& removed : removed_run_tables_) {
    PutVarint32(dst, kRemovedRunTableTag);
    PutVarint32(dst, static_cast<uint32_t>(removed.level));
    PutVarint64(dst, removed.run);
    PutVarint64(dst, removed.table);
  }
  for (const RunTable& added : new_run_tables_) {
    const bool is_placed = added.table.container != 0;
    PutVarint32(dst, is_placed ? kPlacedRunTableTag : kRunTableTag);
    PutVarint32(dst, static_cast<uint32_t>(added.level));
    PutVarint64(dst, added.run);
    PutVarint64(dst, added.table.number);
    PutVarint64(dst, added.table.file_size);
    PutLengthPrefixedSlice(dst, added.table.smallest.Encode());
    PutLengthPrefixedSlice(dst, added.table.largest.Encode());
    if (is_placed) {
      PutVarint64(dst, added.table.container);
      PutVarint64(dst, added.table.offset);
    }
  }
  for (const ChangedCut& cut : changed_cuts_) {
    PutVarint32(dst, cut.is_new ? kCutTag : kRemovedCutTag);
    PutVarint32(dst, static_cast<uint32_t>(cut.level));
    PutLengthPrefixedSlice(dst, cut.user_key);
  }
  for (const auto& [level, marker] : run_markers_) {
    PutVarint32(dst, kRunMarkerTag);
    PutVarint32(dst, static_cast<uint32_t>(level));
    PutLengthPrefixedSlice(dst, marker);
  }
}

bool VersionEdit::DecodeRuns(uint32_t tag, Slice* input) {
  uint32_t read_level;
  if (!GetVarint32(input, &read_level) || read_level == 0 ||
      read_level >= static_cast<uint32_t>(config::kNumLevels)) {
    return false;
  }
  const int level = static_cast<int>(read_level);
  if (tag == kSwappedRunsTag) {
    swapped_runs_.push_back(level);
    return level + 1 < config::kNumLevels;
  }
  if (tag == kRunMarkerTag || tag == kCutTag || tag == kRemovedCutTag) {
    Slice user_key;
    if (!GetLengthPrefixedSlice(input, &user_key)) return false;
    if (tag == kRunMarkerTag) {
      run_markers_.push_back({level, user_key.ToString()});
    } else {
      changed_cuts_.push_back({level, user_key.ToString(), tag == kCutTag});
    }
    return true;
  }
  uint64_t run;
  FileMetaData table;
  if (!GetVarint64(input, &run) || !GetVarint64(input, &table.number)) {
    return false;
  }
  if (tag == kRemovedRunTableTag) {
    removed_run_tables_.push_back({level, run, table.number});
    return true;
  }
  Slice smallest, largest;
  if (!GetVarint64(input, &table.file_size) ||
      !GetLengthPrefixedSlice(input, &smallest) ||
      !GetLengthPrefixedSlice(input, &largest) ||
      !table.smallest.DecodeFrom(smallest) ||
      !table.largest.DecodeFrom(largest) ||
      (tag == kPlacedRunTableTag && (!GetVarint64(input, &table.container) ||
                                     !GetVarint64(input, &table.offset)))) {
    return false;
  }
  new_run_tables_.push_back({level, run, table});
  return true;
}

void VersionSet::AddRuns(const Version& v, VersionEdit* edit) const {
  for (int level = 1; level < config::kNumLevels; level++) {
    if (v.cuts_[level] != nullptr) {
      for (const std::string& cut : *v.cuts_[level]) edit->AddCut(level, cut);
    }
    const RunList* const runs = v.runs_[level].get();
    if (runs == nullptr) continue;
    for (const SortedRun& run : runs->newest_first()) {
      for (const FileMetaData* table : run.tables) {
        edit->AddRunTable(level, run.number, *table);
      }
    }
    if (runs->marker().has_value()) edit->SetRunMarker(level, *runs->marker());
  }
}

}  // namespace leveldb
