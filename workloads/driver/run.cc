#include "driver/run.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "driver/run_directory.h"
#include "driver/store_leveldb.h"

namespace recompact {

namespace {

// The database may take this much of the data that users wrote: dead versions
// wait for compactions, and these write their outputs before inputs go.
constexpr uint64_t kRoomFactor = 4;

constexpr auto kIdlePoll = std::chrono::milliseconds(1);

int64_t NowNs() { return Clock::Monotonic()->NowNs(); }

std::string IsoTime() {
  const time_t now = ::time(nullptr);
  struct tm utc;
  ::gmtime_r(&now, &utc);
  char text[32];
  ::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

struct Run::Range {
  std::shared_ptr<const Trace> trace;
  uint64_t first = 0;
  uint64_t warmup = 0;  // Operations before those that are measured
  uint64_t count = 0;   // Operations that are measured
};

Run::Run(const RunSpec& spec, std::string output_directory,
         std::string data_directory)
    : spec_(spec),
      output_directory_(std::move(output_directory)),
      database_(std::move(data_directory)),
      event_log_path_(output_directory_ + "/events.jsonl"),
      values_(spec.compressibility),
      spread_env_(leveldb::Env::Default(), database_, spec.device.mounts) {}

Status Run::Execute() {
  Status status = OpenTraces();
  if (!status.ok()) return status;
  status = PrepareOutputDirectory(output_directory_, spec_.run);
  if (status.ok()) status = PrepareDatabaseDirectory(database_);
  if (!status.ok()) return status;
  status = Perform();
  timeline_.reset();
  store_.reset();
  env_.reset();
  if (!status.ok() || !spec_.keep_database) {
    std::error_code ignored;  // The next run refuses what is left
    std::filesystem::remove_all(database_, ignored);
  }
  spread_env_.RemoveDirectories();
  return status;
}

Status Run::Perform() {
  const int64_t start_ns = NowNs();
  result_.started = IsoTime();
  result_.file_system = FileSystemName(database_);
  Status status = spread_env_.MakeDirectories(spec_.path + ": device.mounts");
  if (status.ok()) status = CheckForRoom();
  if (status.ok()) status = PrepareDatabase();
  if (status.ok()) status = OpenStore();
  for (size_t i = 0; status.ok() && i < spec_.phases.size(); i++) {
    result_.phases.emplace_back();
    status = RunPhase(spec_.phases[i], &result_.phases.back());
  }
  if (!status.ok()) return status;
  result_.wall_s = (NowNs() - start_ns) * 1e-9;
  WaitIdle();
  result_.counters = Difference(counters_at_open_, counters_->Take());
  // The engine ends its event log; the record, which says that all is there,
  // comes after it.
  store_.reset();
  for (const std::string& directory : spread_env_.table_directories()) {
    result_.mounts.push_back(
        {FileSystemName(directory), DirectoryBytes(directory)});
  }
  // A database that is kept stands on its own.
  if (spec_.keep_database) status = GatherTables(database_);
  if (!status.ok()) return status;
  return WriteResults();
}

Status Run::OpenTraces() {
  uint64_t key_count = 0;
  Status status;
  if (spec_.start_from) {
    for (const std::string& path : spec_.start_from->traces) {
      if (status.ok()) status = OpenTrace(path);
    }
  }
  for (size_t i = 0; status.ok() && i < spec_.phases.size(); i++) {
    if (spec_.phases[i].kind != Phase::Kind::kReplay) continue;
    Range range;
    status = OpenTrace(spec_.phases[i].trace);
    if (status.ok()) {
      const std::string index = std::to_string(i);
      status = RangeOf(spec_.phases[i], spec_.path + ": phases[" + index + "]",
                       &range);
    }
  }
  if (!status.ok()) return status;
  for (const auto& [path, trace] : traces_) {
    key_count = std::max(key_count, trace->key_count());
  }
  versions_ = std::make_unique<KeyVersions>(key_count);
  return status;
}

Status Run::OpenTrace(const std::string& path) {
  if (traces_.count(path) > 0) return Status::OK();
  std::unique_ptr<Trace> trace;
  Status status = Trace::Open(path, &trace);
  if (status.ok()) traces_[path] = std::move(trace);
  return status;
}

Status Run::RangeOf(const Phase& phase, const std::string& where,
                    Range* range) {
  range->trace = traces_.at(phase.trace);
  const uint64_t records = range->trace->record_count();
  if (phase.start > records ||
      phase.count.value_or(0) > records - phase.start) {
    return Status::BadInput(
        where + ".count",
        "records " + std::to_string(phase.start) + " to " +
            std::to_string(phase.start + phase.count.value_or(0)) +
            " are not in the trace of " + std::to_string(records),
        "correct start and count");
  }
  const uint64_t count = phase.count.value_or(records - phase.start);
  if (phase.warmup_operations >= count) {
    return Status::BadInput(
        where + ".warmup_operations",
        "leave nothing to measure of " + std::to_string(count) + " operations",
        "correct the specification");
  }
  range->first = phase.start;
  range->warmup = phase.warmup_operations;
  range->count = count - phase.warmup_operations;
  return Status::OK();
}

Status Run::EstimateRoom(uint64_t* bytes) {
  uint64_t written = 0;
  uint64_t largest_value = 0;
  for (const Phase& phase : spec_.phases) {
    if (phase.kind != Phase::Kind::kReplay) continue;
    Range range;
    TraceSummary summary;
    Status status = RangeOf(phase, spec_.path, &range);
    if (status.ok()) {
      status = range.trace->Summarize(range.first, range.warmup + range.count,
                                      &summary);
    }
    if (!status.ok()) return status;
    written += summary.bytes_written;
    largest_value = std::max<uint64_t>(largest_value, summary.max_value_bytes);
  }
  // Writes of the same key do not add up.
  const uint64_t keys_full =
      versions_->key_count() * (kKeyBytes + largest_value);
  *bytes = kRoomFactor * std::min(written, keys_full);
  if (spec_.start_from) *bytes += DirectoryBytes(spec_.start_from->database);
  return Status::OK();
}

Status Run::CheckForRoom() {
  uint64_t bytes = 0;
  Status status = EstimateRoom(&bytes);
  const std::vector<std::string>& mounts = spec_.device.mounts;
  // The tables are nearly all of it.
  if (status.ok() && (mounts.empty() || spec_.keep_database)) {
    status = CheckRoom(database_, bytes);
  }
  for (const std::string& mount : mounts) {
    if (status.ok()) status = CheckRoom(mount, bytes / mounts.size());
  }
  return status;
}

Status Run::PrepareDatabase() {
  if (!spec_.start_from) return Status::OK();
  const std::string& from = spec_.start_from->database;
  std::error_code ignored;  // The copy finds it too
  for (const auto& entry : std::filesystem::directory_iterator(from, ignored)) {
    const leveldb::Status s = spread_env_.MakePlace(
        database_ + "/" + entry.path().filename().string());
    if (!s.ok()) {
      return Status::Failed(database_, s.ToString(),
                            "make the directories of device.mounts usable");
    }
  }
  Status status = CopyDatabase(from, database_);
  for (const std::string& path : spec_.start_from->traces) {
    if (status.ok()) status = versions_->CountWrites(*traces_.at(path));
  }
  return status;
}

Status Run::OpenStore() {
  int clients = 1;
  for (const Phase& phase : spec_.phases) {
    clients = std::max(clients, phase.threads);
  }
  progress_ = std::make_unique<Progress>(clients);
  env_ = std::make_unique<DeviceEnv>(&spread_env_, spec_.device,
                                     spec_.scale_factor, database_,
                                     Clock::Monotonic(), spec_.direct_io);
  // Of the counters only those of the process began before.
  counters_at_open_ = {
      {"process_write_bytes", ReadProcessCounters().write_bytes}};
  Status status =
      OpenLevelDbStore(database_, spec_.engine_options, event_log_path_,
                       spec_.path, env_.get(), &store_);
  if (!status.ok()) return status;
  counters_ = std::make_unique<CounterSource>(
      store_.get(), env_.get(), progress_.get(), output_directory_);
  timeline_ = std::make_unique<Timeline>(
      store_.get(), env_.get(), progress_.get(), spec_.timeline_interval_ms);
  return status;
}

void Run::WaitIdle() {
  while (!store_->Idle()) std::this_thread::sleep_for(kIdlePoll);
}

void Run::BeginMeasuring(const Phase& phase) {
  counters_at_begin_ = counters_->Take();
  totals_at_begin_ = progress_->Sum();
  // A closed database has no state to sample.
  if (phase.kind != Phase::Kind::kReopen) timeline_->Start(phase.name);
  begin_ns_ = NowNs();
}

void Run::EndMeasuring(PhaseResult* result) {
  result->duration_s = (NowNs() - begin_ns_) * 1e-9;
  if (result->phase->kind != Phase::Kind::kReopen) timeline_->Stop();
  result->counters = Difference(counters_at_begin_, counters_->Take());
  result->totals = Difference(totals_at_begin_, progress_->Sum());
  result->end = ReadEngineStateOrTables(store_.get());
}

Status Run::RunPhase(const Phase& phase, PhaseResult* result) {
  result->phase = &phase;
  if (phase.kind == Phase::Kind::kReplay) return ReplayPhase(phase, result);
  Status status;
  // What a compaction wrote that is given up is in no account of the engine.
  if (phase.kind == Phase::Kind::kReopen) WaitIdle();
  BeginMeasuring(phase);
  switch (phase.kind) {
    case Phase::Kind::kReplay:
      break;
    case Phase::Kind::kWaitIdle:
      WaitIdle();
      break;
    case Phase::Kind::kCompactRange:
      store_->CompactAll();
      break;
    case Phase::Kind::kReopen:
      counters_->BeforeReopen();
      status = store_->Reopen();
      if (!status.ok()) return status;
      break;
  }
  EndMeasuring(result);
  return store_->Health();
}

Status Run::ReplayPhase(const Phase& phase, PhaseResult* result) {
  Range range;
  Status status = RangeOf(phase, spec_.path, &range);
  if (!status.ok()) return status;
  result->trace = range.trace;
  result->operations = range.count;
  Replay replay(store_.get(), &values_, spec_.key_order, spec_.value_checks,
                versions_.get(), progress_.get());
  status = replay.Run({range.trace.get(), range.first, range.warmup,
                       phase.rate_ops_s, phase.threads, nullptr});
  if (!status.ok()) return status;
  std::vector<float> latencies_us(range.count);
  BeginMeasuring(phase);
  status =
      replay.Run({range.trace.get(), range.first + range.warmup, range.count,
                  phase.rate_ops_s, phase.threads, latencies_us.data()});
  EndMeasuring(result);
  if (status.ok()) status = store_->Health();
  if (!status.ok()) return status;
  return SummarizeLatencies(range, std::move(latencies_us), result);
}

Status Run::SummarizeLatencies(const Range& range,
                               std::vector<float> latencies_us,
                               PhaseResult* result) {
  Status status =
      WriteFile(output_directory_ + "/latency." + result->phase->name + ".f32",
                latencies_us.data(), latencies_us.size() * sizeof(float));
  // One group after the other, to hold no more than two copies.
  for (int g = 0; g < kOperationGroupCount && status.ok(); g++) {
    std::vector<float> group;
    TraceCursor cursor(range.trace.get(), range.first + range.warmup,
                       range.count);
    for (const float latency_us : latencies_us) {
      const TraceRecord* const record = cursor.Next();
      if (record == nullptr) break;
      if (static_cast<int>(GroupOf(record->operation)) == g) {
        group.push_back(latency_us);
      }
    }
    status = cursor.status();
    result->latency_us[g] = Summarize(&group);
  }
  result->all_latency_us = Summarize(&latencies_us);
  return status;
}

Status Run::WriteResults() {
  const std::string& timeline = timeline_->csv();
  Status status = WriteFile(output_directory_ + "/timeline.csv",
                            timeline.data(), timeline.size());
  const std::string spec = spec_.document.dump(1) + "\n";
  if (status.ok()) {
    status =
        WriteFile(output_directory_ + "/spec.json", spec.data(), spec.size());
  }
  const std::string record = RunRecord(spec_, result_).dump(1) + "\n";
  if (status.ok()) {
    status = WriteFile(output_directory_ + "/run.json", record.data(),
                       record.size());
  }
  return status;
}

}  // namespace recompact
