#include "driver/device_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace recompact {

namespace {

int64_t TransferNs(uint64_t bytes, double bandwidth_mb_s) {
  return std::llround(static_cast<double>(bytes) * 1e3 / bandwidth_mb_s);
}

// The share of a unit of its stream that a request is: so much is to be paid of
// one positioning (seek and rotation, or latency).
double ShareOfUnit(const Request& request) {
  if (request.request_class == Request::kUser ||
      request.length >= request.stream_unit_bytes) {
    return 1;
  }
  return static_cast<double>(request.length) /
         static_cast<double>(request.stream_unit_bytes);
}

// Channels work at the same time, but their transfers take turns on one bus
// (half duplex) or on one for reads and one for writes.  A request waits for
// the channel that is free first, then for the bus, and completes one latency
// after its transfer:
//   completion = max(now, channel, bus) + length / bandwidth + latency * share
// The latency keeps the channel busy, not the bus.
class Ssd : public DeviceModel {
 public:
  explicit Ssd(const DeviceParameters& parameters)
      : parameters_(parameters), channel_free_ns_(parameters.channels, 0) {
    assert(parameters.channels > 0);
  }

  int64_t Submit(int64_t now_ns, const Request& request) override {
    const bool read = (request.direction == Request::kRead);
    int64_t& channel =
        *std::min_element(channel_free_ns_.begin(), channel_free_ns_.end());
    int64_t& bus = bus_free_ns_[parameters_.half_duplex || read ? 0 : 1];
    const double latency_us =
        read ? parameters_.read_latency_us : parameters_.write_latency_us;
    bus = std::max({now_ns, channel, bus}) +
          TransferNs(request.length, read ? parameters_.read_bandwidth_mb_s
                                          : parameters_.write_bandwidth_mb_s);
    channel = bus + std::llround(latency_us * 1e3 * ShareOfUnit(request));
    return channel;
  }

  int64_t QueueNs(int64_t now_ns) const override {
    const int64_t channel =
        *std::min_element(channel_free_ns_.begin(), channel_free_ns_.end());
    return std::max<int64_t>(0, std::max(channel, bus_free_ns_[0]) - now_ns);
  }

 private:
  const DeviceParameters parameters_;
  std::vector<int64_t> channel_free_ns_;
  int64_t bus_free_ns_[2] = {0, 0};
};

// One arm:
//   completion = now + max(0, arm - now) * share
//              + positioning * share + length / bandwidth
// where positioning is the average seek plus half a rotation, and nothing for a
// request that begins where the one before it ended.  Users' requests and whole
// units are served first come first served.  A unit that is read bit by bit, or
// that a scale model made small, waits once for as many bytes as a whole one;
// whatever is served is work that the next request finds in front of it, so a
// stream cannot have more than the arm gives for longer than a few units take.
class Hdd : public DeviceModel {
 public:
  explicit Hdd(const DeviceParameters& parameters) : parameters_(parameters) {
    assert(parameters.rotation_rpm > 0);
  }

  int64_t Submit(int64_t now_ns, const Request& request) override {
    const bool read = (request.direction == Request::kRead);
    const double share = ShareOfUnit(request);
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
    arm_free_ns_ = now_ns + queue_ns + service_ns;
    return now_ns + std::llround(queue_ns * share) + service_ns;
  }

  int64_t QueueNs(int64_t now_ns) const override {
    return std::max<int64_t>(0, arm_free_ns_ - now_ns);
  }

 private:
  const DeviceParameters parameters_;
  uint64_t head_ = UINT64_MAX;
  int64_t arm_free_ns_ = 0;
};

// Chunk c of the address space lies on member c mod n.  What a request has on
// one member is contiguous there and goes to it as one request; the whole
// completes with its last part.
class Raid0 : public DeviceModel {
 public:
  explicit Raid0(const DeviceParameters& parameters)
      : chunk_bytes_(parameters.chunk_bytes) {
    assert(chunk_bytes_ > 0 && parameters.members > 0);
    for (int i = 0; i < parameters.members; i++) {
      members_.push_back(NewDeviceModel(*parameters.member));
    }
  }

  int64_t Submit(int64_t now_ns, const Request& request) override {
    const uint64_t n = members_.size();
    const uint64_t end = request.address + request.length;
    std::vector<Request> parts(n);
    for (uint64_t at = request.address; at < end;) {
      const uint64_t chunk = at / chunk_bytes_;
      const uint64_t stop = std::min(end, (chunk + 1) * chunk_bytes_);
      Request& part = parts[chunk % n];
      if (part.length == 0) {
        part = request;
        part.address = chunk / n * chunk_bytes_ + at % chunk_bytes_;
        part.length = 0;
      }
      part.length += stop - at;
      at = stop;
    }
    int64_t completion_ns = now_ns;
    for (uint64_t i = 0; i < n; i++) {
      if (parts[i].length == 0) continue;
      completion_ns =
          std::max(completion_ns, members_[i]->Submit(now_ns, parts[i]));
    }
    return completion_ns;
  }

  int64_t QueueNs(int64_t now_ns) const override {
    int64_t longest = 0;
    for (const auto& member : members_) {
      longest = std::max(longest, member->QueueNs(now_ns));
    }
    return longest;
  }

 private:
  const uint64_t chunk_bytes_;
  std::vector<std::unique_ptr<DeviceModel>> members_;
};

}  // namespace

DeviceParameters AtSpeed(DeviceParameters parameters, double speed) {
  assert(speed > 0);
  parameters.read_bandwidth_mb_s *= speed;
  parameters.write_bandwidth_mb_s *= speed;
  parameters.read_latency_us /= speed;
  parameters.write_latency_us /= speed;
  parameters.read_seek_ms /= speed;
  parameters.write_seek_ms /= speed;
  parameters.rotation_rpm *= speed;
  parameters.sync_latency_us /= speed;
  if (parameters.member != nullptr) {
    parameters.member = std::make_shared<const DeviceParameters>(
        AtSpeed(*parameters.member, speed));
  }
  return parameters;
}

std::unique_ptr<DeviceModel> NewDeviceModel(
    const DeviceParameters& parameters) {
  switch (parameters.kind) {
    case DeviceKind::kSsd:
      return std::make_unique<Ssd>(parameters);
    case DeviceKind::kHdd:
      return std::make_unique<Hdd>(parameters);
    case DeviceKind::kRaid0:
      return std::make_unique<Raid0>(parameters);
    case DeviceKind::kMemory:
    case DeviceKind::kPath:
      break;
  }
  assert(!"a device without a model");
  return nullptr;
}

}  // namespace recompact
