#ifndef RECOMPACT_ENGINES_TORTURE_FOREIGN_H_
#define RECOMPACT_ENGINES_TORTURE_FOREIGN_H_

#include <string>

namespace recompact {

// Databases that one engine writes and another opens.  `./repro torture` runs
// the program of each engine on them and compares what they say.

// Writes a new database at "path" under the option set of that name and returns
// {"format": name of the tree's format}.  Ends the program on an error.
std::string WriteDatabase(const std::string& path,
                          const std::string& option_set);

// Opens what WriteDatabase of any engine wrote with the same seed.  Returns
// {"outcome": "right"} if it holds what was written, {"outcome":
// "invalid_argument", "message": ...} if it is refused as it should be, and
// {"outcome": "wrong", "message": ...} otherwise.
std::string OpenDatabase(const std::string& path,
                         const std::string& option_set);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_FOREIGN_H_
