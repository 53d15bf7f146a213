#ifndef RECOMPACT_ENGINES_SEAMS_REPAIR_H_
#define RECOMPACT_ENGINES_SEAMS_REPAIR_H_

#include <string>

#include "leveldb/env.h"
#include "leveldb/options.h"
#include "leveldb/status.h"

namespace leveldb {

// RepairDB where a MANIFEST can be read.  Upstream's way, every table that is
// found into L0, brings back what was deleted or overwritten: what parts and
// runs no longer hold of a table is still in it, and tables in L0 are asked in
// the order of their numbers, which says nothing of their age.  So the tree
// stays as its MANIFEST has it.  A damaged table keeps its place and loses the
// blocks that cannot be read (seams/mend_table.h); copies of tables are given
// up, since the tree still has what a mended copy would hide; a lost CURRENT is
// written anew.  What is replaced is kept in the folder lost, as upstream does.
//
// After OK the database opens and everything in it can be read.  Otherwise
// nothing was changed, but for a failure of the device, or a log that cannot be
// replayed; the tables are whole then.  *lacks_manifest tells that there is no
// MANIFEST to go by.
Status RepairTree(const std::string& dbname, const Options& options,
                  bool* lacks_manifest);

// For a database without a CURRENT file: Corruption, if it has tables.  A new
// database in its place would take them for obsolete.  One that was not made to
// the end has none.
Status CheckNoTables(Env* env, const std::string& dbname);

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_REPAIR_H_
