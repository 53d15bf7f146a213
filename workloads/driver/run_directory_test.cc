#include "driver/run_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "driver/test_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace recompact {
namespace {

using ::testing::HasSubstr;

const char* const kRun = "0123456789abcdef";

class RunDirectoryTest : public ::testing::Test {
 protected:
  TestDirectory directory_;
};

TEST_F(RunDirectoryTest, OneMeasurementAtATime) {
  const std::string path = directory_.File("lock");
  {
    MeasurementLock first, second;
    ASSERT_TRUE(first.Acquire(path).ok());
    const Status status = second.Acquire(path);
    EXPECT_EQ(status.code(), ExitCode::kLocked);
    EXPECT_EQ(status.message(),
              path +
                  ": another measurement is running on this machine ; wait "
                  "until it ends");
  }
  MeasurementLock third;
  EXPECT_TRUE(third.Acquire(path).ok());
  MeasurementLock nowhere;
  EXPECT_EQ(nowhere.Acquire(directory_.File("no/lock")).code(),
            ExitCode::kFailed);
}

TEST_F(RunDirectoryTest, UsersMeasureInTurn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const std::string path = directory_.File("lock");
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);  // Like /dev/shm
  ::umask(077);
  {
    MeasurementLock of_root, of_user;
    ASSERT_TRUE(of_root.Acquire(path).ok());
    ASSERT_EQ(::seteuid(65534), 0);
    EXPECT_EQ(of_user.Acquire(path).code(), ExitCode::kLocked);
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_EQ(::seteuid(65534), 0);
  MeasurementLock of_user, of_root;
  EXPECT_TRUE(of_user.Acquire(path).ok());
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(of_root.Acquire(path).code(), ExitCode::kLocked);
  ::umask(022);
}

TEST_F(RunDirectoryTest, OutputOfTheSameRunIsReplaced) {
  const std::string out = directory_.File("a/b");
  ASSERT_TRUE(PrepareOutputDirectory(out, kRun).ok());
  WriteText(out + "/run.json", std::string("{\"run\": \"") + kRun + "\"}");
  WriteText(out + "/latency.load.f32", "x");
  WriteText(out + "/timeline.csv", "x");
  WriteText(out + "/notes.txt", "x");
  ASSERT_TRUE(PrepareOutputDirectory(out, kRun).ok());
  EXPECT_FALSE(std::filesystem::exists(out + "/run.json"));
  EXPECT_FALSE(std::filesystem::exists(out + "/latency.load.f32"));
  EXPECT_FALSE(std::filesystem::exists(out + "/timeline.csv"));
  EXPECT_TRUE(std::filesystem::exists(out + "/notes.txt"));
}

TEST_F(RunDirectoryTest, OutputOfAnotherRunIsKept) {
  for (const std::string record : {"{\"run\": \"fedcba9876543210\"}", "junk"}) {
    WriteText(directory_.File("run.json"), record);
    WriteText(directory_.File("latency.load.f32"), "x");
    const Status status = PrepareOutputDirectory(directory_.path(), kRun);
    EXPECT_EQ(status.code(), ExitCode::kBadInput);
    EXPECT_THAT(status.message(),
                HasSubstr(directory_.File("run.json") + ": holds the result"));
    EXPECT_EQ(ReadText(directory_.File("run.json")), record);
    EXPECT_EQ(ReadText(directory_.File("latency.load.f32")), "x");
  }
}

TEST_F(RunDirectoryTest, DataDirectoryMustBeEmpty) {
  EXPECT_TRUE(PrepareDatabaseDirectory(directory_.File("a/b")).ok());
  EXPECT_TRUE(PrepareDatabaseDirectory(directory_.File("a/b")).ok());
  const Status status = PrepareDatabaseDirectory(directory_.File("a"));
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_THAT(status.message(), HasSubstr("the data directory is not empty"));
  EXPECT_TRUE(std::filesystem::exists(directory_.File("a/b")));
  WriteText(directory_.File("file"), "x");
  EXPECT_FALSE(PrepareDatabaseDirectory(directory_.File("file")).ok());
}

TEST_F(RunDirectoryTest, CopiesADatabase) {
  const std::string from = directory_.File("from"), to = directory_.File("to");
  std::filesystem::create_directory(from);
  std::filesystem::create_directory(to);
  const Status status = CopyDatabase(from, to);
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_THAT(status.message(),
              HasSubstr(from + ": no database to start from"));
  WriteText(from + "/CURRENT", "MANIFEST-000001\n");
  WriteText(from + "/000005.ldb", "table");
  ASSERT_TRUE(CopyDatabase(from, to).ok());
  EXPECT_EQ(ReadText(to + "/000005.ldb"), "table");
  EXPECT_EQ(DirectoryBytes(to), 16u + 5);
  EXPECT_EQ(DirectoryBytes(directory_.File("none")), 0u);
}

TEST_F(RunDirectoryTest, CopiesIntoWhatLinksLeadTo) {
  const std::string from = directory_.File("from"), to = directory_.File("to");
  for (const std::string& path : {from, to}) {
    std::filesystem::create_directory(path);
  }
  WriteText(from + "/CURRENT", "MANIFEST-000001\n");
  WriteText(from + "/000005.ldb", "table");
  const std::string place = directory_.File("place");
  WriteText(place, "");
  std::filesystem::create_symlink(place, to + "/000005.ldb");
  ASSERT_TRUE(CopyDatabase(from, to).ok());
  EXPECT_EQ(ReadText(place), "table");
  EXPECT_TRUE(std::filesystem::is_symlink(to + "/000005.ldb"));
}

TEST_F(RunDirectoryTest, GathersTheTablesThatLinksLeadTo) {
  const std::string database = directory_.File("db");
  std::filesystem::create_directory(database);
  WriteText(database + "/CURRENT", "MANIFEST-000001\n");
  const std::string place = directory_.File("place");
  WriteText(place, "table");
  std::filesystem::create_symlink(place, database + "/000005.ldb");
  ASSERT_TRUE(GatherTables(database).ok());
  EXPECT_FALSE(std::filesystem::is_symlink(database + "/000005.ldb"));
  EXPECT_EQ(ReadText(database + "/000005.ldb"), "table");
  EXPECT_EQ(ReadText(database + "/CURRENT"), "MANIFEST-000001\n");
  EXPECT_FALSE(std::filesystem::exists(place));
  ASSERT_TRUE(GatherTables(database).ok());
  // A table that is not there is named.
  std::filesystem::create_symlink(place, database + "/000006.ldb");
  EXPECT_THAT(GatherTables(database).message(),
              HasSubstr(database + "/000006.ldb: cannot move " + place));
}

TEST_F(RunDirectoryTest, ChecksTheRoom) {
  EXPECT_TRUE(CheckRoom(directory_.path(), 1000).ok());
  const Status status = CheckRoom(directory_.path(), uint64_t{1} << 60);
  EXPECT_EQ(status.code(), ExitCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr(directory_.path() + ": "));
  EXPECT_THAT(status.message(), HasSubstr("the run may need 1152921504.61 GB"));
  EXPECT_EQ(CheckRoom(directory_.File("none"), 0).code(), ExitCode::kFailed);
}

TEST_F(RunDirectoryTest, WritesFilesWholeOrNotAtAll) {
  const std::string path = directory_.File("file");
  ASSERT_TRUE(WriteFile(path, "old", 3).ok());
  ASSERT_TRUE(WriteFile(path, "newer", 5).ok());
  EXPECT_EQ(ReadText(path), "newer");
  EXPECT_FALSE(WriteFile(directory_.File("no/file"), "x", 1).ok());
  const Status full = WriteFile("/dev/full/x", "x", 1);
  EXPECT_EQ(full.code(), ExitCode::kFailed);
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory_.path()),
                    std::filesystem::directory_iterator()),
      1);
}

TEST_F(RunDirectoryTest, NamesTheFileSystem) {
  EXPECT_EQ(FileSystemName("/dev/shm"), "tmpfs");
  EXPECT_EQ(FileSystemName(directory_.File("none")), "unknown");
}

}  // namespace
}  // namespace recompact
