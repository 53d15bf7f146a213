#include "torture/simulated_env.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace recompact {

using leveldb::Slice;
using leveldb::Status;

namespace {

Status NoSuchFile(const std::string& name) {
  return Status::NotFound(name, "no such file");
}

struct NamedLock : public leveldb::FileLock {
  explicit NamedLock(std::string name) : name(std::move(name)) {}
  const std::string name;
};

}  // namespace

// What the files have in common: a name, and the file behind it even after it
// was removed.
class SimulatedEnv::OpenedFile {
 protected:
  OpenedFile(SimulatedEnv* env, std::string name,
             std::shared_ptr<SimulatedDisk::File> file)
      : env_(env), name_(std::move(name)), file_(std::move(file)) {}

  Status ReadAt(uint64_t offset, size_t n, Slice* result, char* scratch) const {
    std::lock_guard<std::mutex> lock(env_->mutex_);
    *result = Slice(scratch, 0);
    const Status s = env_->Ask(FileOperation::kRead, name_);
    if (!s.ok()) return s;
    const std::string& data = file_->data;
    if (offset >= data.size()) return s;
    n = std::min<size_t>(n, data.size() - offset);
    std::memcpy(scratch, data.data() + offset, n);
    *result = Slice(scratch, n);
    return s;
  }

  SimulatedEnv* const env_;
  const std::string name_;
  const std::shared_ptr<SimulatedDisk::File> file_;
};

class SimulatedEnv::SequentialFile : public leveldb::SequentialFile,
                                     private OpenedFile {
 public:
  SequentialFile(SimulatedEnv* env, const std::string& name,
                 std::shared_ptr<SimulatedDisk::File> file)
      : OpenedFile(env, name, std::move(file)) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    const Status s = ReadAt(offset_, n, result, scratch);
    offset_ += result->size();
    return s;
  }
  Status Skip(uint64_t n) override {
    offset_ += n;
    return Status::OK();
  }

 private:
  uint64_t offset_ = 0;
};

class SimulatedEnv::RandomAccessFile : public leveldb::RandomAccessFile,
                                       private OpenedFile {
 public:
  RandomAccessFile(SimulatedEnv* env, const std::string& name,
                   std::shared_ptr<SimulatedDisk::File> file)
      : OpenedFile(env, name, std::move(file)) {}

  Status Read(uint64_t offset, size_t n, Slice* result,
              char* scratch) const override {
    return ReadAt(offset, n, result, scratch);
  }
};

class SimulatedEnv::WritableFile : public leveldb::WritableFile,
                                   private OpenedFile {
 public:
  WritableFile(SimulatedEnv* env, const std::string& name,
               std::shared_ptr<SimulatedDisk::File> file)
      : OpenedFile(env, name, std::move(file)) {}

  Status Append(const Slice& data) override {
    std::lock_guard<std::mutex> lock(env_->mutex_);
    bool short_write = false;
    const Status s = env_->Ask(FileOperation::kAppend, name_, &short_write);
    if (s.ok()) {
      file_->data.append(data.data(), data.size());
    } else if (short_write) {
      file_->data.append(data.data(), data.size() / 2);
    }
    return s;
  }
  Status Close() override { return Status::OK(); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override {
    std::lock_guard<std::mutex> lock(env_->mutex_);
    const Status s = env_->Ask(FileOperation::kSync, name_);
    if (s.ok()) env_->disk_->Sync(file_.get());
    return s;
  }
};

SimulatedEnv::SimulatedEnv(std::unique_ptr<SimulatedDisk> disk)
    : EnvWrapper(leveldb::Env::Default()),
      disk_(std::move(disk)),
      background_(&SimulatedEnv::RunBackground, this) {}

SimulatedEnv::~SimulatedEnv() {
  WaitIdle();
  {
    std::lock_guard<std::mutex> lock(background_mutex_);
    closing_ = true;
  }
  background_changed_.notify_all();
  background_.join();
}

void SimulatedEnv::SetHook(Hook hook) {
  std::lock_guard<std::mutex> lock(mutex_);
  hook_ = std::move(hook);
}

void SimulatedEnv::WaitIdle() {
  std::unique_lock<std::mutex> lock(background_mutex_);
  background_changed_.wait(lock, [this] { return background_calls_.empty(); });
}

Status SimulatedEnv::Ask(FileOperation::Kind kind, const std::string& name,
                         bool* short_write) {
  bool ignored;
  if (hook_ == nullptr) return Status::OK();
  return hook_({kind, name}, short_write == nullptr ? &ignored : short_write);
}

Status SimulatedEnv::NewSequentialFile(const std::string& name,
                                       leveldb::SequentialFile** result) {
  std::lock_guard<std::mutex> lock(mutex_);
  *result = nullptr;
  auto file = disk_->Find(name);
  if (file == nullptr) return NoSuchFile(name);
  const Status s = Ask(FileOperation::kOpen, name);
  if (s.ok()) *result = new SequentialFile(this, name, std::move(file));
  return s;
}

Status SimulatedEnv::NewRandomAccessFile(const std::string& name,
                                         leveldb::RandomAccessFile** result) {
  std::lock_guard<std::mutex> lock(mutex_);
  *result = nullptr;
  auto file = disk_->Find(name);
  if (file == nullptr) return NoSuchFile(name);
  const Status s = Ask(FileOperation::kOpen, name);
  if (s.ok()) *result = new RandomAccessFile(this, name, std::move(file));
  return s;
}

Status SimulatedEnv::OpenWritable(const std::string& name, bool append,
                                  leveldb::WritableFile** result) {
  std::lock_guard<std::mutex> lock(mutex_);
  *result = nullptr;
  const Status s = Ask(FileOperation::kCreate, name);
  if (!s.ok()) return s;
  auto file = append ? disk_->Find(name) : nullptr;
  if (file == nullptr) file = disk_->Create(name);
  *result = new WritableFile(this, name, std::move(file));
  return s;
}

Status SimulatedEnv::NewWritableFile(const std::string& name,
                                     leveldb::WritableFile** result) {
  return OpenWritable(name, /*append=*/false, result);
}

Status SimulatedEnv::NewAppendableFile(const std::string& name,
                                       leveldb::WritableFile** result) {
  return OpenWritable(name, /*append=*/true, result);
}

bool SimulatedEnv::FileExists(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return disk_->Find(name) != nullptr;
}

Status SimulatedEnv::GetChildren(const std::string& directory,
                                 std::vector<std::string>* names) {
  std::lock_guard<std::mutex> lock(mutex_);
  names->clear();
  const std::string prefix = directory + "/";
  for (const auto& [name, file] : disk_->directory()) {
    if (name.compare(0, prefix.size(), prefix) == 0) {
      names->push_back(name.substr(prefix.size()));
    }
  }
  return Status::OK();
}

Status SimulatedEnv::RemoveFile(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Status s = Ask(FileOperation::kRemove, name);
  if (!s.ok()) return s;
  return disk_->Remove(name) ? s : NoSuchFile(name);
}

Status SimulatedEnv::CreateDir(const std::string&) { return Status::OK(); }

Status SimulatedEnv::RemoveDir(const std::string&) { return Status::OK(); }

Status SimulatedEnv::GetFileSize(const std::string& name, uint64_t* size) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto file = disk_->Find(name);
  *size = file == nullptr ? 0 : file->data.size();
  return file == nullptr ? NoSuchFile(name) : Status::OK();
}

Status SimulatedEnv::RenameFile(const std::string& name,
                                const std::string& to) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Status s = Ask(FileOperation::kRename, name);
  if (!s.ok()) return s;
  return disk_->Rename(name, to) ? s : NoSuchFile(name);
}

Status SimulatedEnv::LockFile(const std::string& name,
                              leveldb::FileLock** lock) {
  std::lock_guard<std::mutex> guard(mutex_);
  *lock = nullptr;
  if (!locks_.insert(name).second) {
    return Status::IOError("lock " + name, "already held");
  }
  if (disk_->Find(name) == nullptr) disk_->Create(name);
  *lock = new NamedLock(name);
  return Status::OK();
}

Status SimulatedEnv::UnlockFile(leveldb::FileLock* lock) {
  std::lock_guard<std::mutex> guard(mutex_);
  locks_.erase(static_cast<NamedLock*>(lock)->name);
  delete lock;
  return Status::OK();
}

void SimulatedEnv::Schedule(void (*function)(void*), void* argument) {
  {
    std::lock_guard<std::mutex> lock(background_mutex_);
    background_calls_.push_back({function, argument});
  }
  background_changed_.notify_all();
}

void SimulatedEnv::RunBackground() {
  std::unique_lock<std::mutex> lock(background_mutex_);
  while (true) {
    background_changed_.wait(
        lock, [this] { return closing_ || !background_calls_.empty(); });
    if (background_calls_.empty()) return;
    const BackgroundCall call = background_calls_.front();
    lock.unlock();
    call.function(call.argument);
    lock.lock();
    background_calls_.pop_front();
    background_changed_.notify_all();
  }
}

void SimulatedEnv::SleepForMicroseconds(int) { std::this_thread::yield(); }

}  // namespace recompact
