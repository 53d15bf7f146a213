#include "driver/build_identity.h"

#include <snappy.h>

#ifdef RECOMPACT_ROCKSDB
#include <rocksdb/version.h>
#endif

#ifdef __clang__
#define RECOMPACT_COMPILER "clang " __clang_version__
#else
#define RECOMPACT_COMPILER "gcc " __VERSION__
#endif

namespace recompact {

namespace {

std::string Version(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

}  // namespace

const char* const kTreeHash = RECOMPACT_TREE_HASH;
const char* const kDriverHash = RECOMPACT_DRIVER_HASH;
const char* const kBuildFlags = RECOMPACT_BUILD_FLAGS;
const char* const kCompiler = RECOMPACT_COMPILER;

std::map<std::string, std::string> LibraryVersions() {
  return {
      {"snappy", Version(SNAPPY_MAJOR, SNAPPY_MINOR, SNAPPY_PATCHLEVEL)},
#ifdef RECOMPACT_ROCKSDB
      {"rocksdb", Version(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH)},
#endif
  };
}

}  // namespace recompact
