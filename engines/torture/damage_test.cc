// Bits flip, files are cut short or change places: an answer is right or an
// error, and nothing crashes or hangs.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "torture/file_type.h"
#include "torture/history.h"
#include "torture/model.h"
#include "torture/simulated_env.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

constexpr uint64_t kScript = 400;  // operations
constexpr uint64_t kDamages = 10'000;
constexpr uint64_t kDamagesOfAChild = 500;
constexpr unsigned kHangSeconds = 20;
constexpr char kPath[] = "/db";

enum Damage { kBitFlip, kTruncation, kSwap, kDamageKinds };
constexpr size_t kMostStockFailures = 16;
const char* const kDamageNames[] = {"bit flip", "truncation", "swapped file"};

// What a child tells its parent.
struct Progress {
  std::atomic<uint64_t> next;  // the damage under way
  // Wrong answers that stock gives too, by the place of their kind.
  std::atomic<uint64_t> as_stock[kMostStockFailures];
  char where[200];
  char wrong[400];  // the first wrong answer
};

class DamageDeathTest : public ::testing::Test {
 protected:
  DamageDeathTest() : operations_(GenerateWrites(flags.seed, kScript)) {
    void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress_ = new (memory) Progress();
  }
  ~DamageDeathTest() override { ::munmap(progress_, sizeof(Progress)); }

  // Writes the database that is damaged: several tables, a log with records.
  std::map<std::string, std::string> Undamaged() {
    SimulatedEnv env(std::make_unique<SimulatedDisk>());
    const auto database = MakeDatabase("small", &env, kPath);
    EXPECT_TRUE(database->Open().ok());
    for (size_t i = 0; i < operations_.size(); i++) {
      EXPECT_TRUE(WriteTo(database.get(), operations_[i], i + 1).ok());
      model_.Apply(operations_[i], i + 1);
    }
    env.WaitIdle();
    database->Close();
    std::map<std::string, std::string> files;
    for (const auto& [name, file] : env.disk().directory()) {
      files[name] = file->data;
    }
    return files;
  }

  // Carries out damage number "number"; true if no answer was wrong.
  bool Try(std::map<std::string, std::string> files, uint64_t number) {
    std::mt19937_64 random(flags.seed * 1'000'003 + number);
    std::string kind;
    const std::string what = DamageOne(&files, &random, &kind);
    std::snprintf(progress_->where, sizeof(progress_->where), "%s",
                  what.c_str());
    auto disk = std::make_unique<SimulatedDisk>();
    for (auto& [name, data] : files) disk->Create(name)->data = std::move(data);
    disk->SyncAll();
    SimulatedEnv env(std::move(disk));
    const auto database = MakeDatabase("small", &env, kPath);
    std::string unknown;
    for (const auto& [name, value] :
         {std::pair("paranoid_checks", "true"),
          std::pair("create_if_missing", "false")}) {
      if (!database->options()->Set(name, value, &unknown)) std::abort();
    }
    if (!database->Open().ok()) return true;
    const std::string wrong = WrongAnswer(database.get());
    if (wrong.empty()) return true;
    const auto& known = flags.engine.stock_failures;
    const auto stock = known.find(kind);
    if (stock != known.end()) {
      progress_->as_stock[std::distance(known.begin(), stock)]++;
      return true;
    }
    std::snprintf(progress_->wrong, sizeof(progress_->wrong), "%s: %s",
                  what.c_str(), wrong.c_str());
    return false;
  }

  Progress* progress_;

 private:
  static std::string DamageOne(std::map<std::string, std::string>* files,
                               std::mt19937_64* random, std::string* kind) {
    std::map<std::string, std::vector<std::string>> by_type;
    for (const auto& [name, data] : *files) {
      const std::string type = FileTypeOf(name);
      if (type != "other" && !data.empty()) by_type[type].push_back(name);
    }
    auto type = by_type.begin();
    std::advance(type, (*random)() % by_type.size());
    const std::string name = type->second[(*random)() % type->second.size()];
    std::string& data = (*files)[name];
    int damage = static_cast<int>((*random)() % kDamageKinds);
    if (damage == kSwap && type->second.size() < 2) damage = kBitFlip;
    const size_t at = (*random)() % data.size();
    *kind = std::string(kDamageNames[damage]) + " in " + type->first;
    std::string what = *kind + " " + name + " at " + std::to_string(at);
    if (damage == kBitFlip) {
      data[at] ^= static_cast<char>(1 << (*random)() % 8);
    } else if (damage == kTruncation) {
      data.resize(at);
    } else {
      const size_t other = (*random)() % type->second.size();
      what += " with " + type->second[other];
      std::swap(data, (*files)[type->second[other]]);
    }
    return what;
  }

  // Checks every key, and every record of a scan; "" if all is right.
  std::string WrongAnswer(Database* database) const {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    const uint64_t now = operations_.size();
    for (uint32_t number = 0; number < kKeyCount; number++) {
      const std::string key = KeyOf(number);
      std::string value;
      const leveldb::Status s = (*database)->Get(options, key, &value);
      if (!s.ok() && !s.IsNotFound()) continue;
      const auto expected = model_.Get(key, now);
      if (s.ok() ? expected != value : expected.has_value()) {
        return "get of key " + std::to_string(number) + " is " +
               (s.ok() ? value.substr(0, value.find(':')) : "nothing");
      }
    }
    // A scan passes over what it cannot read and says so at its end.
    const std::unique_ptr<leveldb::Iterator> iterator(
        (*database)->NewIterator(options));
    size_t records = 0, right = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      records++;
      right += iterator->value().ToString() ==
               model_.Get(iterator->key().ToString(), now);
    }
    const size_t expected = model_.Keys(now).size();
    if (iterator->status().ok() && (right < records || records != expected)) {
      return "a scan gives " + std::to_string(right) + " right records of " +
             std::to_string(records) + ", and no error";
    }
    return "";
  }

  const std::vector<Operation> operations_;
  Model model_;
};

TEST_F(DamageDeathTest, IsAnErrorOrHarmless) {
  const std::map<std::string, std::string> files = Undamaged();
  const uint64_t damages = flags.Count(kDamages);
  ASSERT_LE(flags.engine.stock_failures.size(), kMostStockFailures);
  // In children, so that a crash or a hang ends one child, not the test.
  while (progress_->next < damages) {
    const uint64_t end = std::min(
        damages, (progress_->next / kDamagesOfAChild + 1) * kDamagesOfAChild);
    progress_->wrong[0] = '\0';
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (progress_->next < end) {
        ::alarm(kHangSeconds);
        if (!Try(files, progress_->next)) ::_exit(1);
        progress_->next++;
      }
      ::_exit(0);
    }
    int status;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::string text =
        WIFSIGNALED(status)
            ? std::string(WTERMSIG(status) == SIGALRM ? "hang" : "crash") +
                  ": " + progress_->where
            : progress_->wrong;
    ADD_FAILURE() << "damage " << progress_->next << ", seed " << flags.seed
                  << ": " << text;
    progress_->next++;
  }
  Report("damages", damages);
  size_t place = 0;
  for (const std::string& kind : flags.engine.stock_failures) {
    const uint64_t count = progress_->as_stock[place++];
    if (count > 0) Report("wrong as stock: " + kind, count);
  }
}

}  // namespace
}  // namespace recompact
