#include "simulator/simulation.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace recompact {
namespace {

using Clock = std::chrono::steady_clock;
constexpr SimTime kMicro = 1'000'000, kMilli = 1000 * kMicro;

// A host on which no work takes time.
Simulation::Host Host(int processors) {
  Simulation::Host host;
  host.processors.count = processors;
  return host;
}

void Compute(SimTime duration) {
  Simulation::OfThisThread()->GiveWay(duration);
}

TEST(SimulationTest, SleepsTakeNoRealTime) {
  const auto before = Clock::now();
  {
    Simulation simulation(Host(1));
    const auto begin = Clock::now();
    std::this_thread::sleep_for(std::chrono::hours(24));
    EXPECT_EQ(Clock::now() - begin, std::chrono::hours(24));
  }
  EXPECT_LT(Clock::now() - before, std::chrono::hours(1));
}

TEST(SimulationTest, ThreadsComputeSideBySideOnSoManyProcessors) {
  for (const auto& [processors, expected] :
       {std::pair{1, 4}, {2, 2}, {3, 2}, {4, 1}}) {
    Simulation simulation(Host(processors));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
      threads.emplace_back([] {
        for (int j = 0; j < 1000; j++) Compute(10 * kMicro);
      });
    }
    for (std::thread& thread : threads) thread.join();
    // Three processors give the last thread what is left of each.
    if (processors != 3) {
      EXPECT_EQ(simulation.Now(), expected * 10 * kMilli) << processors;
    } else {
      EXPECT_GE(simulation.Now(), 4 * 10 * kMilli / 3);
      EXPECT_LT(simulation.Now(), 2 * 10 * kMilli);
    }
  }
}

TEST(SimulationTest, WorkTakesWhatItCosts) {
  Simulation::Host host = Host(2);
  host.costs[static_cast<int>(Role::kClient)][static_cast<int>(Work::kPut)] =
      3 * kMicro;
  host.costs[static_cast<int>(Role::kBackground)]
            [static_cast<int>(Work::kPut)] = 7 * kMicro;
  Simulation simulation(host);
  SetRoleOfThisThread(Role::kOwn);
  Count(Work::kPut, 1000);
  EXPECT_EQ(simulation.Now(), 0);
  const auto put_as = [&](Role role) {
    SimTime took = 0;
    std::thread([&] {
      SetRoleOfThisThread(role);
      const SimTime begin = simulation.Now();
      Count(Work::kPut, 10);
      took = simulation.Now() - begin;
      EXPECT_EQ(simulation.Computed(), took);
    }).join();
    return took;
  };
  EXPECT_EQ(put_as(Role::kClient), 30 * kMicro);
  EXPECT_EQ(put_as(Role::kBackground), 70 * kMicro);
}

TEST(SimulationTest, WhatTheSimulatorDoesCostsNothing) {
  Simulation::Host host = Host(1);
  for (const Work kind : {Work::kAllocation, Work::kCompare}) {
    host.costs[static_cast<int>(Role::kClient)][static_cast<int>(kind)] =
        kMilli;
  }
  Simulation simulation(host);
  SetRoleOfThisThread(Role::kClient);
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock<std::mutex> lock(mutex);
  for (int i = 0; i < 10; i++) {
    condition.wait_for(lock, std::chrono::milliseconds(1));
  }
  EXPECT_EQ(simulation.Now(), 10 * kMilli);
  Count(Work::kAllocation);
  EXPECT_EQ(simulation.Now(), 11 * kMilli);
}

// The system makes a stack or has one at hand, as real threads have ended.
TEST(SimulationTest, AThreadStartsAtOneCostWhateverTheSystemDoesForIt) {
  Simulation::Host host = Host(8);
  host.costs[static_cast<int>(Role::kClient)]
            [static_cast<int>(Work::kAllocation)] = kMilli;
  Simulation simulation(host);
  SetRoleOfThisThread(Role::kClient);
  std::vector<SimTime> took;
  for (int round = 0; round < 2; round++) {
    pthread_t threads[4];
    for (pthread_t& thread : threads) {
      const SimTime begin = simulation.Computed();
      const auto sleep = [](void*) -> void* {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        return nullptr;
      };
      ASSERT_EQ(::pthread_create(&thread, nullptr, sleep, nullptr), 0);
      took.push_back(simulation.Computed() - begin);
    }
    for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  }
  EXPECT_EQ(took, std::vector<SimTime>(8, took.front()));
}

TEST(SimulationTest, ProcessorTimeIsThatOfAllThreads) {
  Simulation simulation(Host(2));
  std::thread other([] { Compute(30 * kMilli); });
  Compute(20 * kMilli);
  other.join();
  struct rusage usage;
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_EQ(usage.ru_utime.tv_usec, 50'000);
  EXPECT_EQ(usage.ru_stime.tv_usec, 0);
}

TEST(SimulationTest, AThreadGetsAheadByAQuantumWhereItDoesNothingToOthers) {
  Simulation::Host host = Host(2);
  host.quantum = 100 * kMicro;
  host.costs[static_cast<int>(Role::kBackground)]
            [static_cast<int>(Work::kClockRead)] = kMicro;
  Simulation simulation(host);
  SetRoleOfThisThread(Role::kOwn);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) {
    threads.emplace_back([] {
      for (int j = 0; j < 10'000; j++) Clock::now();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(simulation.Now(), 10 * kMilli);
  EXPECT_GE(simulation.switches(), 100u);
  EXPECT_LE(simulation.switches(), 300u);
}

TEST(SimulationTest, AMutexLetsOneComputeAtATime) {
  Simulation simulation(Host(4));
  std::mutex mutex;
  std::vector<std::thread> threads;
  int count = 0;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; j++) {
        const std::lock_guard<std::mutex> lock(mutex);
        const int before = count;
        Compute(50 * kMicro);
        count = before + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 400);
  EXPECT_EQ(simulation.Now(), 400 * 50 * kMicro);
}

TEST(SimulationTest, AConditionIsWaitedForUntilItsTime) {
  Simulation simulation(Host(2));
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  std::thread waker([&] {
    Compute(30 * kMilli);
    const std::lock_guard<std::mutex> lock(mutex);
    ready = true;
    condition.notify_one();
  });
  std::unique_lock<std::mutex> lock(mutex);
  EXPECT_FALSE(condition.wait_for(lock, std::chrono::milliseconds(10),
                                  [&] { return ready; }));
  EXPECT_EQ(simulation.Now(), 10 * kMilli);
  EXPECT_TRUE(condition.wait_for(lock, std::chrono::seconds(10),
                                 [&] { return ready; }));
  EXPECT_EQ(simulation.Now(), 30 * kMilli);
  lock.unlock();
  waker.join();
}

// An object that takes a lock when its thread ends.
std::mutex end_mutex;
std::vector<int> ends;
struct End {
  int number = 0;
  ~End() {
    Compute(number * kMicro);
    const std::lock_guard<std::mutex> lock(end_mutex);
    ends.push_back(number);
  }
};
thread_local End at_end;

TEST(SimulationTest, AThreadEndsAfterItsDestructors) {
  Simulation simulation(Host(4));
  ends.clear();
  std::vector<std::thread> threads;
  for (const int number : {30, 10, 20}) {
    threads.emplace_back([=] { at_end.number = number; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends, (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(simulation.Now(), 30 * kMicro);
}

// What is initialised by whoever comes first, and takes its time.
int Slow() {
  static const int value = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return 7;
  }();
  return value;
}

TEST(SimulationTest, AnInitialisationIsWaitedFor) {
  Simulation simulation(Host(1));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([] { EXPECT_EQ(Slow(), 7); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(simulation.Now(), 5 * kMilli);
}

uint64_t HashOfWork(int processors) {
  Simulation simulation(Host(processors));
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 200; j++) {
        Compute((i * 7919 + j * 104729) % 1000 * kMicro);
        const std::lock_guard<std::mutex> lock(mutex);
        Compute(20 * kMicro);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return simulation.schedule_hash();
}

TEST(SimulationTest, GoesTheSameWayEachTime) {
  const uint64_t hash = HashOfWork(3);
  EXPECT_EQ(HashOfWork(3), hash);
  EXPECT_NE(HashOfWork(2), hash);
}

TEST(SimulationDeathTest, ThreadsThatWaitForEachOtherAreNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait_for_each_other = [] {
    Simulation simulation(Host(2));
    std::mutex first, second;
    first.lock();
    std::thread other([&] {
      ::pthread_setname_np(::pthread_self(), "other");
      second.lock();
      first.lock();
    });
    std::this_thread::sleep_for(std::chrono::seconds(1));
    second.lock();
  };
  EXPECT_EXIT(wait_for_each_other(),
              testing::ExitedWithCode(Simulation::kStuckStatus),
              "nobody can go on: main for a mutex, other for a mutex");
}

TEST(SimulationDeathTest, AThreadThatSpinsIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto spin = [] {
    Simulation::Host host = Host(1);
    host.patience_s = 2;
    Simulation simulation(host);
    ::pthread_setname_np(::pthread_self(), "spinner");
    volatile bool forever = true;
    while (forever) {
    }
  };
  EXPECT_EXIT(spin(), testing::ExitedWithCode(Simulation::kStuckStatus),
              "spinner has computed for 2 real seconds");
}

}  // namespace
}  // namespace recompact
