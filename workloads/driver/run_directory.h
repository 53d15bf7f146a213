#ifndef RECOMPACT_WORKLOADS_DRIVER_RUN_DIRECTORY_H_
#define RECOMPACT_WORKLOADS_DRIVER_RUN_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "driver/status.h"

namespace recompact {

// Holds an exclusive lock on a file, so that no two measurements overlap.
class MeasurementLock {
 public:
  MeasurementLock() = default;
  ~MeasurementLock();
  MeasurementLock(const MeasurementLock&) = delete;
  MeasurementLock& operator=(const MeasurementLock&) = delete;

  // Creates the file if need be.  If another process has it: kLocked.
  Status Acquire(const std::string& path);

 private:
  int fd_ = -1;
};

// Makes "path" an output directory without results: creates it, and removes
// what an earlier try of the same run left.  A directory with a run.json of
// another run is refused and left as it is.
Status PrepareOutputDirectory(const std::string& path, const std::string& run);

// Makes "path" an empty directory.  One that holds anything is refused and left
// as it is: it may be the database of another run.
Status PrepareDatabaseDirectory(const std::string& path);

// Copies the files of a database that an earlier run kept.  A file that is
// there already is replaced, or, if it is a link, what it leads to.
Status CopyDatabase(const std::string& from, const std::string& to);

// Replaces the links in the directory of a database by the tables to which they
// lead, and removes these there.
Status GatherTables(const std::string& path);

// Checks that the file system of "path" has room for "bytes".
Status CheckRoom(const std::string& path, uint64_t bytes);

// Bytes of the files in a directory, without those below it; 0 if there is no
// such directory.
uint64_t DirectoryBytes(const std::string& path);

// The type of the file system that holds "path": "tmpfs", "ext4", ...
std::string FileSystemName(const std::string& path);

// Writes a file under a temporary name and renames it, so that it is there
// either whole or not at all.
Status WriteFile(const std::string& path, const void* data, size_t size);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_RUN_DIRECTORY_H_
