#ifndef RECOMPACT_WORKLOADS_DRIVER_TRACE_BUILDER_H_
#define RECOMPACT_WORKLOADS_DRIVER_TRACE_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "driver/trace_reader.h"

namespace recompact {

// Writes trace files for tests.
class TraceBuilder {
 public:
  TraceBuilder& Add(Operation operation, uint64_t key_number,
                    uint32_t length = 0) {
    records_.push_back({key_number, length, operation, {0, 0, 0}});
    return *this;
  }

  const std::vector<TraceRecord>& records() const { return records_; }

  // The bytes of the file; key_count is one above the largest key number.
  std::string Contents() const;
  void Write(const std::string& path) const;

 private:
  std::vector<TraceRecord> records_;
};

// The bytes of the file with the checksum of its header made right again.
std::string WithHeaderChecksum(std::string contents);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_TRACE_BUILDER_H_
