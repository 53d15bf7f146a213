// Runs the driver's binary as the pipeline does.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "driver/driver_fixture.h"
#include "driver/key_value.h"
#include "leveldb/db.h"

namespace recompact {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(DriverTest, CarriesOutEveryPhase) {
  Json mixed = ReplayPhase("mixed", MixedTrace());
  mixed["threads"] = 2;
  mixed["warmup_operations"] = 1000;
  Json part = ReplayPhase("part", LoadTrace());
  part["start"] = 10;
  part["count"] = 100;
  part["pace"] = {{"kind", "open"}, {"rate_ops_s", 100000}};
  spec_["phases"] = {ReplayPhase("load", LoadTrace()),
                     OtherPhase("settle", "wait_idle"),
                     OtherPhase("compact", "compact_range"),
                     OtherPhase("again", "reopen"),
                     mixed,
                     part};
  ASSERT_EQ(Run(), 0) << stderr_;
  EXPECT_EQ(stderr_, "");
  EXPECT_FALSE(std::filesystem::exists(data_));

  const Json record = Record();
  ASSERT_TRUE(record.is_object());
  EXPECT_EQ(record["spec"], spec_);
  EXPECT_EQ(record["suspect"], Json::array());
  ASSERT_EQ(record["phases"].size(), 6u);
  const Json& load = record["phases"][0];
  EXPECT_EQ(load["operations"], kKeys);
  EXPECT_EQ(load["trace"]["file"], "load.trace");
  EXPECT_EQ(load["trace"]["records"], kKeys);
  EXPECT_EQ(load["latency_us"]["write"]["count"], kKeys);
  EXPECT_EQ(load["latency_us"]["read"]["count"], 0);
  EXPECT_EQ(load["counters"]["user_bytes_written"], kKeys * (16 + kValueBytes));
  EXPECT_GT(load["counters"]["device_write_bytes"], kKeys * kValueBytes);
  EXPECT_EQ(record["phases"][1]["operations"], 0);
  const Json& compacted = record["phases"][2];
  EXPECT_EQ(compacted["levels"][0]["files"], 0);
  EXPECT_GT(compacted["space"]["live_bytes"], kKeys * kValueBytes / 4);

  const Json& result = record["phases"][4];
  EXPECT_EQ(result["operations"], 5000);
  EXPECT_EQ(result["latency_us"]["all"]["count"], 5000);
  const Json& verified = result["verified"];
  EXPECT_EQ(verified["reads"], result["latency_us"]["read"]["count"]);
  EXPECT_EQ(verified["reads"].get<int>(),
            verified["found"].get<int>() + verified["not_found"].get<int>());
  EXPECT_GT(verified["not_found"], 0);
  EXPECT_GT(verified["scanned_records"], 1000);
  EXPECT_EQ(record["phases"][5]["operations"], 100);
}

TEST_F(DriverTest, WritesLatenciesAndTimeline) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace()),
                     ReplayPhase("mixed", MixedTrace()),
                     OtherPhase("settle", "wait_idle")};
  ASSERT_EQ(Run(), 0) << stderr_;
  EXPECT_EQ(std::filesystem::file_size(out_ + "/latency.load.f32"),
            kKeys * sizeof(float));
  const std::vector<float> latencies = LatenciesUs("mixed");
  ASSERT_EQ(latencies.size(), 6000);
  float longest = 0;
  for (const float latency : latencies) {
    EXPECT_GT(latency, 0);
    longest = std::max(longest, latency);
  }
  const Json record = Record();
  EXPECT_NEAR(record["phases"][1]["latency_us"]["all"]["max"].get<double>(),
              longest, 0.01);
  EXPECT_EQ(Json::parse(ReadText(out_ + "/spec.json")), spec_);

  std::istringstream timeline(ReadText(out_ + "/timeline.csv"));
  std::string line;
  std::getline(timeline, line);
  EXPECT_EQ(
      line,
      "phase,time_s,operations,reads,writes,scans,mean_latency_us,"
      "mean_read_latency_us,mean_write_latency_us,max_latency_us,"
      "block_cache_hits,block_cache_misses,stall_us,live_bytes,"
      "frozen_bytes,slice_bytes,pinned_bytes,pending_bytes,"
      "obsolete_bytes,device_read_bytes,device_write_bytes,"
      "device_queue_us,cache_invalidated_blocks,buffer_bytes,level_files");
  std::map<std::string, long> operations, written;
  std::map<std::string, std::string> live;
  while (std::getline(timeline, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(std::count(line.begin(), line.end(), ','), 24) << line;
    operations[cells[0]] += std::stol(cells[2]);
    EXPECT_EQ(std::stol(cells[2]),
              std::stol(cells[3]) + std::stol(cells[4]) + std::stol(cells[5]));
    written[cells[0]] += std::stol(cells[20]);
    live[cells[0]] = cells[13];
  }
  EXPECT_EQ(operations["load"], kKeys);
  EXPECT_EQ(operations["mixed"], 6000);
  EXPECT_GT(written["load"], kKeys * kValueBytes);
  // However short a phase is, its last interval tells the space at its end,
  // if the engine has the seams' counters.
  if (record["phases"][0]["counters"].contains("flush_count")) {
    EXPECT_NE(live["load"], "0");
    EXPECT_EQ(live["settle"],
              record["phases"][2]["space"]["live_bytes"].dump());
  } else {
    EXPECT_EQ(live["settle"], "");
  }
}

TEST_F(DriverTest, CountsWorkInsideLevelDb) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace()),
                     OtherPhase("compact", "compact_range"),
                     ReplayPhase("mixed", MixedTrace())};
  ASSERT_EQ(Run(), 0) << stderr_;
  const Json record = Record();
  const Json compaction = record["phases"][1]["work"]["background"];
  EXPECT_GE(compaction["built_entries"], kKeys);
  EXPECT_GE(compaction["checksummed_bytes"], kKeys * kValueBytes / 2);
  EXPECT_EQ(compaction["filter_checks"], 0);
  const Json reads = record["phases"][2]["work"]["client"];
  EXPECT_GT(reads["filter_checks"], 500);
  // Updates, scans, deletions and three reads by turns: at each a turn but at
  // two of the reads.
  EXPECT_EQ(reads["turns"], 4000);
  EXPECT_GT(reads["far_compares"], 0);
  EXPECT_EQ(record["phases"][0]["work"]["client"]["far_compares"], 0);
  EXPECT_EQ(reads["built_entries"], 0);
}

TEST_F(DriverTest, ReplaysStreamsBesideAPhase) {
  TraceBuilder reads, updates;
  for (int i = 0; i < 400; i++) {
    reads.Add(i % 2 == 0 ? Operation::kRead : Operation::kReadRecent, i % 100);
  }
  for (int i = 0; i < 1000; i++) {
    updates.Add(Operation::kUpdate, i * 7919 % kKeys, kValueBytes);
  }
  Json run = ReplayPhase("run", Trace("reads", reads));
  run["pace"] = {{"kind", "open"}, {"rate_ops_s", 2000}};
  run["duration_s"] = 0.2;
  Json writes = ReplayPhase("writes", Trace("updates", updates));
  writes["pace"] = {{"kind", "open"}, {"rate_ops_s", 500}};
  writes["threads"] = 2;
  writes.erase("kind");
  writes.erase("warmup_operations");
  run["beside"] = {writes};
  Json pause = OtherPhase("pause", "wait");
  pause["seconds"] = 0.05;
  spec_["phases"] = {ReplayPhase("load", LoadTrace()), run, pause};
  ASSERT_EQ(Run(), 0) << stderr_;

  const Json record = Record();
  EXPECT_FALSE(record["phases"][0].contains("beside"));
  const Json& phase = record["phases"][1];
  EXPECT_GE(phase["duration_s"], 0.199);
  const int done = phase["operations"];
  EXPECT_GT(done, 100);
  EXPECT_EQ(phase["latency_us"]["read"]["count"], done);
  EXPECT_EQ(phase["latency_us"]["write"]["count"], 0);
  EXPECT_EQ(phase["verified"]["found"], done);
  ASSERT_EQ(phase["beside"].size(), 1u);
  const Json& beside = phase["beside"][0];
  EXPECT_EQ(beside["name"], "writes");
  EXPECT_EQ(beside["trace"]["file"], "updates.trace");
  EXPECT_EQ(beside["duration_s"], phase["duration_s"]);
  const int written = beside["operations"];
  EXPECT_GT(written, 25);
  EXPECT_LE(written, 100);
  EXPECT_EQ(beside["latency_us"]["write"]["count"], written);
  EXPECT_NEAR(beside["throughput_ops_s"].get<double>(),
              written / phase["duration_s"].get<double>(), 0.01);
  EXPECT_EQ(phase["counters"]["user_bytes_written"],
            written * (16 + kValueBytes));
  EXPECT_EQ(std::filesystem::file_size(out_ + "/latency.run.f32"),
            done * sizeof(float));
  EXPECT_EQ(std::filesystem::file_size(out_ + "/latency.run.writes.f32"),
            written * sizeof(float));
  EXPECT_EQ(record["phases"][2]["kind"], "wait");
  EXPECT_GE(record["phases"][2]["duration_s"], 0.05);
}

TEST_F(DriverTest, NamesStreamsThatDoNotFitTheirPhase) {
  TraceBuilder reads;
  for (int i = 0; i < 100; i++) reads.Add(Operation::kRead, i);
  const std::string load = LoadTrace(), read = Trace("reads", reads);
  Json run = ReplayPhase("run", read);
  Json writes = ReplayPhase("writes", load);
  writes["pace"] = {{"kind", "open"}, {"rate_ops_s", 10000}};
  writes.erase("kind");
  writes.erase("warmup_operations");
  run["beside"] = {writes};
  const auto expect_refused = [&](const std::string& what) {
    spec_["phases"] = {ReplayPhase("load", load), run};
    ExpectFails(2, what);
    EXPECT_FALSE(std::filesystem::exists(data_));
  };
  run["duration_s"] = 0.3;  // 0.2 s of writes
  expect_refused("spec.json: phases[1].beside[0].count: 2000 operations last");
  run.erase("duration_s");
  run["pace"] = {{"kind", "open"}, {"rate_ops_s", 100}};  // 1 s
  expect_refused("spec.json: phases[1].beside[0].count: 2000 operations last");
  run["duration_s"] = 2;
  expect_refused("spec.json: phases[1].count: 100 operations last");
  run["duration_s"] = 0.1;
  run["trace"] = load;
  expect_refused("spec.json: phases[1].beside[0].trace: writes, as " +
                 directory_.File("spec.json") + ": phases[1].trace does");
  run["trace"] = read;
  run["beside"][0]["start"] = kKeys;
  run["beside"][0]["count"] = 1;
  expect_refused("spec.json: phases[1].beside[0].count: records ");
}

TEST_F(DriverTest, RunsOnAModelledDevice) {
  spec_["device"] = Json::parse(kSsd);
  spec_["phases"] = {
      ReplayPhase("load", LoadTrace()), OtherPhase("settle", "wait_idle"),
      OtherPhase("again", "reopen"), ReplayPhase("mixed", MixedTrace())};
  ASSERT_EQ(Run(), 0) << stderr_;
  const Json record = Record();
  const Json& counters = record["phases"][3]["counters"];
  EXPECT_GT(counters["device_reads"], 100);
  EXPECT_GT(counters["device_busy_us"], 100 * 50);
  EXPECT_GT(record["phases"][3]["latency_us"]["read"]["max"], 50);
}

TEST_F(DriverTest, RunsOnShingledDisks) {
  spec_["device"] = Json::parse(R"({"id": "smr", "kind": "smr",
      "read_bandwidth_mb_s": 150000, "write_bandwidth_mb_s": 150000,
      "read_seek_ms": 0.012, "write_seek_ms": 0.012, "rotation_rpm": 5900000,
      "band_bytes": 1048576, "media_cache_bytes": 1048576,
      "clean_after_idle_ms": 0.01, "read_ahead_bytes": 131072,
      "writeback_bytes": 4194304, "dirty_limit_bytes": 268435456,
      "page_cache_bytes": 0, "sync_latency_us": 0.1})");
  spec_["phases"] = {ReplayPhase("load", LoadTrace()),
                     OtherPhase("compact", "compact_range"),
                     ReplayPhase("mixed", MixedTrace())};
  for (const bool zoned : {false, true}) {
    if (zoned) {
      spec_["device"]["kind"] = "zoned_smr";
      for (const char* key : {"media_cache_bytes", "clean_after_idle_ms"}) {
        spec_["device"].erase(key);
      }
    }
    std::filesystem::remove_all(out_);
    ASSERT_EQ(Run(), 0) << stderr_;
    const Json record = Record();
    // What is cleaned is no write of the engine's.
    EXPECT_THAT(record["suspect"].dump(), Not(HasSubstr("accounts")));
    int64_t cleaned = 0;
    for (const Json& phase : record["phases"]) {
      cleaned +=
          phase["counters"]["device_cleaning_write_bytes"].get<int64_t>();
    }
    if (zoned) {
      EXPECT_EQ(cleaned, 0);
    } else {
      EXPECT_GT(cleaned, 0);
    }
  }
}

TEST_F(DriverTest, ReadsAndWritesTablesPastTheHost) {
  spec_["device"] = Json::parse(R"({"id": "hdd", "kind": "hdd",
      "read_bandwidth_mb_s": 100000, "write_bandwidth_mb_s": 100000,
      "read_seek_ms": 0.008, "write_seek_ms": 0.009, "rotation_rpm": 7200000,
      "read_ahead_bytes": 131072, "writeback_bytes": 16777216,
      "dirty_limit_bytes": 268435456, "page_cache_bytes": 268435456,
      "sync_latency_us": 0.1})");
  spec_["phases"] = {ReplayPhase("load", LoadTrace()),
                     OtherPhase("compact", "compact_range"),
                     ReplayPhase("mixed", MixedTrace())};
  for (const bool direct_io : {false, true}) {
    spec_["engine"]["direct_io"] = direct_io;
    std::filesystem::remove_all(out_);
    ASSERT_EQ(Run(), 0) << stderr_;
    const Json record = Record();
    EXPECT_EQ(record["spec"], spec_);
    // A busy host may wake it late, but all accounts of what it wrote agree.
    EXPECT_THAT(record["suspect"].dump(), Not(HasSubstr("accounts")));
    const Json& compaction = record["phases"][1]["counters"];
    // Whatever was written before is in the page cache.
    if (direct_io) {
      EXPECT_GT(compaction["device_read_bytes"], kKeys * kValueBytes / 4);
    } else {
      EXPECT_EQ(compaction["device_read_bytes"], 0);
    }
  }
}

TEST_F(DriverTest, SpreadsTablesOverMountsAndLeavesNothingThere) {
  const std::string load = LoadTrace(), mixed = MixedTrace();
  const std::vector<std::string> mounts = {directory_.File("mount_a"),
                                           directory_.File("mount_b")};
  for (const std::string& mount : mounts) {
    std::filesystem::create_directory(mount);
  }
  const auto expect_mounts_empty = [&] {
    for (const std::string& mount : mounts) {
      EXPECT_TRUE(std::filesystem::is_empty(mount)) << mount;
    }
  };
  const auto table_bytes = [](const Json& record) {
    int64_t bytes = 0;
    for (const Json& mount : record.value("mounts", Json::array())) {
      bytes += mount["table_bytes"].get<int64_t>();
    }
    return bytes;
  };
  spec_["device"] = {{"id", "disks"}, {"kind", "path"}, {"mounts", mounts}};
  spec_["keep_database"] = true;
  spec_["phases"] = {ReplayPhase("load", load), OtherPhase("again", "reopen"),
                     ReplayPhase("mixed", mixed),
                     OtherPhase("compact", "compact_range")};
  for (const bool direct_io : {false, true}) {
    spec_["engine"]["direct_io"] = direct_io;
    std::filesystem::remove_all(data_);
    ASSERT_EQ(Run(), 0) << stderr_;
    const Json record = Record();
    EXPECT_EQ(record["suspect"], Json::array());
    EXPECT_GT(table_bytes(record), kKeys * kValueBytes / 4);
    expect_mounts_empty();
  }

  // A kept database needs no mount any more, and can be spread again.
  const std::string kept = directory_.File("kept");
  std::filesystem::rename(data_, kept);
  spec_["keep_database"] = false;
  spec_["start_from"] = {{"run", "00000000000000aa"},
                         {"database", kept},
                         {"traces", {load, mixed}}};
  TraceBuilder reads;
  for (int i = 0; i < kKeys; i++) reads.Add(Operation::kRead, i);
  spec_["phases"] = {ReplayPhase("read", Trace("reads", reads))};
  for (const bool spread : {false, true}) {
    if (spread) spec_["device"]["mounts"] = mounts;
    if (!spread) spec_["device"].erase("mounts");
    ASSERT_EQ(Run(), 0) << stderr_;
    const Json record = Record();
    EXPECT_GT(record["phases"][0]["verified"]["found"], 1000);
    ASSERT_EQ(record.contains("mounts"), spread);
    if (spread) {
      EXPECT_GT(table_bytes(record), kKeys * kValueBytes / 4);
    }
    expect_mounts_empty();
  }

  // Nor does a run that fails leave anything.
  std::filesystem::remove_all(out_);
  spec_["start_from"]["traces"] = {load};
  ExpectFails(4, "record ");
  expect_mounts_empty();
}

TEST_F(DriverTest, RefusesMountsThatItCannotUse) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace())};
  const std::string mount = directory_.File("mount");
  std::filesystem::create_directory(mount);
  const auto expect_refused = [&](const std::string& kind, const Json& mounts,
                                  const std::string& what) {
    spec_["device"] = {{"id", "disks"}, {"kind", kind}, {"mounts", mounts}};
    ExpectFails(2, "spec.json: device.mounts[" + what);
    EXPECT_FALSE(std::filesystem::exists(data_));
    EXPECT_TRUE(std::filesystem::is_empty(mount));
  };
  const std::string none = directory_.File("none");
  expect_refused("path", {mount, none},
                 "1]: cannot put tables into \"" + none + "\": No such");
  expect_refused("path", {mount, "/proc"},
                 "1]: cannot put tables into \"/proc\": ");
  expect_refused("path", {mount, mount},
                 "1]: \"" + mount + "\" is named twice");
  expect_refused("memory", {mount},
                 "0]: \"" + mount + "\" needs a device of kind path");
}

TEST_F(DriverTest, StartsFromAKeptDatabase) {
  const std::string load = LoadTrace(), mixed = MixedTrace();
  spec_["keep_database"] = true;
  spec_["phases"] = {ReplayPhase("load", load), ReplayPhase("mixed", mixed)};
  ASSERT_EQ(Run(), 0) << stderr_;
  const std::string kept = directory_.File("kept");
  std::filesystem::rename(data_, kept);

  spec_["run"] = "00000000000000bb";
  spec_["keep_database"] = false;
  spec_["start_from"] = {{"run", "00000000000000aa"},
                         {"database", kept},
                         {"traces", {load, mixed}}};
  spec_["phases"] = {ReplayPhase("mixed", mixed)};
  std::filesystem::remove_all(out_);
  ASSERT_EQ(Run(), 0) << stderr_;
  EXPECT_GT(Record()["phases"][0]["verified"]["found"], 1000);
  EXPECT_TRUE(std::filesystem::exists(kept + "/CURRENT"));

  // Versions that the database does not have: one trace too few.
  spec_["start_from"]["traces"] = {load};
  std::filesystem::remove_all(out_);
  ExpectFails(4, mixed + ": record ");
  spec_["start_from"]["database"] = directory_.File("none");
  ExpectFails(2, directory_.File("none") + ": no database to start from");
}

TEST_F(DriverTest, FindsAPlantedWrongValue) {
  const std::string load = LoadTrace();
  spec_["keep_database"] = true;
  spec_["phases"] = {ReplayPhase("load", load)};
  ASSERT_EQ(Run(), 0) << stderr_;
  const std::string kept = directory_.File("kept");
  std::filesystem::rename(data_, kept);
  {
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), kept, &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    char key[kKeyBytes];
    EncodeKey(77, {KeyOrder::kHashed, spec_["seed"]}, key);
    const leveldb::Slice slice(key, kKeyBytes);
    std::string value;
    ASSERT_TRUE(db->Get(leveldb::ReadOptions(), slice, &value).ok());
    value[100] ^= 1;
    ASSERT_TRUE(db->Put(leveldb::WriteOptions(), slice, value).ok());
  }
  TraceBuilder reads;
  for (int i = 0; i < 100; i++) reads.Add(Operation::kRead, i);
  spec_["keep_database"] = false;
  spec_["start_from"] = {
      {"run", "00000000000000aa"}, {"database", kept}, {"traces", {load}}};
  spec_["phases"] = {ReplayPhase("read", Trace("reads", reads))};
  std::filesystem::remove_all(out_);
  ExpectFails(4, "record 77, key 77: a read found version 1 of key 77");
  EXPECT_FALSE(std::filesystem::exists(data_));
}

TEST_F(DriverTest, WaitsForNoOtherMeasurement) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace())};
  const std::string lock = directory_.File("lock");
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  ExpectFails(3, lock + ": another measurement is running");
  EXPECT_FALSE(std::filesystem::exists(out_));
  ::close(fd);
  EXPECT_EQ(Run(), 0) << stderr_;
}

TEST_F(DriverTest, RepeatsItselfButReplacesNoOtherRun) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace())};
  ASSERT_EQ(Run(), 0) << stderr_;
  ASSERT_EQ(Run(), 0) << stderr_;
  const std::string before = ReadText(out_ + "/run.json");
  spec_["run"] = "00000000000000bb";
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(stderr_, HasSubstr(out_ + "/run.json: holds the result of run "
                                        "00000000000000aa"));
  EXPECT_EQ(ReadText(out_ + "/run.json"), before);
}

TEST_F(DriverTest, LeavesAUsedDataDirectoryAlone) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace())};
  std::filesystem::create_directory(data_);
  WriteText(data_ + "/CURRENT", "of another run");
  ExpectFails(2, data_ + ": the data directory is not empty");
  EXPECT_EQ(ReadText(data_ + "/CURRENT"), "of another run");
}

TEST_F(DriverTest, NamesATruncatedTrace) {
  const std::string load = LoadTrace();
  std::filesystem::resize_file(load, 64 + 16 * 100);
  spec_["phases"] = {ReplayPhase("load", load)};
  ExpectFails(2, load + ": truncated trace");
  EXPECT_FALSE(std::filesystem::exists(data_));
}

TEST_F(DriverTest, NamesARangeThatIsNotInTheTrace) {
  Json phase = ReplayPhase("load", LoadTrace());
  phase["start"] = kKeys - 10;
  phase["count"] = 11;
  spec_["phases"] = {phase};
  ExpectFails(2, "spec.json: phases[0].count: ");
  phase["count"] = 10;
  phase["warmup_operations"] = 10;
  spec_["phases"] = {phase};
  ExpectFails(2, "spec.json: phases[0].warmup_operations: ");
}

TEST_F(DriverTest, NamesAnUnknownOption) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace())};
  spec_["engine"]["options"]["fan_out_of"] = 10;
  ExpectFails(2, "spec.json: engine.options.fan_out_of: ");
}

TEST_F(DriverTest, ReportsADiskThatFillsUp) {
  spec_["phases"] = {ReplayPhase("load", LoadTrace())};
  const std::string other = directory_.File("other");
  WriteText(other, "of another run");
  ExpectFails(5, data_ + ": ", 30000);
  EXPECT_THAT(stderr_, HasSubstr("File too large"));
  EXPECT_FALSE(std::filesystem::exists(data_));
  EXPECT_EQ(ReadText(other), "of another run");
}

TEST_F(DriverTest, ReportsAResultThatDoesNotFit) {
  spec_["engine"]["options"]["write_buffer_size"] = 65536;
  TraceBuilder reads;
  for (int i = 0; i < 10000; i++) reads.Add(Operation::kRead, i);
  spec_["phases"] = {ReplayPhase("read", Trace("reads", reads))};
  ExpectFails(5, out_ + "/latency.read.f32: cannot write", 30000);
}

TEST_F(DriverTest, ChecksForRoomFirst) {
  TraceBuilder builder;
  for (int i = 0; i < 200000; i++) builder.Add(Operation::kInsert, i, 1 << 20);
  spec_["phases"] = {ReplayPhase("load", Trace("huge", builder))};
  ExpectFails(5, "the run may need 838.");
}

TEST_F(DriverTest, TellsWhatThreadsCost) {
  FILE* const output = ::popen((Driver() + " --primitives").c_str(), "r");
  char line[1000];
  ASSERT_NE(std::fgets(line, sizeof(line), output), nullptr);
  EXPECT_EQ(::pclose(output), 0);
  const Json costs_ns = Json::parse(line);
  EXPECT_EQ(costs_ns.size(), 6u);
  for (const auto& [work, ns] : costs_ns.items()) EXPECT_GT(ns, 0) << work;
  EXPECT_GT(costs_ns["waits"], costs_ns["locks"]);
}

TEST_F(DriverTest, ExplainsItsCommandLine) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{Driver()},
        {Driver(), "--spec", "a", "--out", "b", "--data-dir", "c", "d"},
        {Driver(), "--primitives", "--spec", "a"},
        {Driver(), "--speck", "a"}}) {
    EXPECT_EQ(Execute(words, RLIM_INFINITY), 2);
    EXPECT_THAT(stderr_, HasSubstr("use --spec spec.json --out DIR"));
  }
}

}  // namespace
}  // namespace recompact
