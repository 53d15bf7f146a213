#include "seams/repair.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "db/dbformat.h"
#include "db/filename.h"
#include "db/table_cache.h"
#include "db/version_edit.h"
#include "db/version_set.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "port/port.h"
#include "seams/compaction_picker.h"
#include "seams/mend_table.h"
#include "util/mutexlock.h"

namespace leveldb {

namespace {

constexpr int kOpenTables = 10;  // None is read through the table cache

// Names of the files of a database, of one type, with their numbers.
using Names = std::vector<std::pair<uint64_t, std::string>>;

Names NamesOfType(const std::vector<std::string>& children, FileType wanted) {
  Names names;
  uint64_t number;
  FileType type;
  for (const std::string& name : children) {
    if (ParseFileName(name, &number, &type) && type == wanted) {
      names.push_back({number, name});
    }
  }
  return names;
}

class TextFile : public SequentialFile {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}

  Status Read(size_t n, Slice* result, char* /*scratch*/) override {
    const size_t begin = std::min(read_, text_.size());
    *result = Slice(text_.data() + begin, std::min(n, text_.size() - begin));
    read_ = begin + result->size();
    return Status::OK();
  }
  Status Skip(uint64_t n) override {
    read_ += n;
    return Status::OK();
  }

 private:
  const std::string text_;
  size_t read_ = 0;
};

// A database that is opened in it comes as far as its lock.
class EnvWithoutLocks : public EnvWrapper {
 public:
  explicit EnvWithoutLocks(Env* base) : EnvWrapper(base) {}

  Status LockFile(const std::string& name, FileLock** lock) override {
    *lock = nullptr;
    return Status::IOError(name, "is not to be had");
  }
};

// Lets a MANIFEST be tried before CURRENT names it.
class EnvWithCurrent : public EnvWrapper {
 public:
  EnvWithCurrent(Env* base, std::string dbname)
      : EnvWrapper(base), current_(CurrentFileName(dbname)) {}

  void SetManifest(std::string name) { manifest_ = std::move(name); }

  Status NewSequentialFile(const std::string& name,
                           SequentialFile** file) override {
    if (name != current_) return target()->NewSequentialFile(name, file);
    *file = new TextFile(manifest_ + "\n");
    return Status::OK();
  }

 private:
  const std::string current_;
  std::string manifest_;
};

Status WriteSynced(Env* env, const std::string& name, const Slice& data) {
  WritableFile* opened;
  Status s = env->NewWritableFile(name, &opened);
  if (!s.ok()) return s;
  const std::unique_ptr<WritableFile> file(opened);
  s = file->Append(data);
  if (s.ok()) s = file->Sync();
  if (s.ok()) s = file->Close();
  if (!s.ok()) env->RemoveFile(name);
  return s;
}

class TreeRepairer {
 public:
  TreeRepairer(const std::string& dbname, const Options& options)
      : dbname_(dbname),
        raw_options_(options),
        comparator_(options.comparator),
        filter_policy_(options.filter_policy),
        env_(options.env, dbname),
        options_(
            SanitizeOptions(dbname, &comparator_, &filter_policy_, options)),
        tables_(dbname, options_, kOpenTables) {
    options_.env = &env_;
    options_.reuse_logs = false;  // A MANIFEST that is tried is not changed
  }
  TreeRepairer(const TreeRepairer&) = delete;
  TreeRepairer& operator=(const TreeRepairer&) = delete;

  ~TreeRepairer() {
    versions_.reset();
    if (options_.info_log != raw_options_.info_log) delete options_.info_log;
    if (options_.block_cache != raw_options_.block_cache) {
      delete options_.block_cache;
    }
  }

  // REQUIRES: "children" is what the directory has
  Status Run(const std::vector<std::string>& children, bool* lacks_manifest) {
    FileLock* lock;
    Status s = env_.LockFile(LockFileName(dbname_), &lock);
    if (!s.ok()) return s;
    s = CheckOptions();
    if (s.ok()) s = Recover(children, lacks_manifest);
    if (s.ok()) s = ReadTables();
    // First, since a table that was mended does not tell that it was damaged.
    if (s.ok()) s = SaveManifest();
    if (s.ok()) s = MendTables();
    versions_.reset();
    env_.UnlockFile(lock);
    if (!s.ok()) return s;
    DB* db = nullptr;
    s = DB::Open(OpenOptions(), dbname_, &db);
    delete db;
    return s;
  }

 private:
  // What lies in one file.
  struct File {
    std::string name;
    std::map<uint64_t, FileMetaData> tables;  // by number
    bool is_missing = false;
  };

  // The copies that the runs of a level are, and the tables that they copy.
  struct Copies {
    std::vector<std::pair<uint64_t, uint64_t>> tables;  // run, table
    std::set<uint64_t> numbers;
  };

  // Logs are replayed as far as they can be read, and not used again: one that
  // is damaged would stop a database that is paranoid.
  Options OpenOptions() const {
    Options opening = raw_options_;
    opening.create_if_missing = false;
    opening.error_if_exists = false;
    opening.paranoid_checks = false;
    opening.reuse_logs = false;
    opening.info_log = options_.info_log;
    return opening;
  }

  // A database looks at its options before it takes the lock.
  Status CheckOptions() const {
    Options opening = OpenOptions();
    EnvWithoutLocks env(opening.env);
    opening.env = &env;
    DB* db = nullptr;
    const Status s = DB::Open(opening, dbname_, &db);
    delete db;
    return s.IsInvalidArgument() ? s : Status::OK();
  }

  Status Recover(const std::vector<std::string>& children,
                 bool* lacks_manifest);
  Status Try(const std::string& manifest);
  Status CheckNothingElse() const;

  void Hold(const Version::HeldTable& held);
  Status ReadTables();
  Status Read(const File& file, std::string* bytes, bool* is_missing) const;
  bool HasDamage(const std::set<uint64_t>& tables) const;

  Status SaveManifest();
  Status MendTables();
  Status MendFile(const File& file);
  Status KeepInLost(const std::string& name, const Slice& bytes);
  void MoveToLost(const std::string& name);
  std::string FreeNameInLost(const std::string& name);

  const std::string dbname_;
  const Options& raw_options_;
  const InternalKeyComparator comparator_;
  const InternalFilterPolicy filter_policy_;
  EnvWithCurrent env_;
  Options options_;
  TableCache tables_;
  std::unique_ptr<VersionSet> versions_;
  uint64_t manifest_ = 0;  // that was recovered
  bool current_is_right_ = false;
  Names bad_manifests_;  // that were tried before the one that was recovered
  Names tables_on_disk_;

  std::map<uint64_t, File> files_;            // by number; those of copies too
  std::map<int, std::set<uint64_t>> levels_;  // the files that copies copy
  std::map<int, Copies> copies_;              // by level
  std::set<uint64_t> held_by_tree_;           // tables that are no mere copies
  std::set<uint64_t> damaged_;                // tables
};

// MANIFEST --------------------------------------------------------------------

Status TreeRepairer::Try(const std::string& manifest) {
  env_.SetManifest(manifest);
  versions_ =
      std::make_unique<VersionSet>(dbname_, &options_, &tables_, &comparator_);
  bool save_manifest = false;
  return versions_->Recover(&save_manifest);
}

// The MANIFEST that CURRENT names, else the newest that can be read.
Status TreeRepairer::Recover(const std::vector<std::string>& children,
                             bool* lacks_manifest) {
  tables_on_disk_ = NamesOfType(children, kTableFile);
  Names manifests = NamesOfType(children, kDescriptorFile);
  std::string current;
  ReadFileToString(env_.target(), CurrentFileName(dbname_), &current);
  current_is_right_ = !current.empty() && current.back() == '\n';
  if (current_is_right_) current.pop_back();
  std::sort(manifests.begin(), manifests.end(),
            [&current](const auto& a, const auto& b) {
              if ((a.second == current) != (b.second == current)) {
                return a.second == current;
              }
              return a.first > b.first;
            });
  Status first_error;
  for (const auto& manifest : manifests) {
    Status s = Try(manifest.second);
    if (s.ok() && !bad_manifests_.empty()) s = CheckNothingElse();
    if (s.ok()) {
      current_is_right_ = current_is_right_ && manifest.second == current;
      manifest_ = manifest.first;
      Log(options_.info_log, "Repair: the tree is that of %s",
          manifest.second.c_str());
      return s;
    }
    // It belongs to another engine or to other options, or may be whole.
    if (s.IsInvalidArgument() || s.IsIOError()) return s;
    if (first_error.ok()) first_error = s;
    bad_manifests_.push_back(manifest);
  }
  *lacks_manifest = true;
  return Status::NotSupported(
      dbname_, manifests.empty()
                   ? "cannot be repaired: it has no MANIFEST"
                   : "cannot be repaired: its MANIFEST cannot be read: " +
                         first_error.ToString());
}

// An older MANIFEST may have been left over, and tell of a tree that was.
Status TreeRepairer::CheckNothingElse() const {
  std::set<uint64_t> held, on_disk;
  versions_->current()->ForEachTable([&held](const Version::HeldTable& place) {
    if (!IsTrimmed(*place.table)) held.insert(place.table->file());
  });
  for (const auto& table : tables_on_disk_) on_disk.insert(table.first);
  if (held == on_disk) return Status::OK();
  return Status::Corruption("an older MANIFEST names other tables");
}

// Puts a lost CURRENT back, and gives up the copies of a level where a table of
// either is damaged: the tree has to hold what they say, and they what the tree
// has.
Status TreeRepairer::SaveManifest() {
  VersionEdit edit;
  bool gives_up = false;
  for (const auto& [level, copies] : copies_) {
    if (!HasDamage(copies.numbers) && !HasDamage(levels_[level])) continue;
    gives_up = true;
    for (const auto& [run, table] : copies.tables) {
      edit.RemoveRunTable(level, run, table);
    }
    Log(options_.info_log, "Repair: the runs of level %d are given up", level);
  }
  // First, so that a crash leaves no newer MANIFEST to be taken for the one.
  if (!current_is_right_) {
    for (const auto& manifest : bad_manifests_) MoveToLost(manifest.second);
    const Status s = SetCurrentFile(&env_, dbname_, manifest_);
    if (!s.ok()) return s;
  }
  if (!gives_up) return Status::OK();
  port::Mutex mutex;
  MutexLock lock(&mutex);
  return versions_->LogAndApply(&edit, &mutex);
}

// Tables ----------------------------------------------------------------------

void TreeRepairer::Hold(const Version::HeldTable& held) {
  const FileMetaData& table = *held.table;
  if (held.holder == Version::HeldTable::kCopiedRun) {
    Copies* const copies = &copies_[held.level];
    copies->tables.push_back({held.run, table.number});
    copies->numbers.insert(table.number);
  } else {
    held_by_tree_.insert(table.number);
    if (held.holder == Version::HeldTable::kLevel) {
      levels_[held.level].insert(table.number);
    }
  }
  if (IsTrimmed(table)) return;
  File* const file = &files_[table.file()];
  file->tables.emplace(table.number, table);
  if (!file->name.empty()) return;
  file->name = TableFileName(dbname_, table.file());
  const std::string old_name = SSTTableFileName(dbname_, table.file());
  if (!env_.FileExists(file->name) && env_.FileExists(old_name)) {
    file->name = old_name;
  }
}

Status TreeRepairer::ReadTables() {
  versions_->current()->ForEachTable(
      [this](const Version::HeldTable& held) { Hold(held); });
  std::string bytes, mended;
  for (auto& [number, file] : files_) {
    const Status s = Read(file, &bytes, &file.is_missing);
    if (!s.ok()) return s;
    for (const auto& [table_number, table] : file.tables) {
      if (table.file_size < kSmallestTable) {
        return Status::Corruption(
            file.name, "is smaller than a table, as the MANIFEST has it");
      }
      Slice of_table = bytes;
      of_table.remove_prefix(std::min<size_t>(table.offset, bytes.size()));
      const TableDamage damage =
          MendTable(comparator_, table, of_table, &mended);
      if (!damage.any()) continue;
      damaged_.insert(table_number);
      Log(options_.info_log,
          "Repair: table #%llu: %s%s%s%zu of %zu blocks lost",
          static_cast<unsigned long long>(table_number),
          file.is_missing ? "missing, "
          : damage.is_cut ? "cut, "
                          : "",
          damage.lost_index ? "index lost, " : "",
          damage.lost_filter ? "filter lost, " : "", damage.lost_blocks,
          damage.blocks);
    }
  }
  return Status::OK();
}

// One that is not there is damaged; one that cannot be read now may be whole.
Status TreeRepairer::Read(const File& file, std::string* bytes,
                          bool* is_missing) const {
  bytes->clear();
  *is_missing = !env_.target()->FileExists(file.name);
  return *is_missing ? Status::OK()
                     : ReadFileToString(env_.target(), file.name, bytes);
}

bool TreeRepairer::HasDamage(const std::set<uint64_t>& tables) const {
  return std::any_of(tables.begin(), tables.end(), [this](uint64_t number) {
    return damaged_.count(number) > 0;
  });
}

Status TreeRepairer::MendTables() {
  bool any_missing = false;
  for (const auto& [number, file] : files_) {
    bool is_damaged = false;
    for (const auto& [table, meta] : file.tables) {
      is_damaged = is_damaged || (damaged_.count(table) > 0 &&
                                  held_by_tree_.count(table) > 0);
    }
    if (!is_damaged) continue;
    any_missing = any_missing || file.is_missing;
    const Status s = MendFile(file);
    if (!s.ok()) return s;
  }
  // What is missing may be in a table that the MANIFEST does not name, if that
  // is an old one or was cut; to the database it would be obsolete.
  if (any_missing) {
    for (const auto& [number, name] : tables_on_disk_) {
      if (files_.count(number) == 0) MoveToLost(name);
    }
  }
  return Status::OK();
}

Status TreeRepairer::MendFile(const File& file) {
  std::string bytes, mended;
  bool is_missing;
  Status s = Read(file, &bytes, &is_missing);
  if (!s.ok()) return s;
  std::string whole = bytes;
  for (const auto& [number, table] : file.tables) {
    Slice of_table = bytes;
    of_table.remove_prefix(std::min<size_t>(table.offset, bytes.size()));
    if (!MendTable(comparator_, table, of_table, &mended).any()) continue;
    const size_t end = table.offset + table.file_size;
    if (whole.size() < end) whole.resize(end, '\0');
    whole.replace(table.offset, table.file_size, mended);
  }
  if (!is_missing) s = KeepInLost(file.name, bytes);
  const std::string temporary =
      TempFileName(dbname_, file.tables.begin()->second.file());
  if (s.ok()) s = WriteSynced(&env_, temporary, whole);
  if (s.ok()) s = env_.RenameFile(temporary, file.name);
  return s;
}

// lost ------------------------------------------------------------------------

// An earlier repair may have put another state of the same file there.
std::string TreeRepairer::FreeNameInLost(const std::string& name) {
  const std::string folder = dbname_ + "/lost";
  env_.CreateDir(folder);  // May exist
  const std::string in_lost =
      folder + "/" + name.substr(name.find_last_of('/') + 1);
  std::string free_name = in_lost;
  for (int i = 1; env_.FileExists(free_name); i++) {
    free_name = in_lost + "." + std::to_string(i);
  }
  return free_name;
}

Status TreeRepairer::KeepInLost(const std::string& name, const Slice& bytes) {
  return WriteSynced(&env_, FreeNameInLost(name), bytes);
}

void TreeRepairer::MoveToLost(const std::string& name) {
  const Status s = env_.RenameFile(dbname_ + "/" + name, FreeNameInLost(name));
  Log(options_.info_log, "Repair: %s goes to lost: %s", name.c_str(),
      s.ToString().c_str());
}

}  // namespace

Status RepairTree(const std::string& dbname, const Options& options,
                  bool* lacks_manifest) {
  *lacks_manifest = false;
  // First, since to look at options makes the directory, for their log.
  std::vector<std::string> children;
  Status s = options.env->GetChildren(dbname, &children);
  if (!s.ok()) return s;
  uint64_t number;
  FileType type;
  const bool has_files = std::any_of(
      children.begin(), children.end(), [&](const std::string& name) {
        return ParseFileName(name, &number, &type) && type != kInfoLogFile &&
               type != kDBLockFile;
      });
  if (!has_files) return Status::IOError(dbname, "repair found no files");
  return TreeRepairer(dbname, options).Run(children, lacks_manifest);
}

Status CheckNoTables(Env* env, const std::string& dbname) {
  std::vector<std::string> children;
  env->GetChildren(dbname, &children);  // None if there is no directory
  if (NamesOfType(children, kTableFile).empty()) return Status::OK();
  return Status::Corruption(
      dbname, "has tables, but no file CURRENT; RepairDB may bring it back");
}

}  // namespace leveldb
