#ifndef RECOMPACT_WORKLOADS_DRIVER_DISK_ARM_H_
#define RECOMPACT_WORKLOADS_DRIVER_DISK_ARM_H_

#include <cstdint>

#include "driver/device_model.h"

namespace recompact {

// The one arm of a hard disk, shingled or not:
//   completion = now + max(0, arm - now) * share
//              + positioning * share + length / bandwidth
// where positioning is the average seek plus half a rotation, and nothing for a
// request that begins where the one before it ended.  Users' requests and whole
// units are served first come first served.  A unit that is read bit by bit, or
// that a scale model made small, waits once for as many bytes as a whole one;
// whatever is served is work that the next request finds in front of it, so a
// stream cannot have more than the arm gives for longer than a few units take.
class DiskArm {
 public:
  explicit DiskArm(const DeviceParameters& parameters);

  // Returns the completion of a request that is issued at "now_ns" and pays
  // "share" of a positioning and of the wait.
  int64_t Serve(int64_t now_ns, const Request& request, double share);

  int64_t QueueNs(int64_t now_ns) const;
  // When the arm has nothing left to do.
  int64_t free_ns() const { return free_ns_; }

 private:
  const DeviceParameters parameters_;
  uint64_t head_ = UINT64_MAX;
  int64_t free_ns_ = 0;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_DISK_ARM_H_
