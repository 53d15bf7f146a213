#include "driver/latency_summary.h"

#include <algorithm>
#include <numeric>

namespace recompact {

namespace {

// The nearest rank for "per_10000" / 10000 of the sorted latencies.
double Percentile(const std::vector<float>& sorted, uint64_t per_10000) {
  const uint64_t rank = (sorted.size() * per_10000 + 9999) / 10000;
  return sorted[std::max<uint64_t>(rank, 1) - 1];
}

}  // namespace

LatencySummary Summarize(std::vector<float>* latencies_us) {
  LatencySummary summary;
  if (latencies_us->empty()) return summary;
  std::sort(latencies_us->begin(), latencies_us->end());
  const std::vector<float>& sorted = *latencies_us;
  summary.count = sorted.size();
  summary.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) /
                 static_cast<double>(sorted.size());
  summary.p50 = Percentile(sorted, 5000);
  summary.p90 = Percentile(sorted, 9000);
  summary.p95 = Percentile(sorted, 9500);
  summary.p99 = Percentile(sorted, 9900);
  summary.p99_9 = Percentile(sorted, 9990);
  summary.p99_99 = Percentile(sorted, 9999);
  summary.max = sorted.back();
  return summary;
}

}  // namespace recompact
