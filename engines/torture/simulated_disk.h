#ifndef RECOMPACT_ENGINES_TORTURE_SIMULATED_DISK_H_
#define RECOMPACT_ENGINES_TORTURE_SIMULATED_DISK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace recompact {

// What a power loss does to what was not synced.
enum class Loss {
  kDropped,  // all of it is gone
  kTorn      // some of it is there: see SimulatedDisk::AfterPowerLoss
};

// A file system in memory that knows what a power loss would leave.
//
// It keeps what ext4 and XFS keep.  Syncing a file makes its data durable, and
// with it every creation, renaming and removal so far.  Those that come later
// survive in their order: if one does, all before it do.
//
// Not safe for concurrent use.
class SimulatedDisk {
 public:
  struct File {
    std::string data;
    size_t synced_bytes = 0;
  };
  using Directory = std::map<std::string, std::shared_ptr<File>>;

  // The file of that name; nullptr if there is none.
  std::shared_ptr<File> Find(const std::string& name) const;

  // Makes an empty file; one of the same name is unlinked, not emptied.
  std::shared_ptr<File> Create(const std::string& name);

  // Both return whether "name" was there.
  bool Remove(const std::string& name);
  bool Rename(const std::string& name, const std::string& to);

  void Sync(File* file);

  // Makes everything durable.
  void SyncAll();

  const Directory& directory() const { return directory_; }

  // The disk after a power loss at this moment.  Of a torn file a random part
  // of the unsynced end is there, of which the last sector may hold zeros; of
  // the directory operations a random number of the first.
  std::unique_ptr<SimulatedDisk> AfterPowerLoss(Loss loss,
                                                std::mt19937_64* random) const;

 private:
  struct DirectoryChange {
    std::string name;
    std::shared_ptr<File> file;  // nullptr: removed
    bool with_next;              // as the first half of a renaming
  };

  void Change(const std::string& name, std::shared_ptr<File> file,
              bool with_next = false);

  Directory directory_;
  Directory durable_directory_;
  std::vector<DirectoryChange> volatile_changes_;
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_SIMULATED_DISK_H_
