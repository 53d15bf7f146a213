#include "seams/tree_format.h"

#include "leveldb/db.h"

namespace leveldb {

namespace {

constexpr int kUpstreamLevels = 7;

}  // namespace

std::string TreeFormat(const Options& options) {
  std::string format = EngineFormat();
  if (options.num_levels > kUpstreamLevels) {
    format += (format.empty() ? "" : "+") + std::to_string(options.num_levels) +
              "-levels";
  }
  return format;
}

std::string StoredComparatorName(const Comparator* user_comparator,
                                 const Options& options) {
  const std::string format = TreeFormat(options);
  return user_comparator->Name() + (format.empty() ? "" : "+" + format);
}

Status RepairByOpening(const std::string& dbname, const Options& options) {
  Options opening = options;
  opening.create_if_missing = false;
  opening.error_if_exists = false;
  DB* db = nullptr;
  const Status s = DB::Open(opening, dbname, &db);
  delete db;
  if (s.ok()) return s;
  return Status::NotSupported(
      dbname, "cannot be repaired without its MANIFEST: " + s.ToString());
}

}  // namespace leveldb
