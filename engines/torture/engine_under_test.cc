#include "torture/engine_under_test.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "nlohmann/json.hpp"
#include "seams/options_by_name.h"

namespace recompact {

using Json = nlohmann::ordered_json;

bool EngineUnderTest::Load(const std::string& path, EngineUnderTest* engine,
                           std::string* error) {
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("id") ||
      !json.contains("options") || !json.contains("option_sets") ||
      !json.contains("stock_failures")) {
    *error = path + ": not an engine; ./repro torture writes it";
    return false;
  }
  engine->id = json["id"];
  engine->options = json["options"].get<OptionMap>();
  for (const Json& set : json["option_sets"]) {
    engine->option_sets.push_back(
        {set["name"], set["options"].get<OptionMap>()});
  }
  engine->stock_failures = json["stock_failures"].get<std::set<std::string>>();
  return true;
}

Database::Database(leveldb::Env* env, std::string path)
    : path_(std::move(path)) {
  options_.create_if_missing = true;
  options_.env = env;
  options_.info_log = &logger_;
}

std::unique_ptr<Database> Database::Make(const EngineUnderTest& engine,
                                         const OptionMap& options,
                                         leveldb::Env* env,
                                         const std::string& path,
                                         std::string* error) {
  std::unique_ptr<Database> database(new Database(env, path));
  for (const OptionMap* map : {&engine.options, &options}) {
    for (const auto& [name, value] : *map) {
      if (!database->Set(name, value, error)) return nullptr;
    }
  }
  return database;
}

bool Database::Set(const std::string& name, const std::string& value,
                   std::string* error) {
  if (name == "block_cache_bytes") {
    block_cache_.reset(
        leveldb::NewLRUCache(std::strtoull(value.c_str(), nullptr, 10)));
    options_.block_cache = block_cache_.get();
  } else if (name == "bloom_bits_per_key") {
    filter_policy_.reset(
        leveldb::NewBloomFilterPolicy(std::atoi(value.c_str())));
    options_.filter_policy = filter_policy_.get();
  } else {
    return SetOptionByName(&options_, name, value, error);
  }
  return true;
}

leveldb::Status Database::Open() {
  leveldb::DB* db = nullptr;
  const leveldb::Status s = leveldb::DB::Open(options_, path_, &db);
  db_.reset(db);
  return s;
}

}  // namespace recompact
