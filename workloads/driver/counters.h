#ifndef RECOMPACT_WORKLOADS_DRIVER_COUNTERS_H_
#define RECOMPACT_WORKLOADS_DRIVER_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "driver/device_env.h"
#include "driver/progress.h"
#include "driver/store.h"
#include "nlohmann/json.hpp"

namespace recompact {

using Counters = std::map<std::string, int64_t>;

// The engine's account of itself.
struct EngineState {
  // With level_<n>_bytes_read and _written; empty if the engine keeps none.
  Counters counters;
  nlohmann::ordered_json levels;  // List by level: level, files, bytes, ...
  nlohmann::ordered_json space;   // Bytes by class
};

// Reads the property "recompact.stats", and with "space" also
// "recompact.space", for which the engine looks through its directory.  All
// members are null or empty for an engine that does not have them.
EngineState ReadEngineState(Store* store, bool space);

// As ReadEngineState() with space, but an engine without these properties is
// asked for its list of tables, from which levels and live bytes follow.  Slow:
// the engine stands still while it writes the list.
EngineState ReadEngineStateOrTables(Store* store);

// What the operating system counted for this process.
struct ProcessCounters {
  bool has_io = false;  // /proc/self/io is not there everywhere
  int64_t write_bytes = 0;
  int64_t read_bytes = 0;
  int64_t cpu_user_us = 0;
  int64_t cpu_sys_us = 0;
};
ProcessCounters ReadProcessCounters();

// Gathers the counters of a run from engine, device, process and clients.  All
// rise over the whole run, also when the engine begins again at 0 after it was
// closed and opened; but device_max_lag_us is since the last Take().
class CounterSource {
 public:
  // All must outlive the source.  What the process writes to the directory
  // "output" is not part of its write bytes.
  CounterSource(Store* store, DeviceEnv* env, const Progress* progress,
                std::string output);

  Counters Take();

  // To be called around Store::Reopen().
  void BeforeReopen();

 private:
  Store* const store_;
  DeviceEnv* const env_;
  const Progress* const progress_;
  const std::string output_;
  Counters before_reopen_;  // Of the engine, until it was last closed
};

// later - earlier, but for device_max_lag_us, which is later's.
Counters Difference(const Counters& earlier, const Counters& later);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_COUNTERS_H_
