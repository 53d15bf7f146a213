#ifndef RECOMPACT_ENGINES_SEAMS_TABLE_PARTS_H_
#define RECOMPACT_ENGINES_SEAMS_TABLE_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/dbformat.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

struct FileMetaData;
class TableCache;
class Version;
class VersionEdit;
class VersionSet;

// A range of user keys of a table.  The table belongs to no level: its parts
// lie in front of files of a level and hold newer versions than they do.
struct TablePart {
  bool Covers(const Comparator* user_comparator, const Slice& user_key) const;

  // The range as places between entries: what is in it is after the one and not
  // after the other.
  InternalKey Before() const;
  InternalKey Last() const;

  std::string begin;            // first user key of the range, ...
  bool excludes_begin = false;  // ... which then starts right after it
  std::string end;              // last user key of the range
  uint64_t bytes = 0;           // that it takes in the table, about
  uint64_t age = 0;             // later parts have larger ones
  FileMetaData* table = nullptr;
};

// The parts in front of one file, or those that are merged with some files.
// Versions share it.  It holds a reference to the table of each part, and so
// keeps the tables.
//
// REQUIRES: the lock of the database is held when one is made or destroyed.
class PartList {
 public:
  // "newest_first" is not empty; parts in front of no file have no "files".
  PartList(VersionSet* versions, const std::vector<FileMetaData*>& files,
           std::vector<TablePart> newest_first);
  PartList(const PartList&) = delete;
  PartList& operator=(const PartList&) = delete;
  ~PartList();

  const std::vector<TablePart>& newest_first() const { return parts_; }

  // The range that the file is responsible for: from the smallest key of its
  // own and its parts to the largest.  No other file of the level, and none of
  // its parts, may lie inside, even where it is empty.
  const TablePart& range() const { return range_; }

  // The end of that range; not before any entry of the file or a part, and not
  // after any entry of a file that goes on with the last user key.
  const InternalKey& limit() const { return limit_; }

  // Of all parts together.
  uint64_t bytes() const { return range_.bytes; }

  // Of the oldest part.
  uint64_t age() const { return range_.age; }

 private:
  VersionSet* const versions_;
  const std::vector<TablePart> parts_;
  TablePart range_;
  InternalKey limit_;
};

// Changes to the parts of a version, collected from edits.
//
// A file that leaves its level loses the parts in front of it, and a table
// without a part that is left is not kept: an edit says neither.
//
// REQUIRES: the lock of the database is held while it lives.
class PartsBuilder {
 public:
  PartsBuilder(VersionSet* versions, const Version* base);
  PartsBuilder(const PartsBuilder&) = delete;
  PartsBuilder& operator=(const PartsBuilder&) = delete;
  ~PartsBuilder();

  void Apply(const VersionEdit& edit);

  // REQUIRES: the levels of *v are complete
  void SaveTo(Version* v);

  // Corruption, if an edit names a table or a file that is not there.
  const Status& status() const { return status_; }

 private:
  using FileOfLevel = std::pair<int, uint64_t>;  // level, file number
  using SharedList = std::shared_ptr<const PartList>;

  struct Change {
    std::vector<TablePart> newest_first;
    size_t place;  // of the file in its level of the base, or kNowhere
  };
  static constexpr size_t kNowhere = SIZE_MAX;

  // Begins with what the base has in front of the file.
  Change* ChangeOf(const FileOfLevel& file);

  // Puts a list in front of file i of a level, instead of what was there.
  void Replace(std::vector<SharedList>* parts, size_t i, SharedList list);

  // Adds "by" for each part to the parts that versions_ knows of its table.
  void CountParts(const PartList& list, int by);

  VersionSet* const versions_;
  const Version* const base_;
  std::map<uint64_t, FileMetaData*> tables_;
  std::map<FileOfLevel, Change> changed_;
  std::set<FileOfLevel> added_;  // files, which have nothing in the base
  bool has_other_files_[config::kNumLevels] = {};  // than the base
  size_t last_found_ = 0;  // where ChangeOf begins to look
  Status status_;
};

// A part as an edit has it, by file numbers.
struct PartRecord {
  int level;
  uint64_t file;  // that the part lies in front of
  uint64_t table;
  TablePart part;
};

// The entries of "source", which it owns, that lie in the range of a part.
Iterator* NewPartIterator(const InternalKeyComparator& comparator,
                          const TablePart& range, Iterator* source);

// The same of the part's table.
Iterator* NewPartIterator(TableCache* tables,
                          const InternalKeyComparator& comparator,
                          const ReadOptions& options, const TablePart& part);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_TABLE_PARTS_H_
