#ifndef RECOMPACT_WORKLOADS_DRIVER_BUILD_IDENTITY_H_
#define RECOMPACT_WORKLOADS_DRIVER_BUILD_IDENTITY_H_

#include <map>
#include <string>

namespace recompact {

// What this program was made from, as the build tells.  In a file of their own:
// all others are compiled once for every engine.
extern const char* const kTreeHash;    // Of the engine's sources
extern const char* const kDriverHash;  // Of the driver's
extern const char* const kBuildFlags;  // The compiler's
extern const char* const kCompiler;    // And its version

// Whose version changes what an engine does, by name.
std::map<std::string, std::string> LibraryVersions();

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_BUILD_IDENTITY_H_
