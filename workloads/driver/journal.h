#ifndef RECOMPACT_WORKLOADS_DRIVER_JOURNAL_H_
#define RECOMPACT_WORKLOADS_DRIVER_JOURNAL_H_

#include <array>
#include <cstdint>

namespace recompact {

// The journal of a file system, as ext4's: one for all files, which commits one
// transaction after the other.  A commit covers what had been written when it
// began.  What was written later waits for the next commit, which begins when
// that one is complete; all that is synced meanwhile shares it.
class Journal {
 public:
  explicit Journal(int64_t commit_ns);

  // When the commit is complete that covers what was written until
  // "written_ns"; not after "now_ns" if it is already.  Has it begin as soon as
  // it can if it was not wanted yet.
  // REQUIRES: written_ns <= now_ns
  int64_t Sync(int64_t now_ns, int64_t written_ns);

 private:
  const int64_t commit_ns_;  // What a commit takes
  // When the last commits began: at least one is complete, one may be running,
  // and one may wait for it.
  std::array<int64_t, 3> begins_ns_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_JOURNAL_H_
