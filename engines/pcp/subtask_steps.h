#ifndef RECOMPACT_ENGINES_PCP_SUBTASK_STEPS_H_
#define RECOMPACT_ENGINES_PCP_SUBTASK_STEPS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/dbformat.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "pcp/compaction_plan.h"
#include "seams/built_block.h"
#include "seams/entry_counts.h"

namespace leveldb {

class Compaction;

// Consecutive bytes of a file.
struct Extent {
  bool Holds(const InputBlock& block) const {
    return block.file == file && block.offset >= offset &&
           block.end() <= offset + data.size();
  }

  const RandomAccessFile* file;
  uint64_t offset;
  Slice data;  // in the buffer, or in memory of the file's
  std::unique_ptr<char[]> buffer;
};

// What step 1 makes of a sub-task: its blocks as they lie on the device.
struct RawSubtask {
  // Per piece, in the order of its blocks.
  std::vector<std::vector<std::shared_ptr<const Extent>>> extents;
};

// What steps 2 to 6 make of it: blocks as they will be written, one behind
// another.
struct BuiltSubtask {
  std::string contents;
  std::vector<BuiltBlock> blocks;
  EntryCounts dropped;
};

// The blocks that sub-tasks share, each read by the first of them.
class KnownBlocks {
 public:
  // Gives a sub-task that was read the blocks that it shares with those before.
  // REQUIRES: was called for all of those, in their order
  void Complete(const Subtask& subtask, RawSubtask* raw);

 private:
  std::map<size_t, std::shared_ptr<const Extent>> last_;  // by run
};

// Step 1: reads what is not known yet, with one request for blocks that lie
// side by side.
Status ReadSubtask(const CompactionPlan& plan, const Subtask& subtask,
                   RawSubtask* raw);

// What steps 2 to 6 need to know of a compaction.  Safe for concurrent use.
struct MergeRules {
  const Compaction& compaction;
  const CompactionPlan& plan;
  const InternalKeyComparator& comparator;
  const Options& options;  // of the tables that are written
  SequenceNumber smallest_snapshot;
};

// Steps 2 to 6: checks and decompresses the blocks, merges their entries and
// drops those that nobody can see any more, by the rules of upstream's
// DBImpl::DoCompactionWork, and builds, compresses and checksums new blocks.
// A block ends with the sub-task, and where a table of the level after next
// ends, so that an output can.  The blocks depend on nothing but the plan.
Status BuildSubtask(const MergeRules& rules, size_t number,
                    const RawSubtask& raw, BuiltSubtask* built);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_PCP_SUBTASK_STEPS_H_
