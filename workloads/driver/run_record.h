#ifndef RECOMPACT_WORKLOADS_DRIVER_RUN_RECORD_H_
#define RECOMPACT_WORKLOADS_DRIVER_RUN_RECORD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/counters.h"
#include "driver/latency_summary.h"
#include "driver/progress.h"
#include "driver/run_spec.h"
#include "driver/trace_reader.h"
#include "simulator/work.h"

namespace recompact {

// What the operations of a stream took.
struct StreamResult {
  const Stream* stream = nullptr;
  std::shared_ptr<const Trace> trace;
  uint64_t operations = 0;  // That were done, after the warm-up
  std::array<LatencySummary, kOperationGroupCount> latency_us;
  LatencySummary all_latency_us;
};

// What a phase measured.
struct PhaseResult {
  const Phase* phase = nullptr;
  std::vector<StreamResult> streams;  // As in the phase
  double duration_s = 0;              // Of the phase and all its streams
  Counters counters;                  // Over the phase
  EngineState end;                    // At its end
  Totals totals;                      // Over the phase
  std::array<RoleWork, kRoles> work;  // Over the phase
};

// What lay on one of device.mounts at the end.
struct MountResult {
  std::string file_system;
  uint64_t table_bytes = 0;
};

// Which way the threads of a simulated host went.
struct ScheduleResult {
  uint64_t hash = 0;
  uint64_t switches = 0;
};

struct RunResult {
  std::optional<ScheduleResult> schedule;
  std::string started;  // ISO 8601
  double wall_s = 0;
  // Real time of processors that a simulation took.
  std::optional<double> simulating_s;
  std::string file_system;
  std::vector<MountResult> mounts;
  std::vector<PhaseResult> phases;
  Counters counters;  // Over the whole run, until nothing was being written
};

// Why the numbers of a run should not be trusted, one sentence each: the
// accounts of written bytes (engine, process, device) differ, or the host could
// not keep up with the device model.
std::vector<std::string> SuspectReasons(const RunResult& result);

// What run.json says of the binary: engine.build and driver.
nlohmann::ordered_json BuildRecord();

// The contents of run.json.
nlohmann::ordered_json RunRecord(const RunSpec& spec, const RunResult& result);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_RUN_RECORD_H_
