#include "simulator/primitives.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstddef>

namespace recompact {

namespace {

constexpr int kRounds = 20;  // Of which the fastest counts

int64_t ProcessorNs() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

// Nanoseconds of processors that "work" takes per time.
template <typename Work>
double CostNs(int times, Work work) {
  double least = 1e18;
  for (int round = 0; round < kRounds; round++) {
    const int64_t before = ProcessorNs();
    for (int i = 0; i < times; i++) work();
    least = std::min(least, static_cast<double>(ProcessorNs() - before));
  }
  return least / times;
}

// Two threads that wake each other by turns.
struct Turns {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  int left;

  void TakeEach(int parity) {
    ::pthread_mutex_lock(&mutex);
    while (left > 0) {
      if (left % 2 == parity) {
        left--;
        ::pthread_cond_signal(&changed);
      } else {
        ::pthread_cond_wait(&changed, &mutex);
      }
    }
    ::pthread_mutex_unlock(&mutex);
  }
};

void* Nothing(void*) { return nullptr; }

double ThreadNs(void* (*function)(void*), void* argument) {
  return CostNs(1, [&] {
    pthread_t thread;
    ::pthread_create(&thread, nullptr, function, argument);
    ::pthread_join(thread, nullptr);
  });
}

// Of a wake-up: who signals, and who waits.
double WakeUpNs() {
  constexpr int kTurns = 2000;
  return CostNs(1,
                [] {
                  Turns turns;
                  turns.left = kTurns;
                  pthread_t other;
                  ::pthread_create(
                      &other, nullptr,
                      +[](void* of) -> void* {
                        static_cast<Turns*>(of)->TakeEach(1);
                        return nullptr;
                      },
                      &turns);
                  turns.TakeEach(0);
                  ::pthread_join(other, nullptr);
                }) /
         kTurns;
}

}  // namespace

std::vector<std::pair<Work, double>> MeasurePrimitives() {
  constexpr int kTimes = 10000;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
  timespec now;
  const double signal_ns =
      CostNs(kTimes, [&] { ::pthread_cond_signal(&nobody); });
  return {
      {Work::kLock, CostNs(kTimes,
                           [&] {
                             ::pthread_mutex_lock(&mutex);
                             ::pthread_mutex_unlock(&mutex);
                           })},
      {Work::kSignal, signal_ns},
      {Work::kWait, std::max(0.0, WakeUpNs() - signal_ns)},
      {Work::kClockRead,
       CostNs(kTimes, [&] { ::clock_gettime(CLOCK_MONOTONIC, &now); })},
      {Work::kYield, CostNs(kTimes, [] { ::sched_yield(); })},
      {Work::kThreadStart, ThreadNs(Nothing, nullptr)},
  };
}

}  // namespace recompact
