#ifndef RECOMPACT_ENGINES_TORTURE_PLAYER_H_
#define RECOMPACT_ENGINES_TORTURE_PLAYER_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "torture/engine_under_test.h"
#include "torture/operations.h"

namespace recompact {

// Where and how an engine differed from the model.
struct Difference {
  size_t operation;  // its place in the stream
  std::string text;
};

// Plays a stream on a new database in memory beside the model, and checks
// every answer.  Every 100 operations it asks the engine whether its tree keeps
// the rules; after a reopen, and at the end, it also checks that no table lies
// on disk that no level holds.
std::optional<Difference> Play(const EngineUnderTest& engine,
                               const OptionMap& options,
                               const std::vector<Operation>& operations);

// The shortest stream found that still differs: runs of operations are left
// out, long ones first, until none can be (delta debugging) or the time is
// over.  A candidate is played up to three times, because background work is
// not deterministic.
std::vector<Operation> Shrink(const EngineUnderTest& engine,
                              const OptionMap& options,
                              std::vector<Operation> operations,
                              std::chrono::seconds time);

// Everything the database says, forward and backward and key by key, compared
// with a model's state; a sentence on the first difference, or nothing.
class Model;
std::optional<std::string> CompareAll(Database* database, const Model& model,
                                      uint64_t version);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_PLAYER_H_
