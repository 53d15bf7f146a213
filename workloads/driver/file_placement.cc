#include "driver/file_placement.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace recompact {

namespace {

uint64_t RoundUp(uint64_t bytes, uint64_t grain) {
  return (bytes + grain - 1) / grain * grain;
}

}  // namespace

std::vector<FilePlacement::Extent> FilePlacement::Append(uint64_t file,
                                                         uint64_t length,
                                                         uint64_t grain_bytes) {
  assert(grain_bytes > 0);
  std::vector<Part>& parts = files_[file];
  std::vector<Extent> added;
  uint64_t left =
      parts.empty() ? 0 : parts.back().room - parts.back().bytes.length;
  size_t at = parts.empty() ? 0 : parts.size() - 1;
  if (left < length) Grow(&parts, length - left, grain_bytes);
  for (; length > 0; at++) {
    Part& part = parts[at];
    const uint64_t take = std::min(length, part.room - part.bytes.length);
    if (take == 0) continue;
    added.push_back({part.bytes.address + part.bytes.length, take});
    part.bytes.length += take;
    length -= take;
  }
  return added;
}

std::vector<FilePlacement::Extent> FilePlacement::Find(uint64_t file,
                                                       uint64_t offset,
                                                       uint64_t length) const {
  std::vector<Extent> found;
  const auto parts = files_.find(file);
  if (parts == files_.end()) return found;
  for (const Part& part : parts->second) {
    if (offset < part.room && length > 0) {
      const uint64_t take = std::min(length, part.room - offset);
      found.push_back({part.bytes.address + offset, take});
      offset += take;
      length -= take;
    }
    offset -= std::min(offset, part.room);
  }
  return found;
}

std::vector<FilePlacement::Extent> FilePlacement::Remove(uint64_t file) {
  std::vector<Extent> removed;
  for (const Part& part : files_[file]) {
    removed.push_back(part.bytes);
    Free(part.bytes.address, part.bytes.address + part.room);
  }
  files_.erase(file);
  return removed;
}

void FilePlacement::Grow(std::vector<Part>* parts, uint64_t length,
                         uint64_t grain_bytes) {
  const uint64_t room = RoundUp(length, grain_bytes);
  if (!parts->empty()) {
    Part& last = parts->back();
    const uint64_t end = last.bytes.address + last.room;
    const auto behind = holes_.find(end);
    if (behind != holes_.end() && behind->second - end >= room) {
      Take(end, end + room);
      last.room += room;
      return;
    }
  }
  for (const auto& [hole, hole_end] : holes_) {
    const uint64_t begin = RoundUp(hole, grain_bytes);
    if (begin + room > hole_end) continue;
    Take(begin, begin + room);
    parts->push_back({{begin, 0}, room});
    return;
  }
  assert(!"the disk is full");
}

void FilePlacement::Take(uint64_t begin, uint64_t end) {
  const auto hole = std::prev(holes_.upper_bound(begin));
  const auto [hole_begin, hole_end] = *hole;
  assert(hole_begin <= begin && end <= hole_end);
  holes_.erase(hole);
  if (hole_begin < begin) holes_[hole_begin] = begin;
  if (end < hole_end) holes_[end] = hole_end;
}

void FilePlacement::Free(uint64_t begin, uint64_t end) {
  const auto after = holes_.find(end);
  if (after != holes_.end()) {
    end = after->second;
    holes_.erase(after);
  }
  const auto next = holes_.lower_bound(begin);
  if (next != holes_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    holes_[begin] = end;
  }
}

}  // namespace recompact
