#include "driver/shingled_disk.h"

#include <random>
#include <vector>

#include "driver/file_placement.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr int64_t kMs = 1000000;
constexpr uint64_t kBlock = FilePlacement::kBlockBytes;
constexpr uint64_t kBand = 16 * kBlock;
constexpr int64_t kPositioningNs = 10 * kMs;

// 10 ns for a byte.
DeviceParameters Parameters() {
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kSmr;
  parameters.read_bandwidth_mb_s = 100;
  parameters.write_bandwidth_mb_s = 100;
  parameters.read_seek_ms = 6;
  parameters.write_seek_ms = 6;
  parameters.rotation_rpm = 7500;
  parameters.band_bytes = kBand;
  parameters.media_cache_bytes = 2 * kBand;
  parameters.clean_after_idle_ms = 100;
  return parameters;
}

int64_t TransferNs(uint64_t bytes) { return static_cast<int64_t>(bytes) * 10; }

// A disk, and requests that follow each other without a pause.
class ShingledDiskTest : public ::testing::Test {
 protected:
  int64_t Submit(Request::Direction direction, uint64_t address,
                 uint64_t length) {
    const int64_t begin_ns = now_ns_;
    now_ns_ =
        disk_.Submit(now_ns_, {direction, Request::kUser, address, length, 0});
    return now_ns_ - begin_ns;
  }
  int64_t Write(uint64_t address, uint64_t length) {
    return Submit(Request::kWrite, address, length);
  }
  int64_t Read(uint64_t address, uint64_t length) {
    return Submit(Request::kRead, address, length);
  }
  void Wait(int64_t ns) {
    now_ns_ += ns;
    disk_.Advance(now_ns_);
  }
  CleaningCounters Cleaning() const { return *disk_.Cleaning(); }
  void ExpectCleaned(uint64_t read_bytes, uint64_t write_bytes) {
    EXPECT_EQ(Cleaning().read_bytes, read_bytes);
    EXPECT_EQ(Cleaning().write_bytes, write_bytes);
  }

  ShingledDisk disk_{Parameters()};
  int64_t now_ns_ = 0;
};

TEST_F(ShingledDiskTest, BandsWrittenInOrderAreNotCleaned) {
  EXPECT_EQ(Write(0, kBlock), kPositioningNs + TransferNs(kBlock));
  for (int i = 1; i < 64; i++) {
    EXPECT_EQ(Write(i * kBlock, kBlock), TransferNs(kBlock));
  }
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  Wait(1000 * kMs);
  ExpectCleaned(0, 0);
}

TEST_F(ShingledDiskTest, AnOverwriteGoesToTheCacheAndItsBandIsRewritten) {
  Write(0, kBand);
  Write(10 * kBand, kBand);
  EXPECT_EQ(Write(3 * kBlock, kBlock), kPositioningNs + TransferNs(kBlock));
  // The cache is a log: no seek to the next overwrite.
  EXPECT_EQ(Write(7 * kBlock, 10), TransferNs(10));
  EXPECT_EQ(Cleaning().media_cache_bytes, kBlock + 10);
  Wait(1000 * kMs);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  ExpectCleaned(kBand + kBlock + 10, kBand);
}

TEST_F(ShingledDiskTest, OnlyTheWritePointerAndItsBlockTakeWrites) {
  Write(0, 100);
  Write(100, 100);
  Write(kBlock, 100);  // Blocks are written whole
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  Write(3 * kBlock, 100);  // Beyond
  EXPECT_EQ(Cleaning().media_cache_bytes, 100u);
  Write(200, 100);  // Behind
  EXPECT_EQ(Cleaning().media_cache_bytes, 200u);
  // Cleaning ends where the band does.
  Wait(1000 * kMs);
  ExpectCleaned(kBlock + 100 + 200, 3 * kBlock + 100);
  Write(3 * kBlock + 100, 100);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
}

TEST_F(ShingledDiskTest, AWriteInOrderReplacesWhatIsCached) {
  Write(0, kBlock);
  Write(2 * kBlock, 3 * kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 3 * kBlock);
  disk_.Discard(2 * kBlock, 3 * kBlock);
  Write(kBlock, 2 * kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 2 * kBlock);
  Wait(1000 * kMs);
  ExpectCleaned(3 * kBlock + 2 * kBlock, 5 * kBlock);
}

TEST_F(ShingledDiskTest, AWriteOverTwoBandsIsTwo) {
  Write(0, kBand - kBlock);
  Write(kBand, 3 * kBlock);
  // The end of one band in order, the beginning of another that has data.
  Write(kBand - kBlock, 3 * kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 2 * kBlock);
}

TEST_F(ShingledDiskTest, AFullCacheHoldsAWriteUpUntilItsOldestBandIsClean) {
  for (const uint64_t band : {0, 1, 2}) Write(band * kBand, kBand);
  Write(1 * kBand, kBand / 2);
  Write(0 * kBand, kBand);
  Write(2 * kBand, kBand / 4);
  ExpectCleaned(0, 0);
  EXPECT_EQ(Cleaning().media_cache_bytes, 2 * kBand - kBand / 4);
  // Band 1: read it, read its piece, write it; then the write to the cache.
  EXPECT_EQ(Write(2 * kBand + kBand / 2, kBand / 2),
            4 * kPositioningNs + TransferNs(3 * kBand));
  ExpectCleaned(kBand + kBand / 2, kBand);
  EXPECT_EQ(Cleaning().media_cache_bytes, 2 * kBand - kBand / 4);
}

TEST_F(ShingledDiskTest, ASmallPartOfAUnitWaitsForRoomLikeAnyWrite) {
  for (int i = 0; i < 2; i++) {
    for (const uint64_t band : {0, 1}) Write(band * kBand, kBand);
  }
  const Request part = {Request::kWrite, Request::kStream, 0, 1, 1 << 20};
  const int64_t cleaned_ns = 3 * kPositioningNs + TransferNs(3 * kBand);
  EXPECT_GT(disk_.Submit(now_ns_, part) - now_ns_, cleaned_ns);
}

TEST_F(ShingledDiskTest, PiecesOfOneBandAreCleanedTogether) {
  Write(0, kBand);
  for (const uint64_t block : {9, 2, 5}) Write(block * kBlock, kBlock);
  Wait(1000 * kMs);
  ExpectCleaned(kBand + 3 * kBlock, kBand);
}

TEST_F(ShingledDiskTest, AnIdleDiskCleansUntilTheNextRequest) {
  for (const uint64_t band : {0, 2, 4}) Write(band * kBand, kBand);
  for (const uint64_t band : {0, 2, 4}) Write(band * kBand, kBlock);
  const int64_t band_ns = 3 * kPositioningNs + TransferNs(2 * kBand + kBlock);
  Wait(100 * kMs);
  ExpectCleaned(0, 0);
  Wait(1);
  ExpectCleaned(kBand + kBlock, kBand);
  // One band after the other, with no pause between them.
  Wait(band_ns);
  ExpectCleaned(2 * (kBand + kBlock), 2 * kBand);
  // A request waits for the band that is being cleaned,
  EXPECT_EQ(Read(20 * kBand, kBlock),
            band_ns - 1 + kPositioningNs + TransferNs(kBlock));
  // and the third waits for the next pause.
  Wait(100 * kMs);
  ExpectCleaned(2 * (kBand + kBlock), 2 * kBand);
  Wait(1);
  ExpectCleaned(3 * (kBand + kBlock), 3 * kBand);
}

TEST_F(ShingledDiskTest, WhoLooksDoesNotChangeWhatIsCleaned) {
  std::vector<int64_t> ends_ns;
  for (const int looks : {1, 7, 1000}) {
    ShingledDisk disk(Parameters());
    int64_t now_ns = 0;
    const auto submit = [&](uint64_t address, uint64_t length) {
      const Request write = {Request::kWrite, Request::kUser, address, length,
                             0};
      now_ns = disk.Submit(now_ns, write);
    };
    for (const uint64_t band : {0, 1, 2, 3}) submit(band * kBand, kBand);
    for (const uint64_t band : {3, 1, 2, 0}) submit(band * kBand, kBlock);
    const int64_t idle_ns = 180 * kMs;
    for (int i = 1; i <= looks; i++) disk.Advance(now_ns + idle_ns / looks * i);
    now_ns += idle_ns;
    submit(9 * kBand, 1);
    ends_ns.push_back(now_ns);
    EXPECT_EQ(disk.Cleaning()->write_bytes, 3 * kBand);
  }
  EXPECT_EQ(ends_ns[0], ends_ns[1]);
  EXPECT_EQ(ends_ns[0], ends_ns[2]);
}

TEST_F(ShingledDiskTest, WhatIsCachedIsReadFromTheCache) {
  Write(0, kBand);
  Write(4 * kBlock, kBlock);
  Write(5 * kBlock, 100);
  Write(4 * kBlock + 50, 10);  // The newest holds
  EXPECT_EQ(Cleaning().media_cache_bytes, kBlock + 100);
  EXPECT_EQ(Read(0, kBlock), kPositioningNs + TransferNs(kBlock));
  EXPECT_EQ(Read(kBlock, kBlock), TransferNs(kBlock));
  // Before, the piece in three parts, the other piece, behind: where the new
  // part lies apart from the others the arm moves.
  EXPECT_EQ(Read(3 * kBlock, 3 * kBlock),
            5 * kPositioningNs + TransferNs(3 * kBlock));
}

TEST_F(ShingledDiskTest, ABandBeginsAnewOnceNothingLivesInIt) {
  Write(0, kBand);
  disk_.Discard(0, kBand / 2);
  Write(0, 2 * kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 2 * kBlock);
  disk_.Discard(kBand / 2, kBand / 2);
  disk_.Discard(0, 2 * kBlock);
  // What was cached of it is dead, and goes without a cleaning.
  Write(0, kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  Write(kBlock, kBlock);
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  Wait(1000 * kMs);
  ExpectCleaned(0, 0);
}

TEST_F(ShingledDiskTest, PiecesOfRemovedFilesAreCleanedLikeOthers) {
  Write(0, kBand);
  disk_.Discard(kBlock, kBlock);
  Write(kBlock, kBlock);
  disk_.Discard(kBlock, kBlock);
  Wait(1000 * kMs);
  ExpectCleaned(kBand + kBlock, kBand);
}

TEST_F(ShingledDiskTest, HeldBytesAreThereWithoutHavingBeenWritten) {
  disk_.Hold(0, kBand + kBlock);
  disk_.Hold(kBand + 5 * kBlock, kBlock);
  EXPECT_EQ(disk_.QueueNs(0), 0);
  EXPECT_EQ(Write(kBand + 6 * kBlock, kBlock),
            kPositioningNs + TransferNs(kBlock));
  EXPECT_EQ(Cleaning().media_cache_bytes, 0u);
  Write(0, kBlock);  // Overwrites
  EXPECT_EQ(Cleaning().media_cache_bytes, kBlock);
}

// Files of a few blocks come and go at random.  A scale model writes as much
// for a byte of its host, and is as busy for it, but for what rounding does.
TEST_F(ShingledDiskTest, AScaleModelCleansAsMuchForAByte) {
  const auto awa_and_time = [](uint64_t factor) {
    DeviceParameters parameters = Parameters();
    parameters.band_bytes = 16 * kBand;
    parameters.media_cache_bytes = 40 * kBand;
    ShingledDisk disk(AtScale(parameters, factor));
    FilePlacement placement;
    const unsigned seed = 20190408;
    std::mt19937 random(seed);
    uint64_t written = 0;
    int64_t now_ns = 0;
    for (int i = 0; i < 4000; i++) {
      const uint64_t file = random() % 200;
      for (const auto& extent : placement.Remove(file)) {
        disk.Discard(extent.address, extent.length);
      }
      const uint64_t length = kBand * (1 + random() % 4) / factor;
      for (const auto& extent : placement.Append(file, length, kBlock)) {
        now_ns = disk.Submit(now_ns, {Request::kWrite, Request::kStream,
                                      extent.address, extent.length, 4 << 20});
        written += extent.length;
        EXPECT_LE(disk.Cleaning()->media_cache_bytes, 40 * kBand / factor);
      }
    }
    const double cleaned =
        static_cast<double>(disk.Cleaning()->write_bytes) / written;
    EXPECT_GT(cleaned, 2);
    const double ns = static_cast<double>(now_ns + disk.QueueNs(now_ns));
    disk.Advance(INT64_MAX);
    EXPECT_EQ(disk.Cleaning()->media_cache_bytes, 0u);
    return std::make_pair(1 + cleaned, ns / written);
  };
  const auto [awa, ns] = awa_and_time(1);
  for (const uint64_t factor : {2, 4, 16}) {
    const auto [scaled_awa, scaled_ns] = awa_and_time(factor);
    EXPECT_NEAR(scaled_awa / awa, 1, 0.01) << factor;
    EXPECT_NEAR(scaled_ns / ns, 1, 0.02) << factor;
  }
}

class ZonedDiskTest : public ::testing::Test {
 protected:
  int64_t Write(uint64_t address, uint64_t length) {
    return disk_.Submit(0,
                        {Request::kWrite, Request::kUser, address, length, 0});
  }

  ZonedDisk disk_{Parameters()};
};

TEST_F(ZonedDiskTest, ZonesAreAppendedToAndReset) {
  EXPECT_EQ(Write(0, kBlock), kPositioningNs + TransferNs(kBlock));
  EXPECT_EQ(disk_.QueueNs(0), kPositioningNs + TransferNs(kBlock));
  Write(kBlock, kBand);  // And the beginning of the next zone
  Write(kBand + kBlock, 100);
  disk_.Hold(5 * kBand, 100);
  Write(5 * kBand + 100, 100);
  EXPECT_EQ(disk_.WriteError(), "");
  disk_.Discard(0, kBand + kBlock + 100);
  Write(0, 1);
  Write(kBand, 1);
  EXPECT_EQ(disk_.WriteError(), "");
  EXPECT_EQ(disk_.Cleaning()->read_bytes, 0u);
  EXPECT_EQ(disk_.Cleaning()->write_bytes, 0u);
}

TEST_F(ZonedDiskTest, AWriteElsewhereIsToldOnce) {
  Write(3 * kBand, 100);
  Write(3 * kBand + 50, 10);
  Write(7 * kBand + 1, 10);
  EXPECT_EQ(disk_.WriteError(),
            "a write at byte 50 of zone 3, whose write pointer is at byte 100");
}

}  // namespace
}  // namespace recompact
