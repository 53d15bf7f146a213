#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "db/version_set.h"
#include "leveldb/iterator.h"
#include "seams/compaction_picker.h"
#include "table/merger.h"

namespace leveldb {

namespace {

std::string InLevel(int level, const FileMetaData& f,
                    const std::string& problem) {
  return "level " + std::to_string(level) + ", table " +
         std::to_string(f.number) + ": " + problem;
}

std::string InRuns(int level, const std::string& problem) {
  return "runs of level " + std::to_string(level) + ": " + problem;
}

// The first rule of one list of runs that it breaks, or "".
std::string CheckList(const InternalKeyComparator& comparator,
                      const RunList& runs, RunUse use) {
  const SortedRun* newer = nullptr;
  for (const SortedRun& run : runs.newest_first()) {
    if (newer != nullptr && newer->number <= run.number) {
      return "they are not in order of age";
    }
    newer = &run;
    const FileMetaData* before = nullptr;
    for (const FileMetaData* f : run.tables) {
      if (use == kOwnRuns && IsTrimmed(*f)) return "a table is not kept";
      if (runs.HasLeft(comparator.user_comparator(), f->largest.user_key())) {
        return "a table is kept that has left";
      }
      if (before != nullptr &&
          comparator.Compare(before->largest, f->smallest) >= 0) {
        return "tables of one overlap";
      }
      before = f;
    }
  }
  return "";
}

// What is wrong with a copy, an iterator over runs, of an original, one over
// files, or "".  The copy has every entry of the original.  What else it has
// was hidden or deleted nothing when files were merged.
std::string Compare(const InternalKeyComparator& comparator, Iterator* copy,
                    Iterator* original) {
  std::string user_key;
  bool is_first = true;
  original->SeekToFirst();
  for (copy->SeekToFirst(); copy->Valid(); copy->Next()) {
    ParsedInternalKey key;
    if (!ParseInternalKey(copy->key(), &key)) return "a key makes no sense";
    const bool is_newest = is_first || comparator.user_comparator()->Compare(
                                           key.user_key, user_key) != 0;
    is_first = false;
    user_key = key.user_key.ToString();
    const int order = original->Valid()
                          ? comparator.Compare(copy->key(), original->key())
                          : -1;
    if (order > 0) break;
    if (order < 0 && is_newest && key.type != kTypeDeletion) {
      return "they have " + key.DebugString() + ", which no file has";
    }
    if (order == 0) {
      if (copy->value() != original->value()) {
        return "they have another value for " + key.DebugString();
      }
      original->Next();
    }
  }
  if (!copy->status().ok()) return copy->status().ToString();
  if (!original->status().ok()) return original->status().ToString();
  if (!original->Valid()) return "";
  InternalKey missing;
  missing.DecodeFrom(original->key());
  return "they lack " + missing.DebugString();
}

}  // namespace

std::string VersionSet::CheckLevels(const Version& v) const {
  std::set<uint64_t> numbers;
  for (int level = 0; level < config::kNumLevels; level++) {
    const FileMetaData* before = nullptr;
    for (const FileMetaData* f : v.files_[level]) {
      if (level >= options_->num_levels) {
        return InLevel(level, *f, "the tree has fewer levels");
      }
      if (!numbers.insert(f->number).second) {
        return InLevel(level, *f, "it is in the tree twice");
      }
      if (icmp_.Compare(f->smallest, f->largest) > 0) {
        return InLevel(level, *f, "its smallest key is after its largest");
      }
      if (level > 0 && before != nullptr &&
          icmp_.Compare(before->largest, f->smallest) >= 0) {
        return InLevel(level, *f, "it overlaps the table before it");
      }
      before = f;
    }
  }
  return "";
}

std::string VersionSet::CheckRuns(const Version& v) const {
  ReadOptions options;
  options.fill_cache = false;
  for (int level = 1; level < config::kNumLevels; level++) {
    const RunList* const runs = v.runs_[level].get();
    if (runs == nullptr) continue;
    const RunUse use = picker_->UseOfRuns(level);
    if (use == kNoRuns) return InRuns(level, "there should be none");
    std::string problem = CheckList(icmp_, *runs, use);
    if (problem.empty() && use == kCopiedRuns && !runs->has_trimmed()) {
      std::vector<Iterator*> of_runs;
      for (const SortedRun& run : runs->newest_first()) {
        of_runs.push_back(v.NewIteratorOverRun(options, *runs, run));
      }
      const std::unique_ptr<Iterator> copy(NewMergingIterator(
          &icmp_, of_runs.data(), static_cast<int>(of_runs.size())));
      const std::unique_ptr<Iterator> original(
          v.NewIteratorOver(options, v.files_[level]));
      problem = Compare(icmp_, copy.get(), original.get());
    }
    if (!problem.empty()) return InRuns(level, problem);
  }
  return "";
}

std::string VersionSet::CheckVersions(bool idle) const {
  std::map<const FileMetaData*, int> holders;
  std::set<const PartList*> lists;  // which versions share
  std::set<const RunList*> run_lists;
  for (const Version* v = dummy_versions_.next_; v != &dummy_versions_;
       v = v->next_) {
    const std::string problem = picker_->Check(*v);
    if (!problem.empty()) return problem;
    for (const auto& files : v->files_) {
      for (const FileMetaData* f : files) holders[f]++;
    }
    for (const auto& of_level : v->parts_) {
      for (const auto& parts : of_level) {
        if (parts == nullptr || !lists.insert(parts.get()).second) continue;
        for (const TablePart& part : parts->newest_first()) {
          holders[part.table]++;
        }
      }
    }
    for (const auto& runs : v->runs_) {
      if (runs != nullptr) run_lists.insert(runs.get());
    }
  }
  for (const RunList* runs : run_lists) {
    for (const SortedRun& run : runs->newest_first()) {
      for (const FileMetaData* f : run.tables) holders[f]++;
    }
  }
  for (const auto& [f, count] : holders) {
    if (f->refs < count || (idle && f->refs != count)) {
      return "table " + std::to_string(f->number) + ": " +
             std::to_string(f->refs) + " references, " + std::to_string(count) +
             " holders";
    }
  }
  return "";
}

}  // namespace leveldb
