#ifndef RECOMPACT_ENGINES_SEAMS_BUILT_BLOCK_H_
#define RECOMPACT_ENGINES_SEAMS_BUILT_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"
#include "table/filter_block.h"

namespace leveldb {

// A data block that one builder made and that another puts into its table.
struct BuiltBlock {
  // Puts the keys into a filter.
  void AddKeysTo(FilterBlockBuilder* filter) const {
    size_t begin = 0;
    for (const size_t end : key_ends) {
      filter->AddKey(Slice(keys.data() + begin, end - begin));
      begin = end;
    }
  }

  size_t bytes = 0;  // as written, with the trailer
  uint64_t entries = 0;
  std::string first_key, last_key;  // internal keys
  std::string keys;                 // all of them, where tables have filters
  std::vector<size_t> key_ends;     // where each ends in "keys"
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_BUILT_BLOCK_H_
