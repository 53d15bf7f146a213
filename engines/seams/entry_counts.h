#ifndef RECOMPACT_ENGINES_SEAMS_ENTRY_COUNTS_H_
#define RECOMPACT_ENGINES_SEAMS_ENTRY_COUNTS_H_

#include <cstdint>
#include <string>

#include "leveldb/slice.h"
#include "util/coding.h"

namespace leveldb {

// Entries that came into the tables of a tree, or were dropped in a merge, and
// how many of them were deletions.  A MANIFEST has those of each edit.
struct EntryCounts {
  void Add(const EntryCounts& other) {
    entries += other.entries;
    deletions += other.deletions;
    dropped_entries += other.dropped_entries;
    dropped_deletions += other.dropped_deletions;
  }
  void Drop(bool is_deletion) {
    dropped_entries++;
    dropped_deletions += is_deletion ? 1 : 0;
  }

  // What is left in the tables.
  uint64_t entries_left() const { return Difference(entries, dropped_entries); }
  uint64_t deletions_left() const {
    return Difference(deletions, dropped_deletions);
  }

  bool is_zero() const {
    return (entries | deletions | dropped_entries | dropped_deletions) == 0;
  }
  void AppendTo(std::string* dst) const {
    PutVarint64(dst, entries);
    PutVarint64(dst, deletions);
    PutVarint64(dst, dropped_entries);
    PutVarint64(dst, dropped_deletions);
  }
  bool DecodeFrom(Slice* input) {
    return GetVarint64(input, &entries) && GetVarint64(input, &deletions) &&
           GetVarint64(input, &dropped_entries) &&
           GetVarint64(input, &dropped_deletions);
  }

  uint64_t entries = 0;
  uint64_t deletions = 0;
  uint64_t dropped_entries = 0;
  uint64_t dropped_deletions = 0;

 private:
  static uint64_t Difference(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
  }
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_ENTRY_COUNTS_H_
