#ifndef RECOMPACT_WORKLOADS_DRIVER_TIMELINE_H_
#define RECOMPACT_WORKLOADS_DRIVER_TIMELINE_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "driver/counters.h"
#include "driver/device_env.h"
#include "driver/progress.h"
#include "driver/store.h"

namespace recompact {

// Samples the state of a run at a fixed interval from a thread of its own and
// keeps it as the text of timeline.csv: per interval, what was done in it;
// device queue as it was at its end; space as it was at most a quarter of a
// second before, at the end of a phase as it is.  The clients only count.
class Timeline {
 public:
  // All must outlive the timeline.
  Timeline(Store* store, DeviceEnv* env, Progress* progress, int interval_ms);
  ~Timeline();

  // Samples from now on, as part of "phase", until Stop().  The last interval
  // may be shorter.  An error if there is no thread to be had for it.
  Status Start(const std::string& phase);
  void Stop();

  // REQUIRES: not between Start() and Stop()
  const std::string& csv() const { return csv_; }

 private:
  // Sums at a point in time.
  struct Sample {
    int64_t time_ns = 0;
    Totals totals;
    Counters engine;
    int64_t device_read_bytes = 0;
    int64_t device_write_bytes = 0;
  };

  // Reads the space if this is the last sample of a phase or the time has come.
  Sample TakeSample(bool last, EngineState* state);
  void SampleUntilStopped(std::string phase, Sample first);
  void AppendRow(const std::string& phase, int64_t phase_start_ns,
                 const Sample& earlier, const Sample& later,
                 const EngineState& state);

  Store* const store_;
  DeviceEnv* const env_;
  Progress* const progress_;
  const int64_t interval_ns_;
  std::string csv_;
  nlohmann::ordered_json space_;  // Last read
  int64_t next_space_ns_ = 0;

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // Guarded by mutex_
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_TIMELINE_H_
