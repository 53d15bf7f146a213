#ifndef RECOMPACT_WORKLOADS_DRIVER_KEY_VERSIONS_H_
#define RECOMPACT_WORKLOADS_DRIVER_KEY_VERSIONS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "driver/status.h"
#include "driver/trace_reader.h"

namespace recompact {

// What the database should hold: for each key number how often it was written
// (its version; a delete counts) and whether the last write left a value.  One
// thread writes a key; any may look.
class KeyVersions {
 public:
  explicit KeyVersions(uint64_t key_count) : states_(key_count) {}

  uint64_t key_count() const { return states_.size(); }

  // Counts a write of the key; returns its version.
  uint32_t CountWrite(uint64_t key_number, bool is_delete) {
    const uint32_t version = Version(key_number) + 1;
    states_[key_number].store(version | (is_delete ? kDeleted : 0),
                              std::memory_order_release);
    return version;
  }
  // Counts the writes of a trace.
  // REQUIRES: trace.key_count() <= key_count()
  Status CountWrites(const Trace& trace);

  uint32_t Version(uint64_t key_number) const {
    return Load(key_number) & ~kDeleted;
  }
  // Whether the key has a value.
  bool Present(uint64_t key_number) const {
    const uint32_t state = Load(key_number);
    return state != 0 && (state & kDeleted) == 0;
  }
  // Has the key's version on its way to the CPU.
  void Prefetch(uint64_t key_number) const {
    __builtin_prefetch(&states_[key_number]);
  }

 private:
  static constexpr uint32_t kDeleted = uint32_t{1} << 31;

  uint32_t Load(uint64_t key_number) const {
    return states_[key_number].load(std::memory_order_acquire);
  }

  std::vector<std::atomic<uint32_t>> states_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_KEY_VERSIONS_H_
