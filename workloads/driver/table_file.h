#ifndef RECOMPACT_WORKLOADS_DRIVER_TABLE_FILE_H_
#define RECOMPACT_WORKLOADS_DRIVER_TABLE_FILE_H_

#include <string_view>

namespace recompact {

// Whether the path is that of a table, by the endings that LevelDB gives them.
inline bool IsTableFile(std::string_view path) {
  constexpr size_t kEndingBytes = 4;
  if (path.size() < kEndingBytes) return false;
  const std::string_view ending = path.substr(path.size() - kEndingBytes);
  return ending == ".ldb" || ending == ".sst";
}

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_TABLE_FILE_H_
