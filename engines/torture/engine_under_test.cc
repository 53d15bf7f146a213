#include "torture/engine_under_test.h"

#include <fstream>
#include <utility>

#include "nlohmann/json.hpp"

namespace recompact {

using Json = nlohmann::ordered_json;

bool EngineUnderTest::Load(const std::string& path, EngineUnderTest* engine,
                           std::string* error) {
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("id") ||
      !json.contains("options") || !json.contains("option_sets") ||
      !json.contains("kill_points") || !json.contains("stock_failures")) {
    *error = path + ": not an engine; ./repro torture writes it";
    return false;
  }
  engine->id = json["id"];
  engine->options = json["options"].get<OptionMap>();
  for (const Json& set : json["option_sets"]) {
    engine->option_sets.push_back(
        {set["name"], set["options"].get<OptionMap>()});
  }
  engine->kill_points = json["kill_points"].get<std::vector<std::string>>();
  engine->stock_failures = json["stock_failures"].get<std::set<std::string>>();
  return true;
}

Database::Database(leveldb::Env* env, std::string path)
    : path_(std::move(path)), options_(EngineOptions::New(env)) {}

std::unique_ptr<Database> Database::Make(const EngineUnderTest& engine,
                                         const OptionMap& options,
                                         leveldb::Env* env,
                                         const std::string& path,
                                         std::string* error) {
  std::unique_ptr<Database> database(new Database(env, path));
  for (const OptionMap* map : {&engine.options, &options}) {
    for (const auto& [name, value] : *map) {
      if (!database->options_->Set(name, value, error)) return nullptr;
    }
  }
  return database;
}

leveldb::Status Database::Open() {
  leveldb::DB* db = nullptr;
  const leveldb::Status s = options_->Open(path_, &db);
  db_.reset(db);
  return s;
}

}  // namespace recompact
