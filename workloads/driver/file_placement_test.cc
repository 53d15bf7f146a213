#include "driver/file_placement.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {

using Extent = FilePlacement::Extent;

bool operator==(const Extent& a, const Extent& b) {
  return a.address == b.address && a.length == b.length;
}

void PrintTo(const Extent& extent, std::ostream* os) {
  *os << extent.length << " at " << extent.address;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kBlock = FilePlacement::kBlockBytes;
constexpr uint64_t kBand = 10 * kBlock;

class FilePlacementTest : public ::testing::Test {
 protected:
  std::vector<Extent> Append(uint64_t file, uint64_t length) {
    return placement_.Append(file, length, kBlock);
  }
  std::vector<Extent> AppendInBands(uint64_t file, uint64_t length) {
    return placement_.Append(file, length, kBand);
  }

  FilePlacement placement_;
};

TEST_F(FilePlacementTest, FilesFollowEachOtherInWholeBlocks) {
  EXPECT_THAT(Append(1, kBlock + 1), ElementsAre(Extent{0, kBlock + 1}));
  EXPECT_THAT(Append(2, 10), ElementsAre(Extent{2 * kBlock, 10}));
  EXPECT_THAT(Append(3, kBlock), ElementsAre(Extent{3 * kBlock, kBlock}));
}

TEST_F(FilePlacementTest, AFileGoesOnBehindItsEndWhileThereIsRoom) {
  Append(1, 100);
  // In its last block and the next one,
  EXPECT_THAT(Append(1, kBlock), ElementsAre(Extent{100, kBlock}));
  Append(2, kBlock);
  // then only in the block, and elsewhere.
  EXPECT_THAT(Append(1, kBlock), ElementsAre(Extent{kBlock + 100, kBlock - 100},
                                             Extent{3 * kBlock, 100}));
  EXPECT_THAT(placement_.Find(1, kBlock, 2 * kBlock),
              ElementsAre(Extent{kBlock, kBlock}, Extent{3 * kBlock, kBlock}));
}

TEST_F(FilePlacementTest, TheFirstHoleThatHoldsAllIsTaken) {
  for (const uint64_t file : {1, 2, 3, 4}) Append(file, file * kBlock);
  EXPECT_THAT(placement_.Remove(1), ElementsAre(Extent{0, kBlock}));
  EXPECT_THAT(placement_.Remove(3),
              ElementsAre(Extent{3 * kBlock, 3 * kBlock}));
  EXPECT_THAT(Append(5, 2 * kBlock),
              ElementsAre(Extent{3 * kBlock, 2 * kBlock}));
  EXPECT_THAT(Append(6, 1), ElementsAre(Extent{0, 1}));
  EXPECT_THAT(Append(7, 2 * kBlock),
              ElementsAre(Extent{10 * kBlock, 2 * kBlock}));
}

TEST_F(FilePlacementTest, HolesSideBySideAreOne) {
  for (const uint64_t file : {1, 2, 3, 4}) Append(file, kBlock);
  for (const uint64_t file : {1, 3, 2}) placement_.Remove(file);
  EXPECT_THAT(Append(5, 3 * kBlock), ElementsAre(Extent{0, 3 * kBlock}));
}

TEST_F(FilePlacementTest, AFileWithBandsOfItsOwnSharesNone) {
  Append(1, kBlock);
  EXPECT_THAT(AppendInBands(2, 3), ElementsAre(Extent{kBand, 3}));
  EXPECT_THAT(AppendInBands(3, kBand + 3),
              ElementsAre(Extent{2 * kBand, kBand + 3}));
  EXPECT_THAT(AppendInBands(2, kBand),
              ElementsAre(Extent{kBand + 3, kBand - 3}, Extent{4 * kBand, 3}));
  // Others lie before, between and behind.
  EXPECT_THAT(Append(4, kBand - kBlock),
              ElementsAre(Extent{kBlock, kBand - kBlock}));
  EXPECT_THAT(Append(5, 1), ElementsAre(Extent{5 * kBand, 1}));
  placement_.Remove(3);
  EXPECT_THAT(Append(6, 1), ElementsAre(Extent{2 * kBand, 1}));
}

TEST_F(FilePlacementTest, WhatHasNoRoomIsNotFound) {
  EXPECT_THAT(placement_.Find(1, 0, 100), IsEmpty());
  EXPECT_THAT(placement_.Remove(1), IsEmpty());
  Append(1, 100);
  EXPECT_THAT(placement_.Find(1, 50, kBlock),
              ElementsAre(Extent{50, kBlock - 50}));
  EXPECT_THAT(placement_.Find(1, kBlock, 1), IsEmpty());
  EXPECT_THAT(Append(1, 0), IsEmpty());
}

// Files grow and go at random; each byte is at one place, which no other has.
TEST_F(FilePlacementTest, NoTwoBytesLieAtOnePlace) {
  const unsigned seed = 20190408;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::map<uint64_t, uint64_t> sizes;
  for (int step = 0; step < 3000; step++) {
    const uint64_t file = random() % 20;
    if (random() % 4 == 0) {
      placement_.Remove(file);
      sizes.erase(file);
    } else {
      const uint64_t length = random() % (2 * kBand);
      placement_.Append(file, length, file % 3 == 0 ? kBand : kBlock);
      sizes[file] += length;
    }
    std::vector<std::pair<uint64_t, uint64_t>> places;
    for (const auto& [id, size] : sizes) {
      uint64_t found = 0;
      for (const Extent& extent : placement_.Find(id, 0, size)) {
        places.emplace_back(extent.address, extent.address + extent.length);
        found += extent.length;
      }
      ASSERT_EQ(found, size);
    }
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); i++) {
      ASSERT_LE(places[i - 1].second, places[i].first);
    }
  }
  for (uint64_t file = 0; file < 20; file++) placement_.Remove(file);
  EXPECT_THAT(Append(1, 1000 * kBand), ElementsAre(Extent{0, 1000 * kBand}));
}

}  // namespace
}  // namespace recompact
