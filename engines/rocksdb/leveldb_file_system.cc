#include "rocksdb/leveldb_file_system.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace recompact {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus ToIOStatus(const leveldb::Status& s) {
  if (s.ok()) return IOStatus::OK();
  if (s.IsNotFound()) return IOStatus::PathNotFound(s.ToString());
  return IOStatus::IOError(s.ToString());
}

// Data where RocksDB looks for them: a leveldb::Env may give some of its own.
Slice InScratch(const leveldb::Slice& data, char* scratch) {
  if (data.data() != scratch) std::memmove(scratch, data.data(), data.size());
  return Slice(scratch, data.size());
}

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(leveldb::SequentialFile* file) : file_(file) {}

  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    leveldb::Slice data;
    const leveldb::Status s = file_->Read(n, &data, scratch);
    *result = InScratch(data, scratch);
    return ToIOStatus(s);
  }
  IOStatus Skip(uint64_t n) override { return ToIOStatus(file_->Skip(n)); }

 private:
  const std::unique_ptr<leveldb::SequentialFile> file_;
};

class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(leveldb::RandomAccessFile* file, uint64_t size)
      : file_(file), size_(size) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result,
                char* scratch, IODebugContext*) const override {
    // RocksDB may ask for more than there is, a leveldb::Env may refuse that.
    const uint64_t rest = size_ - std::min(offset, size_);
    leveldb::Slice data;
    leveldb::Status s;
    if (rest > 0) {
      s = file_->Read(offset, std::min<uint64_t>(n, rest), &data, scratch);
    }
    *result = InScratch(data, scratch);
    return ToIOStatus(s);
  }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  const uint64_t size_;
};

class WritableFile : public rocksdb::FSWritableFile {
 public:
  // Adds what is appended to *counted, if that is not null.
  WritableFile(leveldb::WritableFile* file, uint64_t size,
               std::atomic<uint64_t>* counted)
      : file_(file), size_(size), counted_(counted) {}

  IOStatus Append(const Slice& data, const IOOptions&,
                  IODebugContext*) override {
    size_ += data.size();
    if (counted_ != nullptr) counted_->fetch_add(data.size());
    return ToIOStatus(file_->Append(leveldb::Slice(data.data(), data.size())));
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  // What was reserved and not written was never there.
  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    return size == size_ ? IOStatus::OK()
                         : IOStatus::NotSupported("truncation of a file");
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    return ToIOStatus(file_->Close());
  }
  IOStatus Flush(const IOOptions&, IODebugContext*) override {
    return ToIOStatus(file_->Flush());
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return ToIOStatus(file_->Sync());
  }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
    return size_;
  }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
  uint64_t size_;
  std::atomic<uint64_t>* const counted_;
};

class Directory : public rocksdb::FSDirectory {
 public:
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
};

struct Lock : public rocksdb::FileLock {
  explicit Lock(leveldb::FileLock* taken) : target(taken) {}
  leveldb::FileLock* const target;
};

bool IsManifest(const std::string& name) {
  return name.find("/MANIFEST-") != std::string::npos;
}

}  // namespace

LevelDbFileSystem::LevelDbFileSystem(leveldb::Env* env)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), env_(env) {}

IOStatus LevelDbFileSystem::NewSequentialFile(
    const std::string& name, const FileOptions&,
    std::unique_ptr<rocksdb::FSSequentialFile>* result, IODebugContext*) {
  leveldb::SequentialFile* file = nullptr;
  const leveldb::Status s = env_->NewSequentialFile(name, &file);
  if (s.ok()) *result = std::make_unique<SequentialFile>(file);
  return ToIOStatus(s);
}

IOStatus LevelDbFileSystem::NewRandomAccessFile(
    const std::string& name, const FileOptions&,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext*) {
  leveldb::RandomAccessFile* file = nullptr;
  uint64_t size = 0;
  leveldb::Status s = env_->GetFileSize(name, &size);
  if (s.ok()) s = env_->NewRandomAccessFile(name, &file);
  if (s.ok()) *result = std::make_unique<RandomAccessFile>(file, size);
  return ToIOStatus(s);
}

IOStatus LevelDbFileSystem::OpenToWrite(
    const std::string& name, bool append,
    std::unique_ptr<rocksdb::FSWritableFile>* result) {
  uint64_t size = 0;
  if (append) env_->GetFileSize(name, &size);  // 0 for a new file
  leveldb::WritableFile* file = nullptr;
  const leveldb::Status s = append ? env_->NewAppendableFile(name, &file)
                                   : env_->NewWritableFile(name, &file);
  if (s.ok()) {
    *result = std::make_unique<WritableFile>(
        file, size, IsManifest(name) ? &manifest_bytes_ : nullptr);
  }
  return ToIOStatus(s);
}

IOStatus LevelDbFileSystem::NewWritableFile(
    const std::string& name, const FileOptions&,
    std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) {
  return OpenToWrite(name, /*append=*/false, result);
}

IOStatus LevelDbFileSystem::ReopenWritableFile(
    const std::string& name, const FileOptions&,
    std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) {
  return OpenToWrite(name, /*append=*/true, result);
}

IOStatus LevelDbFileSystem::ReuseWritableFile(
    const std::string& name, const std::string& old_name,
    const FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* debug) {
  const IOStatus s = RenameFile(old_name, name, IOOptions(), debug);
  return s.ok() ? NewWritableFile(name, options, result, debug) : s;
}

IOStatus LevelDbFileSystem::NewRandomRWFile(
    const std::string& name, const FileOptions&,
    std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) {
  return IOStatus::NotSupported("a file that is written in place", name);
}

IOStatus LevelDbFileSystem::NewDirectory(
    const std::string&, const IOOptions&,
    std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext*) {
  *result = std::make_unique<Directory>();
  return IOStatus::OK();
}

IOStatus LevelDbFileSystem::FileExists(const std::string& name,
                                       const IOOptions&, IODebugContext*) {
  return env_->FileExists(name) ? IOStatus::OK() : IOStatus::NotFound(name);
}

IOStatus LevelDbFileSystem::GetChildren(const std::string& directory,
                                        const IOOptions&,
                                        std::vector<std::string>* names,
                                        IODebugContext*) {
  return ToIOStatus(env_->GetChildren(directory, names));
}

IOStatus LevelDbFileSystem::GetFileSize(const std::string& name,
                                        const IOOptions&, uint64_t* size,
                                        IODebugContext*) {
  return ToIOStatus(env_->GetFileSize(name, size));
}

IOStatus LevelDbFileSystem::GetFileModificationTime(const std::string&,
                                                    const IOOptions&,
                                                    uint64_t* time,
                                                    IODebugContext*) {
  *time = 0;  // A leveldb::Env does not tell
  return IOStatus::OK();
}

IOStatus LevelDbFileSystem::CreateDir(const std::string& name, const IOOptions&,
                                      IODebugContext*) {
  return ToIOStatus(env_->CreateDir(name));
}

IOStatus LevelDbFileSystem::CreateDirIfMissing(const std::string& name,
                                               const IOOptions&,
                                               IODebugContext*) {
  env_->CreateDir(name);  // An error is told as a file is created in it
  return IOStatus::OK();
}

IOStatus LevelDbFileSystem::DeleteDir(const std::string& name, const IOOptions&,
                                      IODebugContext*) {
  return ToIOStatus(env_->RemoveDir(name));
}

IOStatus LevelDbFileSystem::IsDirectory(const std::string& name,
                                        const IOOptions&, bool* is_directory,
                                        IODebugContext*) {
  std::vector<std::string> names;
  *is_directory = env_->GetChildren(name, &names).ok();
  return IOStatus::OK();
}

IOStatus LevelDbFileSystem::GetAbsolutePath(const std::string& name,
                                            const IOOptions&, std::string* path,
                                            IODebugContext*) {
  *path = name;
  return IOStatus::OK();
}

IOStatus LevelDbFileSystem::LockFile(const std::string& name, const IOOptions&,
                                     rocksdb::FileLock** lock,
                                     IODebugContext*) {
  leveldb::FileLock* taken = nullptr;
  const leveldb::Status s = env_->LockFile(name, &taken);
  *lock = s.ok() ? new Lock(taken) : nullptr;
  return ToIOStatus(s);
}

IOStatus LevelDbFileSystem::UnlockFile(rocksdb::FileLock* lock,
                                       const IOOptions&, IODebugContext*) {
  const std::unique_ptr<Lock> held(static_cast<Lock*>(lock));
  return ToIOStatus(env_->UnlockFile(held->target));
}

IOStatus LevelDbFileSystem::DeleteFile(const std::string& name,
                                       const IOOptions&, IODebugContext*) {
  return ToIOStatus(env_->RemoveFile(name));
}

IOStatus LevelDbFileSystem::RenameFile(const std::string& from,
                                       const std::string& to, const IOOptions&,
                                       IODebugContext*) {
  return ToIOStatus(env_->RenameFile(from, to));
}

IOStatus LevelDbFileSystem::LinkFile(const std::string& from,
                                     const std::string&, const IOOptions&,
                                     IODebugContext*) {
  return IOStatus::NotSupported("a second name of a file", from);
}

}  // namespace recompact
