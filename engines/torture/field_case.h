#ifndef RECOMPACT_ENGINES_TORTURE_FIELD_CASE_H_
#define RECOMPACT_ENGINES_TORTURE_FIELD_CASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "torture/engine_under_test.h"
#include "torture/simulated_env.h"

namespace recompact {

// What the tests of field cases have in common: cases that users of such
// systems reported, each tried on every engine.

// The option set of small tables, and that of upstream's sizes.
constexpr char kSmallSet[] = "tables_of_16_kb";
constexpr char kDefaultSet[] = "defaults";

constexpr uint64_t kTableBytes = 2 << 20;  // upstream's max_file_size

// A key of 16 bytes, in the order of numbers.
std::string FieldKey(uint64_t number);

// A value that does not compress; the same seed gives the same value.
std::string FieldValue(uint64_t seed, size_t length);

// "ldc, seed 1, tables_of_16_kb: ": what each failure begins with.
std::string Where(const std::string& what);

// A database, and what the tests ask of it.
class FieldDatabase {
 public:
  // In memory.
  explicit FieldDatabase(const std::string& option_set);
  // In an environment that outlives it.
  FieldDatabase(const std::string& option_set, leveldb::Env* env,
                const std::string& path);
  ~FieldDatabase();

  void Open();
  void Reopen();
  void Close() { database_->Close(); }
  void Put(const std::string& key, const std::string& value);
  void Delete(const std::string& key);

  // "none" if there is no value.
  std::string Get(const std::string& key,
                  const leveldb::Snapshot* snapshot = nullptr);

  // Waits until there is no background work, where that can be told, and checks
  // the engine's rules.
  void WaitIdle();

  // Of the tables that lie on disk: their number, bytes and the largest one's.
  uint64_t Tables();
  uint64_t TableBytes();
  uint64_t LargestTable();

  // A number of the property `recompact.stats`, or of `recompact.space`; 0
  // where there is none.
  uint64_t Ticker(const std::string& name);
  uint64_t InSpace(const std::string& name);

  leveldb::DB* operator->() { return database_->get(); }
  leveldb::DB* get() { return database_->get(); }

 private:
  template <typename Func>
  void ForEachTable(Func func);

  const std::unique_ptr<SimulatedEnv> simulated_;
  leveldb::Env* const env_;
  const std::unique_ptr<Database> database_;
};

// The number that follows "name" in an object of JSON; 0 if it is not there.
uint64_t NumberIn(const std::string& json, const std::string& name);

// Carries out "body" in a child process, which a hang or a crash ends.  Returns
// what it returns, a sentence on what is wrong, or what became of the child.
// For suites named ...DeathTest, which GoogleTest runs before all others: the
// threads of a database that was opened before would not live in the child.
std::string InChild(unsigned seconds, const std::function<std::string()>& body);

// An empty directory on the real file system that goes with it.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& name);
  ~ScratchDirectory();

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Whether the engine under test is the unpatched release, and whether it is on
// the patched tree.
bool IsPristine();
bool IsPatched();

// The engine's options of a set; and the largest table under kSmallSet, which
// engines on an unpatched tree do not take as small as others.
const OptionMap& OptionsOf(const std::string& set);
uint64_t SmallTableBytes();

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_FIELD_CASE_H_
