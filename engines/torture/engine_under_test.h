#ifndef RECOMPACT_ENGINES_TORTURE_ENGINE_UNDER_TEST_H_
#define RECOMPACT_ENGINES_TORTURE_ENGINE_UNDER_TEST_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/env.h"
#include "seams/engine_options.h"

namespace recompact {

using OptionMap = std::map<std::string, std::string>;

// An engine of engines.yaml and the option sets that it is tried with.
struct EngineUnderTest {
  struct OptionSet {
    std::string name;
    OptionMap options;
  };

  std::string id;
  OptionMap options;
  std::vector<OptionSet> option_sets;
  // Where it can be killed, beyond CommonKillPoints().
  std::vector<std::string> kill_points;
  // Damage after which the unpatched release may answer wrongly.
  std::set<std::string> stock_failures;

  // Reads the JSON that `./repro torture` writes from engines.yaml and
  // option_sets.yaml.  On a mistake, returns false and sets *error.
  static bool Load(const std::string& path, EngineUnderTest* engine,
                   std::string* error);
};

// An engine's database under one option set, opened and closed at will.
class Database {
 public:
  // Every option that a set names must be known.  Returns nullptr and sets
  // *error otherwise.
  static std::unique_ptr<Database> Make(const EngineUnderTest& engine,
                                        const OptionMap& options,
                                        leveldb::Env* env,
                                        const std::string& path,
                                        std::string* error);

  leveldb::Status Open();
  leveldb::Status Repair() { return options_->Repair(path_); }
  void Close() { db_.reset(); }

  leveldb::DB* operator->() const { return db_.get(); }
  leveldb::DB* get() const { return db_.get(); }
  EngineOptions* options() { return options_.get(); }
  const std::string& path() const { return path_; }

 private:
  Database(leveldb::Env* env, std::string path);

  const std::string path_;
  const std::unique_ptr<EngineOptions> options_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_ENGINE_UNDER_TEST_H_
