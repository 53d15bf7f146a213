#include "driver/run_record.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = 1 << 20;

class RunRecordTest : public ::testing::Test {
 protected:
  RunRecordTest() {
    phase_.name = "load";
    phase_.kind_name = "replay";
    PhaseResult result;
    result.phase = &phase_;
    result.duration_s = 10;
    result.counters = {{"device_lost_us", 0}, {"device_max_lag_us", 50}};
    result_.phases.push_back(result);
    result_.counters = {{"table_bytes_written", 900 * kMiB},
                        {"wal_bytes_written", 99 * kMiB},
                        {"manifest_bytes_written", 1 * kMiB},
                        {"process_write_bytes", 1001 * kMiB},
                        {"device_write_bytes", 995 * kMiB},
                        {"device_unsubmitted_bytes", 4 * kMiB}};
  }

  Phase phase_;
  RunResult result_;
};

TEST_F(RunRecordTest, AgreeingAccountsAreNotSuspect) {
  EXPECT_THAT(SuspectReasons(result_), IsEmpty());
}

TEST_F(RunRecordTest, EachAccountThatDiffersIsSuspect) {
  for (const char* name :
       {"table_bytes_written", "process_write_bytes", "device_write_bytes"}) {
    result_.counters[name] += 25 * kMiB;
    EXPECT_THAT(
        SuspectReasons(result_),
        ElementsAre(HasSubstr("the accounts of written bytes differ by 2.")))
        << name;
    result_.counters[name] -= 25 * kMiB;
  }
}

TEST_F(RunRecordTest, AccountsThatNobodyKeptAreLeftOut) {
  result_.counters.erase("wal_bytes_written");
  EXPECT_THAT(SuspectReasons(result_), IsEmpty());
  result_.counters.erase("process_write_bytes");
  EXPECT_THAT(SuspectReasons(result_), IsEmpty());
}

TEST_F(RunRecordTest, BuffersOfASmallRunAreNotSuspect) {
  for (auto& [name, value] : result_.counters) value = 0;
  result_.counters["device_write_bytes"] = 1 * kMiB;
  result_.counters["process_write_bytes"] = 1 * kMiB - 200000;
  result_.counters.erase("wal_bytes_written");
  EXPECT_THAT(SuspectReasons(result_), IsEmpty());
}

TEST_F(RunRecordTest, LostTimeIsSuspect) {
  Counters& counters = result_.phases[0].counters;
  counters["device_lost_us"] = 90000;
  EXPECT_THAT(SuspectReasons(result_), IsEmpty());
  counters["device_lost_us"] = 250000;
  counters["device_max_lag_us"] = 80000;
  EXPECT_THAT(SuspectReasons(result_),
              ElementsAre("the host could not keep up with the device model: "
                          "2.5 % of the time was lost in waking late, once by "
                          "80000 us"));
}

TEST_F(RunRecordTest, TellsWhatLayOnEachMount) {
  result_.mounts = {{"ext4", 1000}, {"xfs", 0}};
  const auto record = RunRecord(RunSpec(), result_);
  ASSERT_EQ(record["mounts"].size(), 2u);
  EXPECT_EQ(record["mounts"][0]["filesystem"], "ext4");
  EXPECT_EQ(record["mounts"][0]["table_bytes"], 1000);
  EXPECT_EQ(record["mounts"][1]["filesystem"], "xfs");
}

TEST_F(RunRecordTest, TellsHowOftenLevelOneWasRewritten) {
  RunSpec spec;
  EXPECT_FALSE(RunRecord(spec, result_)["phases"][0].contains("turnovers"));
  spec.engine_options["level_base_bytes"] = "1000000";
  EXPECT_FALSE(RunRecord(spec, result_)["phases"][0].contains("turnovers"));
  result_.phases[0].counters["level_1_bytes_written"] = 2500000;
  EXPECT_EQ(RunRecord(spec, result_)["phases"][0]["turnovers"], 2.5);
}

TEST_F(RunRecordTest, HoldsWhatTheContractNames) {
  RunSpec spec;
  spec.run = "0123456789abcdef";
  spec.engine_id = "pristine";
  spec.document = {{"schema", 1}, {"run", spec.run}};
  result_.started = "2020-01-02T03:04:05Z";
  result_.file_system = "tmpfs";
  const auto record = RunRecord(spec, result_);
  EXPECT_EQ(record["run"], spec.run);
  EXPECT_EQ(record["spec"], spec.document);
  EXPECT_EQ(record["engine"]["id"], "pristine");
  for (const char* name : {"compiler", "flags", "tree_hash"}) {
    EXPECT_TRUE(record["engine"]["build"][name].is_string()) << name;
  }
  EXPECT_FALSE(record["engine"]["build"]["libraries"]["snappy"].empty());
  EXPECT_TRUE(record["driver"]["source_hash"].is_string());
  for (const char* name : {"cpu", "cpu_family", "cpu_model", "cores",
                           "memory_bytes", "kernel", "os", "filesystem"}) {
    EXPECT_TRUE(record["host"].contains(name)) << name;
  }
  EXPECT_GT(record["host"]["memory_bytes"].get<uint64_t>(), 0u);
  EXPECT_GT(record["peak_rss_bytes"].get<uint64_t>(), 0u);
  EXPECT_TRUE(record["suspect"].is_array());
  EXPECT_EQ(record["phases"][0]["name"], "load");
  EXPECT_TRUE(record["phases"][0]["levels"].is_array());
  EXPECT_TRUE(record["phases"][0]["space"].is_object());
  EXPECT_FALSE(record.contains("mounts"));
}

}  // namespace
}  // namespace recompact
