#include "torture/field_case.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "torture/file_type.h"
#include "torture/torture_flags.h"

namespace recompact {

// Of a database that never becomes idle.
constexpr std::chrono::seconds kPatience(120);

std::string FieldKey(uint64_t number) {
  char key[32];
  std::snprintf(key, sizeof(key), "key%013llu",
                static_cast<unsigned long long>(number));
  return key;
}

std::string FieldValue(uint64_t seed, size_t length) {
  std::string value = std::to_string(seed) + ":";
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  while (value.size() < length) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value.append(reinterpret_cast<const char*>(&state), sizeof(state));
  }
  value.resize(std::max(length, std::to_string(seed).size()));
  return value;
}

std::string Where(const std::string& what) {
  return flags.engine.id + ", seed " + std::to_string(flags.seed) + ", " +
         what + ": ";
}

uint64_t NumberIn(const std::string& json, const std::string& name) {
  const std::string member = "\"" + name + "\": ";
  const size_t place = json.find(member);
  if (place == std::string::npos) return 0;
  return std::strtoull(json.c_str() + place + member.size(), nullptr, 10);
}

bool IsPristine() { return flags.engine.id == "pristine"; }

const OptionMap& OptionsOf(const std::string& set) {
  for (const auto& one : flags.engine.option_sets) {
    if (one.name == set) return one.options;
  }
  std::abort();
}

bool IsPatched() { return OptionsOf(kSmallSet).count("level_base_bytes") > 0; }

uint64_t SmallTableBytes() {
  return std::strtoull(OptionsOf(kSmallSet).at("max_file_size").c_str(),
                       nullptr, 10);
}

std::string InChild(unsigned seconds,
                    const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no child";
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(seconds);
    const bool failed_before = ::testing::Test::HasFailure();
    // An exception that leaves it would go on as the tests of the parent.
    std::string text = [&]() noexcept { return body(); }();
    if (text.empty() && !failed_before && ::testing::Test::HasFailure()) {
      text = "fails in the child";
    }
    const bool told = ::write(ends[1], text.data(), text.size()) ==
                      static_cast<ssize_t>(text.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, n);
  }
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return "lost the child";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? "hangs"
                             : "dies of signal " + std::to_string(signal);
  }
  return WEXITSTATUS(status) == 0
             ? text
             : "ends with status " + std::to_string(WEXITSTATUS(status));
}

ScratchDirectory::ScratchDirectory(const std::string& name)
    : path_(flags.scratch + "/recompact-torture-" + name + "-" +
            std::to_string(::getpid())) {
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

ScratchDirectory::~ScratchDirectory() { std::filesystem::remove_all(path_); }

FieldDatabase::FieldDatabase(const std::string& option_set)
    : simulated_(
          std::make_unique<SimulatedEnv>(std::make_unique<SimulatedDisk>())),
      env_(simulated_.get()),
      database_(MakeDatabase(option_set, env_, "/db")) {}

FieldDatabase::FieldDatabase(const std::string& option_set, leveldb::Env* env,
                             const std::string& path)
    : env_(env), database_(MakeDatabase(option_set, env, path)) {}

// The background thread may still be at work on the database.
FieldDatabase::~FieldDatabase() { database_->Close(); }

void FieldDatabase::Open() {
  const leveldb::Status s = database_->Open();
  ASSERT_TRUE(s.ok()) << flags.engine.id << ": open: " << s.ToString();
}

void FieldDatabase::Reopen() {
  database_->Close();
  Open();
}

void FieldDatabase::Put(const std::string& key, const std::string& value) {
  const leveldb::Status s =
      (*database_)->Put(leveldb::WriteOptions(), key, value);
  ASSERT_TRUE(s.ok()) << flags.engine.id << ": put: " << s.ToString();
}

void FieldDatabase::Delete(const std::string& key) {
  const leveldb::Status s = (*database_)->Delete(leveldb::WriteOptions(), key);
  ASSERT_TRUE(s.ok()) << flags.engine.id << ": delete: " << s.ToString();
}

std::string FieldDatabase::Get(const std::string& key,
                               const leveldb::Snapshot* snapshot) {
  leveldb::ReadOptions options;
  options.snapshot = snapshot;
  std::string value;
  const leveldb::Status s = (*database_)->Get(options, key, &value);
  return s.ok() ? value : s.IsNotFound() ? "none" : s.ToString();
}

void FieldDatabase::WaitIdle() {
  if (simulated_ != nullptr) simulated_->WaitIdle();
  std::string idle;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while ((*database_)->GetProperty("recompact.idle", &idle) && idle == "0") {
    ASSERT_LT(std::chrono::steady_clock::now(), end)
        << flags.engine.id << ": does not become idle";
    env_->SleepForMicroseconds(100);
  }
  std::string problem;
  (*database_)->GetProperty("recompact.check", &problem);
  EXPECT_EQ(problem, "") << flags.engine.id;
}

template <typename Func>
void FieldDatabase::ForEachTable(Func func) {
  std::vector<std::string> names;
  env_->GetChildren(database_->path(), &names);
  for (const std::string& name : names) {
    uint64_t size = 0;
    // A file that is gone meanwhile has no size.
    if (FileTypeOf(name) == "table" &&
        env_->GetFileSize(database_->path() + "/" + name, &size).ok()) {
      func(size);
    }
  }
}

uint64_t FieldDatabase::Tables() {
  uint64_t tables = 0;
  ForEachTable([&](uint64_t) { tables++; });
  return tables;
}

uint64_t FieldDatabase::TableBytes() {
  uint64_t bytes = 0;
  ForEachTable([&](uint64_t size) { bytes += size; });
  return bytes;
}

uint64_t FieldDatabase::LargestTable() {
  uint64_t largest = 0;
  ForEachTable([&](uint64_t size) { largest = std::max(largest, size); });
  return largest;
}

uint64_t FieldDatabase::Ticker(const std::string& name) {
  std::string stats;
  (*database_)->GetProperty("recompact.stats", &stats);
  return NumberIn(stats, name);
}

uint64_t FieldDatabase::InSpace(const std::string& name) {
  std::string space;
  (*database_)->GetProperty("recompact.space", &space);
  return NumberIn(space, name);
}

}  // namespace recompact
