#include "simulator/work.h"

#include <fcntl.h>
#include <snappy.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace recompact {
namespace {

// What a client's thread counts while it does "work", in real time.
RoleWork Of(const std::function<void()>& work) {
  constexpr int kClient = static_cast<int>(Role::kClient);
  RoleWork counted;
  std::thread([&] {
    SetRoleOfThisThread(Role::kClient);
    const RoleWork before = WorkSoFar()[kClient];
    work();
    counted = Difference(before, WorkSoFar()[kClient]);
  }).join();
  return counted;
}

uint64_t Counted(const RoleWork& work, Work kind) {
  return work.counts[static_cast<int>(kind)];
}

TEST(WorkTest, CallsOfLibrariesAreCounted) {
  const std::string text(1000, 'x'), same = text;
  volatile size_t size = text.size();  // Unknown to the compiler
  const RoleWork work = Of([&] {
    std::mutex mutex;
    for (int i = 0; i < 5; i++) {
      const std::lock_guard<std::mutex> lock(mutex);
      EXPECT_EQ(std::memcmp(text.data(), same.data(), size), 0);
    }
    char compressed[2000], back[1000];
    size_t compressed_size = sizeof(compressed);
    snappy::RawCompress(text.data(), text.size(), compressed, &compressed_size);
    EXPECT_TRUE(snappy::RawUncompress(compressed, compressed_size, back));
  });
  EXPECT_EQ(Counted(work, Work::kLock), 5);
  EXPECT_EQ(Counted(work, Work::kCompare), 5);
  EXPECT_EQ(Counted(work, Work::kCompressedByte), 1000);
  EXPECT_EQ(Counted(work, Work::kUncompressedByte), 1000);
  EXPECT_EQ(Counted(work, Work::kSignal), 0);
}

TEST(WorkTest, FilesAreCounted) {
  const std::string path = testing::TempDir() + "/work_test";
  const RoleWork work = Of([&] {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(::write(file, "12345678", 8), 8);
    char bytes[8];
    EXPECT_EQ(::pread(file, bytes, 8, 5), 3);
    ::close(file);
    ::unlink(path.c_str());
  });
  EXPECT_EQ(Counted(work, Work::kFileOperation), 3);
  EXPECT_EQ(Counted(work, Work::kWrite), 1);
  EXPECT_EQ(Counted(work, Work::kWrittenByte), 8);
  EXPECT_EQ(Counted(work, Work::kRead), 1);
  EXPECT_EQ(Counted(work, Work::kReadByte), 3);
}

TEST(WorkTest, WhoHasEndedStillCounts) {
  constexpr int kBackground = static_cast<int>(Role::kBackground);
  const RoleWork before = WorkSoFar()[kBackground];
  for (int i = 0; i < 3; i++) std::thread([] { Count(Work::kPut, 2); }).join();
  const RoleWork work = Difference(before, WorkSoFar()[kBackground]);
  EXPECT_EQ(Counted(work, Work::kPut), 6);
  EXPECT_GT(work.processor_ns, 0);
}

}  // namespace
}  // namespace recompact
