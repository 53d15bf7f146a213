#ifndef RECOMPACT_ENGINES_SEAMS_SORTED_RUNS_H_
#define RECOMPACT_ENGINES_SEAMS_SORTED_RUNS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/dbformat.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

struct FileMetaData;
class Version;
class VersionEdit;
class VersionSet;

// What the sorted runs of a level are to an engine.
enum RunUse {
  kNoRuns,      // it keeps none
  kCopiedRuns,  // what the files of the level hold, once more: only gets ask it
  kOwnRuns      // what no file holds; files of the level are older
};

// A table of 0 bytes stands for a range whose table was given up: who looks for
// a key there has to ask the files of the level.
bool IsTrimmed(const FileMetaData& table);

// The user keys that divide a level into ranges: a range ends with each of
// them, and the last range, which begins after them all, has no end.  They
// ascend.  Tables of runs do not reach from one range into another.
using LevelCuts = std::vector<std::string>;

// Decides for each table that a compaction writes where it ends and which run
// it goes to.
class OutputRouter {
 public:
  virtual ~OutputRouter() = default;

  // Whether a table with the keys so far has to end before "user_key".  Called
  // for each entry that is read, in ascending order.
  virtual bool EndsBefore(const Slice& user_key) = 0;

  // The bytes at which the table with the keys so far has to end.
  virtual uint64_t LargestTable() const = 0;

  // The table in whose file one that begins with "user_key" is to be written,
  // or 0 for a file of its own.
  virtual uint64_t ContainerFor(const Slice& user_key) = 0;

  // Adds a table that was written, or that is moved, to *edit; in key order.
  virtual void Add(const FileMetaData& table, VersionEdit* edit) = 0;
};

// Tables in key order that do not overlap.  Neighbours may share a user key,
// of which the first has the newer versions.
struct SortedRun {
  using Place = std::vector<FileMetaData*>::const_iterator;

  // The first table that does not end before a user key, or the end.
  Place FirstFrom(const Comparator* user_comparator,
                  const Slice& user_key) const;

  // Whether a table overlaps a range of user keys, from "begin" to "end".
  bool Overlaps(const Comparator* user_comparator, const Slice& begin,
                const Slice& end) const;

  uint64_t number;  // a newer run of the level has a larger one
  std::vector<FileMetaData*> tables;
};

// The sorted runs of one level, which may overlap: of two entries of a user key
// the newer run has the newer one.  Data leave a level in key order, and the
// marker tells how far they have: what is not after it is no longer there,
// whatever the tables still hold.  Without that, an older version of a key
// would come back as soon as the table with the newer one is gone.
//
// Versions share a list.  It holds a reference to each table.
//
// REQUIRES: the lock of the database is held when one is made or destroyed.
class RunList {
 public:
  // "newest_first" is not empty, and neither is one of its runs.
  RunList(VersionSet* versions, std::vector<SortedRun> newest_first,
          std::optional<std::string> marker);
  RunList(const RunList&) = delete;
  RunList& operator=(const RunList&) = delete;
  ~RunList();

  const std::vector<SortedRun>& newest_first() const { return runs_; }

  // Not 0, and no other list's in this process.
  uint64_t id() const { return id_; }

  // The last user key that has left, if one has.
  const std::optional<std::string>& marker() const { return marker_; }
  bool HasLeft(const Comparator* user_comparator, const Slice& user_key) const;

  // Of all tables that are kept.
  size_t tables() const { return tables_; }
  uint64_t bytes() const { return bytes_; }
  void AddNumbers(std::set<uint64_t>* numbers) const;

  bool has_trimmed() const { return has_trimmed_; }

 private:
  friend class RunsBuilder;

  // Gives back a reference to a table.
  static void Unref(VersionSet* versions, FileMetaData* table);

  VersionSet* const versions_;
  const uint64_t id_;
  const std::vector<SortedRun> runs_;
  const std::optional<std::string> marker_;
  size_t tables_ = 0;
  uint64_t bytes_ = 0;
  bool has_trimmed_ = false;
};

// Changes to the runs of a version, collected from edits.
//
// REQUIRES: the lock of the database is held while it lives.
class RunsBuilder {
 public:
  RunsBuilder(VersionSet* versions, const Version* base);
  RunsBuilder(const RunsBuilder&) = delete;
  RunsBuilder& operator=(const RunsBuilder&) = delete;
  ~RunsBuilder();

  void Apply(const VersionEdit& edit);

  // Leaves out the runs that the engine does not keep, and those copies of
  // which a table is missing or an edit made no sense; returns whether there
  // were any.
  bool LeaveOutUnreadable();

  // REQUIRES: it is called once
  void SaveTo(Version* v);

  // Corruption, if an edit of runs that nothing else holds made no sense.
  const Status& status() const { return status_; }

 private:
  struct LevelRuns {
    std::vector<SortedRun> newest_first;
    std::optional<std::string> marker;
    bool broken = false;
  };

  // They begin with what the base has.
  LevelRuns* Changed(int level);
  LevelCuts* ChangedCuts(int level);

  // They return whether that made sense.
  static bool Remove(LevelRuns* runs, uint64_t run, uint64_t table);
  bool Add(LevelRuns* runs, uint64_t run, FileMetaData* table) const;

  void Break(int level);

  VersionSet* const versions_;
  const Version* const base_;
  std::map<int, LevelRuns> changed_;
  std::map<int, LevelCuts> changed_cuts_;
  std::vector<FileMetaData*> added_;  // each with a reference
  Status status_;
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_SORTED_RUNS_H_
