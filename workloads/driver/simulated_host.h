#ifndef RECOMPACT_WORKLOADS_DRIVER_SIMULATED_HOST_H_
#define RECOMPACT_WORKLOADS_DRIVER_SIMULATED_HOST_H_

#include <string>

#include "driver/build_identity.h"
#include "nlohmann/json.hpp"

namespace recompact {

// A simulated host as a test's specification has it: twelve processors, costs
// of both roles that are fitted to this build of the engine.
inline nlohmann::ordered_json SimulatedHost(
    const std::string& engine, const nlohmann::ordered_json& costs_ns) {
  return {{"id", "any"},
          {"processors", 12},
          {"slice_us", 3000},
          {"wake_up_granularity_us", 1000.5},
          {"switch_ns", 1500},
          {"wake_ns", 2000},
          {"ties", "lower"},
          {"calibration",
           {{"engine", engine},
            {"machine", "any"},
            {"compiler", kCompiler},
            {"libraries", LibraryVersions()}}},
          {"costs_ns", {{"client", costs_ns}, {"background", costs_ns}}}};
}

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_SIMULATED_HOST_H_
