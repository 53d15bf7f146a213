#ifndef RECOMPACT_ENGINES_PCP_COMPACTION_PLAN_H_
#define RECOMPACT_ENGINES_PCP_COMPACTION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "db/dbformat.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "util/arena.h"

namespace leveldb {

class Compaction;
class TableCache;
struct FileMetaData;
struct TablePart;

// A data block of an input table, with its trailer.
struct InputBlock {
  uint64_t end() const { return offset + bytes; }

  const RandomAccessFile* file;
  uint64_t offset;
  uint64_t bytes;
  Slice lower_bound;  // internal key that is before the first in the block, ...
  Slice limit;        // ... and one that is not before the last
};

// The blocks of tables that do not overlap, in the order of their keys: a
// level, a table of L0, or a part of a table (then clipped to its range).
struct InputRun {
  std::vector<InputBlock> blocks;
  const TablePart* part = nullptr;
};

// A sub-task: all entries of the inputs after the end of the sub-task before it
// and up to its own (PCP III-B).  An end may lie between versions of a user
// key, of which there can be any number.
struct Subtask {
  // Blocks [begin, end) of a run.  The first one may straddle the boundary to
  // the sub-tasks before, of which the first read it.
  struct Piece {
    size_t run;
    size_t begin, end;
    bool begins_with_known_block;
  };

  bool is_last = false;  // then it has no end
  Slice end;             // internal key, in the plan
  std::vector<Piece> pieces;
  uint64_t bytes = 0;  // to be read
};

// How a compaction is cut into sub-tasks, from the indexes of its inputs. Keeps
// the tables of the inputs open.
class CompactionPlan {
 public:
  // Sub-tasks read about "subtask_bytes", above 0.
  // REQUIRES: "compaction" and "tables" outlive the plan
  CompactionPlan(const Compaction& compaction,
                 const InternalKeyComparator& comparator, TableCache* tables,
                 uint64_t subtask_bytes);
  CompactionPlan(const CompactionPlan&) = delete;
  CompactionPlan& operator=(const CompactionPlan&) = delete;

  // Not OK if an input or its index could not be read.
  const Status& status() const { return status_; }

  const std::vector<InputRun>& runs() const { return runs_; }
  const std::vector<Subtask>& subtasks() const { return subtasks_; }

 private:
  void AddRun(const std::vector<const FileMetaData*>& tables,
              const TablePart* part);
  void AddBlocks(const FileMetaData& table, InputRun* run);
  Slice Keep(const Slice& key);
  void Cut(uint64_t subtask_bytes);
  // The run whose block at its place in "next" has the first limit.
  size_t FirstRun(const std::vector<size_t>& next) const;
  void AddSubtask(std::vector<size_t>* next, const Slice* end);

  const InternalKeyComparator& comparator_;
  TableCache* const table_cache_;
  std::vector<std::unique_ptr<Iterator>> open_tables_;
  Arena keys_;
  std::vector<InputRun> runs_;
  std::vector<Subtask> subtasks_;
  Status status_;
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_PCP_COMPACTION_PLAN_H_
