#ifndef RECOMPACT_ENGINES_ROCKSDB_EVENT_COUNTERS_H_
#define RECOMPACT_ENGINES_ROCKSDB_EVENT_COUNTERS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "rocksdb/listener.h"

namespace recompact {

// Counts flushes, compactions, trivial moves and stalls as RocksDB tells of
// them, under the names that all engines have (engines/README.md), and writes a
// line of JSON per event.  Safe for concurrent use.
class EventCounters : public rocksdb::EventListener {
 public:
  // No log if the path is empty.
  explicit EventCounters(const std::string& event_log_path);
  ~EventCounters() override;

  // Counters by name, and "levels": a list of "num_levels" objects.
  nlohmann::ordered_json ToJson(int num_levels);

  // Notes that a table is, or was, part of the tree.
  void Installed(uint64_t table);
  // The largest number of such a table; 0 if there was none.
  uint64_t newest_table() const { return newest_table_; }

  void OnFlushCompleted(rocksdb::DB* db,
                        const rocksdb::FlushJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB* db,
                             const rocksdb::CompactionJobInfo& info) override;
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Json = nlohmann::ordered_json;

  struct Event;
  void Log(const Event& event);

  const Clock::time_point opened_ = Clock::now();
  std::atomic<uint64_t> newest_table_{0};
  std::mutex mutex_;
  // All below are guarded by mutex_.
  std::FILE* event_log_;
  std::map<std::string, int64_t> counters_;
  std::map<int, std::map<std::string, int64_t>> levels_;
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_ROCKSDB_EVENT_COUNTERS_H_
