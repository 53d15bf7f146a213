#ifndef RECOMPACT_WORKLOADS_SIMULATOR_PRIMITIVES_H_
#define RECOMPACT_WORKLOADS_SIMULATOR_PRIMITIVES_H_

#include <utility>
#include <vector>

#include "simulator/work.h"

namespace recompact {

// What threads do to each other, in nanoseconds of a processor per time,
// measured alone on this host.  A workload does little of it, so that a fit
// would give it what is left over.
// REQUIRES: the calling thread is of no simulation
std::vector<std::pair<Work, double>> MeasurePrimitives();

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_SIMULATOR_PRIMITIVES_H_
