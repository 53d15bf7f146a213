#ifndef RECOMPACT_WORKLOADS_DRIVER_PROGRESS_H_
#define RECOMPACT_WORKLOADS_DRIVER_PROGRESS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>

#include "driver/trace_reader.h"

namespace recompact {

// The kinds of operation that results tell apart.
enum class OperationGroup { kRead, kWrite, kScan };
constexpr int kOperationGroupCount = 3;
constexpr const char* kOperationGroupNames[kOperationGroupCount] = {
    "read", "write", "scan"};

inline OperationGroup GroupOf(Operation operation) {
  if (operation == Operation::kRead || operation == Operation::kReadRecent) {
    return OperationGroup::kRead;
  }
  if (operation == Operation::kScan) return OperationGroup::kScan;
  return OperationGroup::kWrite;
}

// Sums over operations.
struct Totals {
  std::array<uint64_t, kOperationGroupCount> operations{};
  std::array<uint64_t, kOperationGroupCount> latency_ns{};
  uint64_t user_bytes_written = 0;
  uint64_t user_bytes_read = 0;
  uint64_t found = 0;
  uint64_t not_found = 0;
  uint64_t scanned_records = 0;
  uint64_t trace_bytes = 0;  // Read from the trace by the driver itself
};

Totals Difference(const Totals& earlier, const Totals& later);

// What one client thread has done so far.  One thread adds; any may look.
class alignas(64) ClientProgress {
 public:
  void AddOperation(OperationGroup group, int64_t latency_ns) {
    const int g = static_cast<int>(group);
    Add(&operations_[g], 1);
    Add(&latency_ns_[g], static_cast<uint64_t>(latency_ns));
    if (latency_ns > max_latency_ns_.load(std::memory_order_relaxed)) {
      max_latency_ns_.store(latency_ns, std::memory_order_relaxed);
    }
  }
  void AddWritten(uint64_t bytes) { Add(&user_bytes_written_, bytes); }
  void AddFound(uint64_t bytes) {
    Add(&found_, 1);
    Add(&user_bytes_read_, bytes);
  }
  void AddNotFound() { Add(&not_found_, 1); }
  void AddScanned(uint64_t records, uint64_t bytes) {
    Add(&scanned_records_, records);
    Add(&user_bytes_read_, bytes);
  }
  void AddTraceBytes(uint64_t bytes) { Add(&trace_bytes_, bytes); }

  void AddTo(Totals* totals) const {
    for (int g = 0; g < kOperationGroupCount; g++) {
      totals->operations[g] += operations_[g].load(std::memory_order_relaxed);
      totals->latency_ns[g] += latency_ns_[g].load(std::memory_order_relaxed);
    }
    totals->user_bytes_written += user_bytes_written_.load();
    totals->user_bytes_read += user_bytes_read_.load();
    totals->found += found_.load();
    totals->not_found += not_found_.load();
    totals->scanned_records += scanned_records_.load();
    totals->trace_bytes += trace_bytes_.load();
  }
  // The longest operation since the last call.
  int64_t TakeMaxLatencyNs() { return max_latency_ns_.exchange(0); }

 private:
  using Counter = std::atomic<uint64_t>;

  // Cheaper than fetch_add(), and enough for a single writer.
  static void Add(Counter* counter, uint64_t n) {
    counter->store(counter->load(std::memory_order_relaxed) + n,
                   std::memory_order_relaxed);
  }

  std::array<Counter, kOperationGroupCount> operations_{};
  std::array<Counter, kOperationGroupCount> latency_ns_{};
  std::atomic<int64_t> max_latency_ns_{0};
  Counter user_bytes_written_{0}, user_bytes_read_{0}, found_{0}, not_found_{0},
      scanned_records_{0}, trace_bytes_{0};
};

// The clients of a run.
class Progress {
 public:
  explicit Progress(int clients) : clients_(clients) {}

  ClientProgress* client(int index) { return &clients_[index]; }

  Totals Sum() const {
    Totals totals;
    for (const ClientProgress& client : clients_) client.AddTo(&totals);
    return totals;
  }
  int64_t TakeMaxLatencyNs() {
    int64_t longest = 0;
    for (ClientProgress& client : clients_) {
      longest = std::max(longest, client.TakeMaxLatencyNs());
    }
    return longest;
  }

 private:
  std::deque<ClientProgress> clients_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_PROGRESS_H_
