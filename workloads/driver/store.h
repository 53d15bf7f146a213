#ifndef RECOMPACT_WORKLOADS_DRIVER_STORE_H_
#define RECOMPACT_WORKLOADS_DRIVER_STORE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/status.h"

namespace recompact {

// The records that a scan found, in key order, as copies of the caller's: what
// a get gives for one key.  They lie one behind the other in memory that the
// next scan takes again.
class ScannedRecords {
 public:
  void Clear() {
    bytes_.clear();
    ends_.clear();
  }
  void Add(std::string_view key, std::string_view value) {
    bytes_.append(key);
    ends_.push_back(bytes_.size());
    bytes_.append(value);
    ends_.push_back(bytes_.size());
  }

  size_t size() const { return ends_.size() / 2; }
  size_t bytes() const { return bytes_.size(); }  // Of keys and values
  std::string_view key(size_t i) const { return Part(2 * i); }
  std::string_view value(size_t i) const { return Part(2 * i + 1); }

 private:
  std::string_view Part(size_t i) const {
    const size_t begin = (i == 0) ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

  std::string bytes_;
  std::vector<size_t> ends_;  // Of each key and each value
};

// The face that the replay drives an engine by; one implementation per engine
// family.  All but Reopen() are safe to call from several threads.
class Store {
 public:
  virtual ~Store() = default;

  virtual Status Put(std::string_view key, std::string_view value) = 0;
  virtual Status Delete(std::string_view key) = 0;
  // Sets *found; on true also *value.
  virtual Status Get(std::string_view key, std::string* value, bool* found) = 0;
  // Sets *records to up to "count" records from the first at or after "key".
  virtual Status Scan(std::string_view key, uint32_t count,
                      ScannedRecords* records) = 0;

  // Whether no flush or compaction is running or due.
  virtual bool Idle() = 0;
  // Compacts the whole key range down, and returns when done.
  virtual void CompactAll() = 0;
  // What went wrong first in work that no call above waits for.
  virtual Status Health() = 0;
  // A property of the engine; false if it does not have it.
  virtual bool Property(const std::string& name, std::string* value) = 0;
  // Closes the database and opens it again: caches are empty, counters of the
  // engine begin at 0.
  virtual Status Reopen() = 0;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_STORE_H_
