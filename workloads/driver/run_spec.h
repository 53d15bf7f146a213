#ifndef RECOMPACT_WORKLOADS_DRIVER_RUN_SPEC_H_
#define RECOMPACT_WORKLOADS_DRIVER_RUN_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/device_model.h"
#include "driver/key_value.h"
#include "driver/key_versions.h"
#include "driver/status.h"
#include "nlohmann/json.hpp"
#include "simulator/simulation.h"

namespace recompact {

// Operations of a trace, and how they are replayed.
struct Stream {
  std::string where;  // In the specification, for messages
  std::string name;
  std::string trace;
  uint64_t start = 0;             // First record
  std::optional<uint64_t> count;  // Records; all the rest if absent
  double rate_ops_s = 0;          // 0: closed loop
  int threads = 1;
};

// One step of a run.
struct Phase {
  enum class Kind { kReplay, kWaitIdle, kWait, kCompactRange, kReopen };

  std::string name;
  Kind kind = Kind::kReplay;
  std::string kind_name;
  // kReplay only:
  std::vector<Stream> streams;  // The phase's own, then those beside it
  double duration_s = 0;        // 0: until the own stream is done
  uint64_t warmup_operations = 0;
  // kWait only:
  double seconds = 0;
};

// The database that a run begins with.
struct StartFrom {
  std::string run;
  std::string database;             // Directory to copy
  std::vector<std::string> traces;  // What wrote it, in order
};

// What a run does: the contents of spec.json.
struct RunSpec {
  std::string path;
  nlohmann::ordered_json document;

  std::string run;
  std::optional<Simulation::Host> host;  // Absent: the real one
  std::string engine_id;
  std::map<std::string, std::string> engine_options;
  bool direct_io = false;  // Tables go past the host, see DeviceEnv
  DeviceParameters device;
  double scale_factor = 1;
  KeySpace keys;
  double compressibility = 0.5;
  bool value_checks = true;
  int timeline_interval_ms = 100;
  std::optional<StartFrom> start_from;
  bool keep_database = false;
  KeyRange recent_keys;  // Whose updates a kReadRecent counts
  std::vector<Phase> phases;
};

// Reads and checks the specification.  Errors name the file and the key, also
// for keys that it does not know.
Status ReadRunSpec(const std::string& path, RunSpec* spec);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_RUN_SPEC_H_
