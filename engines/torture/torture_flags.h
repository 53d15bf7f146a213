#ifndef RECOMPACT_ENGINES_TORTURE_TORTURE_FLAGS_H_
#define RECOMPACT_ENGINES_TORTURE_TORTURE_FLAGS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "torture/engine_under_test.h"

namespace recompact {

// What the program was told; main() sets it.
struct TortureFlags {
  EngineUnderTest engine;
  uint64_t seed = 1;
  double share = 1;  // of the full number of operations, kills, flips, ...
  uint64_t stream = 10'000;  // operations of one stream of the model test
  std::chrono::seconds shrinking{120};  // of a failing stream, at the most
  std::string scratch = "/dev/shm";     // for real files

  uint64_t Count(uint64_t full) const {
    const auto count = static_cast<uint64_t>(static_cast<double>(full) * share);
    return count == 0 ? 1 : count;
  }
};

extern TortureFlags flags;

// A database of the engine under the option set of that name.  Ends the
// program if there is no such set, or the engine does not know its options.
std::unique_ptr<Database> MakeDatabase(const std::string& option_set,
                                       leveldb::Env* env,
                                       const std::string& path);

// Adds a number to the summary that the program prints at its end, as JSON.
void Report(const std::string& name, uint64_t number);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_TORTURE_FLAGS_H_
