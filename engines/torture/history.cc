#include "torture/history.h"

#include <algorithm>
#include <utility>

#include "leveldb/write_batch.h"

namespace recompact {

leveldb::Status WriteTo(Database* database, const Operation& operation,
                        uint64_t version) {
  leveldb::WriteOptions options;
  options.sync = operation.sync;
  leveldb::WriteBatch batch;
  for (const KeyWrite& write : WritesOf(operation)) {
    if (write.deletes) {
      batch.Delete(KeyOf(write.key));
    } else {
      batch.Put(KeyOf(write.key), ValueOf(write.key, version, write.length));
    }
  }
  return (*database)->Write(options, &batch);
}

History::History(std::vector<Operation> operations)
    : operations_(std::move(operations)) {
  for (size_t i = 0; i < operations_.size(); i++) {
    for (const KeyWrite& write : WritesOf(operations_[i])) {
      std::vector<Version>& versions = keys_[write.key];
      const Version version{i + 1, write.deletes, write.length};
      if (!versions.empty() && versions.back().version == i + 1) {
        versions.back() = version;
      } else {
        versions.push_back(version);
      }
    }
  }
}

std::optional<std::string> History::Compare(
    uint32_t key, const std::optional<std::string>& answer,
    const std::vector<bool>& certain, uint64_t issued, Range* range) const {
  const std::vector<Version>& versions = keys_.at(key);
  uint64_t last_certain = 0;
  for (const Version& version : versions) {
    if (certain[version.version - 1]) last_certain = version.version;
  }
  const auto can_be = [&](uint64_t version) {
    if (version < last_certain || version > issued) return;
    range->smallest = std::min(range->smallest, version);
    range->largest = std::max(range->largest, version);
  };
  if (!answer) can_be(0);
  for (const Version& version : versions) {
    const bool same = version.deleted ? !answer
                                      : answer == ValueOf(key, version.version,
                                                          version.length);
    if (same) can_be(version.version);
  }
  if (range->smallest <= range->largest) return std::nullopt;
  return "key " + std::to_string(key) + " holds " +
         (answer ? answer->substr(0, answer->find(':')) : "nothing") +
         ", but version " + std::to_string(last_certain) +
         " was acknowledged and " + std::to_string(issued) + " issued";
}

std::optional<std::string> History::JudgeKey(Database* database, uint32_t key,
                                             const std::vector<bool>& certain,
                                             uint64_t issued) const {
  std::string value;
  const leveldb::Status s =
      (*database)->Get(leveldb::ReadOptions(), KeyOf(key), &value);
  if (!s.ok() && !s.IsNotFound()) return std::nullopt;
  Range range;
  return Compare(key, s.ok() ? std::optional(value) : std::nullopt, certain,
                 issued, &range);
}

std::optional<std::string> History::Judge(Database* database,
                                          const std::vector<bool>& certain,
                                          uint64_t issued) const {
  std::map<uint32_t, Range> found;
  for (const auto& [key, versions] : keys_) {
    std::string value;
    const leveldb::Status s =
        (*database)->Get(leveldb::ReadOptions(), KeyOf(key), &value);
    if (!s.ok() && !s.IsNotFound()) {
      return "key " + std::to_string(key) + ": " + s.ToString();
    }
    const auto wrong =
        Compare(key, s.ok() ? std::optional(value) : std::nullopt, certain,
                issued, &found[key]);
    if (wrong) return wrong;
  }
  // A batch is there as a whole: if one of its keys certainly holds it, every
  // other can hold it or what came after.
  for (size_t i = 0; i < operations_.size() && i < issued; i++) {
    if (operations_[i].kind != Operation::kBatch) continue;
    const std::vector<KeyWrite> writes = WritesOf(operations_[i]);
    const auto holds_it = [&](const KeyWrite& write) {
      const Range& range = found.at(write.key);
      return range.smallest == i + 1 && range.largest == i + 1;
    };
    if (std::none_of(writes.begin(), writes.end(), holds_it)) continue;
    for (const KeyWrite& write : writes) {
      if (found.at(write.key).largest < i + 1) {
        return "batch " + std::to_string(i + 1) + " is there without key " +
               std::to_string(write.key);
      }
    }
  }
  return std::nullopt;
}

}  // namespace recompact
