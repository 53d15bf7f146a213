#ifndef RECOMPACT_WORKLOADS_DRIVER_SPREAD_ENV_H_
#define RECOMPACT_WORKLOADS_DRIVER_SPREAD_ENV_H_

#include <string>
#include <vector>

#include "driver/status.h"
#include "leveldb/env.h"

namespace recompact {

// Spreads the tables of one database over directories on other devices, the
// mounts: table i lies on mount i mod mounts.  In the database's directory
// stands a symbolic link of the table's name, through which it is read and
// measured like any file; it stands from before the table is written until
// after it is removed.  All other files lie in the database's directory.
// Without mounts every file does.
//
// On each mount the tables have a directory of their own, whose name no other
// database has.  What a mount's file system keeps of it is not synced, so such
// a database need not survive the machine.
class SpreadEnv : public leveldb::EnvWrapper {
 public:
  // REQUIRES: "target" outlives this.
  SpreadEnv(leveldb::Env* target, std::string database,
            std::vector<std::string> mounts);

  // Makes the directories on the mounts.  A mount that cannot have one is a
  // BadInput that names "<where>[<index>]", and then there are none.
  // REQUIRED before the first table.
  Status MakeDirectories(const std::string& where);
  // Removes these directories and the tables in them, if there are any.
  void RemoveDirectories();
  // One for each mount, absolute.
  const std::vector<std::string>& table_directories() const {
    return table_directories_;
  }

  // Makes a file, empty, where the table of this name is to lie, and the link
  // to it.  Does nothing if the name is taken or not a table's.
  leveldb::Status MakePlace(const std::string& name);

  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  // Tables keep their names: NotSupported.
  leveldb::Status RenameFile(const std::string& from,
                             const std::string& to) override;
  // With the database's own directory, those on the mounts go.
  leveldb::Status RemoveDir(const std::string& name) override;

 private:
  bool Spreads(const std::string& name) const;

  const std::string directory_;  // Of the database, with a slash at the end
  const std::vector<std::string> mounts_;
  std::vector<std::string> table_directories_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_SPREAD_ENV_H_
