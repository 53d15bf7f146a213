#ifndef RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_
#define RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_

#include <memory>
#include <string>
#include <vector>

#include "db/dbformat.h"
#include "leveldb/options.h"
#include "leveldb/status.h"
#include "seams/sorted_runs.h"
#include "seams/table_parts.h"

namespace leveldb {

class Compaction;
class Version;
class VersionSet;

enum UserOperation { kReadOperation, kWriteOperation };

// A CompactionPicker chooses what to compact next; shared code carries it out.
// One picker belongs to one VersionSet and lives as long as it does.
//
// REQUIRES for every method but UseOfRuns: the lock of the database is held.
class CompactionPicker {
 public:
  explicit CompactionPicker(VersionSet* versions) : versions_(versions) {}
  CompactionPicker(const CompactionPicker&) = delete;
  CompactionPicker& operator=(const CompactionPicker&) = delete;
  virtual ~CompactionPicker() = default;

  // InvalidArgument, if the options ask for what the engine cannot do.
  virtual Status CheckOptions() const { return Status::OK(); }

  // What the sorted runs of "level" are to the engine; always the same.
  virtual RunUse UseOfRuns(int /*level*/) const { return kNoRuns; }

  // InvalidArgument, if the options do not fit what was recovered.
  virtual Status CheckRecovered(const Version& /*v*/) const {
    return Status::OK();
  }

  // Records in *v which level is most in need of compaction and how much, and
  // which file should be merged with its parts, if one should.  Called once for
  // every Version, before it becomes the current one.
  virtual void Score(Version* v) = 0;

  // Returns true iff the current Version should be compacted.
  virtual bool NeedsCompaction() const = 0;

  // The user begins an operation: a get, an iterator, a batch of writes.
  // Returns true iff the current Version should be looked at again.
  virtual bool Observe(UserOperation /*operation*/) { return false; }

  // Returns the next compaction, which the caller deletes, or nullptr if there
  // is nothing to do.
  virtual Compaction* Pick() = 0;

  // Returns the next compaction of the files of "level" in a range of keys, as
  // VersionSet::CompactRange does.  It may first return what must be merged
  // before it, which is of another level then, or has no input.
  virtual Compaction* PickRange(int level, const InternalKey* begin,
                                const InternalKey* end);

  // The level that CompactRange takes a range down to; "deepest" is the deepest
  // one that has files in it.
  virtual int LastLevelOfRange(int deepest) const { return deepest; }

  // A sentence on the first rule of the engine's tree that *v breaks, or "".
  // An engine that holds more than levels adds its own rules: what may overlap,
  // what its references name, how much space it may take.
  virtual std::string Check(const Version& v) const;

 protected:
  // What upstream keeps private, for pickers that choose on their own.

  const Options& options() const;
  const InternalKeyComparator& comparator() const;
  const std::vector<FileMetaData*>& Files(const Version& v, int level) const;
  const PartList* Parts(const Version& v, int level, size_t file) const;
  uint64_t HeldBytes()
      const;  // of tables that the newest version holds parts of
  uint64_t Bytes(const Version& v, int level) const;  // of its files
  const RunList* Runs(const Version& v, int level) const;
  const LevelCuts& Cuts(const Version& v, int level) const;  // may be none
  size_t CachedBlocks(const FileMetaData& table) const;  // in the block cache
  double CompactionScore(const Version& v) const;
  int CompactionLevel(const Version& v) const;
  void SetCompaction(Version* v, int level, double score) const;
  FileMetaData* FileToMerge(const Version& v, int* level) const;
  void SetFileToMerge(Version* v, int level, size_t file) const;

  // Upstream's scoring: files in L0, bytes in the other levels.
  void ScoreBySize(Version* v) const;

  // The number of the first file of "level", not 0, whose largest key, or that
  // of a part in front of it, is not before a user key.
  size_t FindEntry(const Version& v, int level, const Slice& user_key) const;

  // The last user key of a file and the parts in front of it.
  Slice LimitOf(const Version& v, int level, size_t file) const;

  // Whether a range of user keys touches a file of "level" or a part there.
  bool Overlaps(Version* v, int level, const Slice& begin,
                const Slice& end) const;

  // All files of L0 that overlap "file", or one that does, oldest first.
  std::vector<FileMetaData*> L0Closure(Version* v, FileMetaData* file) const;

  // Where the next compaction of "level" begins, upstream's round robin.
  Slice CompactPointer(int level) const;

  // A new compaction of the current version: of "inputs" of "level", which
  // overlap nothing in the next level; of file number "file" of "level" with
  // the parts in front of it; or of nothing but links of "inputs" to the next
  // level, see Link.
  Compaction* NewMoveDown(int level, const std::vector<FileMetaData*>& inputs,
                          const char* reason);
  Compaction* NewMerge(int level, size_t file, const char* reason);
  Compaction* NewLink(int level, const std::vector<FileMetaData*>& inputs,
                      const char* reason);

  // A new compaction of "inputs" of "level" with what overlaps them in the next
  // level, and more of "level" where that adds nothing there.
  Compaction* NewCompaction(int level, const std::vector<FileMetaData*>& inputs,
                            const char* reason);

  // A new compaction that only puts all files of "level", and its runs, into
  // the next one; files of L0, which overlap, become runs there.
  // REQUIRES: the next level has no files
  Compaction* NewSwap(int level, const char* reason);

  // A new compaction of parts of tables in the runs of "level", newest first,
  // which need their ranges and tables only: into run "output_run" of the next
  // level, or with what they overlap there into its files, if that is 0.
  Compaction* NewRunMerge(int level, std::vector<TablePart> newest_first,
                          uint64_t output_run, const char* reason);

  // New compactions into runs of "level" + 1 that "router" chooses: of files of
  // L0; of whole tables in the runs of "level" or of "level" + 1, newest first,
  // that nothing in a level before "older_level" is older than; and of one
  // table, which is moved.  The caller takes tables of runs out by edit().
  Compaction* NewRoutedCompaction(const std::vector<FileMetaData*>& inputs,
                                  std::unique_ptr<OutputRouter> router,
                                  const char* reason);
  Compaction* NewRoutedMerge(int level,
                             const std::vector<FileMetaData*>& newest_first,
                             int older_level,
                             std::unique_ptr<OutputRouter> router,
                             const char* reason);
  Compaction* NewRoutedMove(int level, FileMetaData* table,
                            std::unique_ptr<OutputRouter> router,
                            const char* reason);

  // Makes outputs of "c" end where they overlap much of "level", too.
  void AddGrandparents(Compaction* c, int level) const;

  // Adds to a link compaction that a part of "table", its input, lies in front
  // of "file" of the next level.  "part" needs its range only.  Returns the
  // bytes that the part takes in the table, about.
  uint64_t Link(Compaction* c, FileMetaData* table, const FileMetaData& file,
                TablePart part);

  // Of the input files of a compaction, the first that the parts of another
  // file get in the way of: a file of an input level whose parts overlap the
  // range of the inputs.  Returns false if there is none.
  bool FindPartsInTheWay(Compaction* c, int* level, size_t* file) const;

  VersionSet* const versions_;

 private:
  // A new compaction of the current version, without inputs.
  Compaction* NewOfCurrent(int level, const char* reason);

  // A new compaction of "inputs", after which round robin goes on behind them.
  Compaction* NewFrom(int level, const std::vector<FileMetaData*>& inputs,
                      const char* reason);
};

// Sets the options that the engine cannot do without, those of every database
// that is opened.  Defined once, in the engine's folder.
void AdjustOptions(Options* options);

// Returns the picker of the engine.  Defined once, in the engine's folder, and
// so chosen when the engine is linked.  The caller owns the result.
CompactionPicker* NewCompactionPicker(VersionSet* versions);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_
