#ifndef RECOMPACT_ENGINES_DLSM_ROUND_FIXTURE_H_
#define RECOMPACT_ENGINES_DLSM_ROUND_FIXTURE_H_

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "seams/small_tree_fixture.h"

namespace leveldb {

// A tree of three levels in the paper's count.  Each entry becomes a table of
// its own when it is merged.  Level 1 is full with five of them, level 2 with
// nine.  Nothing leaves L0 by itself.
class RoundFixture : public SmallTreeFixture {
 protected:
  RoundFixture(const std::string& name, int buffer_levels)
      : SmallTreeFixture(name) {
    options_.buffer_levels = buffer_levels;
    options_.num_levels = 6;
    options_.level_base_bytes = 5000;
    options_.fanout = 2;
    options_.block_size = 1024;
    options_.max_file_size = 1024;
    options_.l0_compaction_trigger = 100;
    options_.l0_slowdown_trigger = 200;
    options_.l0_stop_trigger = 300;
  }

  // All entries of a level become one table, and no level is ever full.
  void MakeLargeTables() {
    options_.level_base_bytes = 1 << 20;
    options_.max_file_size = 1 << 20;
  }

  static std::string Large(char letter) { return std::string(1010, letter); }

  // Writes the keys and merges them into the insertion part of level 1.
  void Load(const std::vector<int>& keys, char letter = 'a') {
    for (const int key : keys) Put(key, Large(letter));
    MergeL0();
  }

  // Loads the keys 10, 20, 30, ... one by one.
  void LoadOneByOne(int keys) {
    for (int key = 10; key <= 10 * keys; key += 10) Load({key});
  }

  void MergeL0() {
    Flush();
    static_cast<DBImpl*>(db_.get())->TEST_CompactRange(0, nullptr, nullptr);
    WaitUntilIdle();
  }

  // The tables on disk that no level has.
  std::set<uint64_t> TablesOfBufferAlone() {
    std::set<uint64_t> tables = TablesOnDisk();
    const std::string tree = Property("leveldb.sstables");
    for (size_t line = tree.find("\n "); line != std::string::npos;
         line = tree.find("\n ", line + 1)) {
      tables.erase(std::strtoull(tree.c_str() + line + 2, nullptr, 10));
    }
    return tables;
  }
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_DLSM_ROUND_FIXTURE_H_
