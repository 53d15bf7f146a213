#include "seams/statistics.h"

#include <cstring>
#include <utility>

#include "db/version_set.h"
#include "seams/current_action.h"

namespace leveldb {

namespace {

using Clock = std::chrono::steady_clock;

// In the order of Ticker.  bloom_checks is the sum of two of them.
const char* const kTickerNames[kNumTickers] = {
    "table_bytes_written",
    "filter_bytes_written",
    "flush_count",
    "flush_bytes_written",
    "flush_us",
    "compaction_count",
    "compaction_bytes_read",
    "compaction_bytes_written",
    "compaction_us",
    "compaction_flush_us",
    "compaction_read_us",
    "compaction_crc_us",
    "compaction_decompress_us",
    "compaction_sort_us",
    "compaction_compress_us",
    "compaction_recrc_us",
    "compaction_write_us",
    "compaction_sync_us",
    "compaction_subtasks",
    "compaction_readq_us",
    "compaction_writeq_us",
    "seek_compaction_count",
    "trivial_move_count",
    "trivial_move_bytes",
    "link_count",
    "merge_count",
    "buffer_swap_count",
    "buffer_trimmed_tables",
    "wal_bytes_written",
    "manifest_bytes_written",
    "block_reads",
    "block_read_bytes",
    "block_cache_hits",
    "block_cache_misses",
    "cache_invalidated_blocks",
    "compaction_block_reads",
    "compaction_block_read_bytes",
    "bloom_negatives",
    "bloom_positives",
    "bloom_false_positives",
    "table_opens",
    "gets_from_buffer",
    "buffer_fallbacks",
    "scan_count",
    "scan_tables",
    "stall_slowdown_us",
    "stall_slowdown_count",
    "stall_memtable_us",
    "stall_memtable_count",
    "stall_l0_us",
    "stall_l0_count",
};

// In the order of Stage.
const char* const kStageNames[kNumStages] = {
    "read_us",     "crc_us",   "decompress_us", "sort_us",
    "compress_us", "recrc_us", "write_us",      "sync_us"};

struct ThreadState {
  bool background = false;
  int actions = 0;  // ActionScopes alive
  const char* action = "";
  StageTimes times = {};
  std::string event_members;
  StageTimer* timer = nullptr;  // the innermost
};

thread_local ThreadState thread_state;

uint64_t NanosBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin)
      .count();
}

uint64_t NanosSince(Clock::time_point start) {
  return NanosBetween(start, Clock::now());
}

void AppendMember(std::string* json, const char* name, uint64_t value) {
  if (!json->empty()) json->append(", ");
  json->push_back('"');
  json->append(name);
  json->append("\": ");
  json->append(std::to_string(value));
}

// The stages of the action that this thread is in, which took "micros", in
// microseconds.
StageTimes StageMicros(uint64_t micros) {
  StageTimes result = thread_state.times;
  uint64_t sum = 0;
  for (uint64_t& time : result) {
    time /= 1000;
    sum += time;
  }
  if (result[kStageSort] == 0 && micros > sum)
    result[kStageSort] = micros - sum;
  return result;
}

uint64_t InputBytes(const Compaction& c, int which) {
  uint64_t bytes = 0;
  for (int i = 0; i < c.num_input_files(which); i++) {
    bytes += c.input(which, i)->file_size;
  }
  return bytes;
}

}  // namespace

// One line of the event log.
struct Statistics::Event {
  const char* type;
  const char* reason;
  int level;  // of the output
  uint64_t inputs_upper = 0;
  uint64_t inputs_lower = 0;
  uint64_t bytes_read_upper = 0;
  uint64_t bytes_read_lower = 0;
  uint64_t bytes_written = 0;
  uint64_t outputs = 0;
  uint64_t micros = 0;
  uint64_t flush_micros = 0;
};

Statistics::Statistics(const std::string& event_log_path)
    : opened_(Clock::now()),
      event_log_(event_log_path.empty()
                     ? nullptr
                     : std::fopen(event_log_path.c_str(), "a")) {}

Statistics::~Statistics() {
  if (event_log_ != nullptr) std::fclose(event_log_);
}

void Statistics::OnFlush(int level, uint64_t bytes, uint64_t micros) {
  Add(kFlushCount, 1);
  Add(kFlushBytesWritten, bytes);
  Add(kFlushMicros, micros);
  levels_[level].flush_count++;
  levels_[level].bytes_written += bytes;
  levels_[level].micros += micros;
  Event event{"flush", "memtable", level};
  event.bytes_written = bytes;
  event.outputs = bytes > 0 ? 1 : 0;
  event.micros = micros;
  LogEvent(event);
}

void Statistics::OnCompaction(const Compaction& c, size_t outputs,
                              uint64_t bytes_written, uint64_t micros,
                              uint64_t flush_micros) {
  Event event{"compaction", c.reason(), c.level() + 1};
  event.inputs_upper = c.num_input_files(0);
  event.inputs_lower = c.num_input_files(1);
  event.bytes_read_upper = InputBytes(c, 0);
  if (c.parts() != nullptr) {
    event.type = "merge";
    event.inputs_upper = c.parts()->newest_first().size();
    event.bytes_read_upper = c.parts()->bytes();
    Add(kMergeCount, 1);
  }
  event.bytes_read_lower = InputBytes(c, 1);
  event.bytes_written = bytes_written;
  event.outputs = outputs;
  event.micros = micros;
  event.flush_micros = flush_micros;
  const uint64_t bytes_read = event.bytes_read_upper + event.bytes_read_lower;

  Add(kCompactionCount, 1);
  Add(kCompactionBytesRead, bytes_read);
  Add(kCompactionBytesWritten, bytes_written);
  Add(kCompactionMicros, micros);
  Add(kCompactionFlushMicros, flush_micros);
  const StageTimes stage_micros = StageMicros(micros);
  for (int stage = 0; stage < kNumStages; stage++) {
    Add(static_cast<Ticker>(kCompactionReadMicros + stage),
        stage_micros[stage]);
  }
  if (std::strcmp(c.reason(), "seek") == 0) Add(kSeekCompactionCount, 1);
  LevelCounters& level = levels_[c.level() + 1];
  level.compaction_count++;
  level.bytes_read += bytes_read;
  level.bytes_written += bytes_written;
  level.micros += micros;
  LogEvent(event);
}

void Statistics::OnTrivialMove(const Compaction& c) {
  const uint64_t bytes = InputBytes(c, 0);
  Add(kTrivialMoveCount, 1);
  Add(kTrivialMoveBytes, bytes);
  levels_[c.level() + 1].trivial_move_count++;
  Event event{"trivial_move", c.reason(), c.level() + 1};
  event.inputs_upper = 1;
  event.outputs = 1;
  LogEvent(event);
}

void Statistics::OnLink(const Compaction& c) {
  Add(c.is_swap() ? kBufferSwapCount : kLinkCount, 1);
  Event event{c.is_swap() ? "swap" : "link", c.reason(), c.level() + 1};
  event.inputs_upper = c.num_input_files(0);
  LogEvent(event);
}

void Statistics::LogEvent(const Event& event) {
  if (event_log_ == nullptr) return;
  const StageTimes micros = StageMicros(event.micros);
  std::string line;
  AppendMember(&line, "t_us", NanosSince(opened_) / 1000);
  line += std::string(", \"type\": \"") + event.type + "\", \"reason\": \"" +
          event.reason + "\"";
  AppendMember(&line, "level", event.level);
  AppendMember(&line, "inputs_upper", event.inputs_upper);
  AppendMember(&line, "inputs_lower", event.inputs_lower);
  AppendMember(&line, "bytes_read_upper", event.bytes_read_upper);
  AppendMember(&line, "bytes_read_lower", event.bytes_read_lower);
  AppendMember(&line, "bytes_written", event.bytes_written);
  AppendMember(&line, "outputs", event.outputs);
  AppendMember(&line, "micros", event.micros);
  AppendMember(&line, "flush_us", event.flush_micros);
  uint64_t compute_micros = 0;
  for (int stage = 0; stage < kNumStages; stage++) {
    AppendMember(&line, kStageNames[stage], micros[stage]);
    if (stage >= kStageCrc && stage <= kStageRecrc) {
      compute_micros += micros[stage];
    }
  }
  AppendMember(&line, "compute_us", compute_micros);
  if (!thread_state.event_members.empty()) {
    line += ", " + thread_state.event_members;
  }
  std::lock_guard<std::mutex> lock(event_log_mutex_);
  std::fprintf(event_log_, "{%s}\n", line.c_str());
}

std::string Statistics::TickersAsJson() const {
  std::string json;
  for (int i = 0; i < kNumTickers; i++) {
    AppendMember(&json, kTickerNames[i], tickers_[i]);
  }
  AppendMember(&json, "bloom_checks",
               tickers_[kBloomNegatives] + tickers_[kBloomPositives]);
  return json;
}

std::string Statistics::LevelAsJson(int level) const {
  const LevelCounters& counters = levels_[level];
  std::string json;
  AppendMember(&json, "level", level);
  AppendMember(&json, "flush_count", counters.flush_count);
  AppendMember(&json, "compaction_count", counters.compaction_count);
  AppendMember(&json, "bytes_read", counters.bytes_read);
  AppendMember(&json, "bytes_written", counters.bytes_written);
  AppendMember(&json, "trivial_move_count", counters.trivial_move_count);
  AppendMember(&json, "micros", counters.micros);
  return json;
}

BackgroundScope::BackgroundScope() { thread_state.background = true; }

BackgroundScope::~BackgroundScope() { thread_state.background = false; }

const char* CurrentAction() { return thread_state.action; }

ActionScope::ActionScope(const char* name)
    : outer_name_(thread_state.action),
      outer_times_(thread_state.times),
      outer_event_members_(std::move(thread_state.event_members)) {
  thread_state.action = name;
  thread_state.times = {};
  thread_state.event_members.clear();
  thread_state.actions++;
}

ActionScope::~ActionScope() {
  thread_state.times = outer_times_;
  thread_state.event_members = std::move(outer_event_members_);
  thread_state.actions--;
  thread_state.action = outer_name_;
}

uint64_t SteadyMicros() { return NanosSince(Clock::time_point()) / 1000; }

StageTimes ActionTimes() { return thread_state.times; }

void AddActionTimes(const StageTimes& times) {
  for (int stage = 0; stage < kNumStages; stage++) {
    thread_state.times[stage] += times[stage];
  }
}

void AddToEvent(const std::string& json_members) {
  thread_state.event_members += json_members;
}

StageTimer::StageTimer(Stage stage)
    : stage_(stage),
      active_(thread_state.actions > 0),
      outer_(thread_state.timer) {
  if (!active_) return;
  start_ = Clock::now();
  if (outer_ != nullptr) {
    thread_state.times[outer_->stage_] += NanosBetween(outer_->start_, start_);
  }
  thread_state.timer = this;
}

StageTimer::~StageTimer() {
  if (!active_) return;
  const Clock::time_point end = Clock::now();
  thread_state.times[stage_] += NanosBetween(start_, end);
  if (outer_ != nullptr) outer_->start_ = end;
  thread_state.timer = outer_;
}

StallTimer::StallTimer(Statistics* statistics, StallCause cause)
    : statistics_(statistics), cause_(cause), start_(Clock::now()) {}

StallTimer::~StallTimer() {
  statistics_->Add(static_cast<Ticker>(cause_), NanosSince(start_) / 1000);
  statistics_->Add(static_cast<Ticker>(cause_ + 1), 1);
}

void RecordCacheHit(Statistics* statistics) {
  if (!thread_state.background) RecordTick(statistics, kBlockCacheHits, 1);
}

void RecordScanTable(Statistics* statistics) {
  if (!thread_state.background) RecordTick(statistics, kScanTables, 1);
}

void RecordBlockRead(Statistics* statistics, uint64_t bytes) {
  if (thread_state.background) {
    RecordTick(statistics, kCompactionBlockReads, 1);
    RecordTick(statistics, kCompactionBlockReadBytes, bytes);
  } else {
    RecordTick(statistics, kBlockCacheMisses, 1);
    RecordTick(statistics, kBlockReads, 1);
    RecordTick(statistics, kBlockReadBytes, bytes);
  }
}

void RecordBloomPositive(Statistics* statistics, const Slice& internal_key,
                         const Slice& found) {
  RecordTick(statistics, kBloomPositives, 1);
  if (found.empty() || ExtractUserKey(found) != ExtractUserKey(internal_key)) {
    RecordTick(statistics, kBloomFalsePositives, 1);
  }
}

}  // namespace leveldb
