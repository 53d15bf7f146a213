#ifndef RECOMPACT_WORKLOADS_DRIVER_SHINGLED_DISK_H_
#define RECOMPACT_WORKLOADS_DRIVER_SHINGLED_DISK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "driver/device_model.h"
#include "driver/disk_arm.h"

namespace recompact {

// A shingled disk that manages itself (kSmr).  Tracks overlap like the shingles
// of a roof, so a band can only be written in ascending order.  What a host
// writes at the write pointer of a band, or in the block in which that ends,
// goes there; all other writes go to the media cache, a log elsewhere on the
// disk, one behind the other, and are read from there until their band is
// cleaned: the arm reads the band and its pieces in the cache and writes the
// band anew.  Then the write pointer stands behind the last byte of it.
//
// Bands are cleaned when the cache has no room for a write, which waits for it,
// and when the host has wanted nothing for clean_after_idle_ms, one after the
// other until its next request; first the band of the oldest piece, since a log
// gets room at its end only.
//
// A write at the first byte of a band in which nothing lives begins the band
// anew.  A drive without TRIM cannot know that nothing lives; this one is told
// by Discard() and uses it for nothing else: pieces of removed files are
// cleaned like any other.
class ShingledDisk : public DeviceModel {
 public:
  explicit ShingledDisk(const DeviceParameters& parameters);

  int64_t Submit(int64_t now_ns, const Request& request) override;
  int64_t QueueNs(int64_t now_ns) const override;
  void Advance(int64_t now_ns) override;
  void Hold(uint64_t address, uint64_t length) override;
  void Discard(uint64_t address, uint64_t length) override;
  std::optional<CleaningCounters> Cleaning() const override;

 private:
  struct Band {
    uint64_t write_pointer = 0;  // From the band's beginning
    uint64_t live_bytes = 0;     // Of files
  };
  // What the media cache has of one band, in one run.
  struct Piece {
    uint64_t length;
    uint64_t position;  // In the log, which never turns back
  };

  int64_t Read(int64_t now_ns, const Request& request);
  int64_t Write(int64_t now_ns, Request request);
  // Takes the bytes into their band if they stand at its write pointer.
  bool Append(uint64_t address, uint64_t length);
  // Cleans the band of the oldest piece; returns when the arm has done it.
  int64_t Clean(int64_t now_ns);
  uint64_t CacheAddress(uint64_t position) const;
  void AddPiece(uint64_t address, const Piece& piece);
  void RemovePieces(uint64_t begin, uint64_t end);

  const DeviceParameters parameters_;
  DiskArm arm_;
  int64_t host_done_ns_ = 0;  // When the last request of the host was
  std::map<uint64_t, Band> bands_;
  std::map<uint64_t, Piece> pieces_;  // By address; they do not overlap
  std::map<uint64_t, uint64_t> log_;  // Their addresses by position
  uint64_t log_end_ = 0;
  CleaningCounters cleaning_;
};

// A shingled disk that its host manages (kZonedSmr): writes stand at the write
// pointer of their zone, which Discard() resets.  So nothing is ever cleaned.
// Another write is served as if it did, but is the disk's WriteError().
// REQUIRES: no zone has bytes of two files
class ZonedDisk : public DeviceModel {
 public:
  explicit ZonedDisk(const DeviceParameters& parameters);

  int64_t Submit(int64_t now_ns, const Request& request) override;
  int64_t QueueNs(int64_t now_ns) const override;
  void Hold(uint64_t address, uint64_t length) override;
  void Discard(uint64_t address, uint64_t length) override;
  std::optional<CleaningCounters> Cleaning() const override;
  std::string WriteError() const override { return write_error_; }

 private:
  void Append(uint64_t address, uint64_t length);

  const uint64_t zone_bytes_;
  DiskArm arm_;
  std::map<uint64_t, uint64_t> write_pointers_;  // By zone; 0 if none is there
  std::string write_error_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_SHINGLED_DISK_H_
