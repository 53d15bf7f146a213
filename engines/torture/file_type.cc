#include "torture/file_type.h"

namespace recompact {

std::string FileTypeOf(const std::string& name) {
  const std::string file = name.substr(name.rfind('/') + 1);
  const auto ends_with = [&](const std::string& end) {
    return file.size() > end.size() &&
           file.compare(file.size() - end.size(), end.size(), end) == 0;
  };
  if (ends_with(".ldb") || ends_with(".sst")) return "table";
  if (ends_with(".log")) return "log";
  if (file.compare(0, 9, "MANIFEST-") == 0) return "manifest";
  if (file == "CURRENT" || ends_with(".dbtmp")) return "current";
  return "other";
}

}  // namespace recompact
