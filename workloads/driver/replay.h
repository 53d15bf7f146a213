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

namespace recompact {

// Replays traces on a store with one or more client threads.
//
// Every client reads the whole range of the trace and takes the operations
// whose keys are its own (mix(key) mod threads), so that the operations on one
// key keep their order, and what a read must return is exactly known.
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
    // One per operation of the range in microseconds, or nullptr.
    float* latencies_us;
  };

  // All must outlive the replay.
  Replay(Store* store, const ValueGenerator* values, KeyOrder order,
         bool value_checks, KeyVersions* versions, Progress* progress);

  // Returns when all operations are done, or after the first that failed.  A
  // value that is not the one written last is a kWrongValue.
  // REQUIRES: the trace's keys are below versions->key_count()
  Status Run(const Range& range);

 private:
  class Client;
  friend class Client;

  // Keeps the first failure and stops all clients.
  void Stop(const Status& status);

  Store* const store_;
  const ValueGenerator* const values_;
  const KeyOrder order_;
  const bool value_checks_;
  KeyVersions* const versions_;
  Progress* const progress_;

  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  Status status_;  // Guarded by mutex_
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_REPLAY_H_
