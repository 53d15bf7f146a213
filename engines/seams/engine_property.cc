#include <algorithm>
#include <functional>
#include <vector>

#include "db/db_impl.h"
#include "db/filename.h"
#include "db/version_set.h"
#include "seams/compaction_picker.h"
#include "seams/statistics.h"
#include "seams/tree_format.h"

namespace leveldb {

std::vector<Version*> VersionSet::NewestFirst() {
  std::vector<Version*> versions;
  for (Version* v = dummy_versions_.prev_; v != &dummy_versions_;
       v = v->prev_) {
    v->Ref();
    versions.push_back(v);
  }
  return versions;
}

void Version::ForEachTable(
    const std::function<void(const HeldTable&)>& func) const {
  for (int level = 0; level < config::kNumLevels; level++) {
    for (const FileMetaData* f : files_[level]) {
      func({f, HeldTable::kLevel, level, 0});
    }
    for (const auto& parts : parts_[level]) {
      if (parts == nullptr) continue;
      for (const TablePart& part : parts->newest_first()) {
        func({part.table, HeldTable::kPart, level, 0});
      }
    }
    const RunList* const runs = runs_[level].get();
    if (runs == nullptr) continue;
    const HeldTable::Holder holder =
        OwnRuns(level) == nullptr ? HeldTable::kCopiedRun : HeldTable::kOwnRun;
    for (const SortedRun& run : runs->newest_first()) {
      for (const FileMetaData* f : run.tables) {
        func({f, holder, level, run.number});
      }
    }
  }
}

VersionSet::TableBytes VersionSet::CountTableBytes(
    const std::vector<Version*>& newest_first, std::set<uint64_t>* files) {
  TableBytes sum;
  std::set<uint64_t> tables;
  const auto is_new = [&tables, files](const FileMetaData& table) {
    files->insert(table.file());
    return tables.insert(table.number).second;
  };
  for (const Version* v : newest_first) {
    // What the newest, the current one, does not hold is pinned.
    const bool is_current = v == newest_first.front();
    uint64_t* bytes = is_current ? &sum.live : &sum.pinned;
    v->ForEachTable([&](const Version::HeldTable& held) {
      if (IsTrimmed(*held.table) || !is_new(*held.table)) return;
      *bytes += held.table->file_size;
      if (is_current && held.holder == Version::HeldTable::kPart) {
        sum.frozen += held.table->file_size;
      }
    });
    if (!is_current) continue;
    for (int level = 0; level < config::kNumLevels; level++) {
      for (const auto& parts : v->parts_[level]) {
        if (parts != nullptr) sum.in_parts += parts->bytes();
      }
      const RunList* const runs = v->runs_[level].get();
      if (runs == nullptr || v->OwnRuns(level) != nullptr) continue;
      sum.buffer += runs->bytes();
      sum.buffer_tables += runs->tables();
    }
  }
  return sum;
}

namespace {

// Sums what "dbname" has beside "known_bytes" of tables in the files "known":
// tables that a flush or compaction is writing ("pending"), and what nothing
// refers to and waits for deletion: files, and parts of those that are known.
void CountOtherTableBytes(Env* env, const std::string& dbname,
                          const std::set<uint64_t>& known, uint64_t known_bytes,
                          const std::set<uint64_t>& pending,
                          uint64_t* pending_bytes, uint64_t* obsolete_bytes) {
  *pending_bytes = *obsolete_bytes = 0;
  uint64_t in_known_files = 0;
  // What was begun after the two sets were taken is pending too.
  uint64_t newest = 0;
  if (!known.empty()) newest = *known.rbegin();
  if (!pending.empty()) newest = std::max(newest, *pending.rbegin());
  std::vector<std::string> names;
  env->GetChildren(dbname, &names);  // None on error: the directory is gone
  uint64_t number, size;
  FileType type;
  for (const std::string& name : names) {
    if (ParseFileName(name, &number, &type) && type == kTableFile &&
        env->GetFileSize(dbname + "/" + name, &size).ok()) {
      const bool being_written = pending.count(number) > 0 || number > newest;
      *(known.count(number) > 0 ? &in_known_files
        : being_written         ? pending_bytes
                                : obsolete_bytes) += size;
    }
  }
  // Less if the last of them went away meanwhile.
  if (in_known_files > known_bytes) {
    *obsolete_bytes += in_known_files - known_bytes;
  }
}

}  // namespace

bool DBImpl::EngineProperty(const Slice& property, std::string* value) {
  // Time alone can have made work, and nobody may be reading or writing.
  MaybeScheduleCompaction();
  const bool idle = imm_ == nullptr && !background_compaction_scheduled_ &&
                    !versions_->picker()->HasWork();
  const auto count_tables = [this](std::set<uint64_t>* files) {
    const std::vector<Version*> versions = versions_->NewestFirst();
    mutex_.Unlock();  // Do not hold up writers: there are thousands of tables
    const VersionSet::TableBytes sum =
        VersionSet::CountTableBytes(versions, files);
    mutex_.Lock();
    for (Version* v : versions) v->Unref();
    return sum;
  };
  if (property == "recompact.idle") {
    *value = idle ? "1" : "0";
    return true;
  }
  if (property == "recompact.check") {
    *value = versions_->CheckVersions(idle);
    return true;
  }
  if (property == "recompact.tables") {
    std::set<uint64_t> files;
    count_tables(&files);
    *value = std::to_string(files.size());
    return true;
  }
  if (property == "recompact.format") {
    *value = TreeFormat(options_);
    return true;
  }
  if (property == "recompact.stats") {
    *value = "{" + statistics_->TickersAsJson() + ", \"levels\": [";
    for (int level = 0; level < options_.num_levels; level++) {
      *value +=
          std::string(level > 0 ? ", " : "") + "{" +
          statistics_->LevelAsJson(level) +
          ", \"files\": " + std::to_string(versions_->NumLevelFiles(level)) +
          ", \"bytes\": " + std::to_string(versions_->NumLevelBytes(level)) +
          "}";
    }
    *value += "]}";
    return true;
  }
  if (property == "recompact.space") {
    uint64_t pending_bytes, obsolete_bytes;
    std::set<uint64_t> files;
    const VersionSet::TableBytes sum = count_tables(&files);
    const std::set<uint64_t> pending = pending_outputs_;
    const EntryCounts counts = versions_->counts();
    mutex_.Unlock();  // Do not hold up writers while the directory is read
    CountOtherTableBytes(env_, dbname_, files, sum.live + sum.pinned, pending,
                         &pending_bytes, &obsolete_bytes);
    mutex_.Lock();
    *value = "{\"live_bytes\": " + std::to_string(sum.live) +
             ", \"frozen_bytes\": " + std::to_string(sum.frozen) +
             ", \"slice_bytes\": " + std::to_string(sum.in_parts) +
             ", \"buffer_bytes\": " + std::to_string(sum.buffer) +
             ", \"buffer_tables\": " + std::to_string(sum.buffer_tables) +
             ", \"pinned_bytes\": " + std::to_string(sum.pinned) +
             ", \"pending_bytes\": " + std::to_string(pending_bytes) +
             ", \"obsolete_bytes\": " + std::to_string(obsolete_bytes) +
             ", \"entries\": " + std::to_string(counts.entries_left()) +
             ", \"deletions\": " + std::to_string(counts.deletions_left()) +
             "}";
    return true;
  }
  return false;
}

}  // namespace leveldb
