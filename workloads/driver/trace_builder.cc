#include "driver/trace_builder.h"

#include <algorithm>
#include <fstream>

#include "util/coding.h"
#include "util/crc32c.h"

namespace recompact {

std::string TraceBuilder::Contents() const {
  std::string records;
  uint64_t key_count = 0;
  for (const TraceRecord& record : records_) {
    leveldb::PutFixed64(&records, record.key_number);
    leveldb::PutFixed32(&records, record.length);
    records.push_back(static_cast<char>(record.operation));
    records.append(3, '\0');
    key_count = std::max(key_count, record.key_number + 1);
  }
  std::string header("RCTRACE\0", 8);
  leveldb::PutFixed32(&header, 2);
  leveldb::PutFixed32(&header, 16);
  leveldb::PutFixed64(&header, records_.size());
  leveldb::PutFixed64(&header, 7);  // Seed
  leveldb::PutFixed64(&header, key_count);
  leveldb::PutFixed32(&header,
                      leveldb::crc32c::Value(records.data(), records.size()));
  header.append(4 + 16, '\0');
  return WithHeaderChecksum(header + records);
}

void TraceBuilder::Write(const std::string& path) const {
  std::ofstream(path, std::ios::binary) << Contents();
}

std::string WithHeaderChecksum(std::string contents) {
  leveldb::EncodeFixed32(&contents[44],
                         leveldb::crc32c::Value(contents.data(), 44));
  return contents;
}

}  // namespace recompact
