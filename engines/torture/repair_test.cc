// Tables are damaged and CURRENT is lost: RepairDB either makes the database
// whole, but for what was in the damaged blocks, or says why not and changes
// nothing.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "torture/repair_fixture.h"

namespace recompact {
namespace {

constexpr uint64_t kDamages = 60;    // under each option set
constexpr uint64_t kCrashes = 40;    // the same
constexpr uint64_t kMostTables = 3;  // that are damaged at once

class RepairTest : public RepairFixture {
 protected:
  // Damages some tables, and CURRENT if that is asked for; says what it did.
  std::string Damage(uint64_t number, bool current, Files* damaged,
                     Uncertain* uncertain) const {
    std::mt19937_64 random(flags.seed * 1'000'003 + number);
    std::vector<std::string> tables = NamesOfType(files_, "table");
    std::shuffle(tables.begin(), tables.end(), random);
    tables.resize(std::min<size_t>(tables.size(), 1 + random() % kMostTables));
    std::string what = "damage " + std::to_string(number) + ", seed " +
                       std::to_string(flags.seed) + ": ";
    *damaged = files_;
    // First, since it may want a table to name.
    if (current)
      what +=
          DamageCurrent(damaged, random() % kWaysToLoseCurrent, &random) + ", ";
    for (const std::string& table : tables) {
      if (damaged->at(table).empty()) continue;
      what += DamageTable(damaged, table, &random);
      AddUncertain(*damaged, table, uncertain);
    }
    return what;
  }
};

TEST_P(RepairTest, AfterOkItReadsAndTakesWrites) {
  const uint64_t damages = flags.Count(kDamages);
  for (uint64_t number = 0; number < damages; number++) {
    Files damaged;
    Uncertain uncertain;
    const std::string what =
        Damage(number, number % 2 == 1, &damaged, &uncertain);
    const auto env = EnvWith(damaged);
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    EXPECT_TRUE(s.ok()) << s.ToString() << "; " << what;
    EXPECT_EQ(s.ok() ? JudgeRepaired(env.get(), uncertain) : "", "") << what;
    if (HasFailure()) return;  // One is enough
  }
  Report("repairs", damages);
}

TEST_P(RepairTest, ALostCurrentIsRepaired) {
  std::mt19937_64 random(flags.seed);
  for (unsigned way = 0; way < kWaysToLoseCurrent; way++) {
    Files damaged = files_;
    const std::string what = DamageCurrent(&damaged, way, &random);
    damaged[std::string(kPath) + "/000007.dbtmp"] = "MANIFEST-0";
    const auto env = EnvWith(damaged);
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    ASSERT_TRUE(s.ok()) << s.ToString() << "; " << what;
    ASSERT_EQ(JudgeRepaired(env.get(), {}), "") << what;
  }
}

TEST_P(RepairTest, AnOpenWithoutCurrentKeepsTheTables) {
  Files damaged = files_;
  damaged.erase(std::string(kPath) + "/CURRENT");
  {
    const auto env = EnvWith(damaged);
    const leveldb::Status s = DatabaseOn(env.get())->Open();
    EXPECT_TRUE(s.IsCorruption()) << s.ToString();
    EXPECT_NE(s.ToString().find("RepairDB"), std::string::npos) << s.ToString();
    EXPECT_TRUE(WithoutNotes(FilesOf(*env)) == WithoutNotes(damaged));
  }
  // What a crash in the middle of the first opening leaves.
  for (const std::string& table : NamesOfType(files_, "table")) {
    damaged.erase(table);
  }
  const auto env = EnvWith(damaged);
  const leveldb::Status s = DatabaseOn(env.get())->Open();
  EXPECT_TRUE(s.ok()) << s.ToString();
}

TEST_P(RepairTest, AWholeDatabaseLosesNothingByIt) {
  const auto env = EnvWith(files_);
  for (int i = 0; i < 2; i++) {
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    ASSERT_TRUE(s.ok()) << s.ToString();
    for (const auto& [name, data] : FilesOf(*env)) {
      EXPECT_EQ(name.find("/lost/"), std::string::npos) << name;
    }
  }
  EXPECT_EQ(JudgeRepaired(env.get(), {}), "");
}

// They were called so before LevelDB 1.14; it still reads them.
TEST_P(RepairTest, TablesWithTheirOldNameAreRepaired) {
  if (std::string(GetParam()).find("dtables_in_files") == 0) {
    GTEST_SKIP() << "tables in one file are younger than that name";
  }
  for (const std::string& table : NamesOfType(files_, "table")) {
    auto file = files_.extract(table);
    file.key() = table.substr(0, table.rfind('.')) + ".sst";
    files_.insert(std::move(file));
  }
  for (uint64_t number = 0; number < flags.Count(kDamages / 10); number++) {
    Files damaged;
    Uncertain uncertain;
    const std::string what = Damage(number, false, &damaged, &uncertain);
    const auto env = EnvWith(damaged);
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    ASSERT_TRUE(s.ok()) << s.ToString() << "; " << what;
    ASSERT_EQ(JudgeRepaired(env.get(), uncertain), "") << what;
  }
}

// Writes are lost where a log or the end of a MANIFEST is, but what is left can
// be read, and a paranoid database opens.
TEST_P(RepairTest, ADamagedLogOrACutManifestStopsNothing) {
  Uncertain all;
  for (uint32_t key = 0; key < kKeyCount; key++) all.insert(KeyOf(key));
  const auto log = NamesOfType(files_, "log").back();
  const auto manifest = NamesOfType(files_, "manifest").back();
  for (uint64_t number = 0; number < flags.Count(kDamages); number++) {
    std::mt19937_64 random(flags.seed + number);
    Files damaged = files_;
    std::string what;
    if (number % 2 == 0 && !files_.at(log).empty()) {
      what = DamageTable(&damaged, log, &random);
    } else if (HasOwnFormat()) {
      damaged[manifest].resize(random() % damaged[manifest].size());
      what = "MANIFEST cut to " + std::to_string(damaged[manifest].size());
    }
    const auto env = EnvWith(damaged);
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    if (s.ok()) {
      ASSERT_EQ(JudgeRepaired(env.get(), all), "") << what;
    } else {
      ASSERT_NE(s.ToString().find("MANIFEST"), std::string::npos)
          << s.ToString() << "; " << what;
      ASSERT_TRUE(WithoutNotes(FilesOf(*env)) == WithoutNotes(damaged)) << what;
    }
  }
}

TEST_P(RepairTest, ARefusalIsTrueAndChangesNothing) {
  const auto refused = [this](Files damaged, const char* why) {
    const auto env = EnvWith(damaged);
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    EXPECT_FALSE(s.ok()) << why;
    EXPECT_NE(s.ToString().find(why), std::string::npos) << s.ToString();
    EXPECT_TRUE(WithoutNotes(FilesOf(*env)) == WithoutNotes(damaged)) << why;
  };
  refused({}, "repair found no files");
  Files damaged = files_;
  const std::string manifest = NamesOfType(files_, "manifest").back();
  const std::string table = NamesOfType(files_, "table").front();
  damaged[table].clear();
  {
    const auto env = EnvWith(files_);
    const auto database = DatabaseOn(env.get());
    ASSERT_TRUE(database->Open().ok());
    const leveldb::Status s = DatabaseOn(env.get())->Repair();
    EXPECT_NE(s.ToString().find("lock"), std::string::npos) << s.ToString();
  }
  std::string unknown;
  for (const char* levels : {"3", "13"}) {
    const auto whole = EnvWith(files_), env = EnvWith(damaged);
    const auto database = DatabaseOn(whole.get());
    const auto repaired = DatabaseOn(env.get());
    ASSERT_TRUE(database->options()->Set("num_levels", levels, &unknown));
    ASSERT_TRUE(repaired->options()->Set("num_levels", levels, &unknown));
    const leveldb::Status s = database->Open();
    if (!s.IsInvalidArgument()) continue;
    EXPECT_EQ(repaired->Repair().ToString(), s.ToString());
    EXPECT_TRUE(WithoutNotes(FilesOf(*env)) == WithoutNotes(damaged)) << levels;
  }
  // Upstream's way, which needs no MANIFEST, is open to upstream's format.
  if (!HasOwnFormat()) return;
  damaged[manifest][damaged[manifest].size() / 2] ^= 1;
  refused(damaged, "its MANIFEST cannot be read");
  damaged.erase(manifest);
  refused(damaged, "it has no MANIFEST");
}

// All calls fail from some moment on, then the power goes: another repair comes
// to the same end.
TEST_P(RepairTest, ACrashInTheMiddleLosesNothingMore) {
  for (uint64_t number = 0; number < flags.Count(kCrashes); number++) {
    std::mt19937_64 random(flags.seed + number);
    Files damaged;
    Uncertain uncertain;
    const std::string what =
        Damage(number, number % 2 == 0, &damaged, &uncertain);
    const auto env = EnvWith(damaged);
    uint64_t left = random() % 60;
    env->SetHook([&left](const FileOperation& operation, bool*) {
      if (operation.kind == FileOperation::kOpen ||
          operation.kind == FileOperation::kRead) {
        return leveldb::Status::OK();
      }
      if (left == 0) return leveldb::Status::IOError("the end");
      left--;
      return leveldb::Status::OK();
    });
    DatabaseOn(env.get())->Repair();
    env->WaitIdle();
    const SimulatedEnv::Hook none;
    env->SetHook(none);
    SimulatedEnv after(env->disk().AfterPowerLoss(
        number % 3 == 0 ? Loss::kTorn : Loss::kDropped, &random));
    const leveldb::Status s = DatabaseOn(&after)->Repair();
    ASSERT_TRUE(s.ok()) << s.ToString() << "; " << what;
    ASSERT_EQ(JudgeRepaired(&after, uncertain), "") << what;
  }
  Report("repairs_after_a_crash", flags.Count(kCrashes));
}

INSTANTIATE_TEST_SUITE_P(
    Under, RepairTest,
    ::testing::Values("small", "bloom", "filters_of_tables", "no_compression",
                      "reused_logs", "fan_out_2", "few_open_files",
                      "lazy_level_0", "merge_hardly_ever",
                      "buffer_of_all_levels", "trimmed_buffer",
                      "tables_at_once", "dtables_in_files",
                      "dtables_in_files_deep"),
    [](const auto& set) { return std::string(set.param); });

}  // namespace
}  // namespace recompact
