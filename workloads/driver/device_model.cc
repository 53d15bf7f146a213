#include "driver/device_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "driver/disk_arm.h"
#include "driver/file_placement.h"
#include "driver/shingled_disk.h"
#include "driver/throttled_disk.h"

namespace recompact {

namespace {

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
    channel = bus + std::llround(latency_us * 1e3 * request.ShareOfUnit());
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

class Hdd : public DeviceModel {
 public:
  explicit Hdd(const DeviceParameters& parameters) : arm_(parameters) {}

  int64_t Submit(int64_t now_ns, const Request& request) override {
    return arm_.Serve(now_ns, request, request.ShareOfUnit());
  }

  int64_t QueueNs(int64_t now_ns) const override {
    return arm_.QueueNs(now_ns);
  }

 private:
  DiskArm arm_;
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

DeviceParameters AtScale(DeviceParameters parameters, double scale_factor) {
  assert(scale_factor > 0);
  if (!parameters.shingled()) return parameters;
  constexpr uint64_t kBlock = FilePlacement::kBlockBytes;
  const auto divided = [scale_factor](uint64_t bytes) {
    return static_cast<uint64_t>(static_cast<double>(bytes) / scale_factor);
  };
  parameters.band_bytes =
      std::max(kBlock, divided(parameters.band_bytes) / kBlock * kBlock);
  parameters.media_cache_bytes =
      std::max(parameters.band_bytes, divided(parameters.media_cache_bytes));
  parameters.clean_after_idle_ms /= scale_factor;
  parameters.cleaning_share /= scale_factor;
  return parameters;
}

double Request::ShareOfUnit() const {
  if (request_class == kUser || length >= stream_unit_bytes) return 1;
  return static_cast<double>(length) / static_cast<double>(stream_unit_bytes);
}

int64_t TransferNs(uint64_t bytes, double bandwidth_mb_s) {
  return std::llround(static_cast<double>(bytes) * 1e3 / bandwidth_mb_s);
}

std::unique_ptr<DeviceModel> NewDeviceModel(
    const DeviceParameters& parameters) {
  switch (parameters.kind) {
    case DeviceKind::kSsd:
      return std::make_unique<Ssd>(parameters);
    case DeviceKind::kHdd:
      return std::make_unique<Hdd>(parameters);
    case DeviceKind::kSmr:
      return std::make_unique<ShingledDisk>(parameters);
    case DeviceKind::kZonedSmr:
      return std::make_unique<ZonedDisk>(parameters);
    case DeviceKind::kRaid0:
      return std::make_unique<Raid0>(parameters);
    case DeviceKind::kThrottled:
      return std::make_unique<ThrottledDisk>(parameters);
    case DeviceKind::kMemory:
    case DeviceKind::kPath:
      break;
  }
  assert(!"a device without a model");
  return nullptr;
}

}  // namespace recompact
