#include "driver/run_spec.h"

#include <string>

#include "driver/simulated_host.h"
#include "driver/test_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

const char* const kSpec = R"({
  "schema": 1, "run": "0123456789abcdef",
  "engine": {"id": "leveldb", "options": {"write_buffer_size": 65536,
             "seek_compaction": false, "compression": "snappy"}},
  "device": {"id": "hdd_15k_raid0", "kind": "raid0", "members": 2,
             "chunk_bytes": 65536, "member": {"kind": "hdd",
             "read_bandwidth_mb_s": 163, "write_bandwidth_mb_s": 163.5,
             "read_seek_ms": 3.3, "write_seek_ms": 3.8, "rotation_rpm": 15000},
             "read_ahead_bytes": 131072, "writeback_bytes": 4194304,
             "dirty_limit_bytes": 0, "page_cache_bytes": 4096,
             "sync_latency_us": 5800, "source": "a datasheet"},
  "scale_factor": 64, "seed": 42, "compressibility": 0.5,
  "key_order": "ordered", "value_checks": true, "timeline_interval_ms": 100,
  "start_from": {"run": "fedcba9876543210", "database": "/kept",
                 "traces": ["a.trace", "b.trace"]},
  "keep_database": false, "repetition": 2,
  "phases": [
    {"name": "load", "kind": "replay", "trace": "a.trace", "start": 5,
     "count": 10, "pace": {"kind": "open", "rate_ops_s": 1000.5}, "threads": 8,
     "warmup_operations": 3},
    {"name": "settle", "kind": "wait_idle"},
    {"name": "compact", "kind": "compact_range"},
    {"name": "again", "kind": "reopen"},
    {"name": "pause", "kind": "wait", "seconds": 2.5},
    {"name": "mixed", "kind": "replay", "trace": "b.trace", "start": 0,
     "count": null, "pace": {"kind": "closed"}, "threads": 2,
     "warmup_operations": 0, "duration_s": 7.5, "beside": [
       {"name": "writes", "workload": "WO", "trace": "c.trace", "start": 1,
        "count": 20, "pace": {"kind": "open", "rate_ops_s": 500},
        "threads": 3}]},
    {"name": "run", "kind": "replay", "trace": "b.trace", "start": 0,
     "count": null, "pace": {"kind": "closed"}, "threads": 1,
     "warmup_operations": 0}]})";

class RunSpecTest : public ::testing::Test {
 protected:
  Status Read(const std::string& text) {
    WriteText(path_, text);
    spec_ = RunSpec();
    return ReadRunSpec(path_, &spec_);
  }

  // Expects the specification to be refused once "pointer" is "value".
  void ExpectRefused(const std::string& pointer, const Json& value,
                     const std::string& message) {
    Json document = Json::parse(kSpec);
    document[Pointer(pointer)] = value;
    const Status status = Read(document.dump());
    EXPECT_EQ(status.code(), ExitCode::kBadInput) << pointer;
    EXPECT_EQ(status.message(),
              path_ + ": " + message + " ; correct the specification");
  }

  TestDirectory directory_;
  const std::string path_ = directory_.File("spec.json");
  RunSpec spec_;
};

// A simulated host on which every work costs something.
Json CostlyHost() {
  Json costs;
  for (int i = 0; i < kWorkKinds; i++) costs[kWorkNames[i]] = i + 0.5;
  return SimulatedHost("leveldb", costs);
}

TEST_F(RunSpecTest, ReadsASimulatedHost) {
  Json document = Json::parse(kSpec);
  document["host"] = CostlyHost();
  document["host"]["costs_ns"]["client"].erase(kWorkNames[0]);
  document["host"]["ties"] = "higher";
  const Status status = Read(document.dump());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(spec_.host);
  EXPECT_EQ(spec_.host->processors.count, 12);
  EXPECT_EQ(spec_.host->processors.slice, 3'000'000'000);
  EXPECT_EQ(spec_.host->processors.wake_up_granularity, 1'000'500'000);
  EXPECT_EQ(spec_.host->processors.switch_cost, 1'500'000);
  EXPECT_EQ(spec_.host->processors.wake_cost, 2'000'000);
  EXPECT_TRUE(spec_.host->processors.ties_to_higher);
  for (const Role role : {Role::kClient, Role::kBackground}) {
    for (int i = 0; i < kWorkKinds; i++) {
      const bool free = role == Role::kClient && i == 0;
      EXPECT_EQ(spec_.host->costs[static_cast<int>(role)][i],
                free ? 0 : i * 1000 + 500);
    }
  }
  EXPECT_EQ(spec_.host->costs[static_cast<int>(Role::kOwn)],
            (std::array<SimTime, kWorkKinds>{}));
}

TEST_F(RunSpecTest, NamesWhatIsWrongWithASimulatedHost) {
  Json host = CostlyHost();
  host["processors"] = 0;
  ExpectRefused("/host", host, "host.processors: must be at least 1");
  host = CostlyHost();
  host["costs_ns"]["client"]["guesses"] = 1;
  ExpectRefused("/host", host,
                "host.costs_ns.client.guesses: is not a known key here");
  host = CostlyHost();
  host["ties"] = "any";
  ExpectRefused("/host", host, "host.ties: must be lower or higher");
  host = CostlyHost();
  host["costs_ns"]["client"]["reads"] = -1;
  ExpectRefused("/host", host,
                "host.costs_ns.client.reads: must not be negative");
}

TEST_F(RunSpecTest, ASimulatedHostHasNoRealDiskAndNoProfiler) {
  Json document = Json::parse(kSpec);
  document["host"] = CostlyHost();
  document["profile"] = true;
  Status status = Read(document.dump());
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_THAT(status.message(),
              HasSubstr(path_ + ": profile: goes with a real host"));
  document.erase("profile");
  document["device"] = {{"id", "path"}, {"kind", "path"}};
  status = Read(document.dump());
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_THAT(status.message(), HasSubstr(path_ + ": device.kind: is path"));
}

TEST_F(RunSpecTest, RefusesCostsOfAnotherEngineCompilerOrLibrary) {
  for (const auto& [key, value] :
       {std::pair<std::string, Json>{"engine", "ldc"},
        {"compiler", "gcc 4.2"},
        {"libraries", {{"snappy", "1.0.5"}}}}) {
    Json document = Json::parse(kSpec);
    document["host"] = CostlyHost();
    document["host"]["calibration"][key] = value;
    const Status status = Read(document.dump());
    EXPECT_EQ(status.code(), ExitCode::kBadInput) << key;
    EXPECT_THAT(
        status.message(),
        AllOf(HasSubstr(path_ + ": host.calibration." + key + ": is of "),
              HasSubstr("./repro calibrate --engine leveldb")));
  }
}

TEST_F(RunSpecTest, ReadsAllOfIt) {
  const Status status = Read(kSpec);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(spec_.run, "0123456789abcdef");
  EXPECT_EQ(spec_.engine_id, "leveldb");
  EXPECT_THAT(
      spec_.engine_options,
      ::testing::ElementsAre(::testing::Pair("compression", "snappy"),
                             ::testing::Pair("seek_compaction", "false"),
                             ::testing::Pair("write_buffer_size", "65536")));
  EXPECT_EQ(spec_.device.kind, DeviceKind::kRaid0);
  EXPECT_EQ(spec_.device.chunk_bytes, 65536u);
  EXPECT_EQ(spec_.device.page_cache_bytes, 4096u);
  EXPECT_EQ(spec_.device.member->kind, DeviceKind::kHdd);
  EXPECT_EQ(spec_.device.member->write_bandwidth_mb_s, 163.5);
  EXPECT_EQ(spec_.scale_factor, 64);
  EXPECT_EQ(spec_.keys.order, KeyOrder::kOrdered);
  EXPECT_EQ(spec_.keys.seed, 42u);
  EXPECT_EQ(spec_.start_from->database, "/kept");
  EXPECT_EQ(spec_.start_from->traces.size(), 2u);
  ASSERT_EQ(spec_.phases.size(), 7u);
  ASSERT_EQ(spec_.phases[0].streams.size(), 1u);
  const Stream& load = spec_.phases[0].streams[0];
  EXPECT_EQ(load.name, "load");
  EXPECT_EQ(load.where, path_ + ": phases[0]");
  EXPECT_EQ(load.rate_ops_s, 1000.5);
  EXPECT_EQ(*load.count, 10u);
  EXPECT_EQ(load.threads, 8);
  EXPECT_EQ(spec_.phases[0].warmup_operations, 3u);
  EXPECT_EQ(spec_.phases[0].duration_s, 0);
  EXPECT_EQ(spec_.phases[3].kind, Phase::Kind::kReopen);
  EXPECT_TRUE(spec_.phases[3].streams.empty());
  EXPECT_EQ(spec_.phases[4].kind, Phase::Kind::kWait);
  EXPECT_EQ(spec_.phases[4].seconds, 2.5);
  EXPECT_FALSE(spec_.phases[6].streams[0].count.has_value());
  EXPECT_EQ(spec_.phases[6].streams[0].rate_ops_s, 0);
}

TEST_F(RunSpecTest, ReadsTheStreamsBesideAPhase) {
  ASSERT_TRUE(Read(kSpec).ok());
  const Phase& phase = spec_.phases[5];
  EXPECT_EQ(phase.duration_s, 7.5);
  ASSERT_EQ(phase.streams.size(), 2u);
  EXPECT_EQ(phase.streams[0].trace, "b.trace");
  EXPECT_EQ(phase.streams[0].threads, 2);
  const Stream& writes = phase.streams[1];
  EXPECT_EQ(writes.name, "writes");
  EXPECT_EQ(writes.where, path_ + ": phases[5].beside[0]");
  EXPECT_EQ(writes.trace, "c.trace");
  EXPECT_EQ(writes.start, 1u);
  EXPECT_EQ(*writes.count, 20u);
  EXPECT_EQ(writes.rate_ops_s, 500);
  EXPECT_EQ(writes.threads, 3);

  const std::string not_a_list =
      "phases[5].beside: must be a list of at least one stream";
  ExpectRefused("/phases/5/beside", Json::array(), not_a_list);
  ExpectRefused("/phases/5/beside", 1, not_a_list);
  ExpectRefused("/phases/5/beside/0/name", "mixed",
                "phases[5].beside[0].name: \"mixed\" is used twice");
  ExpectRefused("/phases/5/beside/0/name", "W",
                "phases[5].beside[0].name: must be made of a-z, 0-9 and _");
  ExpectRefused("/phases/5/beside/0/threads", 0,
                "phases[5].beside[0].threads: must be at least 1");
  ExpectRefused("/phases/5/beside/0/pace/rate_ops_s", 0,
                "phases[5].beside[0].pace.rate_ops_s: must be above 0");
  ExpectRefused("/phases/5/beside/0/warmup_operations", 1,
                "phases[5].beside[0].warmup_operations: is not a known key "
                "here");
  ExpectRefused("/phases/1/beside", Json::array(),
                "phases[1].beside: is not a known key here");
  ExpectRefused("/phases/5/duration_s", 0,
                "phases[5].duration_s: must be above 0");
  const std::string warmup =
      "warmup_operations: must be 0 with duration_s or beside, where a phase "
      "of its own warms up";
  ExpectRefused("/phases/5/warmup_operations", 1, "phases[5]." + warmup);
  ExpectRefused("/phases/0/duration_s", 1, "phases[0]." + warmup);
  ExpectRefused("/keep_database", true,
                "keep_database: must be false: the traces do not tell what "
                "phase mixed wrote of them");
}

TEST_F(RunSpecTest, ReadsAnSsdAndPlainDevices) {
  Json document = Json::parse(kSpec);
  document["device"] = Json::parse(R"({"id": "ssd", "kind": "ssd",
      "read_bandwidth_mb_s": 2600, "write_bandwidth_mb_s": 1000,
      "read_latency_us": 85, "write_latency_us": 20, "channels": 38,
      "half_duplex": true, "read_ahead_bytes": 131072,
      "writeback_bytes": 4194304, "dirty_limit_bytes": 268435456,
      "page_cache_bytes": 0, "sync_latency_us": 40})");
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_EQ(spec_.device.channels, 38);
  EXPECT_EQ(spec_.device.dirty_limit_bytes, 268435456u);
  for (const char* kind : {"memory", "path"}) {
    document["device"] = {{"id", "plain"}, {"kind", kind}};
    ASSERT_TRUE(Read(document.dump()).ok());
    EXPECT_FALSE(spec_.device.modelled());
  }
}

TEST_F(RunSpecTest, ReadsAThrottledDisk) {
  Json document = Json::parse(kSpec);
  document["device"] = Json::parse(R"({"id": "limited", "kind": "throttled",
      "read_bandwidth_mb_s": 100, "write_bandwidth_mb_s": 50,
      "read_iops": 2000, "write_iops": 1000, "slice_ms": 100,
      "read_ahead_bytes": 131072, "writeback_bytes": 1048576,
      "dirty_limit_bytes": 16777216, "page_cache_bytes": 0,
      "sync_latency_us": 0})");
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_EQ(spec_.device.write_iops, 1000);
  EXPECT_EQ(spec_.device.slice_ms, 100);
  document["device"]["slice_ms"] = 0;
  EXPECT_FALSE(Read(document.dump()).ok());
}

TEST_F(RunSpecTest, ReadsShingledDisks) {
  Json document = Json::parse(kSpec);
  Json device = Json::parse(R"({"id": "smr", "kind": "smr",
      "read_bandwidth_mb_s": 150, "write_bandwidth_mb_s": 150,
      "read_seek_ms": 12, "write_seek_ms": 12, "rotation_rpm": 5900,
      "band_bytes": 31457280, "media_cache_bytes": 20000000000,
      "clean_after_idle_ms": 1000, "read_ahead_bytes": 131072,
      "writeback_bytes": 4194304, "dirty_limit_bytes": 268435456,
      "page_cache_bytes": 0, "sync_latency_us": 17085})");
  document["device"] = device;
  const Status status = Read(document.dump());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(spec_.device.kind, DeviceKind::kSmr);
  EXPECT_EQ(spec_.device.band_bytes, 31457280u);
  EXPECT_EQ(spec_.device.media_cache_bytes, 20000000000u);
  EXPECT_EQ(spec_.device.clean_after_idle_ms, 1000);
  EXPECT_FALSE(spec_.device.own_bands);

  const auto expect_refused = [&](const char* key, const Json& value,
                                  const std::string& message) {
    Json wrong = device;
    if (value.is_null()) {
      wrong.erase(key);
    } else {
      wrong[key] = value;
    }
    ExpectRefused("/device", wrong, "device." + (key + message));
  };
  for (const char* key : {"rotation_rpm", "band_bytes", "media_cache_bytes",
                          "clean_after_idle_ms"}) {
    expect_refused(key, nullptr, ": is missing");
  }
  expect_refused("band_bytes", 0, ": must be a multiple of 4096");
  expect_refused("band_bytes", 30000000, ": must be a multiple of 4096");
  expect_refused("band_bytes", -4096, ": must be a whole number, not negative");
  expect_refused("media_cache_bytes", 31457279,
                 ": must be at least band_bytes, 31457280");
  expect_refused("clean_after_idle_ms", -1, ": must not be negative");
  expect_refused("own_bands", 1, ": must be true or false");
  expect_refused("zone_bytes", 4096, ": is not a known key here");

  device["own_bands"] = true;
  document["device"] = device;
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_TRUE(spec_.device.own_bands);

  device["kind"] = "zoned_smr";
  for (const char* key :
       {"media_cache_bytes", "clean_after_idle_ms", "own_bands"}) {
    ExpectRefused("/device", device,
                  "device." + std::string(key) + ": is not a known key here");
    device.erase(key);
  }
  document["device"] = device;
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_EQ(spec_.device.kind, DeviceKind::kZonedSmr);
}

TEST_F(RunSpecTest, RecentUpdatesAreThoseOfAllKeysUnlessARangeIsGiven) {
  Json document = Json::parse(kSpec);
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_TRUE(spec_.recent_keys.Contains(0));
  EXPECT_TRUE(spec_.recent_keys.Contains(UINT64_MAX - 1));
  document["recent_keys"] = {{"first", 100}, {"count", 50}};
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_EQ(spec_.recent_keys.first, 100u);
  EXPECT_EQ(spec_.recent_keys.count, 50u);
  ExpectRefused("/recent_keys", {{"first", 100}},
                "recent_keys.count: is missing");
  ExpectRefused("/recent_keys", {{"first", 0}, {"count", 0}},
                "recent_keys.count: must be above 0");
}

TEST_F(RunSpecTest, DirectIoIsOffUnlessAskedFor) {
  Json document = Json::parse(kSpec);
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_FALSE(spec_.direct_io);
  document["engine"]["direct_io"] = true;
  ASSERT_TRUE(Read(document.dump()).ok());
  EXPECT_TRUE(spec_.direct_io);
  ExpectRefused("/engine/direct_io", 1,
                "engine.direct_io: must be true or false");
}

TEST_F(RunSpecTest, MountsAreDirectoriesOfARealDevice) {
  const std::string a = directory_.File("a"), b = directory_.File("b");
  Json document = Json::parse(kSpec);
  Json device = {{"id", "disks"}, {"kind", "path"}};
  device["mounts"] = {a, b};
  document["device"] = device;
  const Status status = Read(document.dump());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(spec_.device.mounts, ::testing::ElementsAre(a, b));

  const auto expect_refused = [&](const Json& mounts,
                                  const std::string& message) {
    device["mounts"] = mounts;
    ExpectRefused("/device", device, message);
  };
  const std::string not_a_list =
      "device.mounts: must be a list of at least one directory";
  expect_refused(Json::array(), not_a_list);
  expect_refused(a, not_a_list);
  expect_refused({a, 1}, "device.mounts[1]: must be a directory");
  expect_refused({a, ""}, "device.mounts[1]: must be a directory");
  // Also under another name, whether it is there or not.
  std::filesystem::create_directory(b);
  std::filesystem::create_directory_symlink(b, directory_.File("c"));
  for (const std::string& again :
       {a + "/", directory_.File("./a"), directory_.File("b/../a")}) {
    expect_refused({a, again},
                   "device.mounts[1]: \"" + again + "\" is named twice");
  }
  expect_refused(
      {a, b, directory_.File("c")},
      "device.mounts[2]: \"" + directory_.File("c") + "\" is named twice");
  ExpectRefused("/device/mounts", {a, b},
                "device.mounts[0]: \"" + a + "\" needs a device of kind path");
}

TEST_F(RunSpecTest, NamesUnknownKeys) {
  ExpectRefused("/colour", 1, "colour: is not a known key here");
  ExpectRefused("/engine/version", 1,
                "engine.version: is not a known key here");
  ExpectRefused("/device/channels", 4,
                "device.channels: is not a known key here");
  ExpectRefused("/device/member/page_cache_bytes", 4,
                "device.member.page_cache_bytes: is not a known key here");
  ExpectRefused("/start_from/copy", 1,
                "start_from.copy: is not a known key here");
  ExpectRefused("/phases/0/pace/burst", 1,
                "phases[0].pace.burst: is not a known key here");
  ExpectRefused("/phases/1/trace", "a",
                "phases[1].trace: is not a known key here");
}

TEST_F(RunSpecTest, NamesWrongValues) {
  ExpectRefused("/schema", 2, "schema: is 2, this driver reads 1");
  ExpectRefused("/run", "12", "run: must be 16 hexadecimal digits");
  ExpectRefused("/engine/options/block_size", Json::array(),
                "engine.options.block_size: must be a number, a text, true or "
                "false");
  ExpectRefused("/device/kind", "tape",
                "device.kind: must be memory, path, ssd, hdd, smr, zoned_smr, "
                "raid0 or throttled");
  ExpectRefused("/device/chunk_bytes", 0,
                "device.chunk_bytes: must be above 0");
  ExpectRefused("/device/member/kind", "memory",
                "device.member.kind: must be ssd or hdd");
  ExpectRefused("/device/member/read_seek_ms", -1,
                "device.member.read_seek_ms: must not be negative");
  ExpectRefused("/scale_factor", 0, "scale_factor: must be above 0");
  ExpectRefused("/compressibility", 1.5, "compressibility: must be at most 1");
  ExpectRefused("/key_order", "random", "key_order: must be hashed or ordered");
  ExpectRefused("/value_checks", 1, "value_checks: must be true or false");
  ExpectRefused("/timeline_interval_ms", 0,
                "timeline_interval_ms: must be at least 1");
  ExpectRefused("/start_from/traces", "a",
                "start_from.traces: must be a list of paths");
  ExpectRefused("/phases", Json::array(),
                "phases: must be a list of at least one phase");
  ExpectRefused("/phases/1/name", "a/b",
                "phases[1].name: must be made of a-z, 0-9 and _");
  ExpectRefused("/phases/1/name", "load",
                "phases[1].name: \"load\" is used twice");
  ExpectRefused("/phases/1/kind", "sleep",
                "phases[1].kind: must be replay, wait_idle, wait, "
                "compact_range or reopen");
  ExpectRefused("/phases/4/seconds", 0, "phases[4].seconds: must be above 0");
  ExpectRefused("/phases/1/seconds", 1,
                "phases[1].seconds: is not a known key here");
  ExpectRefused("/phases/0/threads", 0,
                "phases[0].threads: must be at least 1");
  ExpectRefused("/phases/0/count", -4,
                "phases[0].count: must be null or a whole number, not "
                "negative");
  ExpectRefused("/phases/0/pace/rate_ops_s", 0,
                "phases[0].pace.rate_ops_s: must be above 0");
  ExpectRefused("/phases/0/pace/kind", "fast",
                "phases[0].pace.kind: must be closed or open");
}

TEST_F(RunSpecTest, NamesEveryMissingKey) {
  const Json document = Json::parse(kSpec);
  for (const auto& member : document.items()) {
    if (member.key() == "repetition") continue;  // May be left out
    Json without = document;
    without.erase(member.key());
    EXPECT_EQ(Read(without.dump()).message(),
              path_ + ": " + member.key() +
                  ": is missing ; correct the specification");
  }
}

TEST_F(RunSpecTest, RefusesWhatIsNotASpecification) {
  EXPECT_EQ(ReadRunSpec(path_, &spec_).message(),
            path_ + ": cannot open the specification ; correct --spec");
  EXPECT_EQ(Read("{\"schema\": 1,").message(),
            path_ + ": is not JSON ; correct the specification");
  EXPECT_EQ(Read("[]").message(),
            path_ + ": must be an object ; correct the specification");
}

}  // namespace
}  // namespace recompact
