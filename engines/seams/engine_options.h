#ifndef RECOMPACT_ENGINES_SEAMS_ENGINE_OPTIONS_H_
#define RECOMPACT_ENGINES_SEAMS_ENGINE_OPTIONS_H_

#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/env.h"

namespace recompact {

// Options set by name, and databases opened with them, which write no log for
// people.  There is one implementation for each family of engines (LevelDB's
// here, RocksDB's in engines/rocksdb); which one is chosen as a program is
// linked.
class EngineOptions {
 public:
  // Options of a database that is created in "env" if it is missing.
  static std::unique_ptr<EngineOptions> New(leveldb::Env* env);

  EngineOptions() = default;
  virtual ~EngineOptions() = default;
  EngineOptions(const EngineOptions&) = delete;
  EngineOptions& operator=(const EngineOptions&) = delete;

  // Sets an option by its name.  All families have block_cache_bytes (8 MiB
  // unless set) and bloom_bits_per_key (0 is no filter).  On an unknown name or
  // a value that does not parse, returns false, sets *error to one sentence
  // that names the option, and leaves the options unchanged.
  virtual bool Set(const std::string& name, const std::string& value,
                   std::string* error) = 0;

  // Opens the database at "path" with an empty block cache.
  // REQUIRES: no database of an earlier call is open
  virtual leveldb::Status Open(const std::string& path, leveldb::DB** db) = 0;

  // Repairs the database at "path", where the family's engines are ours.
  // REQUIRES: no database of an earlier call is open
  virtual leveldb::Status Repair(const std::string& path) {
    return leveldb::Status::NotSupported(path, "is not repaired by this bench");
  }
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_SEAMS_ENGINE_OPTIONS_H_
