#include "driver/run.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "driver/run_directory.h"
#include "driver/start_thread.h"
#include "driver/store_leveldb.h"

namespace recompact {

namespace {

// The database may take this much of the data that users wrote: dead versions
// wait for compactions, and these write their outputs before inputs go.
constexpr uint64_t kRoomFactor = 4;

constexpr auto kIdlePoll = std::chrono::milliseconds(1);

// In place of the latency of an operation that was not done.
constexpr float kNotDone = -1;

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

Run::Run(const RunSpec& spec, const std::string& output_directory,
         const std::string& data_directory)
    : spec_(spec),
      output_directory_(std::filesystem::absolute(output_directory)),
      database_(std::filesystem::absolute(data_directory)),
      engines_name_(spec.host ? "." : database_),
      event_log_path_(output_directory_ + "/events.jsonl"),
      values_(spec.compressibility),
      spread_env_(leveldb::Env::Default(), engines_name_, spec.device.mounts) {}

Status Run::Execute() {
  SetRoleOfThisThread(Role::kOwn);
  result_.started = IsoTime();
  Status status = OpenTraces();
  if (!status.ok()) return status;
  status = PrepareOutputDirectory(output_directory_, spec_.run);
  if (status.ok()) status = PrepareDatabaseDirectory(database_);
  if (status.ok() && spec_.host) status = BeginSimulation();
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

Status Run::BeginSimulation() {
  std::error_code error;
  std::filesystem::current_path(database_, error);
  if (error) {
    return Status::Failed(database_, error.message(),
                          "give --data-dir a directory of your own");
  }
  // It lasts as long as the process: threads of libraries may end with that.
  simulation_ = new Simulation(*spec_.host);
  return Status::OK();
}

Status Run::Perform() {
  const int64_t start_ns = NowNs();
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
  // What is still owed counts, and its time interests nobody.
  env_->StopWaiting();
  WaitIdle();
  if (simulation_ != nullptr) {
    result_.schedule = {simulation_->schedule_hash(), simulation_->switches()};
    int64_t processor_ns = 0;
    for (const RoleWork& work : WorkSoFar()) processor_ns += work.processor_ns;
    result_.simulating_s = processor_ns * 1e-9;
  }
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
  Status status;
  if (spec_.start_from) {
    for (const std::string& path : spec_.start_from->traces) {
      if (status.ok()) status = OpenTrace(path);
    }
  }
  for (const Phase& phase : spec_.phases) {
    for (const Stream& stream : phase.streams) {
      if (status.ok()) status = OpenTrace(stream.trace);
    }
    if (status.ok()) status = CheckStreams(phase);
  }
  if (!status.ok()) return status;
  uint64_t key_count = 0;
  uint64_t recent_updates = 0;
  for (const auto& [path, trace] : traces_) {
    key_count = std::max(key_count, trace->key_count());
    recent_updates = std::max(recent_updates, trace->recent_updates());
  }
  versions_ = std::make_unique<KeyVersions>(key_count, recent_updates,
                                            spec_.recent_keys);
  return status;
}

Status Run::OpenTrace(const std::string& path) {
  if (traces_.count(path) > 0) return Status::OK();
  std::unique_ptr<Trace> trace;
  Status status = Trace::Open(path, &trace);
  if (status.ok()) traces_[path] = std::move(trace);
  return status;
}

Status Run::RangeOf(const Phase& phase, const Stream& stream, Range* range) {
  range->trace = traces_.at(stream.trace);
  const uint64_t records = range->trace->record_count();
  if (stream.start > records ||
      stream.count.value_or(0) > records - stream.start) {
    return Status::BadInput(
        stream.where + ".count",
        "records " + std::to_string(stream.start) + " to " +
            std::to_string(stream.start + stream.count.value_or(0)) +
            " are not in the trace of " + std::to_string(records),
        "correct start and count");
  }
  const uint64_t count = stream.count.value_or(records - stream.start);
  if (phase.warmup_operations >= count) {
    return Status::BadInput(
        stream.where + ".warmup_operations",
        "leave nothing to measure of " + std::to_string(count) + " operations",
        "correct the specification");
  }
  range->first = stream.start;
  range->warmup = phase.warmup_operations;
  range->count = count - phase.warmup_operations;
  return Status::OK();
}

Status Run::CheckStreams(const Phase& phase) {
  double duration_s = phase.duration_s;
  const Stream* writer = nullptr;
  for (const Stream& stream : phase.streams) {
    Range range;
    TraceSummary summary;
    Status status = RangeOf(phase, stream, &range);
    if (status.ok()) {
      status = range.trace->Summarize(range.first, range.warmup + range.count,
                                      &summary);
    }
    if (!status.ok()) return status;
    if (stream.rate_ops_s > 0) {
      const double seconds = range.count / stream.rate_ops_s;
      if (duration_s == 0 && &stream == &phase.streams.front()) {
        duration_s = seconds;
      }
      // Half an operation, because a scale rounds their number.
      if (seconds + 0.5 / stream.rate_ops_s < duration_s) {
        return Status::BadInput(
            stream.where + ".count",
            std::to_string(range.count) + " operations last " +
                std::to_string(seconds) + " s of the phase's " +
                std::to_string(duration_s),
            "give the stream more operations");
      }
    }
    if (summary.writes() == 0) continue;
    if (writer != nullptr) {
      // What a read must return would depend on which write came first.
      return Status::BadInput(stream.where + ".trace",
                              "writes, as " + writer->where + ".trace does",
                              "let one stream of a phase write");
    }
    writer = &stream;
  }
  return Status::OK();
}

Status Run::EstimateRoom(uint64_t* bytes) {
  uint64_t written = 0;
  uint64_t largest_value = 0;
  for (const Phase& phase : spec_.phases) {
    for (const Stream& stream : phase.streams) {
      Range range;
      TraceSummary summary;
      Status status = RangeOf(phase, stream, &range);
      if (status.ok()) {
        status = range.trace->Summarize(range.first, range.warmup + range.count,
                                        &summary);
      }
      if (!status.ok()) return status;
      written += summary.bytes_written;
      largest_value =
          std::max<uint64_t>(largest_value, summary.max_value_bytes);
    }
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
        engines_name_ + "/" + entry.path().filename().string());
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
    int of_phase = 0;
    for (const Stream& stream : phase.streams) of_phase += stream.threads;
    clients = std::max(clients, of_phase);
  }
  progress_ = std::make_unique<Progress>(clients);
  env_ = std::make_unique<DeviceEnv>(&spread_env_, spec_.device,
                                     spec_.scale_factor, engines_name_,
                                     Clock::Monotonic(), spec_.direct_io);
  // Of the counters only those of the process began before.
  counters_at_open_ = {
      {"process_write_bytes", ReadProcessCounters().write_bytes}};
  // What the engine opens with the database was open long before the run.
  env_->SetReadsTakeTime(false);
  Status status =
      OpenLevelDbStore(engines_name_, spec_.engine_options, event_log_path_,
                       spec_.path, env_.get(), &store_);
  env_->SetReadsTakeTime(true);
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

Status Run::BeginMeasuring(const Phase& phase) {
  counters_at_begin_ = counters_->Take();
  work_at_begin_ = WorkSoFar();
  totals_at_begin_ = progress_->Sum();
  if (phase.kind == Phase::Kind::kReopen) {
    counters_->BeforeReopen();
  } else {  // A closed database has no state to sample.
    const Status status = timeline_->Start(phase.name);
    if (!status.ok()) return status;
  }
  begin_ns_ = NowNs();
  return Status::OK();
}

void Run::EndMeasuring(PhaseResult* result) {
  result->duration_s = (NowNs() - begin_ns_) * 1e-9;
  if (result->phase->kind != Phase::Kind::kReopen) timeline_->Stop();
  result->counters = Difference(counters_at_begin_, counters_->Take());
  const std::array<RoleWork, kRoles> work = WorkSoFar();
  for (int i = 0; i < kRoles; i++) {
    result->work[i] = Difference(work_at_begin_[i], work[i]);
  }
  result->totals = Difference(totals_at_begin_, progress_->Sum());
  result->end = ReadEngineStateOrTables(store_.get());
}

Status Run::RunPhase(const Phase& phase, PhaseResult* result) {
  result->phase = &phase;
  if (phase.kind == Phase::Kind::kReplay) return ReplayPhase(phase, result);
  Status status;
  // What a compaction wrote that is given up is in no account of the engine.
  if (phase.kind == Phase::Kind::kReopen) WaitIdle();
  status = BeginMeasuring(phase);
  if (!status.ok()) return status;
  switch (phase.kind) {
    case Phase::Kind::kReplay:
      break;
    case Phase::Kind::kWaitIdle:
      WaitIdle();
      break;
    case Phase::Kind::kWait:
      std::this_thread::sleep_for(std::chrono::duration<double>(phase.seconds));
      break;
    case Phase::Kind::kCompactRange:
      status = AsClient([this] { store_->CompactAll(); });
      break;
    case Phase::Kind::kReopen:
      Status reopened;
      status = AsClient([&] { reopened = store_->Reopen(); });
      if (status.ok()) status = reopened;
      break;
  }
  if (!status.ok()) return status;
  EndMeasuring(result);
  return store_->Health();
}

Status Run::AsClient(const std::function<void()>& function) {
  std::thread client;
  const Status status = StartThread(
      "the client",
      [&] {
        SetRoleOfThisThread(Role::kClient);
        function();
      },
      &client);
  if (status.ok()) client.join();
  return status;
}

Status Run::ReplayPhase(const Phase& phase, PhaseResult* result) {
  const size_t count = phase.streams.size();
  std::vector<Range> ranges(count);
  std::vector<std::vector<float>> latencies_us(count);
  std::vector<Replay::Range> replayed;
  for (size_t i = 0; i < count; i++) {
    const Stream& stream = phase.streams[i];
    const Status status = RangeOf(phase, stream, &ranges[i]);
    if (!status.ok()) return status;
    latencies_us[i].assign(ranges[i].count, kNotDone);
    replayed.push_back({ranges[i].trace.get(),
                        ranges[i].first + ranges[i].warmup, ranges[i].count,
                        stream.rate_ops_s, stream.threads,
                        latencies_us[i].data()});
  }
  Replay replay(store_.get(), &values_, spec_.keys, spec_.value_checks,
                versions_.get(), progress_.get(), Clock::Monotonic());
  // With streams beside there is no warm-up.
  Replay::Range warmup = replayed.front();
  warmup.first = ranges.front().first;
  warmup.count = ranges.front().warmup;
  warmup.latencies_us = nullptr;
  Status status = replay.Run({warmup});
  if (!status.ok()) return status;
  status = BeginMeasuring(phase);
  if (!status.ok()) return status;
  status = replay.Run(replayed, phase.duration_s);
  EndMeasuring(result);
  if (status.ok()) status = store_->Health();
  result->streams.resize(count);
  for (size_t i = 0; status.ok() && i < count; i++) {
    const Stream& stream = phase.streams[i];
    const std::string beside = i == 0 ? "" : "." + stream.name;
    result->streams[i].stream = &stream;
    status =
        SummarizeLatencies("latency." + phase.name + beside + ".f32", ranges[i],
                           std::move(latencies_us[i]), &result->streams[i]);
  }
  return status;
}

Status Run::SummarizeLatencies(const std::string& file, const Range& range,
                               std::vector<float> latencies_us,
                               StreamResult* result) {
  Status status;
  // One group after the other, to hold no more than two copies.
  for (int g = 0; g < kOperationGroupCount && status.ok(); g++) {
    std::vector<float> group;
    TraceCursor cursor(range.trace.get(), range.first + range.warmup,
                       range.count);
    for (const float latency_us : latencies_us) {
      const TraceRecord* const record = cursor.Next();
      if (record == nullptr) break;
      if (latency_us != kNotDone &&
          static_cast<int>(GroupOf(record->operation)) == g) {
        group.push_back(latency_us);
      }
    }
    status = cursor.status();
    result->latency_us[g] = Summarize(&group);
  }
  latencies_us.erase(
      std::remove(latencies_us.begin(), latencies_us.end(), kNotDone),
      latencies_us.end());
  if (status.ok()) {
    status = WriteFile(output_directory_ + "/" + file, latencies_us.data(),
                       latencies_us.size() * sizeof(float));
  }
  result->trace = range.trace;
  result->operations = latencies_us.size();
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
