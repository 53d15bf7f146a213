#ifndef RECOMPACT_WORKLOADS_DRIVER_TEST_DIRECTORY_H_
#define RECOMPACT_WORKLOADS_DRIVER_TEST_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace recompact {

// A directory for one test, removed at its end; in memory unless it is to be
// elsewhere.
class TestDirectory {
 public:
  TestDirectory()
      : TestDirectory(std::filesystem::is_directory("/dev/shm") ? "/dev/shm"
                                                                : "/tmp") {}
  explicit TestDirectory(const std::string& parent) {
    std::string pattern = parent + "/recompact_test_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_TEST_DIRECTORY_H_
