#include "seams/tree_format.h"

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

}  // namespace leveldb
