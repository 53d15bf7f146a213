#include "driver/timeline.h"

#include <chrono>
#include <cstdio>
#include <numeric>
#include <utility>

#include "driver/start_thread.h"
#include "simulator/work.h"

namespace recompact {

namespace {

constexpr const char* kColumns =
    "phase,time_s,operations,reads,writes,scans,mean_latency_us,"
    "mean_read_latency_us,mean_write_latency_us,max_latency_us,"
    "block_cache_hits,block_cache_misses,stall_us,live_bytes,frozen_bytes,"
    "slice_bytes,pinned_bytes,pending_bytes,obsolete_bytes,device_read_bytes,"
    "device_write_bytes,device_queue_us,cache_invalidated_blocks,"
    "buffer_bytes,level_files\n";

// A cell is empty where there is no number: no operation, no such counter.
std::string MeanUs(uint64_t latency_ns, uint64_t operations) {
  if (operations == 0) return ",";
  char text[32];
  std::snprintf(text, sizeof(text), ",%.3f", latency_ns * 1e-3 / operations);
  return text;
}

std::string Cell(int64_t value) { return "," + std::to_string(value); }

std::string CounterCell(const Counters& earlier, const Counters& later,
                        const char* name) {
  const auto after = later.find(name);
  if (after == later.end()) return ",";
  const auto before = earlier.find(name);
  return Cell(after->second - (before == earlier.end() ? 0 : before->second));
}

// Reading the space takes time per file, so it is read less often than the
// rest.
constexpr int64_t kSpaceIntervalNs = 250 * 1000 * 1000;

std::string SpaceCell(const EngineState& state, const char* name) {
  const auto bytes = state.space.find(name);
  if (bytes == state.space.end() || !bytes->is_number_integer()) return ",";
  return Cell(bytes->get<int64_t>());
}

// The files of each level down to the last that has any, as "4 9 71".
std::string FilesCell(const EngineState& state) {
  std::string files, cell;
  for (const auto& level : state.levels) {
    const auto count = level.value("files", int64_t{0});
    files += (files.empty() ? "" : " ") + std::to_string(count);
    if (count > 0) cell = files;
  }
  return "," + cell;
}

int64_t NowNs() { return Clock::Monotonic()->NowNs(); }

}  // namespace

Timeline::Timeline(Store* store, DeviceEnv* env, Progress* progress,
                   int interval_ms)
    : store_(store),
      env_(env),
      progress_(progress),
      interval_ns_(int64_t{interval_ms} * 1000000),
      csv_(kColumns) {}

Timeline::~Timeline() { Stop(); }

Timeline::Sample Timeline::TakeSample(bool last, EngineState* state) {
  Sample sample;
  sample.time_ns = NowNs();
  sample.totals = progress_->Sum();
  const bool space = last || sample.time_ns >= next_space_ns_;
  *state = ReadEngineState(store_, space);
  if (space) {
    space_ = state->space;
    next_space_ns_ = sample.time_ns + kSpaceIntervalNs;
  }
  state->space = space_;
  sample.engine = state->counters;
  sample.device_read_bytes = env_->read_bytes();
  sample.device_write_bytes = env_->write_bytes();
  return sample;
}

Status Timeline::Start(const std::string& phase) {
  stop_ = false;
  EngineState state;
  Sample first = TakeSample(/*last=*/false, &state);
  progress_->TakeMaxLatencyNs();
  return StartThread(
      "timeline of phase " + phase,
      [this, phase, first = std::move(first)] {
        SampleUntilStopped(phase, first);
      },
      &thread_);
}

void Timeline::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timeline::SampleUntilStopped(std::string phase, Sample first) {
  SetRoleOfThisThread(Role::kOwn);
  const int64_t start_ns = first.time_ns;
  Sample earlier = std::move(first);
  bool stop = false;
  while (!stop) {
    {
      // Intervals that the sampling itself has slept through are left out.
      const int64_t passed = (NowNs() - start_ns) / interval_ns_;
      const int64_t wait_ns = start_ns + (passed + 1) * interval_ns_ - NowNs();
      std::unique_lock<std::mutex> lock(mutex_);
      stop = stopped_.wait_for(lock, std::chrono::nanoseconds(wait_ns),
                               [this] { return stop_; });
    }
    EngineState state;
    Sample later = TakeSample(/*last=*/stop, &state);
    AppendRow(phase, start_ns, earlier, later, state);
    earlier = std::move(later);
  }
}

void Timeline::AppendRow(const std::string& phase, int64_t phase_start_ns,
                         const Sample& earlier, const Sample& later,
                         const EngineState& state) {
  const Totals totals = Difference(earlier.totals, later.totals);
  const auto& operations = totals.operations;
  const auto& latency_ns = totals.latency_ns;
  const uint64_t all_operations =
      std::accumulate(operations.begin(), operations.end(), uint64_t{0});
  const uint64_t all_latency_ns =
      std::accumulate(latency_ns.begin(), latency_ns.end(), uint64_t{0});
  const int read = static_cast<int>(OperationGroup::kRead);
  const int write = static_cast<int>(OperationGroup::kWrite);
  const int scan = static_cast<int>(OperationGroup::kScan);
  char time_s[32];
  std::snprintf(time_s, sizeof(time_s), ",%.6f",
                (later.time_ns - phase_start_ns) * 1e-9);
  csv_ += phase + time_s + Cell(all_operations) + Cell(operations[read]) +
          Cell(operations[write]) + Cell(operations[scan]);
  csv_ += MeanUs(all_latency_ns, all_operations) +
          MeanUs(latency_ns[read], operations[read]) +
          MeanUs(latency_ns[write], operations[write]) +
          MeanUs(progress_->TakeMaxLatencyNs(), all_operations > 0 ? 1 : 0);
  csv_ += CounterCell(earlier.engine, later.engine, "block_cache_hits") +
          CounterCell(earlier.engine, later.engine, "block_cache_misses") +
          CounterCell(earlier.engine, later.engine, "stall_us");
  for (const char* name : {"live_bytes", "frozen_bytes", "slice_bytes",
                           "pinned_bytes", "pending_bytes", "obsolete_bytes"}) {
    csv_ += SpaceCell(state, name);
  }
  csv_ +=
      Cell(later.device_read_bytes - earlier.device_read_bytes) +
      Cell(later.device_write_bytes - earlier.device_write_bytes) +
      Cell(env_->QueueUs()) +
      CounterCell(earlier.engine, later.engine, "cache_invalidated_blocks") +
      SpaceCell(state, "buffer_bytes") + FilesCell(state) + "\n";
}

}  // namespace recompact
