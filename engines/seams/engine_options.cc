#include "seams/engine_options.h"

#include "seams/option_fields.h"
#include "seams/options_by_name.h"

namespace recompact {

EngineOptions::EngineOptions(leveldb::Env* env) {
  options_.create_if_missing = true;
  options_.env = env;
  options_.info_log = &logger_;
}

bool EngineOptions::Set(const std::string& name, const std::string& value,
                        std::string* error) {
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

const leveldb::Options& EngineOptions::ForOpening() {
  block_cache_.reset(leveldb::NewLRUCache(block_cache_bytes_));
  options_.block_cache = block_cache_.get();
  return options_;
}

}  // namespace recompact
