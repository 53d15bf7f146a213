#ifndef RECOMPACT_WORKLOADS_DRIVER_KEY_VERSIONS_H_
#define RECOMPACT_WORKLOADS_DRIVER_KEY_VERSIONS_H_

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/recency.h"
#include "driver/status.h"
#include "driver/trace_reader.h"

namespace recompact {

// What is known of a key at one moment.
struct KeyState {
  uint32_t version = 0;      // How often it was written; a delete counts
  bool present = false;      // Whether the last write left a value
  bool pending = false;      // Whether that write is not acknowledged yet
  bool was_present = false;  // While it is pending: whether it found a value
};

// Keys with numbers from "first" on.
struct KeyRange {
  uint64_t first = 0;
  uint64_t count = UINT64_MAX;

  bool Contains(uint64_t key_number) const {
    return key_number - first < count;  // Below "first" it wraps around
  }
};

// The keys of the last updates of a range, in the order in which the engine
// acknowledged them.  Safe to share.
class RecentUpdates {
 public:
  // Keeps the last "capacity" of them.
  RecentUpdates(KeyRange range, uint64_t capacity)
      : range_(range), keys_(capacity) {}

  void Add(uint64_t key_number) {
    if (keys_.empty() || !range_.Contains(key_number)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    keys_[count_++ % keys_.size()] = key_number;
  }

  // The key of the update that came "rank" updates before the last; false if
  // there were not so many, or they are not kept.
  bool Find(uint64_t rank, uint64_t* key_number) const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (rank >= std::min<uint64_t>(count_, keys_.size())) return false;
    *key_number = keys_[(count_ - 1 - rank) % keys_.size()];
    return true;
  }

 private:
  const KeyRange range_;
  mutable std::mutex mutex_;
  std::vector<uint64_t> keys_;  // Guarded by mutex_, but for its size
  uint64_t count_ = 0;          // Guarded by mutex_
};

// What the database should hold: for each key number how often it was written
// (its version; a delete counts) and whether the last write left a value; and
// which keys were written last.  One thread writes a key; any may look.
class KeyVersions {
 public:
  // The last "recent" updates of keys in "recent_keys" are kept in their order.
  explicit KeyVersions(uint64_t key_count, uint64_t recent = 0,
                       KeyRange recent_keys = {})
      : states_(key_count), recent_(recent_keys, recent), recency_(key_count) {}

  uint64_t key_count() const { return states_.size(); }

  // To be called before a write of the key is issued; returns its version.
  uint32_t BeginWrite(uint64_t key_number, bool is_delete) {
    const KeyState before = State(key_number);
    const uint32_t version = before.version + 1;
    assert(!before.pending);
    assert(version <= kVersionMask);
    states_[key_number].store(version | kPending |
                                  (before.present ? kWasPresent : 0) |
                                  (is_delete ? kDeleted : 0),
                              std::memory_order_release);
    return version;
  }
  // To be called when the engine has acknowledged it.
  void EndWrite(uint64_t key_number) {
    const uint32_t state = Load(key_number) & ~(kPending | kWasPresent);
    states_[key_number].store(state, std::memory_order_release);
    if ((state & kDeleted) == 0) recent_.Add(key_number);
  }
  // Counts the writes of a trace as acknowledged.
  // REQUIRES: trace.key_count() <= key_count()
  Status CountWrites(const Trace& trace);

  KeyState State(uint64_t key_number) const {
    const uint32_t state = Load(key_number);
    KeyState known;
    known.version = state & kVersionMask;
    known.present = known.version > 0 && (state & kDeleted) == 0;
    known.pending = (state & kPending) != 0;
    known.was_present = (state & kWasPresent) != 0;
    return known;
  }
  uint32_t Version(uint64_t key_number) const {
    return State(key_number).version;
  }
  // Whether the key has a value.
  bool Present(uint64_t key_number) const { return State(key_number).present; }
  // See RecentUpdates::Find().
  bool FindRecent(uint64_t rank, uint64_t* key_number) const {
    return recent_.Find(rank, key_number);
  }
  Recency* recency() { return &recency_; }
  // Has the key's version on its way to the CPU.
  void Prefetch(uint64_t key_number) const {
    __builtin_prefetch(&states_[key_number]);
  }

 private:
  static constexpr uint32_t kDeleted = uint32_t{1} << 31;
  static constexpr uint32_t kPending = uint32_t{1} << 30;
  static constexpr uint32_t kWasPresent = uint32_t{1} << 29;
  static constexpr uint32_t kVersionMask = kWasPresent - 1;

  uint32_t Load(uint64_t key_number) const {
    return states_[key_number].load(std::memory_order_acquire);
  }

  std::vector<std::atomic<uint32_t>> states_;
  RecentUpdates recent_;
  Recency recency_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_KEY_VERSIONS_H_
