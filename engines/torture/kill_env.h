#ifndef RECOMPACT_ENGINES_TORTURE_KILL_ENV_H_
#define RECOMPACT_ENGINES_TORTURE_KILL_ENV_H_

#include <atomic>
#include <string>
#include <vector>

#include "leveldb/env.h"

namespace recompact {

// Where a process can be killed: right before an operation on a file of a
// kind, such as "table.sync" or "manifest.append".  An engine adds points of
// its own, which name an action too: "merge.table.sync".
const std::vector<std::string>& CommonKillPoints();

// What a killed process leaves for its parent, in shared memory.
struct KillState {
  std::atomic<int> work;       // background calls, and tables being written
  std::atomic<int> countdown;  // passes of the armed point before the kill
};

// The real file system.  Kills its process at the armed point, and tells
// whether a flush or a compaction was under way.  An engine with threads of its
// own shows them by the tables that they write.
class KillEnv : public leveldb::EnvWrapper {
 public:
  // Kills at the point "armed", or nowhere if that is empty.
  KillEnv(KillState* state, std::string armed);

  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override;
  leveldb::Status NewAppendableFile(const std::string& name,
                                    leveldb::WritableFile** result) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status RenameFile(const std::string& name,
                             const std::string& to) override;
  void Schedule(void (*function)(void*), void* argument) override;

  // Does not return if the operation on the file is the armed point.
  void Pass(const std::string& name, const char* operation);

  // How many files of the kind of "name" are open to be written.
  std::atomic<int>* OpenFilesLike(const std::string& name);

 private:
  leveldb::Status Watch(const std::string& name, leveldb::Status s,
                        leveldb::WritableFile** result);

  KillState* const state_;
  const std::string armed_;
  std::atomic<int> open_others_{0};
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_KILL_ENV_H_
