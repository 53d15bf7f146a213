// A writing process is killed a thousand times, at random moments and at named
// points, and opens its database again: every write that it had finished is
// there, and of the one under way all or nothing.  A DeathTest, since it forks:
// see InChild() in field_case.h.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "leveldb/write_batch.h"
#include "torture/kill_env.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

constexpr uint64_t kKills = 1000;
constexpr uint64_t kKillsOfAPoint = 20;
constexpr uint64_t kLeastUnderWay = 30;  // per cent
constexpr int kWriters = 2;
constexpr uint32_t kKeysOfAWriter = 500;
constexpr uint32_t kLargestBatch = 8;
constexpr int kPatienceMs = 3000;  // with a process that passes no kill point
constexpr int kPollUs = 200;

// The expected state of a key: a write is pending before it is issued and
// committed after it has returned.  0 is "never written".
struct KeyState {
  std::atomic<uint64_t> committed;
  std::atomic<uint64_t> pending;
};

// Survives the process, in shared memory.
struct Expected {
  KillState kill;
  std::atomic<bool> writes;  // verified, and writing
  std::atomic<uint64_t> version;
  std::array<std::array<KeyState, kKeysOfAWriter>, kWriters> keys;
  // The batch that each writer has under way, or had last.
  struct Batch {
    std::atomic<uint64_t> version;
    std::atomic<uint32_t> count;
    std::array<std::atomic<uint32_t>, kLargestBatch> keys;
  };
  std::array<Batch, kWriters> batches;
  char wrong[400];
};

std::string KillKey(int writer, uint32_t key) {
  char text[32];
  std::snprintf(text, sizeof(text), "writer%d-%06u", writer, key);
  return text;
}

// Every seventh version deletes.
bool Deletes(uint64_t version) { return version == 0 || version % 7 == 3; }

std::string KillValue(uint64_t version) {
  std::string value = std::to_string(version) + ":";
  value.resize(100 + version * 2654435761u % 1500,
               static_cast<char>('a' + version % 26));
  return value;
}

// One life of the writing process.
class Life {
 public:
  Life(Expected* expected, const std::string& path, const std::string& armed,
       uint64_t seed)
      : expected_(expected), env_(&expected->kill, armed), seed_(seed) {
    database_ = MakeDatabase("small", &env_, path);
  }

  // Verifies what the lives before left and writes until killed.  Returns only
  // if something is wrong.
  int Run() {
    const leveldb::Status s = database_->Open();
    if (!s.ok()) return Complain("open: " + s.ToString());
    if (!Verify()) return 1;
    expected_->writes = true;
    std::vector<std::thread> writers;
    for (int writer = 0; writer < kWriters; writer++) {
      writers.emplace_back([this, writer] { Write(writer); });
    }
    for (std::thread& writer : writers) writer.join();
    return Complain("a write failed");
  }

 private:
  int Complain(const std::string& text) {
    std::snprintf(expected_->wrong, sizeof(expected_->wrong), "%s",
                  text.c_str());
    return 1;
  }

  // Which version a key has: committed or pending, or neither.
  bool Find(int writer, uint32_t key, uint64_t* version) {
    const KeyState& state = expected_->keys[writer][key];
    std::string value;
    const leveldb::Status s =
        (*database_)->Get(leveldb::ReadOptions(), KillKey(writer, key), &value);
    for (const uint64_t candidate :
         {state.committed.load(), state.pending.load()}) {
      const bool same = Deletes(candidate)
                            ? s.IsNotFound()
                            : s.ok() && value == KillValue(candidate);
      if (same) {
        *version = candidate;
        return true;
      }
    }
    Complain(KillKey(writer, key) + " has " +
             (s.ok() ? "version " + value.substr(0, value.find(':'))
                     : s.ToString()) +
             " instead of version " + std::to_string(state.committed) + " or " +
             std::to_string(state.pending));
    return false;
  }

  bool Verify() {
    std::array<std::array<uint64_t, kKeysOfAWriter>, kWriters> found;
    for (int writer = 0; writer < kWriters; writer++) {
      for (uint32_t key = 0; key < kKeysOfAWriter; key++) {
        if (!Find(writer, key, &found[writer][key])) return false;
      }
      if (!VerifyBatch(writer, found[writer])) return false;
    }
    // What was pending is decided now.  A process that dies in here leaves
    // decided and undecided keys, and the database as it was.
    for (int writer = 0; writer < kWriters; writer++) {
      for (uint32_t key = 0; key < kKeysOfAWriter; key++) {
        expected_->keys[writer][key].committed = found[writer][key];
        expected_->keys[writer][key].pending = found[writer][key];
      }
    }
    return true;
  }

  // A deletion that found nothing to delete looks like one that was lost, so
  // only keys that tell the two apart are counted.
  bool VerifyBatch(int writer,
                   const std::array<uint64_t, kKeysOfAWriter>& found) {
    const Expected::Batch& batch = expected_->batches[writer];
    uint32_t there = 0, missing = 0;
    for (uint32_t i = 0; i < batch.count; i++) {
      const uint32_t key = batch.keys[i];
      const KeyState& state = expected_->keys[writer][key];
      if (state.pending != batch.version || state.committed == state.pending ||
          (Deletes(state.committed) && Deletes(state.pending))) {
        continue;
      }
      (found[key] == batch.version ? there : missing)++;
    }
    if (there > 0 && missing > 0) {
      Complain("of batch " + std::to_string(batch.version) + ", " +
               std::to_string(there) + " keys are there and " +
               std::to_string(missing) + " missing");
      return false;
    }
    return true;
  }

  void Write(int writer) {
    std::mt19937_64 random(seed_ * kWriters + writer);
    Expected::Batch& batch = expected_->batches[writer];
    while (true) {
      const uint64_t version = ++expected_->version;
      const uint32_t count = random() % 4 == 0 ? 2 + random() % 7 : 1;
      batch.count = 0;
      batch.version = version;
      leveldb::WriteBatch writes;
      const auto first = static_cast<uint32_t>(random() % kKeysOfAWriter);
      for (uint32_t i = 0; i < count; i++) {
        const uint32_t key = (first + i) % kKeysOfAWriter;
        batch.keys[i] = key;
        if (Deletes(version)) {
          writes.Delete(KillKey(writer, key));
        } else {
          writes.Put(KillKey(writer, key), KillValue(version));
        }
      }
      batch.count = count;
      for (uint32_t i = 0; i < count; i++) {
        expected_->keys[writer][batch.keys[i]].pending = version;
      }
      leveldb::WriteOptions options;
      options.sync = random() % 8 == 0;
      const leveldb::Status s = (*database_)->Write(options, &writes);
      if (!s.ok()) return;
      for (uint32_t i = 0; i < count; i++) {
        expected_->keys[writer][batch.keys[i]].committed = version;
      }
    }
  }

  Expected* const expected_;
  KillEnv env_;
  const uint64_t seed_;
  std::unique_ptr<Database> database_;
};

class KillDeathTest : public ::testing::Test {
 protected:
  KillDeathTest()
      : path_(flags.scratch + "/recompact-torture-kill-" +
              std::to_string(::getpid())) {
    void* memory = ::mmap(nullptr, sizeof(Expected), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    expected_ = new (memory) Expected();
  }
  ~KillDeathTest() override {
    std::filesystem::remove_all(path_);
    ::munmap(expected_, sizeof(Expected));
  }

  // Lets a process live until it is killed, at the point "armed" or, if that
  // is empty, "delay_us" after it began to write.  Returns whether it was
  // killed.
  bool LiveAndDie(uint64_t seed, const std::string& armed, int countdown,
                  int delay_us) {
    expected_->kill.work = 0;
    expected_->kill.countdown = countdown;
    expected_->writes = false;
    const pid_t child = ::fork();
    if (child == 0) {
      Life life(expected_, path_, armed, seed);
      ::_exit(life.Run());
    }
    int status = 0;
    int waited_us = 0;
    bool ended = false;
    while (!ended) {
      const bool due =
          armed.empty() && expected_->writes && waited_us >= delay_us;
      if (due || waited_us > kPatienceMs * 1000) ::kill(child, SIGKILL);
      ended = ::waitpid(child, &status, due ? 0 : WNOHANG) == child;
      if (ended) break;
      ::usleep(kPollUs);
      if (expected_->writes || !armed.empty()) waited_us += kPollUs;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    ADD_FAILURE() << (WIFSIGNALED(status)
                          ? "died of signal " + std::to_string(WTERMSIG(status))
                          : std::string(expected_->wrong))
                  << "; seed " << flags.seed << ", life " << seed
                  << ", after a kill at " << last_;
    return false;
  }

  const std::string path_;
  Expected* expected_;
  std::string last_ = "no point";
};

TEST_F(KillDeathTest, NothingFinishedIsLostAndNoBatchIsTorn) {
  const uint64_t kills = flags.Count(kKills);
  const uint64_t of_a_point = flags.Count(kKillsOfAPoint);
  std::vector<std::string> points = CommonKillPoints();
  points.insert(points.end(), flags.engine.kill_points.begin(),
                flags.engine.kill_points.end());
  std::mt19937_64 random(flags.seed);
  std::vector<uint64_t> hits(points.size());
  uint64_t under_way = 0, done = 0;
  for (uint64_t life = 0; life < kills; life++) {
    // The points in turn, among kills at random moments.
    const uint64_t in_turn = points.size() * of_a_point;
    const uint64_t turn = life * in_turn / kills;
    const bool at_point = turn != (life + 1) * in_turn / kills;
    const size_t point = turn % points.size();
    const std::string armed = at_point ? points[point] : "";
    // Only writing happens more than once in every life.
    const bool often = armed.find(".append") != std::string::npos;
    const int countdown = often ? static_cast<int>(random() % 20) : 0;
    const int delay_us = static_cast<int>(random() % 40'000);
    if (!LiveAndDie(life, armed, countdown, delay_us)) break;
    done++;
    if (expected_->kill.work > 0) under_way++;
    const bool hit = at_point && expected_->kill.countdown < 0;
    if (hit) hits[point]++;
    last_ = hit ? armed : "a random moment";
  }
  for (size_t i = 0; i < points.size() && !HasFailure(); i++) {
    EXPECT_GE(hits[i], of_a_point) << points[i];
  }
  if (!HasFailure()) {
    EXPECT_GE(under_way * 100, done * kLeastUnderWay);
  }
  Report("kills", done);
  Report("kills_while_compacting", under_way);
  Report("kill_points", points.size());
}

}  // namespace
}  // namespace recompact
