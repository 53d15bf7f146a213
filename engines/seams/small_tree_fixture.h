#ifndef RECOMPACT_ENGINES_SEAMS_SMALL_TREE_FIXTURE_H_
#define RECOMPACT_ENGINES_SEAMS_SMALL_TREE_FIXTURE_H_

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "db/db_impl.h"
#include "db/filename.h"
#include "gtest/gtest.h"
#include "leveldb/env.h"
#include "util/testutil.h"

namespace leveldb {

// A database of an engine whose tree is small enough to know each file of it:
// keys are numbers, and every memtable is flushed by hand.
class SmallTreeFixture : public ::testing::Test {
 protected:
  explicit SmallTreeFixture(const std::string& name)
      : path_(testing::TempDir() + name) {
    options_.create_if_missing = true;
    options_.compression = kNoCompression;
    DestroyDB(path_, options_);
  }
  ~SmallTreeFixture() override {
    db_.reset();
    DestroyDB(path_, options_);
  }

  void Open() {
    const Status s = TryToOpen();
    ASSERT_TRUE(s.ok()) << s.ToString();
    WaitUntilIdle();
  }

  Status TryToOpen() {
    db_.reset();
    DB* db = nullptr;
    const Status s = DB::Open(options_, path_, &db);
    db_.reset(db);
    return s;
  }

  static std::string Key(int number) {
    char key[16];
    std::snprintf(key, sizeof(key), "key%06d", number);
    return key;
  }

  // Writes "value" for each key and flushes them into one table.
  void Flush(const std::vector<int>& keys, const std::string& value) {
    for (const int key : keys) Put(key, value);
    Flush();
  }
  void Flush() {
    static_cast<DBImpl*>(db_.get())->TEST_CompactMemTable();
    WaitUntilIdle();
  }
  void Put(int key, const std::string& value) {
    ASSERT_TRUE(db_->Put(WriteOptions(), Key(key), value).ok());
  }
  void Delete(int key) {
    ASSERT_TRUE(db_->Delete(WriteOptions(), Key(key)).ok());
  }
  void CompactEverything() {
    db_->CompactRange(nullptr, nullptr);
    WaitUntilIdle();
  }

  std::string Get(int key, const Snapshot* snapshot = nullptr) {
    ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const Status s = db_->Get(options, Key(key), &value);
    return s.ok() ? value : s.IsNotFound() ? "none" : s.ToString();
  }

  // "1=a 3=b", by an iterator that goes forward and then back again; of a long
  // value its first letter.
  std::string Scan() {
    const std::unique_ptr<Iterator> i(db_->NewIterator(ReadOptions()));
    std::string forward, backward;
    for (i->SeekToFirst(); i->Valid(); i->Next()) forward += Entry(*i);
    for (i->SeekToLast(); i->Valid(); i->Prev()) {
      backward = Entry(*i) + backward;
    }
    EXPECT_TRUE(i->status().ok()) << i->status().ToString();
    EXPECT_EQ(forward, backward);
    return forward.empty() ? "" : forward.substr(1);
  }

  std::string Property(const std::string& name) {
    std::string value;
    EXPECT_TRUE(db_->GetProperty(name, &value)) << name;
    return value;
  }

  uint64_t Number(const std::string& property, const std::string& member) {
    const std::string json = Property(property);
    const std::string name = "\"" + member + "\": ";
    const size_t place = json.find(name);
    EXPECT_NE(place, std::string::npos) << member << " in " << json;
    return std::strtoull(json.c_str() + place + name.size(), nullptr, 10);
  }
  uint64_t Ticker(const std::string& name) {
    return Number("recompact.stats", name);
  }

  int FilesAt(int level) {
    return std::atoi(
        Property("leveldb.num-files-at-level" + std::to_string(level)).c_str());
  }

  // "0 1 0 2": the files of the first levels.
  std::string Files(int levels) {
    std::string files;
    for (int level = 0; level < levels; level++) {
      files += (level > 0 ? " " : "") + std::to_string(FilesAt(level));
    }
    return files;
  }

  // "10-20 30-30": the first and the last key of each file of a level.
  std::string RangesAt(int level) {
    const std::string tree = Property("leveldb.sstables");
    size_t place = tree.find("--- level " + std::to_string(level) + " ---");
    const size_t end = tree.find("--- level", place + 1);
    std::string ranges;
    for (int keys = 0; (place = tree.find("key", place)) < end;
         place++, keys++) {
      ranges += (keys == 0       ? ""
                 : keys % 2 == 0 ? " "
                                 : "-") +
                std::to_string(std::atoi(tree.c_str() + place + 3));
    }
    return ranges;
  }

  std::set<uint64_t> TablesOnDisk() {
    std::vector<std::string> names;
    options_.env->GetChildren(path_, &names);
    std::set<uint64_t> tables;
    uint64_t number;
    FileType type;
    for (const std::string& name : names) {
      if (ParseFileName(name, &number, &type) && type == kTableFile) {
        tables.insert(number);
      }
    }
    return tables;
  }

  void WaitUntilIdle() {
    while (Property("recompact.idle") != "1") {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(Property("recompact.check"), "");
  }

  Options options_;
  const std::string path_;
  std::unique_ptr<DB> db_;

 private:
  static std::string Entry(const Iterator& i) {
    const int key = std::atoi(i.key().ToString().substr(3).c_str());
    const std::string value = i.value().ToString();
    return " " + std::to_string(key) + "=" +
           (value.size() > 10 ? value.substr(0, 1) : value);
  }
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_SEAMS_SMALL_TREE_FIXTURE_H_
