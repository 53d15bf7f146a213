#ifndef RECOMPACT_WORKLOADS_DRIVER_TRACE_READER_H_
#define RECOMPACT_WORKLOADS_DRIVER_TRACE_READER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/status.h"

namespace recompact {

enum class Operation : uint8_t {
  kInsert = 1,
  kUpdate = 2,
  kRead = 3,
  kScan = 4,
  kDelete = 5,
  kReadRecent = 6,
};
constexpr int kOperationCount = 7;  // Index 0 is unused.

inline bool IsWrite(Operation operation) {
  return operation == Operation::kInsert || operation == Operation::kUpdate ||
         operation == Operation::kDelete;
}

// One operation as it lies in the file, little endian.
struct TraceRecord {
  // Of a kReadRecent instead how many updates ago the key was written, 0 for
  // the last: which key that is, is known when the record is replayed.
  uint64_t key_number;
  uint32_t length;  // Writes: value bytes; scans: records; else 0
  Operation operation;
  uint8_t reserved[3];  // Zero
};
static_assert(sizeof(TraceRecord) == 16, "the record is read as it lies");

// What a range of the records asks for.
struct TraceSummary {
  std::array<uint64_t, kOperationCount> operations{};
  uint64_t bytes_written = 0;  // Keys and values of all writes
  uint32_t max_value_bytes = 0;
  uint64_t writes() const {
    return operations[1] + operations[2] + operations[5];
  }
};

// A trace file that is read in chunks.  A Trace is immutable once open and may
// be shared by threads, each of which reads through a cursor of its own.
class Trace {
 public:
  // Checks the header, the size and every record with its checksum in one
  // pass.  Errors name the file and say what to do.
  static Status Open(const std::string& path, std::unique_ptr<Trace>* trace);

  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const std::string& path() const { return path_; }
  uint64_t record_count() const { return record_count_; }
  uint64_t key_count() const { return key_count_; }
  uint64_t seed() const { return seed_; }
  uint32_t crc32c() const { return crc32c_; }
  // How many of the last updates its kReadRecent go back to.
  uint64_t recent_updates() const { return recent_updates_; }

  // REQUIRES: first + count <= record_count()
  Status Summarize(uint64_t first, uint64_t count, TraceSummary* summary) const;

 private:
  friend class TraceCursor;
  Trace(std::string path, int fd);
  Status ReadHeader();
  Status VerifyRecords();
  // Reads records [first, first + count) into "records".
  Status ReadRecords(uint64_t first, uint64_t count,
                     TraceRecord* records) const;
  Status Corrupt(const std::string& what) const;

  const std::string path_;
  const int fd_;
  uint64_t record_count_ = 0;
  uint64_t key_count_ = 0;
  uint64_t seed_ = 0;
  uint32_t crc32c_ = 0;
  uint64_t recent_updates_ = 0;
};

// Streams a range of a trace's records in order.  Not thread-safe.
class TraceCursor {
 public:
  // REQUIRES: "trace" outlives the cursor; first + count <= record_count()
  TraceCursor(const Trace* trace, uint64_t first, uint64_t count);

  // The next record, or nullptr at the end or on an error (see status()).
  const TraceRecord* Next() {
    if (position_ == buffered_ && !Refill()) return nullptr;
    return &buffer_[position_++];
  }
  // The record "distance" behind the one that Next() returned last, or nullptr
  // if it is not buffered yet.
  const TraceRecord* Peek(size_t distance) const {
    const size_t at = position_ + distance - 1;
    return at < buffered_ ? &buffer_[at] : nullptr;
  }
  const Status& status() const { return status_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  bool Refill();

  const Trace* const trace_;
  uint64_t next_;
  const uint64_t end_;
  std::vector<TraceRecord> buffer_;
  size_t position_ = 0;
  size_t buffered_ = 0;
  uint64_t bytes_read_ = 0;
  Status status_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_TRACE_READER_H_
