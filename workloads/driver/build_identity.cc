#include "driver/build_identity.h"

namespace recompact {

const char* const kTreeHash = RECOMPACT_TREE_HASH;
const char* const kDriverHash = RECOMPACT_DRIVER_HASH;
const char* const kBuildFlags = RECOMPACT_BUILD_FLAGS;

}  // namespace recompact
