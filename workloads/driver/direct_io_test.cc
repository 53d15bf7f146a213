// The requests of tables that DeviceEnv sends past the host.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/device_env_fixture.h"
#include "driver/run_directory.h"

namespace recompact {
namespace {

using DirectIoTest = DeviceEnvTest;

TEST_F(DirectIoTest, TablesWaitForEachRequest) {
  NewDirectEnv(SimpleHdd());
  auto table = Create("000005.ldb");
  const auto other = Open("b", 100000);
  // Small appends gather to 512 KiB,
  for (int i = 0; i < 64; i++) {
    EXPECT_EQ(Took([&] { table->Append(std::string(8191, 'x')); }), 0);
    EXPECT_EQ(Took([&] { table->Flush(); }), 0);
  }
  EXPECT_EQ(env_->Counters().writes, 0u);
  EXPECT_EQ(env_->Counters().unsubmitted_bytes, 64 * 8191u);
  EXPECT_EQ(Took([&] { table->Append(std::string(64, 'x')); }),
            10 * kMs + 5242880);
  // large ones are a request of their own, with what is before them,
  table->Append("x");
  Read(other.get(), 0, 4000);
  EXPECT_EQ(Took([&] { table->Append(std::string(16 << 10, 'x')); }),
            10 * kMs + 163850);
  EXPECT_EQ(env_->Counters().writes, 2u);
  // and what is left goes, in whole, with a sync or the end of the file.
  table->Append(std::string(1000, 'x'));
  Read(other.get(), 0, 4000);
  EXPECT_EQ(Took([&] { table->Sync(); }), 10 * kMs + 10000 + 3 * kMs);
  table->Append(std::string(1000, 'x'));
  Read(other.get(), 0, 4000);
  EXPECT_EQ(Took([&] { table->Close(); }), 10 * kMs + 10000);
  EXPECT_EQ(env_->Counters().writes, 4u);
  EXPECT_EQ(env_->Counters().write_bytes, (512u << 10) + (16 << 10) + 2001);
  EXPECT_EQ(env_->Counters().unsubmitted_bytes, 0u);
  EXPECT_EQ(env_->QueueUs(), 0u);
}

TEST_F(DirectIoTest, ReadsPayTheWholePositioningInAnyThread) {
  NewDirectEnv(SimpleHdd());
  auto table = Open("000005.sst", 100000), other = Open("a", 100000);
  RunInThread([&] {
    EXPECT_EQ(Took([&] { Read(table.get(), 70000, 4000); }), 10 * kMs + 40000);
    // Nothing is read ahead,
    Read(other.get(), 0, 4000);
    EXPECT_EQ(Took([&] { Read(table.get(), 74000, 4000); }), 10 * kMs + 40000);
    // but of files that are no tables.
    EXPECT_EQ(Took([&] { Read(other.get(), 50000, 4000); }),
              10 * kMs * 4000 / 100000 + 40000);
  });
}

TEST_F(DirectIoTest, TablesAreInNoPageCache) {
  DeviceParameters parameters = SimpleHdd();
  parameters.page_cache_bytes = 4 * 4096;
  NewDirectEnv(parameters);
  auto other = Open("b", 100000);
  Read(other.get(), 16384, 4096);
  auto written = Create("000005.ldb");
  written->Append(std::string(20000, 'x'));
  written->Close();
  // The pages of other files are not pushed out.
  EXPECT_EQ(Took([&] { Read(other.get(), 16384, 4096); }), 0);
  auto table = Open("000005.ldb");
  for (int i = 0; i < 2; i++) {
    Read(other.get(), i * 8192, 4096);
    EXPECT_EQ(Took([&] { Read(table.get(), 0, 20000); }), 10 * kMs + 200000);
  }
  EXPECT_EQ(Took([&] { Read(other.get(), 0, 4096); }), 0);
  const DeviceCounters counters = env_->Counters();
  EXPECT_EQ(counters.page_cache_hits, 2u);  // All of the other file
  EXPECT_EQ(counters.page_cache_misses, 3u);
}

TEST_F(DirectIoTest, IsForTablesAlone) {
  const std::pair<const char*, bool> files[] = {{"000003.log", false},
                                                {"MANIFEST-000002", false},
                                                {"000005.ldb", true},
                                                {"000006.sst", true}};
  for (const bool direct_io : {false, true}) {
    for (const auto& [name, is_table] : files) {
      NewEnv(SimpleHdd(), 1, direct_io);
      auto file = Create(name);
      EXPECT_EQ(Took([&] { file->Append(std::string(10001, 'x')); }), 0);
      const bool gathers = direct_io && is_table;
      EXPECT_EQ(env_->Counters().writes, gathers ? 0u : 1u) << name;
      EXPECT_EQ(Took([&] { file->Close(); }), gathers ? 10 * kMs + 100010 : 0)
          << name;
    }
  }
}

// How many pages of a file the system holds in memory.
size_t PagesInMemory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat file = {};
  ::fstat(fd, &file);
  void* const map = ::mmap(nullptr, file.st_size, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (map == MAP_FAILED) return SIZE_MAX;
  std::vector<unsigned char> pages((file.st_size + 4095) / 4096);
  ::mincore(map, file.st_size, pages.data());
  ::munmap(map, file.st_size);
  return std::count_if(pages.begin(), pages.end(),
                       [](unsigned char page) { return page & 1; });
}

TEST_F(DirectIoTest, TablesOnARealDiskAreInNoPageCache) {
  const TestDirectory disk(".");
  const std::string file_system = FileSystemName(disk.path());
  if (file_system == "tmpfs" || file_system == "overlay") {
    GTEST_SKIP() << file_system << " does not write out ranges of files";
  }
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kPath;
  const std::string name = disk.File("000005.ldb");
  for (const bool direct_io : {true, false}) {
    DeviceEnv env(leveldb::Env::Default(), parameters, 1, disk.path(), &clock_,
                  direct_io);
    leveldb::WritableFile* written = nullptr;
    ASSERT_TRUE(env.NewWritableFile(name, &written).ok());
    ASSERT_TRUE(written->Append(std::string(20 << 12, 'x')).ok());
    EXPECT_EQ(env.Counters().writes, direct_io ? 1u : 0u);
    ASSERT_TRUE(written->Append("the rest").ok());
    ASSERT_TRUE(written->Flush().ok());
    EXPECT_EQ(env.Counters().writes, 1u);
    ASSERT_TRUE(written->Close().ok());
    delete written;
    EXPECT_EQ(env.Counters().writes, direct_io ? 2u : 1u);
    EXPECT_EQ(env.Counters().write_bytes, (20u << 12) + 8);
    EXPECT_EQ(PagesInMemory(name), 21u);

    leveldb::RandomAccessFile* opened = nullptr;
    ASSERT_TRUE(env.NewRandomAccessFile(name, &opened).ok());
    const std::unique_ptr<leveldb::RandomAccessFile> table(opened);
    // Only pages that were written out can go.
    EXPECT_EQ(PagesInMemory(name), direct_io ? 0u : 21u);
    std::string scratch(20000, '\0');
    leveldb::Slice result;
    ASSERT_TRUE(table->Read(5000, 20000, &result, scratch.data()).ok());
    EXPECT_EQ(result.ToString(), std::string(20000, 'x'));
    EXPECT_EQ(PagesInMemory(name), direct_io ? 0u : 21u);
  }
}

}  // namespace
}  // namespace recompact
