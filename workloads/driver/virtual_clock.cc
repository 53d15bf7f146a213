#include "driver/virtual_clock.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

namespace recompact {

namespace {

constexpr int64_t kNsPerSecond = 1000 * 1000 * 1000;

class MonotonicClock : public Clock {
 public:
  int64_t NowNs() override {
    struct timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * kNsPerSecond + now.tv_nsec;
  }

  void SleepUntilNs(int64_t deadline_ns) override {
    const struct timespec deadline = {deadline_ns / kNsPerSecond,
                                      deadline_ns % kNsPerSecond};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline,
                             nullptr) == EINTR) {
    }
  }
};

std::atomic<uint64_t> next_id{1};

}  // namespace

Clock* Clock::Monotonic() {
  static MonotonicClock* const clock = new MonotonicClock;
  return clock;
}

VirtualClock::VirtualClock(Clock* clock)
    : clock_(clock), id_(next_id.fetch_add(1)) {}

int64_t& VirtualClock::Lag() {
  thread_local uint64_t owner = 0;
  thread_local int64_t lag_ns = 0;
  if (owner != id_) {
    owner = id_;
    lag_ns = 0;
  }
  return lag_ns;
}

int64_t VirtualClock::NowNs() { return clock_->NowNs() - Lag(); }

void VirtualClock::WaitUntilNs(int64_t completion_ns) {
  int64_t now_ns = clock_->NowNs();
  if (completion_ns > now_ns && sleeps_.load(std::memory_order_relaxed)) {
    clock_->SleepUntilNs(completion_ns);
    now_ns = clock_->NowNs();
  }
  const int64_t lag_ns = now_ns - completion_ns;
  int64_t max_lag_ns = max_lag_ns_.load(std::memory_order_relaxed);
  while (lag_ns > max_lag_ns &&
         !max_lag_ns_.compare_exchange_weak(max_lag_ns, lag_ns)) {
  }
  if (lag_ns > kMaxLagNs) lost_ns_.fetch_add(lag_ns - kMaxLagNs);
  Lag() = std::min(lag_ns, kMaxLagNs);
}

}  // namespace recompact
