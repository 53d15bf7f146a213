#ifndef RECOMPACT_WORKLOADS_DRIVER_FILE_PLACEMENT_H_
#define RECOMPACT_WORKLOADS_DRIVER_FILE_PLACEMENT_H_

#include <cstdint>
#include <map>
#include <vector>

namespace recompact {

// Where files lie on a disk whose positions matter, as a file system would have
// it.  A file that grows goes on behind its end while there is room, else in
// the first hole that holds all that it is to get; a removed file leaves a
// hole.  Behind the last file the disk goes on for ever.  Room is given in
// whole grains: blocks, or bands of a shingled disk, which no other file then
// shares.  Not thread-safe.
class FilePlacement {
 public:
  static constexpr uint64_t kBlockBytes = 4096;

  struct Extent {
    uint64_t address;
    uint64_t length;
  };

  // Appends to the file and returns where the new bytes lie.  What lies behind
  // the file in the last grain that it got is filled first.
  // REQUIRES: grain_bytes > 0, the same for all calls with one file
  std::vector<Extent> Append(uint64_t file, uint64_t length,
                             uint64_t grain_bytes);

  // Where a range of the file lies; without what the file has no room for.
  std::vector<Extent> Find(uint64_t file, uint64_t offset,
                           uint64_t length) const;

  // Forgets the file and returns where its bytes lay.
  std::vector<Extent> Remove(uint64_t file);

 private:
  static constexpr uint64_t kDiskBytes = uint64_t{1} << 60;

  // Part of a file: its bytes are the first of its room.
  struct Part {
    Extent bytes;
    uint64_t room;
  };

  // Adds room for so many bytes to the file's end.
  void Grow(std::vector<Part>* parts, uint64_t length, uint64_t grain_bytes);
  void Take(uint64_t begin, uint64_t end);
  void Free(uint64_t begin, uint64_t end);

  std::map<uint64_t, std::vector<Part>> files_;
  std::map<uint64_t, uint64_t> holes_ = {{0, kDiskBytes}};  // End by begin
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_FILE_PLACEMENT_H_
