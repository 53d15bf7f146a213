#include "torture/kill_env.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "seams/current_action.h"
#include "torture/file_type.h"

namespace recompact {

using leveldb::Slice;
using leveldb::Status;

namespace {

class WatchedFile : public leveldb::WritableFile {
 public:
  WatchedFile(KillEnv* env, std::string name, leveldb::WritableFile* target)
      : env_(env),
        name_(std::move(name)),
        open_(env->OpenFilesLike(name_)),
        target_(target) {
    (*open_)++;
  }
  ~WatchedFile() override { (*open_)--; }

  Status Append(const Slice& data) override {
    env_->Pass(name_, "append");
    return target_->Append(data);
  }
  Status Close() override { return target_->Close(); }
  Status Flush() override { return target_->Flush(); }
  Status Sync() override {
    env_->Pass(name_, "sync");
    return target_->Sync();
  }

 private:
  KillEnv* const env_;
  const std::string name_;
  std::atomic<int>* const open_;
  const std::unique_ptr<leveldb::WritableFile> target_;
};

struct CountedCall {
  std::atomic<int>* running;
  void (*function)(void*);
  void* argument;

  static void Run(void* call) {
    const CountedCall taken = *static_cast<CountedCall*>(call);
    delete static_cast<CountedCall*>(call);
    (*taken.running)++;
    taken.function(taken.argument);
    (*taken.running)--;
  }
};

}  // namespace

const std::vector<std::string>& CommonKillPoints() {
  static const auto* const points = new std::vector<std::string>{
      "log.create",      "log.append",      "log.sync",      "log.remove",
      "table.create",    "table.append",    "table.sync",    "table.remove",
      "manifest.create", "manifest.append", "manifest.sync", "manifest.remove",
      "current.rename"};
  return *points;
}

KillEnv::KillEnv(KillState* state, std::string armed)
    : EnvWrapper(leveldb::Env::Default()),
      state_(state),
      armed_(std::move(armed)) {}

void KillEnv::Pass(const std::string& name, const char* operation) {
  if (armed_.empty()) return;
  const std::string point = FileTypeOf(name) + "." + operation;
  if (armed_ != point && armed_ != leveldb::CurrentAction() + ("." + point)) {
    return;
  }
  if (state_->countdown.fetch_sub(1) == 0) ::kill(::getpid(), SIGKILL);
}

Status KillEnv::Watch(const std::string& name, Status s,
                      leveldb::WritableFile** result) {
  if (s.ok()) *result = new WatchedFile(this, name, *result);
  return s;
}

Status KillEnv::NewWritableFile(const std::string& name,
                                leveldb::WritableFile** result) {
  Pass(name, "create");
  return Watch(name, target()->NewWritableFile(name, result), result);
}

Status KillEnv::NewAppendableFile(const std::string& name,
                                  leveldb::WritableFile** result) {
  Pass(name, "create");
  return Watch(name, target()->NewAppendableFile(name, result), result);
}

Status KillEnv::RemoveFile(const std::string& name) {
  Pass(name, "remove");
  return target()->RemoveFile(name);
}

Status KillEnv::RenameFile(const std::string& name, const std::string& to) {
  Pass(to, "rename");
  return target()->RenameFile(name, to);
}

void KillEnv::Schedule(void (*function)(void*), void* argument) {
  target()->Schedule(&CountedCall::Run,
                     new CountedCall{&state_->work, function, argument});
}

std::atomic<int>* KillEnv::OpenFilesLike(const std::string& name) {
  return FileTypeOf(name) == "table" ? &state_->work : &open_others_;
}

}  // namespace recompact
