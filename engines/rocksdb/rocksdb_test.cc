// What the driver and the tables take from RocksDB: options, counters, space.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/device_env.h"
#include "driver/test_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rocksdb/version.h"
#include "seams/engine_options.h"
#include "simulator/work.h"

namespace recompact {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class RocksDbTest : public ::testing::Test {
 protected:
  RocksDbTest() { Use(leveldb::Env::Default()); }

  void Use(leveldb::Env* env, const std::string& name = "db") {
    db_.reset();
    path_ = directory_.File(name);
    options_ = EngineOptions::New(env);
  }

  void Set(const std::string& name, const std::string& value) {
    std::string error;
    ASSERT_TRUE(options_->Set(name, value, &error)) << error;
  }

  void Open() {
    db_.reset();
    leveldb::DB* db = nullptr;
    const leveldb::Status s = options_->Open(path_, &db);
    ASSERT_TRUE(s.ok()) << s.ToString();
    db_.reset(db);
  }

  // A memtable of 64 KiB is RocksDB's smallest.
  void OpenSmall(const std::string& style) {
    Set("compaction_style", style);
    Set("write_buffer_size", "65536");
    Set("max_file_size", "65536");
    Set("level_base_bytes", "262144");
    Set("compression", "none");
    Open();
  }

  static std::string Key(int number) { return std::to_string(100000 + number); }

  // Writes entries of 1 KB and waits until nothing is left to do.
  void Write(int count, int stride) {
    for (int i = 0; i < count; i++) {
      const leveldb::Status s =
          db_->Put(leveldb::WriteOptions(), Key(i * stride % count),
                   std::string(1000, 'a' + i % 26));
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
    while (Property("recompact.idle") != "1") {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::string Property(const std::string& name) {
    std::string value;
    EXPECT_TRUE(db_->GetProperty(name, &value)) << name;
    return value;
  }

  Json Stats() { return Json::parse(Property("recompact.stats")); }

  TestDirectory directory_;
  std::string path_;
  std::unique_ptr<EngineOptions> options_;
  std::unique_ptr<leveldb::DB> db_;
};

TEST_F(RocksDbTest, TellsWhichOptionTheLibraryDoesNotTake) {
  std::string error;
  EXPECT_FALSE(options_->Set("fan_out_of", "7", &error));
  EXPECT_THAT(error, HasSubstr("does not take \"7\" for fan_out_of"));
  EXPECT_THAT(error, HasSubstr("RocksDB " + std::to_string(ROCKSDB_MAJOR)));
  EXPECT_FALSE(options_->Set("num_levels", "many", &error));
  EXPECT_FALSE(options_->Set("bloom_bits_per_key", "many", &error));
  EXPECT_EQ(error, "\"many\" is not a number");
}

TEST_F(RocksDbTest, CountsWhatItFlushesAndCompacts) {
  Set("event_log_path", directory_.File("events.jsonl"));
  OpenSmall("kCompactionStyleLevel");
  Write(3000, 7);
  const Json stats = Stats();
  const auto of = [&stats](const char* name) {
    return stats.at(name).get<int64_t>();
  };
  EXPECT_GT(of("flush_count"), 10);
  EXPECT_GT(of("compaction_count"), 1);
  EXPECT_GT(of("flush_bytes_written"), 2'900'000);
  EXPECT_GT(of("wal_bytes_written"), 3'000'000);
  EXPECT_GT(of("manifest_bytes_written"), 0);
  EXPECT_GT(of("compaction_bytes_read"), 0);
  // Its tickers and the list of events tell the same, but for footers.
  const double written =
      of("flush_bytes_written") + of("compaction_bytes_written");
  EXPECT_NEAR(of("table_bytes_written") / written, 1, 0.02);
  int64_t files = 0, bytes = 0, flushed = 0;
  for (const Json& level : stats.at("levels")) {
    EXPECT_EQ(level.at("files").dump(), Property("rocksdb.num-files-at-level" +
                                                 level.at("level").dump()));
    files += level.at("files").get<int64_t>();
    bytes += level.at("bytes").get<int64_t>();
    flushed += level.at("flush_count").get<int64_t>();
  }
  EXPECT_EQ(std::to_string(files), Property("recompact.tables"));
  EXPECT_EQ(std::to_string(bytes), Property("rocksdb.live-sst-files-size"));
  EXPECT_EQ(flushed, of("flush_count"));

  db_.reset();
  std::ifstream log(directory_.File("events.jsonl"));
  int64_t compactions = 0, flushes = 0, read_of_level_2 = 0;
  for (std::string line; std::getline(log, line);) {
    const Json event = Json::parse(line);
    compactions += event.at("type") == "compaction";
    flushes += event.at("type") == "flush";
    if (event.at("level") == 2) {
      read_of_level_2 += event.at("bytes_read_lower").get<int64_t>();
    }
  }
  EXPECT_GT(read_of_level_2, 0);
  EXPECT_EQ(compactions, of("compaction_count"));
  EXPECT_EQ(flushes, of("flush_count"));
}

TEST_F(RocksDbTest, LeveledMovesAscendingTablesAndUniversalMergesThem) {
  OpenSmall("kCompactionStyleLevel");
  Write(2000, 1);
  EXPECT_GT(Stats().at("trivial_move_count"), 0);
  EXPECT_EQ(Stats().at("compaction_bytes_written"), 0);
  Use(leveldb::Env::Default(), "universal");
  OpenSmall("kCompactionStyleUniversal");
  Write(2000, 1);
  EXPECT_EQ(Stats().at("trivial_move_count"), 0);
  EXPECT_GT(Stats().at("compaction_bytes_written"), 0);
}

TEST_F(RocksDbTest, LeveledMovesOneTableAtATimeIfToldSo) {
  const auto most_moved_at_once = [this](const std::string& name) {
    Set("event_log_path", directory_.File(name + ".jsonl"));
    OpenSmall("kCompactionStyleLevel");
    Write(4000, 1);
    EXPECT_GT(Stats().at("trivial_move_count"), 0);
    db_.reset();
    std::ifstream log(directory_.File(name + ".jsonl"));
    int64_t most = 0;
    for (std::string line; std::getline(log, line);) {
      const Json event = Json::parse(line);
      if (event.at("type") != "trivial_move" || event.at("level") < 2) continue;
      most = std::max(most, event.at("inputs_upper").get<int64_t>());
    }
    return most;
  };
  EXPECT_GT(most_moved_at_once("several"), 1);
  Use(leveldb::Env::Default(), "one");
  Set("compression_per_level", "kNoCompression");
  EXPECT_EQ(most_moved_at_once("one"), 1);
}

TEST_F(RocksDbTest, UniversalMovesThemIfToldSo) {
  Set("compaction_options_universal", "{allow_trivial_move=true}");
  OpenSmall("kCompactionStyleUniversal");
  Write(2000, 1);
  EXPECT_GT(Stats().at("trivial_move_count"), 0);
  EXPECT_EQ(Stats().at("compaction_count"), 0);
  EXPECT_EQ(Stats().at("compaction_bytes_read"), 0);
}

TEST_F(RocksDbTest, CountsTheBlocksThatUsersRead) {
  Set("block_cache_bytes", "0");
  OpenSmall("kCompactionStyleLevel");
  Write(500, 7);
  db_->CompactRange(nullptr, nullptr);
  Open();
  const Json before = Stats();
  std::string value;
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(db_->Get(leveldb::ReadOptions(), Key(i), &value).ok());
  }
  const Json after = Stats();
  const auto rise = [&](const char* name) {
    return after.at(name).get<int64_t>() - before.at(name).get<int64_t>();
  };
  EXPECT_GE(rise("block_reads"), 100);
  EXPECT_LE(rise("block_reads"), 120);  // and the indexes of tables
  EXPECT_GE(rise("block_read_bytes"), 100 * 4000);
  EXPECT_EQ(rise("block_cache_hits"), 0);
}

TEST_F(RocksDbTest, FilterChecksAreWorkOfTheThreadThatReads) {
  Set("bloom_bits_per_key", "10");
  OpenSmall("kCompactionStyleLevel");
  Write(500, 7);
  db_->CompactRange(nullptr, nullptr);
  const auto& checks =
      work_of_this_thread.counts.of[static_cast<int>(Work::kFilterCheck)];
  const uint64_t before = checks;
  std::string value;
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(db_->Get(leveldb::ReadOptions(), Key(i), &value).ok());
  }
  EXPECT_EQ(checks - before, 100u);
}

TEST_F(RocksDbTest, TellsSpaceByClass) {
  OpenSmall("kCompactionStyleUniversal");
  Write(2000, 7);
  const Json space = Json::parse(Property("recompact.space"));
  EXPECT_GT(space.at("live_bytes"), 1'900'000);
  EXPECT_EQ(space.at("pinned_bytes"), 0);
  const std::unique_ptr<leveldb::Iterator> holds(
      db_->NewIterator(leveldb::ReadOptions()));
  db_->CompactRange(nullptr, nullptr);
  const Json held = Json::parse(Property("recompact.space"));
  EXPECT_GT(held.at("pinned_bytes"), 1'000'000);
}

TEST_F(RocksDbTest, NoTableOfAnOpenedDatabaseIsTakenForOneBeingWritten) {
  OpenSmall("kCompactionStyleLevel");
  Write(2000, 7);
  Open();
  const Json space = Json::parse(Property("recompact.space"));
  EXPECT_GT(space.at("live_bytes"), 1'900'000);
  EXPECT_EQ(space.at("pending_bytes"), 0);
  EXPECT_EQ(space.at("obsolete_bytes"), 0);
}

// Fails writes once it is told to.
class FullDiskEnv : public leveldb::EnvWrapper {
 public:
  FullDiskEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override {
    if (full) return leveldb::Status::IOError(name, std::strerror(ENOSPC));
    return target()->NewWritableFile(name, result);
  }

  std::atomic<bool> full{false};
};

TEST_F(RocksDbTest, AFullDiskIsAnErrorThatSaysSo) {
  FullDiskEnv env;
  Use(&env);
  OpenSmall("kCompactionStyleLevel");
  env.full = true;
  leveldb::Status s;
  for (int i = 0; i < 10000 && s.ok(); i++) {
    s = db_->Put(leveldb::WriteOptions(), Key(i), std::string(1000, 'x'));
  }
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_THAT(s.ToString(), HasSubstr("No space left on device"));
  db_.reset();
}

}  // namespace
}  // namespace recompact
