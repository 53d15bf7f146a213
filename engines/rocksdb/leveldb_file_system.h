#ifndef RECOMPACT_ENGINES_ROCKSDB_LEVELDB_FILE_SYSTEM_H_
#define RECOMPACT_ENGINES_ROCKSDB_LEVELDB_FILE_SYSTEM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/env.h"
#include "rocksdb/file_system.h"

namespace recompact {

// RocksDB's files on a leveldb::Env, so that the device model charges both
// engine families alike and the correctness bench can take files away.  Syncs
// of directories do nothing; the files in them are there once they are created.
// Files that would be written in place, and second names of files, are not
// supported; RocksDB asks for none unless an option says so.
class LevelDbFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // "env" must outlive the file system.
  explicit LevelDbFileSystem(leveldb::Env* env);

  static const char* kClassName() { return "recompact.LevelDbFileSystem"; }
  const char* Name() const override { return kClassName(); }

  // Bytes appended to MANIFESTs, which RocksDB does not count itself.
  uint64_t manifest_bytes() const { return manifest_bytes_; }

  rocksdb::IOStatus NewSequentialFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSSequentialFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(
      const std::string& name, const std::string& old_name,
      const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSRandomRWFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name,
                                 const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus FileExists(const std::string& name,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildren(const std::string& directory,
                                const rocksdb::IOOptions& options,
                                std::vector<std::string>* names,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(const std::string& name,
                                const rocksdb::IOOptions& options,
                                uint64_t* size,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileModificationTime(
      const std::string& name, const rocksdb::IOOptions& options,
      uint64_t* time, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& name,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name,
                                       const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& name,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus IsDirectory(const std::string& name,
                                const rocksdb::IOOptions& options,
                                bool* is_directory,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetAbsolutePath(const std::string& name,
                                    const rocksdb::IOOptions& options,
                                    std::string* path,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LockFile(const std::string& name,
                             const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

 private:
  rocksdb::IOStatus OpenToWrite(
      const std::string& name, bool append,
      std::unique_ptr<rocksdb::FSWritableFile>* result);

  leveldb::Env* const env_;
  std::atomic<uint64_t> manifest_bytes_{0};
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_ROCKSDB_LEVELDB_FILE_SYSTEM_H_
