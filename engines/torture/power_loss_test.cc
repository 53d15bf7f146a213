// The machine loses power at every sync of a script, just before and just
// after it; what was synced must be there.
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "torture/history.h"
#include "torture/simulated_env.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

constexpr uint64_t kScript = 2000;  // operations
constexpr char kPath[] = "/db";

// The parameter is an option set; two of them sync what a compaction wrote at
// its end.
class PowerLossTest : public ::testing::TestWithParam<const char*> {
 protected:
  PowerLossTest()
      : history_(GenerateWrites(flags.seed, flags.Count(kScript))),
        certain_(history_.operations().size()),
        random_(flags.seed) {}

  // Plays the script and loses power, on a copy, at each sync.
  void Run() {
    SimulatedEnv env(std::make_unique<SimulatedDisk>());
    const auto database = DatabaseOn(&env);
    ASSERT_TRUE(database->Open().ok());
    bool synced_before = false;
    env.SetHook([&](const FileOperation& operation, bool*) {
      // The state after a sync is that before the next operation.
      const bool sync = operation.kind == FileOperation::kSync;
      if (sync || synced_before) {
        LosePower(env.disk(), Loss::kDropped);
        LosePower(env.disk(), Loss::kTorn);
      }
      synced_before = sync;
      return leveldb::Status::OK();
    });
    for (const Operation& operation : history_.operations()) {
      issued_++;
      const leveldb::Status s = WriteTo(database.get(), operation, issued_);
      ASSERT_TRUE(s.ok()) << s.ToString();
      std::lock_guard<std::mutex> lock(mutex_);
      certain_[issued_ - 1] = operation.sync;
    }
    database->Close();
    env.WaitIdle();
  }

  uint64_t states_ = 0;
  uint64_t refused_ = 0;

 private:
  std::unique_ptr<Database> DatabaseOn(SimulatedEnv* env) {
    return MakeDatabase(GetParam(), env, kPath);
  }

  void LosePower(const SimulatedDisk& disk, Loss loss) {
    if (HasFailure()) return;  // One is enough
    std::vector<bool> certain;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      certain = certain_;
    }
    SimulatedEnv env(disk.AfterPowerLoss(loss, &random_));
    const auto database = DatabaseOn(&env);
    const std::string where = "seed " + std::to_string(flags.seed) +
                              ", unsynced data " +
                              (loss == Loss::kTorn ? "torn" : "dropped") +
                              " in operation " + std::to_string(issued_);
    states_++;
    const leveldb::Status s = database->Open();
    if (s.ok()) {
      const auto difference = history_.Judge(database.get(), certain, issued_);
      EXPECT_FALSE(difference) << *difference << "; " << where;
    } else {
      refused_++;
      EXPECT_EQ(loss, Loss::kTorn)
          << "nothing is torn, but the database does "
          << "not open: " << s.ToString() << "; " << where;
    }
  }

  const History history_;
  std::mutex mutex_;
  std::vector<bool> certain_;  // by operation
  std::mt19937_64 random_;
  std::atomic<uint64_t> issued_{0};
};

TEST_P(PowerLossTest, WhatWasSyncedIsThere) {
  Run();
  Report("power_loss_states", states_);
  Report("power_loss_refused", refused_);
}

INSTANTIATE_TEST_SUITE_P(Under, PowerLossTest,
                         ::testing::Values("small", "tables_at_once",
                                           "dtables_in_files"),
                         [](const auto& set) {
                           return std::string(set.param);
                         });

}  // namespace
}  // namespace recompact
