#ifndef RECOMPACT_WORKLOADS_DRIVER_RECENCY_H_
#define RECOMPACT_WORKLOADS_DRIVER_RECENCY_H_

#include <atomic>
#include <cstdint>
#include <vector>

namespace recompact {

// How long ago keys were used, in bytes that users wrote and read meanwhile:
// the more, the less of what the key needs is left in a processor's caches.
// Safe to share.
class Recency {
 public:
  explicit Recency(uint64_t key_count) : used_(key_count) {}

  // A user writes or reads so many bytes with the key.
  void Use(uint64_t key_number, uint64_t bytes) {
    const uint64_t moved = moved_bytes_.fetch_add(bytes) + bytes;
    used_[key_number].store(static_cast<uint32_t>(moved / kUnitBytes),
                            std::memory_order_relaxed);
  }

  // How often what was moved since then doubles from 64 KiB on, in sixteenths:
  // 0 below, 16 at 64 KiB, 32 at 192 KiB.  Whole numbers, alike everywhere.
  uint32_t SixteenthsOfDoublings(uint64_t key_number) const {
    const uint64_t units = moved_bytes_.load() / kUnitBytes -
                           used_[key_number].load(std::memory_order_relaxed);
    const int exponent = 63 - __builtin_clzll(units + 1);
    const uint64_t sixteenths = ((units + 1) * 16) >> exponent;
    return 16 * exponent + static_cast<uint32_t>(sixteenths - 16);
  }

 private:
  static constexpr uint64_t kUnitBytes = 1 << 16;

  std::atomic<uint64_t> moved_bytes_{0};
  std::vector<std::atomic<uint32_t>> used_;  // In units
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_RECENCY_H_
