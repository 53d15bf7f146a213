#include "driver/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver/key_value.h"
#include "util/crc32c.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the trace's records are used as they lie in the file");

namespace recompact {

namespace {

constexpr char kMagic[8] = {'R', 'C', 'T', 'R', 'A', 'C', 'E', '\0'};
constexpr uint32_t kVersion = 2;             // 2 knows kReadRecent
constexpr uint64_t kChunkRecords = 1 << 15;  // 512 KiB

struct TraceHeader {
  char magic[8];
  uint32_t version;
  uint32_t record_size;
  uint64_t record_count;
  uint64_t seed;
  uint64_t key_count;
  uint32_t records_crc32c;
  uint32_t header_crc32c;
  uint8_t specification_hash[16];
};
static_assert(sizeof(TraceHeader) == 64, "the header is read as it lies");

constexpr size_t kChecksummedHeaderBytes = 44;

// Reads exactly "size" bytes; false on an error or at the end of the file,
// where errno is 0.
bool ReadFully(int fd, uint64_t offset, size_t size, void* data) {
  char* out = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::pread(fd, out, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = 0;
      return false;
    }
    out += n;
    offset += n;
    size -= n;
  }
  return true;
}

// What makes the record unusable; empty if nothing does.
std::string DefectOf(const TraceRecord& record, uint64_t key_count) {
  const int operation = static_cast<int>(record.operation);
  if (operation < 1 || operation >= kOperationCount) {
    return "the unknown operation " + std::to_string(operation);
  }
  if (record.key_number >= key_count) {
    return "the key number " + std::to_string(record.key_number) +
           ", not below the key count " + std::to_string(key_count);
  }
  if (record.operation == Operation::kInsert ||
      record.operation == Operation::kUpdate) {
    if (record.length == 0 || record.length > kMaxValueBytes) {
      return "a value of " + std::to_string(record.length) +
             " bytes, not from 1 to " + std::to_string(kMaxValueBytes);
    }
  }
  return std::string();
}

}  // namespace

Trace::Trace(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

Trace::~Trace() { ::close(fd_); }

Status Trace::Corrupt(const std::string& what) const {
  return Status::BadInput(path_, what,
                          "delete it and let the pipeline write it again");
}

Status Trace::Open(const std::string& path, std::unique_ptr<Trace>* trace) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Status::BadInput(
        path, std::string("cannot open the trace: ") + std::strerror(errno),
        "write the trace first or correct the path");
  }
  std::unique_ptr<Trace> opened(new Trace(path, fd));
  Status status = opened->ReadHeader();
  if (status.ok()) status = opened->VerifyRecords();
  if (status.ok()) *trace = std::move(opened);
  return status;
}

Status Trace::ReadHeader() {
  struct stat file;
  TraceHeader header;
  if (::fstat(fd_, &file) != 0 || !S_ISREG(file.st_mode)) {
    return Status::BadInput(path_, "not a regular file", "correct the path");
  }
  const uint64_t size = static_cast<uint64_t>(file.st_size);
  if (size < sizeof(header)) {
    return Corrupt("truncated trace: " + std::to_string(size) +
                   " bytes do not hold the header of 64");
  }
  if (!ReadFully(fd_, 0, sizeof(header), &header)) {
    return Corrupt(std::string("cannot read the header: ") +
                   std::strerror(errno));
  }
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Status::BadInput(path_, "not a trace (bad magic)",
                            "correct the path");
  }
  if (header.version != kVersion) {
    return Status::BadInput(
        path_,
        "trace version " + std::to_string(header.version) +
            ", this driver reads version " + std::to_string(kVersion),
        "write the trace again or build the matching driver");
  }
  if (leveldb::crc32c::Value(reinterpret_cast<const char*>(&header),
                             kChecksummedHeaderBytes) != header.header_crc32c) {
    return Corrupt("corrupt trace: checksum mismatch in the header");
  }
  if (header.record_size != sizeof(TraceRecord)) {
    return Corrupt("corrupt trace: record size " +
                   std::to_string(header.record_size) + " instead of 16");
  }
  if ((size - sizeof(header)) / sizeof(TraceRecord) != header.record_count ||
      (size - sizeof(header)) % sizeof(TraceRecord) != 0) {
    return Corrupt("truncated trace: " + std::to_string(size) +
                   " bytes do not hold the header and " +
                   std::to_string(header.record_count) +
                   " records that it announces");
  }
  record_count_ = header.record_count;
  key_count_ = header.key_count;
  seed_ = header.seed;
  crc32c_ = header.records_crc32c;
  return Status::OK();
}

Status Trace::VerifyRecords() {
  std::vector<TraceRecord> chunk(std::min(record_count_, kChunkRecords));
  uint32_t crc = 0;
  std::string defect;
  for (uint64_t first = 0; first < record_count_; first += kChunkRecords) {
    const uint64_t count = std::min(kChunkRecords, record_count_ - first);
    Status status = ReadRecords(first, count, chunk.data());
    if (!status.ok()) return status;
    crc = leveldb::crc32c::Extend(crc,
                                  reinterpret_cast<const char*>(chunk.data()),
                                  count * sizeof(TraceRecord));
    for (uint64_t i = 0; i < count && defect.empty(); i++) {
      defect = DefectOf(chunk[i], key_count_);
      if (!defect.empty()) {
        defect = "record " + std::to_string(first + i) + " has " + defect;
      } else if (chunk[i].operation == Operation::kReadRecent) {
        recent_updates_ = std::max(recent_updates_, chunk[i].key_number + 1);
      }
    }
  }
  // A wrong checksum explains every other defect, so it is told first.
  if (crc != crc32c_) {
    return Corrupt("corrupt trace: checksum mismatch in the records");
  }
  return defect.empty() ? Status::OK() : Corrupt("invalid trace: " + defect);
}

Status Trace::ReadRecords(uint64_t first, uint64_t count,
                          TraceRecord* records) const {
  if (!ReadFully(fd_, sizeof(TraceHeader) + first * sizeof(TraceRecord),
                 count * sizeof(TraceRecord), records)) {
    return Corrupt(
        "cannot read record " + std::to_string(first) + ": " +
        (errno == 0 ? "the file became shorter" : std::strerror(errno)));
  }
  return Status::OK();
}

Status Trace::Summarize(uint64_t first, uint64_t count,
                        TraceSummary* summary) const {
  *summary = TraceSummary();
  TraceCursor cursor(this, first, count);
  while (const TraceRecord* record = cursor.Next()) {
    summary->operations[static_cast<int>(record->operation)]++;
    if (!IsWrite(record->operation)) continue;
    summary->bytes_written += kKeyBytes + record->length;
    summary->max_value_bytes =
        std::max(summary->max_value_bytes, record->length);
  }
  return cursor.status();
}

TraceCursor::TraceCursor(const Trace* trace, uint64_t first, uint64_t count)
    : trace_(trace), next_(first), end_(first + count) {
  buffer_.resize(std::min(count, kChunkRecords));
}

bool TraceCursor::Refill() {
  const uint64_t count = std::min(kChunkRecords, end_ - next_);
  if (count == 0 || !status_.ok()) return false;
  status_ = trace_->ReadRecords(next_, count, buffer_.data());
  if (!status_.ok()) return false;
  next_ += count;
  position_ = 0;
  buffered_ = count;
  bytes_read_ += count * sizeof(TraceRecord);
  return true;
}

}  // namespace recompact
