#ifndef RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_
#define RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_

#include <memory>
#include <string>
#include <vector>

#include "db/dbformat.h"
#include "leveldb/options.h"
#include "leveldb/status.h"
#include "seams/deletion_drain.h"
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
  explicit CompactionPicker(VersionSet* versions)
      : versions_(versions), drain_(versions, this) {}
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

  // Records in *v which level is most in need of compaction and how much.
  // Called once for every Version, before it becomes the current one.
  virtual void Score(Version* v) = 0;

  // Returns true iff the current Version should be compacted.
  virtual bool NeedsCompaction() = 0;

  // The user begins an operation: a get, an iterator, a batch of writes.
  // Returns true iff the current Version should be looked at again.
  virtual bool Observe(UserOperation /*operation*/) { return false; }

  // Returns the next compaction, which the caller deletes, or nullptr if there
  // is nothing to do.
  virtual Compaction* Pick() = 0;

  // Returns the next step of a compaction of "level" in a range of keys from
  // after "begin" to "end", where nullptr is the first and the last key; or
  // nullptr, if there is nothing left to do.  A step says with Cover() up to
  // which key it does what there is to do, and the next one begins there; so a
  // range comes to its end however much is written meanwhile.
  virtual Compaction* PickRange(int level, const InternalKey* begin,
                                const InternalKey* end);

  // The level that CompactRange takes a range down to; "deepest" is the deepest
  // one that has data in it.
  virtual int LastLevelOfRange(int deepest) const { return deepest; }

  // What the database asks: whether there is something to compact, and what
  // comes next, which the caller deletes, or nullptr.
  bool HasWork() { return NeedsCompaction() || drain_.IsDue(); }
  Compaction* Next();

  // The first level that LastLevelOfRange() leaves alone in the whole tree.
  int LastLevelWithData() const;

  // A sentence on the first rule of the engine's tree that *v breaks, or "".
  // An engine that holds more than levels adds its own rules: what may overlap,
  // what its references name, how much space it may take.
  virtual std::string Check(const Version& v) const;

 protected:
  friend class DeletionDrain;

  // What upstream keeps private, for pickers that choose on their own.

  const Options& options() const;
  const InternalKeyComparator& comparator() const;
  const std::vector<FileMetaData*>& Files(const Version& v, int level) const;
  const PartList* Parts(const Version& v, int level, size_t file) const;
  uint64_t HeldBytes()
      const;  // of tables that the newest version holds parts of
  uint64_t Bytes(const Version& v, int level) const;  // of its files
  uint64_t TreeBytes() const;         // of all that the current version needs
  bool HasDeletions() const;          // the current version, in any table
  InternalKey LastKeyOfTree() const;  // not before any entry of it
  const RunList* Runs(const Version& v, int level) const;
  const LevelCuts& Cuts(const Version& v, int level) const;  // may be none
  size_t CachedBlocks(const FileMetaData& table) const;  // in the block cache
  double CompactionScore(const Version& v) const;
  int CompactionLevel(const Version& v) const;
  void SetCompaction(Version* v, int level, double score) const;

  // Upstream's scoring: files in L0, bytes in the other levels.
  void ScoreBySize(Version* v) const;

  // The number of the first file of "level", not 0, whose largest key, or that
  // of a part in front of it, is not before a user key.
  size_t FindEntry(const Version& v, int level, const Slice& user_key) const;

  // The last user key of a file and the parts in front of it; that as a key
  // that no entry of both comes after; and their first user key.
  Slice LimitOf(const Version& v, int level, size_t file) const;
  const InternalKey& LastKey(const Version& v, int level, size_t file) const;
  Slice BeginOf(const Version& v, int level, size_t file) const;

  // Adds to the files of a level those that go on with the last user key.
  // REQUIRES: *files is not empty, and ends with file number "last" of "level"
  void AddBoundaryFiles(const Version& v, int level, size_t last,
                        std::vector<FileMetaData*>* files) const;

  // Whether a range of user keys touches a file of "level" or a part there.
  bool Overlaps(Version* v, int level, const Slice& begin,
                const Slice& end) const;

  // REQUIRES: L0 has files
  FileMetaData* OldestOfL0(const Version& v) const;

  // All files of L0 that overlap "file", or one that does, oldest first.
  std::vector<FileMetaData*> L0Closure(Version* v, FileMetaData* file) const;

  // Where the next compaction of "level" begins, upstream's round robin.
  Slice CompactPointer(int level) const;

  // A new compaction of the current version: of "inputs" of "level", which
  // overlap nothing in the next level; of file number "file" of "level" with
  // the parts in front of it; of "inputs" of "level" with what they overlap in
  // the next one, and all parts in front of either; or of nothing but links of
  // "inputs" to the next level, see Link.
  Compaction* NewMoveDown(int level, const std::vector<FileMetaData*>& inputs,
                          const char* reason);
  Compaction* NewMerge(int level, size_t file, const char* reason);
  Compaction* NewMergeWithParts(int level,
                                const std::vector<FileMetaData*>& inputs,
                                const char* reason);
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

  // The next step of a compaction of the deepest level with itself, which drops
  // the deletions that are left there, or nullptr; see PickRange.
  Compaction* PickRangeOfDeepest(int level, const InternalKey* begin,
                                 const InternalKey* end);

  // "c" is all that a range needs up to "user_key", or up to the last one of
  // the inputs of the upper level.
  void Cover(Compaction* c, const Slice& user_key) const;
  void CoverInputs(Compaction* c) const;

  VersionSet* const versions_;

 private:
  DeletionDrain drain_;
  bool last_was_drain_ = false;

  // Has the inputs of "c" written anew, and not moved.
  void Rewrite(Compaction* c, const char* reason) const;

  // A new compaction of the current version, without inputs.
  Compaction* NewOfCurrent(int level, const char* reason);

  // Takes all parts in front of inputs of *c into it, and the files that limit
  // the size of its outputs.
  void TakeParts(Compaction* c) const;

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
