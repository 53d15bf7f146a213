#ifndef RECOMPACT_ENGINES_PCP_OUTPUT_TABLES_H_
#define RECOMPACT_ENGINES_PCP_OUTPUT_TABLES_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "db/version_edit.h"
#include "leveldb/env.h"
#include "leveldb/status.h"
#include "leveldb/table_builder.h"
#include "pcp/subtask_steps.h"

namespace leveldb {

class Compaction;
class CompactionPicker;
class CompactionRunner;

// Step 7: the blocks of sub-tasks become tables.
class OutputTables {
 public:
  // InvalidArgument, if the picker says where tables end: here that depends on
  // their size and on what they overlap.
  static Status CheckPicker(const CompactionPicker& picker);

  // A table that is not complete yet.
  class Table;

  // Blocks of a sub-task that go into one table.
  struct Chunk {
    Table* table;
    size_t subtask;  // its number
    std::shared_ptr<const BuiltSubtask> from;
    size_t begin, end;         // blocks; none, if it only completes the table
    size_t begin_byte, bytes;  // of the contents
    bool completes_table;
  };

  // REQUIRES: both outlive this
  OutputTables(CompactionRunner* runner, Compaction* compaction);
  OutputTables(const OutputTables&) = delete;
  OutputTables& operator=(const OutputTables&) = delete;
  ~OutputTables();

  // Cuts the next sub-task, the last if "is_last", where a table is large
  // enough or would overlap too much of the level after next, at a boundary of
  // blocks.  What it returns is to be written in this order, but chunks of
  // different tables may be written at the same time, by different threads.
  std::vector<Chunk> Cut(const std::shared_ptr<const BuiltSubtask>& built,
                         bool is_last);

  Status Write(const Chunk& chunk);

  // Every table whose number was taken, complete or not.
  std::vector<FileMetaData> Take() const;

 private:
  // Whether a block goes on with the last user key of the table, so that the
  // table must not end before it.
  bool GoesOn(const BuiltBlock& block) const;
  void EndTable(std::vector<Chunk>* chunks);

  CompactionRunner* const runner_;
  Compaction* const compaction_;
  std::deque<std::unique_ptr<Table>> tables_;
  Table* current_ = nullptr;    // that the next block goes into
  uint64_t current_bytes_ = 0;  // of its blocks
  size_t next_subtask_ = 0;
  bool should_end_ = false;  // before the next user key
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_PCP_OUTPUT_TABLES_H_
