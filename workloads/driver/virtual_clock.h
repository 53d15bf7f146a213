#ifndef RECOMPACT_WORKLOADS_DRIVER_VIRTUAL_CLOCK_H_
#define RECOMPACT_WORKLOADS_DRIVER_VIRTUAL_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace recompact {

// Real time, injected so that tests need none.  Safe to share.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowNs() = 0;
  // Returns at or after "deadline_ns".
  virtual void SleepUntilNs(int64_t deadline_ns) = 0;

  // The monotonic clock of the system.
  static Clock* Monotonic();
};

// The clocks on which threads live when a device model holds them up.  A
// sleeping thread wakes late, so the virtual time of a thread is real time
// minus its lag: how much later it went on than the model said.  The next
// request is issued at virtual time and, while the lag lasts, its completion
// may already lie in the past; then the thread does not sleep.  So what one
// sleep takes too much the next ones take less, and the average is exact.
//
// A lag beyond kMaxLagNs cannot be paid back in good time (the host is too slow
// or too busy for the model): the excess is dropped and counted as lost.
//
// Each thread has one lag; a process drives one VirtualClock at a time.
class VirtualClock {
 public:
  static constexpr int64_t kMaxLagNs = 20 * 1000 * 1000;

  // REQUIRES: "clock" outlives this.
  explicit VirtualClock(Clock* clock);

  // The calling thread's virtual time.
  int64_t NowNs();

  // Lets the calling thread go on when its virtual time is "completion_ns".
  void WaitUntilNs(int64_t completion_ns);

  // From now on no thread sleeps: virtual time runs ahead of real time instead.
  void StopSleeping() { sleeps_.store(false); }

  // Since the last call, over all threads.
  int64_t TakeMaxLagNs() { return max_lag_ns_.exchange(0); }
  // Since the beginning, over all threads.
  int64_t lost_ns() const { return lost_ns_.load(); }

 private:
  int64_t& Lag();

  Clock* const clock_;
  const uint64_t id_;
  std::atomic<bool> sleeps_{true};
  std::atomic<int64_t> max_lag_ns_{0};
  std::atomic<int64_t> lost_ns_{0};
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_VIRTUAL_CLOCK_H_
