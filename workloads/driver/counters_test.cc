#include "driver/counters.h"

#include <map>
#include <string>

#include "driver/test_directory.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

TEST(CountersTest, DifferencesAndTheLargestLag) {
  const Counters earlier = {{"flush_us", 5}, {"device_max_lag_us", 100}};
  const Counters later = {
      {"flush_us", 7}, {"new", 3}, {"device_max_lag_us", 60}};
  EXPECT_EQ(Difference(earlier, later),
            (Counters{{"flush_us", 2}, {"new", 3}, {"device_max_lag_us", 60}}));
}

// An engine that knows the properties given.
class PropertyStore : public Store {
 public:
  Status Put(std::string_view, std::string_view) override {
    return Status::OK();
  }
  Status Delete(std::string_view) override { return Status::OK(); }
  Status Get(std::string_view, std::string*, bool*) override {
    return Status::OK();
  }
  Status Scan(std::string_view, uint32_t, ScannedRecords*) override {
    return Status::OK();
  }
  bool Idle() override { return true; }
  void CompactAll() override {}
  Status Health() override { return Status::OK(); }
  bool Property(const std::string& name, std::string* value) override {
    const auto property = properties.find(name);
    if (property == properties.end()) return false;
    *value = property->second;
    return true;
  }
  Status Reopen() override { return Status::OK(); }

  std::map<std::string, std::string> properties;
};

TEST(CountersTest, EngineStateComesFromItsProperties) {
  PropertyStore store;
  store.properties["recompact.stats"] =
      R"({"flush_count": 3, "levels": [{"level": 0, "files": 2}]})";
  store.properties["recompact.space"] = R"({"live_bytes": 7})";
  for (const EngineState& state :
       {ReadEngineState(&store, true), ReadEngineStateOrTables(&store)}) {
    EXPECT_EQ(state.counters, (Counters{{"flush_count", 3}}));
    EXPECT_EQ(state.levels[0]["files"], 2);
    EXPECT_EQ(state.space["live_bytes"], 7);
  }
}

TEST(CountersTest, LevelsThatWereUsedHaveCountersOfTheirOwn) {
  PropertyStore store;
  store.properties["recompact.stats"] = R"({"flush_count": 3, "levels": [
      {"level": 0, "files": 0, "bytes_read": 0, "bytes_written": 700},
      {"level": 1, "files": 2, "bytes_read": 0, "bytes_written": 0},
      {"level": 2, "files": 0, "bytes_read": 0, "bytes_written": 0}]})";
  EXPECT_EQ(ReadEngineState(&store, false).counters,
            (Counters{{"flush_count", 3},
                      {"level_0_bytes_read", 0},
                      {"level_0_bytes_written", 700},
                      {"level_1_bytes_read", 0},
                      {"level_1_bytes_written", 0}}));
}

TEST(CountersTest, TablesTellTheLevelsOfAnEngineWithoutProperties) {
  PropertyStore store;
  store.properties["leveldb.sstables"] =
      "--- level 0 ---\n"
      " 12:1000['a' @ 1 : 1 .. 'b' @ 2 : 1]\n"
      " 13:500['a' @ 3 : 1 .. 'b' @ 4 : 1]\n"
      "--- level 1 ---\n"
      "--- level 2 ---\n"
      " 5:30['c' @ 1 : 1 .. 'd' @ 2 : 1]\n";
  EXPECT_TRUE(ReadEngineState(&store, true).counters.empty());
  EXPECT_TRUE(ReadEngineState(&store, true).levels.is_null());
  const EngineState state = ReadEngineStateOrTables(&store);
  EXPECT_EQ(state.levels.dump(), R"([{"level":0,"files":2,"bytes":1500},)"
                                 R"({"level":1,"files":0,"bytes":0},)"
                                 R"({"level":2,"files":1,"bytes":30}])");
  EXPECT_EQ(state.space["live_bytes"], 1530);
}

TEST(CountersTest, EngineCountersGoOnOverReopen) {
  PropertyStore store;
  DeviceEnv env(leveldb::Env::Default(), DeviceParameters(), 1, "/none",
                Clock::Monotonic());
  Progress progress(1);
  CounterSource source(&store, &env, &progress, "/none");
  store.properties["recompact.stats"] = R"({"flush_count": 5})";
  const Counters before = source.Take();
  source.BeforeReopen();
  store.properties["recompact.stats"] = R"({"flush_count": 2})";
  EXPECT_EQ(Difference(before, source.Take())["flush_count"], 2);
}

TEST(CountersTest, OnlyAShingledDiskHasCountersOfCleaning) {
  PropertyStore store;
  Progress progress(1);
  for (const DeviceKind kind :
       {DeviceKind::kHdd, DeviceKind::kSmr, DeviceKind::kZonedSmr}) {
    DeviceParameters parameters;
    parameters.kind = kind;
    parameters.rotation_rpm = 5900;
    parameters.band_bytes = parameters.media_cache_bytes = 1 << 20;
    DeviceEnv env(leveldb::Env::Default(), parameters, 1, "/none",
                  Clock::Monotonic());
    CounterSource source(&store, &env, &progress, "/none");
    const Counters counters = source.Take();
    for (const char* name :
         {"device_cleaning_read_bytes", "device_cleaning_write_bytes",
          "device_media_cache_bytes"}) {
      EXPECT_EQ(counters.count(name), kind == DeviceKind::kHdd ? 0u : 1u);
    }
  }
}

TEST(CountersTest, ResultsAreNotWhatTheEngineWrote) {
  PropertyStore store;
  DeviceEnv env(leveldb::Env::Default(), DeviceParameters(), 1, "/none",
                Clock::Monotonic());
  Progress progress(1);
  TestDirectory output, elsewhere;
  CounterSource source(&store, &env, &progress, output.path());
  const std::string bytes(100000, 'x');
  const Counters before = source.Take();
  if (before.count("process_write_bytes") == 0) GTEST_SKIP();
  WriteText(output.File("latency.load.f32"), bytes);
  const Counters between = source.Take();
  EXPECT_EQ(Difference(before, between)["process_write_bytes"], 0);
  WriteText(elsewhere.File("000005.ldb"), bytes);
  EXPECT_EQ(Difference(between, source.Take())["process_write_bytes"], 100000);
}

}  // namespace
}  // namespace recompact
