#include "simulator/schedule.h"

#include <string>

#include "gtest/gtest.h"

namespace recompact {
namespace {

constexpr SimTime kSlice = 100, kGranularity = 40;

Processors Host(int count, SimTime switch_cost = 0, SimTime wake_cost = 0) {
  return {count, kSlice, kGranularity, switch_cost, wake_cost, false};
}

TEST(ScheduleTest, TheEarliestGoesOn) {
  Schedule schedule(Host(2));
  const auto a = schedule.Add("a", 0), b = schedule.Add("b", 0);
  EXPECT_EQ(schedule.Next(), a);  // ties go to the lower number
  schedule.Charge(a, 7);
  EXPECT_EQ(schedule.Next(), b);
  schedule.Charge(b, 7);
  EXPECT_EQ(schedule.Next(), a);
  schedule.Charge(a, 1);
  EXPECT_EQ(schedule.Next(), b);
  EXPECT_EQ(schedule.now(a), 8);
  EXPECT_EQ(schedule.now(b), 7);
}

TEST(ScheduleTest, TiesGoToTheHigherNumberWhereTheHostSaysSo) {
  Processors host = Host(1);
  host.ties_to_higher = true;
  Schedule schedule(host);
  const auto a = schedule.Add("a", 0), b = schedule.Add("b", 0);
  EXPECT_EQ(schedule.Next(), b);
  schedule.Block(b, "time", 50);
  EXPECT_EQ(schedule.Next(), a);
  schedule.Block(a, "time", 50);
  EXPECT_EQ(schedule.Next(), b);
}

TEST(ScheduleTest, OneProcessorGoesRoundInSlices) {
  Schedule schedule(Host(1, /*switch_cost=*/5));
  const auto a = schedule.Add("a", 0), b = schedule.Add("b", 0);
  EXPECT_EQ(schedule.Next(), a);
  schedule.Charge(a, 30);
  EXPECT_EQ(schedule.Next(), a);  // has not had its slice
  schedule.Charge(a, 70);
  EXPECT_EQ(schedule.Next(), b);
  EXPECT_EQ(schedule.now(a), 105);
  EXPECT_EQ(schedule.now(b), 110);
  schedule.Charge(b, 100);
  EXPECT_EQ(schedule.Next(), b);  // has had no more than the other
  schedule.Charge(b, 1);
  EXPECT_EQ(schedule.Next(), a);
  EXPECT_EQ(schedule.now(a), 216);
  EXPECT_EQ(schedule.computed(a), 100);
  EXPECT_EQ(schedule.computed(b), 101);
}

TEST(ScheduleTest, WhoWaitsLeavesItsProcessor) {
  Schedule schedule(Host(1));
  const auto a = schedule.Add("a", 0), b = schedule.Add("b", 0);
  EXPECT_EQ(schedule.Next(), a);
  schedule.Charge(a, 10);
  schedule.Block(a, "a mutex");
  EXPECT_EQ(schedule.Next(), b);
  EXPECT_EQ(schedule.now(b), 10);
  schedule.Charge(b, 20);
  schedule.Wake(a, schedule.now(b));
  schedule.End(b);
  EXPECT_EQ(schedule.Next(), a);
  EXPECT_EQ(schedule.now(a), 30);
  EXPECT_FALSE(schedule.timed_out(a));
  schedule.End(a);
  EXPECT_EQ(schedule.Next(), Schedule::kNobody);
  EXPECT_EQ(schedule.WhoWaits(), "");
}

TEST(ScheduleTest, ADeadlineWakesUp) {
  Schedule schedule(Host(2, /*switch_cost=*/3, /*wake_cost=*/4));
  const auto a = schedule.Add("a", 0), b = schedule.Add("b", 0);
  EXPECT_EQ(schedule.Next(), a);
  schedule.Block(a, "time", 50);
  EXPECT_EQ(schedule.Next(), b);
  schedule.Charge(b, 60);
  EXPECT_EQ(schedule.Next(), a);
  EXPECT_EQ(schedule.now(a), 57);
  EXPECT_TRUE(schedule.timed_out(a));
  // Woken up before its time, it is not woken up again.
  schedule.Block(a, "time", 100);
  EXPECT_EQ(schedule.Next(), b);
  schedule.Wake(a, 63);
  EXPECT_EQ(schedule.Next(), b);
  schedule.Charge(b, 50);
  EXPECT_EQ(schedule.Next(), a);
  EXPECT_EQ(schedule.now(a), 70);
  EXPECT_FALSE(schedule.timed_out(a));
}

TEST(ScheduleTest, WhoWakesUpGoesBeforeOneThatHasHadMore) {
  Schedule schedule(Host(1));
  const auto a = schedule.Add("a", 0), b = schedule.Add("b", 0);
  EXPECT_EQ(schedule.Next(), a);
  schedule.Block(a, "time", 30);
  EXPECT_EQ(schedule.Next(), b);
  schedule.Charge(b, 30);
  EXPECT_EQ(schedule.Next(), b);  // 30 is within the granularity
  schedule.Charge(b, 11);
  EXPECT_EQ(schedule.Next(), a);
  EXPECT_EQ(schedule.now(a), 41);
}

TEST(ScheduleTest, TellsWhoWaitsForWhat) {
  Schedule schedule(Host(1));
  const auto a = schedule.Add("client 1", 0), b = schedule.Add("compaction", 0);
  schedule.Next();
  schedule.Block(a, "a condition");
  schedule.Next();
  schedule.Block(b, "a mutex");
  EXPECT_EQ(schedule.Next(), Schedule::kNobody);
  EXPECT_EQ(schedule.WhoWaits(),
            "client 1 for a condition, compaction for a mutex");
}

}  // namespace
}  // namespace recompact
