#include "driver/spread_env.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/table_file.h"
#include "driver/test_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "leveldb/db.h"
#include "leveldb/options.h"

namespace recompact {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// The names of all files below a directory, sorted.
std::vector<std::string> FilesBelow(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class SpreadEnvTest : public ::testing::Test {
 protected:
  SpreadEnvTest() {
    fs::create_directory(database_);
    EXPECT_TRUE(env_.MakeDirectories("device.mounts").ok());
  }

  std::string Name(const std::string& file) { return database_ + "/" + file; }
  leveldb::Status Write(leveldb::Env* env, const std::string& name,
                        const std::string& text) {
    leveldb::WritableFile* opened = nullptr;
    leveldb::Status s = env->NewWritableFile(name, &opened);
    if (!s.ok()) return s;
    const std::unique_ptr<leveldb::WritableFile> file(opened);
    s = file->Append(text);
    return s.ok() ? file->Close() : s;
  }

  TestDirectory parent_, a_, b_;
  const std::string database_ = parent_.File("db");
  SpreadEnv env_{leveldb::Env::Default(), database_, {a_.path(), b_.path()}};
};

TEST_F(SpreadEnvTest, TablesGoRoundTheMountsByTheirNumber) {
  for (const char* file : {"000004.ldb", "000005.sst", "000006.ldb",
                           "000008.log", "MANIFEST-000002"}) {
    ASSERT_TRUE(Write(&env_, Name(file), std::string("text of ") + file).ok());
  }
  EXPECT_THAT(FilesBelow(a_.path()), ElementsAre("000004.ldb", "000006.ldb"));
  EXPECT_THAT(FilesBelow(b_.path()), ElementsAre("000005.sst"));
  EXPECT_TRUE(fs::is_symlink(Name("000005.sst")));
  EXPECT_FALSE(fs::is_symlink(Name("000008.log")));
  // All is as if the files lay in the database's directory.
  EXPECT_EQ(ReadText(Name("000005.sst")), "text of 000005.sst");
  EXPECT_TRUE(env_.FileExists(Name("000005.sst")));
  uint64_t size = 0;
  ASSERT_TRUE(env_.GetFileSize(Name("000005.sst"), &size).ok());
  EXPECT_EQ(size, 18u);
  std::vector<std::string> children;
  ASSERT_TRUE(env_.GetChildren(database_, &children).ok());
  EXPECT_THAT(children, IsSupersetOf({"000004.ldb", "000005.sst", "000006.ldb",
                                      "000008.log", "MANIFEST-000002"}));
  // Tables of other databases are none of its business.
  ASSERT_TRUE(Write(&env_, parent_.File("000009.ldb"), "x").ok());
  EXPECT_FALSE(fs::is_symlink(parent_.File("000009.ldb")));
}

TEST_F(SpreadEnvTest, RemovingATableRemovesItFromItsMount) {
  for (const char* file : {"000004.ldb", "000005.ldb"}) {
    ASSERT_TRUE(Write(&env_, Name(file), "text").ok());
  }
  ASSERT_TRUE(env_.RemoveFile(Name("000005.ldb")).ok());
  EXPECT_THAT(FilesBelow(b_.path()), IsEmpty());
  EXPECT_THAT(FilesBelow(database_), ElementsAre("000004.ldb"));
  EXPECT_TRUE(env_.RemoveFile(Name("000005.ldb")).IsNotFound());
  // A table that is gone from its mount leaves a link that can be removed.
  fs::remove(fs::read_symlink(Name("000004.ldb")));
  EXPECT_FALSE(env_.FileExists(Name("000004.ldb")));
  ASSERT_TRUE(env_.RemoveFile(Name("000004.ldb")).ok());
  EXPECT_THAT(FilesBelow(database_), IsEmpty());
}

TEST_F(SpreadEnvTest, TablesKeepTheirNames) {
  ASSERT_TRUE(Write(&env_, Name("000004.ldb"), "text").ok());
  EXPECT_TRUE(env_.RenameFile(Name("000004.ldb"), Name("000005.ldb"))
                  .IsNotSupportedError());
  ASSERT_TRUE(Write(&env_, Name("000006.dbtmp"), "text").ok());
  EXPECT_TRUE(env_.RenameFile(Name("000006.dbtmp"), Name("000006.ldb"))
                  .IsNotSupportedError());
  EXPECT_TRUE(env_.RenameFile(Name("000006.dbtmp"), Name("CURRENT")).ok());
  EXPECT_THAT(FilesBelow(database_), ElementsAre("000004.ldb", "CURRENT"));
}

TEST_F(SpreadEnvTest, APlaceThatIsTakenIsLeftAlone) {
  ASSERT_TRUE(env_.MakePlace(Name("000004.ldb")).ok());
  EXPECT_EQ(fs::file_size(Name("000004.ldb")), 0u);
  ASSERT_TRUE(Write(&env_, Name("000004.ldb"), "text").ok());
  ASSERT_TRUE(env_.MakePlace(Name("000004.ldb")).ok());
  EXPECT_EQ(ReadText(Name("000004.ldb")), "text");
  // A table written anew replaces the old one where it is.
  ASSERT_TRUE(Write(&env_, Name("000004.ldb"), "t").ok());
  EXPECT_EQ(ReadText(env_.table_directories()[0] + "/000004.ldb"), "t");
  ASSERT_TRUE(env_.MakePlace(Name("CURRENT")).ok());
  EXPECT_FALSE(env_.FileExists(Name("CURRENT")));
  WriteText(Name("000005.ldb"), "no link");
  ASSERT_TRUE(env_.MakePlace(Name("000005.ldb")).ok());
  EXPECT_EQ(ReadText(Name("000005.ldb")), "no link");
}

TEST_F(SpreadEnvTest, ATableThatCannotBeLinkedLeavesNothing) {
  fs::remove_all(database_);
  EXPECT_FALSE(Write(&env_, Name("000004.ldb"), "text").ok());
  EXPECT_THAT(FilesBelow(a_.path()), IsEmpty());
}

TEST_F(SpreadEnvTest, ATableThatCannotBeCreatedLeavesNothing) {
  fs::remove_all(env_.table_directories()[0]);
  EXPECT_FALSE(Write(&env_, Name("000004.ldb"), "text").ok());
  EXPECT_THAT(FilesBelow(database_), IsEmpty());
}

// Creates no file in one directory.
class RefusingEnv : public leveldb::EnvWrapper {
 public:
  explicit RefusingEnv(std::string directory)
      : EnvWrapper(leveldb::Env::Default()), directory_(std::move(directory)) {}

  leveldb::Status NewWritableFile(const std::string& name,
                                  leveldb::WritableFile** result) override {
    if (fs::path(name).parent_path() == directory_) {
      return leveldb::Status::IOError(name, "no more descriptors");
    }
    return target()->NewWritableFile(name, result);
  }

 private:
  const fs::path directory_;
};

TEST_F(SpreadEnvTest, ATableThatCannotBeOpenedLeavesNothing) {
  RefusingEnv refusing(database_);
  SpreadEnv env(&refusing, database_, {a_.path()});
  ASSERT_TRUE(env.MakeDirectories("device.mounts").ok());
  EXPECT_FALSE(Write(&env, Name("000004.ldb"), "text").ok());
  EXPECT_THAT(FilesBelow(database_), IsEmpty());
  EXPECT_THAT(FilesBelow(a_.path()), IsEmpty());
}

TEST_F(SpreadEnvTest, DatabasesOnTheSameMountsDoNotMeet) {
  const std::string other_database = parent_.File("other");
  fs::create_directory(other_database);
  SpreadEnv other(leveldb::Env::Default(), other_database,
                  {a_.path(), b_.path()});
  ASSERT_TRUE(other.MakeDirectories("device.mounts").ok());
  ASSERT_TRUE(Write(&env_, Name("000004.ldb"), "one").ok());
  ASSERT_TRUE(Write(&other, other_database + "/000004.ldb", "two").ok());
  EXPECT_EQ(ReadText(Name("000004.ldb")), "one");
  other.RemoveDirectories();
  EXPECT_EQ(ReadText(Name("000004.ldb")), "one");
  env_.RemoveDirectories();
  EXPECT_TRUE(fs::is_empty(a_.path()));
  EXPECT_TRUE(fs::is_empty(b_.path()));
}

TEST_F(SpreadEnvTest, WithoutMountsEveryFileStays) {
  SpreadEnv env(leveldb::Env::Default(), database_, {});
  ASSERT_TRUE(env.MakeDirectories("device.mounts").ok());
  ASSERT_TRUE(Write(&env, Name("000004.ldb"), "text").ok());
  EXPECT_FALSE(fs::is_symlink(Name("000004.ldb")));
  EXPECT_TRUE(env.RenameFile(Name("000004.ldb"), Name("000005.ldb")).ok());
}

TEST_F(SpreadEnvTest, NamesAMountThatCannotBeUsed) {
  TestDirectory usable;
  WriteText(parent_.File("file"), "x");
  const std::pair<std::string, std::string> cases[] = {
      {parent_.File("none"), "No such file or directory"},
      {parent_.File("file"), "Not a directory"}};
  for (const auto& [mount, cause] : cases) {
    SpreadEnv env(leveldb::Env::Default(), database_, {usable.path(), mount});
    const Status status = env.MakeDirectories("spec.json: device.mounts");
    EXPECT_EQ(status.code(), ExitCode::kBadInput);
    EXPECT_EQ(status.message(),
              "spec.json: device.mounts[1]: cannot put tables into \"" + mount +
                  "\": " + cause +
                  " ; name directories that are there and can be written");
    EXPECT_TRUE(fs::is_empty(usable.path()));
  }
}

TEST_F(SpreadEnvTest, ALevelDbDatabaseLivesOnMounts) {
  leveldb::Options options;
  options.env = &env_;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.max_file_size = 1 << 20;
  options.compression = leveldb::kNoCompression;
  std::unique_ptr<leveldb::DB> db;
  const auto open = [&] {
    db.reset();
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, database_, &opened).ok());
    db.reset(opened);
  };
  const std::string value(1000, 'v');
  const auto expect_all = [&] {
    std::string found;
    for (int i = 0; i < 5000; i++) {
      const std::string key = std::to_string(i);
      ASSERT_TRUE(db->Get(leveldb::ReadOptions(), key, &found).ok()) << key;
      ASSERT_EQ(found, value + key);
    }
  };
  open();
  for (int i = 0; i < 5000; i++) {
    const std::string key = std::to_string(i * 7919 % 5000);
    ASSERT_TRUE(db->Put(leveldb::WriteOptions(), key, value + key).ok());
  }
  // Later an engine may leave tables whose numbers are all odd, or all even.
  EXPECT_FALSE(FilesBelow(a_.path()).empty());
  EXPECT_FALSE(FilesBelow(b_.path()).empty());
  db->CompactRange(nullptr, nullptr);
  expect_all();
  open();
  expect_all();
  db->CompactRange(nullptr, nullptr);
  open();  // Removes what is obsolete
  expect_all();
  db.reset();

  // Each table has a link, and no table lies elsewhere.
  std::vector<std::string> links;
  for (const auto& entry : fs::directory_iterator(database_)) {
    if (!IsTableFile(entry.path().native())) continue;
    EXPECT_TRUE(entry.is_symlink()) << entry.path();
    links.push_back(entry.path().filename());
  }
  std::vector<std::string> tables = FilesBelow(a_.path());
  for (const std::string& table : FilesBelow(b_.path())) {
    tables.push_back(table);
  }
  EXPECT_FALSE(tables.empty());
  EXPECT_THAT(tables, ::testing::UnorderedElementsAreArray(links));

  ASSERT_TRUE(leveldb::DestroyDB(database_, options).ok());
  EXPECT_FALSE(fs::exists(database_));
  EXPECT_TRUE(fs::is_empty(a_.path()));
  EXPECT_TRUE(fs::is_empty(b_.path()));
}

}  // namespace
}  // namespace recompact
