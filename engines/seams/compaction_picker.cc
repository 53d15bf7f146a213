#include "seams/compaction_picker.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "db/table_cache.h"
#include "db/version_set.h"

namespace leveldb {

namespace {

bool OlderFirst(const FileMetaData* a, const FileMetaData* b) {
  return a->number < b->number;
}

}  // namespace

Compaction* CompactionPicker::PickRange(int level, const InternalKey* begin,
                                        const InternalKey* end) {
  Compaction* const c = versions_->CompactRange(level, begin, end);
  if (c != nullptr) {
    c->covered_ = c->input(0, c->num_input_files(0) - 1)->largest;
  }
  return c;
}

Compaction* CompactionPicker::Next() {
  const bool alternates = last_was_drain_ && NeedsCompaction();
  if (drain_.IsUrgent() || (drain_.IsDue() && !alternates)) {
    last_was_drain_ = true;
    if (Compaction* const c = drain_.Next()) return c;
  }
  last_was_drain_ = false;
  return NeedsCompaction() ? Pick() : nullptr;
}

int CompactionPicker::LastLevelWithData() const {
  int deepest = 1;
  for (int level = 2; level < config::kNumLevels; level++) {
    if (versions_->current()->OverlapInLevel(level, nullptr, nullptr)) {
      deepest = level;
    }
  }
  return LastLevelOfRange(deepest);
}

std::string CompactionPicker::Check(const Version& v) const {
  const std::string problem = versions_->CheckLevels(v);
  return problem.empty() ? versions_->CheckRuns(v) : problem;
}

const Options& CompactionPicker::options() const {
  return *versions_->options_;
}

const InternalKeyComparator& CompactionPicker::comparator() const {
  return versions_->icmp_;
}

const std::vector<FileMetaData*>& CompactionPicker::Files(const Version& v,
                                                          int level) const {
  return v.files_[level];
}

const PartList* CompactionPicker::Parts(const Version& v, int level,
                                        size_t file) const {
  return v.PartsOf(level, file);
}

uint64_t CompactionPicker::HeldBytes() const { return versions_->held_bytes_; }

uint64_t CompactionPicker::Bytes(const Version& v, int level) const {
  uint64_t bytes = 0;
  for (const FileMetaData* f : v.files_[level]) bytes += f->file_size;
  return bytes;
}

uint64_t CompactionPicker::TreeBytes() const {
  uint64_t bytes = HeldBytes();
  for (int level = 0; level < config::kNumLevels; level++) {
    bytes += versions_->NumLevelBytes(level);
  }
  return bytes;
}

bool CompactionPicker::HasDeletions() const {
  return versions_->counts().deletions_left() > 0;
}

InternalKey CompactionPicker::LastKeyOfTree() const {
  const Version& v = *versions_->current();
  Slice last;
  const auto note = [&](const Slice& user_key) {
    if (last.empty() ||
        comparator().user_comparator()->Compare(user_key, last) > 0) {
      last = user_key;
    }
  };
  for (int level = 0; level < config::kNumLevels; level++) {
    for (size_t i = 0; i < Files(v, level).size(); i++) {
      note(level == 0 ? Files(v, 0)[i]->largest.user_key()
                      : LimitOf(v, level, i));
    }
    const RunList* const runs = Runs(v, level);
    if (runs == nullptr) continue;
    for (const SortedRun& run : runs->newest_first()) {
      note(run.tables.back()->largest.user_key());
    }
  }
  return InternalKey(last, 0, static_cast<ValueType>(0));
}

const RunList* CompactionPicker::Runs(const Version& v, int level) const {
  return v.runs_[level].get();
}

const LevelCuts& CompactionPicker::Cuts(const Version& v, int level) const {
  static const auto* const kNone = new LevelCuts;
  return v.cuts_[level] == nullptr ? *kNone : *v.cuts_[level];
}

size_t CompactionPicker::CachedBlocks(const FileMetaData& table) const {
  return versions_->table_cache_->CachedBlocks(table.number);
}

double CompactionPicker::CompactionScore(const Version& v) const {
  return v.compaction_score_;
}

int CompactionPicker::CompactionLevel(const Version& v) const {
  return v.compaction_level_;
}

void CompactionPicker::SetCompaction(Version* v, int level,
                                     double score) const {
  v->compaction_level_ = level;
  v->compaction_score_ = score;
}

void CompactionPicker::ScoreBySize(Version* v) const { versions_->Finalize(v); }

size_t CompactionPicker::FindEntry(const Version& v, int level,
                                   const Slice& user_key) const {
  const InternalKey key(user_key, kMaxSequenceNumber, kValueTypeForSeek);
  return v.FindEntry(level, key.Encode());
}

Slice CompactionPicker::LimitOf(const Version& v, int level,
                                size_t file) const {
  return v.LimitOf(level, file).user_key();
}

const InternalKey& CompactionPicker::LastKey(const Version& v, int level,
                                             size_t file) const {
  return v.LimitOf(level, file);
}

Slice CompactionPicker::BeginOf(const Version& v, int level,
                                size_t file) const {
  const PartList* const parts = v.PartsOf(level, file);
  return parts == nullptr ? v.files_[level][file]->smallest.user_key()
                          : Slice(parts->range().begin);
}

void CompactionPicker::AddBoundaryFiles(
    const Version& v, int level, size_t last,
    std::vector<FileMetaData*>* files) const {
  const std::vector<FileMetaData*>& all = v.files_[level];
  while (++last < all.size() && comparator().user_comparator()->Compare(
                                    all[last]->smallest.user_key(),
                                    files->back()->largest.user_key()) == 0) {
    files->push_back(all[last]);
  }
}

bool CompactionPicker::Overlaps(Version* v, int level, const Slice& begin,
                                const Slice& end) const {
  return v->OverlapInLevel(level, &begin, &end);
}

FileMetaData* CompactionPicker::OldestOfL0(const Version& v) const {
  return *std::min_element(v.files_[0].begin(), v.files_[0].end(), OlderFirst);
}

std::vector<FileMetaData*> CompactionPicker::L0Closure(
    Version* v, FileMetaData* file) const {
  std::vector<FileMetaData*> closure;
  v->GetOverlappingInputs(0, &file->smallest, &file->largest, &closure);
  std::sort(closure.begin(), closure.end(), OlderFirst);
  return closure;
}

Slice CompactionPicker::CompactPointer(int level) const {
  return versions_->compact_pointer_[level];
}

Compaction* CompactionPicker::NewOfCurrent(int level, const char* reason) {
  auto* const c = new Compaction(&options(), level);
  c->input_version_ = versions_->current_;
  c->input_version_->Ref();
  c->set_reason(reason);
  return c;
}

Compaction* CompactionPicker::NewFrom(int level,
                                      const std::vector<FileMetaData*>& inputs,
                                      const char* reason) {
  Compaction* const c = NewOfCurrent(level, reason);
  c->inputs_[0] = inputs;
  InternalKey smallest, largest;
  versions_->GetRange(inputs, &smallest, &largest);
  versions_->compact_pointer_[level] = largest.Encode().ToString();
  c->edit_.SetCompactPointer(level, largest);
  return c;
}

Compaction* CompactionPicker::NewMoveDown(
    int level, const std::vector<FileMetaData*>& inputs, const char* reason) {
  Compaction* const c = NewFrom(level, inputs, reason);
  if (level + 2 < config::kNumLevels) {
    InternalKey smallest, largest;
    versions_->GetRange(inputs, &smallest, &largest);
    c->input_version_->GetOverlappingInputs(level + 2, &smallest, &largest,
                                            &c->grandparents_);
  }
  return c;
}

Compaction* CompactionPicker::NewMerge(int level, size_t file,
                                       const char* reason) {
  Compaction* const c = NewOfCurrent(level - 1, reason);
  const Version& v = *c->input_version_;
  c->inputs_[1].push_back(v.files_[level][file]);
  AddBoundaryFiles(v, level, file, &c->inputs_[1]);
  TakeParts(c);
  return c;
}

Compaction* CompactionPicker::NewMergeWithParts(
    int level, const std::vector<FileMetaData*>& inputs, const char* reason) {
  Compaction* const c = NewFrom(level, inputs, reason);
  const Version& v = *c->input_version_;
  TakeParts(c);  // For the range of the upper level
  InternalKey smallest, largest;
  versions_->GetRange(inputs, &smallest, &largest);
  Slice begin = smallest.user_key(), end = largest.user_key();
  if (c->parts_ != nullptr) {
    begin = c->parts_->range().begin;
    end = c->parts_->range().end;
  }
  const Comparator* const user = comparator().user_comparator();
  const std::vector<FileMetaData*>& lower = v.files_[level + 1];
  for (size_t i = FindEntry(v, level + 1, begin); i < lower.size(); i++) {
    const bool goes_on = !c->inputs_[1].empty() &&
                         user->Compare(lower[i]->smallest.user_key(),
                                       lower[i - 1]->largest.user_key()) == 0;
    if (!goes_on && user->Compare(BeginOf(v, level + 1, i), end) > 0) break;
    c->inputs_[1].push_back(lower[i]);
  }
  Cover(c, end);
  TakeParts(c);
  return c;
}

void CompactionPicker::TakeParts(Compaction* c) const {
  const Version& v = *c->input_version_;
  std::vector<FileMetaData*> files;
  std::vector<TablePart> parts;
  for (int which = 0; which < 2; which++) {
    const std::vector<FileMetaData*>& inputs = c->inputs_[which];
    files.insert(files.end(), inputs.begin(), inputs.end());
    const int level = c->level() + which;
    if (inputs.empty() || level < 1 || v.parts_[level].empty()) continue;
    size_t i = FindEntry(v, level, inputs[0]->smallest.user_key());
    for (const FileMetaData* input : inputs) {
      while (v.files_[level][i] != input) i++;
      const PartList* const of_file = v.PartsOf(level, i);
      if (of_file == nullptr) continue;
      parts.insert(parts.end(), of_file->newest_first().begin(),
                   of_file->newest_first().end());
    }
  }
  InternalKey smallest, largest;
  versions_->GetRange(files, &smallest, &largest);
  if (!parts.empty()) {
    c->parts_ =
        std::make_shared<const PartList>(versions_, files, std::move(parts));
    smallest = InternalKey(c->parts_->range().begin, kMaxSequenceNumber,
                           kValueTypeForSeek);
    largest = c->parts_->limit();
  }
  if (c->level() + 2 < config::kNumLevels) {
    c->input_version_->GetOverlappingInputs(c->level() + 2, &smallest, &largest,
                                            &c->grandparents_);
  }
}

Compaction* CompactionPicker::NewLink(int level,
                                      const std::vector<FileMetaData*>& inputs,
                                      const char* reason) {
  Compaction* const c = NewFrom(level, inputs, reason);
  c->is_link_ = true;
  for (const FileMetaData* table : inputs) c->edit_.HoldTable(*table);
  c->AddInputDeletions(&c->edit_);
  return c;
}

Compaction* CompactionPicker::NewCompaction(
    int level, const std::vector<FileMetaData*>& inputs, const char* reason) {
  Compaction* const c = NewOfCurrent(level, reason);
  c->inputs_[0] = inputs;
  versions_->SetupOtherInputs(c);
  return c;
}

Compaction* CompactionPicker::NewSwap(int level, const char* reason) {
  Compaction* const c = NewOfCurrent(level, reason);
  const Version& v = *c->input_version_;
  assert(v.files_[level + 1].empty());
  c->is_link_ = c->is_swap_ = true;
  c->inputs_[0] = v.files_[level];
  c->AddInputDeletions(&c->edit_);
  if (level == 0) {
    assert(v.runs_[1] == nullptr);
    std::sort(c->inputs_[0].begin(), c->inputs_[0].end(), OlderFirst);
    uint64_t run = 0;
    for (const FileMetaData* f : c->inputs_[0]) {
      c->edit_.AddRunTable(1, ++run, *f);
    }
    return c;
  }
  for (const FileMetaData* f : c->inputs_[0]) {
    c->edit_.AddFile(level + 1, f->number, f->file_size, f->smallest,
                     f->largest);
  }
  if (v.runs_[level] != nullptr || v.runs_[level + 1] != nullptr) {
    c->edit_.SwapRuns(level);
  }
  return c;
}

Compaction* CompactionPicker::NewRunMerge(int level,
                                          std::vector<TablePart> newest_first,
                                          uint64_t output_run,
                                          const char* reason) {
  Compaction* const c = NewOfCurrent(level, reason);
  for (TablePart& part : newest_first) {
    part.bytes = versions_->EstimateBytes(part);
  }
  c->parts_ = std::make_shared<const PartList>(
      versions_, std::vector<FileMetaData*>(), std::move(newest_first));
  c->output_run_ = output_run;
  if (output_run == 0) {
    const TablePart& range = c->parts_->range();
    const InternalKey smallest(range.begin, kMaxSequenceNumber,
                               kValueTypeForSeek);
    std::vector<FileMetaData*>& lower = c->inputs_[1];
    c->input_version_->GetOverlappingInputs(level + 1, &smallest,
                                            &c->parts_->limit(), &lower);
    // The files that the merge before this one ended with.
    while (range.excludes_begin && !lower.empty() &&
           comparator().user_comparator()->Compare(lower[0]->largest.user_key(),
                                                   range.begin) <= 0) {
      lower.erase(lower.begin());
    }
    if (!lower.empty()) {
      const std::vector<FileMetaData*>& all =
          c->input_version_->files_[level + 1];
      AddBoundaryFiles(
          *c->input_version_, level + 1,
          std::find(all.begin(), all.end(), lower.back()) - all.begin(),
          &lower);
    }
  }
  return c;
}

Compaction* CompactionPicker::NewRoutedCompaction(
    const std::vector<FileMetaData*>& inputs,
    std::unique_ptr<OutputRouter> router, const char* reason) {
  Compaction* const c = NewOfCurrent(0, reason);
  c->inputs_[0] = inputs;
  c->router_ = std::move(router);
  return c;
}

Compaction* CompactionPicker::NewRoutedMerge(
    int level, const std::vector<FileMetaData*>& newest_first, int older_level,
    std::unique_ptr<OutputRouter> router, const char* reason) {
  Compaction* const c = NewOfCurrent(level, reason);
  std::vector<TablePart> parts;
  for (FileMetaData* const table : newest_first) {
    TablePart part;
    part.begin = table->smallest.user_key().ToString();
    part.end = table->largest.user_key().ToString();
    part.bytes = table->file_size;
    part.table = table;
    parts.push_back(part);
  }
  c->parts_ = std::make_shared<const PartList>(
      versions_, std::vector<FileMetaData*>(), std::move(parts));
  c->older_level_ = older_level;
  c->router_ = std::move(router);
  return c;
}

Compaction* CompactionPicker::NewRoutedMove(
    int level, FileMetaData* table, std::unique_ptr<OutputRouter> router,
    const char* reason) {
  Compaction* const c = NewOfCurrent(level, reason);
  c->inputs_[0].push_back(table);
  c->router_ = std::move(router);
  c->is_move_ = true;
  return c;
}

void CompactionPicker::AddGrandparents(Compaction* c, int level) const {
  InternalKey smallest, largest;
  versions_->GetRange2(c->inputs_[0], c->inputs_[1], &smallest, &largest);
  std::vector<FileMetaData*> more;
  c->input_version_->GetOverlappingInputs(level, &smallest, &largest, &more);
  std::vector<FileMetaData*>& all = c->grandparents_;
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end(),
            [this](const FileMetaData* a, const FileMetaData* b) {
              return comparator().Compare(a->largest, b->largest) < 0;
            });
}

uint64_t CompactionPicker::Link(Compaction* c, FileMetaData* table,
                                const FileMetaData& file, TablePart part) {
  part.table = table;
  part.age = ++versions_->last_part_age_;
  part.bytes = versions_->EstimateBytes(part);
  c->edit_.AddPart(c->level() + 1, file.number, part);
  return part.bytes;
}

Compaction* CompactionPicker::PickRangeOfDeepest(int level,
                                                 const InternalKey* begin,
                                                 const InternalKey* end) {
  const Version& v = *versions_->current();
  if (!HasDeletions()) return nullptr;
  for (size_t i = 0; i < Files(v, level).size(); i++) {
    if (begin != nullptr &&
        comparator().Compare(LastKey(v, level, i), *begin) <= 0) {
      continue;
    }
    if (end != nullptr && comparator().user_comparator()->Compare(
                              BeginOf(v, level, i), end->user_key()) > 0) {
      break;
    }
    Compaction* const c = NewMerge(level, i, "manual");
    Cover(c, c->input(1, c->num_input_files(1) - 1)->largest.user_key());
    return c;
  }
  return nullptr;
}

void CompactionPicker::Rewrite(Compaction* c, const char* reason) const {
  c->rewrites_ = true;
  c->set_reason(reason);
}

void CompactionPicker::Cover(Compaction* c, const Slice& user_key) const {
  c->covered_ = InternalKey(user_key, 0, static_cast<ValueType>(0));
}

void CompactionPicker::CoverInputs(Compaction* c) const {
  Slice last = c->inputs_[0][0]->largest.user_key();
  for (const FileMetaData* f : c->inputs_[0]) {
    if (comparator().user_comparator()->Compare(f->largest.user_key(), last) >
        0) {
      last = f->largest.user_key();
    }
  }
  Cover(c, last);
}

}  // namespace leveldb
