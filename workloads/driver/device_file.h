#ifndef RECOMPACT_WORKLOADS_DRIVER_DEVICE_FILE_H_
#define RECOMPACT_WORKLOADS_DRIVER_DEVICE_FILE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "driver/device_env.h"

namespace recompact {

// The files that DeviceEnv hands out: each does its I/O on the backing file and
// has the env charge it.  All refer to the env, which must outlive them.

class DeviceSequentialFile : public leveldb::SequentialFile {
 public:
  // Owns "target".  "table_bytes" is the length of a file of tables, and 0 of
  // another.
  DeviceSequentialFile(DeviceEnv* env,
                       std::shared_ptr<const DeviceEnv::File> file,
                       leveldb::SequentialFile* target, uint64_t table_bytes)
      : env_(env),
        file_(std::move(file)),
        target_(target),
        table_bytes_(table_bytes) {}

  leveldb::Status Read(size_t n, leveldb::Slice* result,
                       char* scratch) override;
  leveldb::Status Skip(uint64_t n) override;

 private:
  DeviceEnv* const env_;
  const std::shared_ptr<const DeviceEnv::File> file_;
  const std::unique_ptr<leveldb::SequentialFile> target_;
  const uint64_t table_bytes_;
  uint64_t offset_ = 0;
};

class DeviceRandomAccessFile : public leveldb::RandomAccessFile {
 public:
  static leveldb::Status Open(DeviceEnv* env,
                              std::shared_ptr<const DeviceEnv::File> file,
                              const std::string& name,
                              leveldb::RandomAccessFile** result);
  ~DeviceRandomAccessFile() override;

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override;

 private:
  DeviceRandomAccessFile(DeviceEnv* env,
                         std::shared_ptr<const DeviceEnv::File> file,
                         std::string name, int fd)
      : env_(env), file_(std::move(file)), name_(std::move(name)), fd_(fd) {}

  DeviceEnv* const env_;
  const std::shared_ptr<const DeviceEnv::File> file_;
  const std::string name_;
  const int fd_;
  // Where the last read ended: what begins there is read ahead.
  mutable std::atomic<uint64_t> last_end_{UINT64_MAX};
};

class DeviceWritableFile : public leveldb::WritableFile {
 public:
  // Takes *result, the backing file, and replaces it by one of these, or by
  // nullptr on an error.  "offset" is the size that the file has already.
  static leveldb::Status Wrap(DeviceEnv* env,
                              std::shared_ptr<const DeviceEnv::File> file,
                              const std::string& name, uint64_t offset,
                              leveldb::WritableFile** result);
  ~DeviceWritableFile() override;

  leveldb::Status Append(const leveldb::Slice& data) override;
  leveldb::Status Close() override;
  leveldb::Status Flush() override;
  leveldb::Status Sync() override;

 private:
  DeviceWritableFile(DeviceEnv* env,
                     std::shared_ptr<const DeviceEnv::File> file,
                     leveldb::WritableFile* target, std::string name, int fd,
                     uint64_t offset)
      : env_(env),
        file_(std::move(file)),
        target_(target),
        name_(std::move(name)),
        fd_(fd),
        submitted_(offset) {}

  leveldb::Status SubmitPending();

  DeviceEnv* const env_;
  const std::shared_ptr<const DeviceEnv::File> file_;
  const std::unique_ptr<leveldb::WritableFile> target_;
  const std::string name_;
  const int fd_;          // Where units are to be written out, else -1
  uint64_t submitted_;    // Bytes that went to the device
  uint64_t pending_ = 0;  // Bytes behind them that did not yet
  bool closed_ = false;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_DEVICE_FILE_H_
