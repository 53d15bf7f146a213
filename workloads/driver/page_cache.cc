#include "driver/page_cache.h"

#include <cassert>

namespace recompact {

namespace {

uint64_t PageKey(uint64_t file, uint64_t page) {
  assert(file < (uint64_t{1} << 24) && page < (uint64_t{1} << 40));
  return file << 40 | page;
}

}  // namespace

PageCache::PageCache(uint64_t capacity_bytes)
    : capacity_pages_(capacity_bytes / kPageBytes), nodes_{{0, 0, 0}} {}

void PageCache::Unlink(uint32_t index) {
  const Node& node = nodes_[index];
  nodes_[node.previous].next = node.next;
  nodes_[node.next].previous = node.previous;
}

void PageCache::LinkFirst(uint32_t index) {
  const uint32_t first = nodes_[0].next;
  nodes_[index].previous = 0;
  nodes_[index].next = first;
  nodes_[first].previous = index;
  nodes_[0].next = index;
}

bool PageCache::Touch(uint64_t file, uint64_t page) {
  const uint64_t key = PageKey(file, page);
  const auto found = nodes_by_page_.find(key);
  if (found != nodes_by_page_.end()) {
    Unlink(found->second);
    LinkFirst(found->second);
    return true;
  }
  if (capacity_pages_ == 0) return false;
  uint32_t index;
  if (nodes_by_page_.size() == capacity_pages_) {
    index = nodes_[0].previous;  // The least recently used
    nodes_by_page_.erase(nodes_[index].page);
    Unlink(index);
  } else if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    index = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(Node());
  }
  nodes_[index].page = key;
  nodes_by_page_.emplace(key, index);
  LinkFirst(index);
  return false;
}

void PageCache::Drop(uint64_t file, uint64_t pages) {
  for (uint64_t page = 0; page < pages; page++) {
    const auto found = nodes_by_page_.find(PageKey(file, page));
    if (found == nodes_by_page_.end()) continue;
    Unlink(found->second);
    free_.push_back(found->second);
    nodes_by_page_.erase(found);
  }
}

}  // namespace recompact
