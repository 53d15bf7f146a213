#ifndef RECOMPACT_ENGINES_TORTURE_FILE_TYPE_H_
#define RECOMPACT_ENGINES_TORTURE_FILE_TYPE_H_

#include <string>

namespace recompact {

// "table", "log", "manifest", "current" (CURRENT and what becomes it), or
// "other", by the name of a database's file.
std::string FileTypeOf(const std::string& name);

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_FILE_TYPE_H_
