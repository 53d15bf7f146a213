#include "driver/virtual_clock.h"

#include <thread>

#include "driver/fake_clock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

TEST(VirtualClockTest, IsRealTimeWithoutWaits) {
  FakeClock real;
  VirtualClock clock(&real);
  EXPECT_EQ(clock.NowNs(), real.NowNs());
  real.Advance(123);
  EXPECT_EQ(clock.NowNs(), real.NowNs());
}

TEST(VirtualClockTest, GoesOnFromTheCompletion) {
  FakeClock real;
  real.set_oversleep_ns(70000);
  VirtualClock clock(&real);
  const int64_t completion_ns = clock.NowNs() + 10000;
  clock.WaitUntilNs(completion_ns);
  EXPECT_EQ(real.NowNs(), completion_ns + 70000);
  EXPECT_EQ(clock.NowNs(), completion_ns);
  real.Advance(500);  // Work between two requests passes in both
  EXPECT_EQ(clock.NowNs(), completion_ns + 500);
}

TEST(VirtualClockTest, PaysBackWhatASleepTookTooMuch) {
  FakeClock real;
  real.set_oversleep_ns(70000);
  VirtualClock clock(&real);
  const int64_t start_ns = real.NowNs();
  const int requests = 1000;
  for (int i = 0; i < requests; i++) clock.WaitUntilNs(clock.NowNs() + 10000);
  // One sleep in eight: 10 us and 70 us too much, then seven for nothing.
  EXPECT_EQ(real.sleeps(), requests / 8);
  EXPECT_EQ(real.NowNs() - start_ns, requests * 10000);
  EXPECT_EQ(clock.TakeMaxLagNs(), 70000);
  EXPECT_EQ(clock.TakeMaxLagNs(), 0);
  EXPECT_EQ(clock.lost_ns(), 0);
}

TEST(VirtualClockTest, LosesWhatIsTooMuchToPayBack) {
  FakeClock real;
  const int64_t too_much_ns = 5000000;
  real.set_oversleep_ns(VirtualClock::kMaxLagNs + too_much_ns);
  VirtualClock clock(&real);
  clock.WaitUntilNs(clock.NowNs() + 10000);
  EXPECT_EQ(clock.lost_ns(), too_much_ns);
  EXPECT_EQ(clock.TakeMaxLagNs(), VirtualClock::kMaxLagNs + too_much_ns);
  EXPECT_EQ(clock.NowNs(), real.NowNs() - VirtualClock::kMaxLagNs);
}

TEST(VirtualClockTest, RunsAheadOnceNobodySleeps) {
  FakeClock real;
  VirtualClock clock(&real);
  const int64_t start_ns = real.NowNs();
  clock.StopSleeping();
  clock.WaitUntilNs(start_ns + 10000);
  EXPECT_EQ(clock.NowNs(), start_ns + 10000);
  real.Advance(500);
  clock.WaitUntilNs(clock.NowNs() + 10000);
  EXPECT_EQ(clock.NowNs(), start_ns + 20500);
  EXPECT_EQ(real.NowNs(), start_ns + 500);
  EXPECT_EQ(real.sleeps(), 0);
  EXPECT_EQ(clock.lost_ns(), 0);
  EXPECT_EQ(clock.TakeMaxLagNs(), 0);
}

TEST(VirtualClockTest, EachThreadHasItsOwnLag) {
  FakeClock real;
  real.set_oversleep_ns(1000);
  VirtualClock clock(&real);
  clock.WaitUntilNs(clock.NowNs() + 10);
  EXPECT_EQ(clock.NowNs(), real.NowNs() - 1000);
  std::thread([&] { EXPECT_EQ(clock.NowNs(), real.NowNs()); }).join();
  VirtualClock another(&real);
  EXPECT_EQ(another.NowNs(), real.NowNs());
}

TEST(VirtualClockTest, MonotonicClockSleepsUntilTheDeadline) {
  Clock* const clock = Clock::Monotonic();
  const int64_t deadline_ns = clock->NowNs() + 2000000;
  clock->SleepUntilNs(deadline_ns);
  EXPECT_GE(clock->NowNs(), deadline_ns);
}

}  // namespace
}  // namespace recompact
