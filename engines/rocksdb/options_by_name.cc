#include "rocksdb/options_by_name.h"

#include <cstdlib>
#include <map>
#include <unordered_map>

#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/version.h"

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

}  // namespace

bool SetOptionByName(RocksDbOptions* options, const std::string& name,
                     const std::string& value, std::string* error) {
  if (name == "block_cache_bytes") {
    char* end;
    options->block_cache_bytes = std::strtoull(value.c_str(), &end, 10);
    if (*end == '\0' && !value.empty()) return true;
    *error = "\"" + value + "\" is not a number";
    return false;
  }
  if (name == "bloom_bits_per_key") {
    const double bits = std::atof(value.c_str());
    options->table.filter_policy.reset(
        bits > 0 ? rocksdb::NewBloomFilterPolicy(bits) : nullptr);
    return true;
  }
  if (name == "compression") {
    options->options.compression = value == "snappy"
                                       ? rocksdb::kSnappyCompression
                                       : rocksdb::kNoCompression;
    return true;
  }
  const auto common = CommonNames().find(name);
  const std::string own = common == CommonNames().end() ? name : common->second;
  const std::unordered_map<std::string, std::string> setting = {{own, value}};
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  rocksdb::Options set;
  rocksdb::BlockBasedTableOptions table;
  // The name tells whose option it is: only one of the three knows it.
  rocksdb::Status s = rocksdb::GetColumnFamilyOptionsFromMap(
      config, options->options, setting, &set);
  if (s.ok()) {
    static_cast<rocksdb::ColumnFamilyOptions&>(options->options) = set;
    return true;
  }
  s = rocksdb::GetDBOptionsFromMap(config, options->options, setting, &set);
  if (s.ok()) {
    static_cast<rocksdb::DBOptions&>(options->options) = set;
    return true;
  }
  s = rocksdb::GetBlockBasedTableOptionsFromMap(config, options->table, setting,
                                                &table);
  if (s.ok()) {
    options->table = table;
    return true;
  }
  *error = "option " + name + ": RocksDB " + LibraryVersion() +
           " does not take it with the value \"" + value + "\"";
  return false;
}

}  // namespace recompact
