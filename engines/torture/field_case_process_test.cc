// Cases that users of LevelDB and of its kin reported: what the system around a
// database does to it, its threads, its clock and its MANIFEST.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "torture/field_case.h"
#include "torture/file_type.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

using leveldb::Status;

constexpr unsigned kHangSeconds = 120;
constexpr size_t kLength = 200;

// Threads: RLIMIT_NPROC, or what `pids.max` does in a container
// (facebook/rocksdb issue 6127).

// What root may do is not limited, so the child becomes somebody else.
constexpr uid_t kNobody = 65534;
constexpr char kSkipped[] = "skipped: ";

enum Moment { kBeforeOpen, kBeforeFlush, kAfterFlush, kUntilLifted };
const char* const kMomentNames[] = {"before Open", "before the first flush",
                                    "after the first flush",
                                    "after the first flush, lifted again"};

void* ReturnNothing(void*) { return nullptr; }

bool ThreadsStart() {
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, ReturnNothing, nullptr) != 0) {
    return false;
  }
  ::pthread_join(thread, nullptr);
  return true;
}

void LimitThreads(bool limited) {
  rlimit limit;
  ::getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = limited ? 1 : limit.rlim_max;
  ::setrlimit(RLIMIT_NPROC, &limit);
}

// The unpatched environment starts its one thread for the first background
// work, and without one it ends the process; so there the thread is started
// beforehand.
void StartEnvironmentThread() {
  std::mutex started;
  started.lock();
  leveldb::Env::Default()->Schedule(
      [](void* mutex) { static_cast<std::mutex*>(mutex)->unlock(); }, &started);
  started.lock();
  started.unlock();
}

// Writes and reads with no thread to be had from that moment on.  Every status
// may be an error; what was acknowledged is there, or an error says why not.
std::string WithoutThreads(const std::string& set, Moment moment,
                           const std::string& path) {
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) {
    return std::string(kSkipped) + "no other user";
  }
  leveldb::Env* const env = leveldb::Env::Default();
  if (!env->CreateDir(path).ok()) {
    return std::string(kSkipped) + "no directory for another user";
  }
  if (IsPristine()) StartEnvironmentThread();
  const auto limit = [] {
    LimitThreads(true);
    return !ThreadsStart();
  };
  const std::string unlimited = std::string(kSkipped) + "threads still start";
  if (moment == kBeforeOpen && !limit()) return unlimited;
  const auto database = MakeDatabase(set, env, path);
  if (!database->Open().ok()) return "";
  if (moment == kBeforeFlush && !limit()) return unlimited;
  constexpr uint64_t kKeys = 1000, kWrites = 6000;
  std::vector<uint64_t> acknowledged(kKeys);
  std::mt19937_64 random(flags.seed);
  for (uint64_t i = 1; i <= kWrites; i++) {
    if (moment >= kAfterFlush && i == kWrites / 20 && !limit()) {
      return unlimited;
    }
    if (moment == kUntilLifted && i == kWrites / 2) LimitThreads(false);
    const uint64_t key = random() % kKeys;
    const Status s = (*database)->Put(leveldb::WriteOptions(), FieldKey(key),
                                      FieldValue(i, kLength));
    if (s.ok()) acknowledged[key] = i;
  }
  (*database)->CompactRange(nullptr, nullptr);
  const auto wrong_key = [&]() -> std::string {
    for (uint64_t key = 0; key < kKeys; key++) {
      std::string value;
      const Status s =
          (*database)->Get(leveldb::ReadOptions(), FieldKey(key), &value);
      const bool exists = acknowledged[key] != 0;
      if (s.IsNotFound()
              ? exists
              : s.ok() && (!exists ||
                           value != FieldValue(acknowledged[key], kLength))) {
        return "key " + std::to_string(key) + " is wrong";
      }
    }
    return "";
  };
  std::string wrong = wrong_key();
  database->Close();
  LimitThreads(false);
  const Status s = database->Open();
  if (!s.ok()) return "it does not open again: " + s.ToString();
  return wrong.empty() ? wrong_key() : wrong;
}

TEST(FieldCaseDeathTest, NoThreadIsAnErrorOrSuccess) {
  for (const char* set : {kSmallSet, "subtasks_on_many_threads"}) {
    for (const Moment moment :
         {kBeforeOpen, kBeforeFlush, kAfterFlush, kUntilLifted}) {
      const ScratchDirectory directory("no-thread");
      ASSERT_EQ(::chmod(directory.path().c_str(), 0777), 0);
      const std::string wrong = InChild(kHangSeconds, [&] {
        return WithoutThreads(set, moment, directory.path() + "/db");
      });
      if (wrong.rfind(kSkipped, 0) == 0) GTEST_SKIP() << wrong;
      EXPECT_EQ(wrong, "") << Where(set) << "no thread "
                           << kMomentNames[moment];
    }
  }
}

// A clock that steps, by an hour, at random moments.
class SteppingEnv : public SimulatedEnv {
 public:
  enum Steps { kBack, kForward, kBoth, kNone };
  static constexpr int64_t kHour = int64_t{3600} * 1'000'000;

  explicit SteppingEnv(Steps steps)
      : SimulatedEnv(std::make_unique<SimulatedDisk>()),
        steps_(steps),
        random_(flags.seed) {}

  // Steps back once more, and then goes on as clocks do.
  void Settle() {
    std::lock_guard<std::mutex> lock(mutex_);
    offset_ -= kHour;
    steps_ = kNone;
  }
  void Advance(int64_t micros) {
    std::lock_guard<std::mutex> lock(mutex_);
    offset_ += micros;
  }

  uint64_t NowMicros() override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (steps_ != kNone && random_() % 3 == 0) {
      const bool back = steps_ == kBoth ? random_() % 2 == 0 : steps_ == kBack;
      // Years of steps are between now and the beginning of time.
      offset_ += back ? -kHour : kHour;
    }
    return SimulatedEnv::NowMicros() + offset_;
  }

 private:
  std::mutex mutex_;
  Steps steps_;
  std::mt19937_64 random_;
  int64_t offset_ = 0;
};

// The first time in "stats" that is longer than this test takes, or "".
std::string InsaneTime(const std::string& stats) {
  constexpr uint64_t kTenMinutes = uint64_t{600} * 1'000'000;
  const std::string end = "_us\": ";
  for (size_t at = stats.find(end); at != std::string::npos;
       at = stats.find(end, at + 1)) {
    const std::string number = stats.substr(
        at + end.size(), stats.find_first_of(",}", at) - at - end.size());
    if (number.find('-') != std::string::npos ||
        std::strtod(number.c_str(), nullptr) > kTenMinutes) {
      return stats.substr(stats.rfind('"', at) + 1,
                          at - stats.rfind('"', at) - 1) +
             "_us: " + number;
    }
  }
  return "";
}

// Writes and reads beside a map.  Returns the files of level 0 when nothing is
// left to do; -1 after a failure.
int WorkUnder(SteppingEnv::Steps steps, const std::string& set) {
  constexpr uint64_t kKeys = 300, kWrites = 4000;
  SteppingEnv env(steps);
  FieldDatabase database(set, &env, "/db");
  database.Open();
  std::map<std::string, std::string> map;
  std::mt19937_64 random(flags.seed);
  std::string wrong;
  for (uint64_t i = 0; i < kWrites && wrong.empty(); i++) {
    const std::string key = FieldKey(random() % kKeys);
    if (random() % 5 == 0) {
      database.Delete(key);
      map.erase(key);
    } else {
      database.Put(key, map[key] = FieldValue(i, kLength));
    }
    const std::string read = FieldKey(random() % kKeys);
    const auto expected = map.find(read);
    if (database.Get(read) !=
        (expected == map.end() ? "none" : expected->second)) {
      wrong = read + " is wrong";
    }
  }
  EXPECT_EQ(wrong, "") << Where(set);
  env.Settle();
  std::string stats, files;
  for (int i = 0; i < 1000 && files != "0"; i++) {
    env.Advance(10'000);
    database.WaitIdle();
    env.WaitIdle();
    database->GetProperty("leveldb.num-files-at-level0", &files);
  }
  database->GetProperty("recompact.stats", &stats);
  EXPECT_EQ(InsaneTime(stats), "")
      << Where(set) << "a clock that steps "
      << (steps == SteppingEnv::kBack      ? "back"
          : steps == SteppingEnv::kForward ? "forward"
                                           : "both ways");
  if (IsPatched()) {
    EXPECT_GT(NumberIn(stats, "compaction_count"), 0) << Where(set);
  }
  return wrong.empty() ? std::atoi(files.c_str()) : -1;
}

TEST(FieldCaseTest, AClockThatStepsBackIsHarmless) {
  for (const char* set : {kSmallSet, "merge_adaptively",
                          "aggressive_compaction", "subtasks_that_adapt"}) {
    for (const auto steps :
         {SteppingEnv::kBack, SteppingEnv::kForward, SteppingEnv::kBoth}) {
      const int files = WorkUnder(steps, set);
      // Only an engine with a compaction buffer heeds that option, and merges
      // on when writes pause.
      if (std::string(set) == "aggressive_compaction" &&
          flags.engine.options.count("buffer_levels") > 0) {
        EXPECT_EQ(files, 0) << Where(set) << "work is left in level 0";
      }
    }
  }
}

// The MANIFEST, whose records are written here by hand (doc/log_format.md), as
// the release has no name for its parts outside of its library.

uint32_t Crc32c(const std::string& data) {
  uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; bit++) {
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
  }
  return ~crc;
}

// Adds a record, in fragments of blocks of 32 KiB, to a log.
void AddRecord(const std::string& record, std::string* log) {
  constexpr size_t kBlock = 32768, kHeader = 7;
  enum { kFull = 1, kFirst, kMiddle, kLast };
  size_t at = 0;
  do {
    const size_t left = kBlock - log->size() % kBlock;
    if (left < kHeader) {
      log->append(left, '\0');
      continue;
    }
    const size_t length = std::min(left - kHeader, record.size() - at);
    const bool first = at == 0, last = at + length == record.size();
    const char type = first ? (last ? kFull : kFirst) : last ? kLast : kMiddle;
    const std::string typed = type + record.substr(at, length);
    const uint32_t crc = Crc32c(typed);
    const uint32_t masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    for (int byte = 0; byte < 4; byte++) {
      log->push_back(static_cast<char>(masked >> 8 * byte));
    }
    log->push_back(static_cast<char>(length));
    log->push_back(static_cast<char>(length >> 8));
    log->append(typed);
    at += length;
  } while (at < record.size());
}

// A record in which a key of "length" bytes takes the place of an internal key.
// Its numbers are below 128, which are varints of one byte.
struct ShortKey {
  const char* name;
  std::string before;  // the tag and what comes before the key
  bool precedes;       // a second key, which is whole
  bool follows;
  std::string after;
};

std::vector<ShortKey> ShortKeys() {
  const std::string file = {7, 0, 100, 10};     // level 0, file 100, 10 bytes
  const std::string held = {20, 100, 10};       // file 100
  const std::string run = {30, 1, 1, 100, 10};  // level 1, run 1
  const std::string placed = {36, 1, 1, 100, 10};  // and a place in a file
  const std::string place = {100, 0};
  std::vector<ShortKey> keys = {
      {"compaction pointer", {5, 0}, false, false, ""},
      {"smallest key of a file", file, false, true, ""},
      {"largest key of a file", file, true, false, ""}};
  if (IsPristine()) return keys;
  keys.insert(keys.end(),
              {{"smallest key of a held table", held, false, true, ""},
               {"largest key of a held table", held, true, false, ""},
               {"smallest key of a table in a run", run, false, true, ""},
               {"largest key of a table in a run", run, true, false, ""},
               {"smallest key of a placed table", placed, false, true, place},
               {"largest key of a placed table", placed, true, false, place}});
  return keys;
}

std::string RecordOf(const ShortKey& key, size_t length) {
  // A user key, and sequence number 1 with the type of a value.
  const std::string internal = "k" + std::string("\1\1\0\0\0\0\0\0", 8);
  const std::string whole = static_cast<char>(internal.size()) + internal;
  std::string record = key.before;
  if (key.precedes) record += whole;
  record += static_cast<char>(length) + std::string(length, 'k');
  if (key.follows) record += whole;
  return record + key.after;
}

// Opens, in a child, a database whose MANIFEST ends with a record; gives what
// Open says, or what became of the child.
std::string OpenWith(std::map<std::string, std::string> files,
                     const std::string& record) {
  for (auto& [name, data] : files) {
    if (FileTypeOf(name) == "manifest") AddRecord(record, &data);
  }
  files["/db/000100.ldb"] = "the table that the record tells of";
  return InChild(kHangSeconds, [&]() -> std::string {
    auto disk = std::make_unique<SimulatedDisk>();
    for (const auto& [name, data] : files) disk->Create(name)->data = data;
    disk->SyncAll();
    SimulatedEnv env(std::move(disk));
    const auto database = MakeDatabase(kSmallSet, &env, "/db");
    const Status s = database->Open();
    return s.IsCorruption() ? "Corruption" : s.ToString();
  });
}

TEST(FieldCaseDeathTest, AShortKeyInTheManifestIsCorruption) {
  std::map<std::string, std::string> files;
  {
    SimulatedEnv env(std::make_unique<SimulatedDisk>());
    FieldDatabase database(kSmallSet, &env, "/db");
    database.Open();
    for (uint64_t i = 0; i < 500; i++) {
      database.Put(FieldKey(i), FieldValue(i, kLength));
    }
    database.WaitIdle();
    env.WaitIdle();
    database.Close();
    for (const auto& [name, file] : env.disk().directory()) {
      files[name] = file->data;
    }
  }
  // A record that changes nothing: the number of the log before, which is 0.
  ASSERT_EQ(OpenWith(files, {9, 0}), "OK") << Where(kSmallSet);
  ASSERT_EQ(OpenWith(files, RecordOf(ShortKeys()[0], 9)), "OK")
      << Where(kSmallSet);
  // Stock takes any key that is not empty, and dies of it (google/leveldb issue
  // 1311).
  const size_t most = IsPristine() ? 0 : 7;
  for (const ShortKey& key : ShortKeys()) {
    for (size_t length = 0; length <= most; length++) {
      EXPECT_EQ(OpenWith(files, RecordOf(key, length)), "Corruption")
          << Where(kSmallSet) << key.name << ", of " << length << " bytes";
    }
  }
}

}  // namespace
}  // namespace recompact
