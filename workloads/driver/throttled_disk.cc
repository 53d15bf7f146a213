#include "driver/throttled_disk.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace recompact {

ThrottledDisk::ThrottledDisk(const DeviceParameters& parameters)
    : slice_ns_(std::llround(parameters.slice_ms * 1e6)) {
  assert(slice_ns_ > 0);
  Queue& reads = queues_[Request::kRead];
  reads.bytes.per_ns = parameters.read_bandwidth_mb_s / 1e3;
  reads.requests.per_ns = parameters.read_iops / 1e9;
  Queue& writes = queues_[Request::kWrite];
  writes.bytes.per_ns = parameters.write_bandwidth_mb_s / 1e3;
  writes.requests.per_ns = parameters.write_iops / 1e9;
}

int64_t ThrottledDisk::Submit(int64_t now_ns, const Request& request) {
  Queue& queue = queues_[request.direction];
  int64_t at_ns = std::max(now_ns, queue.last_ns);
  if (at_ns >= queue.slices_end_ns) {
    queue.slices_start_ns = at_ns;
    queue.bytes.used = queue.requests.used = 0;
  }
  // Whole slices that went by are forgotten, with what they granted.
  const int64_t whole = (at_ns - queue.slices_start_ns) / slice_ns_;
  queue.slices_start_ns += whole * slice_ns_;
  const int64_t slice_end_ns = queue.slices_start_ns + slice_ns_;
  int64_t wait_until_ns = at_ns;
  for (const auto& [limit, asked] :
       {std::pair(&queue.bytes, static_cast<double>(request.length)),
        std::pair(&queue.requests, request.ShareOfUnit())}) {
    const double granted = limit->per_ns * static_cast<double>(slice_ns_);
    limit->used =
        std::max(0.0, limit->used - static_cast<double>(whole) * granted);
    limit->used += asked;
    if (limit->used > granted) {
      wait_until_ns = std::max<int64_t>(
          wait_until_ns,
          slice_end_ns + std::llround((limit->used - granted) / limit->per_ns));
    }
  }
  queue.last_ns = wait_until_ns;
  const int64_t slices =
      (queue.last_ns - queue.slices_start_ns + 2 * slice_ns_ - 1) / slice_ns_;
  queue.slices_end_ns = queue.slices_start_ns + slices * slice_ns_;
  return queue.last_ns;
}

int64_t ThrottledDisk::QueueNs(int64_t now_ns) const {
  const int64_t last_ns = std::max(queues_[0].last_ns, queues_[1].last_ns);
  return std::max<int64_t>(0, last_ns - now_ns);
}

}  // namespace recompact
