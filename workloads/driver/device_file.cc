#include "driver/device_file.h"

#include <fcntl.h>
#include <unistd.h>

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
  do {
    size = ::pread(fd_, scratch, n, static_cast<off_t>(offset));
  } while (size < 0 && errno == EINTR);
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
  leveldb::Status s = target_->Append(data);
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
