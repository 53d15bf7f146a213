#ifndef RECOMPACT_WORKLOADS_DRIVER_LATENCY_SUMMARY_H_
#define RECOMPACT_WORKLOADS_DRIVER_LATENCY_SUMMARY_H_

#include <cstdint>
#include <vector>

namespace recompact {

// Exact statistics of a set of latencies in microseconds.  A percentile p is
// the nearest rank: the smallest latency that at least p % do not exceed.
struct LatencySummary {
  uint64_t count = 0;
  double mean = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0, p99_9 = 0, p99_99 = 0;
  double max = 0;
};

// Sorts *latencies_us.
LatencySummary Summarize(std::vector<float>* latencies_us);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_LATENCY_SUMMARY_H_
