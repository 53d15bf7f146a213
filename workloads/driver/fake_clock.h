#ifndef RECOMPACT_WORKLOADS_DRIVER_FAKE_CLOCK_H_
#define RECOMPACT_WORKLOADS_DRIVER_FAKE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "driver/virtual_clock.h"

namespace recompact {

// A clock for tests: stands still but for sleeps, which it ends at once, late
// by "oversleep_ns".
class FakeClock : public Clock {
 public:
  int64_t NowNs() override { return now_ns_.load(); }
  void SleepUntilNs(int64_t deadline_ns) override {
    sleeps_++;
    int64_t now_ns = now_ns_.load();
    while (
        now_ns < deadline_ns + oversleep_ns_ &&
        !now_ns_.compare_exchange_weak(now_ns, deadline_ns + oversleep_ns_)) {
    }
  }

  void Advance(int64_t ns) { now_ns_ += ns; }
  void set_oversleep_ns(int64_t ns) { oversleep_ns_ = ns; }
  int sleeps() const { return sleeps_; }

 private:
  std::atomic<int64_t> now_ns_{1000000000};
  std::atomic<int64_t> oversleep_ns_{0};
  std::atomic<int> sleeps_{0};
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_FAKE_CLOCK_H_
