#include "driver/recency.h"

#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr uint64_t kUnit = 65536;

TEST(RecencyTest, DistanceIsWhatWasMovedSinceTheKeyWasUsed) {
  Recency recency(3);
  EXPECT_EQ(recency.SixteenthsOfDoublings(0), 0u);
  recency.Use(0, 1000);
  recency.Use(1, kUnit - 1001);
  EXPECT_EQ(recency.SixteenthsOfDoublings(0), 0u);  // 64 KiB less one byte
  recency.Use(1, 1);
  EXPECT_EQ(recency.SixteenthsOfDoublings(0), 16u);
  EXPECT_EQ(recency.SixteenthsOfDoublings(1), 0u);
  recency.Use(1, kUnit);
  EXPECT_EQ(recency.SixteenthsOfDoublings(0), 24u);  // half way from 2 to 4
  recency.Use(1, kUnit);
  EXPECT_EQ(recency.SixteenthsOfDoublings(0), 32u);
  recency.Use(0, 0);
  EXPECT_EQ(recency.SixteenthsOfDoublings(0), 0u);
  // A key that nobody used is as far as the beginning.
  EXPECT_EQ(recency.SixteenthsOfDoublings(2), 32u);
}

}  // namespace
}  // namespace recompact
