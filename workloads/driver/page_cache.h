#ifndef RECOMPACT_WORKLOADS_DRIVER_PAGE_CACHE_H_
#define RECOMPACT_WORKLOADS_DRIVER_PAGE_CACHE_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace recompact {

// Which pages of files the host would hold in memory: the least recently used
// of 4-KiB pages leaves first.  Holds no data.  Not thread-safe.
class PageCache {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  explicit PageCache(uint64_t capacity_bytes);

  // Makes the page the most recently used; returns whether it was present.
  // REQUIRES: file < 2^24, page < 2^40
  bool Touch(uint64_t file, uint64_t page);

  // Forgets pages [0, pages) of the file.
  void Drop(uint64_t file, uint64_t pages);

  uint64_t size() const { return nodes_by_page_.size(); }

 private:
  // Nodes form a ring in order of use; nodes_[0] is the ring's anchor, its
  // "next" the most recently used page.
  struct Node {
    uint64_t page;
    uint32_t previous;
    uint32_t next;
  };

  void Unlink(uint32_t index);
  void LinkFirst(uint32_t index);

  const uint64_t capacity_pages_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;
  std::unordered_map<uint64_t, uint32_t> nodes_by_page_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_PAGE_CACHE_H_
