#ifndef RECOMPACT_WORKLOADS_DRIVER_DEVICE_MODEL_H_
#define RECOMPACT_WORKLOADS_DRIVER_DEVICE_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recompact {

enum class DeviceKind {
  kMemory,  // No charge
  kPath,    // A real directory: no charge
  kSsd,
  kHdd,
  kSmr,       // A shingled disk that takes any write (drive-managed)
  kZonedSmr,  // A shingled disk that only appends to zones (host-managed)
  kRaid0,
  kThrottled,  // What Linux's block layer lets through of a fast disk
};

// One entry of devices.yaml.  Fields that a kind does not use stay 0.
struct DeviceParameters {
  DeviceKind kind = DeviceKind::kMemory;
  std::string id;

  double read_bandwidth_mb_s = 0;  // 10^6 bytes per second
  double write_bandwidth_mb_s = 0;
  // kSsd
  double read_latency_us = 0;
  double write_latency_us = 0;
  int channels = 0;          // Requests in service at the same time
  bool half_duplex = false;  // Reads and writes share the transfer time
  // kThrottled
  double read_iops = 0;  // Requests per second
  double write_iops = 0;
  double slice_ms = 0;  // In which bytes and requests are counted
  // kHdd, kSmr, kZonedSmr
  double read_seek_ms = 0;  // Average
  double write_seek_ms = 0;
  double rotation_rpm = 0;
  // kSmr, kZonedSmr: a multiple of FilePlacement::kBlockBytes
  uint64_t band_bytes = 0;  // Bands, or zones, are written from their beginning
  // kSmr
  uint64_t media_cache_bytes = 0;  // At least a band; takes all other writes
  double clean_after_idle_ms = 0;
  double cleaning_share = 1;  // Of a positioning, which cleaning pays each time
  bool own_bands = false;     // No table shares its bands with another file
  // kRaid0: "members" devices with the parameters of "member"
  int members = 0;
  uint64_t chunk_bytes = 0;
  std::shared_ptr<const DeviceParameters> member;
  // kPath: the directories over which tables are spread; none: all files are
  // together
  std::vector<std::string> mounts;

  // The host in front of the device.
  uint64_t read_ahead_bytes = 128 << 10;  // Stream reads come in such units
  uint64_t writeback_bytes = 0;           // Stream writes come in such units
  uint64_t dirty_limit_bytes = 0;         // 0: writers wait for each unit
  uint64_t page_cache_bytes = 0;          // 0: direct I/O
  double sync_latency_us = 0;             // Of a commit, divided by the scale

  bool modelled() const {
    return kind != DeviceKind::kMemory && kind != DeviceKind::kPath;
  }
  bool shingled() const {
    return kind == DeviceKind::kSmr || kind == DeviceKind::kZonedSmr;
  }
};

// The shingled disk of a scale model whose files are smaller by "scale_factor":
// bands and media cache are as much smaller, and pauses of the host as much
// shorter.  As many bands are cleaned as in the original, so that each pays so
// much less for positioning.  Other parameters stay.
// REQUIRES: scale_factor > 0
DeviceParameters AtScale(DeviceParameters parameters, double scale_factor);

struct Request {
  enum Direction { kRead, kWrite };
  // kUser: a random read that an operation of the user waits for, or a request
  // past the host (direct I/O); it pays the whole positioning.  kStream:
  // everything else; the host reads ahead and writes behind in units of
  // stream_unit_bytes, so a request pays the share min(1, length / unit) of one
  // positioning, and of one wait for the arm of a disk.
  enum Class { kUser, kStream };

  Direction direction = kRead;
  Class request_class = kUser;
  uint64_t address = 0;  // Byte address on the device
  uint64_t length = 0;   // Bytes
  uint64_t stream_unit_bytes = 0;

  // The share of a unit of its stream that the request is: so much is to be
  // paid of one positioning (seek and rotation, or latency).
  double ShareOfUnit() const;
};

int64_t TransferNs(uint64_t bytes, double bandwidth_mb_s);

// What a shingled disk did beside the requests of the host.
struct CleaningCounters {
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  uint64_t media_cache_bytes = 0;  // There now, still to be cleaned
};

// When a device would complete its requests.  A model is a pure function of the
// requests and their times: no thread, no clock.  Times are nanoseconds; they
// need not rise from one request to the next (threads lag by different
// amounts), requests are served in the order of the calls, but for streams on a
// disk.
class DeviceModel {
 public:
  virtual ~DeviceModel() = default;

  // Returns the time at which the request, issued at "now_ns", completes.
  virtual int64_t Submit(int64_t now_ns, const Request& request) = 0;

  // How long a request issued at "now_ns" would wait until its service begins.
  virtual int64_t QueueNs(int64_t now_ns) const = 0;

  // The rest is of use on a shingled disk only.

  // Brings what the device does between requests up to "now_ns".
  virtual void Advance(int64_t /*now_ns*/) {}

  // These bytes are on the device since before the first request.
  virtual void Hold(uint64_t /*address*/, uint64_t /*length*/) {}

  // The file that these bytes belong to was removed.
  virtual void Discard(uint64_t /*address*/, uint64_t /*length*/) {}

  // Nothing if the device is not shingled.
  virtual std::optional<CleaningCounters> Cleaning() const {
    return std::nullopt;
  }

  // The first write that the device could not do; empty if it did all.
  virtual std::string WriteError() const { return ""; }
};

// REQUIRES: parameters.modelled()
std::unique_ptr<DeviceModel> NewDeviceModel(const DeviceParameters& parameters);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_DEVICE_MODEL_H_
