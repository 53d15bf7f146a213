// Cases that users of LevelDB and of its kin reported: many versions of few
// keys, which snapshots hold.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "torture/field_case.h"
#include "torture/player.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

// Versions of hot keys that a snapshot which nobody releases keeps, as it does
// all that come later (google/leveldb issues 375 and 711).
struct HotKeys {
  const char* set;
  uint64_t bytes;  // of all versions
  size_t value_length;
  uint64_t versions_per_snapshot;
  uint64_t hot_keys, other_keys;  // the others lie before, between and behind
  uint64_t table;                 // max_file_size
};

constexpr uint64_t kTimesTable = 4;  // no table is larger

// Writes them and reads what each snapshot sees; a sentence on what is wrong.
std::string WriteHotKeys(const HotKeys& sizes, FieldDatabase* database) {
  database->Open();
  std::mt19937_64 random(flags.seed);
  const uint64_t versions = sizes.bytes / sizes.value_length;
  const uint64_t keys = sizes.hot_keys + sizes.other_keys;
  std::vector<uint64_t> newest(keys);  // the version of each key
  struct Held {
    const leveldb::Snapshot* snapshot;
    uint64_t key, version;
  };
  std::vector<Held> held;
  for (uint64_t version = 1; version <= versions; version++) {
    // Of the others each sixteenth.
    const bool hot = sizes.other_keys == 0 || random() % 16 != 0;
    const uint64_t key = hot ? sizes.other_keys / 2 + random() % sizes.hot_keys
                             : random() % keys;
    database->Put(FieldKey(key), FieldValue(version, sizes.value_length));
    newest[key] = version;
    if (version % sizes.versions_per_snapshot == 1 ||
        sizes.versions_per_snapshot == 1) {
      held.push_back({database->get()->GetSnapshot(), key, version});
    }
  }
  for (const bool compacts : {false, true}) {
    if (compacts) database->get()->CompactRange(nullptr, nullptr);
    database->WaitIdle();
    const uint64_t largest = database->LargestTable();
    if (largest > kTimesTable * sizes.table) {
      return "a table of " + std::to_string(largest) + " bytes";
    }
    for (size_t i = 0; i < held.size(); i++) {
      if (database->Get(FieldKey(held[i].key), held[i].snapshot) !=
          FieldValue(held[i].version, sizes.value_length)) {
        return "snapshot " + std::to_string(i) + " reads another version";
      }
    }
    for (uint64_t key = 0; key < keys; key++) {
      const std::string expected =
          newest[key] == 0 ? "none"
                           : FieldValue(newest[key], sizes.value_length);
      if (database->Get(FieldKey(key)) != expected) {
        return "key " + std::to_string(key) + " is not its newest version";
      }
    }
  }
  for (const Held& one : held) database->get()->ReleaseSnapshot(one.snapshot);
  return "";
}

// Reads tables into memory of the reader instead of mapping them, so that what
// a process reads of them is no part of its own memory.
class UnmappedEnv : public leveldb::EnvWrapper {
 public:
  UnmappedEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(
      const std::string& name, leveldb::RandomAccessFile** result) override {
    *result = nullptr;
    const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return leveldb::Status::IOError(name, std::strerror(errno));
    *result = new File(fd);
    return leveldb::Status::OK();
  }

 private:
  class File : public leveldb::RandomAccessFile {
   public:
    explicit File(int fd) : fd_(fd) {}
    ~File() override { ::close(fd_); }
    leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                         char* scratch) const override {
      const ssize_t read = ::pread(fd_, scratch, n, static_cast<off_t>(offset));
      *result = leveldb::Slice(scratch, read < 0 ? 0 : read);
      return read < 0 ? leveldb::Status::IOError(std::strerror(errno))
                      : leveldb::Status::OK();
    }

   private:
    const int fd_;
  };
};

// The most memory that the process has had, in bytes.
uint64_t PeakMemory() {
  std::ifstream file("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (file >> word) {
    if (word == "VmHWM:") file >> kilobytes;
  }
  return kilobytes << 10;
}

// Two memtables, a block cache, and some tables and blocks: not the versions.
constexpr uint64_t kMostMemory = 32 << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsMeasured = false;  // what was freed is kept
#else
constexpr bool kMemoryIsMeasured = true;
#endif

TEST(FieldCaseDeathTest, AHotKeyUnderASnapshotKeepsTablesSmall) {
  const uint64_t bytes = std::max<uint64_t>(24 << 20, flags.Count(96 << 20));
  const HotKeys all[] = {
      {kDefaultSet, bytes, 4000, 1, 1, 0, kTableBytes},
      {kDefaultSet, bytes, 4000, 7, 1, 400, kTableBytes},
      {kDefaultSet, 2 * bytes, 4000, 1000, 1, 0, kTableBytes},
      {kDefaultSet, bytes, 1000, 1000, 2, 1000, kTableBytes},
  };
  for (const HotKeys& sizes : all) {
    const ScratchDirectory directory("hot-key");
    const std::string wrong = InChild(300, [&]() -> std::string {
      const uint64_t before = PeakMemory();
      UnmappedEnv env;
      FieldDatabase database(kDefaultSet, &env, directory.path() + "/db");
      const std::string problem = WriteHotKeys(sizes, &database);
      const uint64_t memory = PeakMemory() - before;
      if (!problem.empty()) return problem;
      return !kMemoryIsMeasured || memory <= kMostMemory
                 ? ""
                 : std::to_string(memory) + " bytes of memory";
    });
    EXPECT_EQ(wrong, "") << Where(sizes.set) << sizes.bytes << " bytes, of "
                         << sizes.hot_keys << " hot keys, a snapshot of each "
                         << sizes.versions_per_snapshot << " versions";
  }
  for (const uint64_t every : {1, 7, 100}) {
    for (const uint64_t hot : {1, 2, 10}) {
      const HotKeys sizes = {kSmallSet, 1 << 20,          300, every, hot,
                             40,        SmallTableBytes()};
      FieldDatabase database(kSmallSet);
      EXPECT_EQ(WriteHotKeys(sizes, &database), "")
          << Where(kSmallSet) << hot << " hot keys, a snapshot of each "
          << every << " versions";
    }
  }
}

// A stream that gives few keys many versions, holds snapshots and deletes, so
// that the versions of a key come to lie in two files, the deletion in the
// first (google/leveldb issues 320 and 184).
constexpr uint32_t kHotKeys = 12;

std::vector<Operation> HotVersions(uint64_t seed, size_t count) {
  constexpr std::pair<Operation::Kind, uint32_t> kWeights[] = {
      {Operation::kPut, 45},
      {Operation::kDelete, 22},
      {Operation::kGet, 14},
      {Operation::kScan, 2},
      {Operation::kReverseScan, 2},
      {Operation::kTakeSnapshot, 7},
      {Operation::kReleaseSnapshot, 6},
      {Operation::kCompactRange, 2}};
  std::mt19937_64 random(seed);
  std::vector<Operation> operations;
  while (operations.size() < count) {
    uint32_t place = static_cast<uint32_t>(random() % 100);
    Operation operation{};
    for (const auto& [kind, weight] : kWeights) {
      operation.kind = kind;
      if (place < weight) break;
      place -= weight;
    }
    operation.key = 1 + static_cast<uint32_t>(random() % kHotKeys);
    operation.snapshot = static_cast<uint32_t>(random() % 8);
    operation.length = static_cast<uint32_t>(
        operation.kind == Operation::kPut            ? random() % 3000
        : operation.kind == Operation::kCompactRange ? random() % 3
                                                     : kHotKeys);
    operations.push_back(operation);
  }
  return operations;
}

// Where a key may end a table, and where its tables may end a range, too.
constexpr const char* kSetsOfHotVersions[] = {"unaligned_outputs",
                                              "small_dtables"};

TEST(FieldCaseTest, ADeletionAtAFileBoundaryStays) {
  constexpr size_t kLength = 1500;
  const uint64_t streams = flags.Count(400);
  for (const char* set : kSetsOfHotVersions) {
    const OptionMap& options = OptionsOf(set);
    std::string first;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < streams; i++) {
      const uint64_t seed = flags.seed + i;
      std::vector<Operation> operations = HotVersions(seed, kLength);
      const auto difference = Play(flags.engine, options, operations);
      if (!difference || ++wrong > 1) continue;
      operations.resize(difference->operation + 1);
      operations =
          Shrink(flags.engine, options, std::move(operations), flags.shrinking);
      first = "seed " + std::to_string(seed) + ": " + difference->text +
              "\nshrunk to\n";
      for (const Operation& operation : operations) {
        first += "  " + ToText(operation) + "\n";
      }
    }
    EXPECT_EQ(wrong, 0) << Where(set) << "wrong answers to " << wrong << " of "
                        << streams << " streams, at first with " << first;
    Report("model_operations", streams * kLength);
  }
}

// The shortest way to the same fault with stock's options.  A key of 5,000
// bytes is deleted right where a table of 2 MiB is full, so that its value,
// held by a snapshot, begins the next one.  When the snapshot is gone, a
// compaction into the first table drops the deletion: nothing below hides the
// key, but the next table of the same level holds it.
constexpr char kStockFailure[] = "deletion at a file boundary";

TEST(FieldCaseTest, ADeletionAtTheEndOfATableStays) {
  FieldDatabase database(kDefaultSet);
  database.Open();
  const std::string key = "k" + FieldValue(1, 5000);
  const auto flush = [&database](const char* begin, const char* end) {
    const leveldb::Slice from(begin), to(end);
    database->CompactRange(&from, &to);
  };
  database.Put(key, "oldest");
  flush("a", "z");  // into level 2
  database.Put("a", FieldValue(2, kTableBytes - 3000));
  database.Put(key, "old");
  const leveldb::Snapshot* const snapshot = database->GetSnapshot();
  database.Delete(key);
  flush("a", "z");  // two tables there
  EXPECT_EQ(database.Get(key, snapshot), "old") << Where(kDefaultSet);
  EXPECT_EQ(database.Get(key), "none") << Where(kDefaultSet);
  database->ReleaseSnapshot(snapshot);
  database.Put("a", "");
  flush("a", "a");  // into the first
  database.WaitIdle();
  if (!IsPristine()) {
    EXPECT_EQ(database.Get(key), "none") << Where(kDefaultSet);
    return;
  }
  EXPECT_EQ(flags.engine.stock_failures.count(kStockFailure), 1);
  EXPECT_EQ(database.Get(key), "old") << "stock has mended what is listed";
  Report(std::string("wrong as stock: ") + kStockFailure, 1);
}

}  // namespace
}  // namespace recompact
