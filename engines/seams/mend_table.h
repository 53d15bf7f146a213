#ifndef RECOMPACT_ENGINES_SEAMS_MEND_TABLE_H_
#define RECOMPACT_ENGINES_SEAMS_MEND_TABLE_H_

#include <cstddef>
#include <string>

#include "db/dbformat.h"
#include "leveldb/slice.h"

namespace leveldb {

struct FileMetaData;

// What can be read of a table.
struct TableDamage {
  bool any() const {
    return is_cut || lost_blocks > 0 || lost_index || lost_filter;
  }

  bool is_cut = false;      // bytes are missing at its end
  bool lost_index = false;  // or the footer: no block can be found
  bool lost_filter = false;
  size_t blocks = 0;       // that the index has
  size_t lost_blocks = 0;  // of those
};

// Reads a table, of which "bytes" is there, wholly and with checksums.  What is
// wrong with it is told; and *mended becomes a table of the same size, in the
// place of the old one, that can be read: the same bytes, but for an index that
// names only the blocks that can be read, and a filter only if that one can.
//
// A block with a key outside of the range of the table, or not in order, is
// another table's, and counts as one that cannot be read.
//
// REQUIRES: table.file_size is at least kSmallestTable
TableDamage MendTable(const InternalKeyComparator& comparator,
                      const FileMetaData& table, const Slice& bytes,
                      std::string* mended);

// The bytes of a table without entries.
constexpr size_t kSmallestTable = 74;

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_MEND_TABLE_H_
