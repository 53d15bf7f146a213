#include "driver/disk_arm.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace recompact {

DiskArm::DiskArm(const DeviceParameters& parameters) : parameters_(parameters) {
  assert(parameters.rotation_rpm > 0);
}

int64_t DiskArm::Serve(int64_t now_ns, const Request& request, double share) {
  const bool read = (request.direction == Request::kRead);
  int64_t service_ns =
      TransferNs(request.length, read ? parameters_.read_bandwidth_mb_s
                                      : parameters_.write_bandwidth_mb_s);
  if (request.address != head_) {
    const double seek_ms =
        read ? parameters_.read_seek_ms : parameters_.write_seek_ms;
    const double half_rotation_ms = 30e3 / parameters_.rotation_rpm;
    service_ns += std::llround((seek_ms + half_rotation_ms) * 1e6 * share);
  }
  head_ = request.address + request.length;
  const int64_t queue_ns = QueueNs(now_ns);
  free_ns_ = now_ns + queue_ns + service_ns;
  return now_ns + std::llround(queue_ns * share) + service_ns;
}

int64_t DiskArm::QueueNs(int64_t now_ns) const {
  return std::max<int64_t>(0, free_ns_ - now_ns);
}

}  // namespace recompact
