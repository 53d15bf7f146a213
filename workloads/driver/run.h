#ifndef RECOMPACT_WORKLOADS_DRIVER_RUN_H_
#define RECOMPACT_WORKLOADS_DRIVER_RUN_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/counters.h"
#include "driver/device_env.h"
#include "driver/key_value.h"
#include "driver/key_versions.h"
#include "driver/progress.h"
#include "driver/replay.h"
#include "driver/run_record.h"
#include "driver/run_spec.h"
#include "driver/spread_env.h"
#include "driver/status.h"
#include "driver/store.h"
#include "driver/timeline.h"
#include "driver/trace_reader.h"
#include "simulator/simulation.h"
#include "simulator/work.h"

namespace recompact {

// One run: a specification carried out on a database of its own in the data
// directory, and its results in the output directory, run.json last.
class Run {
 public:
  // "spec" must outlive the run.
  Run(const RunSpec& spec, const std::string& output_directory,
      const std::string& data_directory);

  // Removes the data directory at the end, unless the specification keeps the
  // database and the run succeeds.
  Status Execute();

 private:
  struct Range;

  Status BeginSimulation();
  Status Perform();
  Status OpenTraces();
  Status OpenTrace(const std::string& path);
  // The records of a stream of a replay phase, once its trace is open.
  Status RangeOf(const Phase& phase, const Stream& stream, Range* range);
  // Whether the streams of a phase fit each other.
  Status CheckStreams(const Phase& phase);
  // Bytes that the database may take.
  Status EstimateRoom(uint64_t* bytes);
  Status CheckForRoom();
  Status PrepareDatabase();
  Status OpenStore();

  Status RunPhase(const Phase& phase, PhaseResult* result);
  Status ReplayPhase(const Phase& phase, PhaseResult* result);
  // What a phase asks of the store is a client's work.
  Status AsClient(const std::function<void()>& function);
  void WaitIdle();
  // Begins and ends the part of a phase that is measured.
  Status BeginMeasuring(const Phase& phase);
  void EndMeasuring(PhaseResult* result);
  // "file" is a name in the output directory.
  Status SummarizeLatencies(const std::string& file, const Range& range,
                            std::vector<float> latencies_us,
                            StreamResult* result);
  Status WriteResults();

  const RunSpec& spec_;
  const std::string output_directory_;
  const std::string database_;
  // What the engine calls it.  On a simulated host it is the same wherever the
  // database lies: names are hashed, compared and copied, which is work.
  const std::string engines_name_;
  const std::string event_log_path_;
  const ValueGenerator values_;

  std::map<std::string, std::shared_ptr<const Trace>> traces_;  // By path
  std::unique_ptr<KeyVersions> versions_;
  SpreadEnv spread_env_;  // Below env_
  std::unique_ptr<DeviceEnv> env_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<CounterSource> counters_;
  std::unique_ptr<Timeline> timeline_;

  Simulation* simulation_ = nullptr;  // Of a simulated host
  Counters counters_at_open_;
  int64_t begin_ns_ = 0;
  Counters counters_at_begin_;
  Totals totals_at_begin_;
  std::array<RoleWork, kRoles> work_at_begin_;
  RunResult result_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_RUN_H_
