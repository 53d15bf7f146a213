#include "driver/spread_env.h"

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "driver/table_file.h"

namespace recompact {

namespace fs = std::filesystem;

SpreadEnv::SpreadEnv(leveldb::Env* target, std::string database,
                     std::vector<std::string> mounts)
    : EnvWrapper(target),
      directory_(std::move(database) + "/"),
      mounts_(std::move(mounts)) {}

Status SpreadEnv::MakeDirectories(const std::string& where) {
  assert(table_directories_.empty());
  for (size_t i = 0; i < mounts_.size(); i++) {
    // Links are read from the database's directory, not from this one.
    std::error_code ignored;
    std::string directory =
        fs::absolute(mounts_[i], ignored) / "recompact_XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) {
      const std::string cause = std::strerror(errno);
      RemoveDirectories();
      return Status::BadInput(
          where + "[" + std::to_string(i) + "]",
          "cannot put tables into \"" + mounts_[i] + "\": " + cause,
          "name directories that are there and can be written");
    }
    table_directories_.push_back(std::move(directory));
  }
  return Status::OK();
}

void SpreadEnv::RemoveDirectories() {
  for (const std::string& table_directory : table_directories_) {
    std::error_code ignored;  // Nobody is left to use what stays
    fs::remove_all(table_directory, ignored);
  }
  table_directories_.clear();
}

bool SpreadEnv::Spreads(const std::string& name) const {
  return !mounts_.empty() && IsTableFile(name) &&
         name.compare(0, directory_.size(), directory_) == 0;
}

leveldb::Status SpreadEnv::MakePlace(const std::string& name) {
  std::error_code error;
  if (!Spreads(name) || fs::is_symlink(name, error) || FileExists(name)) {
    return leveldb::Status::OK();
  }
  assert(table_directories_.size() == mounts_.size());
  const fs::path table = fs::path(name).filename();
  const uint64_t number = std::strtoull(table.c_str(), nullptr, 10);
  const std::string place =
      fs::path(table_directories_[number % mounts_.size()]) / table;
  leveldb::WritableFile* file = nullptr;
  leveldb::Status s = target()->NewWritableFile(place, &file);
  if (!s.ok()) return s;
  s = file->Close();
  delete file;
  if (s.ok()) {
    fs::create_symlink(place, name, error);
    if (error) s = leveldb::Status::IOError(name, error.message());
  }
  if (!s.ok()) target()->RemoveFile(place);
  return s;
}

leveldb::Status SpreadEnv::NewWritableFile(const std::string& name,
                                           leveldb::WritableFile** result) {
  *result = nullptr;
  leveldb::Status s = MakePlace(name);
  if (!s.ok()) return s;
  s = target()->NewWritableFile(name, result);
  if (!s.ok() && Spreads(name)) RemoveFile(name);
  return s;
}

leveldb::Status SpreadEnv::RemoveFile(const std::string& name) {
  std::error_code error;
  if (Spreads(name) && fs::is_symlink(name, error)) {
    const fs::path place = fs::read_symlink(name, error);
    if (error) return leveldb::Status::IOError(name, error.message());
    // The link last: while it stands the table can be found.
    const leveldb::Status s = target()->RemoveFile(place);
    if (!s.ok() && !s.IsNotFound()) return s;
  }
  return target()->RemoveFile(name);
}

leveldb::Status SpreadEnv::RenameFile(const std::string& from,
                                      const std::string& to) {
  if (Spreads(from) || Spreads(to)) {
    return leveldb::Status::NotSupported(
        from, "a table that is spread over mounts keeps its name");
  }
  return target()->RenameFile(from, to);
}

leveldb::Status SpreadEnv::RemoveDir(const std::string& name) {
  const leveldb::Status s = target()->RemoveDir(name);
  if (s.ok() && name + "/" == directory_) RemoveDirectories();
  return s;
}

}  // namespace recompact
