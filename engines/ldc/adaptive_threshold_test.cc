// The self-adaptive threshold against machines whose best threshold is known.
#include "ldc/adaptive_threshold.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>

#include "gtest/gtest.h"

namespace leveldb {
namespace {

constexpr int kWindow = 1000;
using Micros = std::function<double(int threshold)>;  // of one operation

// Works through windows on a machine; returns the thresholds of the last half.
std::set<int> Settle(AdaptiveThreshold* threshold, double read_share,
                     const Micros& micros, int windows) {
  std::set<int> settled;
  static uint64_t now = 1;
  for (int w = 0; w < windows; w++) {
    for (int i = 0; i < kWindow; i++) {
      if (threshold->Count(i < read_share * kWindow)) {
        now += static_cast<uint64_t>(kWindow * micros(threshold->value()));
        threshold->EndWindow(now);
      }
    }
    if (w >= windows / 2) settled.insert(threshold->value());
  }
  return settled;
}

// Fastest at "best", slower by a fifth for each factor of two away from it.
Micros BestAt(int best) {
  return [best](int threshold) {
    return 100 * (1 + 0.2 * std::abs(std::log2(threshold * 1.0 / best)));
  };
}

double Flat(int /*threshold*/) { return 100; }

TEST(AdaptiveThresholdTest, ReadsAloneBringItDownToOne) {
  AdaptiveThreshold threshold(10, kWindow);
  EXPECT_EQ(Settle(&threshold, 1, BestAt(40), 8), std::set<int>({1}));
}

TEST(AdaptiveThresholdTest, ItClimbsToWhereItIsFastestAndTriesTheNeighbours) {
  for (const int best : {5, 10, 20}) {
    AdaptiveThreshold threshold(10, kWindow);
    const std::set<int> settled = Settle(&threshold, 0.5, BestAt(best), 400);
    EXPECT_EQ(settled, std::set<int>({best / 2, best, 2 * best})) << best;
  }
}

TEST(AdaptiveThresholdTest, ItGoesBackToWritesAfterReads) {
  AdaptiveThreshold threshold(10, kWindow);
  Settle(&threshold, 1, Flat, 8);
  EXPECT_EQ(threshold.value(), 1);
  const std::set<int> settled = Settle(&threshold, 0, BestAt(16), 400);
  EXPECT_EQ(settled, std::set<int>({8, 16, 32}));
}

TEST(AdaptiveThresholdTest, WhereNothingIsGainedItStays) {
  AdaptiveThreshold threshold(10, kWindow);
  EXPECT_EQ(Settle(&threshold, 0.5, Flat, 400), std::set<int>({5, 10, 20}));
}

TEST(AdaptiveThresholdTest, ItStaysBetweenOneAndFourTimesTheStart) {
  AdaptiveThreshold up(10, kWindow), down(10, kWindow);
  EXPECT_EQ(*Settle(&up, 0, BestAt(1000), 400).rbegin(), 40);
  EXPECT_EQ(*Settle(&down, 0.5, BestAt(1), 400).begin(), 1);
}

TEST(AdaptiveThresholdTest, ItChangesOnlyAtTheEndOfAWindow) {
  AdaptiveThreshold threshold(10, kWindow);
  for (int i = 1; i < kWindow; i++) ASSERT_FALSE(threshold.Count(true)) << i;
  EXPECT_TRUE(threshold.Count(true));
  EXPECT_TRUE(threshold.EndWindow(12345));
  EXPECT_EQ(threshold.value(), 5);
}

}  // namespace
}  // namespace leveldb
