#include "driver/latency_summary.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace recompact {
namespace {

TEST(LatencySummaryTest, PercentilesAreNearestRanks) {
  std::vector<float> latencies_us(20000);
  std::iota(latencies_us.rbegin(), latencies_us.rend(), 1.0f);
  const LatencySummary summary = Summarize(&latencies_us);
  EXPECT_EQ(summary.count, 20000u);
  EXPECT_EQ(summary.mean, 10000.5);
  EXPECT_EQ(summary.p50, 10000);
  EXPECT_EQ(summary.p90, 18000);
  EXPECT_EQ(summary.p95, 19000);
  EXPECT_EQ(summary.p99, 19800);
  EXPECT_EQ(summary.p99_9, 19980);
  EXPECT_EQ(summary.p99_99, 19998);
  EXPECT_EQ(summary.max, 20000);
}

TEST(LatencySummaryTest, FewLatencies) {
  std::vector<float> none, one = {3.5}, three = {9, 1, 5};
  EXPECT_EQ(Summarize(&none).count, 0u);
  EXPECT_EQ(Summarize(&one).p50, 3.5);
  EXPECT_EQ(Summarize(&one).p99_99, 3.5);
  const LatencySummary summary = Summarize(&three);
  EXPECT_EQ(summary.p50, 5);
  EXPECT_EQ(summary.p90, 9);
}

}  // namespace
}  // namespace recompact
