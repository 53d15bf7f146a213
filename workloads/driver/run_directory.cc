#include "driver/run_directory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "nlohmann/json.hpp"

namespace recompact {

namespace fs = std::filesystem;

namespace {

constexpr long kXfsMagic = 0x58465342;  // Not in linux/magic.h everywhere

Status SystemError(const std::string& path, const std::string& what,
                   int error) {
  const std::string cause = what + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return Status(ExitCode::kNoSpace, path, cause, "free space there");
  }
  return Status::Failed(path, cause, "make the path usable or give another");
}

uint64_t AvailableMemory() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  uint64_t kib;
  while (info >> name >> kib && std::getline(info, unit)) {
    if (name == "MemAvailable:") return kib << 10;
  }
  return UINT64_MAX;
}

std::string Gigabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f GB", bytes * 1e-9);
  return text;
}

// The file may be another user's, which we may only read; and in a folder like
// /tmp O_CREAT cannot open it, whatever its mode (fs.protected_regular).
int OpenLock(const char* path) {
  int fd = -1;
  for (int tries = 0; tries < 2 && fd < 0; ++tries) {  // Another may create it
    fd = ::open(path, O_RDWR | O_CLOEXEC);  // NFS locks what can be written
    if (fd < 0 && errno == EACCES) fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT) break;
    fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0) ::fchmod(fd, 0644);  // Whatever the umask
  }
  return fd;
}

}  // namespace

MeasurementLock::~MeasurementLock() {
  if (fd_ >= 0) ::close(fd_);
}

Status MeasurementLock::Acquire(const std::string& path) {
  fd_ = OpenLock(path.c_str());
  if (fd_ < 0) return SystemError(path, "cannot open the lock", errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return Status::OK();
  if (errno != EWOULDBLOCK) return SystemError(path, "cannot lock", errno);
  return Status(ExitCode::kLocked, path,
                "another measurement is running on this machine",
                "wait until it ends");
}

Status PrepareOutputDirectory(const std::string& path, const std::string& run) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return SystemError(path, "cannot create", error.value());
  const fs::path record = fs::path(path) / "run.json";
  if (fs::exists(record, error)) {
    std::ifstream file(record);
    const auto json = nlohmann::json::parse(file, nullptr, false);
    const std::string other =
        json.is_object() ? json.value("run", std::string()) : std::string();
    if (other != run) {
      return Status::BadInput(
          record.string(),
          "holds the result of " +
              (other.empty() ? "an unknown run" : "run " + other) +
              ", not of " + run,
          "give --out a directory of its own");
    }
  }
  for (const char* name : {"run.json", "timeline.csv", "events.jsonl"}) {
    fs::remove(fs::path(path) / name, error);
  }
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (name.rfind("latency.", 0) == 0) fs::remove(entry.path(), error);
  }
  return Status::OK();
}

Status PrepareDatabaseDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return SystemError(path, "cannot create", error.value());
  if (!fs::is_empty(path, error)) {
    return Status::BadInput(path, "the data directory is not empty",
                            "remove what is in it or give another --data-dir");
  }
  return Status::OK();
}

Status CopyDatabase(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::exists(fs::path(from) / "CURRENT", error)) {
    return Status::BadInput(
        from, "no database to start from",
        "repeat the run that builds it, with keep_database");
  }
  fs::copy(from, to,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing,
           error);
  if (error) return SystemError(to, "cannot copy " + from, error.value());
  return Status::OK();
}

Status GatherTables(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> links;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.is_symlink(error)) links.push_back(entry.path());
  }
  for (const fs::path& link : links) {
    const fs::path table = fs::read_symlink(link, error);
    const fs::path copy = link.string() + ".tmp";
    if (!error) fs::copy_file(table, copy, error);
    if (!error) fs::rename(copy, link, error);
    if (!error) fs::remove(table, error);
    if (error) {
      return SystemError(link, "cannot move " + table.string() + " here",
                         error.value());
    }
  }
  return Status::OK();
}

Status CheckRoom(const std::string& path, uint64_t bytes) {
  struct statfs system;
  if (::statfs(path.c_str(), &system) != 0) {
    return SystemError(path, "cannot ask for free space", errno);
  }
  uint64_t room = uint64_t{system.f_bavail} * system.f_bsize;
  const bool in_memory = (system.f_type == TMPFS_MAGIC);
  if (in_memory) room = std::min(room, AvailableMemory());
  if (room >= bytes) return Status::OK();
  return Status(ExitCode::kNoSpace, path,
                Gigabytes(room) + (in_memory ? " of memory" : "") +
                    " are free, the run may need " + Gigabytes(bytes),
                "free space there or use a larger file system");
}

uint64_t DirectoryBytes(const std::string& path) {
  std::error_code error;
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const uint64_t size = entry.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::string FileSystemName(const std::string& path) {
  struct statfs system;
  if (::statfs(path.c_str(), &system) != 0) return "unknown";
  switch (system.f_type) {
    case TMPFS_MAGIC:
      return "tmpfs";
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlay";
    case NFS_SUPER_MAGIC:
      return "nfs";
    case kXfsMagic:
      return "xfs";
  }
  char text[32];
  std::snprintf(text, sizeof(text), "0x%lx",
                static_cast<unsigned long>(system.f_type));
  return text;
}

Status WriteFile(const std::string& path, const void* data, size_t size) {
  const std::string temporary = path + ".tmp";
  std::FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return SystemError(path, "cannot create", errno);
  const bool written = std::fwrite(data, 1, size, file) == size;
  int error = written ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error == 0) return Status::OK();
  std::remove(temporary.c_str());
  return SystemError(path, "cannot write", error);
}

}  // namespace recompact
