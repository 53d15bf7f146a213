#ifndef RECOMPACT_ENGINES_TORTURE_SIMULATED_ENV_H_
#define RECOMPACT_ENGINES_TORTURE_SIMULATED_ENV_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/env.h"
#include "torture/simulated_disk.h"

namespace recompact {

// One call of the engine on a file.
struct FileOperation {
  enum Kind { kCreate, kOpen, kRead, kAppend, kSync, kRename, kRemove };
  Kind kind;
  std::string name;
};

// An Env over a SimulatedDisk, with a background thread of its own.
class SimulatedEnv : public leveldb::EnvWrapper {
 public:
  // Looks at an operation before it happens and may fail it.  To fail an
  // append and yet write the first half, it sets *short_write.
  using Hook = std::function<leveldb::Status(const FileOperation& operation,
                                             bool* short_write)>;

  explicit SimulatedEnv(std::unique_ptr<SimulatedDisk> disk);
  ~SimulatedEnv() override;

  // Calls "hook" from now on; it runs under the disk's mutex and may look at
  // the disk, but not use this Env.
  void SetHook(Hook hook);

  // REQUIRES: called from the hook, or with no database open
  const SimulatedDisk& disk() const { return *disk_; }
  SimulatedDisk* mutable_disk() { return disk_.get(); }

  // Waits until no background call is scheduled or running.
  void WaitIdle();

  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** result) override;
  leveldb::Status NewRandomAccessFile(
      const std::string& name, leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override;
  leveldb::Status NewAppendableFile(const std::string& name,
                                    leveldb::WritableFile** result) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override;
  leveldb::Status GetFileSize(const std::string& name, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& name,
                             const std::string& to) override;
  leveldb::Status LockFile(const std::string& name,
                           leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  void Schedule(void (*function)(void*), void* argument) override;
  void SleepForMicroseconds(int micros) override;

  // An Env of the patched tree is asked for its thread: this one has it.  That
  // of the wrapped one would be missing in a child that a test forks.
  leveldb::Status StartBackgroundThread() { return leveldb::Status::OK(); }

 private:
  class OpenedFile;
  class SequentialFile;
  class RandomAccessFile;
  class WritableFile;
  struct BackgroundCall {
    void (*function)(void*);
    void* argument;
  };

  // Asks the hook.  REQUIRES: mutex_ is held
  leveldb::Status Ask(FileOperation::Kind kind, const std::string& name,
                      bool* short_write = nullptr);
  leveldb::Status OpenWritable(const std::string& name, bool append,
                               leveldb::WritableFile** result);

  std::mutex mutex_;
  std::unique_ptr<SimulatedDisk> disk_;
  Hook hook_;
  std::set<std::string> locks_;

  void RunBackground();

  std::mutex background_mutex_;
  std::condition_variable background_changed_;
  std::deque<BackgroundCall> background_calls_;  // the first is running
  bool closing_ = false;
  std::thread background_;
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_SIMULATED_ENV_H_
