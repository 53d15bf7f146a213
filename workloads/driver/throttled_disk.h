#ifndef RECOMPACT_WORKLOADS_DRIVER_THROTTLED_DISK_H_
#define RECOMPACT_WORKLOADS_DRIVER_THROTTLED_DISK_H_

#include <cstdint>

#include "driver/device_model.h"

namespace recompact {

// A disk that takes no time of its own behind the limits of Linux's block layer
// (block/blk-throttle.c): so many bytes and so many requests per second, reads
// and writes apart.  The kernel counts in slices: whoever comes first in one
// may have all that the slice grants at once, and then all wait for the next.
class ThrottledDisk : public DeviceModel {
 public:
  // REQUIRES: parameters.kind == kThrottled
  explicit ThrottledDisk(const DeviceParameters& parameters);

  int64_t Submit(int64_t now_ns, const Request& request) override;
  int64_t QueueNs(int64_t now_ns) const override;

 private:
  // What may not be exceeded, and how much of it went.
  struct Limit {
    double per_ns = 0;
    double used = 0;  // Since slices_start_ns, less what whole slices granted
  };
  struct Queue {
    Limit bytes;
    Limit requests;
    int64_t slices_start_ns = 0;
    int64_t slices_end_ns = 0;  // A pause beyond it ends the count
    int64_t last_ns = 0;        // When the last request was let through
  };

  const int64_t slice_ns_;
  Queue queues_[2];  // By direction
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_THROTTLED_DISK_H_
