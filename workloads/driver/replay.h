#ifndef RECOMPACT_WORKLOADS_DRIVER_REPLAY_H_
#define RECOMPACT_WORKLOADS_DRIVER_REPLAY_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/key_value.h"
#include "driver/key_versions.h"
#include "driver/progress.h"
#include "driver/status.h"
#include "driver/store.h"
#include "driver/trace_reader.h"
#include "driver/virtual_clock.h"

namespace recompact {

// Replays traces on a store: one range of a trace, or several side by side,
// each with client threads of its own.
//
// Every client reads the whole range of its trace and takes the operations
// whose keys are its own (mix(key) mod threads), so that the operations on one
// key keep their order.  At most one of the ranges side by side may write, so
// what a read must return is known: the last version that was acknowledged
// before it, or one that was on its way meanwhile.
//
// A closed loop issues an operation when the client's last one is done; its
// latency counts from there.  An open loop intends operation i at i / rate
// seconds after the start; its latency counts from the intended time, so that
// an operation held up by its predecessor shows the wait.
class Replay {
 public:
  struct Range {
    const Trace* trace;
    uint64_t first;
    uint64_t count;
    double rate_ops_s;  // 0: closed loop
    int threads;
    // One per operation of the range in microseconds, or nullptr.  Left as they
    // are for operations that are not done.
    float* latencies_us;
  };

  // All must outlive the replay.
  Replay(Store* store, const ValueGenerator* values, KeySpace keys,
         bool value_checks, KeyVersions* versions, Progress* progress,
         Clock* clock);

  // Replays the ranges side by side and returns when the first is over: when
  // its operations are done or, unless it is 0, "duration_s" has passed.  The
  // others are stopped then.  Returns earlier if an operation fails, a value is
  // none that it may be (kWrongValue), a kReadRecent goes back further than the
  // writes so far, or a range comes to its end before the first is over
  // (kBadInput).
  // REQUIRES: at most one range writes; all their threads together are clients
  // of the progress; the traces' keys are below versions->key_count()
  Status Run(const std::vector<Range>& ranges, double duration_s = 0);

 private:
  class Client;
  friend class Client;

  // Keeps the first failure and stops all clients.
  void Fail(const Status& status);

  Store* const store_;
  const ValueGenerator* const values_;
  const KeySpace keys_;
  const bool value_checks_;
  KeyVersions* const versions_;
  Progress* const progress_;
  Clock* const clock_;

  // Set before clients run:
  int64_t start_ns_ = 0;
  int64_t end_ns_ = 0;
  bool side_by_side_ = false;  // Whether there are several ranges

  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  Status status_;  // Guarded by mutex_
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_REPLAY_H_
