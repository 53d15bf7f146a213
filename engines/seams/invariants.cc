#include <map>
#include <set>
#include <string>

#include "db/version_set.h"
#include "seams/compaction_picker.h"

namespace leveldb {

namespace {

std::string InLevel(int level, const FileMetaData& f,
                    const std::string& problem) {
  return "level " + std::to_string(level) + ", table " +
         std::to_string(f.number) + ": " + problem;
}

}  // namespace

std::string VersionSet::CheckLevels(const Version& v) const {
  const Comparator& user = *icmp_.user_comparator();
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
      if (level > 0 && before != nullptr) {
        if (icmp_.Compare(before->largest, f->smallest) >= 0) {
          return InLevel(level, *f, "it overlaps the table before it");
        }
        if (options_->user_key_aligned_outputs &&
            user.Compare(before->largest.user_key(), f->smallest.user_key()) ==
                0) {
          return InLevel(level, *f, "it shares a user key with the one before");
        }
      }
      before = f;
    }
  }
  return "";
}

std::string VersionSet::CheckVersions(bool idle) const {
  std::map<const FileMetaData*, int> holders;
  std::set<const PartList*> lists;  // which versions share
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
