#include "seams/engine_options.h"

#include <cstdarg>
#include <cstdint>

#include "leveldb/cache.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"
#include "seams/option_fields.h"
#include "seams/options_by_name.h"

namespace recompact {

namespace {

class SilentLogger : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

class LevelDbOptions : public EngineOptions {
 public:
  explicit LevelDbOptions(leveldb::Env* env) {
    options_.create_if_missing = true;
    options_.env = env;
    options_.info_log = &logger_;
  }

  // SetOptionByName() knows all options but two.
  bool Set(const std::string& name, const std::string& value,
           std::string* error) override {
    if (name != "block_cache_bytes" && name != "bloom_bits_per_key") {
      return SetOptionByName(&options_, name, value, error);
    }
    int bits = 0;
    const bool parsed = (name == "block_cache_bytes")
                            ? ParseOption(value, &block_cache_bytes_)
                            : ParseOption(value, &bits);
    if (!parsed) {
      *error = "\"" + value + "\" is not a number";
      return false;
    }
    if (bits > 0) {
      filter_policy_.reset(leveldb::NewBloomFilterPolicy(bits));
      options_.filter_policy = filter_policy_.get();
    }
    return true;
  }

  leveldb::Status Open(const std::string& path, leveldb::DB** db) override {
    block_cache_.reset(leveldb::NewLRUCache(block_cache_bytes_));
    options_.block_cache = block_cache_.get();
    return leveldb::DB::Open(options_, path, db);
  }

  leveldb::Status Repair(const std::string& path) override {
    return leveldb::RepairDB(path, options_);
  }

 private:
  SilentLogger logger_;
  leveldb::Options options_;
  uint64_t block_cache_bytes_ = 8 << 20;  // LevelDB's default
  std::unique_ptr<const leveldb::FilterPolicy> filter_policy_;
  std::unique_ptr<leveldb::Cache> block_cache_;
};

}  // namespace

std::unique_ptr<EngineOptions> EngineOptions::New(leveldb::Env* env) {
  return std::make_unique<LevelDbOptions>(env);
}

}  // namespace recompact
