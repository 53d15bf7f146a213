#include "rocksdb/rocksdb_options.h"

#include <charconv>
#include <map>
#include <memory>
#include <unordered_map>

#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/rocksdb_db.h"
#include "rocksdb/version.h"
#include "seams/engine_options.h"

namespace recompact {

namespace {

// What the engines have in common, by RocksDB's names.
const std::map<std::string, std::string>& CommonNames() {
  static const auto* const names = new std::map<std::string, std::string>{
      {"fanout", "max_bytes_for_level_multiplier"},
      {"l0_compaction_trigger", "level0_file_num_compaction_trigger"},
      {"l0_slowdown_trigger", "level0_slowdown_writes_trigger"},
      {"l0_stop_trigger", "level0_stop_writes_trigger"},
      {"level_base_bytes", "max_bytes_for_level_base"},
      {"max_file_size", "target_file_size_base"},
  };
  return *names;
}

std::string LibraryVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) +
         "." + std::to_string(ROCKSDB_PATCH);
}

bool ParseNumber(const std::string& text, uint64_t* number) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

class Options : public EngineOptions {
 public:
  explicit Options(leveldb::Env* env) : env_(env) {
    options_.options.create_if_missing = true;
  }

  bool Set(const std::string& name, const std::string& value,
           std::string* error) override {
    return SetOptionByName(&options_, name, value, error);
  }

  leveldb::Status Open(const std::string& path, leveldb::DB** db) override {
    return RocksDb::Open(options_, env_, path, db);
  }

 private:
  leveldb::Env* const env_;
  RocksDbOptions options_;
};

}  // namespace

bool SetOptionByName(RocksDbOptions* options, const std::string& name,
                     const std::string& value, std::string* error) {
  uint64_t number = 0;
  if (name == "event_log_path") {
    options->event_log_path = value;
    return true;
  }
  if (name == "block_cache_bytes" || name == "bloom_bits_per_key") {
    if (!ParseNumber(value, &number)) {
      *error = "\"" + value + "\" is not a number";
      return false;
    }
    if (name == "block_cache_bytes") {
      options->block_cache_bytes = number;
    } else {
      options->table.filter_policy.reset(
          number > 0 ? rocksdb::NewBloomFilterPolicy(number) : nullptr);
    }
    return true;
  }
  std::unordered_map<std::string, std::string> setting = {{name, value}};
  const auto common = CommonNames().find(name);
  if (common != CommonNames().end()) setting = {{common->second, value}};
  if (name == "compression") {
    setting[name] = value == "snappy" ? "kSnappyCompression" : "kNoCompression";
  }
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  // The name tells whose option it is: only one of the three knows it.
  rocksdb::ColumnFamilyOptions family;
  if (rocksdb::GetColumnFamilyOptionsFromMap(config, options->options, setting,
                                             &family)
          .ok()) {
    static_cast<rocksdb::ColumnFamilyOptions&>(options->options) = family;
    return true;
  }
  rocksdb::DBOptions database;
  if (rocksdb::GetDBOptionsFromMap(config, options->options, setting, &database)
          .ok()) {
    static_cast<rocksdb::DBOptions&>(options->options) = database;
    return true;
  }
  rocksdb::BlockBasedTableOptions table;
  if (rocksdb::GetBlockBasedTableOptionsFromMap(config, options->table, setting,
                                                &table)
          .ok()) {
    options->table = table;
    return true;
  }
  *error = "RocksDB " + LibraryVersion() + " does not take \"" + value +
           "\" for " + setting.begin()->first;
  return false;
}

std::unique_ptr<EngineOptions> EngineOptions::New(leveldb::Env* env) {
  return std::make_unique<Options>(env);
}

}  // namespace recompact
