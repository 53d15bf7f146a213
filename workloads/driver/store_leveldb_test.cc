#include "driver/store_leveldb.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/fake_clock.h"
#include "driver/key_value.h"
#include "driver/test_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StoreLevelDbTest : public ::testing::Test {
 protected:
  StoreLevelDbTest()
      : env_(leveldb::Env::Default(), DeviceParameters(), 1, directory_.path(),
             &clock_) {}

  Status Open(const std::map<std::string, std::string>& options) {
    store_.reset();
    return OpenLevelDbStore(directory_.path(), options, "", "spec.json", &env_,
                            &store_);
  }

  std::string Get(const std::string& key) {
    std::string value;
    bool found = false;
    EXPECT_TRUE(store_->Get(key, &value, &found).ok());
    return found ? value : "(nothing)";
  }

  std::vector<std::string> Scan(const std::string& key, uint32_t count) {
    EXPECT_TRUE(store_->Scan(key, count, &scanned_).ok());
    std::vector<std::string> records;
    for (size_t i = 0; i < scanned_.size(); i++) {
      records.push_back(std::string(scanned_.key(i)) + "=" +
                        std::string(scanned_.value(i)));
    }
    return records;
  }

  static std::string Key(uint64_t key_number) {
    std::string key(kKeyBytes, '\0');
    EncodeKey(key_number, KeySpace(), key.data());
    return key;
  }

  TestDirectory directory_;
  FakeClock clock_;
  DeviceEnv env_;
  std::unique_ptr<Store> store_;
  ScannedRecords scanned_;
};

TEST_F(StoreLevelDbTest, PutsGetsAndDeletes) {
  ASSERT_TRUE(Open({}).ok());
  ASSERT_TRUE(store_->Put("a", "1").ok());
  ASSERT_TRUE(store_->Put("b", std::string("2\0x", 3)).ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), std::string("2\0x", 3));
  ASSERT_TRUE(store_->Delete("a").ok());
  EXPECT_EQ(Get("a"), "(nothing)");
}

TEST_F(StoreLevelDbTest, ScansUpToTheCountOrTheEnd) {
  ASSERT_TRUE(Open({}).ok());
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(store_->Put(key, std::string("v") + key).ok());
  }
  ASSERT_TRUE(store_->Put("c", "").ok());
  EXPECT_THAT(Scan("b", 2), ElementsAre("b=vb", "c="));
  EXPECT_EQ(scanned_.bytes(), 4u);
  EXPECT_THAT(Scan("bb", 10), ElementsAre("c=", "d=vd"));
  EXPECT_THAT(Scan("a", 1), ElementsAre("a=va"));
  EXPECT_TRUE(Scan("a", 0).empty());
}

TEST_F(StoreLevelDbTest, KeepsDataOverReopen) {
  ASSERT_TRUE(Open({}).ok());
  ASSERT_TRUE(store_->Put("a", "1").ok());
  ASSERT_TRUE(store_->Reopen().ok());
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(StoreLevelDbTest, IsIdleOnceCompactionsAreDone) {
  ASSERT_TRUE(Open({{"write_buffer_size", "65536"}}).ok());
  for (int i = 0; i < 3000; i++) {
    ASSERT_TRUE(
        store_->Put(std::to_string(i * 7919 % 3000), std::string(500, 'x'))
            .ok());
  }
  while (!store_->Idle()) std::this_thread::yield();
  const uint64_t written = env_.write_bytes();
  store_->CompactAll();
  EXPECT_GT(env_.write_bytes(), written);
  EXPECT_TRUE(store_->Health().ok());
}

TEST_F(StoreLevelDbTest, BlockCacheAndBloomFilterTakeEffect) {
  const std::string off = "0", cache_on = "8388608", filter_on = "10";
  for (const auto& [cache, filter] :
       {std::pair(off, off), std::pair(cache_on, off),
        std::pair(off, filter_on)}) {
    ASSERT_TRUE(
        Open({{"block_cache_bytes", cache}, {"bloom_bits_per_key", filter}})
            .ok());
    for (int i = 0; i < 1000; i += 2) {
      ASSERT_TRUE(store_->Put(Key(i), "value").ok());
    }
    store_->CompactAll();
    ASSERT_TRUE(store_->Reopen().ok());
    Get(Key(0));  // Opens the table
    const uint64_t opened = env_.Counters().reads;
    for (int i = 0; i < 100; i++) EXPECT_EQ(Get(Key(0)), "value");
    const uint64_t present = env_.Counters().reads;
    EXPECT_EQ(present - opened, cache == off ? 100u : 0u);
    for (int i = 1; i < 1000; i += 2) EXPECT_EQ(Get(Key(i)), "(nothing)");
    const uint64_t absent_reads = env_.Counters().reads - present;
    if (cache != off) continue;
    if (filter == off) {
      EXPECT_GT(absent_reads, 400u);
    } else {
      EXPECT_LT(absent_reads, 100u);
    }
  }
}

TEST_F(StoreLevelDbTest, RefusesOptionsThatItDoesNotKnow) {
  const Status unknown = Open({{"fan_out_of", "7"}});
  EXPECT_EQ(unknown.code(), ExitCode::kBadInput);
  EXPECT_THAT(unknown.message(),
              HasSubstr("spec.json: engine.options.fan_out_of: "));
  const Status bad = Open({{"bloom_bits_per_key", "many"}});
  EXPECT_EQ(bad.message(),
            "spec.json: engine.options.bloom_bits_per_key: \"many\" is not a "
            "number ; correct the options of this engine");
  EXPECT_EQ(Open({{"block_size", "-1"}}).code(), ExitCode::kBadInput);
}

TEST_F(StoreLevelDbTest, WritesNoLogForPeople) {
  ASSERT_TRUE(Open({}).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_.File("LOG")));
}

TEST_F(StoreLevelDbTest, ReportsADamagedDatabase) {
  ASSERT_TRUE(Open({}).ok());
  store_.reset();
  WriteText(directory_.File("CURRENT"), "MANIFEST-999999\n");
  const Status status = Open({});
  EXPECT_EQ(status.code(), ExitCode::kFailed);
  EXPECT_THAT(status.message(), HasSubstr(directory_.path() + ": "));
}

// Fails writes once it is told to.
class FullDiskEnv : public leveldb::EnvWrapper {
 public:
  FullDiskEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override {
    leveldb::Status s = target()->NewWritableFile(name, result);
    if (s.ok()) *result = new File(*result, &full_);
    return s;
  }
  void Fill() { full_ = true; }

 private:
  class File : public leveldb::WritableFile {
   public:
    File(leveldb::WritableFile* target, const std::atomic<bool>* full)
        : target_(target), full_(full) {}
    leveldb::Status Append(const leveldb::Slice& data) override {
      if (*full_) {
        return leveldb::Status::IOError("file", std::strerror(ENOSPC));
      }
      return target_->Append(data);
    }
    leveldb::Status Close() override { return target_->Close(); }
    leveldb::Status Flush() override { return target_->Flush(); }
    leveldb::Status Sync() override { return target_->Sync(); }

   private:
    const std::unique_ptr<leveldb::WritableFile> target_;
    const std::atomic<bool>* const full_;
  };

  std::atomic<bool> full_{false};
};

TEST_F(StoreLevelDbTest, ReportsAFullDisk) {
  FullDiskEnv full_disk;
  DeviceEnv env(&full_disk, DeviceParameters(), 1, directory_.path(), &clock_);
  ASSERT_TRUE(
      OpenLevelDbStore(directory_.path(), {}, "", "spec.json", &env, &store_)
          .ok());
  ASSERT_TRUE(store_->Put("a", "1").ok());
  EXPECT_TRUE(store_->Health().ok());
  full_disk.Fill();
  store_->CompactAll();  // Fails behind the scenes
  for (const Status& status : {store_->Put("b", "2"), store_->Health()}) {
    EXPECT_EQ(status.code(), ExitCode::kNoSpace);
    EXPECT_THAT(status.message(), HasSubstr(directory_.path() + ": "));
    EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
  }
  store_.reset();
}

}  // namespace
}  // namespace recompact
