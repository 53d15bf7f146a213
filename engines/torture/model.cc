#include "torture/model.h"

#include <algorithm>

namespace recompact {

void Model::Apply(const Operation& operation, uint64_t version) {
  for (const KeyWrite& write : WritesOf(operation)) {
    std::vector<Entry>& entries = entries_[KeyOf(write.key)];
    const Entry entry{version, write.deletes, write.key, write.length};
    if (!entries.empty() && entries.back().version == version) {
      entries.back() = entry;  // the same batch again: the last one wins
    } else {
      entries.push_back(entry);
    }
  }
}

const Model::Entry* Model::Visible(const std::vector<Entry>& entries,
                                   uint64_t version) {
  const auto newest = std::find_if(
      entries.rbegin(), entries.rend(),
      [version](const Entry& entry) { return entry.version <= version; });
  return newest == entries.rend() ? nullptr : &*newest;
}

std::optional<std::string> Model::Get(const std::string& key,
                                      uint64_t version) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  const Entry* entry = Visible(found->second, version);
  if (entry == nullptr || entry->deleted) return std::nullopt;
  return ValueOf(entry->key, entry->version, entry->length);
}

std::vector<std::string> Model::Keys(uint64_t version) const {
  std::vector<std::string> keys;
  for (const auto& [key, entries] : entries_) {
    const Entry* entry = Visible(entries, version);
    if (entry != nullptr && !entry->deleted) keys.push_back(key);
  }
  return keys;
}

void Model::Forget(uint64_t oldest) {
  for (auto& [key, entries] : entries_) {
    const Entry* first = Visible(entries, oldest);
    if (first != nullptr) {
      entries.erase(entries.begin(),
                    entries.begin() + (first - entries.data()));
    }
  }
}

}  // namespace recompact
