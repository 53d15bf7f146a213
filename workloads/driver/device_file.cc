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
  // As pread(), for the file with this id.
  ssize_t Read(int fd, uint64_t file_id, uint64_t offset, size_t n,
               char* data) {
    if (n > kWindowBytes) return ReadAt(fd, data, n, offset);
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
  static constexpr size_t kWindowBytes = 16 << 10;
  struct Window {
    uint64_t file_id = 0;  // None
    uint64_t offset = 0;
    size_t size = 0;
    std::array<char, kWindowBytes> data;
  };

  std::array<Window, 64> windows_;
};

}  // namespace

leveldb::Status DeviceSequentialFile::Read(size_t n, leveldb::Slice* result,
                                           char* scratch) {
  leveldb::Status s = target_->Read(n, result, scratch);
  if (s.ok() && !result->empty()) {
    env_->ChargeRead(*file_, offset_, result->size(), /*sequential=*/true);
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
  *result = new DeviceRandomAccessFile(env, std::move(file), name, fd);
  return leveldb::Status::OK();
}

DeviceRandomAccessFile::~DeviceRandomAccessFile() { ::close(fd_); }

leveldb::Status DeviceRandomAccessFile::Read(uint64_t offset, size_t n,
                                             leveldb::Slice* result,
                                             char* scratch) const {
  ssize_t size;
  // A real device is to see the engine's own requests.
  if (DeviceEnv::InBackground() &&
      env_->parameters_.kind != DeviceKind::kPath) {
    thread_local const auto windows = std::make_unique<ReadWindows>();
    size = windows->Read(fd_, file_->id, offset, n, scratch);
  } else {
    size = ReadAt(fd_, scratch, n, offset);
  }
  *result = leveldb::Slice(scratch, size < 0 ? 0 : size);
  if (size < 0) return ErrnoStatus(name_, errno);
  const bool sequential =
      last_end_.exchange(offset + size, std::memory_order_relaxed) == offset;
  if (size > 0) env_->ChargeRead(*file_, offset, size, sequential);
  return leveldb::Status::OK();
}

DeviceWritableFile::~DeviceWritableFile() {
  if (!closed_) Close();  // As PosixEnv's files do, without a status
}

leveldb::Status DeviceWritableFile::Append(const leveldb::Slice& data) {
  const leveldb::Status s = target_->Append(data);
  if (!s.ok()) return env_->NoteWrite(s);
  pending_ += data.size();
  if (env_->parameters_.modelled()) {
    env_->unsubmitted_bytes_.fetch_add(data.size(), std::memory_order_relaxed);
    if (pending_ >= env_->parameters_.writeback_bytes) SubmitPending();
  }
  return s;
}

void DeviceWritableFile::SubmitPending() {
  if (pending_ == 0) return;
  last_completion_ns_ = env_->ChargeWrite(*file_, submitted_, pending_);
  if (env_->parameters_.modelled()) {
    env_->unsubmitted_bytes_.fetch_sub(pending_, std::memory_order_relaxed);
  }
  submitted_ += pending_;
  pending_ = 0;
}

leveldb::Status DeviceWritableFile::Close() {
  closed_ = true;
  SubmitPending();
  return env_->NoteWrite(target_->Close());
}

leveldb::Status DeviceWritableFile::Flush() {
  // What is not modelled is counted as it goes to the backing file.
  if (!env_->parameters_.modelled()) SubmitPending();
  return env_->NoteWrite(target_->Flush());
}

leveldb::Status DeviceWritableFile::Sync() {
  SubmitPending();
  // The backing files of a model need not survive the machine.
  leveldb::Status s = env_->parameters_.kind == DeviceKind::kPath
                          ? target_->Sync()
                          : target_->Flush();
  if (s.ok()) env_->ChargeSync(last_completion_ns_);
  return env_->NoteWrite(s);
}

}  // namespace recompact
