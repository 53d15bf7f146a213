#ifndef RECOMPACT_ENGINES_SEAMS_TREE_FORMAT_H_
#define RECOMPACT_ENGINES_SEAMS_TREE_FORMAT_H_

#include <string>

#include "leveldb/comparator.h"
#include "leveldb/options.h"

namespace leveldb {

// The name of what a tree holds beyond upstream's levels of SSTables, or "" if
// that is nothing.  Defined once, in the engine's folder, and so chosen when
// the engine is linked.
const char* EngineFormat();

// The name of the tree's format: that of the engine, and the number of levels
// where upstream cannot read so many.  "" for a tree that upstream can read.
std::string TreeFormat(const Options& options);

// What a MANIFEST names as the comparator: the user's, with the format.  A
// database of another format is refused like one with another comparator, by
// every engine and by the release, because all of them compare this name.
std::string StoredComparatorName(const Comparator* user_comparator,
                                 const Options& options);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_TREE_FORMAT_H_
