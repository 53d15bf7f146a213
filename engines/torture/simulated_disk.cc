#include "torture/simulated_disk.h"

#include <algorithm>
#include <utility>

namespace recompact {

namespace {

constexpr size_t kSectorBytes = 512;

void Apply(const std::string& name,
           const std::shared_ptr<SimulatedDisk::File>& file,
           SimulatedDisk::Directory* directory) {
  if (file == nullptr) {
    directory->erase(name);
  } else {
    (*directory)[name] = file;
  }
}

size_t Below(size_t limit, std::mt19937_64* random) {
  return static_cast<size_t>((*random)() % limit);
}

std::shared_ptr<SimulatedDisk::File> Survivor(const SimulatedDisk::File& file,
                                              Loss loss,
                                              std::mt19937_64* random) {
  auto survivor = std::make_shared<SimulatedDisk::File>();
  size_t bytes = file.synced_bytes;
  if (loss == Loss::kTorn) bytes += Below(file.data.size() - bytes + 1, random);
  survivor->data = file.data.substr(0, bytes);
  if (bytes > file.synced_bytes && Below(2, random) == 0) {
    // The size was written, the last sector was not.
    const size_t sector = (bytes - 1) / kSectorBytes * kSectorBytes;
    const size_t from = std::max(sector, file.synced_bytes);
    std::fill(survivor->data.begin() + from, survivor->data.end(), '\0');
  }
  survivor->synced_bytes = bytes;
  return survivor;
}

}  // namespace

std::shared_ptr<SimulatedDisk::File> SimulatedDisk::Find(
    const std::string& name) const {
  const auto found = directory_.find(name);
  return found == directory_.end() ? nullptr : found->second;
}

void SimulatedDisk::Change(const std::string& name, std::shared_ptr<File> file,
                           bool with_next) {
  Apply(name, file, &directory_);
  volatile_changes_.push_back({name, std::move(file), with_next});
}

std::shared_ptr<SimulatedDisk::File> SimulatedDisk::Create(
    const std::string& name) {
  auto file = std::make_shared<File>();
  Change(name, file);
  return file;
}

bool SimulatedDisk::Remove(const std::string& name) {
  if (Find(name) == nullptr) return false;
  Change(name, nullptr);
  return true;
}

bool SimulatedDisk::Rename(const std::string& name, const std::string& to) {
  const std::shared_ptr<File> file = Find(name);
  if (file == nullptr) return false;
  Change(to, file, /*with_next=*/true);
  Change(name, nullptr);
  return true;
}

void SimulatedDisk::Sync(File* file) {
  file->synced_bytes = file->data.size();
  durable_directory_ = directory_;
  volatile_changes_.clear();
}

void SimulatedDisk::SyncAll() {
  for (const auto& [name, file] : directory_) Sync(file.get());
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::AfterPowerLoss(
    Loss loss, std::mt19937_64* random) const {
  Directory names = durable_directory_;
  size_t changes = 0;
  if (loss == Loss::kTorn) {
    changes = Below(volatile_changes_.size() + 1, random);
    if (changes > 0 && volatile_changes_[changes - 1].with_next) changes++;
  }
  for (size_t i = 0; i < changes; i++) {
    Apply(volatile_changes_[i].name, volatile_changes_[i].file, &names);
  }
  auto disk = std::make_unique<SimulatedDisk>();
  for (const auto& [name, file] : names) {
    disk->directory_[name] = Survivor(*file, loss, random);
  }
  disk->durable_directory_ = disk->directory_;
  return disk;
}

}  // namespace recompact
