#ifndef RECOMPACT_ENGINES_SEAMS_ENGINE_OPTIONS_H_
#define RECOMPACT_ENGINES_SEAMS_ENGINE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"

namespace recompact {

// Options set by name, with the block cache and the filter policy that they
// point to.  Databases opened with them write no log for people.
class EngineOptions {
 public:
  // Options of a database that is created in "env" if it is missing.
  explicit EngineOptions(leveldb::Env* env);
  EngineOptions(const EngineOptions&) = delete;
  EngineOptions& operator=(const EngineOptions&) = delete;

  // As SetOptionByName(), which knows all options but two: block_cache_bytes
  // (8 MiB unless set) and bloom_bits_per_key (0 is no filter).
  bool Set(const std::string& name, const std::string& value,
           std::string* error);

  // The options, with an empty block cache, for one opening of a database.
  // REQUIRES: no database of an earlier call is open
  const leveldb::Options& ForOpening();

  leveldb::Options* mutable_options() { return &options_; }

 private:
  class SilentLogger : public leveldb::Logger {
   public:
    void Logv(const char*, std::va_list) override {}
  };

  SilentLogger logger_;
  leveldb::Options options_;
  uint64_t block_cache_bytes_ = 8 << 20;  // LevelDB's default
  std::unique_ptr<const leveldb::FilterPolicy> filter_policy_;
  std::unique_ptr<leveldb::Cache> block_cache_;
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_SEAMS_ENGINE_OPTIONS_H_
