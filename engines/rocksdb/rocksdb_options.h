#ifndef RECOMPACT_ENGINES_ROCKSDB_ROCKSDB_OPTIONS_H_
#define RECOMPACT_ENGINES_ROCKSDB_ROCKSDB_OPTIONS_H_

#include <cstdint>
#include <string>

#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace recompact {

// The options of a RocksDB database, set from text.
struct RocksDbOptions {
  rocksdb::Options options;
  rocksdb::BlockBasedTableOptions table;
  uint64_t block_cache_bytes = 8 << 20;
  std::string event_log_path;  // No log if empty
};

// Sets an option by its name: one of those that all engines have in common
// (max_file_size, level_base_bytes, fanout, bloom_bits_per_key, ...),
// event_log_path, or RocksDB's own name of an option of the database, of its
// column family or of its tables.
//
// Returns false and a sentence in *error if the library that is linked does not
// know the name or refuses the value.
bool SetOptionByName(RocksDbOptions* options, const std::string& name,
                     const std::string& value, std::string* error);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_ROCKSDB_ROCKSDB_OPTIONS_H_
