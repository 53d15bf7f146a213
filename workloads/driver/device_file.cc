#include "driver/device_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace recompact {

namespace {

leveldb::Status ErrnoStatus(const std::string& name, int error) {
  if (error == ENOENT) {
    return leveldb::Status::NotFound(name, std::strerror(error));
  }
  return leveldb::Status::IOError(name, std::strerror(error));
}

// As pread(), but again after a signal.
ssize_t ReadAt(int fd, char* data, size_t n, uint64_t offset) {
  ssize_t size;
  do {
    size = ::pread(fd, data, n, static_cast<off_t>(offset));
  } while (size < 0 && errno == EINTR);
  return size;
}

// A thread's windows on the files that it reads as streams: blocks of a few
// kilobytes are copied out of them at a third of the price of a system call
// each.  What a window holds stays valid, as files only grow.
class ReadWindows {
 public:
  static constexpr size_t kWindowBytes = 16 << 10;

  // As pread(), for the file with this id.
  // REQUIRES: n <= kWindowBytes
  ssize_t Read(int fd, uint64_t file_id, uint64_t offset, size_t n,
               char* data) {
    Window& window = windows_[file_id % windows_.size()];
    const bool holds = window.file_id == file_id && offset >= window.offset &&
                       offset + n <= window.offset + window.size;
    if (!holds) {
      const ssize_t size = ReadAt(fd, window.data.data(), kWindowBytes, offset);
      window.file_id = file_id;
      window.offset = offset;
      window.size = size < 0 ? 0 : size;
      if (size < 0) return size;
    }
    n = std::min<size_t>(n, window.offset + window.size - offset);
    std::memcpy(data, window.data.data() + (offset - window.offset), n);
    return static_cast<ssize_t>(n);
  }

 private:
  struct Window {
    uint64_t file_id = 0;  // None
    uint64_t offset = 0;
    size_t size = 0;
    std::array<char, kWindowBytes> data;
  };

  std::array<Window, 64> windows_;
};

// Removes the pages that hold [offset, offset + length) of the file from the
// system's page cache; those not written out yet stay.
void DropPages(int fd, uint64_t offset, uint64_t length) {
  constexpr uint64_t kPage = PageCache::kPageBytes;
  const uint64_t begin = offset / kPage * kPage;
  const uint64_t end = (offset + length + kPage - 1) / kPage * kPage;
  ::posix_fadvise(fd, begin, end - begin, POSIX_FADV_DONTNEED);
}

}  // namespace

leveldb::Status DeviceSequentialFile::Read(size_t n, leveldb::Slice* result,
                                           char* scratch) {
  leveldb::Status s = target_->Read(n, result, scratch);
  if (s.ok() && !result->empty()) {
    const bool is_whole = offset_ == 0 && result->size() == table_bytes_;
    env_->ChargeRead(*file_, offset_, result->size(),
                     is_whole ? DeviceEnv::ReadKind::kWholeTable
                              : DeviceEnv::ReadKind::kSequential);
    offset_ += result->size();
  }
  return s;
}

leveldb::Status DeviceSequentialFile::Skip(uint64_t n) {
  offset_ += n;
  return target_->Skip(n);
}

leveldb::Status DeviceRandomAccessFile::Open(
    DeviceEnv* env, std::shared_ptr<const DeviceEnv::File> file,
    const std::string& name, leveldb::RandomAccessFile** result) {
  *result = nullptr;
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(name, errno);
  if (env->BypassesSystem(*file)) {
    // No reading ahead, and nothing of what wrote or copied the file.
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  }
  *result = new DeviceRandomAccessFile(env, std::move(file), name, fd);
  return leveldb::Status::OK();
}

DeviceRandomAccessFile::~DeviceRandomAccessFile() { ::close(fd_); }

leveldb::Status DeviceRandomAccessFile::Read(uint64_t offset, size_t n,
                                             leveldb::Slice* result,
                                             char* scratch) const {
  ssize_t size;
  // A real device is to see the engine's own requests.
  if (DeviceEnv::InBackground() && n <= ReadWindows::kWindowBytes &&
      env_->parameters_.kind != DeviceKind::kPath) {
    thread_local const auto windows = std::make_unique<ReadWindows>();
    size = windows->Read(fd_, file_->id, offset, n, scratch);
  } else {
    size = ReadAt(fd_, scratch, n, offset);
    if (env_->BypassesSystem(*file_)) DropPages(fd_, offset, n);
  }
  *result = leveldb::Slice(scratch, size < 0 ? 0 : size);
  if (size < 0) return ErrnoStatus(name_, errno);
  const bool sequential =
      last_end_.exchange(offset + size, std::memory_order_relaxed) == offset;
  if (size > 0) {
    env_->ChargeRead(*file_, offset, size,
                     sequential ? DeviceEnv::ReadKind::kSequential
                                : DeviceEnv::ReadKind::kRandom);
  }
  return leveldb::Status::OK();
}

leveldb::Status DeviceWritableFile::Wrap(
    DeviceEnv* env, std::shared_ptr<const DeviceEnv::File> file,
    const std::string& name, uint64_t offset, leveldb::WritableFile** result) {
  int fd = -1;
  if (env->BypassesSystem(*file)) {
    fd = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
      const int error = errno;
      delete *result;
      *result = nullptr;
      return ErrnoStatus(name, error);
    }
  }
  *result =
      new DeviceWritableFile(env, std::move(file), *result, name, fd, offset);
  return leveldb::Status::OK();
}

DeviceWritableFile::~DeviceWritableFile() {
  if (!closed_) Close();  // As PosixEnv's files do, without a status
  if (fd_ >= 0) ::close(fd_);
}

leveldb::Status DeviceWritableFile::Append(const leveldb::Slice& data) {
  const leveldb::Status s = target_->Append(data);
  if (!s.ok()) return env_->NoteWrite(s);
  pending_ += data.size();
  if (file_->unit == DeviceEnv::kUntilFlushed) return s;
  env_->unsubmitted_bytes_.fetch_add(data.size(), std::memory_order_relaxed);
  const bool is_request =
      file_->direct && data.size() >= DeviceEnv::kDirectAppendBytes;
  return pending_ < file_->unit && !is_request
             ? s
             : env_->NoteWrite(SubmitPending());
}

leveldb::Status DeviceWritableFile::SubmitPending() {
  if (pending_ == 0) return leveldb::Status::OK();
  leveldb::Status s;
  if (fd_ >= 0) {
    s = target_->Flush();
    if (s.ok() &&
        ::sync_file_range(fd_, submitted_, pending_,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                              SYNC_FILE_RANGE_WAIT_AFTER) != 0) {
      s = ErrnoStatus(name_, errno);
    }
  }
  if (file_->unit != DeviceEnv::kUntilFlushed) {
    env_->unsubmitted_bytes_.fetch_sub(pending_, std::memory_order_relaxed);
  }
  env_->ChargeWrite(*file_, submitted_, pending_);
  submitted_ += pending_;
  pending_ = 0;
  return s;
}

leveldb::Status DeviceWritableFile::Close() {
  closed_ = true;
  const leveldb::Status submitted = SubmitPending();
  const leveldb::Status s = target_->Close();
  return env_->NoteWrite(submitted.ok() ? s : submitted);
}

leveldb::Status DeviceWritableFile::Flush() {
  leveldb::Status s;
  // What fills no unit is counted as it goes to the backing file.
  if (file_->unit == DeviceEnv::kUntilFlushed) s = SubmitPending();
  if (s.ok()) s = target_->Flush();
  return env_->NoteWrite(s);
}

leveldb::Status DeviceWritableFile::Sync() {
  leveldb::Status s = SubmitPending();
  // The backing files of a model need not survive the machine.
  if (s.ok()) {
    s = env_->parameters_.kind == DeviceKind::kPath ? target_->Sync()
                                                    : target_->Flush();
  }
  if (s.ok()) env_->ChargeSync(*file_);
  return env_->NoteWrite(s);
}

}  // namespace recompact
