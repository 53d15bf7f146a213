#include "driver/journal.h"

#include <algorithm>
#include <cassert>

namespace recompact {

Journal::Journal(int64_t commit_ns) : commit_ns_(commit_ns) {
  begins_ns_.fill(-1 - commit_ns);  // Before anything was written
}

int64_t Journal::Sync(int64_t now_ns, int64_t written_ns) {
  assert(written_ns <= now_ns);
  for (const int64_t begin_ns : begins_ns_) {
    if (written_ns <= begin_ns) return begin_ns + commit_ns_;
  }
  const int64_t free_ns = begins_ns_.back() + commit_ns_;
  begins_ns_ = {begins_ns_[1], begins_ns_[2], std::max(now_ns, free_ns)};
  return begins_ns_.back() + commit_ns_;
}

}  // namespace recompact
