// The correctness bench of one engine; see README.md.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "torture/foreign.h"
#include "torture/torture_flags.h"

namespace recompact {

TortureFlags flags;

namespace {

constexpr int kBadInput = 2;

nlohmann::ordered_json summary;

// The value of "--name=value", or nullptr for another flag.
const char* ValueOfFlag(const char* argument, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(argument, name, length) == 0 ? argument + length
                                                   : nullptr;
}

int Main(int argc, char** argv) {
  std::string engine, summary_path, database, option_set, error;
  bool write = false;
  for (int i = 1; i < argc; i++) {
    if (const char* value = ValueOfFlag(argv[i], "--engine=")) {
      engine = value;
    } else if (const char* value = ValueOfFlag(argv[i], "--seed=")) {
      flags.seed = std::strtoull(value, nullptr, 10);
    } else if (const char* value = ValueOfFlag(argv[i], "--share=")) {
      flags.share = std::strtod(value, nullptr);
    } else if (const char* value = ValueOfFlag(argv[i], "--stream=")) {
      flags.stream = std::strtoull(value, nullptr, 10);
      if (flags.stream == 0) {
        std::fprintf(stderr, "torture: %s: at least one operation\n", argv[i]);
        return kBadInput;
      }
    } else if (const char* value = ValueOfFlag(argv[i], "--shrink_seconds=")) {
      flags.shrinking = std::chrono::seconds(std::strtoull(value, nullptr, 10));
    } else if (const char* value = ValueOfFlag(argv[i], "--scratch=")) {
      flags.scratch = value;
    } else if (const char* value = ValueOfFlag(argv[i], "--summary=")) {
      summary_path = value;
    } else if (const char* value = ValueOfFlag(argv[i], "--write=")) {
      database = value;
      write = true;
    } else if (const char* value = ValueOfFlag(argv[i], "--open=")) {
      database = value;
    } else if (const char* value = ValueOfFlag(argv[i], "--option_set=")) {
      option_set = value;
    } else if (ValueOfFlag(argv[i], "--gtest_") == nullptr) {
      std::fprintf(stderr, "torture: %s: not a flag\n", argv[i]);
      return kBadInput;
    }
  }
  if (!EngineUnderTest::Load(engine, &flags.engine, &error)) {
    std::fprintf(stderr, "torture: %s\n", error.c_str());
    return kBadInput;
  }
  if (!database.empty()) {
    std::puts(
        (write ? WriteDatabase : OpenDatabase)(database, option_set).c_str());
    return EXIT_SUCCESS;
  }
  // Tests are made from the engine's option sets.
  ::testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  if (!summary_path.empty()) {
    std::ofstream(summary_path) << summary.dump(1) << "\n";
  }
  return status;
}

}  // namespace

std::unique_ptr<Database> MakeDatabase(const std::string& option_set,
                                       leveldb::Env* env,
                                       const std::string& path) {
  std::string error = "no option set " + option_set;
  for (const auto& set : flags.engine.option_sets) {
    if (set.name != option_set) continue;
    auto database =
        Database::Make(flags.engine, set.options, env, path, &error);
    if (database != nullptr) return database;
  }
  std::fprintf(stderr, "torture: %s: %s\n", flags.engine.id.c_str(),
               error.c_str());
  std::exit(kBadInput);
}

void Report(const std::string& name, uint64_t number) {
  uint64_t sum = number;
  if (summary.contains(name)) sum += summary[name].get<uint64_t>();
  summary[name] = sum;
}

}  // namespace recompact

int main(int argc, char** argv) { return recompact::Main(argc, argv); }
