#include "pcp/compaction_plan.h"

#include <cstring>

#include "db/table_cache.h"
#include "db/version_set.h"
#include "leveldb/table.h"
#include "seams/table_parts.h"
#include "table/format.h"

namespace leveldb {

CompactionPlan::CompactionPlan(const Compaction& compaction,
                               const InternalKeyComparator& comparator,
                               TableCache* tables, uint64_t subtask_bytes)
    : comparator_(comparator), table_cache_(tables) {
  if (compaction.parts() != nullptr) {
    for (const TablePart& part : compaction.parts()->newest_first()) {
      AddRun({part.table}, &part);
    }
  }
  for (int which = 0; which < 2; which++) {
    std::vector<const FileMetaData*> of_level;
    for (int i = 0; i < compaction.num_input_files(which); i++) {
      of_level.push_back(compaction.input(which, i));
      if (compaction.level() + which > 0) continue;
      AddRun(of_level, nullptr);  // Tables of L0 may overlap
      of_level.clear();
    }
    if (!of_level.empty()) AddRun(of_level, nullptr);
  }
  if (status_.ok()) Cut(subtask_bytes);
}

void CompactionPlan::AddRun(const std::vector<const FileMetaData*>& tables,
                            const TablePart* part) {
  runs_.emplace_back();
  runs_.back().part = part;
  for (const FileMetaData* table : tables) AddBlocks(*table, &runs_.back());
  if (runs_.back().blocks.empty()) runs_.pop_back();
}

void CompactionPlan::AddBlocks(const FileMetaData& table, InputRun* run) {
  if (!status_.ok()) return;
  Table* opened = nullptr;
  open_tables_.emplace_back(table_cache_->NewIterator(
      ReadOptions(), table.number, table.file_size, &opened));
  if (opened == nullptr) {
    status_ = open_tables_.back()->status();
    return;
  }
  // A limit is an entry of the run or lies between two of its entries, so none
  // goes beyond the table, which an index may do, or the part.
  InternalKey before(table.smallest.user_key(), kMaxSequenceNumber,
                     kValueTypeForSeek);
  InternalKey last = table.largest;
  if (const TablePart* const part = run->part) {
    if (comparator_.Compare(part->Before(), before) > 0) {
      before = part->Before();
    }
    if (comparator_.Compare(part->Last(), last) < 0) last = part->Last();
  }
  Slice lower_bound = Keep(before.Encode());
  const Slice end = Keep(last.Encode());
  const std::unique_ptr<Iterator> index(opened->NewIndexIterator());
  for (index->Seek(before.Encode()); index->Valid(); index->Next()) {
    if (comparator_.Compare(lower_bound, end) >= 0) return;
    BlockHandle handle;
    Slice encoded = index->value();
    status_ = handle.DecodeFrom(&encoded);
    if (!status_.ok()) return;
    const bool is_beyond = comparator_.Compare(index->key(), end) > 0;
    const Slice limit = is_beyond ? end : Keep(index->key());
    run->blocks.push_back({opened->file(), handle.offset(),
                           handle.size() + kBlockTrailerSize, lower_bound,
                           limit});
    lower_bound = limit;
  }
  status_ = index->status();
}

Slice CompactionPlan::Keep(const Slice& key) {
  if (key.empty()) return Slice();
  char* const copy = keys_.Allocate(key.size());
  std::memcpy(copy, key.data(), key.size());
  return Slice(copy, key.size());
}

size_t CompactionPlan::FirstRun(const std::vector<size_t>& next) const {
  size_t first = runs_.size();
  for (size_t run = 0; run < runs_.size(); run++) {
    if (next[run] == runs_[run].blocks.size()) continue;
    if (first == runs_.size() ||
        comparator_.Compare(runs_[run].blocks[next[run]].limit,
                            runs_[first].blocks[next[first]].limit) < 0) {
      first = run;
    }
  }
  return first;
}

void CompactionPlan::Cut(uint64_t subtask_bytes) {
  // Blocks are taken in the order of their limits; once there are enough, the
  // limit of the last one is the boundary.
  std::vector<size_t> next(runs_.size(), 0), begin = next;
  uint64_t bytes = 0;
  for (size_t run; (run = FirstRun(next)) < runs_.size();) {
    const InputBlock& block = runs_[run].blocks[next[run]++];
    bytes += block.bytes;
    if (bytes < subtask_bytes) continue;
    if (FirstRun(next) == runs_.size()) break;  // The rest is the last one
    AddSubtask(&begin, &block.limit);
    next = begin;
    bytes = 0;
  }
  AddSubtask(&begin, nullptr);
}

void CompactionPlan::AddSubtask(std::vector<size_t>* next, const Slice* end) {
  const bool is_first = subtasks_.empty();
  subtasks_.emplace_back();
  Subtask& subtask = subtasks_.back();
  subtask.is_last = (end == nullptr);
  if (end != nullptr) subtask.end = *end;
  for (size_t run = 0; run < runs_.size(); run++) {
    const std::vector<InputBlock>& blocks = runs_[run].blocks;
    Subtask::Piece piece;
    piece.run = run;
    piece.begin = piece.end = (*next)[run];
    // A block that the sub-task before had to read, too, is known.
    piece.begins_with_known_block =
        !is_first && piece.begin < blocks.size() &&
        comparator_.Compare(blocks[piece.begin].lower_bound,
                            subtasks_[subtasks_.size() - 2].end) < 0;
    while (piece.end < blocks.size() &&
           (end == nullptr ||
            comparator_.Compare(blocks[piece.end].limit, *end) <= 0)) {
      piece.end++;
    }
    (*next)[run] = piece.end;
    // The next block may hold keys on both sides of the boundary.
    if (piece.end < blocks.size() &&
        comparator_.Compare(blocks[piece.end].lower_bound, *end) < 0) {
      piece.end++;
    }
    if (piece.begin == piece.end) continue;
    for (size_t i = piece.begin + piece.begins_with_known_block; i < piece.end;
         i++) {
      subtask.bytes += blocks[i].bytes;
    }
    subtask.pieces.push_back(piece);
  }
}

}  // namespace leveldb
