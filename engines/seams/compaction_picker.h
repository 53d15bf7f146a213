#ifndef RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_
#define RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_

#include <string>

namespace leveldb {

class Compaction;
class Version;
class VersionSet;

// A CompactionPicker chooses what to compact next; shared code carries it out.
// One picker belongs to one VersionSet and lives as long as it does.
//
// REQUIRES for every method: the lock of the database is held.
class CompactionPicker {
 public:
  explicit CompactionPicker(VersionSet* versions) : versions_(versions) {}
  CompactionPicker(const CompactionPicker&) = delete;
  CompactionPicker& operator=(const CompactionPicker&) = delete;
  virtual ~CompactionPicker() = default;

  // Records in *v which level is most in need of compaction and how much.
  // Called once for every Version, before it becomes the current one.
  virtual void Score(Version* v) const = 0;

  // Returns true iff the current Version should be compacted.
  virtual bool NeedsCompaction() const = 0;

  // Returns the next compaction, which the caller deletes, or nullptr if there
  // is nothing to do.
  virtual Compaction* Pick() = 0;

  // A sentence on the first rule of the engine's tree that *v breaks, or "".
  // An engine that holds more than levels adds its own rules: what may overlap,
  // what its references name, how much space it may take.
  virtual std::string Check(const Version& v) const;

 protected:
  // Upstream's scoring, which is private to VersionSet.
  void ScoreBySize(Version* v) const;

  VersionSet* const versions_;
};

// Returns the picker of the engine.  Defined once, in the engine's folder, and
// so chosen when the engine is linked.  The caller owns the result.
CompactionPicker* NewCompactionPicker(VersionSet* versions);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_COMPACTION_PICKER_H_
