#include <memory>
#include <string>

#include "driver/device_env.h"
#include "driver/device_env_fixture.h"
#include "leveldb/db.h"
#include "leveldb/options.h"

namespace recompact {
namespace {

constexpr uint64_t kBlock = FilePlacement::kBlockBytes;
constexpr uint64_t kBand = 16 * kBlock;
constexpr int64_t kBlockNs = kBlock * 10;

DeviceParameters Shingled(DeviceKind kind, bool own_bands = false) {
  DeviceParameters parameters = SimpleHdd();
  parameters.kind = kind;
  parameters.writeback_bytes = 1;  // Each append is a request
  parameters.dirty_limit_bytes = 0;
  parameters.band_bytes = kBand;
  parameters.media_cache_bytes = 4 * kBand;
  parameters.clean_after_idle_ms = 100;
  parameters.own_bands = own_bands;
  return parameters;
}

// Files on a shingled disk.
class ShingledEnvTest : public DeviceEnvTest {
 public:
  void Append(const std::string& name, uint64_t bytes) {
    leveldb::WritableFile* file = nullptr;
    ASSERT_TRUE(env_->NewAppendableFile(directory_.File(name), &file).ok());
    ASSERT_TRUE(file->Append(std::string(bytes, 'x')).ok());
    delete file;
  }
  void Remove(const std::string& name) {
    ASSERT_TRUE(env_->RemoveFile(directory_.File(name)).ok());
  }
  CleaningCounters Cleaning() { return *env_->Counters().cleaning; }
};

TEST_F(ShingledEnvTest, FilesLieWhereThereIsRoom) {
  NewEnv(Shingled(DeviceKind::kSmr));
  EXPECT_EQ(Took([&] { Append("a", kBlock); }), 10 * kMs + kBlockNs);
  EXPECT_EQ(Took([&] { Append("b", kBlock); }), kBlockNs);
  EXPECT_EQ(Took([&] { Append("a", kBlock); }), kBlockNs);
  // A file in two parts
  auto file = Open("a");
  EXPECT_EQ(Took([&] { Read(file.get(), 0, 2 * kBlock); }),
            20 * kMs + 2 * kBlockNs);
  EXPECT_EQ(env_->Counters().reads, 1u);
  EXPECT_EQ(env_->Counters().read_bytes, 2 * kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
}

TEST_F(ShingledEnvTest, WhatFillsTheHoleOfARemovedFileIsCleaned) {
  NewEnv(Shingled(DeviceKind::kSmr));
  for (const char* name : {"a", "b", "c"}) Append(name, 4 * kBlock);
  Remove("b");
  Append("d", 3 * kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 3 * kBlock);
  clock_.Advance(200 * kMs);
  EXPECT_EQ(env_->QueueUs(), 0u);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  EXPECT_EQ(Cleaning().read_bytes, 15 * kBlock);
  EXPECT_EQ(Cleaning().write_bytes, 12 * kBlock);
  // The host's bytes count once.
  EXPECT_EQ(env_->Counters().write_bytes, 15 * kBlock);
}

TEST_F(ShingledEnvTest, AnEmptyBandIsWrittenFromItsBeginning) {
  NewEnv(Shingled(DeviceKind::kSmr));
  Append("a", kBand);
  Append("b", kBand);
  Remove("a");
  Append("c", kBand);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
}

TEST_F(ShingledEnvTest, ATableWithBandsOfItsOwnIsAppendedTo) {
  NewEnv(Shingled(DeviceKind::kSmr, /*own_bands=*/true));
  Append("000005.log", 100);
  Append("000006.ldb", kBlock + 1);
  Append("000007.ldb", kBlock);
  Append("000008.log", 100);
  Append("000006.ldb", kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  // The next band that is free
  Append("000006.ldb", kBand);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  Remove("000007.ldb");
  Append("000009.ldb", kBand);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  // The logs share a band, so that one that grows later overwrites.
  Append("000005.log", 100);
  EXPECT_EQ(Cleaning().media_cache_bytes, 100u);
}

TEST_F(ShingledEnvTest, FilesThatAreThereLieInTheOrderOfTheirNames) {
  WriteText(directory_.File("b"), std::string(kBlock, 'x'));
  WriteText(directory_.File("a"), std::string(kBlock, 'x'));
  NewEnv(Shingled(DeviceKind::kSmr));
  auto a = Open("a"), b = Open("b");
  Read(a.get(), 0, kBlock);
  EXPECT_EQ(Took([&] { Read(b.get(), 0, kBlock); }), kBlockNs);
  // What comes behind goes on at the band's write pointer.
  EXPECT_EQ(Took([&] { Append("c", kBlock); }), kBlockNs);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
}

TEST_F(ShingledEnvTest, TheScaleDividesBands) {
  NewEnv(Shingled(DeviceKind::kSmr, /*own_bands=*/true), 16);
  Append("000005.ldb", 1);
  Append("000006.ldb", 1);
  auto file = Open("000005.ldb");
  EXPECT_EQ(Took([&] { Read(file.get(), 0, 1); }), 10 * kMs + 10);
  EXPECT_EQ(Took([&] { Append("000006.ldb", 1); }), 10 * kMs + 10);
  // The bands have one block each: the first file goes on behind the second.
  EXPECT_EQ(Took([&] { Append("000005.ldb", kBlock); }),
            20 * kMs + 10 * int64_t{kBlock});
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
}

TEST_F(ShingledEnvTest, EveryFileHasZonesUntilItGoes) {
  WriteText(directory_.File("000003.log"), std::string(100, 'x'));
  NewEnv(Shingled(DeviceKind::kZonedSmr));
  Append("000003.log", 100);
  for (const char* name : {"000004.log", "000005.ldb"}) Append(name, kBand + 1);
  Append("000004.log", kBand);
  Remove("000005.ldb");
  Append("000006.ldb", kBand + 1);
  // One that another takes the place of goes, too.
  Create("CURRENT")->Append("x");
  Create("000007.dbtmp")->Append("y");
  ASSERT_TRUE(env_->RenameFile(directory_.File("000007.dbtmp"),
                               directory_.File("CURRENT"))
                  .ok());
  Create("CURRENT")->Append("z");
  Append("000008.ldb", kBand);
  EXPECT_EQ(env_->FirstWriteError(), "");
  EXPECT_EQ(Cleaning().write_bytes, 0u);
  EXPECT_EQ(env_->Counters().write_bytes, 100 + 5 * kBand + 3 + 3);
}

// LevelDB's files, written and removed by its compactions.
TEST_F(ShingledEnvTest, LevelDbIsCleanedForWhereItOverwrites) {
  const auto auxiliary_write_amplification =
      [this](const DeviceParameters& parameters) {
        TestDirectory directory;
        DeviceEnv env(leveldb::Env::Default(), parameters, 1, directory.path(),
                      &clock_);
        leveldb::Options options;
        options.env = &env;
        options.create_if_missing = true;
        options.write_buffer_size = 64 << 10;
        options.max_file_size = 1 << 20;
        options.compression = leveldb::kNoCompression;
        leveldb::DB* opened = nullptr;
        EXPECT_TRUE(leveldb::DB::Open(options, directory.path(), &opened).ok());
        std::unique_ptr<leveldb::DB> db(opened);
        const std::string value(900, 'v');
        std::string found;
        for (int i = 0; i < 4000; i++) {
          const std::string key = std::to_string(i * 7919 % 1000);
          EXPECT_TRUE(db->Put(leveldb::WriteOptions(), key, value + key).ok());
        }
        db->CompactRange(nullptr, nullptr);
        for (int i = 0; i < 1000; i++) {
          const std::string key = std::to_string(i);
          EXPECT_TRUE(db->Get(leveldb::ReadOptions(), key, &found).ok());
          EXPECT_EQ(found, value + key);
        }
        db.reset();
        clock_.Advance(100000 * kMs);
        EXPECT_EQ(env.FirstWriteError(), "");
        const DeviceCounters counters = env.Counters();
        EXPECT_EQ(counters.cleaning->media_cache_bytes, 0u);
        return 1 + static_cast<double>(counters.cleaning->write_bytes) /
                       static_cast<double>(counters.write_bytes);
      };
  DeviceParameters parameters = Shingled(DeviceKind::kSmr);
  parameters.writeback_bytes = 4 << 20;
  parameters.band_bytes = 4 << 20;
  parameters.media_cache_bytes = 8 << 20;
  const double shared = auxiliary_write_amplification(parameters);
  parameters.own_bands = true;
  const double own = auxiliary_write_amplification(parameters);
  parameters.kind = DeviceKind::kZonedSmr;
  EXPECT_EQ(auxiliary_write_amplification(parameters), 1);
  EXPECT_GT(own, 1);
  EXPECT_GT(shared, own);
}

}  // namespace
}  // namespace recompact
