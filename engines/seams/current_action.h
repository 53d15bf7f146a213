#ifndef RECOMPACT_ENGINES_SEAMS_CURRENT_ACTION_H_
#define RECOMPACT_ENGINES_SEAMS_CURRENT_ACTION_H_

namespace leveldb {

// What this thread is carrying out: "flush", "compaction", "merge", "link" or
// "swap", or "" if that is nothing or the tree is unpatched.
const char* CurrentAction();

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_CURRENT_ACTION_H_
