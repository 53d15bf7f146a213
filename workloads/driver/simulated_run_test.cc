// Runs on simulated hosts are the same whatever machine simulates them.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "driver/driver_fixture.h"
#include "driver/simulated_host.h"
#include "simulator/work.h"

namespace recompact {
namespace {

class SimulatedRunTest : public DriverTest {
 protected:
  SimulatedRunTest() {
    Json costs;
    for (const char* name : kWorkNames) costs[name] = 1;
    costs["puts"] = 1500.5;
    costs["compares"] = 12.25;
    spec_["host"] = SimulatedHost("pristine", costs);
    spec_["host"]["processors"] = 2;
    spec_["device"] = Json::parse(kSsd);
    Json mixed = ReplayPhase("mixed", MixedTrace());
    mixed["threads"] = 3;
    spec_["phases"] = {ReplayPhase("load", LoadTrace()),
                       OtherPhase("again", "reopen"), mixed,
                       OtherPhase("compact", "compact_range")};
  }

  // What a run told, by name, without what is of the host at hand.
  std::map<std::string, std::string> Told() {
    std::map<std::string, std::string> told;
    Json record = Record();
    told["schedule"] = record["schedule"].dump();
    for (Json& phase : record["phases"]) {
      phase["counters"].erase("process_read_bytes");
      phase["work"].erase("own");
      for (Json& role : phase["work"]) role.erase("processor_ns");
      told[phase["name"]] = phase.dump();
    }
    for (const char* file :
         {"latency.load.f32", "latency.mixed.f32", "timeline.csv"}) {
      told[file] = ReadText(out_ + "/" + file);
    }
    return told;
  }
};

TEST_F(SimulatedRunTest, IsTheSameWhereverItIsAndWhateverRunsBeside) {
  ASSERT_EQ(Run(), 0) << stderr_;
  EXPECT_GT(Record()["schedule"]["switches"], 100);
  EXPECT_GT(Record()["simulating_s"], 0);
  EXPECT_GT(Record()["phases"][2]["counters"]["cpu_user_us"], 1000);
  EXPECT_GT(Record()["phases"][2]["work"]["client"]["compares"], 1000);
  const auto alone = Told();
  std::filesystem::remove_all(out_);
  data_ = directory_.File("another/and/longer/name");
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; i++) {
    others.emplace_back([&] {
      while (!done) {
      }
    });
  }
  EXPECT_EQ(Run(), 0) << stderr_;
  done = true;
  for (std::thread& other : others) other.join();
  const auto beside = Told();
  for (const auto& [name, text] : alone) {
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_TRUE(beside.at(name) == text) << name;
  }
}

TEST_F(SimulatedRunTest, LatenciesHaveWhatAnOperationCostsByItself) {
  constexpr double kCostUs = 50;
  for (const char* name : {"puts", "gets", "scans"}) {
    spec_["host"]["costs_ns"]["client"][name] = kCostUs * 1000;
  }
  ASSERT_EQ(Run(), 0) << stderr_;
  for (const char* phase : {"load", "mixed"}) {
    const std::vector<float> latencies_us = LatenciesUs(phase);
    ASSERT_FALSE(latencies_us.empty()) << phase;
    for (const float latency_us : latencies_us) {
      EXPECT_GE(latency_us, kCostUs) << phase;
    }
  }
}

TEST_F(SimulatedRunTest, TakesNoLock) {
  const int lock =
      ::open(directory_.File("lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  EXPECT_EQ(Run(), 0) << stderr_;
  EXPECT_FALSE(std::filesystem::exists(data_));
  ::close(lock);
}

}  // namespace
}  // namespace recompact
