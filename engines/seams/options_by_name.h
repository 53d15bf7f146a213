#ifndef RECOMPACT_ENGINES_SEAMS_OPTIONS_BY_NAME_H_
#define RECOMPACT_ENGINES_SEAMS_OPTIONS_BY_NAME_H_

#include <string>

#include "leveldb/options.h"

namespace recompact {

// Sets the scalar field "name" of *options from its text.  Sizes are bytes,
// booleans "true" or "false".  On an unknown name or a value that does not
// parse, returns false, sets *error to one sentence that names the option, and
// leaves *options unchanged.
//
// Every engine knows the fields of upstream's Options; engines on the patched
// tree know also those that the patches add.
bool SetOptionByName(leveldb::Options* options, const std::string& name,
                     const std::string& value, std::string* error);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_SEAMS_OPTIONS_BY_NAME_H_
