#include "driver/counters.h"

#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "driver/run_directory.h"

namespace recompact {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMaxLag = "device_max_lag_us";

Json ParseProperty(Store* store, const std::string& name) {
  std::string text;
  if (!store->Property(name, &text)) return Json();
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_object() ? value : Json();
}

// Reads LevelDB's "leveldb.sstables": lines "--- level 2 ---", each followed by
// one line " 17:2048['key' @ 1 : 1 .. 'key' @ 1 : 1]" for each table.
void ReadTables(Store* store, EngineState* state) {
  std::string text, line;
  state->levels = Json::array();
  int64_t live_bytes = 0;
  if (!store->Property("leveldb.sstables", &text)) return;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    int level;
    unsigned long long number, bytes;
    if (std::sscanf(line.c_str(), "--- level %d ---", &level) == 1) {
      state->levels.push_back({{"level", level}, {"files", 0}, {"bytes", 0}});
    } else if (std::sscanf(line.c_str(), " %llu:%llu[", &number, &bytes) == 2 &&
               !state->levels.empty()) {
      Json& current = state->levels.back();
      current["files"] = current["files"].get<int64_t>() + 1;
      current["bytes"] = current["bytes"].get<int64_t>() + bytes;
      live_bytes += bytes;
    }
  }
  state->space["live_bytes"] = live_bytes;
}

// Adds what was read and written for each level as counters of their own, which
// a level that never held anything does not have.
void CountLevels(const Json& levels, Counters* counters) {
  for (const Json& level : levels) {
    if (level.value("files", int64_t{0}) == 0 &&
        level.value("bytes_written", int64_t{0}) == 0) {
      continue;
    }
    const std::string prefix =
        "level_" + std::to_string(level.value("level", 0)) + "_";
    for (const char* name : {"bytes_read", "bytes_written"}) {
      const auto counter = level.find(name);
      if (counter == level.end()) continue;
      (*counters)[prefix + name] = counter->get<int64_t>();
    }
  }
}

// Adds the sum of the stalls of an engine that tells their causes.
void SumStalls(Counters* counters) {
  for (const char* cause :
       {"stall_slowdown_us", "stall_memtable_us", "stall_l0_us"}) {
    const auto stall = counters->find(cause);
    if (stall != counters->end()) (*counters)["stall_us"] += stall->second;
  }
}

int64_t Microseconds(const struct timeval& time) {
  return int64_t{time.tv_sec} * 1000000 + time.tv_usec;
}

}  // namespace

EngineState ReadEngineState(Store* store, bool space) {
  EngineState state;
  const Json stats = ParseProperty(store, "recompact.stats");
  for (const auto& item : stats.items()) {
    if (item.value().is_number_integer()) {
      state.counters[item.key()] = item.value().get<int64_t>();
    } else if (item.key() == "levels") {
      state.levels = item.value();
      CountLevels(state.levels, &state.counters);
    }
  }
  SumStalls(&state.counters);
  if (space) state.space = ParseProperty(store, "recompact.space");
  return state;
}

EngineState ReadEngineStateOrTables(Store* store) {
  EngineState state = ReadEngineState(store, /*space=*/true);
  if (state.levels.is_null()) ReadTables(store, &state);
  return state;
}

ProcessCounters ReadProcessCounters() {
  ProcessCounters counters;
  std::ifstream io("/proc/self/io");
  std::string name;
  int64_t value;
  while (io >> name >> value) {
    counters.has_io = true;
    if (name == "rchar:") counters.read_bytes = value;
    if (name == "wchar:") counters.write_bytes = value;
  }
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  counters.cpu_user_us = Microseconds(usage.ru_utime);
  counters.cpu_sys_us = Microseconds(usage.ru_stime);
  return counters;
}

CounterSource::CounterSource(Store* store, DeviceEnv* env,
                             const Progress* progress, std::string output)
    : store_(store),
      env_(env),
      progress_(progress),
      output_(std::move(output)) {}

Counters CounterSource::Take() {
  Counters counters = before_reopen_;
  for (const auto& [name, value] :
       ReadEngineState(store_, /*space=*/false).counters) {
    counters[name] += value;
  }
  const Totals totals = progress_->Sum();
  counters["user_bytes_written"] = totals.user_bytes_written;
  counters["user_bytes_read"] = totals.user_bytes_read;

  const ProcessCounters process = ReadProcessCounters();
  if (process.has_io) {
    counters["process_write_bytes"] =
        process.write_bytes - static_cast<int64_t>(DirectoryBytes(output_));
    counters["process_read_bytes"] =
        process.read_bytes - static_cast<int64_t>(totals.trace_bytes);
  }
  counters["cpu_user_us"] = process.cpu_user_us;
  counters["cpu_sys_us"] = process.cpu_sys_us;

  const DeviceCounters device = env_->Counters();
  counters["device_read_bytes"] = device.read_bytes;
  counters["device_write_bytes"] = device.write_bytes;
  counters["device_reads"] = device.reads;
  counters["device_writes"] = device.writes;
  counters["device_syncs"] = device.syncs;
  counters["device_busy_us"] = device.busy_us;
  counters["device_unsubmitted_bytes"] = device.unsubmitted_bytes;
  counters["device_lost_us"] = device.lost_us;
  counters[kMaxLag] = device.max_lag_us;
  counters["page_cache_hits"] = device.page_cache_hits;
  counters["page_cache_misses"] = device.page_cache_misses;
  if (device.cleaning.has_value()) {
    counters["device_cleaning_read_bytes"] = device.cleaning->read_bytes;
    counters["device_cleaning_write_bytes"] = device.cleaning->write_bytes;
    counters["device_media_cache_bytes"] = device.cleaning->media_cache_bytes;
  }
  return counters;
}

void CounterSource::BeforeReopen() {
  for (const auto& [name, value] :
       ReadEngineState(store_, /*space=*/false).counters) {
    before_reopen_[name] += value;
  }
}

Counters Difference(const Counters& earlier, const Counters& later) {
  Counters difference;
  for (const auto& [name, value] : later) {
    const auto before = earlier.find(name);
    const bool is_sum = (name != kMaxLag && before != earlier.end());
    difference[name] = value - (is_sum ? before->second : 0);
  }
  return difference;
}

Totals Difference(const Totals& earlier, const Totals& later) {
  Totals difference;
  for (int g = 0; g < kOperationGroupCount; g++) {
    difference.operations[g] = later.operations[g] - earlier.operations[g];
    difference.latency_ns[g] = later.latency_ns[g] - earlier.latency_ns[g];
  }
  difference.user_bytes_written =
      later.user_bytes_written - earlier.user_bytes_written;
  difference.user_bytes_read = later.user_bytes_read - earlier.user_bytes_read;
  difference.found = later.found - earlier.found;
  difference.not_found = later.not_found - earlier.not_found;
  difference.scanned_records = later.scanned_records - earlier.scanned_records;
  difference.trace_bytes = later.trace_bytes - earlier.trace_bytes;
  return difference;
}

}  // namespace recompact
