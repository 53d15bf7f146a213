#include "rocksdb/event_counters.h"

#include <set>
#include <utility>

namespace recompact {

namespace {

std::string ReasonOf(rocksdb::CompactionReason reason) {
  switch (reason) {
    case rocksdb::CompactionReason::kLevelL0FilesNum:
    case rocksdb::CompactionReason::kLevelMaxLevelSize:
      return "size";
    case rocksdb::CompactionReason::kUniversalSizeAmplification:
      return "size amplification";
    case rocksdb::CompactionReason::kUniversalSizeRatio:
      return "size ratio";
    case rocksdb::CompactionReason::kUniversalSortedRunNum:
      return "number of runs";
    case rocksdb::CompactionReason::kManualCompaction:
      return "manual";
    default:
      return "other";
  }
}

int64_t SizeOf(const rocksdb::TableProperties& table) {
  return static_cast<int64_t>(table.data_size + table.index_size +
                              table.filter_size);
}

// A trivial move makes no new files.  What is in its output level already stays
// there, and is no output.
bool IsMove(const rocksdb::CompactionJobInfo& info) {
  std::set<uint64_t> numbers;
  for (const auto& file : info.input_file_infos) {
    numbers.insert(file.file_number);
  }
  for (const auto& file : info.output_file_infos) {
    if (numbers.count(file.file_number) == 0) return false;
  }
  return !info.output_file_infos.empty();
}

// RocksDB numbers the levels of a compaction's inputs from the first of them,
// though it calls that the level of the file.
bool IsLower(const rocksdb::CompactionFileInfo& file,
             const rocksdb::CompactionJobInfo& info) {
  return info.base_input_level + file.level == info.output_level;
}

}  // namespace

struct EventCounters::Event {
  std::string type;
  std::string reason;
  int level;  // of the output
  int64_t inputs_upper = 0;
  int64_t inputs_lower = 0;
  int64_t bytes_read_upper = 0;
  int64_t bytes_read_lower = 0;
  int64_t bytes_written = 0;
  int64_t micros = 0;
};

EventCounters::EventCounters(const std::string& event_log_path)
    : event_log_(event_log_path.empty()
                     ? nullptr
                     : std::fopen(event_log_path.c_str(), "a")) {
  for (const char* name :
       {"flush_count", "flush_bytes_written", "flush_us", "compaction_count",
        "compaction_bytes_read", "compaction_bytes_written", "compaction_us",
        "trivial_move_count", "trivial_move_bytes", "stall_slowdown_count",
        "stall_stop_count"}) {
    counters_[name] = 0;
  }
}

EventCounters::~EventCounters() {
  if (event_log_ != nullptr) std::fclose(event_log_);
}

nlohmann::ordered_json EventCounters::ToJson(int num_levels) {
  std::lock_guard<std::mutex> lock(mutex_);
  Json json = counters_;
  Json levels = Json::array();
  for (int level = 0; level < num_levels; level++) {
    Json of_level = {{"level", level}};
    for (const char* name : {"flush_count", "compaction_count", "bytes_read",
                             "bytes_written", "trivial_move_count", "micros"}) {
      of_level[name] = levels_[level][name];
    }
    levels.push_back(std::move(of_level));
  }
  json["levels"] = std::move(levels);
  return json;
}

void EventCounters::Installed(uint64_t table) {
  uint64_t newest = newest_table_;
  while (table > newest &&
         !newest_table_.compare_exchange_weak(newest, table)) {
  }
}

void EventCounters::OnFlushCompleted(rocksdb::DB*,
                                     const rocksdb::FlushJobInfo& info) {
  Installed(info.file_number);
  Event event{"flush", "memtable", 0};
  event.bytes_written = SizeOf(info.table_properties);
  std::lock_guard<std::mutex> lock(mutex_);
  counters_["flush_count"]++;
  counters_["flush_bytes_written"] += event.bytes_written;
  levels_[0]["flush_count"]++;
  levels_[0]["bytes_written"] += event.bytes_written;
  Log(event);
}

void EventCounters::OnCompactionCompleted(
    rocksdb::DB*, const rocksdb::CompactionJobInfo& info) {
  Event event{IsMove(info) ? "trivial_move" : "compaction",
              ReasonOf(info.compaction_reason), info.output_level};
  for (const auto& table : info.output_file_infos) {
    Installed(table.file_number);
  }
  for (size_t i = 0; i < info.input_file_infos.size(); i++) {
    const bool is_lower = IsLower(info.input_file_infos[i], info);
    (is_lower ? event.inputs_lower : event.inputs_upper)++;
    const auto table = info.table_properties.find(info.input_files[i]);
    if (table == info.table_properties.end()) continue;
    (is_lower ? event.bytes_read_lower : event.bytes_read_upper) +=
        SizeOf(*table->second);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  auto& level = levels_[info.output_level];
  if (IsMove(info)) {
    counters_["trivial_move_count"] += event.inputs_upper;
    counters_["trivial_move_bytes"] += event.bytes_read_upper;
    level["trivial_move_count"] += event.inputs_upper;
    event.bytes_read_upper = 0;
    Log(event);
    return;
  }
  event.bytes_written = static_cast<int64_t>(info.stats.total_output_bytes);
  event.micros = static_cast<int64_t>(info.stats.elapsed_micros);
  const int64_t bytes_read = event.bytes_read_upper + event.bytes_read_lower;
  counters_["compaction_count"]++;
  counters_["compaction_bytes_read"] += bytes_read;
  counters_["compaction_bytes_written"] += event.bytes_written;
  counters_["compaction_us"] += event.micros;
  level["compaction_count"]++;
  level["bytes_read"] += bytes_read;
  level["bytes_written"] += event.bytes_written;
  level["micros"] += event.micros;
  Log(event);
}

void EventCounters::OnStallConditionsChanged(
    const rocksdb::WriteStallInfo& info) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (info.condition.cur == rocksdb::WriteStallCondition::kDelayed) {
    counters_["stall_slowdown_count"]++;
  } else if (info.condition.cur == rocksdb::WriteStallCondition::kStopped) {
    counters_["stall_stop_count"]++;
  }
}

void EventCounters::Log(const Event& event) {
  if (event_log_ == nullptr) return;
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      Clock::now() - opened_);
  const Json line = {{"t_us", micros.count()},
                     {"type", event.type},
                     {"reason", event.reason},
                     {"level", event.level},
                     {"inputs_upper", event.inputs_upper},
                     {"inputs_lower", event.inputs_lower},
                     {"bytes_read_upper", event.bytes_read_upper},
                     {"bytes_read_lower", event.bytes_read_lower},
                     {"bytes_written", event.bytes_written},
                     {"micros", event.micros}};
  std::fprintf(event_log_, "%s\n", line.dump().c_str());
}

}  // namespace recompact
