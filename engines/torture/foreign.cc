#include "torture/foreign.h"

#include <cstdio>
#include <cstdlib>

#include "nlohmann/json.hpp"
#include "torture/history.h"
#include "torture/torture_flags.h"

namespace recompact {

namespace {

using leveldb::Status;

constexpr size_t kWrites = 4000;

std::string Outcome(const char* outcome, const std::string& message) {
  return nlohmann::ordered_json{{"outcome", outcome}, {"message", message}}
      .dump();
}

}  // namespace

std::string WriteDatabase(const std::string& path,
                          const std::string& option_set) {
  const auto database = MakeDatabase(option_set, leveldb::Env::Default(), path);
  const History history(GenerateWrites(flags.seed, kWrites));
  Status s = database->Open();
  for (size_t i = 0; i < history.operations().size() && s.ok(); i++) {
    s = WriteTo(database.get(), history.operations()[i], i + 1);
  }
  if (!s.ok()) {
    std::fprintf(stderr, "torture: %s: %s\n", path.c_str(),
                 s.ToString().c_str());
    std::exit(EXIT_FAILURE);
  }
  std::string format;  // An unpatched tree does not say it
  (*database)->GetProperty("recompact.format", &format);
  return nlohmann::ordered_json{{"format", format}}.dump();
}

std::string OpenDatabase(const std::string& path,
                         const std::string& option_set) {
  const auto database = MakeDatabase(option_set, leveldb::Env::Default(), path);
  const Status s = database->Open();
  if (s.IsInvalidArgument()) return Outcome("invalid_argument", s.ToString());
  if (!s.ok()) return Outcome("wrong", s.ToString());
  const History history(GenerateWrites(flags.seed, kWrites));
  const std::vector<bool> certain(kWrites, true);
  const auto difference = history.Judge(database.get(), certain, kWrites);
  return difference ? Outcome("wrong", *difference) : Outcome("right", "");
}

}  // namespace recompact
