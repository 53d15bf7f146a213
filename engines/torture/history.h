#ifndef RECOMPACT_ENGINES_TORTURE_HISTORY_H_
#define RECOMPACT_ENGINES_TORTURE_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "torture/engine_under_test.h"
#include "torture/operations.h"

namespace recompact {

// Carries out a put, deletion or batch as version "version".
leveldb::Status WriteTo(Database* database, const Operation& operation,
                        uint64_t version);

// All versions that a stream of writes gives to its keys, to judge what a
// database holds after a part of the stream was lost.
class History {
 public:
  // Operation i of the stream writes version i + 1.
  explicit History(std::vector<Operation> operations);

  // Compares a database with the state after a loss.  Of each key it may hold
  // any version from the last one that is "certain" (acknowledged and synced)
  // to the last among the first "issued" operations; and of a batch all or
  // nothing.  Returns a sentence on the first difference.
  std::optional<std::string> Judge(Database* database,
                                   const std::vector<bool>& certain,
                                   uint64_t issued) const;

  // The same for one key, while the database runs: an error is an answer too.
  std::optional<std::string> JudgeKey(Database* database, uint32_t key,
                                      const std::vector<bool>& certain,
                                      uint64_t issued) const;

  const std::vector<Operation>& operations() const { return operations_; }

 private:
  struct Version {
    uint64_t version;
    bool deleted;
    uint32_t length;
  };

  // The versions that an answer can be.
  struct Range {
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
  };

  // Compares an answer; sets *range, or returns what is wrong.
  std::optional<std::string> Compare(uint32_t key,
                                     const std::optional<std::string>& answer,
                                     const std::vector<bool>& certain,
                                     uint64_t issued, Range* range) const;

  const std::vector<Operation> operations_;
  std::map<uint32_t, std::vector<Version>> keys_;  // oldest first
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_HISTORY_H_
