#ifndef RECOMPACT_ENGINES_TORTURE_MODEL_H_
#define RECOMPACT_ENGINES_TORTURE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "torture/operations.h"

namespace recompact {

// What a database must hold: an ordered map with versions.
class Model {
 public:
  // Carries out a write as version `version`, which must rise.
  void Apply(const Operation& operation, uint64_t version);

  // The value of a key as of a version.
  std::optional<std::string> Get(const std::string& key,
                                 uint64_t version) const;

  // The keys that have a value as of a version, in order.
  std::vector<std::string> Keys(uint64_t version) const;

  // Forgets versions that nobody can see who reads at `oldest` or later.
  void Forget(uint64_t oldest);

 private:
  struct Entry {
    uint64_t version;
    bool deleted;
    uint32_t key;
    uint32_t length;
  };

  // The newest entry not above a version; nullptr if there is none.
  static const Entry* Visible(const std::vector<Entry>& entries,
                              uint64_t version);

  std::map<std::string, std::vector<Entry>> entries_;  // oldest first
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_MODEL_H_
