#include "driver/run_record.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "driver/build_identity.h"

namespace recompact {

namespace {

using Json = nlohmann::ordered_json;

// Accounts of the same bytes may differ by this much, by files that only one
// account covers.
constexpr double kAccountTolerance = 0.02;
constexpr int64_t kAccountToleranceBytes = 256 << 10;

// A run whose threads together lost more than this share of its time because
// the host woke them later than could be paid back did not see the model.
constexpr double kLostTimeTolerance = 0.01;

double Round(double value) { return std::round(value * 1e3) / 1e3; }

Json ToJson(const LatencySummary& summary) {
  if (summary.count == 0) return Json::object({{"count", 0}});
  return {{"count", summary.count},        {"mean", Round(summary.mean)},
          {"p50", Round(summary.p50)},     {"p90", Round(summary.p90)},
          {"p95", Round(summary.p95)},     {"p99", Round(summary.p99)},
          {"p99_9", Round(summary.p99_9)}, {"p99_99", Round(summary.p99_99)},
          {"max", Round(summary.max)}};
}

Json ToJson(const StreamResult& result, double duration_s) {
  Json json;
  json["trace"] = {
      {"file", std::filesystem::path(result.trace->path()).filename().string()},
      {"crc32c", result.trace->crc32c()},
      {"records", result.trace->record_count()}};
  json["operations"] = result.operations;
  json["duration_s"] = duration_s;
  json["throughput_ops_s"] =
      Round(static_cast<double>(result.operations) / duration_s);
  for (int g = 0; g < kOperationGroupCount; g++) {
    json["latency_us"][kOperationGroupNames[g]] = ToJson(result.latency_us[g]);
  }
  json["latency_us"]["all"] = ToJson(result.all_latency_us);
  return json;
}

Json ToJson(const RoleWork& work) {
  Json json;
  for (int i = 0; i < kWorkKinds; i++) json[kWorkNames[i]] = work.counts[i];
  json["processor_ns"] = work.processor_ns;
  return json;
}

Json ToJson(const PhaseResult& result) {
  Json json = {{"name", result.phase->name}, {"kind", result.phase->kind_name}};
  if (result.streams.empty()) {
    json["operations"] = 0;
    json["duration_s"] = result.duration_s;
  } else {
    json.update(ToJson(result.streams.front(), result.duration_s));
  }
  json["counters"] = result.counters;
  json["levels"] =
      result.end.levels.is_null() ? Json::array() : result.end.levels;
  json["space"] =
      result.end.space.is_null() ? Json::object() : result.end.space;
  json["verified"] = {{"reads", result.totals.found + result.totals.not_found},
                      {"found", result.totals.found},
                      {"not_found", result.totals.not_found},
                      {"scanned_records", result.totals.scanned_records}};
  for (int i = 0; i < kRoles; i++) {
    json["work"][kRoleNames[i]] = ToJson(result.work[i]);
  }
  for (size_t i = 1; i < result.streams.size(); i++) {
    Json beside = {{"name", result.streams[i].stream->name}};
    beside.update(ToJson(result.streams[i], result.duration_s));
    json["beside"].push_back(std::move(beside));
  }
  return json;
}

// The value of the first line "name<separator>value" in a file.
std::string FileEntry(const std::string& path, const std::string& name,
                      char separator) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const size_t at = line.find(separator);
    if (at == std::string::npos || line.compare(0, name.size(), name) != 0) {
      continue;
    }
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const size_t end = line.find_last_not_of(" \t\"");
    if (begin != std::string::npos) return line.substr(begin, end - begin + 1);
  }
  return "unknown";
}

Json Host(const RunResult& result) {
  struct utsname system;
  ::uname(&system);
  return {{"cpu", FileEntry("/proc/cpuinfo", "model name", ':')},
          {"cpu_family", FileEntry("/proc/cpuinfo", "cpu family", ':')},
          {"cpu_model", FileEntry("/proc/cpuinfo", "model", ':')},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", uint64_t(::sysconf(_SC_PHYS_PAGES)) *
                               uint64_t(::sysconf(_SC_PAGESIZE))},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"os", FileEntry("/etc/os-release", "PRETTY_NAME", '=')},
          {"filesystem", result.file_system}};
}

// Not ru_maxrss, which is never below that of the process that started this.
int64_t PeakRssBytes() {
  const std::string kilobytes = FileEntry("/proc/self/status", "VmHWM", ':');
  return std::strtoll(kilobytes.c_str(), nullptr, 10) << 10;
}

// The sum of the counters with these names; -1 if one of them is not there.
int64_t Sum(const Counters& counters, std::vector<const char*> names) {
  int64_t sum = 0;
  for (const char* name : names) {
    const auto counter = counters.find(name);
    if (counter == counters.end()) return -1;
    sum += counter->second;
  }
  return sum;
}

// How often the bytes that a phase wrote into level 1 fill it; -1 if the engine
// does not count them or the specification leaves the level's size to it.
double Turnovers(const RunSpec& spec, const Counters& counters) {
  const auto size = spec.engine_options.find("level_base_bytes");
  const int64_t written = Sum(counters, {"level_1_bytes_written"});
  if (size == spec.engine_options.end() || written < 0) return -1;
  return static_cast<double>(written) /
         std::strtod(size->second.c_str(), nullptr);
}

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", share * 100);
  return text;
}

}  // namespace

std::vector<std::string> SuspectReasons(const RunResult& result) {
  std::vector<std::string> reasons;
  const int64_t engine = Sum(
      result.counters,
      {"table_bytes_written", "wal_bytes_written", "manifest_bytes_written"});
  const int64_t process = Sum(result.counters, {"process_write_bytes"});
  const int64_t device =
      Sum(result.counters, {"device_write_bytes", "device_unsubmitted_bytes"});
  int64_t least = device, most = device;
  for (const int64_t account : {engine, process}) {
    if (account < 0) continue;  // Nobody kept it
    least = std::min(least, account);
    most = std::max(most, account);
  }
  const int64_t difference = most - least;
  if (difference > kAccountToleranceBytes &&
      static_cast<double>(difference) > kAccountTolerance * most) {
    reasons.push_back(
        "the accounts of written bytes differ by " +
        Percent(static_cast<double>(difference) / most) + ": engine " +
        (engine < 0 ? "none" : std::to_string(engine)) + ", process " +
        (process < 0 ? "none" : std::to_string(process)) + ", device " +
        std::to_string(device));
  }
  double duration_s = 0;
  double lost_s = 0;
  int64_t max_lag_us = 0;
  for (const PhaseResult& phase : result.phases) {
    duration_s += phase.duration_s;
    lost_s += Sum(phase.counters, {"device_lost_us"}) * 1e-6;
    max_lag_us =
        std::max(max_lag_us, Sum(phase.counters, {"device_max_lag_us"}));
  }
  if (lost_s > kLostTimeTolerance * duration_s) {
    reasons.push_back("the host could not keep up with the device model: " +
                      Percent(lost_s / duration_s) +
                      " of the time was lost in waking late, once by " +
                      std::to_string(max_lag_us) + " us");
  }
  return reasons;
}

Json BuildRecord() {
  return {{"engine",
           {{"build",
             {{"compiler", kCompiler},
              {"flags", kBuildFlags},
              {"libraries", LibraryVersions()},
              {"tree_hash", kTreeHash}}}}},
          {"driver", {{"source_hash", kDriverHash}}}};
}

Json RunRecord(const RunSpec& spec, const RunResult& result) {
  Json record = {{"schema", 1},
                 {"run", spec.run},
                 {"spec", spec.document},
                 {"host", Host(result)},
                 {"started", result.started},
                 {"wall_s", result.wall_s}};
  if (result.simulating_s) record["simulating_s"] = *result.simulating_s;
  if (result.schedule) {
    char hash[17];
    std::snprintf(hash, sizeof(hash), "%016" PRIx64, result.schedule->hash);
    record["schedule"] = {{"hash", hash},
                          {"switches", result.schedule->switches}};
  }
  record["engine"]["id"] = spec.engine_id;
  record.merge_patch(BuildRecord());
  record["phases"] = Json::array();
  for (const PhaseResult& phase : result.phases) {
    record["phases"].push_back(ToJson(phase));
    const double turnovers = Turnovers(spec, phase.counters);
    if (turnovers >= 0) record["phases"].back()["turnovers"] = turnovers;
  }
  for (const MountResult& mount : result.mounts) {
    record["mounts"].push_back({{"filesystem", mount.file_system},
                                {"table_bytes", mount.table_bytes}});
  }
  record["suspect"] = SuspectReasons(result);
  record["peak_rss_bytes"] = PeakRssBytes();
  return record;
}

}  // namespace recompact
