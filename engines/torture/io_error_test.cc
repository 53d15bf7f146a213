// Every file operation of a script fails once, or from then on, or writes only
// half: answers stay right or are errors, and after a reopen what was
// acknowledged is there.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "torture/file_type.h"
#include "torture/history.h"
#include "torture/simulated_env.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

constexpr uint64_t kScript = 120;  // operations
constexpr char kPath[] = "/db";

enum class Fault {
  kError,      // one operation fails
  kNoSpace,    // appends and creations fail from now on
  kShortWrite  // one append writes half
};

const char* const kNames[] = {"I/O error", "full disk", "short write"};
// By FileOperation::Kind.
const char* const kKinds[] = {"create", "open",   "read",  "append",
                              "sync",   "rename", "remove"};

class IoErrorTest : public ::testing::TestWithParam<Fault> {
 protected:
  IoErrorTest() : history_(GenerateWrites(flags.seed, kScript)) {}

  // Plays the script with a fault at file operation "at"; returns how many
  // file operations there were.
  uint64_t PlayWithFaultAt(uint64_t at) {
    SimulatedEnv env(std::make_unique<SimulatedDisk>());
    const auto database = MakeDatabase("small", &env, kPath);
    uint64_t operations = 0;
    bool faulty = true;
    std::string kind;
    env.SetHook([&](const FileOperation& operation, bool* short_write) {
      const uint64_t here = operations++;
      if (!faulty || here < at) return leveldb::Status::OK();
      if (here == at) {
        kind = std::string(kNames[static_cast<int>(GetParam())]) + " in " +
               FileTypeOf(operation.name) + " " + kKinds[operation.kind];
      }
      const bool writes = operation.kind == FileOperation::kAppend ||
                          operation.kind == FileOperation::kCreate;
      switch (GetParam()) {
        case Fault::kError:
          if (here != at) break;
          return leveldb::Status::IOError(operation.name, "EIO");
        case Fault::kNoSpace:
          if (!writes) break;
          return leveldb::Status::IOError(operation.name, "ENOSPC");
        case Fault::kShortWrite:
          if (here != at || operation.kind != FileOperation::kAppend) break;
          *short_write = true;
          return leveldb::Status::IOError(operation.name, "short write");
      }
      return leveldb::Status::OK();
    });
    std::vector<bool> acknowledged(history_.operations().size());
    std::vector<bool> synced(acknowledged.size());
    uint64_t issued = 0;
    if (database->Open().ok()) {
      for (const Operation& operation : history_.operations()) {
        const bool done = WriteTo(database.get(), operation, ++issued).ok();
        acknowledged[issued - 1] = done;
        synced[issued - 1] = done && operation.sync;
        env.WaitIdle();  // So that operation "at" is always the same
        const auto wrong = history_.JudgeKey(database.get(), operation.key,
                                             acknowledged, issued);
        EXPECT_FALSE(wrong) << *wrong << Where(at);
      }
    }
    const uint64_t count = operations;
    faulty = false;
    database->Close();
    const leveldb::Status reopened = database->Open();
    EXPECT_TRUE(reopened.ok()) << reopened.ToString() << Where(at);
    if (!reopened.ok()) return count;
    const auto difference = history_.Judge(database.get(), synced, issued);
    if (difference && flags.engine.stock_failures.count(kind) > 0) {
      Report("wrong as stock: " + kind, 1);
    } else {
      EXPECT_FALSE(difference) << *difference << "; " << kind << Where(at);
    }
    return count;
  }

 private:
  static std::string Where(uint64_t at) {
    return "; fault at file operation " + std::to_string(at) + ", seed " +
           std::to_string(flags.seed);
  }

  const History history_;
};

TEST_P(IoErrorTest, GivesNoWrongAnswerAndLosesNothing) {
  // Of the script without a fault
  const uint64_t count = PlayWithFaultAt(UINT64_MAX);
  const uint64_t step = std::max<uint64_t>(1, count / flags.Count(count));
  uint64_t faults = 0;
  for (uint64_t at = 0; at < count && !HasFailure(); at += step, faults++) {
    PlayWithFaultAt(at);
  }
  Report("io_faults", faults);
}

INSTANTIATE_TEST_SUITE_P(All, IoErrorTest,
                         ::testing::Values(Fault::kError, Fault::kNoSpace,
                                           Fault::kShortWrite));

}  // namespace
}  // namespace recompact
